# SPDX-License-Identifier: Apache-2.0
"""neap run and emitted C on SUM of integers beside the stock runtimes, byte by byte."""

import shutil
import sys

import numpy
import pytest

from conftest import SOURCE
from test_execute import outputs_of, stock

sys.path.insert(0, str(SOURCE / "tests/emit"))
import emitted  # noqa: E402

SHAPE = (1, 6, 5, 7)
AXES = {"places": ((1, 2), (1, 7)), "rows": ((1,), (1, 5, 7)), "channels": ((3,), (1, 6, 5)),
        "all": ((0, 1, 2, 3), (1, 1, 1, 1))}
# Scales and zero points of input and output.
SCALES = {"down": ((0.02, 3), (0.31, -5)), "up": ((0.05, -7), (0.011, 9)), "equal": ((0.05, 4), (0.05, 4))}
CASES = (("places", "down"), ("places", "up"), ("rows", "equal"), ("channels", "up"), ("all", "down"))


def network(dtype, axes, scales):
    pytest.importorskip("tflite_micro", reason="no wheel of tflite_micro")
    from kernel_models import BUILTIN, KernelMaker, schema
    maker = KernelMaker()
    zero = 128 if dtype == "uint8" else 0
    source, target = (maker.typed(shape, dtype, scale=scale, zero=point + zero)
                      for shape, (scale, point) in zip((SHAPE, AXES[axes][1]), SCALES[scales]))
    options = schema.ReducerOptionsT()
    options.keepDims = axes == "all"
    return maker.finish(source, target, BUILTIN.SUM, [source, maker.ints(AXES[axes][0])],
                        schema.BuiltinOptions.ReducerOptions, options)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
@pytest.mark.parametrize("runtime", ["litert", "tflm"])
def test_sums(neap, dtype, runtime, table, tmp_path):
    pytest.importorskip("ai_edge_litert" if runtime == "litert" else "tflite_micro")
    seeds, compared = range(1, 3), 0
    for axes, scales in CASES:
        path = tmp_path / f"{axes}-{scales}.tflite"
        path.write_bytes(network(dtype, axes, scales))
        runs = stock(runtime, path, tmp_path, seeds)
        if runs is None:
            continue
        for inputs, theirs in runs.values():
            ours, why = outputs_of(neap, path, inputs, tmp_path, "--kernels", runtime)
            assert ours is not None, why
            assert all(map(numpy.array_equal, ours, theirs)), (axes, scales)
            compared += 1
        if runtime == {"int8": "tflm", "uint8": "litert"}.get(dtype) and shutil.which("gcc"):
            emitted_equal(neap, path, runs, tmp_path / f"{axes}-{scales}")
    if compared == 0:
        pytest.skip(f"{runtime} does not run it")
    table("SUM of integers: outputs compared", f"{dtype}, {runtime}: {compared}")


def emitted_equal(neap, path, runs, folder):
    written = neap.run("emit", path, "-o", folder, "--prefix", "net")
    assert written.returncode == 0, written.stderr.decode()
    code = emitted.Network(folder, "net")
    for seed, arrays in runs.items():
        code.write_seed(seed, *[[numpy.ascontiguousarray(array).tobytes() for array in part] for part in arrays])
    assert code.compile("gcc") == ""
    assert code.run(list(runs)) == ""
