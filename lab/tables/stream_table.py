# SPDX-License-Identifier: Apache-2.0
"""Fronts of streamed plans: memory against work, every point executed and compared.

    python3 lab/tables/stream_table.py --neap build/release/tools/neap > docs/results/streams.md
    python3 lab/tables/stream_table.py --neap build/release/tools/neap MODEL.tflite ... --rows-only
    python3 lab/tables/stream_table.py --network mobilenet-v2 --network ds-cnn --inputs external --jobs 2
    python3 lab/tables/stream_table.py --vela vela   (pip install ethos-u-vela==5.2.0)

Without models: networks of the zoo in int8 and, where the folder of shared models exists
($NEAP_SHARED, else ../shared), public ones, those with float inputs and outputs with integer ones, too
(--integer-io both). For each network and each place of its input, `neap
pareto --runtime neap` gives the whole front, every plan checked; of it the smallest arena within each
of some multiples of the work is run (neap run --compare). "Touched" is the highest byte that the run
wrote. --vela: only the networks with figures of Vela 5.2; Vela and `neap plan` run on the same files, and the exit code
is 1 where a figure of Vela is not the one of the table or Neap needs more.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ZOO = [("mobilenet-v1", []), ("mobilenet-v2", []), ("mobilenet-v1-0.25", []),
       ("mobilenet-v2 0.35 at 144", ["--width-multiplier", "0.35", "--resolution", "144"]),
       ("mobilenet-v3-small", []), ("mobilenet-v3-large", []), ("ds-cnn", []),
       ("efficientnet-lite0", []), ("darts-imagenet-cell", []), ("randwire-cell-ws", [])]
SHARED = ["tensorflow+tflite-micro/person_detect.tflite", "mlcommons+tiny/vww_96_int8.tflite",
          "mlcommons+tiny/pretrainedResnet_quant.tflite",
          "newwhitecheng+vwwc19-submission/swiftnet-vww-224-uint8.tflite",
          "mit-han-lab+tinyengine/mcunetv2_large.tflite",
          "mit-han-lab+tinyengine/mcunet_detection.tflite",
          "tensorflow+tflite-micro/trained_lstm_int8.tflite",
          "tensorflow+tflite-micro/trained_lstm.tflite"]
# Public ones with float inputs and outputs, once more with the integers inside as their interface.
INTEGER_IO = ["mcunetv2_large", "mcunet_detection"]
RATIOS = [1.0, 1.01, 1.02, 1.05, 1.1, 1.15, 1.25, 1.5]

HEAD = """# Streams: memory against work

Arenas of [streamed plans](../algorithms/streams.md). Every point was planned, checked and executed, and its output
bytes were compared with a layer-by-layer run. Networks of the zoo are int8 with seeded weights; the others are as
published.

```
python3 lab/tables/stream_table.py --neap build/release/tools/neap > docs/results/streams.md
```

- *layer by layer*: peak of the file order, in bytes.
- *touched*: highest byte that the run wrote, which equals the plan's arena.
- *MACs*, *cycles*: multiples of the layer-by-layer MACs and modelled cycles.
- *bound at 1.0*: lower bound of plans that compute every pixel once, and the arena's gap to it.
- *s*: processor seconds to find the whole front and check every plan of it.
- *integers*: the caller passes the integers that the first QUANTIZE computes and takes those that the last DEQUANTIZE
  reads (`--integer-io both`). Random inputs and compared outputs are those of the published model.
"""

VELA = "Vela 5.2, views, cascades"
# Figures of others for the same networks: source, bytes, most work, where the input is. Vela 5.2.0 (PyPI
# ethos-u-vela) was run with --accelerator-config ethos-u55-128 --optimise Size on the same files.
PUBLISHED = [("mobilenet-v1", "Vela 3.10, cascades", 451584, 1.0, "resident"),
             ("mobilenet-v2", "Vela 3.10, cascades", 361984, 1.0, "resident"),
             ("mobilenet-v2", "MCUNetV2, patches", 172000, 1.1, "external"),
             ("person_detect", "Vela 3.10, cascades", 30720, 1.0, "resident"),
             ("vww_96_int8", "Vela 3.10, cascades", 49152, 1.0, "resident"),
             ("pretrainedResnet_quant", "Vela 3.10, cascades", 35840, 1.0, "resident"),
             ("swiftnet-vww-224-uint8", VELA, 451584, 1.0, "resident"),
             ("darts-imagenet-cell", VELA, 301056, 1.0, "resident"),
             ("randwire-cell-ws", VELA, 1436288, 1.0, "resident")]

NOTES = """
Figures of Vela 5.2.0 are its "Total SRAM used" for the same files with `--accelerator-config ethos-u55-128 --optimise
Size`. The cells are the first cell of a DARTS network and the first stage of a RandWire network. After
`pip install ethos-u-vela==5.2.0`, one command runs Vela and `neap plan` on these three files again, and fails where Neap
needs more:

```
python3 lab/tables/stream_table.py --vela vela
```

Front and plan of the RandWire stage differ: 420,030 B is the smallest arena of the front, which has no limit of work;
`neap plan` ends at its default limit with 429,078 B.

The published mcunetv2_large and mcunet_detection take float input, which counts four bytes per value when it is
resident. The first table also has both with integers. The published mcunetv2_large has the same output for all random
inputs, so its equal bytes are weaker evidence than those of the other networks.
"""


def print_published(rows):
    """The figures of others beside the smallest arena of the table within the same work, as text rows of it."""
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    print("\n## Published figures for the same networks\n")
    print("| network | source | bytes | Neap, bytes | MACs, at most | input |")
    print("|---|---|---|---|---|---|")
    for network, source, published, work, place in PUBLISHED:
        arenas = [int(cell[3].replace(",", "")) for cell in cells
                  if cell[0] == network and cell[1] == place and cell[4] and float(cell[4]) <= work]
        neap = f"{min(arenas):,}" if arenas else ""
        counted = "counted" if place == "resident" else "not counted"
        print(f"| {network} | {source} | {published:,} | {neap} | {work} | {counted} |")


VELA_OPTIONS = ["--accelerator-config", "ethos-u55-128", "--optimise", "Size"]


def vela_bytes(vela, model):
    """Its "Total SRAM used", which it prints in KiB with two decimals."""
    with tempfile.TemporaryDirectory() as folder:
        ran = subprocess.run([vela, *VELA_OPTIONS, "--output-dir", folder, model], check=True, capture_output=True)
    for line in ran.stdout.decode().splitlines():
        if line.startswith("Total SRAM used"):
            return float(line.split()[3]) * 1024
    raise SystemExit(f"{vela}: no line 'Total SRAM used'")


def compare_with_vela(neap, vela, models):
    print("| network | Vela's table, B | Vela now, B | Neap, B | processor s |")
    print("|---|---|---|---|---|", flush=True)
    right = True
    for network, source, published, _, _ in PUBLISHED:
        for path in [path for name, path, _ in models if name == network and source == VELA]:
            now = vela_bytes(vela, path)
            planned, problem, seconds = report(neap, "plan", path, "--runtime", "neap", "--stream", "auto")
            arena = planned["plan"]["arena_bytes"] if planned else None
            right = right and arena is not None and arena <= published and abs(now - published) <= 0.006 * 1024
            print(f"| {network} | {published:,} | {now:,.0f} | {problem or format(arena, ',')} | {seconds:.1f} |",
                  flush=True)
    return 0 if right else 1


def report(neap, *words):
    """The report, why there is none, and processor seconds."""
    with subprocess.Popen([neap, *words, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        with concurrent.futures.ThreadPoolExecutor(1) as pool:  # both ends read, or it would wait
            errors = pool.submit(child.stderr.read)
            out = child.stdout.read()
            errors = errors.result().decode()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    seconds = usage.ru_utime + usage.ru_stime
    if child.returncode != 0:
        return None, " ".join(errors.strip().splitlines()[-1:]), seconds
    return json.loads(out), None, seconds


def chosen(points):
    """The smallest arena within each ratio, each once, with its index."""
    found = []
    for ratio in RATIOS:
        fits = [i for i, point in enumerate(points) if point["macs_ratio"] <= ratio]
        if not fits:
            continue
        least = min(fits, key=lambda i: (points[i]["arena_bytes"], points[i]["macs"],
                                         points[i]["cycles"]))
        if least not in found:
            found.append(least)
    return found


def rows_of(neap, name, model, interface, source):
    layers, _, _ = report(neap, "plan", model, "--order-only", "--max-states", "1000", *interface)
    peak = f"{layers['file_order']['peak_bytes']:,}" if layers else ""
    with tempfile.TemporaryDirectory() as plans:
        folder = pathlib.Path(plans)
        front, problem, seconds = report(neap, "pareto", model, "--runtime", "neap", "--input", source,
                                         "--plans", str(folder), *interface)
        if front is None:
            yield f"| {name} | {source} | {peak} | not streamed: {problem} | | | | | |"
            return
        for i in chosen(front["points"]):
            point = front["points"][i]
            ran, problem, _ = report(neap, "run", model, "--plan", str(folder / f"{i}.json"),
                                     "--compare", "--random-inputs", "1")
            right = ran is not None and ran["equal"] and not ran["violations"]
            touched = f"{ran['high_water_bytes']:,}" if ran else problem
            bound = point["lower_bound_bytes"]
            gap = point["arena_bytes"] / bound - 1 if bound else 0
            # The bound does not cover plans that compute rows again.
            bound = f"{bound:,} ({gap:.1%})" if point["macs_ratio"] <= 1 else ""
            yield (f"| {name} | {source} | {peak} | {touched} | {point['macs_ratio']:.4f} "
                   f"| {point['cycles_ratio']:.3f} | {bound} | {'yes' if right else 'NO'} "
                   f"| {seconds:.1f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--neap", default="build/release/tools/neap")
    parser.add_argument("--inputs", default="resident,external,rows")
    parser.add_argument("--rows-only", action="store_true", help="no text around the table")
    parser.add_argument("--jobs", type=int, default=1, help="number of fronts at a time")
    parser.add_argument("--network", action="append", help="only this network of the table")
    parser.add_argument("--vela", metavar="PROGRAM", help="compare with its figures instead")
    parser.add_argument("models", nargs="*")
    options = parser.parse_args()
    shared = pathlib.Path(os.environ.get("NEAP_SHARED", "../shared")) / "models"
    if not options.rows_only and not options.vela:
        print(HEAD)
    if not options.vela:
        print("| network | input | layer by layer | touched | MACs | cycles | bound at 1.0 (gap) "
              "| same bytes | s |\n|---|---|---|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        models = [(pathlib.Path(model).stem, model, []) for model in options.models]
        if not models:
            for path in SHARED:
                network = path.split("/")[1].removesuffix(".tflite")
                if not (shared / path).is_file():
                    continue
                models.append((network, str(shared / path), []))
                if network in INTEGER_IO:
                    models.append((network + ", integers", str(shared / path), ["--integer-io", "both"]))
            models += [(network, None, []) for network, _ in ZOO]
        if options.vela:
            models = [model for model in models if any(one[:2] == (model[0], VELA) for one in PUBLISHED)]
        if options.network:
            models = [model for model in models if model[0] in options.network]
        for at, (network, path, _) in enumerate(models):
            if path is None:
                path = str(folder / (network.replace(" ", "-") + ".tflite"))
                subprocess.run([options.neap, "zoo", network.split()[0], "--int8", "-o", path,
                                "--quiet", *dict(ZOO)[network]], check=True)
                models[at] = (network, path, [])
        if options.vela:
            return compare_with_vela(options.neap, options.vela, models)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            fronts = [pool.submit(lambda *words: list(rows_of(options.neap, *words)), *model, source)
                      for model in models for source in options.inputs.split(",")]
            rows = []
            for front in fronts:
                for row in front.result():
                    rows.append(row)
                    print(row, flush=True)
    if not options.rows_only:
        print_published(rows)
        print(NOTES, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
