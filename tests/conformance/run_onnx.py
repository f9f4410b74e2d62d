# SPDX-License-Identifier: Apache-2.0
"""Runs an .onnx in ONNX Runtime and prints its memory: run_onnx.py REUSE MODEL INPUTS.npz OUTPUTS.npz.

A process of its own, whose resident memory is that of one session. INPUTS.npz has arrays "<run>_<input>";
OUTPUTS.npz gets "<run>_<output>". Prints JSON: "peak_bytes", the largest increase of the resident memory during a run, over all runs but
the first. The model's inputs are the caller's and exist before: they are not included.

Tensors are allocated one by one and freed at once: no arena that keeps memory, no pattern of earlier runs,
and (by the variables of `environment()`) an allocator that maps every larger block by itself, so that the
resident bytes are the live bytes, in pages of 4 KiB, scratch of kernels included.
REUSE 1: ONNX Runtime's own reuse of tensors of equal sizes, its default, which keeps some of them longer
than they are needed; 0: without.
"""

import ctypes
import json
import os
import pathlib
import sys


def environment():
    return {**os.environ,
            "GLIBC_TUNABLES": "glibc.malloc.mmap_threshold=4096:glibc.malloc.mmap_max=1000000"}


def status(key):
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key):
            return int(line.split()[1]) << 10
    raise KeyError(key)


def session_of(onnxruntime, model, reuse):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.execution_order = onnxruntime.ExecutionOrder.PRIORITY_BASED
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.intra_op_num_threads = 1
    options.enable_cpu_mem_arena = False
    options.enable_mem_pattern = False
    options.enable_mem_reuse = reuse
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def main():
    import numpy
    import onnxruntime

    reuse, model, inputs, outputs = sys.argv[1:]
    session = session_of(onnxruntime, model, reuse == "1")
    names = [tensor.name for tensor in session.get_inputs()]
    runs = {}
    with numpy.load(inputs) as arrays:
        for key in sorted(arrays.files):
            runs.setdefault(key.split("_")[0], []).append(arrays[key])
    results = {}
    peak = 0
    libc = ctypes.CDLL(None)
    for number, (run, given) in enumerate([next(iter(runs.items())), *runs.items()]):
        libc.malloc_trim(0)
        pathlib.Path("/proc/self/clear_refs").write_text("5")  # the peak starts again
        before = status("VmRSS")
        found = session.run(None, dict(zip(names, given)))
        if number > 0:
            peak = max(peak, status("VmHWM") - before)
        for index, array in enumerate(found):
            results[f"{run}_{index:03}"] = numpy.array(array)
        del found
    numpy.savez(outputs, **results)
    print(json.dumps({"peak_bytes": peak}))


if __name__ == "__main__":
    main()
