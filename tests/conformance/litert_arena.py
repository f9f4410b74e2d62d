# SPDX-License-Identifier: Apache-2.0
"""LiteRT's allocation for a .tflite: litert_arena.py MODEL prints it as JSON.

A separate process, because a model that the runtime refuses may end it. The interpreter does not
report the size of its arenas, but the address of every tensor: an arena extends from the first byte
to the last, rounded up to the alignment of 64.
"""

import json
import re
import sys

ALIGNMENT = 64
CALLERS = {"IF", "WHILE", "CALL", "CALL_ONCE", "STABLEHLO_WHILE", "STABLEHLO_COMPOSITE"}


def mapped(path):
    """The address ranges where the file is: constants are read from there."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        lines = [line.split(maxsplit=5) for line in maps]
    ranges = [line[0].split("-") for line in lines if len(line) == 6 and line[5].strip() == path]
    return [(int(first, 16), int(last, 16)) for first, last in ranges]


def span(places):
    if not places:
        return 0
    length = max(at + size for at, size in places) - min(at for at, _ in places)
    return -(-length // ALIGNMENT) * ALIGNMENT


def measure(path):
    from ai_edge_litert import interpreter as litert

    interpreter = litert.Interpreter(model_path=path, num_threads=1,
                                     experimental_op_resolver_type=litert.OpResolverType.BUILTIN_REF,
                                     experimental_preserve_all_tensors=False)
    interpreter.allocate_tensors()
    file = mapped(path)
    places, missing, scalars = {}, set(), set()
    for detail in interpreter.get_tensor_details():
        index = detail["index"]
        try:
            view = interpreter.tensor(index)()
            if view.ndim == 0:
                scalars.add(index)  # a copy: its address is not that of the tensor
            elif view.nbytes > 0 and not any(a <= view.ctypes.data < b for a, b in file):
                places[index] = (view.ctypes.data, view.nbytes)
        except ValueError as error:
            if re.search("data is null", str(error)):
                missing.add(index)
    ops = interpreter._get_ops_details()
    inputs = {detail["index"] for detail in interpreter.get_input_details()}
    written, touched, kept = set(), set(inputs), set()
    for op in ops:
        reads = [int(tensor) for tensor in op["inputs"] if tensor >= 0]
        writes = [int(tensor) for tensor in op["outputs"] if tensor >= 0]
        written.update(writes)
        touched.update(reads + writes)
        if op["op_name"] in ("DEQUANTIZE", "DENSIFY") and reads[0] not in written | inputs:
            kept.update(writes)
    kept |= set(places) & touched - written - inputs  # variables
    reasons = []
    if any(op["op_name"] in CALLERS for op in ops):
        reasons.append("control flow")
    dynamic = bool(missing & written)  # they and what depends on them are elsewhere
    if dynamic:
        reasons.append("tensors whose size is not known before the run")
    if set(places) - touched:
        reasons.append("temporaries of kernels")
    if scalars & (written | inputs):
        reasons.append("scalars without a visible address")
    arenas = [span([places[t] for t in places if (t in kept) == persistent and t in touched])
              for persistent in (False, True)]
    return {"bytes": None if dynamic else sum(arenas), "reasons": reasons}


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1])))
