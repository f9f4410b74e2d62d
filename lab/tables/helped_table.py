#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which share of real models each feature helps: docs/results/who-is-helped.md.

    lab/tables/helped_table.py build/release/tools/neap --rows build/helped.jsonl > docs/results/who-is-helped.md
    lab/tables/helped_table.py build/release/tools/neap --only 'deeplab|dcgan'

The models are those that helped_models.tsv counts, in the shared models ($NEAP_SHARED, else ../shared), smallest first.
Each one is explained (neap explain) under the runtime of its format. --rows: finished rows are kept there, one JSON
object a line, and are not planned again; remove the file after a change of the program. --again PATTERN plans rows of
these models again. --seconds: no model is begun later than that.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

LIST = pathlib.Path(__file__).with_name("helped_models.tsv")
HELPED = 1.0  # percent
# Features that change the interface, so that fewer of the bytes of the same values count.
INTERFACE = ("integer interface", "streams fed by rows")
HEAD = """# Who is helped

Which share of real networks each feature of Neap helps: those whose arena of activations is at least 1 % below that of
the file order, under TensorFlow Lite Micro for .tflite, under an ideal runtime for .onnx, and under Neap's executor for
features that require it. Figures are those of `neap explain` with its default limits. Rows are kept in the file of
`--rows`; a row that a change of Neap cannot affect is not made again.

```
lab/tables/helped_table.py build/release/tools/neap --rows build/helped.jsonl > docs/results/who-is-helped.md
```

`lab/tables/helped_models.tsv` lists every model of the shared collection. Each architecture counts once in each format,
by its model of integers where there is one. Tests of single features of converters and runtimes, models that were
compiled for an accelerator, and models that consist of custom operators do not count; the list has the reason of each.
"""


class Model:
    def __init__(self, line):
        cells = line.rstrip("\n").split("\t") + [""] * 5
        self.name, self.architecture, self.status, self.reason, self.options = cells[:5]

    def format(self):
        return "." + self.name.rsplit(".", 1)[1]


def models():
    lines = LIST.read_text(encoding="utf-8").splitlines()
    return [Model(line) for line in lines if line and not line.startswith("#")]


def saved(row, feature):
    """Percent of the file order's arena; None: no plan."""
    if not feature["arena"] or not row["file"]:
        return None
    return 100 * (1 - feature["arena"] / row["file"])


def best_of(row, with_interface):
    best = 0.0
    for feature in row["features"]:
        if not with_interface and feature["label"] in INTERFACE:
            continue
        best = max(best, saved(row, feature) or 0.0)
    return best


def place_of(peak):
    """The operator at the peak of the file order."""
    operator = peak.get("operator")
    if not operator:
        return "between operators"
    return f"#{operator['index']} {operator['type']}"


def explain(neap, path, model, seconds):
    command = ["nice", neap, "explain", path, "--json", *model.options.split()]
    begun = time.monotonic()
    try:
        made = subprocess.run(command, capture_output=True, check=False, timeout=seconds)
    except subprocess.TimeoutExpired:
        return {"model": model.name, "failed": f"took more than {seconds:.0f} s"}
    if made.returncode != 0:
        why = made.stderr.decode().strip().splitlines()[-1]
        return {"model": model.name, "failed": why.split(f"{path.name}: ", 1)[-1]}
    report = json.loads(made.stdout)
    features = [{"label": one["label"], "arena": one["arena_bytes"], "bound": one["arena_lower_bound_bytes"],
                 "state": one["state"], "reason": one["reason"]} for one in report["features"]]
    return {"model": model.name, "file": report["file_order"]["arena_bytes"],
            "bound": report["plan"]["arena_lower_bound_bytes"], "certificate": report["plan"]["certificate"],
            "peak": place_of(report["file_order"]["peak_at"]), "features": features,
            "notes": report["notes"], "seconds": round(time.monotonic() - begun, 1)}


def share(count, of):
    return f"{count} of {of} ({100 * count / of:.0f} %)" if of else "-"


def print_features(kind, rows):
    """A line for each feature: the share of models, median and best saving of those that it helps."""
    print(f"\n## {kind}: {len(rows)} architectures\n")
    print("| feature | helped | median saving | best saving | not planned |")
    print("|---|---|---|---|---|")
    labels = list(dict.fromkeys(f["label"] for row in rows for f in row["features"]))
    for label in labels:
        savings, missing = [], 0
        for row in rows:
            for feature in row["features"]:
                if feature["label"] != label:
                    continue
                value = saved(row, feature)
                if value is None:
                    missing += 1
                elif value >= HELPED:
                    savings.append(value)
        middle = f"{statistics.median(savings):.1f} %" if savings else "-"
        most = f"{max(savings):.1f} %" if savings else "-"
        print(f"| {label} | {share(len(savings), len(rows))} | {middle} | {most} | {missing or ''} |")
    for text, with_interface in (("any feature", True), ("any feature with the same interface", False)):
        values = [value for row in rows if (value := best_of(row, with_interface)) >= HELPED]
        middle = f"{statistics.median(values):.1f} %" if values else "-"
        most = f"{max(values):.1f} %" if values else "-"
        print(f"| **{text}** | {share(len(values), len(rows))} | {middle} | {most} | |")


def print_default(rows):
    """How often default options help, and how often no order, placement or rewriting can."""
    helped = proven = 0
    for row in rows:
        default = next((f for f in row["features"] if f["label"].startswith("rewriting")), None)
        if default and (saved(row, default) or 0.0) >= HELPED:
            helped += 1
        elif row["bound"] > row["file"] * (1 - HELPED / 100):
            proven += 1
    print(f"\nDefault options help {share(helped, len(rows))}. For {share(proven, len(rows))}, the bound proves that no order, "
          "placement\nor rewriting saves 1 %.")


def reason_of(row):
    if row["bound"] >= row["file"]:
        proof = "the bound of every order, placement and rewriting equals the file order"
    else:
        proof = f"the bound of every order, placement and rewriting is {row['bound']:,} B"
    stream = next((f for f in row["features"] if f["label"] == "streams"), None)
    if stream and stream["reason"]:
        proof += f"; streams: {stream['reason']}"
    return f"peak at {row['peak']}; {proof}"


def print_nothing(rows):
    nothing = [row for row in rows if best_of(row, True) < HELPED]
    print(f"\n## Models with nothing: {share(len(nothing), len(rows))}\n")
    if not nothing:
        return
    print("| model | file order, B | reason |")
    print("|---|---|---|")
    for row in nothing:
        print(f"| {row['model']} | {row['file']:,} | {reason_of(row)} |")


def print_models(rows):
    print("\n## All counted models\n")
    print("Savings in percent of the file order.\n")
    print("| model | file order, B | default options | best, same interface | its feature | any interface |")
    print("|---|---|---|---|---|---|")
    for row in rows:
        default = next((f for f in row["features"] if f["label"].startswith("rewriting")), None)
        value = (saved(row, default) or 0.0) if default else 0.0
        same = [f for f in row["features"] if f["label"] not in INTERFACE and f["arena"]]
        best = min(same, key=lambda f: f["arena"], default=None)
        label = best["label"] if best and best_of(row, False) >= HELPED else "-"
        print(f"| {row['model']} | {row['file']:,} | {value:.1f} | {best_of(row, False):.1f} | {label} | "
              f"{best_of(row, True):.1f} |")


def print_page(listed, known):
    print(HEAD)
    by_status = {status: [m for m in listed if m.status == status] for status in ("counted", "duplicate", "excluded")}
    counted = by_status["counted"]
    rows = [known[m.name] for m in counted if m.name in known and "failed" not in known[m.name]]
    print(f"Of {len(listed)} models, {len(by_status['excluded'])} do not count and {len(by_status['duplicate'])} are "
          f"duplicates of an architecture.")
    for kind in (".tflite", ".onnx"):
        print_features(kind, [row for row in rows if row["model"].endswith(kind)])
        print_default([row for row in rows if row["model"].endswith(kind)])
    print_nothing(rows)
    failed = [known[m.name] for m in counted if "failed" in known.get(m.name, {})]
    if failed:
        print("\n## Without a plan\n")
        for row in failed:
            print(f"- {row['model']}: {row['failed']}")
    missing = [m.name for m in counted if m.name not in known]
    if missing:
        print("\nNot begun when the time for the table was over: " + ",\n".join(missing) + ".")
    print_models(rows)
    return bool(missing)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("neap")
    parser.add_argument("--rows", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--only", default="", metavar="PATTERN")
    parser.add_argument("--again", default="^$", metavar="PATTERN")
    parser.add_argument("--seconds", type=float, default=1e9, metavar="S")
    parser.add_argument("--model-seconds", type=float, default=600, metavar="S")
    args = parser.parse_args()
    folder = pathlib.Path(os.environ.get("NEAP_SHARED", "../shared")) / "models"
    known = {}
    if args.rows and args.rows.exists():
        for line in args.rows.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            known[row["model"]] = row
    listed = models()
    counted = [m for m in listed if m.status == "counted" and re.search(args.only, m.name)]
    begun = time.monotonic()
    for model in sorted(counted, key=lambda m: (folder / m.name).stat().st_size):
        if model.name in known and not re.search(args.again, model.name):
            continue
        if time.monotonic() - begun > args.seconds:
            break
        row = explain(args.neap, folder / model.name, model, args.model_seconds)
        known[model.name] = row
        if args.rows:
            with args.rows.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
    only = [m for m in listed if re.search(args.only, m.name)]
    missing = print_page(only, known)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
