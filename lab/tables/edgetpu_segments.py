#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/results/edgetpu-segments.md: where the Edge TPU compiler cut two networks, and where
`neap pipeline --method compiler` does.

edgetpu_segments.py NEAP SEGMENTS.tsv > docs/results/edgetpu-segments.md

NEAP is the program. SEGMENTS.tsv has a line for every compiled segment: its name, bytes, inputs, outputs
(name[shape]; ...) and operators. Everything but the file is the same on every machine.
"""

import collections
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

NETWORKS = {"ssd_mobilenet_v1": "ssd-mobilenet-v1", "ssd_mobilenet_v2": "ssd-mobilenet-v2"}
Tensor = collections.namedtuple("Tensor", "name shape")
Segment = collections.namedtuple("Segment", "bytes inputs outputs operators")


def tensors(text):
    found = re.findall(r"([^;\[]+)\[([^\]]*)\]", text)
    return [Tensor(name.strip(), [int(n) for n in shape.split(",")]) for name, shape in found]


def read_segments(path):
    """{network: {count: [Segment, ...]}}"""
    segments = collections.defaultdict(lambda: collections.defaultdict(dict))
    for line in pathlib.Path(path).read_text().splitlines():
        if line.startswith("#") or line.startswith("segment\t"):
            continue
        name, size, inputs, outputs, operators = line.split("\t")
        network, number, count = re.fullmatch(r"(.*)_segment_(\d+)_of_(\d+)", name).groups()
        segments[network][int(count)][int(number)] = Segment(int(size), tensors(inputs), tensors(outputs),
                                                            operators)
    return {network: {count: [parts[i] for i in range(count)] for count, parts in sorted(counts.items())}
            for network, counts in segments.items()}


def same_tensors(expected, names, byte_count):
    """Names of the compiler's file are the ends of those of the zoo; an element is a byte."""
    if byte_count != sum(math.prod(tensor.shape) for tensor in expected) or len(expected) != len(names):
        return False
    left = list(names)
    for tensor in expected:
        match = [name for name in left if name == tensor.name or name.endswith("/" + tensor.name)
                 or (tensor.name == "project/add_fold" and name.endswith("/project"))]
        if not match:
            return False
        left.remove(match[0])
    return True


def agrees(segment, stage, is_last):
    """The compiler's last segment ends with post-processing, which the networks of the zoo leave out."""
    sides = [(segment.inputs, stage["inputs"], stage["in_bytes"])]
    if not is_last:
        sides.append((segment.outputs, stage["outputs"], stage["out_bytes"]))
    return all(same_tensors(expected, [tensor["name"] for tensor in found], size)
               for expected, found, size in sides)


def run(program, *words):
    return subprocess.run([program, *map(str, words)], check=True, stdout=subprocess.PIPE).stdout


def pipeline(program, model, count, method):
    return json.loads(run(program, "pipeline", model, "--stages", count, "--method", method, "--json",
                          "--no-simulation"))


def short(names):
    return "; ".join("`" + "/".join(name.split("/")[-2:]) + "`" for name in names)


def print_network(program, segments, network, model, totals):
    print(f"\n## {network}\n")
    print("| segments | segment | outputs of the compiler's segment | outputs of Neap's stage | agree | "
          "compiled segment B | parameters of the stage B | ratio |")
    print("|---|---|---|---|---|---|---|---|")
    for count, parts in segments.items():
        report = pipeline(program, model, count, "compiler")
        for i, (segment, stage) in enumerate(zip(parts, report["stages"])):
            last = i + 1 == count
            same = agrees(segment, stage, last)
            totals["segments"] += 1
            totals["agree"] += same
            theirs = "post-processing" if last else short(tensor.name for tensor in segment.outputs)
            ours = "box codes and scores" if last else short(tensor["name"] for tensor in stage["outputs"])
            print(f"| {count} | {i + 1} | {theirs} | {ours} | {'yes' if same else 'no'} | {segment.bytes:,} | "
                  f"{stage['parameter_bytes']:,} | {segment.bytes / stage['parameter_bytes']:.3f} |")


def print_times(program, networks):
    print("\n## Against the bound\n")
    print("Modelled, device `edgetpu-usb`: the slowest stage of these cuts, and the bound below which no assignment is "
          "(certificate checked).\n")
    print("| network | stages | compiler's cuts ms | lower bound ms | ratio |\n|---|---|---|---|---|")
    for network, (model, counts) in networks.items():
        for count in counts:
            report = pipeline(program, model, count, "compiler")
            bound = report["lower_bound_milliseconds"]
            print(f"| {network} | {count} | {report['bottleneck_milliseconds']:.3f} | {bound:.3f} | "
                  f"{report['bottleneck_milliseconds'] / bound:.3f} |")


def main(program, table):
    segments = read_segments(table)
    print("# Segments of the Edge TPU compiler\n\nMade by:\n\n```\npython3 lab/tables/edgetpu_segments.py "
          "build/release/tools/neap ../shared/research/edgetpu-segments.tsv > docs/results/edgetpu-segments.md\n```")
    print("\nThe Edge TPU compiler cut SSD MobileNet v1 and v2 (300x300, COCO, uint8) into 2, 3 and 4 segments: "
          "google-coral/test_data,\nfolder `pipeline`, Apache-2.0. Neap cuts the same networks, `neap zoo NAME "
          "--int8 -o NAME.tflite`, by `neap pipeline NAME.tflite\n--method compiler`. A segment *agrees* when its "
          "inputs and outputs are the same tensors; of the last segment only the inputs are\ncompared.")
    totals = collections.Counter()
    models = {}
    with tempfile.TemporaryDirectory() as folder:
        for network, counts in segments.items():
            model = pathlib.Path(folder) / f"{NETWORKS[network]}.tflite"
            run(program, "zoo", NETWORKS[network], "--int8", "-o", model, "--quiet")
            models[NETWORKS[network]] = (model, list(counts))
            print_network(program, counts, NETWORKS[network], model, totals)
        floats = sum(agrees(segment, stage, i + 1 == count)
                     for network, counts in segments.items() for count, parts in counts.items()
                     for i, (segment, stage) in enumerate(zip(parts, pipeline(
                         program, NETWORKS[network], count, "compiler")["stages"])))
        print("\n## What agrees\n")
        print(f"- {totals['agree']} of {totals['segments']} segments of the int8 .tflite files, "
              f"{floats} of {totals['segments']} of the float networks (`neap pipeline NAME`).")
        print("- The rule counts weights as bytes and biases as 4 bytes. With biases as one byte the first of four "
              "segments of ssd-mobilenet-v2\n  would take one operator more (the depthwise convolution of "
              "`expanded_conv_16`).")
        print("- The compiler cuts along the order of the file: feature maps first, then predictors. Depth first from "
              "the input, as libcoral sorts,\n  predictors would come before the next feature map.")
        print("\n## What does not\n")
        print("- Bytes: a compiled segment is larger than its parameters, the first segment most. What else it holds "
              "is not documented.\n  Neap predicts parameters, not the size of a compiled file.")
        print("- Operators: a compiled segment is one custom operator (`edgetpu-custom-op`). The last segment has four "
              "operators: that one, two DEQUANTIZE\n  (code 6), and TFLite_Detection_PostProcess on the host. Neap's "
              "networks end with the box codes and scores.")
        print_times(program, models)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
