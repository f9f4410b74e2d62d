# SPDX-License-Identifier: Apache-2.0
"""Runs a .tflite in a stock runtime: run_tflite.py [--keep-inputs] tflm|litert MODEL OUTPUT.npz SEED...

A process of its own, because a model that a runtime does not like may end it. Inputs are drawn from
the seeds; OUTPUT.npz gets arrays "<seed>_<output>" and, with --keep-inputs, "in<seed>_<input>". TFLM reports its arena on standard error.
"""

import sys

import numpy

from tensors import random_tensor

TFLM_ARENA_BYTES = 256 << 20


def details_of(get):
    """TFLM has no number of inputs or outputs: they end where it says so."""
    details = []
    while True:
        try:
            details.append(get(len(details)))
        except IndexError:
            return details


def run_tflm(model, seed, last):
    from tflite_micro import runtime

    # A fresh interpreter for each run: variables start as they are in the file.
    interpreter = runtime.Interpreter.from_file(model, arena_size=TFLM_ARENA_BYTES)
    inputs = []
    for index, detail in enumerate(details_of(interpreter.get_input_details)):
        inputs.append(random_tensor(detail["shape"], detail["dtype"], seed, index))
        interpreter.set_input(inputs[-1], index)
    interpreter.invoke()
    outputs = [interpreter.get_output(index)
               for index in range(len(details_of(interpreter.get_output_details)))]
    if last:
        interpreter.print_allocations()
    return inputs, outputs


def run_litert(model, seed, _):
    from ai_edge_litert import interpreter as litert

    # The reference kernels in the order of the file: no delegate.
    interpreter = litert.Interpreter(model_path=model, num_threads=1,
                                     experimental_op_resolver_type=litert.OpResolverType.BUILTIN_REF)
    interpreter.allocate_tensors()
    inputs = []
    for index, detail in enumerate(interpreter.get_input_details()):
        inputs.append(random_tensor(detail["shape"], detail["dtype"], seed, index))
        interpreter.set_tensor(detail["index"], inputs[-1])
    interpreter.invoke()
    return inputs, [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]


def main():
    words = sys.argv[1:]
    keep_inputs = words[0] == "--keep-inputs"
    runtime, model, output, *seeds = words[keep_inputs:]
    run = {"tflm": run_tflm, "litert": run_litert}[runtime]
    results = {}
    for seed in seeds:
        inputs, outputs = run(model, int(seed), seed == seeds[-1])
        for index, array in enumerate(outputs):
            results[f"{seed}_{index:03}"] = numpy.asarray(array)
        for index, array in enumerate(inputs if keep_inputs else []):
            results[f"in{seed}_{index:03}"] = numpy.asarray(array)
    numpy.savez(output, **results)


if __name__ == "__main__":
    main()
