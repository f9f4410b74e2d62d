#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables and figure of docs/results/pipelines.md: pipeline_report.py STAGES_TABLE [SVG] > tables.md

STAGES_TABLE is the program build/release/lab/tables/stages_table. Everything but the times of the solver is
the same on every machine.
"""

import math
import subprocess
import sys

# Coral's published table, ms for one inference (coral.ai, benchmarks): desktop with USB 3.0, Dev Board.
# Multiply-accumulates in millions and parameters in millions follow from the published networks;
# ResNets at 299x299 are counted below. The last two do not fit (see the text).
CORAL = [
    ("MobileNet V1", 2.4, 2.4, 569, 4.25, 224, 1001), ("MobileNet V2", 2.6, 2.6, 301, 3.54, 224, 1001),
    ("Inception V1", 3.4, 4.1, 1500, 6.63, 224, 1001), ("Inception V4", 85, 102, 12270, 42.68, 299, 1001),
    ("ResNet-50 V1", 49, 56, None, 25.64, 299, 1000), ("ResNet-50 V2", 50, 59, None, 25.61, 299, 1000),
    ("ResNet-152 V2", 128, 151, None, 60.38, 299, 1000), ("VGG16", 296, 343, 15470, 138.36, 224, 1000),
    ("VGG19", 308, 357, 19632, 143.67, 224, 1000),
    ("DenseNet-121", 20, 25, 2834, 8.06, 224, 1000),
    ("Inception-ResNet V2", 57, 69, 13156, 55.87, 299, 1001)]
# neap/stages/accelerator.cc: fs for a multiply-accumulate, ms, ps for a byte of parameters and of tensors.
DEVICES = {"edgetpu-usb": (780, 1.5, 2193), "edgetpu-pcie": (1330, 1.3, 2469)}
CACHE = 7.9e6
BLOCKS = {"ResNet-50 V1": (3, 4, 6, 3), "ResNet-50 V2": (3, 4, 6, 3), "ResNet-152 V2": (3, 8, 36, 3)}


def resnet_macs(blocks, second, size):
    """Of keras.applications: V1 strides in the first block of a stage, V2 in the last."""
    half = lambda n: (n + 1) // 2
    size = half(size)
    macs = size * size * 64 * 147
    size = half(size)
    channels = 64
    for stage, count in enumerate(blocks):
        width = 64 << stage
        for block in range(count):
            strided = (block == count - 1 and stage < 3) if second else (block == 0 and stage > 0)
            out = half(size) if strided else size
            first = size if second else out
            if block == 0:
                macs += (size if second else out) ** 2 * channels * 4 * width
            macs += first ** 2 * channels * width + out ** 2 * width * width * 9
            macs += out ** 2 * width * 4 * width
            channels, size = 4 * width, out
    return (macs + channels * 1000) / 1e6


def print_fit():
    print("| network | " + " | ".join(f"{name} measured | model | error" for name in DEVICES) + " |")
    print("|---|" + "---|" * 3 * len(DEVICES))
    for name, usb, pcie, macs, parameters, size, classes in CORAL:
        macs = macs or resnet_macs(BLOCKS[name], name.endswith("V2"), size)
        cells = []
        for measured, (fs, fixed, ps) in zip((usb, pcie), DEVICES.values()):
            model = (macs * 1e6 * fs * 1e-12 + fixed + max(0, parameters * 1e6 - CACHE) * ps * 1e-9 +
                     (size * size * 3 + classes) * ps * 1e-9)
            cells.append(f"{measured} | {model:.1f} | {100 * (model / measured - 1):+.0f} %")
        print(f"| {name} | " + " | ".join(cells) + " |")
    print()


def table(program, *words):
    """Rows of numbers by network and k."""
    out = subprocess.run([program, *words], stdout=subprocess.PIPE, check=True,
                         stdin=subprocess.DEVNULL).stdout.decode().splitlines()
    names = out[0].split("\t")
    rows = []
    for line in out[1:]:
        cells = line.split("\t")
        rows.append({"network": cells[0], **{n: float(c) for n, c in zip(names[1:], cells[1:])}})
    return rows


def geometric(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def means(rows, above="compiler", below="exact"):
    return [geometric([row[above] / row[below] for row in rows if row["k"] == k]) for k in (4, 5, 6)]


def print_times(rows):
    print("| network | k | compiler rule | profiling | balanced | contiguous | optimum | rule / optimum "
          "| operators | states | solve ms | check ms |")
    print("|---|" + "---|" * 11)
    for row in rows:
        times = " | ".join(f"{row[name] / 1e9:.2f}" for name in
                           ("compiler", "profile", "balanced", "contiguous", "exact"))
        assert row["exact"] == row["bound"], "not proven"
        print(f"| {row['network']} | {row['k']:.0f} | {times} | {row['compiler'] / row['exact']:.2f} | "
              f"{row['operators']:.0f} -> {row['merged']:.0f} | {row['states']:.0f} | "
              f"{row['solve_ms']:.1f} | {row['check_ms']:.1f} |")
    print()
    for name in ("compiler", "profile", "balanced", "contiguous"):
        print(f"* {name} / optimum, geometric means for k = 4, 5, 6: " +
              ", ".join(f"{mean:.3f}" for mean in means(rows, name)))
    print()


def print_parameters(rows, timed):
    print("| network | " + " | ".join(f"k = {k}: rule | optimum" for k in (4, 5, 6)) + " |")
    print("|---|" + "---|" * 6)
    for name in dict.fromkeys(row["network"] for row in rows):
        cells = [f"{row['compiler'] / 1e6:.2f} | {row['exact'] / 1e6:.2f}" for row in rows
                 if row["network"] == name]
        print(f"| {name} | " + " | ".join(cells) + " |")
    print("\n* rule / optimum, geometric means for k = 4, 5, 6: " +
          ", ".join(f"{mean:.3f}" for mean in means(rows)))
    both = [{"k": a["k"], "above": a["exact_picoseconds"], "below": b["exact"]} for a, b in zip(rows, timed)]
    print("* slowest stage of the assignment with the least memory / optimum in time: " +
          ", ".join(f"{mean:.3f}" for mean in means(both, "above", "below")) + "\n")


def print_sweep(program):
    print("| what changes | k = 4 | k = 5 | k = 6 |\n|---|---|---|---|")
    settings = [("nothing", [])]
    settings += [(f"cache {mb} MB", ["--cache", str(int(mb * 1e6))]) for mb in (6.5, 7.2, 8.0)]
    settings += [(f"link and stream {mbs} MB/s", ["--link", str(round(1e6 / mbs))]) for mbs in (300, 380, 480)]
    settings += [(f"fixed {ms} ms", ["--fixed", str(int(ms * 1e9))]) for ms in (0.5, 1.0, 2.2)]
    settings += [(f"{tops} TOPS reached", ["--mac", str(round(2000 / tops))]) for tops in (1.5, 2.0, 4.0)]
    settings += [("edgetpu-pcie", ["--device", "edgetpu-pcie"]),
                 ("children in one stage", ["--children"])]
    for name, words in settings:
        print(f"| {name} | " + " | ".join(f"{mean:.3f}" for mean in means(table(program, *words))) + " |")
    print()


def print_simulated(rows):
    print("| | k = 4 | k = 5 | k = 6 |\n|---|---|---|---|")
    for name, above, below in (("separate links", "simulated_compiler", "simulated_exact"),
                               ("one shared link", "shared_compiler", "shared_exact")):
        print(f"| {name} | " + " | ".join(f"{mean:.3f}" for mean in means(rows, above, below)) + " |")
    print()


def draw(rows, path):
    """Run time relative to the compiler's rule (1.0), as in the published figure 3."""
    names = list(dict.fromkeys(row["network"] for row in rows))
    left, scale, bar, gap = 150, 420, 9, 12
    height = 60 + len(names) * (3 * bar + gap)
    colours = {4: "#1b6ca8", 5: "#e08e0b", 6: "#3c8d2f"}
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + scale + 70}" height="{height}" '
             'font-family="sans-serif" font-size="11">',
             '<rect width="100%" height="100%" fill="white"/>',
             f'<text x="{left}" y="16">simulated run time of the optimum, compiler rule = 1 '
             '(5000 items, separate links)</text>']
    for i, (k, colour) in enumerate(colours.items()):
        parts.append(f'<rect x="{left + 80 * i}" y="24" width="9" height="9" fill="{colour}"/>'
                     f'<text x="{left + 80 * i + 14}" y="32">{k} stages</text>')
    y = 44
    for name in names:
        parts.append(f'<text x="{left - 6}" y="{y + 2 * bar}" text-anchor="end">{name}</text>')
        for row in rows:
            if row["network"] != name:
                continue
            ratio = row["simulated_exact"] / row["simulated_compiler"]
            parts.append(f'<rect x="{left}" y="{y}" width="{scale * ratio:.1f}" height="{bar - 1}" '
                         f'fill="{colours[int(row["k"])]}"/>'
                         f'<text x="{left + scale * ratio + 4:.1f}" y="{y + bar - 1}" font-size="9">{ratio:.2f}</text>')
            y += bar
        y += gap
    parts.append(f'<line x1="{left + scale}" y1="40" x2="{left + scale}" y2="{y - gap}" stroke="#888" '
                 'stroke-dasharray="3 3"/></svg>')
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(parts) + "\n")


def main():
    program = sys.argv[1]
    rows = table(program)
    print("### Residuals of the model\n")
    print_fit()
    print("### Slowest stage, ms\n")
    print_times(rows)
    print("### Simulated, 5000 items, rule / optimum\n")
    print_simulated(rows)
    print("### Largest parameter memory of a stage, MB\n")
    print_parameters(table(program, "--objective", "parameters"), rows)
    print("### Sensitivity of rule / optimum\n")
    print_sweep(program)
    if len(sys.argv) > 2:
        draw(rows, sys.argv[2])


if __name__ == "__main__":
    main()
