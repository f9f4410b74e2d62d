# SPDX-License-Identifier: Apache-2.0
"""Processor time of `neap run` beside LiteRT and ONNX Runtime, one thread each.

execute_speed.py [--neap PROGRAM] [--runs N] MODEL...: a table in Markdown on standard output, with
the least of N runs. Neap's time is the whole process less a run that only refuses its inputs
(reading the model and the inputs is in both); a runtime's is one invocation.
"""

import argparse
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tests/conformance"))
from tensors import random_tensor  # noqa: E402


def child_seconds(words):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, capture_output=True, check=False, stdin=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def least(runs, measure):
    return min(measure() for _ in range(runs))


def timed(action):
    start = time.process_time()
    action()
    return time.process_time() - start


def neap_seconds(neap, model, runs):
    with tempfile.TemporaryDirectory() as folder:
        empty = os.path.join(folder, "empty.npz")
        numpy.savez(empty)
        whole = least(runs, lambda: child_seconds([neap, "run", model, "--quiet"]))
        load = least(runs, lambda: child_seconds([neap, "run", model, "--quiet", "--inputs", empty]))
    return max(whole - load, 1e-4)


def litert_seconds(model, runs, reference):
    from ai_edge_litert import interpreter as litert

    kinds = litert.OpResolverType
    interpreter = litert.Interpreter(
        model_path=model, num_threads=1,
        experimental_op_resolver_type=kinds.BUILTIN_REF if reference else kinds.BUILTIN)
    interpreter.allocate_tensors()
    for index, detail in enumerate(interpreter.get_input_details()):
        interpreter.set_tensor(detail["index"],
                               random_tensor(detail["shape"], detail["dtype"], 1, index))
    return least(runs, lambda: timed(interpreter.invoke))


def onnxruntime_seconds(model, runs):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    given = {one.name: random_tensor(one.shape, numpy.float32, 1, i)
             for i, one in enumerate(session.get_inputs())}
    return least(runs, lambda: timed(lambda: session.run(None, given)))


def row(neap, model, runs):
    name = pathlib.Path(model).name
    ours = neap_seconds(neap, model, runs)
    if model.endswith(".onnx"):
        theirs = [("ONNX Runtime", onnxruntime_seconds(model, runs))]
    else:
        theirs = [("LiteRT, reference kernels", litert_seconds(model, runs, True)),
                  ("LiteRT", litert_seconds(model, runs, False))]
    return [f"| {name} | {1000 * ours:.1f} | {runtime} | {1000 * seconds:.1f} | {ours / seconds:.1f} |"
            for runtime, seconds in theirs]


def main():
    parser = argparse.ArgumentParser()
    root = pathlib.Path(__file__).parents[2]
    parser.add_argument("--neap", default=str(root / "build/release/tools/neap"))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("models", nargs="+")
    arguments = parser.parse_args()
    print("| model | neap run, ms | beside | ms | ratio |")
    print("|---|---|---|---|---|")
    for model in arguments.models:
        for line in row(arguments.neap, model, arguments.runs):
            print(line, flush=True)


if __name__ == "__main__":
    main()
