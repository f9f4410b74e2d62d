#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Table of order searches: peak, proven bound, states, seconds, for files or folders of models.

    lab/tables/order_table.py build/release/tools/neap FILE_OR_FOLDER... [--runs N] [--beside FILE]
        [-- OPTIONS OF neap plan]

Prints Markdown. Seconds are those of the order search alone (median of the runs), on the machine of
the run: compare within one table only. Every row's plan has passed `plan`'s own checkers.
--beside adds the columns of a .tsv file whose first column is the graph.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys

ENDINGS = {".tflite", ".onnx", ".json", ".gz"}


def models(paths):
    for path in map(pathlib.Path, paths):
        if path.is_dir():
            yield from sorted(p for p in path.iterdir() if p.suffix in ENDINGS)
        else:
            yield path


def beside_of(path):
    """Titles of the columns, and the cells of each graph."""
    if path is None:
        return [], {}
    lines = [line.rstrip("\n").split("\t") for line in open(path) if not line.startswith("#")]
    return lines[0][1:], {line[0]: line[1:] for line in lines[1:]}


def plan(program, model, options):
    command = [program, "plan", str(model), "--order-only", "--json", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return None, done.stderr.strip()
    return json.loads(done.stdout), None


def main():
    arguments = sys.argv[1:]
    options = []
    if "--" in arguments:
        at = arguments.index("--")
        arguments, options = arguments[:at], arguments[at + 1 :]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--runs", type=int, default=11)
    parser.add_argument("--beside")
    options_of_table = parser.parse_args(arguments)
    titles, cells = beside_of(options_of_table.beside)
    more = "".join(f" {title} |" for title in titles)
    print(f"| graph | operators | file order | peak | proven bound | status | states | seconds |{more}")
    print("|---|---|---|---|---|---|---|---|" + "---|" * len(titles))
    proven = rows = 0
    for model in models(options_of_table.models):
        seconds = []
        report = error = None
        for _ in range(options_of_table.runs):
            report, error = plan(options_of_table.program, model, options)
            if error:
                break
            seconds.append(report["seconds"]["order"])
            if seconds[-1] > 1:
                break  # a search that long is not worth repeating for its median
        if error:
            print(f"| {model.stem} | {error} | | | | | | |")
            continue
        found = report["plan"]
        rows += 1
        proven += found["order_status"] == "optimal"
        print(
            f"| {model.stem} | {report['operators']} | {report['file_order']['peak_bytes']:,}"
            f" | {found['peak_bytes']:,} | {found['peak_lower_bound_bytes']:,}"
            f" | {found['order_status']} | {found['states']:,} | {statistics.median(seconds):.4f} |"
            + "".join(f" {cell} |" for cell in cells.get(model.stem, ["-"] * len(titles))),
            flush=True,
        )
    print(f"\n{proven} of {rows} with an optimal order (every order).")


if __name__ == "__main__":
    main()
