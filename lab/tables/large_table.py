#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Orders of large graphs: the default search, single stages of it, and compilers' rules, as Markdown tables.

    lab/tables/large_table.py build/release/tools/neap GRAPH...

GRAPH is a model or graph file, also .json.gz. All searches end by their default limits, which count work, so
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
# Operators from which a dynamic program over groups ends in its first round.
MAX_HMCOS = 5_000


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
    peaks, sizes = {}, {}
    for path in graphs:
        report, seconds, memory = run(program, path)
        plan = report["plan"]
        peak, bound, arena = plan["peak_bytes"], plan["peak_lower_bound_bytes"], plan["arena_bytes"]
        peaks[path], sizes[path] = peak, report["operators"]
        gap = "proven" if peak == bound else percent_above(peak, bound)
        above = "equal" if arena == peak else percent_above(arena, peak)
        print(
            f"| {name_of(path)} | {report['operators']:,} | {peak:,} | {bound:,} | {gap} | {arena:,} | {above} "
            f"| {seconds:.1f} | {memory:.0f} |",
            flush=True,
        )
    return peaks, sizes


def baseline_table(program, graphs, peaks, sizes):
    print("| graph | `exact` | " + " | ".join(f"`{name}`" for name in BASELINES) + " |")
    print("|---|---:|" + "---:|" * len(BASELINES))
    for path in graphs:
        cells = []
        for strategy in BASELINES:
            if strategy == "hmcos" and sizes[path] > MAX_HMCOS:
                cells.append("")
                continue
            report, seconds, _ = run(program, path, "--order-only", "--order", strategy)
            peak = report["plan"]["peak_bytes"]
            cells.append(f"{peak / peaks[path]:.3f} ({seconds:.1f} s)")
        print(f"| {name_of(path)} | {peaks[path]:,} | " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("graphs", nargs="+")
    arguments = parser.parse_args()
    print("## Default settings\n")
    peaks, sizes = default_table(arguments.program, arguments.graphs)
    print("\n## Strategies\n")
    baseline_table(arguments.program, arguments.graphs, peaks, sizes)


if __name__ == "__main__":
    main()
