#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Arenas with outputs that reuse inputs under the kernels of CMSIS-NN, as a page in Markdown.

    lab/tables/overlap_table.py build/release/tools/neap > docs/results/overlap.md
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).parents[2]
SHARED = pathlib.Path(os.environ.get("NEAP_SHARED", ROOT / "../shared"))
MODELS = {
    "vww_96_int8": "mlcommons+tiny/vww_96_int8.tflite",
    "person_detect": "tensorflow+tflite-micro/person_detect.tflite",
    "pretrainedResnet_quant (resnet8)": "mlcommons+tiny/pretrainedResnet_quant.tflite",
    "kws_ref_model (kws)": "mlcommons+tiny/kws_ref_model.tflite",
    "mobilenet-v2": None,  # of the zoo
}
# A title, the target, the kernels of that core.
CORES = (("Cortex-M4", "cortex-m4+cmsis-nn", "cmsis-nn-dsp"), ("Cortex-M55", "cortex-m55+cmsis-nn", "cmsis-nn-mve"))
# Without options, and with the operators of the file.
REWRITES = {"default": (), "none": ("--rewrite", "none")}

HEAD = """# Overlaps under CMSIS-NN

What [overlaps of outputs and inputs](../reference/targets.md#overlaps-of-kernel-libraries) save under CMSIS-NN.

```
lab/tables/overlap_table.py build/release/tools/neap > docs/results/overlap.md
```

Every model is planned for TensorFlow Lite Micro with `--target`, without overlaps, with those of the core
(`--overlap cmsis-nn-dsp` or `cmsis-nn-mve`) and with those that are right on both (`--overlap cmsis-nn`), each with and
without rewriting. The first number of a cell is the activations with the scratch of the kernels, the second
`tensor_arena[]`. Every arena of activations is optimal: no order and no placement of its operators needs fewer bytes.

`tests/conformance/test_library_overlap.py` executes the overlapped kernels on an emulated Cortex-M4 and Cortex-M55 at
their distances: the outputs are equal. One byte nearer they differ. In parentheses: operators whose output reuses
their input's memory.

| model | core | rewrites | no overlap, B | overlaps of the core, B | `cmsis-nn`, B | best total against the plan without |
|---|---|---|--:|--:|--:|--:|"""

KERNELS = """
## Overlapped operators

The plans without rewrites and with the overlaps of the core: the minimum distance by which the output starts below the
input.

| model | core | operators: type and distance, B |
|---|---|---|"""

PIECES = """
## Pieces in their place

Models of the shared collection in which `--runtime neap --rewrite none` places outputs of operators that only copy
pieces (SPLIT, SPLIT_V, UNPACK, SLICE, STRIDED_SLICE, Split, Slice) at their bytes in the input. The file order has no
overlaps.

| model | pieces in place | file order, B | arena, B | lower bound, B |
|---|--:|--:|--:|--:|"""


def plan(neap, model, folder, words):
    """The report, and the operator of each slot."""
    path = os.path.join(folder, "plan.json")
    done = subprocess.run([neap, "plan", model, "--json", "--plan", path, "--force", *words], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stderr
    with open(path, encoding="utf-8") as file:
        steps = json.load(file)["entries"][0]["steps"]
    return json.loads(done.stdout), [step["op"] for step in steps]


def types_of(neap, model):
    """{position in the file: type}."""
    done = subprocess.run([neap, "inspect", model, "--json"], capture_output=True, text=True, check=True)
    operators = [step["operator"] for step in json.loads(done.stdout)["entries"][0]["steps"]]
    return {operator["index"]: operator["type"] for operator in operators}


def pieces(neap):
    print(PIECES)
    models = sorted(path for kind in ("tflite", "onnx") for path in (SHARED / "models").rglob(f"*.{kind}"))
    for model in models:
        done = subprocess.run([neap, "plan", model, "--json", "--runtime", "neap", "--rewrite", "none"],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:  # dimensions that are not known
            continue
        report = json.loads(done.stdout)
        count = sum(one["kind"] == "holds-output" for one in report["overlaps"])
        if count == 0:
            continue
        name = "/".join(model.relative_to(SHARED / "models").with_suffix("").parts)
        figures = (report["file_order"]["arena_bytes"], report["plan"]["arena_bytes"],
                   report["plan"]["arena_lower_bound_bytes"])
        print(f"| {name} | {count} | {' | '.join(f'{figure:,}' for figure in figures)} |")


def main(neap):
    details = []
    print(HEAD)
    with tempfile.TemporaryDirectory() as folder:
        for name, path in MODELS.items():
            model = os.path.join(folder, f"{name}.tflite") if path is None else str(SHARED / "models" / path)
            if path is None:
                subprocess.run([neap, "zoo", name, "--int8", "-o", model], check=True, capture_output=True)
            types = types_of(neap, model)
            for core, target, kernels in CORES:
                for rewrites, words in REWRITES.items():
                    cells, totals = [], []
                    for overlap in ("", kernels, "cmsis-nn"):
                        report, steps = plan(neap, model, folder, (*words, "--target", target,
                                                                   *(("--overlap", overlap) if overlap else ())))
                        delivered = report["delivered"]
                        assert report["plan"]["arena_lower_bound_bytes"] == delivered["arena_bytes"], (name, overlap)
                        totals.append(delivered["total_arena_bytes"])
                        count = f" ({len(report['overlaps'])})" if overlap else ""
                        cells.append(f"{delivered['arena_bytes']:,} / {totals[-1]:,}{count}")
                        if overlap != kernels or words == ():
                            continue
                        operators = sorted((steps[one["slot"]], one["bytes"]) for one in report["overlaps"]
                                           if one["kind"] == "starts-below")
                        text = ", ".join(f"#{index} {types[index]} {distance:,}" for index, distance in operators)
                        details.append(f"| {name} | {core} | {text or 'none'} |")
                    saved = 100 * (min(totals) - totals[0]) / totals[0]
                    print(f"| {name} | {core} | {rewrites} | {' | '.join(cells)} | {saved:+.1f} % |")
    print(KERNELS)
    print("\n".join(details))
    pieces(neap)


if __name__ == "__main__":
    main(sys.argv[1])
