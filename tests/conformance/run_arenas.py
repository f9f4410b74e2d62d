# SPDX-License-Identifier: Apache-2.0
"""Loads each model of a list in TFLM: run_arenas.py < lines "FILE ARENA_BYTES".

On standard error, for each line: "@ FILE ARENA_BYTES", TFLM's own report, and "refused" where it
does not load the model in this many bytes.
"""

import os
import sys

from tflite_micro import runtime


def main():
    for line in sys.stdin:
        path, arena_bytes = line.split()
        os.write(2, f"@ {path} {arena_bytes}\n".encode())
        try:
            runtime.Interpreter.from_file(path, arena_size=int(arena_bytes)).print_allocations()
        except RuntimeError:
            os.write(2, b"refused\n")


if __name__ == "__main__":
    main()
