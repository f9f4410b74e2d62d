#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the tables of README and guides: make_tables.py PROGRAM [--check [--quick]].

A table stands between `<!-- table: NAME -->` and `<!-- end of table -->`. Every figure comes from a report or
a file that PROGRAM writes for networks of the zoo; the texts beside the figures are here. --check compares the
tables with the pages and names each one that differs; --quick leaves out those that take a minute."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[1]
NETWORKS = {"vww": ("mobilenet-v1-vww", "--int8"), "cell": ("randwire-cell-ba", "--nodes", "6", "--width", "8", "--int8"),
            "swiftnet": ("swiftnet", "--int8")}
STOCK = ("--order", "file", "--rewrite", "none", "--no-memory-plan")
MEMORIES = ("--memory", "sram=32KiB,bw=8", "--memory", "psram=8MiB,bw=1")


class Measure:
    """Plans of the networks, each made once."""

    def __init__(self, program):
        self.program, self.made = program, {}
        holder = tempfile.TemporaryDirectory()
        self.holder, self.folder = holder, pathlib.Path(holder.name)

    def run(self, *words):
        return subprocess.run([self.program, *map(str, words)], check=True, capture_output=True, text=True).stdout

    def model(self, name):
        path = self.folder / f"{name}.tflite"
        if not path.exists():
            self.run("zoo", *NETWORKS[name], "-o", path)
        return path

    def plan(self, name, *options):
        """The report, with the bytes by which the written model is larger; None: no model is written."""
        key = (name, *options)
        if key not in self.made:
            writes = "neap" not in options and "--memory" not in options
            out = self.folder / "out.tflite"
            words = ("-o", out, "--force") if writes else ()
            report = json.loads(self.run("plan", self.model(name), "--json", *options, *words))
            report["flash"] = out.stat().st_size - os.path.getsize(self.model(name)) if writes else None
            self.made[key] = report
        return self.made[key]


def arena_of(report):
    """Bytes that the runtime allocates for activations."""
    if report["memories"]:
        return " + ".join(f"{memory['arena_bytes']:,}" for memory in report["memories"])
    delivered = report["delivered"]
    return f"{delivered['arena_bytes'] if delivered else report['plan']['arena_bytes']:,}"


def macs_of(report):
    """Multiply-accumulates as a multiple of the network's. Only tiles and streams compute anything twice."""
    if report["stream"]:
        return f"{report['stream']['macs'] / report['stream']['layerwise_macs']:.3f}"
    return f"{report['cascade']['macs_ratio'] if report['cascade'] else 1:.3f}"


def flash_of(report):
    return "no file" if report["flash"] is None else f"{report['flash']:+,}"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def code(options):
    return f"`{' '.join(options)}`"


def readme(measure):
    rows = [("stock TFLM", STOCK, ""),
            ("`--rewrite none`", ("--rewrite", "none"), "better addresses, in the model's offline memory plan"),
            ("default", (), "one convolution computed in two parts"),
            ("`--overlap tflm-reference`", ("--overlap", "tflm-reference"), "outputs that reuse the memory of inputs")]
    return table(("step", "arena", "saved by"),
                 [(name, arena_of(measure.plan("vww", *options)) + " B", why) for name, options, why in rows])


# (tool, options, required runtime)
TOOLS = (
    ("none: stock TFLM", STOCK, "TFLM"),
    ("order", ("--rewrite", "none", "--no-memory-plan"), "TFLM, LiteRT; ONNX Runtime in its priority-based order"),
    ("order and addresses", ("--rewrite", "none"), "TFLM with its default planner"),
    ("rewriting (default)", (), "TFLM with CONCATENATION and ADD registered"),
    ("overlap", ("--overlap", "tflm-reference"), "TFLM with its reference kernels"),
    ("tiles", ("--cascade", "auto"), "TFLM with SLICE and CONCATENATION registered"),
    ("tiles with overlap", ("--cascade", "auto", "--overlap", "tflm-reference"), "both of the above"),
    ("tiles with shared bodies", ("--cascade", "auto", "--cascade-bodies", "shared"), "tiles, with IF registered"),
    ("moves", ("--rewrite", "none", "--moves", "best"), "TFLM with RESHAPE registered"),
    ("Neap's executor", ("--runtime", "neap"), "Neap's executor"),
    ("streams", ("--runtime", "neap", "--stream", "auto"), "Neap's executor"),
    ("two memories", MEMORIES, "your own; the plan is in plan.json and in the C header"),
)


def which_feature(measure):
    rows = []
    for tool, options, runtime in TOOLS:
        reports = [measure.plan(name, *options) for name in NETWORKS]
        given = "" if options == STOCK else code(options) if options else "no option"
        rows.append((tool, given, *map(arena_of, reports), " / ".join(map(macs_of, reports)),
                     flash_of(reports[0]) if reports[0]["flash"] is None else " / ".join(map(flash_of, reports)), runtime))
    return table(("tool", "options", *(f"{name}, B" for name in NETWORKS), "MACs, x", "flash, B", "required runtime"), rows)


def concepts(measure):
    rows = [("stock TFLM", STOCK), ("placement", ("--order", "file", "--rewrite", "none")), ("order and placement", ()),
            ("overlap", ("--overlap", "tflm-reference")), ("tiling", ("--cascade", "auto")),
            ("streaming", ("--runtime", "neap", "--stream", "auto"))]
    return table(("idea", "arena", "options of `neap plan`"),
                 [(name, arena_of(measure.plan("cell", *options)) + " B",
                   "" if options == STOCK else code(options) if options else "none: the default") for name, options in rows])


TABLES = {"readme": ("README.md", readme), "concepts": ("docs/concepts.md", concepts),
          "which-feature": ("docs/guides/which-feature.md", which_feature)}
SLOW = ("which-feature",)  # every tool on all networks


def main():
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    measure, check, wrong = Measure(pathlib.Path(sys.argv[1]).resolve()), "--check" in sys.argv[2:], 0
    for name, (page, made) in TABLES.items():
        if "--quick" in sys.argv[2:] and name in SLOW:
            continue
        path = SOURCE / page
        text = path.read_text(encoding="utf-8")
        pattern = re.compile(rf"(<!-- table: {name} -->\n).*?(<!-- end of table -->)", re.DOTALL)
        if not pattern.search(text):
            raise SystemExit(f"{page}: no table {name}")
        body = made(measure)
        replaced = pattern.sub(lambda match, body=body: match.group(1) + body + "\n" + match.group(2), text)
        if not check:
            path.write_text(replaced, encoding="utf-8")
        elif replaced != text:
            print(f"{page}: the table {name} differs from the measured one:\n{body}", file=sys.stderr)
            wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
