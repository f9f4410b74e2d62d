#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs two builds of the program, such as x86-64 and arm64, on the same inputs with the same options
and compares exit codes, reports and written files byte for byte. Only `seconds` may differ.

compare.py --one build/release/tools/neap --other 'qemu-aarch64 -L ... build/arm64/tools/neap'
"""

import argparse
import concurrent.futures
import fnmatch
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).parents[2]
SHARED = pathlib.Path(os.environ.get("NEAP_SHARED", SOURCE / "../shared"))
sys.path.insert(0, str(SOURCE / "tests/cli"))
from neap_cli import DIAMOND, wide_graph  # noqa: E402

# All searches count states and work, so that both programs stop at the same point. Small, because an
# emulated program is some ten times slower.
LIMITS = ["--max-states", "5000", "--rewrite-work", "5000"]

# Networks of the zoo: name in the list, arguments.
ZOO = {
    "ds-cnn-int8.tflite": ["ds-cnn", "--int8"],
    "ds-cnn.tflite": ["ds-cnn"],
    "resnet8.onnx": ["resnet8"],
    "resnet8-int8.tflite": ["resnet8", "--int8"],
    "mobilenet-v1-vww-int8.tflite": ["mobilenet-v1-vww", "--int8"],
    "mobilenet-v2-int8.tflite": ["mobilenet-v2", "--width-multiplier", "0.35", "--resolution", "32",
                                 "--int8"],
    "randwire.onnx": ["randwire-ws", "--seed", "1", "--nodes", "12", "--width", "8"],
    "randwire-int8.tflite": ["randwire-ws-weighted", "--seed", "2", "--nodes", "8", "--width", "4",
                             "--int8"],
    "swiftnet-cell-a.onnx": ["swiftnet-cell-a"],
    "darts-imagenet-cell.onnx": ["darts-imagenet-cell"],
}
LONG_ZOO = {
    "mobilenet-v3-small-int8.tflite": ["mobilenet-v3-small", "--int8"],
    "swiftnet-int8.tflite": ["swiftnet", "--int8"],
    "darts-cifar.onnx": ["darts-cifar"],
    "vit-tiny.onnx": ["vit-tiny"],
}

# Public models, small and middle, of every family of operators.
PUBLIC = """
esphome+micro-wake-word-models/mww_v2_okay_nabu.tflite
mlcommons+tiny/ad01_int8.tflite
mlcommons+tiny/kws_ref_model.tflite
tensorflow+tflite-micro/trained_lstm_int8.tflite
andestech+ModelZoo/rnnoise_fp32.onnx
NVIDIA+TensorRT/polygraphy_loop.onnx
fastmachinelearning+qonnx/espcn_nn_resize_quant.onnx
pulp-platform+Deeploy/CCT_1_32_32_8.onnx
bad/bad_names.onnx
bad/2_subgraphs.tflite
""".split()
LONG_PUBLIC = """
Efinix-Inc+tinyml/yolo_person_detect.tflite
ARM-software+keyword-transformer/kwt1_non_stream.tflite
SiliconLabs+mltk/keyword_spotting_on_off_v3.tflite
emza-vs+ModelZoo/ssd_slim_120x160x1_v1_int8.tflite
google-ai-edge+LiteRT/rope.tflite
google-ai-edge+LiteRT/nested_while.tflite
mit-han-lab+tinyengine/mcunet_detection.tflite
mlcommons+tiny/pretrainedResnet_quant.tflite
mlcommons+tiny/vww_96_int8.tflite
tensorflow+tflite-micro/audio_preprocessor_int8.tflite
tensorflow+tflite-micro/trained_lstm.tflite
tum-ei-eda+mlonmcu-models/rnnoise_INT8.tflite
Linzaer+Ultra-Light-Fast-Generic-Face-Detector-1MB/version-RFB-320.onnx
PINTO0309+onnx2tf/LSTM_1layer_fixed.onnx
andestech+ModelZoo/ResNet8_fp32.onnx
espressif+esp-dl/streaming_model.onnx
onnx+onnx/light_squeezenet.onnx
sonos+tract/qlstm.onnx
tum-ei-eda+mlonmcu-models/micro_kws_m_static_qdq.onnx
tum-ei-eda+mlonmcu-models/micro_kws_m_static_qoperator.onnx
""".split()
LONG_GRAPHS = """
hard/layered_n100_w20_m0_s1.json
hard/layered_n100_w30_m0_s1.json
rwcell-sum-n32-s0.onnx
""".split()

PLAN_OPTIONS = [
    [],
    ["--cascade", "auto"],
    ["--runtime", "neap", "--stream", "auto"],
    ["--rewrite", "reassociate"],
    ["--order", "learned"],
    ["--order", "random", "--seed", "3", "--order-only"],
    ["--order", "beam", "--moves", "best"],
]
OF_FORMAT = {
    ".tflite": [["--overlap", "tflm-reference"], ["--runtime", "litert"]],
    ".onnx": [["--runtime", "onnxruntime"], ["--runtime", "ideal-inplace", "--order", "serenity"]],
    ".json": [["--order", "best-first"]],
}


def without_seconds(value):
    """JSON without what may differ between two runs."""
    if isinstance(value, dict):
        return {key: without_seconds(item) for key, item in value.items()
                if key != "seconds" and not key.endswith("_seconds")}
    if isinstance(value, list):
        return [without_seconds(item) for item in value]
    return value


def comparable(output):
    """stdout: one JSON document, or as many as lines, or bytes."""
    try:
        return without_seconds(json.loads(output))
    except (ValueError, UnicodeDecodeError):
        pass
    try:
        return [without_seconds(json.loads(line)) for line in output.splitlines()]
    except (ValueError, UnicodeDecodeError):
        return output


class Outcome:
    """All that a run leaves: exit code, output, messages, files."""

    def __init__(self, code, output, errors, files):
        self.code, self.output, self.errors, self.files = code, output, errors, files

    def differences(self, other):
        """Names of the differing outputs, none where the two are equal."""
        names = [name for name in ("code", "output", "errors")
                 if getattr(self, name) != getattr(other, name)]
        for path in sorted(self.files.keys() | other.files.keys()):
            if self.files.get(path) != other.files.get(path):
                names.append(path)
        return names


def run(program, commands, inputs, keep=None):
    """Runs the commands of one case in an empty folder with copies of the inputs."""
    outcomes = []
    with tempfile.TemporaryDirectory() as holder:
        folder = pathlib.Path(holder)
        for name, path in inputs.items():
            (folder / name).symlink_to(path)
        for command in commands:
            result = subprocess.run([*program, *command], cwd=folder, capture_output=True,
                                    stdin=subprocess.DEVNULL, check=False)
            files = {str(path.relative_to(folder)): path.read_bytes()
                     for path in sorted(folder.rglob("*"))
                     if path.is_file() and not path.is_symlink()}
            outcomes.append(Outcome(result.returncode, comparable(result.stdout),
                                    result.stderr, files))
        if keep is not None:
            shutil.rmtree(keep, ignore_errors=True)
            shutil.copytree(folder, keep)
            for number, outcome in enumerate(outcomes):
                (keep / f"stdout.{number}").write_text(str(outcome.output))
                (keep / f"stderr.{number}").write_bytes(outcome.errors)
    return outcomes


def plan_case(name, options):
    """Plans one model, writes all there is to write, and executes what can be executed."""
    suffix = pathlib.Path(name).suffix
    model = "model" + suffix
    command = ["plan", model, *options, *LIMITS, "--json", "--quiet"]
    if "--order-only" in options:
        return [command]
    command += ["--plan", "plan.json", "--html", "page.html", "--csv", "tables"]
    # Neap's own plans are executed from plan.json.
    if suffix != ".json" and "neap" not in options:
        command += ["-o", "out" + suffix, "--emit-c", "plan.h"]
    return [["inspect", model, "--json"], command] if not options else [command]


def run_case(name):
    """The model's outputs with two seeds, without a plan and at the addresses of one."""
    model = "model" + pathlib.Path(name).suffix
    commands = [["run", model, "--random-inputs", str(seed), "--outputs", f"outputs{seed}.npz",
                 "--save-inputs", f"inputs{seed}.npz", "--json"] for seed in (0, 1)]
    commands.append(["plan", model, "--runtime", "neap", *LIMITS, "--plan", "plan.json", "--quiet"])
    commands.append(["run", model, "--plan", "plan.json", "--compare", "--json"])
    return commands


def other_cases(long):
    """Verbs beside plan and run, on graphs that need no model."""
    cases = [
        ("traffic", [["traffic", "model.json", "--on-chip", "2KiB,8KiB", "--max-states",
                             "20000", "--json"]]),
        ("pipeline", [["pipeline", "ds-cnn", "--stages", str(stages), "--method", method,
                              "--max-states", "20000", "--json"]
                             for stages in (2, 4) for method in ("exact", "learned", "balanced")]),
        ("place", [["place", "buffers.csv", "--max-states", "20000", "-o", "placed.csv",
                           "--json"]]),
        ("batch", [["batch", "graphs.jsonl", "--max-states", "20000"]]),
    ]
    if long:
        cases.append(("bench", [["bench", "order", "--quick", "--store", "order.json",
                                        "--json", "bench.json"]]))
    return cases


def made_inputs(folder):
    """Graphs and tables that the script makes itself."""
    (folder / "diamond.json").write_text(json.dumps(DIAMOND))
    for operators, seed in ((40, 1), (120, 2)):
        (folder / f"wide{operators}.json").write_text(
            json.dumps(wide_graph(operators, seed, width=8)))
    lines = [json.dumps({"id": f"g{seed}", "graph": wide_graph(30, seed, width=6)})
             for seed in range(6)]
    (folder / "graphs.jsonl").write_text("\n".join(lines) + "\n")
    rows = ["id,lower,upper,size"]
    rows += [f"{i},{i * 7 % 50},{i * 7 % 50 + 5 + i * 13 % 23},{1 + i * 37 % 97}" for i in range(80)]
    (folder / "buffers.csv").write_text("\n".join(rows) + "\n")


def finds_difference(program, folder):
    """The negative control: other seeds must be found different, the same seed equal."""
    models = [run(program, [["zoo", "resnet8", "--seed", str(seed), "-o", "a.onnx", "--quiet"]], {})
              for seed in (0, 1, 0)]
    inputs = {"model.onnx": folder / "resnet8.onnx"}
    outputs = [run(program, [["run", "model.onnx", "--random-inputs", str(seed), "--outputs",
                              "o.npz", "--quiet"]], inputs) for seed in (0, 1, 0)]
    return all("a.onnx" in first[0].differences(second[0]) or
               "o.npz" in first[0].differences(second[0])
               for first, second in (models[:2], outputs[:2])) and not any(
                   first[0].differences(third[0])
                   for first, _, third in (models, outputs))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--one", type=shlex.split, required=True, help="a program")
    parser.add_argument("--other", type=shlex.split, required=True, help="the same of another build")
    parser.add_argument("--only", default="", help="cases whose name contains this pattern")
    parser.add_argument("--long", action="store_true", help="more and larger models")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--keep", type=pathlib.Path,
                        help="a folder for both results of every case that differs")
    arguments = parser.parse_args()
    programs = []
    for words in (arguments.one, arguments.other):
        programs.append([str(pathlib.Path(word).resolve()) if "/" in word and "=" not in word
                         else word for word in words])

    with tempfile.TemporaryDirectory() as holder:
        folder = pathlib.Path(holder)
        made_inputs(folder)
        subprocess.run(["flatc", "--binary", "-o", folder, SOURCE / "schemas/tflite.fbs",
                        "--root-type", "neap.formats.tflite.schema.Model",
                        SOURCE / "tests/models/branches.tflite.json"], check=True)
        next(folder.glob("branches*")).rename(folder / "branches.tflite")
        zoo = {**ZOO, **(LONG_ZOO if arguments.long else {})}
        cases = []  # name, commands, inputs, whether every command must succeed

        def add(name, commands, inputs, succeeds):
            if fnmatch.fnmatch(name, f"*{arguments.only}*"):
                cases.append((name, commands, inputs, succeeds))

        models = {path.name: path for path in
                  [*sorted(folder.glob("*.json")), folder / "branches.tflite"]}
        for name, words in zoo.items():
            subprocess.run([*programs[0], "zoo", *words, "-o", folder / name, "--quiet"], check=True)
            models[name] = folder / name
            add(f"zoo {name}", [["zoo", *words, "-o", name, "--quiet"]], {}, True)
        missing = []
        for below, names in (("models", PUBLIC + (LONG_PUBLIC if arguments.long else [])),
                             ("graphs", LONG_GRAPHS if arguments.long else [])):
            for name in names:
                path = SHARED / below / name
                if path.exists():
                    models[name] = path
                else:
                    missing.append(name)
        for name, path in models.items():
            suffix = path.suffix
            made = path.parent == folder
            inputs = {"model" + suffix: path.resolve()}
            for options in PLAN_OPTIONS + OF_FORMAT[suffix]:
                add(f"plan {name} {' '.join(options)}".strip(), plan_case(name, options),
                    inputs, made)
            if suffix != ".json":
                add(f"run {name}", run_case(name), inputs, name in zoo)
        for name, commands in other_cases(arguments.long):
            add(name, commands, {"model.json": folder / "wide40.json",
                                 "buffers.csv": folder / "buffers.csv",
                                 "graphs.jsonl": folder / "graphs.jsonl"}, True)

        if not finds_difference(programs[0], folder):
            print("the comparison finds no difference between seeds")
            return 1
        wrong = 0
        codes = {}

        def compare(case):
            name, commands, inputs, succeeds = case
            start = time.monotonic()
            keeps = [arguments.keep / name.replace("/", "_").replace(" ", "_") / side
                     if arguments.keep else None for side in ("one", "other")]
            pairs = list(zip(*(run(program, commands, inputs, keep)
                               for program, keep in zip(programs, keeps))))
            found = [f"{' '.join(command[:2])}: {', '.join(one.differences(other))}"
                     for command, (one, other) in zip(commands, pairs) if one.differences(other)]
            if succeeds:
                found += [f"{' '.join(command[:2])}: {one.errors.decode(errors='replace').strip()}"
                          for command, (one, _) in zip(commands, pairs) if one.code != 0]
            return name, found, [one.code for one, _ in pairs], time.monotonic() - start

        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            for name, found, ended, seconds in pool.map(compare, cases):
                for code in ended:
                    codes[code] = codes.get(code, 0) + 1
                wrong += bool(found)
                print(f"{'WRONG' if found else 'equal':9} {seconds:6.1f} s  {name}", flush=True)
                for line in found:
                    print(f"          {line}")
        for name in missing:
            print(f"skipped: {name} is not there")
        runs = ", ".join(f"{count} with exit code {code}" for code, count in sorted(codes.items()))
        print(f"{len(cases)} cases, {wrong} wrong; runs of each program: {runs}")
        return 1 if wrong or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
