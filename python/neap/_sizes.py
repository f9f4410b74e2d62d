# SPDX-License-Identifier: Apache-2.0
"""Numbers of bytes as people write them."""

from __future__ import annotations

from neap import _neap
from neap._errors import UsageError


def bytes_of(size: int | str) -> int:
    """A number of bytes, or a text such as ``"256KiB"`` (1,024) or ``"256KB"`` (1,000)."""
    if isinstance(size, bool) or not isinstance(size, (int, str)):
        raise UsageError(f"a size is {size!r}, expected bytes or a text such as '256KiB'")
    return _neap.parse_bytes(size) if isinstance(size, str) else size


def bytes_text(count: int) -> str:
    """``46,080 B (45.0 KiB)``."""
    return _neap.format_bytes(count)
