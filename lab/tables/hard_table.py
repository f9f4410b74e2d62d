#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Orders of hard graphs of up to a thousand operators, compared with recorded results, as a Markdown table.

    lab/tables/hard_table.py build/release/tools/neap BEST.tsv GRAPH... [-- OPTIONS OF neap plan]

BEST.tsv has a line of titles, of which `graph` and `best_peak` are read; a graph may be missing. Searches end by limits
that count work, so that peaks, bounds and states repeat exactly. Two graphs run at a time, each on one thread.
Processor seconds are user and system time of the whole command; they depend on the machine, and hardly on its load.
Ratios compare with docs/results/orders.md: peaks with the smallest recorded one, states of a proof with those of a
recorded proof.
"""
import concurrent.futures
import csv
import pathlib
import sys

from large_table import name_of, percent_above, run

ORDERS = pathlib.Path(__file__).resolve().parents[2] / "docs/results/orders.md"
AT_A_TIME = 2


def known_peaks(path):
    """The best known peak of each graph."""
    lines = [line for line in pathlib.Path(path).read_text().splitlines() if not line.startswith("#")]
    return {row["graph"]: int(row["best_peak"]) for row in csv.DictReader(lines, delimiter="\t")}


def recorded_results(text):
    """{graph: (smallest peak, states of a proof or None)} of the tables of a page, without those of other profiles."""
    found, titles, skipped = {}, [], False
    for line in text.splitlines():
        if line.startswith("#"):
            titles, skipped = [], "in place" in line
        elif line.startswith("| graph |"):
            titles = [cell.strip() for cell in line.strip("|").split("|")]
        elif line.startswith("| ") and titles and not skipped:
            row = dict(zip(titles, (cell.strip() for cell in line.strip("|").split("|"))))
            peak, states = (int(row[title].replace(",", "")) for title in ("peak", "states"))
            best, proof = found.get(row["graph"], (peak, None))
            if row["status"] == "optimal":
                proof = states
            found[row["graph"]] = min(best, peak), proof
    return found


def ratio(value, base):
    if base is None:
        return ""
    return f"{value / base:.3f}" if base else "equal" if value == base else ""


def row_of(program, path, known, recorded, options):
    """The row of a graph, and whether its peak is proven."""
    report, seconds, _ = run(program, path, "--order-only", "--threads", "1", *options)
    plan, name = report["plan"], name_of(path)
    peak, bound, states = plan["peak_bytes"], plan["peak_lower_bound_bytes"], plan["states"]
    best = f"{known[name]:,}" if name in known else ""
    gap = "0" if peak == bound else percent_above(peak, bound)
    old_peak, old_states = recorded.get(name, (None, None))
    cells = [name, f"{report['operators']:,}", f"{peak:,}", best, f"{bound:,}", gap, "yes" if peak == bound else "no",
             f"{states:,}", f"{seconds:.2f}", ratio(peak, old_peak),
             ratio(states, old_states if peak == bound else None)]
    return f"| {' | '.join(cells)} |", peak == bound


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    program, best, *graphs = sys.argv[1:]
    at = graphs.index("--") if "--" in graphs else len(graphs)
    graphs, options = graphs[:at], graphs[at + 1:]
    known, recorded = known_peaks(best), recorded_results(ORDERS.read_text())
    print("| graph | operators | peak | best known | lower bound | gap | proven | states | processor, s "
          "| peak, ratio | states, ratio |")
    print("|---|---:|---:|---:|---:|---:|---|---:|---:|---:|---:|")
    proven = 0
    with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
        for row, is_proven in pool.map(lambda path: row_of(program, path, known, recorded, options), graphs):
            proven += is_proven
            print(row, flush=True)
    print(f"\n{proven} of {len(graphs)} proven.")


if __name__ == "__main__":
    main()
