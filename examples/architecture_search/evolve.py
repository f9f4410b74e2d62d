#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Regularised evolution of cells under a memory budget, with and without Neap in the loop.

Usage: evolve.py [--budgets 112,144] [--seeds 5] [--cycles 60] [--markdown]. Needs numpy and scikit-learn, whose
digits are the data. --markdown prints the tables of docs/results/architecture-search.md.

A cell has eight operators. Each one is a convolution that reads one or two earlier tensors; the leaves are averaged
over the image, and a linear layer classifies them. Its memory is counted for maps of 64x64 in int8.
A candidate that exceeds the budget is not evaluated. The two searches differ in one line: the memory of a candidate is
the peak of the order in which it was built, or the smallest peak of all orders, from `neap.peak`.

The score is the accuracy of a ridge regression on the features of a cell with random weights: it ranks cells without
training them. Scores choose the winner on one third of the images; another third, which the search never sees, is
reported.
"""

import argparse
import random
import statistics
import sys
from dataclasses import dataclass

import numpy as np

import neap

OPERATORS = 8
WIDTHS = (4, 8, 12, 16)
KERNELS = (1, 3)
SIDE = 64  # of the maps whose memory counts
MAX_REFUSED = 100_000  # in a row
POPULATION, SAMPLE = 24, 6  # Real et al., Regularized Evolution for Image Classifier Architecture Search, 2019


@dataclass(frozen=True)
class Operator:
    inputs: tuple[int, ...]
    kernel: int
    width: int


Cell = tuple[Operator, ...]  # tensor 0 is the input of the cell, tensor j the output of operator j - 1
STEM_WIDTH = 8


def random_operator(draw, at):
    inputs = {draw.randint(0, at)} | ({draw.randint(0, at)} if draw.random() < 0.5 else set())
    return Operator(tuple(sorted(inputs)), draw.choice(KERNELS), draw.choice(WIDTHS))


def random_cell(draw):
    return tuple(random_operator(draw, at) for at in range(OPERATORS))


def mutated(draw, cell):
    at = draw.randrange(OPERATORS)
    new, old = random_operator(draw, at), cell[at]
    change = draw.randrange(3)
    changed = Operator(new.inputs if change == 0 else old.inputs, new.kernel if change == 1 else old.kernel,
                       new.width if change == 2 else old.width)
    return cell[:at] + (changed,) + cell[at + 1:]


def as_arrays(cell):
    """The graph of a cell for `neap.peak`: bytes of the tensors, and who reads what. The last node reads the leaves."""
    edges = [(source, at + 1) for at, operator in enumerate(cell) for source in operator.inputs]
    read = {source for source, _ in edges}
    leaves = [tensor for tensor in range(1, OPERATORS + 1) if tensor not in read]
    widths = [operator.width for operator in cell]
    sizes = [SIDE * SIDE * width for width in (STEM_WIDTH, *widths)] + [4 * sum(widths[leaf - 1] for leaf in leaves)]
    return np.array(sizes), np.array(edges + [(leaf, OPERATORS + 1) for leaf in leaves])


def peak_as_built(cell):
    """The peak of the order of construction, by its definition."""
    sizes, edges = as_arrays(cell)
    last = np.arange(len(sizes))
    np.maximum.at(last, edges[:, 0], edges[:, 1])
    steps = np.arange(1, len(sizes))[:, None]
    made = np.arange(len(sizes))
    return int((((made <= steps) & (last >= steps)) * sizes).sum(axis=1).max())


def smallest_peak(cell):
    found = neap.peak(*as_arrays(cell), inputs=[0])
    assert found.optimal
    return found.bytes


class Digits:
    """Handwritten digits in three parts: to fit, to choose, to report."""

    def __init__(self):
        from sklearn.datasets import load_digits
        data = load_digits()
        order = np.random.default_rng(0).permutation(len(data.target))[:1500]
        self.images = (data.images[order] / 8 - 1).astype(np.float32)[..., None]
        self.labels = data.target[order]
        self.parts = slice(0, 500), slice(500, 1000), slice(1000, 1500)
        self.scores = {}

    def accuracies(self, cell):
        """(to choose by, to report): parts of 1, the mean of two draws of random weights."""
        if cell not in self.scores:
            draws = [self.accuracies_of(cell, seed) for seed in range(2)]
            self.scores[cell] = tuple(statistics.mean(values) for values in zip(*draws, strict=True))
        return self.scores[cell]

    def accuracies_of(self, cell, seed):
        draw = np.random.default_rng(seed)
        tensors = [convolved(self.images, 3, STEM_WIDTH, draw)]
        for operator in cell:
            joined = np.concatenate([tensors[source] for source in operator.inputs], axis=-1)
            tensors.append(convolved(joined, operator.kernel, operator.width, draw))
        read = {source for operator in cell for source in operator.inputs}
        leaves = [tensors[at] for at in range(1, OPERATORS + 1) if at not in read]
        features = np.concatenate([leaf.mean((1, 2)) for leaf in leaves], axis=1)
        features = np.concatenate([features, np.ones((len(features), 1), np.float32)], axis=1)
        fit, choose, report = self.parts
        targets = np.eye(10, dtype=np.float32)[self.labels[fit]]
        inner = features[fit].T @ features[fit] + 1e-2 * np.eye(features.shape[1], dtype=np.float32)
        guesses = (features @ np.linalg.solve(inner, features[fit].T @ targets)).argmax(1)
        return tuple(float((guesses[part] == self.labels[part]).mean()) for part in (choose, report))


def convolved(values, kernel, width, draw):
    """A convolution with random weights, normalised per channel, and ReLU."""
    count, rows, columns, channels = values.shape
    if kernel == 3:
        padded = np.pad(values, ((0, 0), (1, 1), (1, 1), (0, 0)))
        values = np.concatenate([padded[:, y:y + rows, x:x + columns] for y in range(3) for x in range(3)], axis=-1)
    weights = draw.standard_normal((values.shape[-1], width)).astype(np.float32)
    out = values.reshape(-1, values.shape[-1]) @ weights
    out = (out - out.mean(0)) / (out.std(0) + 1e-6)
    return np.maximum(out, 0).reshape(count, rows, columns, width)


def evolve(seed, budget, memory, digits, cycles):
    """The cell with the highest score of one search, and how many candidates its budget refused."""
    draw = random.Random(seed)
    refused = 0

    def admitted(make):
        nonlocal refused
        for _ in range(MAX_REFUSED):
            if memory(cell := make()) <= budget:
                return cell
            refused += 1
        sys.exit(f"evolve.py: none of {MAX_REFUSED:,} cells needs at most {budget:,} B: the budget is too small")

    population = [admitted(lambda: random_cell(draw)) for _ in range(POPULATION)]
    best = max(population, key=lambda cell: digits.accuracies(cell)[0])
    for _ in range(cycles):
        parent = max(draw.sample(population, SAMPLE), key=lambda cell: digits.accuracies(cell)[0])
        population.append(admitted(lambda: mutated(draw, parent)))
        population.pop(0)
        if digits.accuracies(population[-1])[0] > digits.accuracies(best)[0]:
            best = population[-1]
    return best, refused


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--budgets", default="112,144", help="KiB, separated by commas")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--cycles", type=int, default=60)
    parser.add_argument("--markdown", action="store_true")
    given = parser.parse_args()
    digits = Digits()
    summary, each = [], []
    for kib in map(int, given.budgets.split(",")):
        budget = kib * 1024
        gains, accuracies, needs_order, refused_counts = [], ([], []), 0, ([], [])
        for seed in range(given.seeds):
            winners = []
            for at, memory in enumerate((peak_as_built, smallest_peak)):
                winner, refused = evolve(seed, budget, memory, digits, given.cycles)
                winners.append(winner)
                accuracies[at].append(100 * digits.accuracies(winner)[1])
                refused_counts[at].append(refused)
            gains.append(accuracies[1][-1] - accuracies[0][-1])
            needs_order += peak_as_built(winners[1]) > budget
            each.append((kib, seed, *(f"{values[-1]:.1f}" for values in accuracies), f"{peak_as_built(winners[0]):,}",
                         f"{peak_as_built(winners[1]):,}", f"{smallest_peak(winners[1]):,}"))
            if not given.markdown:
                print(*each[-1], flush=True)
        spread = [f"{statistics.mean(values):.1f} ± {statistics.stdev(values):.1f}" if len(values) > 1 else f"{values[0]:.1f}"
                  for values in (*accuracies, gains)]
        summary.append((kib, *spread, f"{sum(gain > 0 for gain in gains)}, {sum(gain < 0 for gain in gains)}",
                        f"{needs_order} of {given.seeds}", *(f"{statistics.mean(counts):.0f}" for counts in refused_counts)))
    print_table(("budget, KiB", "as built, %", "best order, %", "difference", "better, worse", "winners that need the order",
                 "refused as built", "refused with best order"), summary)
    if given.markdown:
        print()
        print_table(("budget, KiB", "seed", "as built, %", "best order, %", "peak of the winner as built",
                     "winner of best order, as built", "its smallest peak"), each)


def print_table(head, rows):
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(map(str, row)) + " |")


if __name__ == "__main__":
    main()
