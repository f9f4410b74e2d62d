# SPDX-License-Identifier: Apache-2.0
"""Runs pairs of models in a stock runtime: run_rewrite_cases.py litert|tflm|onnxruntime FOLDER CASES.json

A process of its own, because a model that a runtime does not like may end it. Prints the cases, a line of
JSON each, with what came out: `same` bytes, `within` the bound of sums in another order, `varies` with the
inputs.
"""

import json
import pathlib
import sys

import numpy

from run_tflite import make_litert, make_tflm, run_litert, run_tflm
from tensors import random_tensor

UNIT = 2.0 ** -24
# Sums of absolute values are rounded, too.
SLACK = 1.001


def run_onnx(model, seed, absolute):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    feeds = {}
    for index, tensor in enumerate(session.get_inputs()):
        value = random_tensor(tensor.shape, numpy.float32, seed, index)
        feeds[tensor.name] = numpy.abs(value) if absolute else value
    return session.run(None, feeds)


def run_absolutes(model, seed):
    """LiteRT on absolute values."""
    from ai_edge_litert import interpreter as litert

    interpreter = litert.Interpreter(model_path=str(model), num_threads=1,
                                     experimental_op_resolver_type=litert.OpResolverType.BUILTIN_REF)
    interpreter.allocate_tensors()
    for index, detail in enumerate(interpreter.get_input_details()):
        value = random_tensor(detail["shape"], detail["dtype"], seed, index)
        interpreter.set_tensor(detail["index"], numpy.abs(value))
    interpreter.invoke()
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]


def outputs(runtime, model, seed, absolute=False):
    if runtime == "onnxruntime":
        return run_onnx(model, seed, absolute)
    if absolute:
        return run_absolutes(model, seed)
    make, run = (make_litert, run_litert) if runtime == "litert" else (make_tflm, run_tflm)
    return [numpy.array(array) for array in run(make(str(model)), seed, False)[1]]


def same_bytes(first, second):
    return len(first) == len(second) > 0 and all(
        a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
        for a, b in zip(first, second))


def within(before, after, sums, products):
    """Two sums of `products` products in different orders, given the sums of their absolute values."""
    relative = 2 * products * UNIT / (1 - products * UNIT) * SLACK
    return len(before) == len(after) and all(
        a.shape == b.shape and bool(numpy.all(numpy.abs(a.astype(numpy.float64) - b) <= relative * s))
        for a, b, s in zip(before, after, sums))


def within_blocks(before, after, absolutes, case):
    """Attention in one and in several blocks of keys, given the products of queries and keys and the values in
    absolute values (docs/algorithms/rewrite.md): the scores differ, too, because products of other shapes are
    summed in another order."""
    products, values = (float(numpy.max(array)) * SLACK for array in absolutes)
    scores = 2 * (2 * (case["width"] + 1) + case["depth"] + 4) * (products + 1)
    relative = UNIT * (2 * (3 * case["keys"] + 8 * case["blocks"] + 8) + 2 * scores + 2 * (case["width"] + 1))
    return len(before) == len(after) == 1 and before[0].shape == after[0].shape and bool(
        numpy.all(numpy.abs(before[0].astype(numpy.float64) - after[0]) <= relative * values))


def verdict(runtime, folder, case):
    def path(what):
        return folder / f"{case['seed']:06}-{what}.{case['ending']}"

    seed = case["seed"]
    before, after = (outputs(runtime, path(what), seed) for what in ("before", "after"))
    other = outputs(runtime, path("before"), seed + 1_000_003)
    result = {"same": same_bytes(before, after), "varies": not same_bytes(before, other), "within": None}
    if not case["bitwise"]:
        sums = outputs(runtime, path("absolutes"), seed, absolute=True)
        blocks = "blocks" in case
        result["within"] = (within_blocks(before, after, sums, case) if blocks else
                            within(before, after, sums, case["products"]))
    return result


def main():
    runtime, folder, listed = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    for case in json.loads(listed.read_text()):
        try:
            found = {**verdict(runtime, folder, case), "error": None}
        except (RuntimeError, ValueError) as error:
            found = {"same": False, "varies": None, "within": False, "error": str(error)[:500]}
        print(json.dumps({**case, **found}), flush=True)


if __name__ == "__main__":
    main()
