#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The plans of budgets alone: each model with 90, 75, 50 and 25 % of its file-order arena.

    lab/tables/fits_table.py build/release/tools/neap [FILE_OR_FOLDER...] > docs/results/fits.md
    lab/tables/fits_table.py build/release/tools/neap --zoo vww=mobilenet-v1-vww --checked

Without files: the .tflite files of the shared models ($NEAP_SHARED, else ../shared), smallest first. The budget is
--budget-activations, under TensorFlow Lite Micro. --checked: the chosen plans are checked and executed (neap run
--compare), which takes longer than to find them. Models without a plan in file order are listed below the table.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

SHARES = [90, 75, 50, 25]
HEAD = """# Budgets alone

What `neap plan MODEL --budget-activations B` gives without another option, for B of 90, 75, 50 and 25 % of the arena
that TensorFlow Lite Micro allocates for the model in file order. Features are tried in the order of their price
([effort](../reference/command-line.md#effort)).

```
lab/tables/fits_table.py build/release/tools/neap > docs/results/fits.md
```

- *file order*: activations in bytes. A cell is the plan, its MACs as a multiple of the model's if they differ, and the
  processor seconds of the command.
- *no*: no plan is within the budget; the smallest arena that was found, and its lower bound over every order and
  placement of the planned graph.
"""


def run(command, **options):
    """Output and processor seconds."""
    before = os.times()
    made = subprocess.run(command, capture_output=True, check=False, **options)
    after = os.times()
    seconds = (after.children_user + after.children_system
               - before.children_user - before.children_system)
    return made, seconds


class Table:
    def __init__(self, args):
        self.args = args
        self.failures = []
        self.without = []
        self.slowest = (0.0, "")

    def cell(self, model, name, budget):
        with tempfile.TemporaryDirectory() as folder:
            plan = pathlib.Path(folder) / "plan.json"
            command = [self.args.neap, "plan", model, "--budget-activations", str(budget), "--json",
                       "--plan", plan]
            made, seconds = run(command)
            if made.returncode not in (0, 3):
                self.failures.append(f"{name}, {budget} B: {made.stderr.decode().strip()}")
                return "failed"
            self.slowest = max(self.slowest, (seconds, name))
            report = json.loads(made.stdout)
            taken = next(one for one in report["tried"] if one["taken"])
            if self.args.checked:
                for verb in (["check", model, plan], ["run", model, "--plan", plan, "--compare"]):
                    done, _ = run([self.args.neap, *verb])
                    if done.returncode != 0:
                        self.failures.append(f"{name}, {budget} B: {verb[0]}: {done.stderr.decode().strip()}")
        if not report["fits"]:
            bound = report["plan"]["arena_lower_bound_bytes"]
            return f"no: {taken['bytes']:,}, bound {bound:,}; {seconds:.1f} s"
        price = taken["price"]
        ratio = price["macs"] / price["model_macs"] if price["model_macs"] else 1
        macs = f", {ratio:.3f}x" if price["macs"] != price["model_macs"] else ""
        return f"{taken['kind']}{macs}; {seconds:.1f} s"

    def row(self, model, name):
        # The file order alone is found at once.
        made, _ = run([self.args.neap, "plan", model, "--effort", "quick", "--json"])
        if made.returncode != 0:
            self.without.append(f"{name}: {made.stderr.decode().strip().splitlines()[-1]}")
            return
        arena = json.loads(made.stdout)["file_order"]["arena_bytes"]
        cells = [self.cell(model, name, arena * share // 100) for share in SHARES]
        print(f"| {name} | {arena:,} | " + " | ".join(cells) + " |", flush=True)

    def print_all(self, models):
        print(HEAD)
        print("| model | file order | " + " | ".join(f"{share} %" for share in SHARES) + " |")
        print("|---|---|" + "---|" * len(SHARES))
        for model, name in models:
            self.row(model, name)
        print(f"\nThe slowest command took {self.slowest[0]:.1f} s of processor time ({self.slowest[1]}).")
        if self.without:
            print("\nWithout a plan:\n")
            for line in self.without:
                print(f"- {line}")


def shared_models():
    shared = pathlib.Path(os.environ.get("NEAP_SHARED", "../shared")) / "models"
    files = [path for path in shared.glob("*/*.tflite") if path.parent.name != "bad"]
    return sorted(files, key=lambda path: (path.stat().st_size, str(path)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("neap")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    parser.add_argument("--zoo", action="append", default=[], metavar="NAME=NETWORK")
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
        table.print_all(models)
    for failure in table.failures:
        print(failure, file=sys.stderr)
    return 1 if table.failures else 0


if __name__ == "__main__":
    sys.exit(main())
