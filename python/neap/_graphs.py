# SPDX-License-Identifier: Apache-2.0
"""Orders of graphs and placements of buffers, given as arrays."""

from __future__ import annotations

import array
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from neap import _neap
from neap._errors import UsageError, required
from neap._sizes import bytes_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray
    from typing import TypeAlias

    IntArray: TypeAlias = "Sequence[int] | NDArray[np.integer[Any]]"
    IntPairs: TypeAlias = "Sequence[tuple[int, int]] | Sequence[Sequence[int]] | NDArray[np.integer[Any]]"

_NONE = array.array("q")


@dataclass(frozen=True)
class Peak:
    """The best execution order that was found, and its proof."""

    bytes: int
    """The largest sum of live bytes over the steps of ``order``."""
    lower_bound_bytes: int
    """No order has a smaller peak."""
    order: list[int]
    """The nodes that are not inputs, in the order in which they run."""

    @property
    def optimal(self) -> bool:
        """Whether no order has a smaller peak."""
        return self.bytes == self.lower_bound_bytes


@dataclass(frozen=True)
class Placement:
    """Offsets of buffers in one arena."""

    height_bytes: int
    """The end of the highest buffer."""
    lower_bound_bytes: int
    """No placement is lower."""
    offsets: NDArray[np.int64]
    """Shape ``(n,)``, bytes."""

    @property
    def optimal(self) -> bool:
        """Whether no placement is lower."""
        return self.height_bytes == self.lower_bound_bytes


def _numpy_of(values: Any) -> Any:
    """The module numpy if ``values`` is one of its arrays, which it then has imported; else None."""
    numpy = sys.modules.get("numpy")
    return numpy if numpy is not None and isinstance(values, numpy.ndarray) else None


def _integers(values: Any, what: str) -> Any:
    """``values`` as a contiguous array of int64. Floats are refused: sizes are whole bytes."""
    numpy = _numpy_of(values)
    if numpy is None:
        try:
            return array.array("q", values)
        except (TypeError, OverflowError) as error:
            raise UsageError(f"{what}: expected whole numbers below 2^63: {error}") from None
    if values.dtype.kind not in "iu":
        if values.size == 0:
            return _NONE
        raise UsageError(f"{what}: the array has dtype {values.dtype}, expected integers")
    if values.ndim != 1:
        raise UsageError(f"{what}: the array has {values.ndim} dimensions, expected 1")
    if values.dtype.kind == "u" and values.dtype.itemsize == 8 and values.size and values.max() >= 1 << 63:
        raise UsageError(f"{what}: expected whole numbers below 2^63")
    return numpy.ascontiguousarray(values, dtype=numpy.int64)


def _pairs(values: Any) -> Any:
    """Edges as an array of int64 of shape (m, 2); None: there are none."""
    numpy = _numpy_of(values)
    if numpy is not None:
        if values.size == 0:
            return None
        if values.dtype.kind not in "iu":
            raise UsageError(f"edges: the array has dtype {values.dtype}, expected integers")
        if values.ndim != 2 or values.shape[1] != 2:
            raise UsageError(f"edges: the array has shape {values.shape}, expected (m, 2)")
        return numpy.ascontiguousarray(values, dtype=numpy.int64)
    flat = array.array("q")
    try:
        for before, after in values:
            flat.append(before)
            flat.append(after)
    except (TypeError, ValueError, OverflowError) as error:
        raise UsageError(f"edges: expected pairs of nodes: {error}") from None
    # A memoryview has no dimension of 0.
    return memoryview(flat).cast("B").cast("q", (len(flat) // 2, 2)) if flat else None


def _find(sizes: Any, edges: Any, inputs: Any, outputs: Any, scratch: Any, max_states: int,
          budget: int | None) -> tuple[int, int, list[int]]:
    return _neap.peak(
        _integers(sizes, "sizes"),
        _pairs(edges),
        _NONE if inputs is None else _integers(inputs, "inputs"),
        None if outputs is None else _integers(outputs, "outputs"),
        None if scratch is None else _integers(scratch, "scratch"),
        max_states,
        budget,
    )


def peak(
    sizes: IntArray,
    edges: IntPairs,
    *,
    inputs: IntArray | None = None,
    outputs: IntArray | None = None,
    scratch: IntArray | None = None,
    max_states: int = 0,
) -> Peak:
    """Finds an execution order of minimum peak memory for a graph given as arrays.

    Node ``v`` is an operator with one output tensor of ``sizes[v]`` bytes. While it runs, its
    output, its inputs and its scratch are live; a tensor is freed after its last consumer.

    :param sizes: shape ``(n,)``, integers: the bytes of each node's output.
    :param edges: shape ``(m, 2)``, integers: ``(u, v)`` when ``v`` reads the output of ``u``.
    :param inputs: nodes that are inputs of the graph: no operator computes them, and they are live
        from the first step to their last consumer.
    :param outputs: nodes that stay live to the end. Default: those without a consumer.
    :param scratch: shape ``(n,)``: bytes that each operator needs while it runs.
    :param max_states: limit of the search, which makes it repeatable on every machine. 0: as many
        states as take a few seconds.

    Deterministic. Releases the interpreter's lock. Ctrl-C raises KeyboardInterrupt.
    """
    return Peak(*_find(sizes, edges, inputs, outputs, scratch, max_states, None))


def place(
    lower: IntArray,
    upper: IntArray,
    size: IntArray,
    *,
    alignment: IntArray | int | None = None,
    max_states: int = 0,
) -> Placement:
    """Places buffers with lifetimes in an arena of minimum height.

    :param lower: shape ``(n,)``: the first step in which each buffer is live.
    :param upper: shape ``(n,)``: the step after its last one.
    :param size: shape ``(n,)``: its bytes.
    :param alignment: of all offsets, or of each: shape ``(n,)``. Default: 1.
    :param max_states: limit of the search. 0: as many states as take a few seconds.

    Buffers that are live in one step share no byte. Deterministic. Imports numpy.
    """
    np = required("numpy", "neap.place")
    sizes = _integers(size, "size")
    alignments: Any = None
    if isinstance(alignment, int):
        alignments = array.array("q", [alignment]) * len(sizes)
    elif alignment is not None:
        alignments = _integers(alignment, "alignment")
    height, bound, offsets = _neap.place(
        _integers(lower, "lower"), _integers(upper, "upper"), sizes, alignments, max_states
    )
    return Placement(height, bound, np.array(offsets, dtype=np.int64))


@dataclass(frozen=True)
class Fit:
    """Whether some execution order needs at most ``budget_bytes``, and the proof.

    ``bool(fit)`` is True if an order is known. ``fit.known`` is False if a limit ended the search
    before the answer: then ``bool(fit)`` is False, too.
    """

    budget_bytes: int
    peak_bytes: int
    """Of ``order``: a proof if it is at most the budget."""
    lower_bound_bytes: int
    """No order has a smaller peak: a proof if it is larger than the budget."""
    order: list[int]

    def __bool__(self) -> bool:
        return self.peak_bytes <= self.budget_bytes

    @property
    def known(self) -> bool:
        """Whether there is an answer."""
        return bool(self) or self.lower_bound_bytes > self.budget_bytes

    @property
    def proof(self) -> str:
        """One sentence."""
        if self:
            return f"An order needs {self.peak_bytes:,} B; the budget is {self.budget_bytes:,} B."
        if self.known:
            return f"Every order needs at least {self.lower_bound_bytes:,} B; the budget is {self.budget_bytes:,} B."
        return (f"Unknown: a limit ended the search between {self.lower_bound_bytes:,} B and "
                f"{self.peak_bytes:,} B; the budget is {self.budget_bytes:,} B.")


def graph_fits(graph: tuple[Any, Any], budget: int | str, *, inputs: Any, outputs: Any, scratch: Any,
               max_states: int) -> Fit:
    """``neap.fits`` for a graph given as arrays."""
    sizes, edges = graph
    budget_bytes = bytes_of(budget)
    return Fit(budget_bytes, *_find(sizes, edges, inputs, outputs, scratch, max_states, budget_bytes))
