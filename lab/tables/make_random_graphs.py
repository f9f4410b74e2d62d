#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A manifest of random graphs for `neap batch`, all different, the same for the same seed.

    lab/tables/make_random_graphs.py --count 10000 --operators 50 --seed 1 > graphs.jsonl

Three kinds in turn: layers that read the two layers before them, randomly wired graphs (every pair of
operators within a window is joined with one probability), and chains with skip connections. Sizes of
tensors are those of feature maps: side * side * channels.
"""

import argparse
import json
import random
import sys


def layered(draw, operators):
    """Layers of 2 to 6 operators; each reads one to three tensors of the two layers before."""
    reads, before, last = [], [], []
    while len(reads) < operators - 1:
        width = min(draw.randint(2, 6), operators - 1 - len(reads))
        layer = range(len(reads), len(reads) + width)
        for _ in layer:
            pool = before + last
            reads.append(sorted(draw.sample(pool, min(len(pool), draw.randint(1, 3)))))
        before, last = last, list(layer)
    return reads


def wired(draw, operators):
    """Operator j reads operator i < j with one probability, up to 12 apart."""
    chance = draw.uniform(0.1, 0.35)
    return [[i for i in range(max(0, j - 12), j) if draw.random() < chance]
            for j in range(operators - 1)]


def chain(draw, operators):
    """A chain in which some operators also read what was made 2 to 20 operators earlier."""
    chance = draw.uniform(0.1, 0.5)
    reads = []
    for j in range(operators - 1):
        inputs = {j - 1} if j > 0 else set()
        if j > 2 and draw.random() < chance:
            inputs.add(max(0, j - draw.randint(2, 20)))
        reads.append(sorted(inputs))
    return reads


def size(draw):
    return draw.choice((4, 7, 8, 14, 16, 28, 32)) ** 2 * draw.randint(1, 64)


def graph(draw, kind, operators):
    """As graph JSON. Tensor 0 is the input, tensor i + 1 the output of operator i; an operator that
    reads no other reads the input. An output without consumers is read by one of the next six operators, so
    that the last one does not join half of the graph, whose peak would be easy to prove."""
    reads = kind(draw, operators) + [[]]
    used = {i for inputs in reads for i in inputs}
    for i in range(operators - 1):
        if i not in used:
            reader = reads[draw.randint(i + 1, min(i + 6, operators - 1))]
            reader.append(i)
            reader.sort()
    ops = [{"inputs": [i + 1 for i in inputs] or [0], "outputs": [j + 1]}
           for j, inputs in enumerate(reads)]
    tensors = [{"bytes": size(draw)} for _ in range(operators + 1)]
    return {"tensors": tensors, "inputs": [0], "outputs": [operators], "ops": ops}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--operators", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.count < 0 or options.operators < 2:
        parser.error("--count must be 0 or more, --operators 2 or more")
    kinds = (layered, wired, chain)
    seen = set()
    while len(seen) < options.count:
        kind = kinds[len(seen) % len(kinds)]
        draw = random.Random(f"{options.seed}/{len(seen)}")
        text = json.dumps(graph(draw, kind, options.operators), separators=(",", ":"))
        while text in seen:
            text = json.dumps(graph(draw, kind, options.operators), separators=(",", ":"))
        sys.stdout.write(f'{{"id":"{kind.__name__}-{len(seen)}","graph":{text}}}\n')
        seen.add(text)


if __name__ == "__main__":
    main()
