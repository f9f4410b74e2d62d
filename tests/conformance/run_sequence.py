# SPDX-License-Identifier: Apache-2.0
"""Runs a model in a stock runtime: run_sequence.py RUNTIME MODEL INPUTS.npz OUTPUTS.npz [SEED...].

RUNTIME is tflm, litert or onnxruntime. A process of its own, because a model that a runtime refuses may end
it. One interpreter runs all calls in turn, so that state passes from one to the next. INPUTS.npz has arrays
"<call>_<input>" and OUTPUTS.npz gets "<call>_<output>". With seeds, one for each call, INPUTS.npz is written:
the inputs are drawn from the seeds.
"""

import sys

import numpy

from run_tflite import TFLM_ARENA_BYTES, details_of
from tensors import random_tensor


def open_tflm(model):
    from tflite_micro import runtime

    interpreter = runtime.Interpreter.from_file(model, arena_size=TFLM_ARENA_BYTES)
    inputs = details_of(interpreter.get_input_details)
    outputs = range(len(details_of(interpreter.get_output_details)))

    def call(arrays):
        for index, array in enumerate(arrays):
            interpreter.set_input(array, index)
        interpreter.invoke()
        return [numpy.array(interpreter.get_output(index)) for index in outputs]

    return [(detail["shape"], detail["dtype"]) for detail in inputs], call


def open_litert(model):
    from ai_edge_litert import interpreter as litert

    # The reference kernels in the order of the file: no delegate.
    interpreter = litert.Interpreter(model_path=model, num_threads=1,
                                     experimental_op_resolver_type=litert.OpResolverType.BUILTIN_REF)
    interpreter.allocate_tensors()
    inputs = interpreter.get_input_details()

    def call(arrays):
        for detail, array in zip(inputs, arrays, strict=True):
            interpreter.set_tensor(detail["index"], array)
        interpreter.invoke()
        return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]

    return [(detail["shape"], detail["dtype"]) for detail in inputs], call


def open_onnxruntime(model):
    from test_onnx_runtime import ELEMENT_TYPES, Session

    session = Session(model).session
    names = [tensor.name for tensor in session.get_inputs()]
    kinds = [([size if isinstance(size, int) else 1 for size in tensor.shape], ELEMENT_TYPES[tensor.type])
             for tensor in session.get_inputs()]
    return kinds, lambda arrays: session.run(None, dict(zip(names, arrays, strict=True)))


def main():
    runtime, model, given, made, *seeds = sys.argv[1:]
    kinds, call = {"tflm": open_tflm, "litert": open_litert, "onnxruntime": open_onnxruntime}[runtime](model)
    if seeds:
        numpy.savez(given, **{f"{number}_{index:03}": random_tensor(shape, dtype, int(seed), index)
                              for number, seed in enumerate(seeds)
                              for index, (shape, dtype) in enumerate(kinds)})
    calls = {number: [] for number in range(len(seeds))}
    with numpy.load(given) as arrays:
        for name in sorted(arrays.files):
            calls.setdefault(int(name.split("_")[0]), []).append(arrays[name])
    results = {}
    for number, arrays in sorted(calls.items()):
        for index, array in enumerate(call(arrays)):
            array = numpy.asarray(array)
            if array.dtype.hasobject:
                sys.exit(f"output {index} is no array of numbers")
            results[f"{number}_{index:03}"] = array
    if not results:
        sys.exit("the model has no outputs")
    numpy.savez(made, **results)


if __name__ == "__main__":
    main()
