# SPDX-License-Identifier: Apache-2.0
"""Every public model, planned in every way, compared with stock runtimes: see scripts/conformance.

A plan that is written as a model is executed in every stock runtime that executes the original; a plan of
Neap's executor is executed there, and its outputs are compared with those of an unplanned run and of the
stock runtimes. Each run makes three calls with seeded inputs, one after the other.

Verdicts: equal (every byte of every output), within tolerance (the largest difference is at most that of
`tolerance_of`, and only where the plan or the runtime permits it), wrong, refused (the runtime runs the
original and refuses the planned model), failed (Neap did not end with a plan or with a message of one line),
not applicable (Neap prints the reason in one line).
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import hashlib
import json
import math
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile

import numpy

import apart
from plan_table import DEFECTS, EQUAL, NO_PLACE, NOT_APPLICABLE, TOO_SLOW, WITHIN, Row, Table
from tensors import same_bytes

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SHARED = pathlib.Path(os.environ.get("NEAP_SHARED", SOURCE / "../shared")).resolve()
SEEDS = ("1", "2", "3")
TOLERANCE = 1e-4
PATIENCE = 20
RUNTIMES = {".tflite": ("tflm", "litert"), ".onnx": ("onnxruntime",)}


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


class TooSlow(Exception):
    pass


def run_limited(command, seconds):
    """A completed process. The limit counts processor time, so that no verdict depends on the load of the
    machine; in waiting a process may spend PATIENCE times as long."""
    with subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        try:
            resource.prlimit(process.pid, resource.RLIMIT_CPU, (seconds, seconds + 1))
            output, errors = process.communicate(timeout=PATIENCE * seconds)
        except subprocess.TimeoutExpired as error:
            process.kill()
            raise TooSlow(f"does not end in {PATIENCE * seconds} s") from error
    if process.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        raise TooSlow(f"takes longer than {seconds} s of processor time")
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


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


def tolerance_of(dtype, magnitude):
    """The permitted difference between outputs of up to that magnitude: TOLERANCE of it, or one unit in its
    last place where the element type resolves less."""
    if magnitude == 0:
        return 0.0
    exponent = math.frexp(magnitude)[1] - 1
    return max(TOLERANCE * magnitude, math.ldexp(float(numpy.finfo(dtype).eps), exponent))


def largest_difference(left, right):
    """(relative to the largest magnitude of an output, whether it is within the tolerance everywhere);
    infinite where integers or shapes differ."""
    most, within = 0.0, True
    for ours, theirs in zip(left, right, strict=True):
        for a, b in zip(ours, theirs, strict=True):
            if a.dtype != b.dtype or a.shape != b.shape:
                return float("inf"), False
            if a.tobytes() == b.tobytes():
                continue
            if a.dtype.kind != "f":
                return float("inf"), False
            dtype = a.dtype
            a, b = a.astype(numpy.float64), b.astype(numpy.float64)
            finite = numpy.isfinite(a) & numpy.isfinite(b)
            if not numpy.array_equal(a[~finite], b[~finite], equal_nan=True):
                return float("inf"), False
            magnitude = float(numpy.max(numpy.abs(b), initial=0, where=finite))
            with numpy.errstate(invalid="ignore"):
                difference = float(numpy.max(numpy.abs(numpy.where(finite, a - b, 0)), initial=0))
            most = max(most, difference / max(magnitude, 1e-30))
            within = within and difference <= tolerance_of(dtype, magnitude)
    return most, within


def compared(ours, theirs, tolerated):
    """(verdict, detail)."""
    if len(ours) != len(theirs) or any(len(a) != len(b) for a, b in zip(ours, theirs)):
        return "wrong", "another number of outputs"
    if all(same_bytes(a, b) for a, b in zip(ours, theirs)):
        return EQUAL, ""
    most, within = largest_difference(ours, theirs)
    detail = "integers or shapes differ" if most == float("inf") else f"differs by {most:.1e}"
    return (WITHIN if tolerated and within else "wrong"), detail


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

    # Results that do not depend on the program are kept between runs: outputs of originals, and verdicts
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
            run = run_limited([sys.executable, "-B", program, runtime, model, given, made, *seeds],
                              self.seconds)
        except TooSlow as error:
            return f"{TOO_SLOW}: {error}"
        return "" if run.returncode == 0 else f"status {run.returncode}: {last_line(run.stderr)}"

    def original(self, runtime, model):
        """{"why": "" or why not, "given", "made"} of the model as it is."""
        key = digest("original", runtime, file_digest(model), *SEEDS)
        given, made = (str(self.cache / f"{key}-{name}.npz") for name in ("given", "made"))
        why = self.kept(key, lambda: self.sequence(runtime, model, given, made, *SEEDS))
        return {"why": why, "given": given, "made": made}

    def plan(self, model, words, *outputs):
        """(exit status, last line of the messages, report); the status is None if it takes too long."""
        try:
            run = run_limited([self.neap, "plan", model, *words, "--json", "--force", *outputs], self.seconds)
        except TooSlow as error:
            return None, f"plan {error}", None
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
        """[Row]."""
        runs = {runtime: self.original(runtime, model) for runtime in RUNTIMES[model.suffix]}
        able = {runtime: run for runtime, run in runs.items() if not run["why"]}
        found = []

        def add(way, runtime, verdict, detail=""):
            found.append(Row(model.relative_to(SHARED / "models").as_posix(), way.name, runtime, verdict,
                             detail))

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
                    add(way, NO_PLACE, NOT_APPLICABLE if clean else "failed", message)
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
            return (TOO_SLOW if why.startswith(TOO_SLOW) else "refused"), why
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
                ran = run_limited([self.neap, "run", model, "--plan", plan, "--compare", *source, *words,
                                   "--outputs", made, "--force", "--quiet"], self.seconds)
            except TooSlow as error:
                add(way, "neap", TOO_SLOW, str(error))
                continue
            message = last_line(ran.stderr).replace(str(model), model.name)
            if ran.returncode != 0:
                clean = re.search(r"no kernel|not supported|not executed|is not known|: operator #", message)
                add(way, "neap", NOT_APPLICABLE if clean else "wrong", message)
                continue
            add(way, "neap", EQUAL)
            if run:
                with numpy.load(made) as arrays:
                    ours = [[arrays[name] for name in arrays.files]]
                verdict, detail = compared(ours, calls_of(run["made"])[:1], True)
                if verdict == "wrong" and runtime == "onnxruntime" and apart.has_steps(model):
                    verdict, detail = self.operators_apart(model, run["given"], folder, detail)
                add(way, f"neap beside {runtime}", verdict, detail)

    def operators_apart(self, model, given, folder, whole):
        """(verdict, detail) of the operators one by one. `whole`: what the whole model differs by."""
        every, alone, made, ours = (folder / name for name in ("every.onnx", "alone.onnx", "every.npz",
                                                               "alone.npz"))
        names = apart.with_all_tensors(model, every)
        why = self.sequence("onnxruntime", every, given, made)
        if why:
            return "wrong", f"{whole}; operators one by one: ONNX Runtime: {why}"
        theirs = dict(zip(names, calls_of(made)[0], strict=True))
        theirs.update(zip(apart.inputs_of(model), calls_of(given)[0], strict=True))
        inputs, outputs = apart.cut_apart(model, theirs, alone)
        numpy.savez(folder / "inputs.npz", *(theirs[name] for name in inputs))
        try:
            ran = run_limited([self.neap, "run", alone, "--inputs", folder / "inputs.npz", "--outputs", ours,
                               "--force", "--quiet"], self.seconds)
        except TooSlow as error:
            return TOO_SLOW, f"{whole}; operators one by one: {error}"
        if ran.returncode != 0:
            return "wrong", f"{whole}; operators one by one: {last_line(ran.stderr)}"
        with numpy.load(ours) as arrays:
            found = [arrays[name] for name in arrays.files]
        verdict, detail = compared([found], [[theirs[name] for name in outputs]], True)
        detail = f"operators one by one {'are equal' if verdict == EQUAL else 'differ' + detail[7:]}"
        return ("wrong" if verdict == "wrong" else WITHIN), f"{whole} ({detail})"


EXPLANATION = [
    "Made by `scripts/conformance`. Each model of the public collection is planned with each set of",
    "options, and every result is executed, three consecutive calls with seeded inputs, in every stock",
    "runtime that executes the original: TensorFlow Lite Micro and LiteRT (reference kernels) for",
    ".tflite, ONNX Runtime (graph optimizations off) for .onnx.", "",
    "- **equal**: every output byte equals that of the original in the same runtime.",
    f"- **within tolerance**: the largest difference is at most {TOLERANCE:g} of the largest magnitude of",
    "  the output, or one unit in the last place of that magnitude where the element type resolves less",
    "  (float16). Permitted for `reassociate`, in ONNX Runtime, whose float kernels depend on the extent",
    "  of a tensor, and between `neap run` and a stock runtime.",
    "- **operators one by one**: ONNX does not define the order of a float sum, and a sum next to a tie",
    "  of `QuantizeLinear` rounds to either neighbour. If `neap run` and ONNX Runtime differ in a model",
    "  with that operator, `neap run` executes each operator alone, on the tensors that ONNX Runtime",
    "  computes for it. Floats are compared within the tolerance, integers have to be equal.",
    "- **refused**: the runtime executes the original and refuses the planned model.",
    "- **not applicable**: Neap refuses the combination in one line.",
]


def main():
    parser = argparse.ArgumentParser(description="Plan every model in every way and compare outputs.")
    parser.add_argument("--neap", default=str(SOURCE / "build/release/tools/neap"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--models", default="", help="a regular expression that paths have to contain")
    parser.add_argument("--seconds", type=int, default=600, help="of processor time, for one plan or one run of three calls")
    parser.add_argument("--work", default=str(SOURCE / "build/conformance"), help="what is kept between runs")
    parser.add_argument("--table", default="", help="write the table to this file")
    parser.add_argument("--replace", action="store_true",
                        help="keep the rows of the other models, which the file of --table has")
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
                if row.verdict in DEFECTS:
                    print(f"{row.verdict}: {row.model} {row.way} {row.runtime}: {row.detail}")
            print(f"{number} of {len(models)}: {models[number - 1].relative_to(root)}", file=sys.stderr, flush=True)
    table = Table([way.name for way in WAYS], EXPLANATION)
    if arguments.replace:
        table.read(pathlib.Path(arguments.table).read_text())
        table.replace(rows)
    else:
        table.add(rows, models)
    text = table.markdown()
    if arguments.table:
        path = pathlib.Path(arguments.table)
        scratch = path.with_suffix(".part")
        scratch.write_text(text)
        scratch.replace(path)
    print(text)
    good = sum(1 for row in rows if row.verdict in (EQUAL, WITHIN))
    bad = sum(1 for row in rows if row.verdict in DEFECTS)
    print(f"{good} passed, {bad} failed, {len(rows) - good - bad} skipped")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
