# SPDX-License-Identifier: Apache-2.0
"""Runs a .tflite on given inputs: run_inputs.py tflm|litert MODEL INPUTS.npz OUTPUTS.npz.

A process of its own, because a model that a runtime refuses may end it. INPUTS.npz has arrays
"<run>_<input>", OUTPUTS.npz gets "<run>_<output>", and of LiteRT "saturated": for each activation of
8 bits how many of its values, in all runs, are at an end of the range where the network itself does
not clip them, and how many values it has.
"""

import sys

import numpy

from run_tflite import TFLM_ARENA_BYTES, details_of

# Operators whose outputs have parameters that the format fixes, or contain padding.
OUTSIDE = {"SOFTMAX", "LOGISTIC", "PADV2"}


def run_tflm(model, runs):
    from tflite_micro import runtime

    results = {}
    interpreter = runtime.Interpreter.from_file(model, arena_size=TFLM_ARENA_BYTES)
    for run, inputs in runs.items():
        for index, array in enumerate(inputs):
            interpreter.set_input(array, index)
        interpreter.invoke()
        for index in range(len(details_of(interpreter.get_output_details))):
            results[f"{run}_{index:03}"] = interpreter.get_output(index)
    return results


def ends_of(detail):
    """The values at which an activation of 8 bits would have been cut off by its parameters."""
    scale, zero = detail["quantization"]
    # Nothing is below zero after a rectifier, nor above 6 after one that ends there.
    return ([-128] if zero > -128 else []) + ([127] if abs(scale * (127 - zero) - 6) > 0.01 else [])


def run_litert(model, runs):
    from ai_edge_litert import interpreter as litert

    interpreter = litert.Interpreter(model_path=model, num_threads=1,
                                     experimental_op_resolver_type=litert.OpResolverType.BUILTIN_REF,
                                     experimental_preserve_all_tensors=True)
    interpreter.allocate_tensors()
    made = {index for op in interpreter._get_ops_details() if op["op_name"] not in OUTSIDE
            for index in op["outputs"]}
    # Inputs fill their range, and so does what is a mere copy of one.
    given = {detail["quantization"] for detail in interpreter.get_input_details()}
    watched = [detail for detail in interpreter.get_tensor_details()
               if detail["index"] in made and detail["dtype"] == numpy.int8
               and detail["quantization"] not in given]
    cut_off, results = numpy.zeros((len(watched), 2)), {}
    for run, inputs in runs.items():
        for detail, array in zip(interpreter.get_input_details(), inputs):
            interpreter.set_tensor(detail["index"], array)
        interpreter.invoke()
        for index, detail in enumerate(interpreter.get_output_details()):
            results[f"{run}_{index:03}"] = interpreter.get_tensor(detail["index"])
        for index, detail in enumerate(watched):
            values = interpreter.get_tensor(detail["index"])
            cut_off[index] += (numpy.isin(values, ends_of(detail)).sum(), values.size)
    return {**results, "saturated": cut_off}


def main():
    runtime, model, given, output = sys.argv[1:]
    runs = {}
    with numpy.load(given) as arrays:
        for name in sorted(arrays.files):
            runs.setdefault(name.split("_")[0], []).append(arrays[name])
    numpy.savez(output, **{"tflm": run_tflm, "litert": run_litert}[runtime](model, runs))


if __name__ == "__main__":
    main()
