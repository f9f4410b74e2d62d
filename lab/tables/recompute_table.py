#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Peaks with operators that run again, beside checkpointing baselines, as Markdown tables.

    lab/tables/recompute_table.py build/release/tools/neap [GRAPH.json...]

Chains are generated; GRAPH is a training graph as graph JSON whose first operators are the forward pass. The
baselines are sequences, and their peaks are those of a replay: live bytes at every step, as Neap counts them.

* sqrt(n): of the values that are live across the peak of the file order, every k-th is kept; the best k.
* chain: the optimal checkpoints of a uniform chain (Revolve, by dynamic programming); the best number of them.
* knapsack: the kept values maximise the kept cost within a share of their bytes, as a proxy of the peak; the best
  of 20 shares. The column "worst rise" is the largest ratio of the peak at a larger share to that at a smaller one.
"""
import argparse
import functools
import json
import pathlib
import subprocess
import sys
import tempfile

RATIOS = ("1.05", "1.1", "1.2", "1.33", "1.5")
SHARES = 20
KNAPSACK_UNITS = 1000


class Graph:
    def __init__(self, data):
        self.data = data
        names = {tensor.get("name"): index for index, tensor in enumerate(data["tensors"])}
        ids = functools.partial(map, lambda ref: ref if isinstance(ref, int) else names[ref])
        self.bytes = [tensor["bytes"] for tensor in data["tensors"]]
        self.inputs, self.outputs = set(ids(data["inputs"])), set(ids(data["outputs"]))
        self.reads = [list(dict.fromkeys(ids(op.get("inputs", [])))) for op in data["ops"]]
        self.writes = [list(ids(op.get("outputs", []))) for op in data["ops"]]
        self.cost = [max(1, op.get("cost", sum(self.bytes[t] for t in self.writes[i])))
                     for i, op in enumerate(data["ops"])]
        self.scratch = [op.get("scratch_bytes", 0) for op in data["ops"]]
        self.writer = {t: op for op, written in enumerate(self.writes) for t in written}
        self.base = sum(self.cost)

    def live(self, sequence):
        """Live bytes of every step: a step reads the last copy of a tensor."""
        first = {t: 0 for t in self.inputs}
        last, change = {}, [0] * (len(sequence) + 1)

        def close(t, end):
            change[first[t]] += self.bytes[t]
            change[end + 1] -= self.bytes[t]

        for step, op in enumerate(sequence):
            for t in self.reads[op]:
                assert t in first, "a tensor is read before it is written"
                last[t] = step
            for t in self.writes[op]:
                if t in first:
                    close(t, last.get(t, first[t]))
                first[t], last[t] = step, step
        for t in first:
            if t in self.outputs:
                close(t, len(sequence) - 1)
            elif t in last:
                close(t, last[t])
        total, live = 0, []
        for step, op in enumerate(sequence):
            total += change[step]
            live.append(total + self.scratch[op])
        return live

    def point(self, sequence):
        return max(self.live(sequence)), sum(self.cost[op] for op in sequence)


def candidates(graph):
    """The peak step of the file order, and the tensors that are live across it without being used there."""
    live = graph.live(range(len(graph.cost)))
    peak = live.index(max(live))
    across = []
    for t, writer in graph.writer.items():
        later = any(t in graph.reads[op] for op in range(peak + 1, len(graph.cost))) or t in graph.outputs
        if writer < peak and later and t not in graph.reads[peak]:
            across.append(t)
    return peak, sorted(across, key=graph.writer.get)


def with_kept(graph, peak, kept):
    """The file order; after the peak, values that are neither kept nor new are computed again when needed."""
    there = set(kept) | graph.inputs | set(graph.reads[peak]) | set(graph.writes[peak])
    there |= {t for t in graph.outputs if graph.writer.get(t, peak) < peak}
    sequence = list(range(peak + 1))

    def make(op):
        for t in graph.reads[op]:
            if t not in there:
                make(graph.writer[t])
        sequence.append(op)
        there.update(graph.writes[op])

    sys.setrecursionlimit(100_000)
    for op in range(peak + 1, len(graph.cost)):
        make(op)
    return sequence


def sqrt_points(graph):
    peak, across = candidates(graph)
    return [graph.point(with_kept(graph, peak, across[k - 1::k])) for k in range(1, len(across) + 2)]


def knapsack_points(graph):
    """[(peak, cost)] by share, ascending."""
    peak, across = candidates(graph)
    total = sum(graph.bytes[t] for t in across)
    sizes = [-(-graph.bytes[t] * KNAPSACK_UNITS // total) if total else 0 for t in across]
    points = []
    for share in range(SHARES + 1):
        room = KNAPSACK_UNITS * share // SHARES
        best = [(0, ())] * (room + 1)
        for t, size in zip(across, sizes):
            for left in range(room, size - 1, -1):
                value = best[left - size][0] + graph.cost[graph.writer[t]]
                if value > best[left][0]:
                    best[left] = (value, (t, best[left - size][1]))
        kept, rest = [], best[room][1]
        while rest:
            kept.append(rest[0])
            rest = rest[1]
        points.append(graph.point(with_kept(graph, peak, kept)))
    return points


def chain(layers):
    """Forward operators of cost 10 and backward operators of cost 20; tensors of 100 bytes."""
    tensors, ops, gradient = [{"bytes": 100}], [], layers
    for i in range(layers):
        tensors.append({"bytes": 100})
        ops.append({"inputs": [i], "outputs": [i + 1], "cost": 10})
    for i in reversed(range(layers)):
        tensors.append({"bytes": 100})
        ops.append({"inputs": [gradient, i], "outputs": [len(tensors) - 1], "cost": 20})
        gradient = len(tensors) - 1
    return {"name": f"chain{layers}", "tensors": tensors, "inputs": [0], "outputs": [gradient], "ops": ops}


@functools.lru_cache(None)
def forwards(length, slots):
    """The least forward steps that reverse a chain, and the first checkpoint."""
    if length == 1:
        return 0, 0
    if slots == 0:
        return length * (length - 1) // 2, 0
    return min((m + forwards(length - m, slots - 1)[0] + forwards(m, slots)[0], m) for m in range(1, length))


def chain_points(graph, layers):
    points = []
    for slots in range(layers):
        sequence = []

        def reverse(begin, end, free):
            if end == begin + 1:
                if begin < layers:
                    sequence.append(2 * layers - 1 - begin)
            elif free == 0:
                for k in range(end - 1, begin - 1, -1):
                    sequence.extend(range(begin, k))
                    reverse(k, k + 1, 0)
            else:
                middle = begin + forwards(end - begin, free)[1]
                sequence.extend(range(begin, middle))
                reverse(middle, end, free - 1)
                reverse(begin, middle, free)

        reverse(0, layers + 1, slots)
        points.append(graph.point(sequence))
    return points


def best(points, graph, ratio):
    peaks = [peak for peak, cost in points if cost * 1000 <= graph.base * round(float(ratio) * 1000)]
    return f"{min(peaks):,}" if peaks else "none"


def plan(program, path, *options):
    result = subprocess.run([program, "plan", str(path), "--json", *options], capture_output=True, check=True)
    return json.loads(result.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("neap")
    parser.add_argument("graphs", nargs="*", type=pathlib.Path)
    args = parser.parse_args()
    print("| graph | cost | Neap | arena | bound | sqrt(n) | chain | knapsack | worst rise |")
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for layers in (8, 16, 32, 64):
            paths.append(pathlib.Path(folder) / f"chain{layers}.json")
            paths[-1].write_text(json.dumps(chain(layers)))
        for path in (*paths, *args.graphs):
            graph = Graph(json.loads(path.read_text()))
            name = path.stem
            once = plan(args.neap, path)["plan"]
            roots, knapsack = sqrt_points(graph), knapsack_points(graph)
            chains = chain_points(graph, int(name[5:])) if name.startswith("chain") else []
            rise = max(later[0] / earlier[0] for i, earlier in enumerate(knapsack) for later in knapsack[i:])
            print(f"| {name} | 1 | {once['peak_bytes']:,} | {once['arena_bytes']:,} | "
                  f"{once['peak_lower_bound_bytes']:,} | | | | {rise:.2f} |")
            last = once["peak_bytes"]
            for ratio in RATIOS:
                report = plan(args.neap, path, "--recompute", ratio)
                peak, bound = report["plan"]["peak_bytes"], report["recompute"]["peak_lower_bound_bytes"]
                assert peak <= last, "a larger cost has a larger peak"
                last = peak
                print(f"| | {ratio} | {peak:,} | {report['plan']['arena_bytes']:,} | "
                      f"{'proven' if bound is not None and bound >= peak else format(bound or 0, ',')} | "
                      f"{best(roots, graph, ratio)} | {best(chains, graph, ratio) if chains else ''} | "
                      f"{best(knapsack, graph, ratio)} | |", flush=True)


if __name__ == "__main__":
    main()
