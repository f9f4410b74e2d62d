# SPDX-License-Identifier: Apache-2.0
"""Runs models in TFLM with a decompression memory: run_compressed.py < lines "FILE ARENA_BYTES MEMORY_BYTES SEED".

For each line one of standard output: "refused" where TFLM does not load the model in this many bytes, else a hash of
the outputs for inputs of that seed.
"""

import hashlib
import sys

import numpy
from tflite_micro import runtime

from run_tflite import details_of


def main():
    for line in sys.stdin:
        path, arena_bytes, memory_bytes, seed = line.split()
        try:
            interpreter = runtime.Interpreter.from_file(path, arena_size=int(arena_bytes),
                                                        alt_decompression_memory_size=int(memory_bytes))
        except RuntimeError:
            print("refused", flush=True)
            continue
        rng = numpy.random.default_rng(int(seed))
        for index, detail in enumerate(details_of(interpreter.get_input_details)):
            interpreter.set_input(rng.integers(-128, 128, detail["shape"]).astype(numpy.int8), index)
        interpreter.invoke()
        outputs = [interpreter.get_output(index).tobytes() for index in
                   range(len(details_of(interpreter.get_output_details)))]
        print(hashlib.sha256(b"".join(outputs)).hexdigest(), flush=True)


if __name__ == "__main__":
    main()
