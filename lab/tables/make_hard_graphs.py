#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Graphs on which minimum-peak orders are hard to find and to prove, as graph JSON.

    lab/tables/make_hard_graphs.py FOLDER [--seeds 11,12] [--families layered:100:30:any,ws:128 ...]

The same files for the same seeds everywhere. Families:
    layered:OPS:WIDTH:SIZES   layers of WIDTH operators; each reads 2 to 6 tensors, three in four of
                              the layer before, the rest from anywhere before
    random:OPS:SIZES          each operator reads 2 to 6 tensors from anywhere before
    ws:NODES, ba:NODES, er:NODES
                              one stage of a randomly wired network (Xie et al. 2019) between a stem
                              and a head: WS(4, 0.75), BA(5), ER(0.06); all nodes have one size
SIZES: any (1 to 100), two (powers of two up to 64), unit (1).
"""
import argparse
import json
import pathlib
import random

SIZES = {
    "any": lambda draw: draw.randint(1, 100),
    "two": lambda draw: 2 ** draw.randint(0, 6),
    "unit": lambda draw: 1,
}
FAMILIES = [
    "layered:100:20:any", "layered:100:30:any", "layered:200:40:unit", "random:80:any",
    "random:100:any", "random:100:unit", "random:120:any", "ws:96", "ws:128", "ba:96", "ba:128",
    "er:96", "er:128",
]


def layered(draw, ops, width):
    reads = []
    for op in range(ops):
        first = op // width * width
        if first == 0:
            reads.append([])
            continue
        picked = set()
        for _ in range(draw.randint(2, 6)):
            near = draw.random() < 0.75
            picked.add(draw.randrange(first - width, first) if near else draw.randrange(first))
        reads.append(sorted(picked))
    return reads


def anywhere(draw, ops):
    return [sorted(draw.sample(range(op), min(op, draw.randint(2, 6)))) for op in range(ops)]


def small_world(draw, nodes):
    """Watts-Strogatz: a ring, each node joined with the two on either side, ends moved at random."""
    edges = set()
    for step in (1, 2):
        for node in range(nodes):
            edges.add((node, (node + step) % nodes))
    for edge in sorted(edges):
        if draw.random() >= 0.75:
            continue
        node = edge[0]
        free = [other for other in range(nodes)
                if other != node and (node, other) not in edges and (other, node) not in edges]
        if free:
            edges.remove(edge)
            edges.add((node, draw.choice(free)))
    return edges


def scale_free(draw, nodes):
    """Barabasi-Albert: each new node is joined with five, the more likely the more edges they have."""
    edges, ends = set(), []
    for node in range(5, nodes):
        chosen = set(range(5)) if not ends else set()
        while len(chosen) < 5:
            chosen.add(draw.choice(ends))
        for other in sorted(chosen):
            edges.add((other, node))
            ends += [other, node]
    return edges


def uniform(draw, nodes):
    """Erdos-Renyi: each pair is joined with one chance."""
    return {(a, b) for a in range(nodes) for b in range(a + 1, nodes) if draw.random() < 0.06}


WIRINGS = {"ws": small_world, "ba": scale_free, "er": uniform}


def stage(draw, wiring, nodes):
    """Stem, nodes (each adds up what it reads), their mean, head. Edges go to the larger number."""
    inputs = [[] for _ in range(nodes)]
    read = set()
    for a, b in sorted(WIRINGS[wiring](draw, nodes)):
        low, high = min(a, b), max(a, b)
        if low not in inputs[high]:
            inputs[high].append(low)
        read.add(low)
    reads = [[], [0]]
    reads += [sorted(2 + other for other in inputs[node]) or [1] for node in range(nodes)]
    reads.append([2 + node for node in range(nodes) if node not in read])
    reads += [[2 + nodes], [3 + nodes]]
    sizes = [37632, 122304] + [61152] * nodes + [61152, 78, 1000]
    return reads, sizes


def graph(family, seed):
    kind, *words = family.split(":")
    draw = random.Random(f"{family}/{seed}")
    if kind in WIRINGS:
        reads, sizes = stage(draw, kind, int(words[0]))
    else:
        numbers = [int(word) for word in words[:-1]]
        reads = (layered if kind == "layered" else anywhere)(draw, *numbers)
        sizes = [SIZES[words[-1]](draw) for _ in reads]
    read = {i for inputs in reads for i in inputs}
    return {
        "tensors": [{"bytes": size} for size in sizes],
        "inputs": [],
        "outputs": [op for op in range(len(reads)) if op not in read],
        "ops": [{"inputs": inputs, "outputs": [op]} for op, inputs in enumerate(reads)],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seeds", default="11,12")
    parser.add_argument("--families", default=",".join(FAMILIES))
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for family in options.families.split(","):
        for seed in options.seeds.split(","):
            name = f"{family.replace(':', '-')}-s{seed}.json"
            (options.folder / name).write_text(json.dumps(graph(family, seed)) + "\n")


if __name__ == "__main__":
    main()
