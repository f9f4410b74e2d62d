#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The plans of budgets alone: each model with 90, 75, 50 and 25 % of its total arena in file order.

    lab/tables/fits_table.py build/release/tools/neap --rows build/fits.jsonl > docs/results/fits.md
    lab/tables/fits_table.py build/release/tools/neap --zoo vww=mobilenet-v1-vww --checked
    lab/tables/fits_table.py build/release/tools/neap --exhaustive 30 --rows build/fits-all.jsonl

Without files: the .tflite files of the shared models ($NEAP_SHARED, else ../shared), smallest first, under TensorFlow
Lite Micro. --rows: finished rows are kept there, one JSON object a line, and are not planned again; remove the file
after a change of the program. --seconds: no model is begun later than that. --model-seconds: processor time of one
command. --checked: the chosen plans are checked and executed (neap run --compare). --exhaustive N: where no plan is
within a budget, every combination of options that needs no consent of the user is planned with it, for the first N
models with such a cell; combinations that are within it fail the run.
"""

import argparse
import itertools
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import time

SHARES = [90, 75, 50, 25]
LIMIT_SECONDS = 10  # of the default effort
HEAD = """# Budgets alone

What `neap plan MODEL --budget B` gives without another option. B is 90, 75, 50 and 25 % of the model's total arena in
file order (`--order file --rewrite none --no-memory-plan`) under TensorFlow Lite Micro on the default
[target](../reference/targets.md). Features are tried in the order of their price
([effort](../reference/command-line.md#effort)).

```
lab/tables/fits_table.py build/release/tools/neap --rows build/fits.jsonl --exhaustive 30 > docs/results/fits.md
```

- *file order*: the total arena in bytes.
- A cell is the plan, its MACs as a multiple of the model's if they differ, and the processor seconds of the command.
- *no*: no plan is within the budget. The smallest total arena that was found, and a lower bound of the activations of
  the planned graph over every order and placement. Features that need a consent are planned as well, in the same
  command.
"""
# Options that decide on every feature that needs no consent.
CHOICES = {
    "rewrite": ((), ("--rewrite", "none")),
    "tiles": (("--cascade", "off"), ("--cascade", "auto"), ("--cascade", "auto", "--tile-grids", "all")),
    "addresses": ((), ("--overlap", "copies"), ("--moves", "best"), ("--no-memory-plan",)),
}


def run(command, seconds=None):
    """The process and its processor seconds; no process: it took more than `seconds` of them."""
    def limit():
        if seconds:
            resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 5))
    before = os.times()
    made = subprocess.run(command, capture_output=True, check=False, preexec_fn=limit)
    after = os.times()
    spent = (after.children_user + after.children_system
             - before.children_user - before.children_system)
    return (None if made.returncode == -signal.SIGXCPU else made), max(spent, 0)


def text_of(cell):
    if cell["state"] in ("failed", "unfinished"):
        return f"{cell['state']}; {cell['seconds']:.1f} s"
    if cell["state"] == "no":
        return f"no: {cell['bytes']:,}, bound {cell['bound']:,}; {cell['seconds']:.1f} s"
    macs = f", {cell['macs']:.3f}x" if cell["macs"] else ""
    return f"{cell['kind']}{macs}; {cell['seconds']:.1f} s"


class Table:
    def __init__(self, args):
        self.args = args
        self.failures = []
        self.known = {}
        self.tried_all = 0
        if args.rows and args.rows.exists():
            lines = args.rows.read_text(encoding="utf-8").splitlines()
            self.known = {row["model"]: row for row in map(json.loads, lines)}

    def cell(self, model, name, budget):
        with tempfile.TemporaryDirectory() as folder:
            plan = pathlib.Path(folder) / "plan.json"
            command = [self.args.neap, "plan", model, "--budget", str(budget), "--json", "--plan", plan]
            made, seconds = run(command, self.args.model_seconds)
            if made is None:
                return {"state": "unfinished", "seconds": seconds}
            if made.returncode not in (0, 3):
                self.failures.append(f"{name}, {budget} B: {made.stderr.decode().strip()}")
                return {"state": "failed", "seconds": seconds}
            report = json.loads(made.stdout)
            taken = next(one for one in report["tried"] if one["taken"])
            if self.args.checked:
                for verb in (["check", model, plan], ["run", model, "--plan", plan, "--compare"]):
                    done, _ = run([self.args.neap, *verb])
                    if done.returncode != 0:
                        self.failures.append(f"{name}, {budget} B: {verb[0]}: {done.stderr.decode().strip()}")
        price = taken["price"]
        ratio = price["macs"] / price["model_macs"] if price["model_macs"] else 1
        return {"state": "fits" if report["fits"] else "no", "bytes": taken["bytes"], "kind": taken["kind"],
                "bound": report["plan"]["arena_lower_bound_bytes"], "seconds": seconds,
                "macs": ratio if price["macs"] != price["model_macs"] else 0}

    def row(self, model, name):
        # The plan that others are compared with; found at once.
        made, _ = run([self.args.neap, "plan", model, "--order", "file", "--rewrite", "none", "--no-memory-plan",
                       "--json"], self.args.model_seconds)
        if made is None or made.returncode != 0:
            why = "unfinished" if made is None else made.stderr.decode().strip().splitlines()[-1]
            return {"model": name, "without": why.removeprefix(f"neap plan: {model}: ")}
        delivered = json.loads(made.stdout)["delivered"]
        total = delivered["total_arena_bytes"] if delivered else None
        if not total:
            return {"model": name, "without": "the total arena is not known"}
        budgets = [total * share // 100 for share in SHARES]
        return {"model": name, "total": total, "budgets": budgets,
                "cells": [self.cell(model, name, budget) for budget in budgets]}

    def keep(self, row):
        self.known[row["model"]] = row
        if not self.args.rows:
            return
        with self.args.rows.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    def try_all(self, model, row):
        """Combinations of options that are within a budget for which no plan was found."""
        missed = [budget for budget, cell in zip(row["budgets"], row["cells"], strict=True) if cell["state"] == "no"]
        if not missed or "all" in row or self.tried_all >= self.args.exhaustive:
            return
        self.tried_all += 1
        found, planned = [], 0
        for choice in itertools.product(*CHOICES.values()):
            options = [word for words in choice for word in words]
            made, _ = run([self.args.neap, "plan", model, "--budget", str(max(missed)), "--json", *options],
                          self.args.model_seconds)
            if made is None or made.returncode not in (0, 3):
                continue  # the options exclude each other
            planned += 1
            report = json.loads(made.stdout)
            if report["fits"]:
                found.append({"options": options, "bytes": report["delivered"]["total_arena_bytes"]})
        self.keep({**row, "all": planned, "found": found})

    def fill(self, models):
        begun = time.monotonic()
        for model, name in models:
            if self.args.seconds and time.monotonic() - begun > self.args.seconds:
                break
            if name not in self.known:
                self.keep(self.row(model, name))
            if self.args.exhaustive and "cells" in self.known[name]:
                self.try_all(model, self.known[name])

    def print_all(self, models):
        rows = [self.known[name] for _, name in models if name in self.known]
        print(HEAD)
        print("| model | file order | " + " | ".join(f"{share} %" for share in SHARES) + " |")
        print("|---|---|" + "---|" * len(SHARES))
        slowest = (0.0, "")
        for row in rows:
            if "without" in row:
                continue
            print(f"| {row['model']} | {row['total']:,} | " + " | ".join(map(text_of, row["cells"])) + " |")
            slowest = max([slowest] + [(cell["seconds"], row["model"]) for cell in row["cells"]])
        cells = [cell for row in rows for cell in row.get("cells", [])]
        above = sum(cell["seconds"] > LIMIT_SECONDS for cell in cells)
        print(f"\n{above} of {len(cells)} commands took more than {LIMIT_SECONDS} s of processor time. The slowest one took "
              f"{slowest[0]:.1f} s ({slowest[1]}).")
        missing = [name for _, name in models if name not in self.known]
        if missing:
            print(f"\nOf {len(models)} models, {len(rows)} are on this page. The others, with the largest files, were not "
                  "begun when the time for the table was over:\n" + ",\n".join(missing) + ".")
        without = [row for row in rows if "without" in row]
        if without:
            print("\nWithout a plan of the file order whose total arena is known:\n")
            for row in without:
                print(f"- {row['model']}: {row['without']}")
        self.print_exhaustive(rows)

    def print_exhaustive(self, rows):
        tried = [row for row in rows if "all" in row]
        if not tried:
            return
        combinations = sum(row["all"] for row in tried)
        print(f"\nFor {len(tried)} models with a *no*, every combination of options for rewriting, tiles, overlap of copies, "
              f"moves and memory plans\nwas planned with the largest missed budget ({combinations:,} plans).")
        for row in tried:
            for one in row["found"]:
                self.failures.append(f"{row['model']}: {' '.join(one['options'])} needs {one['bytes']:,} B")
        if not any(row["found"] for row in tried):
            print("None was within it.")


def shared_models():
    shared = pathlib.Path(os.environ.get("NEAP_SHARED", "../shared")) / "models"
    files = [path for path in shared.glob("*/*.tflite") if path.parent.name != "bad"]
    return sorted(files, key=lambda path: (path.stat().st_size, str(path)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("neap")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    parser.add_argument("--zoo", action="append", default=[], metavar="NAME=NETWORK")
    parser.add_argument("--rows", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--seconds", type=float, metavar="S", help="of all models together; rows that are not begun are left out")
    parser.add_argument("--model-seconds", type=float, default=60, metavar="S",
                        help="processor time of one command; default: 60")
    parser.add_argument("--exhaustive", type=int, default=0, metavar="N")
    parser.add_argument("--checked", action="store_true")
    args = parser.parse_args()
    files = []
    for path in args.files or ([] if args.zoo else shared_models()):
        files += sorted(path.glob("**/*.tflite")) if path.is_dir() else [path]
    models = [(path, f"{path.parent.name}/{path.stem}") for path in files]
    with tempfile.TemporaryDirectory() as folder:
        for entry in args.zoo:
            name, network = entry.split("=")
            path = pathlib.Path(folder) / f"{name}.tflite"
            subprocess.run([args.neap, "zoo", *network.split(), "--int8", "-o", path], check=True,
                           stdout=subprocess.DEVNULL)
            models.append((path, f"zoo: {name}"))
        table = Table(args)
        table.fill(models)
        table.print_all(models)
    for failure in table.failures:
        print(failure, file=sys.stderr)
    return 1 if table.failures else 0


if __name__ == "__main__":
    sys.exit(main())
