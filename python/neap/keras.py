# SPDX-License-Identifier: Apache-2.0
"""Keras models, converted and planned in one call."""

from __future__ import annotations

from neap.tflite import convert, interpreter, plan

__all__ = ["convert", "interpreter", "plan"]
