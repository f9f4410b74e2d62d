#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the curves of neap-train as SVG, with nothing but the standard library.

    scripts/learned/plot.py docs/learned

The folder holds figure2.csv (of scripts/learned/seeds.py) and the CSV files of train_builtin.sh; written are
figure2.svg (the panels a to f of the document's Figure 2) and training.svg beside them. A line is the
mean over the seeds, the area around it reaches from the least to the largest.
"""
import csv
import math
import pathlib
import sys

WIDTH, HEIGHT = 520, 240  # of a panel
LEFT, RIGHT, TOP, BOTTOM = 52, 178, 44, 36
COLOURS = ["#1b6ca8", "#c1440e", "#2e7d32", "#7b3fa0", "#8a6d00"]

# Title, column of the CSV files, label of the axis, curves: file and name.
FIGURE2 = [
    ("a. Mismatch by training degree", "test_mismatch", "nodes of 50",
     [(f"asap-degree{d}", f"degree {d}") for d in (3, 4, 5, 6)]),
    ("b. Cost by training degree", "test_cost", "1 - cosine, powers of ten",
     [(f"asap-degree{d}", f"degree {d}") for d in (3, 4, 5, 6)]),
    ("c. Mismatch by label", "test_mismatch", "nodes of 50",
     [("asap-degree6", "ASAP, degree 6"), ("alap-degree6", "ALAP, degree 6"),
      ("asap-degree3-test3", "ASAP, degree 3"), ("alap-degree3", "ALAP, degree 3"),
      ("alap-relative", "ALAP, with height")]),
    ("d. Cost by label", "test_cost", "1 - cosine, powers of ten",
     [("asap-degree6", "ASAP, degree 6"), ("alap-degree6", "ALAP, degree 6"),
      ("asap-degree3-test3", "ASAP, degree 3"), ("alap-degree3", "ALAP, degree 3"),
      ("alap-relative", "ALAP, with height")]),
    ("e. Mismatch by configuration", "test_mismatch", "nodes of 50",
     [("asap-degree6", "LSTM-LSTM"), ("asap-transformer-lstm", "Transformer-LSTM"),
      ("asap-lstm-transformer", "LSTM-Transformer"),
      ("asap-transformer-transformer", "Transformer-Transf.")]),
    ("f. Cost by configuration", "test_cost", "1 - cosine, powers of ten",
     [("asap-degree6", "LSTM-LSTM"), ("asap-transformer-lstm", "Transformer-LSTM"),
      ("asap-lstm-transformer", "LSTM-Transformer"),
      ("asap-transformer-transformer", "Transformer-Transf.")]),
]
TRAINING = [
    ("peak: optimum / achieved", "test_ratio", "test graphs, mean", [("peak", "peak")]),
    ("stages: optimum / achieved", "test_ratio", "test graphs, mean", [("stages", "stages")]),
]


def curve_of(folder, name, column):
    """(step, mean, least, largest) by step, as far as all runs reach; how many runs. None: no run."""
    path = folder / f"{name}.csv"
    runs = {}
    if path.exists():
        with path.open(newline="") as file:
            runs[0] = {int(row["step"]): float(row[column]) for row in csv.DictReader(file)}
    elif (folder / "figure2.csv").exists():
        with (folder / "figure2.csv").open(newline="") as file:
            for row in csv.DictReader(file):
                if row["configuration"] == name:
                    runs.setdefault(row["seed"], {})[int(row["step"])] = float(row[column])
    if not runs:
        return None
    steps = sorted(set.intersection(*(set(run) for run in runs.values())))
    points = []
    for step in steps:
        values = [run[step] for run in runs.values()]
        points.append((step, sum(values) / len(values), min(values), max(values)))
    return points, len(runs)


def ticks(low, high):
    span = (high - low) or 1
    step = 10.0 ** -8
    while span / step > 5:
        for factor in (2, 2.5, 2):
            step *= factor
            if span / step <= 5:
                break
    first = int(low / step) * step
    return [first + i * step for i in range(8) if low - 1e-12 <= first + i * step <= high + 1e-12]


def panel(folder, spec, x0, y0, from_zero):
    title, column, unit, wanted = spec
    # Costs fall by powers of ten.
    log = column == "test_cost"
    curves = [(name, *curve) for file, name in wanted
              if (curve := curve_of(folder, file, column)) is not None]
    out = [f'<text x="{x0 + LEFT}" y="{y0 + 16}" class="title">{title}</text>']
    if not curves:
        return out
    values = [value for _, points, _ in curves for point in points for value in point[1:]]
    if log:
        low, high = math.floor(math.log10(max(min(values), 1e-6))), math.log10(max(values))
    else:
        low, high = (0 if from_zero else min(values)), max(values)
    last = max(point[0] for _, points, _ in curves for point in points) or 1
    width, height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def place(step, value):
        value = math.log10(max(value, 1e-6)) if log else value
        share = (value - low) / ((high - low) or 1)
        return x0 + LEFT + width * step / last, y0 + TOP + height * (1 - share)

    for value in [10.0 ** power for power in range(low, 1) if power <= high] if log else ticks(low, high):
        _, y = place(0, value)
        out.append(f'<path d="M{x0 + LEFT} {y:.1f}h{width}" class="grid"/>')
        out.append(f'<text x="{x0 + LEFT - 6}" y="{y + 4:.1f}" class="tick end">{value:.4g}</text>')
    for step in ticks(0, last):
        x, _ = place(step, values[0])
        out.append(f'<text x="{x:.1f}" y="{y0 + TOP + height + 16}" class="tick mid">{step:.0f}</text>')
    out.append(f'<text x="{x0 + LEFT + width}" y="{y0 + HEIGHT - 4}" class="tick end">steps</text>')
    out.append(f'<text x="{x0 + LEFT}" y="{y0 + 32}" class="tick">{unit}</text>')
    for index, (name, points, runs) in enumerate(curves):
        colour = COLOURS[index % len(COLOURS)]
        if runs > 1:
            edge = [place(p[0], p[2]) for p in points] + [place(p[0], p[3]) for p in reversed(points)]
            area = " ".join(f"{x:.1f},{y:.1f}" for x, y in edge)
            out.append(f'<polygon points="{area}" style="fill:{colour};fill-opacity:0.15"/>')
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*point[:2]) for point in points))
        out.append(f'<polyline points="{path}" style="stroke:{colour}"/>')
        if len(curves) > 1:
            y = y0 + TOP + 12 + 15 * index
            out.append(f'<text x="{x0 + WIDTH - RIGHT + 8}" y="{y}" class="tick" '
                       f'style="fill:{colour}">{name}: {points[-1][1]:.3g} ({runs})</text>')
    return out


def draw(folder, specs, name, from_zero):
    rows = (len(specs) + 1) // 2
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{2 * WIDTH}" height="{rows * HEIGHT}" '
             f'viewBox="0 0 {2 * WIDTH} {rows * HEIGHT}">',
             "<style>text{font-family:sans-serif;fill:#222}.title{font-size:14px;font-weight:600}"
             ".tick{font-size:11px}.end{text-anchor:end}.mid{text-anchor:middle}"
             "polyline{fill:none;stroke-width:1.8}.grid{stroke:#ddd;stroke-width:1}</style>",
             f'<rect width="{2 * WIDTH}" height="{rows * HEIGHT}" fill="#fff"/>']
    for index, spec in enumerate(specs):
        lines += panel(folder, spec, index % 2 * WIDTH, index // 2 * HEIGHT, from_zero)
    (folder / name).write_text("\n".join(lines + ["</svg>", ""]))


def main():
    folder = pathlib.Path(sys.argv[1])
    draw(folder, FIGURE2, "figure2.svg", True)
    draw(folder, TRAINING, "training.svg", False)


if __name__ == "__main__":
    main()
