# SPDX-License-Identifier: Apache-2.0
"""Runs a .tflite once in stock TensorFlow Lite Micro: tflm_run.py MODEL OUTPUT.npz SEED...

A process of its own, because a model that TFLM refuses may end it. Inputs are drawn from the seeds;
OUTPUT.npz gets arrays "<seed>_<output>". On standard error TFLM reports its arena.
"""

import sys

import numpy
from tflite_micro import runtime

from tensors import random_tensor

ARENA_BYTES = 256 << 20


def main():
    model, output, seeds = sys.argv[1], sys.argv[2], [int(word) for word in sys.argv[3:]]
    results = {}
    for seed in seeds:
        # A fresh interpreter for each run: variables start as they are in the file.
        interpreter = runtime.Interpreter.from_file(model, arena_size=ARENA_BYTES)
        inputs = details_of(interpreter.get_input_details)
        for index, detail in enumerate(inputs):
            interpreter.set_input(random_tensor(detail["shape"], detail["dtype"], seed, index), index)
        interpreter.invoke()
        for index in range(len(details_of(interpreter.get_output_details))):
            results[f"{seed}_{index}"] = interpreter.get_output(index)
        if seed == seeds[-1]:
            interpreter.print_allocations()
    numpy.savez(output, **results)


def details_of(get):
    details = []
    while True:
        try:
            details.append(get(len(details)))
        except (IndexError, RuntimeError, ValueError):
            return details


if __name__ == "__main__":
    main()
