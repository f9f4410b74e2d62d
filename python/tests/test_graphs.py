# SPDX-License-Identifier: Apache-2.0
"""Orders and placements of arrays against brute force, and refused arguments."""

import array
import itertools
import random
import signal
import threading
import time

import numpy as np
import pytest
from conftest import hard_graph

import neap


def replayed_peak(order, sizes, edges, inputs=(), outputs=None, scratch=None):
    """The peak of an order by its definition; shares nothing with the library."""
    reads = {node: {u for u, v in edges if v == node} for node in range(len(sizes))}
    if outputs is None:
        outputs = set(range(len(sizes))) - {u for u, _ in edges}
    live, done, peak = set(inputs), set(inputs), 0
    assert sorted(order) == sorted(set(range(len(sizes))) - set(inputs))
    # An input without a consumer is live to the end only as an output.
    peak = sum(sizes[node] for node in live)
    for node in order:
        assert reads[node] <= done
        live.add(node)
        done.add(node)
        peak = max(peak, sum(sizes[t] for t in live) + (scratch[node] if scratch else 0))
        live = {t for t in live if t in outputs or any(u == t and v not in done for u, v in edges)}
    return peak


def least_peak(sizes, edges, **options):
    inputs = options.get("inputs", ())
    nodes = [node for node in range(len(sizes)) if node not in inputs]
    place = {}
    best = None
    for order in itertools.permutations(nodes):
        place.update({node: at for at, node in enumerate(order)})
        if all(u in inputs or place[u] < place[v] for u, v in edges):
            peak = replayed_peak(order, sizes, edges, **options)
            best = peak if best is None else min(best, peak)
    return best


def random_graph(draw, nodes):
    sizes = [draw.randint(0, 30) for _ in range(nodes)]
    edges = [(u, v) for v in range(nodes) for u in range(v) if draw.random() < 0.35]
    return sizes, edges


@pytest.mark.parametrize("seed", range(4))
def test_peaks_equal_brute_force(seed):
    draw = random.Random(seed)
    for _ in range(300):
        nodes = draw.randint(1, 6)
        sizes, edges = random_graph(draw, nodes)
        options = {}
        if draw.random() < 0.5:
            sources = [v for v in range(nodes) if not any(w == v for _, w in edges)]
            options["inputs"] = [v for v in sources if draw.random() < 0.5 and any(u == v for u, _ in edges)]
        if draw.random() < 0.3:
            options["outputs"] = [v for v in range(nodes) if draw.random() < 0.5]
        if draw.random() < 0.3:
            options["scratch"] = [draw.randint(0, 20) for _ in range(nodes)]
        found = neap.peak(sizes, edges, **options)
        replay = {**options, "outputs": set(options["outputs"])} if "outputs" in options else options
        assert found.bytes == replayed_peak(found.order, sizes, edges, **replay), (sizes, edges, options)
        assert found.bytes == found.lower_bound_bytes == least_peak(sizes, edges, **replay), (sizes, edges, options)
        for budget in (found.bytes, found.bytes - 1):
            fit = neap.fits((sizes, edges), budget, **options)
            assert fit.known and bool(fit) == (budget == found.bytes)
            if fit:
                assert replayed_peak(fit.order, sizes, edges, **replay) <= budget


def test_arrays_of_every_kind_give_the_same_peak():
    sizes, edges = [10, 20, 30, 5], [(0, 1), (0, 2), (1, 3), (2, 3)]
    expected = neap.peak(sizes, edges)
    for kind in (np.int64, np.int32, np.uint8, np.uint64):
        assert neap.peak(np.array(sizes, kind), np.array(edges, kind)) == expected
    assert neap.peak(array.array("q", sizes), np.asfortranarray(edges)) == expected
    assert neap.peak(np.array(sizes * 2)[::2][:4] * 0 + sizes, edges) == expected
    assert neap.peak([7], []) == neap.peak(np.array([7]), np.zeros((0, 2), np.int64))
    assert neap.peak([], []).order == []


@pytest.mark.parametrize(("sizes", "edges", "options", "text"), [
    ([1.5], [], {}, "sizes"),
    (np.array([1.0]), [], {}, "dtype float64"),
    (np.array([[1]]), [], {}, "dimensions"),
    ([1], np.array([1, 2]), {}, "shape"),
    ([1], [(0,)], {}, "pairs"),
    ([1], [(0, 1)], {}, "node 1"),
    ([1, 2], [(0, 1), (1, 0)], {}, "malformed"),
    ([-1], [], {}, "malformed"),
    ([1 << 62, 1 << 62], [], {}, "malformed"),
    (np.array([1 << 63], np.uint64), [], {}, "2^63"),
    ([1, 2], [(0, 1)], {"inputs": [1]}, "predecessor"),
    ([1, 2], [(0, 1)], {"outputs": [2]}, "outputs names node 2"),
    ([1, 2], [(0, 1)], {"scratch": [1]}, "scratch"),
])
def test_malformed_graphs_are_refused(sizes, edges, options, text):
    with pytest.raises(neap.UsageError) as error:
        neap.peak(sizes, edges, **options)
    assert text in str(error.value) and "\n" not in str(error.value)


def test_a_limit_leaves_a_bound():
    sizes, edges = hard_graph()
    found = neap.peak(sizes, edges, max_states=500)
    assert found.lower_bound_bytes <= found.bytes == replayed_peak(found.order, sizes, edges)
    assert found == neap.peak(np.array(sizes), np.array(edges), max_states=500)
    unknown = neap.fits((sizes, edges), (found.lower_bound_bytes + found.bytes) // 2, max_states=1)
    assert not unknown.known or unknown
    assert "budget" in unknown.proof


@pytest.mark.parametrize("seed", range(3))
def test_placements_are_valid_and_least(seed):
    draw = random.Random(seed)
    for _ in range(200):
        count = draw.randint(1, 5)
        lower = [draw.randint(0, 5) for _ in range(count)]
        upper = [first + draw.randint(1, 4) for first in lower]
        size = [draw.randint(1, 6) for _ in range(count)]
        found = neap.place(lower, np.array(upper), size)
        assert found.height_bytes == max(o + s for o, s in zip(found.offsets, size))
        meet = [(a, b) for a in range(count) for b in range(a) if lower[a] < upper[b] and lower[b] < upper[a]]

        def disjoint(offsets, size=size, meet=meet):
            return all(offsets[a] + size[a] <= offsets[b] or offsets[b] + size[b] <= offsets[a] for a, b in meet)

        assert disjoint(found.offsets)
        # Some least placement is made by dropping the buffers in some order.
        best = None
        for order in itertools.permutations(range(count)):
            offsets = {}
            for buffer in order:
                tops = sorted([0] + [offsets[o] + size[o] for o in offsets])
                offsets[buffer] = next(top for top in tops if all(
                    top + size[buffer] <= offsets[o] or top >= offsets[o] + size[o]
                    for o in offsets if (buffer, o) in meet or (o, buffer) in meet))
            height = max(offsets[b] + size[b] for b in range(count))
            best = height if best is None else min(best, height)
        assert found.height_bytes == best == found.lower_bound_bytes


def test_placements_are_aligned():
    found = neap.place([0, 0, 0], [1, 1, 1], [10, 3, 5], alignment=16)
    assert found.height_bytes <= 37 and all(offset % 16 == 0 for offset in found.offsets)
    assert found.offsets.dtype == np.int64
    mixed = neap.place([0, 0], [1, 1], [10, 3], alignment=[1, 8])
    assert mixed.offsets[1] % 8 == 0
    for arguments in (([0], [1, 2], [1]), ([2], [1], [1]), ([0], [1], [-1]), ([0], [1 << 40], [1])):
        with pytest.raises(neap.UsageError):
            neap.place(*arguments)


def test_an_interrupt_ends_a_search():
    sizes, edges = hard_graph(2000)
    timer = threading.Timer(0.3, lambda: signal.raise_signal(signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        neap.peak(sizes, edges, max_states=10**12)  # would take days
    timer.join()


def test_threads_search_at_once():
    """The interpreter's lock is free during a search: another thread counts meanwhile."""
    sizes, edges = hard_graph(300)
    counted, searching = [0], threading.Event()

    def search():
        neap.peak(sizes, edges, max_states=5000)
        searching.set()

    thread = threading.Thread(target=search)
    thread.start()
    while not searching.is_set():
        counted[0] += 1
        time.sleep(0.0005)
    thread.join()
    assert counted[0] > 3
