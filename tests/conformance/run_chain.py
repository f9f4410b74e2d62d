# SPDX-License-Identifier: Apache-2.0
"""Runs the stages of a .tflite one after the other: run_chain.py tflm|litert REPORT.json OUTPUT.npz SEED...

REPORT.json is the output of `neap pipeline -o ... --json`. Inputs are drawn as run_tflite.py draws them,
and OUTPUT.npz gets the same arrays "<seed>_<output>", without outputs that are inputs.
"""

import json
import sys

import numpy

from run_tflite import TFLM_ARENA_BYTES, details_of
from tensors import random_tensor


def open_tflm(path):
    from tflite_micro import runtime

    interpreter = runtime.Interpreter.from_file(path, arena_size=TFLM_ARENA_BYTES)

    def run(arrays):
        for index, array in enumerate(arrays):
            interpreter.set_input(array, index)
        interpreter.invoke()
        return [numpy.array(interpreter.get_output(index))
                for index in range(len(details_of(interpreter.get_output_details)))]

    return details_of(interpreter.get_input_details), run


def open_litert(path):
    from ai_edge_litert import interpreter as litert

    interpreter = litert.Interpreter(model_path=path, num_threads=1,
                                     experimental_op_resolver_type=litert.OpResolverType.BUILTIN_REF)
    interpreter.allocate_tensors()

    def run(arrays):
        for detail, array in zip(interpreter.get_input_details(), arrays):
            if tuple(detail["shape"]) != array.shape:
                sys.exit(f"{detail['name']} has another shape than the file says")
            interpreter.set_tensor(detail["index"], array)
        interpreter.invoke()
        return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]

    return interpreter.get_input_details(), run


def main():
    runtime, path, output, *seeds = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
    numbers = {key: [tensor["tensor"] for tensor in report[key]] for key in ("inputs", "outputs")}
    opener = {"tflm": open_tflm, "litert": open_litert}[runtime]
    results = {}
    for seed in seeds:
        host = {}  # the host's tensors, by number in the model
        for stage in report["stages"]:
            details, run = opener(stage["file"])
            arrays = []
            for tensor, detail in zip(stage["inputs"], details):
                number = tensor["tensor"]
                if number not in host:
                    host[number] = random_tensor(detail["shape"], detail["dtype"], int(seed),
                                                 numbers["inputs"].index(number))
                arrays.append(host[number])
            made = run(arrays)
            assert len(made) == len(stage["outputs"])
            host.update({tensor["tensor"]: array for tensor, array in zip(stage["outputs"], made)})
        for index, number in enumerate(numbers["outputs"]):
            # An output that is an input of the model comes from no stage.
            if number not in numbers["inputs"]:
                results[f"{seed}_{index:03}"] = host[number]
    numpy.savez(output, **results)


if __name__ == "__main__":
    main()
