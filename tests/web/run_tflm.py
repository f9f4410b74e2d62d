# SPDX-License-Identifier: Apache-2.0
"""Runs two models of one 8-bit input in TFLM with the same input: run_tflm.py MODEL ARENA MODEL ARENA. Prints
"equal" or "different". For the interpreter of .venv."""

import sys

import numpy
from tflite_micro import runtime


def outputs(path, arena_bytes):
    interpreter = runtime.Interpreter.from_file(path, arena_size=int(arena_bytes))
    detail = interpreter.get_input_details(0)
    values = numpy.random.default_rng(1).integers(-128, 128, detail["shape"])
    interpreter.set_input(values.astype(detail["dtype"]), 0)
    interpreter.invoke()
    return interpreter.get_output(0).tobytes()


def main():
    first, second = outputs(*sys.argv[1:3]), outputs(*sys.argv[3:5])
    print("equal" if first == second else "different")


if __name__ == "__main__":
    main()
