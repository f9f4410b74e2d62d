# SPDX-License-Identifier: Apache-2.0
"""Seeded inputs, and comparison byte by byte."""

import numpy


def random_tensor(shape, dtype, seed, index):
    """Values that most networks take: the whole range of small integers, small other integers."""
    draw = numpy.random.default_rng([seed, index])
    shape = [int(size) if size and size > 0 else 1 for size in shape]
    dtype = numpy.dtype(dtype)
    if dtype == numpy.bool_:
        return draw.integers(0, 2, shape).astype(dtype)
    if dtype in (numpy.int8, numpy.uint8):
        limits = numpy.iinfo(dtype)
        return draw.integers(limits.min, limits.max + 1, shape).astype(dtype)
    if dtype.kind in "iu":
        return draw.integers(0, 4, shape).astype(dtype)
    return draw.uniform(-1, 1, shape).astype(dtype)


def same_bytes(left, right):
    """Two lists of arrays, equal in type, shape and every byte (NaN and -0.0 included)."""
    return len(left) == len(right) and all(
        a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
        for a, b in zip(left, right))
