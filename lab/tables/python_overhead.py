#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the cost of the Python package's calls on graphs of 50 operators, as docs/results/python.md has it.

Usage: python_overhead.py LIBNEAP_SOLVERS [--graphs 10000] [--calls 100000]. LIBNEAP_SOLVERS is the shared library of
the same build, which is called through its C interface for comparison. Processor seconds of this process.
"""

import argparse
import ctypes
import random
import resource
import statistics
import time

import numpy as np

import neap


def random_graph(draw, nodes=50):
    """Each operator reads its predecessor and up to two of the eight before it."""
    sizes = np.array([draw.randint(1, 64) * 256 for _ in range(nodes)])
    edges = sorted({(before, node) for node in range(1, nodes)
                    for before in (node - 1, *(draw.randint(max(0, node - 8), node - 1) for _ in range(draw.randint(0, 2))))})
    return sizes, np.array(edges)


class OrderProblem(ctypes.Structure):
    """neap_order_problem of neap_solvers.h."""

    _fields_ = [("num_operators", ctypes.c_size_t), ("use_begin", ctypes.c_void_p), ("uses", ctypes.c_void_p),
                ("scratch_bytes", ctypes.c_void_p), ("num_buffers", ctypes.c_size_t), ("buffer_bytes", ctypes.c_void_p),
                ("live_at_start", ctypes.c_void_p), ("live_at_end", ctypes.c_void_p), ("num_precedences", ctypes.c_size_t),
                ("before", ctypes.c_void_p), ("after", ctypes.c_void_p)]


class Direct:
    """The same problem for neap_order(), with its arrays made before."""

    def __init__(self, library, sizes, edges):
        nodes = len(sizes)
        uses = [[node] for node in range(nodes)]
        for before, after in edges.tolist():
            uses[after].append(before)
        ends = np.isin(np.arange(nodes), edges[:, 0], invert=True)
        self.arrays = [np.cumsum([0] + [len(used) for used in uses]).astype(np.uint64),
                       np.concatenate(uses).astype(np.int32), sizes.astype(np.int64), ends.astype(np.uint8),
                       edges[:, 0].astype(np.int32), edges[:, 1].astype(np.int32)]
        begin, used, bytes_, end, before, after = (array.ctypes.data for array in self.arrays)
        self.problem = OrderProblem(nodes, begin, used, None, nodes, bytes_, None, end, len(edges), before, after)
        self.order = np.zeros(nodes, np.int32)
        self.bounds = (ctypes.c_int64 * 2)()
        self.arguments = (ctypes.byref(self.problem), ctypes.c_int64(0), self.order.ctypes.data_as(ctypes.c_void_p),
                          ctypes.byref(self.bounds), None)
        self.function = library.neap_order

    def __call__(self):
        assert self.function(*self.arguments) == 0
        return self.bounds[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--graphs", type=int, default=10_000)
    parser.add_argument("--calls", type=int, default=100_000)
    arguments = parser.parse_args()
    library = ctypes.CDLL(arguments.library)
    draw = random.Random(1)
    graphs = [random_graph(draw) for _ in range(arguments.graphs)]

    # The same graphs in turns, so that both see the same machine.
    overheads, here, there = [], [], []
    for sizes, edges in graphs[:2000]:
        direct = Direct(library, sizes, edges)
        direct(), neap.peak(sizes, edges)
        begin = time.process_time()
        expected = direct()
        middle = time.process_time()
        found = neap.peak(sizes, edges)
        end = time.process_time()
        assert found.bytes == expected
        there.append(middle - begin)
        here.append(end - middle)
        overheads.append(here[-1] - there[-1])
    print(f"| one call, C interface, median | {1e6 * statistics.median(there):.0f} µs |")
    print(f"| one call, `neap.peak`, median | {1e6 * statistics.median(here):.0f} µs |")
    print(f"| difference, median | {1e6 * statistics.median(overheads):.0f} µs |")

    begin = time.process_time()
    optimal = sum(neap.peak(sizes, edges).optimal for sizes, edges in graphs)
    print(f"| {len(graphs):,} graphs ({optimal:,} proven optimal) | {time.process_time() - begin:.1f} s |")

    sizes, edges = np.array([64, 32, 16]), np.array([[0, 1], [1, 2]])
    for _ in range(arguments.calls // 10):
        neap.peak(sizes, edges), neap.fits((sizes, edges), 10)
    before = rss_kib()
    for _ in range(arguments.calls):
        neap.peak(sizes, edges), neap.fits((sizes, edges), 10)
    print(f"| resident memory before and after {2 * arguments.calls:,} calls | {before:,} and {rss_kib():,} KiB |")
    print(f"| largest resident memory | {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss:,} KiB |")


def rss_kib():
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


if __name__ == "__main__":
    main()
