#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the memory maps of README and docs: make_pictures.py PROGRAM [--check].

Every picture is drawn from the tables that `neap plan --csv` writes for a network of the zoo: a rectangle is a
tensor, from its first to its last step, at its addresses. Where stock TensorFlow Lite Micro places the tensors
itself, its greedy planner is repeated here, and its arena must be the one that Neap predicts. --check compares
the pictures with the files in docs/images and names each one that differs."""

import csv
import dataclasses
import html
import json
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[1]
IMAGES = SOURCE / "docs/images"
ALIGNMENT = 16  # bytes, of TensorFlow Lite Micro

WIDTH, PANEL, HEIGHT = 880, 392, 250  # pixels: the picture, one map of two, the plane of a map
LEFT, TOP, GAP = 56, 44, 40
COLORS = ("#4e79a7", "#f28e2b", "#59a14f", "#b07aa1", "#76b7b2", "#edc948", "#9c755f", "#ff9da7")
INPUT_COLOR = "#8a8f98"
STYLE = """<style>
text{font:12px system-ui,sans-serif;fill:#24292f}.head{font-size:14px;font-weight:600}.in{fill:#fff;font-size:11px}
.grid{stroke:#d0d7de}.top{stroke:#cf222e;stroke-width:2}rect.t{stroke:#fff;stroke-width:.7;fill-opacity:.82}.live{stroke-width:2;fill:none}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.in{fill:#fff}.grid{stroke:#3d444d}.top{stroke:#ff7b72}rect.t{stroke:#0d1117}}
</style>"""


@dataclasses.dataclass
class Tensor:
    name: str
    bytes: int
    first: int
    last: int
    offset: int


@dataclasses.dataclass
class Map:
    title: str
    tensors: list
    steps: int
    height: int  # of the arena, in bytes


def run(program, *words):
    return subprocess.run([program, *map(str, words)], check=True, capture_output=True, text=True).stdout


def planned(program, model, folder, *options):
    """(report, tensors, live bytes of each step) of a plan."""
    table = pathlib.Path(folder) / "table"
    report = json.loads(run(program, "plan", model, "--csv", table, "--force", "--json", *options))
    with open(table / "tensors.csv", newline="", encoding="utf-8") as file:
        tensors = [Tensor(row["tensor"], *(int(row[key]) for key in ("bytes", "first", "last", "offset")))
                   for row in csv.DictReader(file)]
    with open(table / "steps.csv", newline="", encoding="utf-8") as file:
        live = [int(row["live_bytes"]) for row in csv.DictReader(file)]
    return report, tensors, live


def placed_by_tflm(tensors):
    """TFLM's greedy planner: the largest tensor first, later ones first among equals, each at the lowest gap."""
    placed = []
    for tensor in sorted(reversed(tensors), key=lambda tensor: -aligned(tensor.bytes)):
        offset = 0
        for other in sorted(placed, key=lambda other: other.offset):
            if other.first < tensor.last and tensor.first < other.last:
                if offset + aligned(tensor.bytes) <= other.offset:
                    break
                offset = max(offset, other.offset + aligned(other.bytes))
        placed.append(dataclasses.replace(tensor, offset=offset))
    return placed


def aligned(count):
    return (count + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


def plan_map(program, model, folder, title, *options):
    report, tensors, live = planned(program, model, folder, *options)
    return Map(title, tensors, len(live), report["plan"]["arena_bytes"])


def stock_map(program, model, folder, title):
    """The file as it is, under stock TensorFlow Lite Micro."""
    report, tensors, live = planned(program, model, folder, "--order", "file", "--rewrite", "none", "--no-memory-plan")
    placed = placed_by_tflm(tensors)
    height = max(tensor.offset + aligned(tensor.bytes) for tensor in placed)
    if height != report["delivered"]["arena_bytes"]:
        raise SystemExit(f"{model}: {height} B placed here, Neap predicts {report['delivered']['arena_bytes']} B")
    return Map(title, placed, len(live), height)


def colors_of(tensors):
    names = dict.fromkeys(tensor.name for tensor in sorted(tensors, key=lambda tensor: (tensor.first, tensor.name)))
    found, at = {}, 0
    for name in names:
        found[name] = INPUT_COLOR if name == "input" else COLORS[at % len(COLORS)]
        at += name != "input"
    return found


def ticks(most):
    step = 1024
    while step * 5 < most:
        step *= 2
    return range(0, most + 1, step)


def frame(out, left, title, steps, most):
    """Title and axes of one plane; functions from steps and bytes to pixels."""
    right, bottom = left + PANEL - LEFT, TOP + HEIGHT

    def x(step):
        return left + (right - left) * step / max(steps, 1)

    def y(count):
        return bottom - HEIGHT * count / most

    out.append(f'<text class="head" x="{left}" y="20">{html.escape(title)}</text>')
    for tick in ticks(most):
        out.append(f'<line class="grid" x1="{left}" x2="{right}" y1="{y(tick):.1f}" y2="{y(tick):.1f}"/>'
                   f'<text x="{left - 6}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick // 1024} KiB</text>')
    out.append(f'<text x="{(left + right) / 2:.0f}" y="{bottom + 18}" text-anchor="middle">steps 0 to {steps - 1}</text>')
    return x, y, right


def draw_map(out, left, drawn, most):
    x, y, right = frame(out, left, drawn.title, drawn.steps, most)
    colors = colors_of(drawn.tensors)
    for tensor in drawn.tensors:
        width, height = x(tensor.last) - x(tensor.first), y(0) - y(tensor.bytes)
        name = html.escape(f"{tensor.name}: {tensor.bytes:,} B, offset {tensor.offset:,}")
        out.append(f'<rect class="t" x="{x(tensor.first):.1f}" y="{y(tensor.offset + tensor.bytes):.1f}" '
                   f'width="{width:.1f}" height="{height:.1f}" fill="{colors[tensor.name]}"><title>{name}</title></rect>')
        label = f"{tensor.bytes:,}"
        if width > 6.5 * len(label) + 6 and height > 14:
            out.append(f'<text class="in" x="{x(tensor.first) + 3:.1f}" '
                       f'y="{y(tensor.offset + tensor.bytes / 2) + 4:.1f}">{label}</text>')
    line = y(drawn.height)
    out.append(f'<line class="top" x1="{left}" x2="{right}" y1="{line:.1f}" y2="{line:.1f}"/>'
               f'<text x="{right}" y="{line - 5:.1f}" text-anchor="end">arena {drawn.height:,} B</text>')


def svg(label, body):
    height = TOP + HEIGHT + 30
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" role="img">'
            f"<title>{html.escape(label)}</title>{STYLE}\n" + "\n".join(body) + "\n</svg>\n")


def pair(label, before, after):
    """Two maps to the same scale."""
    out, most = [], max(before.height, after.height) * 108 // 100
    draw_map(out, LEFT, before, most)
    draw_map(out, LEFT + PANEL + GAP, after, most)
    return svg(label, out)


def curves(label, runs):
    """Live bytes of each step: [(title, live)]."""
    out, most = [], max(max(live) for _, live in runs) * 108 // 100
    for index, (title, live) in enumerate(runs):
        left = LEFT + index * (PANEL + GAP)
        x, y, right = frame(out, left, title, len(live), most)
        for step, count in enumerate(live):
            out.append(f'<rect class="t" x="{x(step):.1f}" y="{y(count):.1f}" width="{x(step + 1) - x(step):.1f}" '
                       f'height="{y(0) - y(count):.1f}" fill="{COLORS[0]}"><title>step {step}: {count:,} B</title></rect>')
        line = y(max(live))
        out.append(f'<line class="top" x1="{left}" x2="{right}" y1="{line:.1f}" y2="{line:.1f}"/>'
                   f'<text x="{right}" y="{line - 5:.1f}" text-anchor="end">peak {max(live):,} B</text>')
    return svg(label, out)


def visual_wake_words(program, folder):
    model = pathlib.Path(folder) / "vww.tflite"
    run(program, "zoo", "mobilenet-v1-vww", "--int8", "-o", model)
    return {"vww-before-after.svg": pair(
        "Memory maps of the visual wake words network: 73,728 B in stock TensorFlow Lite Micro, 36,864 B as planned",
        stock_map(program, model, folder, "Stock TFLM"),
        plan_map(program, model, folder, "Neap, --overlap tflm-reference", "--overlap", "tflm-reference"))}


def concepts(program, folder):
    model = pathlib.Path(folder) / "cell.tflite"
    run(program, "zoo", "randwire-cell-ba", "--nodes", 6, "--width", 8, "--int8", "-o", model)

    def live_of(*options):
        return planned(program, model, folder, *options)[2]

    def of(title, *options):
        return plan_map(program, model, folder, title, *options)

    tflm_file = stock_map(program, model, folder, "File order, placed by TFLM")
    neap_file = of("File order, placed by Neap", "--order", "file", "--rewrite", "none")
    best = of("Planned order, placed by Neap")
    overlap = of("The same with --overlap tflm-reference", "--overlap", "tflm-reference")
    tiles = of("Tiles, --cascade auto", "--cascade", "auto")
    stream = of("Stream, --runtime neap --stream auto", "--runtime", "neap", "--stream", "auto")
    return {
        "concept-order.svg": curves("Live bytes of each step in file order and in the planned order", [
            ("File order", live_of("--order", "file", "--rewrite", "none")), ("Planned order", live_of())]),
        "concept-placement.svg": pair("The same order placed by TFLM and by Neap", tflm_file, neap_file),
        "concept-overlap.svg": pair("The planned order without and with overlap", best, overlap),
        "concept-tiles.svg": pair("The planned order and the network in tiles", best, tiles),
        "concept-stream.svg": pair("The planned order and the streamed network", best, stream),
    }


def main():
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    program, check, wrong = pathlib.Path(sys.argv[1]).resolve(), "--check" in sys.argv[2:], []
    with tempfile.TemporaryDirectory() as folder:
        pictures = {**visual_wake_words(program, folder), **concepts(program, folder)}
    for name, text in pictures.items():
        path = IMAGES / name
        if not check:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            wrong.append(name)
    for name in wrong:
        print(f"docs/images/{name} differs from the picture made now: run scripts/make_pictures.py PROGRAM", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
