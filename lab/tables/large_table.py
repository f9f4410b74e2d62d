#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Orders of large graphs: the default search, single stages of it, and compilers' rules, as Markdown tables.

    lab/tables/large_table.py build/release/tools/neap GRAPH... [--strategies]

GRAPH is a model or graph file, also .json.gz. The first form plans with default settings. --strategies compares
the peaks of other strategies with that of `exact`. All searches end by their default limits, which count work, so
that peaks, bounds and arenas repeat exactly. Processor seconds are user and system time of the whole command,
with reading and reporting; they depend on the machine, and hardly on its load.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

BASELINES = ["file", "dfs", "greedy", "xla-list", "lpmf", "hmcos", "closure", "annealing"]
# On graphs of more operators the dynamic program over groups ends at its limits in the first round.
MAX_HMCOS = 1_000


def run(program, path, *options):
    """The JSON report of a plan, processor seconds, and the peak of resident memory in MiB."""
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen([program, "plan", str(path), "--json", *options], stdout=out)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            sys.exit(f"{path} {' '.join(options)}: exit code {child.returncode}")
        out.seek(0)
        return json.load(out), usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def name_of(path):
    return pathlib.Path(path).name.split(".")[0]


def percent_above(value, base):
    return f"{100 * (value - base) / base:.2f} %"


def default_table(program, graphs):
    print("| graph | operators | peak | lower bound | gap | arena | above the peak | processor, s | MiB |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for path in graphs:
        report, seconds, memory = run(program, path)
        plan = report["plan"]
        peak, bound, arena = plan["peak_bytes"], plan["peak_lower_bound_bytes"], plan["arena_bytes"]
        gap = "proven" if peak == bound else percent_above(peak, bound)
        above = "equal" if arena == peak else percent_above(arena, peak)
        print(
            f"| {name_of(path)} | {report['operators']:,} | {peak:,} | {bound:,} | {gap} | {arena:,} | {above} "
            f"| {seconds:.1f} | {memory:.0f} |",
            flush=True,
        )


def strategies_table(program, graphs):
    print("| graph | `exact` | " + " | ".join(f"`{name}`" for name in BASELINES) + " |")
    print("|---|---:|" + "---:|" * len(BASELINES))
    for path in graphs:
        report, _, _ = run(program, path, "--order-only")
        exact = report["plan"]["peak_bytes"]
        cells = []
        for strategy in BASELINES:
            if strategy == "hmcos" and report["operators"] > MAX_HMCOS:
                cells.append("")
                continue
            other, seconds, _ = run(program, path, "--order-only", "--order", strategy)
            cells.append(f"{other['plan']['peak_bytes'] / exact:.3f} ({seconds:.1f} s)")
        print(f"| {name_of(path)} | {exact:,} | " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("graphs", nargs="+")
    parser.add_argument("--strategies", action="store_true")
    arguments = parser.parse_args()
    table = strategies_table if arguments.strategies else default_table
    table(arguments.program, arguments.graphs)


if __name__ == "__main__":
    main()
