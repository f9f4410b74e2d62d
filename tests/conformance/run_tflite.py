# SPDX-License-Identifier: Apache-2.0
"""Runs a .tflite in a stock runtime: run_tflite.py [--keep-inputs] [--consecutive] tflm|litert MODEL OUTPUT.npz SEED...

A process of its own, because a model that a runtime does not like may end it. Inputs are drawn from
the seeds, a fresh interpreter for each; with --consecutive one interpreter runs them all, so that
variables keep their values. OUTPUT.npz gets arrays "<seed>_<output>" and, with --keep-inputs, "in<seed>_<input>". TFLM reports its arena on standard error.
"""

import sys

import numpy

from tensors import random_tensor

TFLM_ARENA_BYTES = 256 << 20


def details_of(get):
    """TFLM has no number of inputs or outputs: an index beyond them raises an error."""
    details = []
    while True:
        try:
            details.append(get(len(details)))
        except IndexError:
            return details


def make_tflm(model):
    from tflite_micro import runtime

    return runtime.Interpreter.from_file(model, arena_size=TFLM_ARENA_BYTES)


def run_tflm(interpreter, seed, last):
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


def make_litert(model):
    from ai_edge_litert import interpreter as litert

    # The reference kernels in the order of the file: no delegate.
    interpreter = litert.Interpreter(model_path=model, num_threads=1,
                                     experimental_op_resolver_type=litert.OpResolverType.BUILTIN_REF)
    interpreter.allocate_tensors()
    return interpreter


def run_litert(interpreter, seed, _):
    inputs = []
    for index, detail in enumerate(interpreter.get_input_details()):
        inputs.append(random_tensor(detail["shape"], detail["dtype"], seed, index))
        interpreter.set_tensor(detail["index"], inputs[-1])
    interpreter.invoke()
    return inputs, [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]


def main():
    options = {word for word in sys.argv[1:] if word.startswith("--")}
    keep_inputs, consecutive = "--keep-inputs" in options, "--consecutive" in options
    runtime, model, output, *seeds = [word for word in sys.argv[1:] if word not in options]
    make, run = {"tflm": (make_tflm, run_tflm), "litert": (make_litert, run_litert)}[runtime]
    results = {}
    for seed in seeds:
        if seed == seeds[0] or not consecutive:
            interpreter = make(model)
        inputs, outputs = run(interpreter, int(seed), seed == seeds[-1])
        for index, array in enumerate(outputs):
            results[f"{seed}_{index:03}"] = numpy.asarray(array)
        for index, array in enumerate(inputs if keep_inputs else []):
            results[f"in{seed}_{index:03}"] = numpy.asarray(array)
    numpy.savez(output, **results)


if __name__ == "__main__":
    main()
