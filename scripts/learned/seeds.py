#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Joins the curves of scripts/learned/figure2.sh, and prints mean and spread over the seeds.

    scripts/learned/seeds.py FOLDER [--join FILE]     FOLDER/CONFIGURATION.seedN.csv
    scripts/learned/seeds.py docs/results/learned/figure2.csv

--join writes all curves as one CSV file (configuration, seed, step, mismatch, cost), the input of
the second form; curves that FILE already has stay unless FOLDER has them too.
"""
import csv
import math
import pathlib
import re
import sys

FIELDS = ["configuration", "seed", "step", "test_mismatch", "test_cost"]


def read_joined(path):
    runs = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            runs.setdefault((row["configuration"], int(row["seed"])), []).append(
                (int(row["step"]), float(row["test_mismatch"]), float(row["test_cost"])))
    return runs


def read_folder(folder):
    runs = {}
    for path in sorted(folder.glob("*.seed*.csv")):
        name, seed = re.fullmatch(r"(.*)\.seed(\d+)\.csv", path.name).groups()
        with path.open(newline="") as file:
            runs[name, int(seed)] = [(int(row["step"]), float(row["test_mismatch"]),
                                      float(row["test_cost"])) for row in csv.DictReader(file)]
    return runs


def spread(values):
    mean = sum(values) / len(values)
    deviation = math.sqrt(sum((v - mean) ** 2 for v in values) / (len(values) - 1)) \
        if len(values) > 1 else None
    return mean, deviation, min(values), max(values)


def main():
    source = pathlib.Path(sys.argv[1])
    runs = read_joined(source) if source.is_file() else read_folder(source)
    if len(sys.argv) == 4 and sys.argv[2] == "--join":
        target = pathlib.Path(sys.argv[3])
        if target.exists():
            runs = {**read_joined(target), **runs}
        with target.open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(FIELDS)
            for (name, seed), points in sorted(runs.items()):
                for point in points:
                    writer.writerow([name, seed, *point])
    print("| configuration | seeds | steps | mismatch of 50, mean | standard deviation | range "
          "| cost, mean | range |")
    print("|---|---:|---:|---:|---:|---|---:|---|")
    for name in sorted({name for name, _ in runs}):
        curves = [points for (of, _), points in sorted(runs.items()) if of == name]
        # Runs of different lengths are compared at the last step that all of them reached.
        steps = min(points[-1][0] for points in curves)
        last = [next(p for p in points if p[0] == steps) for points in curves]
        mean, deviation, low, high = spread([p[1] for p in last])
        cost, _, cost_low, cost_high = spread([p[2] for p in last])
        print(f"| {name} | {len(curves)} | {steps} | {mean:.1f} | "
              f"{'-' if deviation is None else f'{deviation:.1f}'} | {low:.1f} to {high:.1f} | "
              f"{cost:.4f} | {cost_low:.4f} to {cost_high:.4f} |")


if __name__ == "__main__":
    main()
