# SPDX-License-Identifier: Apache-2.0
"""Every public model, planned in every way, compared with stock runtimes: see scripts/conformance.

A plan that is written as a model is executed in every stock runtime that executes the original; a plan of
Neap's executor is executed there, and its outputs are compared with those of an unplanned run and of the
stock runtimes. Each run makes three calls with seeded inputs, one after the other.

Verdicts: equal (every byte of every output), within tolerance (the largest difference is at most
TOLERANCE times the largest magnitude of that output, and only where the plan or the runtime permits it),
wrong, refused (the runtime runs the original and refuses the planned model), failed (Neap did not end with
a plan or with a message of one line), not applicable (Neap prints the reason in one line).
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy

from tensors import same_bytes

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SHARED = pathlib.Path(os.environ.get("NEAP_SHARED", SOURCE / "../shared")).resolve()
SEEDS = ("1", "2", "3")
TOLERANCE = 1e-4
RUNTIMES = {".tflite": ("tflm", "litert"), ".onnx": ("onnxruntime",)}
TITLES = {"tflm": "TFLM", "litert": "LiteRT", "onnxruntime": "ONNX Runtime", "neap": "neap run"}
VERDICTS = ("equal", "within tolerance", "wrong", "refused", "failed", "not applicable", "too slow")
DEFECTS = ("wrong", "refused", "failed")


@dataclasses.dataclass(frozen=True)
class Way:
    """A set of options. `formats`: for which models; `executor`: the plan runs in `neap run`."""
    name: str
    words: tuple
    formats: tuple = (".tflite", ".onnx")
    executor: bool = False
    reassociates: bool = False


TFLITE = (".tflite",)
OVERLAP = ("--overlap", "tflm-reference")
TILES = ("--cascade", "auto")
BODIES = ("--cascade-bodies", "shared")
NEAP = ("--runtime", "neap")
WAYS = (
    Way("default", ()),
    Way("overlap", OVERLAP, TFLITE),
    Way("cascade", TILES),
    Way("shared bodies", (*TILES, *BODIES), TFLITE),
    Way("cascade and overlap", (*TILES, *OVERLAP), TFLITE),
    Way("moves", ("--moves", "best"), TFLITE),
    Way("integer-io", ("--integer-io", "both"), TFLITE),
    Way("reassociate", ("--rewrite", "reassociate"), reassociates=True),
    Way("neap", NEAP, executor=True),
    Way("stream", (*NEAP, "--stream", "auto"), executor=True),
)


def last_line(text):
    return (text.decode(errors="replace").strip().splitlines() or ["no message"])[-1]


def digest(*parts):
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:32]


def file_digest(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def calls_of(path):
    """Lists of arrays, one for each call."""
    calls = collections.defaultdict(list)
    with numpy.load(path) as arrays:
        for name in sorted(arrays.files):
            calls[int(name.split("_")[0])].append(arrays[name])
    return [calls[number] for number in sorted(calls)]


def save_calls(path, calls):
    numpy.savez(path, **{f"{number}_{index:03}": array for number, arrays in enumerate(calls)
                         for index, array in enumerate(arrays)})


def largest_difference(left, right):
    """Relative to the largest magnitude of an output; infinite where integers or shapes differ."""
    most = 0.0
    for ours, theirs in zip(left, right, strict=True):
        for a, b in zip(ours, theirs, strict=True):
            if a.dtype != b.dtype or a.shape != b.shape:
                return float("inf")
            if a.tobytes() == b.tobytes():
                continue
            if a.dtype.kind != "f":
                return float("inf")
            a, b = a.astype(numpy.float64), b.astype(numpy.float64)
            finite = numpy.isfinite(a) & numpy.isfinite(b)
            if not numpy.array_equal(a[~finite], b[~finite], equal_nan=True):
                return float("inf")
            scale = max(float(numpy.max(numpy.abs(b), initial=0, where=finite)), 1e-30)
            most = max(most, float(numpy.max(numpy.abs(numpy.where(finite, a - b, 0)), initial=0)) / scale)
    return most


def compared(ours, theirs, tolerated):
    """(verdict, detail)."""
    if len(ours) != len(theirs) or any(len(a) != len(b) for a, b in zip(ours, theirs)):
        return "wrong", "another number of outputs"
    if all(same_bytes(a, b) for a, b in zip(ours, theirs)):
        return "equal", ""
    most = largest_difference(ours, theirs)
    detail = "integers or shapes differ" if most == float("inf") else f"differs by {most:.1e}"
    return ("within tolerance" if tolerated and most <= TOLERANCE else "wrong"), detail


def input_names(model):
    """Of the main subgraph of a .tflite, in the order of its interface."""
    from tflite_micro.tensorflow.lite.micro.python import schema_py_generated as schema

    main = schema.Model.GetRootAsModel(model.read_bytes(), 0).Subgraphs(0)
    return ([main.Tensors(main.Inputs(i)).Name().decode() for i in range(main.InputsLength())],
            [main.Tensors(main.Outputs(i)).Name().decode() for i in range(main.OutputsLength())])


def quantized(values, change):
    """As the reference kernels: in floats of 32 bits, halves away from zero."""
    limits = numpy.iinfo(numpy.dtype(change["new_type"]))
    scaled = values / numpy.float32(change["scale"])
    rounded = numpy.trunc(scaled + numpy.copysign(numpy.float32(0.5), scaled)).astype(numpy.int64)
    return numpy.clip(rounded + change["zero_point"], limits.min, limits.max).astype(limits.dtype)


def dequantized(values, change):
    return ((values.astype(numpy.int32) - change["zero_point"]).astype(numpy.float32)
            * numpy.float32(change["scale"]))


class Conformance:
    def __init__(self, arguments):
        self.neap = str(pathlib.Path(arguments.neap).resolve())
        self.seconds = arguments.seconds
        self.cache = pathlib.Path(arguments.work)
        self.cache.mkdir(parents=True, exist_ok=True)
        self.version = file_digest(self.neap)

    # Whatever does not depend on the program is kept between runs: outputs of originals, and verdicts
    # about files with the same bytes.
    def kept(self, key, make):
        path = self.cache / f"{key}.json"
        if not path.exists():
            value = make()
            scratch = path.with_suffix(f".{os.getpid()}-{id(value)}")
            scratch.write_text(json.dumps(value))
            scratch.replace(path)
        return json.loads(path.read_text())

    def sequence(self, runtime, model, given, made, *seeds):
        """"" or why the runtime did not run the model."""
        program = pathlib.Path(__file__).with_name("run_sequence.py")
        try:
            run = subprocess.run([sys.executable, "-B", program, runtime, model, given, made, *seeds],
                                 capture_output=True, timeout=self.seconds, check=False,
                                 stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            return f"takes longer than {self.seconds} s"
        return "" if run.returncode == 0 else f"status {run.returncode}: {last_line(run.stderr)}"

    def original(self, runtime, model):
        """{"why": "" or why not, "given", "made"} of the model as it is."""
        key = digest("original", runtime, file_digest(model), *SEEDS)
        given, made = (str(self.cache / f"{key}-{name}.npz") for name in ("given", "made"))
        why = self.kept(key, lambda: self.sequence(runtime, model, given, made, *SEEDS))
        return {"why": why, "given": given, "made": made}

    def plan(self, model, words, *outputs):
        """(exit status, last line of the messages, report); the status is None after a timeout."""
        try:
            run = subprocess.run([self.neap, "plan", model, *words, "--json", "--force", *outputs],
                                 capture_output=True, timeout=self.seconds, check=False,
                                 stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            return None, f"plan takes longer than {self.seconds} s", None
        report = json.loads(run.stdout) if run.returncode == 0 else None
        return run.returncode, last_line(run.stderr), report

    def dims(self, model):
        """Symbols of an .onnx are 1 for each run."""
        if model.suffix != ".onnx":
            return []
        import onnx

        graph = onnx.load(str(model), load_external_data=False).graph
        symbols = sorted({dim.dim_param for tensor in graph.input
                          for dim in tensor.type.tensor_type.shape.dim if dim.dim_param})
        return [word for symbol in symbols for word in ("--dim", f"{symbol}=1")]

    def rows(self, model):
        """[{"model", "way", "runtime", "verdict", "detail"}]."""
        runs = {runtime: self.original(runtime, model) for runtime in RUNTIMES[model.suffix]}
        able = {runtime: run for runtime, run in runs.items() if not run["why"]}
        found = []

        def add(way, runtime, verdict, detail=""):
            found.append({"model": model.relative_to(SHARED / "models").as_posix(), "way": way.name,
                          "runtime": runtime, "verdict": verdict, "detail": detail})

        for way in WAYS:
            if model.suffix not in way.formats:
                continue
            with tempfile.TemporaryDirectory() as name:
                folder = pathlib.Path(name)
                written, plan = folder / f"planned{model.suffix}", folder / "plan.json"
                words = [*way.words, *self.dims(model), "--plan", plan]
                if not way.executor:
                    words += ["-o", written]
                status, message, report = self.plan(model, words)
                message = message.replace(str(model), model.name)
                if status != 0:
                    clean = status == 1 and "internal error" not in message
                    add(way, "-", "not applicable" if clean else "failed", message)
                elif way.executor:
                    self.execute(way, model, plan, able, folder, add)
                else:
                    for runtime, run in able.items():
                        add(way, runtime, *self.judge(way, model, runtime, run, written, report, folder))
        return found

    def judge(self, way, model, runtime, run, written, report, folder):
        changes = report.get("interface") or []
        key = digest("judged", runtime, file_digest(model), file_digest(written), way.reassociates,
                     json.dumps(changes), *SEEDS)
        return self.kept(key, lambda: self.run_written(way, model, runtime, run, written, changes, folder))

    def run_written(self, way, model, runtime, run, written, changes, folder):
        given, made = run["given"], folder / "made.npz"
        inputs, outputs = input_names(model) if changes else ([], [])
        by_side = {"input": {}, "output": {}}
        for change in changes:
            by_side[change["side"]][change["name"]] = change
        if changes:
            calls = [[quantized(array, by_side["input"][name]) if name in by_side["input"] else array
                      for name, array in zip(inputs, call, strict=True)] for call in calls_of(given)]
            given = folder / "given.npz"
            save_calls(given, calls)
        why = self.sequence(runtime, written, given, made)
        if why:
            return ("too slow" if why.startswith("takes") else "refused"), why
        ours = calls_of(made)
        if changes:
            ours = [[dequantized(array, by_side["output"][name]) if name in by_side["output"] else array
                     for name, array in zip(outputs, call, strict=True)] for call in ours]
        # ONNX Runtime's float kernels depend on the extent of a tensor.
        return compared(ours, calls_of(run["made"]), way.reassociates or runtime == "onnxruntime")

    def execute(self, way, model, plan, able, folder, add):
        given, made = folder / "given.npz", folder / "made.npz"
        for runtime, run in able.items() or [(None, None)]:
            words = [] if run is None or runtime == "onnxruntime" else ["--kernels", runtime]
            calls = calls_of(run["given"])[:1] if run else []
            if run:
                numpy.savez(given, *calls[0])
            source = ["--inputs", given] if run else ["--random-inputs", "3"]
            if "--kernels" in words and runtime == "litert" and "tflm" in able:
                continue
            try:
                ran = subprocess.run([self.neap, "run", model, "--plan", plan, "--compare", *source,
                                      *words, "--outputs", made, "--force", "--quiet"],
                                     capture_output=True, timeout=self.seconds, check=False,
                                     stdin=subprocess.DEVNULL)
            except subprocess.TimeoutExpired:
                add(way, "neap", "too slow", f"takes longer than {self.seconds} s")
                continue
            message = last_line(ran.stderr).replace(str(model), model.name)
            if ran.returncode != 0:
                clean = re.search(r"no kernel|not supported|not executed|is not known|: operator #", message)
                add(way, "neap", "not applicable" if clean else "wrong", message)
                continue
            add(way, "neap", "equal")
            if run:
                with numpy.load(made) as arrays:
                    ours = [[arrays[name] for name in arrays.files]]
                add(way, f"neap beside {runtime}", *compared(ours, calls_of(run["made"])[:1], True))


# Of the places where a plan is executed.
PLACES = {**TITLES, **{f"neap beside {runtime}": f"neap run, against {TITLES[runtime]}" for runtime in TITLES}}


def markdown(rows, models):
    executed = {row["model"] for row in rows if row["runtime"] in TITLES and row["runtime"] != "neap"}
    names = [way.name for way in WAYS]
    out = ["# Every model in every way", "",
           "Made by `scripts/conformance`. Each model of the public collection is planned with each set of",
           "options, and every result is executed, three consecutive calls with seeded inputs, in every stock",
           "runtime that executes the original: TensorFlow Lite Micro and LiteRT (reference kernels) for",
           ".tflite, ONNX Runtime (graph optimizations off) for .onnx.", "",
           "- **equal**: every output byte equals that of the original in the same runtime.",
           f"- **within tolerance**: the largest difference is at most {TOLERANCE:g} of the largest magnitude of",
           "  the output. Permitted for `reassociate`, in ONNX Runtime, whose float kernels depend on the extent",
           "  of a tensor, and between `neap run` and a stock runtime.",
           "- **refused**: the runtime executes the original and refuses the planned model.",
           "- **not applicable**: Neap refuses the combination in one line.", "",
           f"{len(models)} models, of which {len(executed)} run in a stock runtime.", ""]
    counts = collections.Counter((row["way"], row["runtime"], row["verdict"]) for row in rows)
    places = sorted({(names.index(row["way"]), row["way"], row["runtime"]) for row in rows})
    shown = [verdict for verdict in VERDICTS if any(key[2] == verdict for key in counts) or verdict in DEFECTS]
    out.append("| options | executed by | " + " | ".join(shown) + " |")
    out.append("|---|---|" + "---:|" * len(shown))
    for _, way, runtime in places:
        title = PLACES.get(runtime, runtime)
        cells = [counts[way, runtime, verdict] or "" for verdict in shown]
        out.append(f"| {way} | {title} | " + " | ".join(map(str, cells)) + " |")
    for title, verdicts in (("Defects", DEFECTS), ("Within tolerance", ("within tolerance",)),
                            ("Not applicable and too slow", ("not applicable", "too slow"))):
        listed = [row for row in rows if row["verdict"] in verdicts]
        out += ["", f"## {title}", ""]
        if not listed:
            out.append("None.")
        grouped = collections.defaultdict(list)
        for row in listed:
            grouped[row["model"], row["verdict"], row["runtime"], row["detail"]].append(row["way"])
        for (model, verdict, runtime, detail), ways in sorted(grouped.items()):
            where = "" if runtime == "-" else f" in {PLACES[runtime]}"
            detail = detail.replace("|", "\\|").replace("<", "\\<")
            out.append(f"- {model}: {verdict}{where} ({', '.join(ways)}): {detail}")
    return "\n".join(out) + "\n"


def main():
    parser = argparse.ArgumentParser(description="Plan every model in every way and compare outputs.")
    parser.add_argument("--neap", default=str(SOURCE / "build/release/tools/neap"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--models", default="", help="a regular expression that paths have to contain")
    parser.add_argument("--seconds", type=int, default=600, help="for one plan, or one run of three calls")
    parser.add_argument("--work", default=str(SOURCE / "build/conformance"), help="what is kept between runs")
    parser.add_argument("--table", default="", help="write the table to this file")
    arguments = parser.parse_args()
    root = SHARED / "models"
    models = sorted((path for path in root.rglob("*") if path.suffix in RUNTIMES and path.is_file()
                     and path.parent != root / "bad" and re.search(arguments.models, str(path.relative_to(root)))),
                    key=lambda path: (path.stat().st_size, path))
    if not models:
        print(f"skipped: no models in {root}")
        return 0
    conformance = Conformance(arguments)
    rows = []
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for number, found in enumerate(pool.map(conformance.rows, models), 1):
            rows += found
            for row in found:
                if row["verdict"] in DEFECTS:
                    print(f"{row['verdict']}: {row['model']} {row['way']} {row['runtime']}: {row['detail']}")
            print(f"{number} of {len(models)}: {models[number - 1].relative_to(root)}", file=sys.stderr, flush=True)
    text = markdown(rows, [model.relative_to(root).as_posix() for model in models])
    if arguments.table:
        path = pathlib.Path(arguments.table)
        scratch = path.with_suffix(".part")
        scratch.write_text(text)
        scratch.replace(path)
    print(text)
    good = sum(1 for row in rows if row["verdict"] in ("equal", "within tolerance"))
    bad = sum(1 for row in rows if row["verdict"] in DEFECTS)
    print(f"{good} passed, {bad} failed, {len(rows) - good - bad} skipped")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
