# SPDX-License-Identifier: Apache-2.0
"""Neap's table of TFLM's kernels, compared with the wheel: models of one operator for every element type."""

import pathlib
import subprocess
import sys

import pytest

numpy = pytest.importorskip("numpy", reason="no wheel of numpy")
pytest.importorskip("tflite_micro", reason="no wheel of tflite_micro")

import measure_kernels  # noqa: E402
from tensors import same_bytes  # noqa: E402
from tflite_micro import runtime as _  # noqa: E402,F401  before processes are forked

# Of the short form. TFLM runs no network of uint8, but converts it.
FEW_TYPES = ("float32", "int8", "uint8")
NAMES = sorted({*measure_kernels.BY_TYPE, *measure_kernels.BY_PAIR})


@pytest.mark.parametrize("name", NAMES)
def test_reports_refuse_what_tflm_refuses(name, neap, tmp_path, request):
    types = measure_kernels.TYPES if request.config.getoption("--long") else FEW_TYPES
    compared = 0
    for (operator, words), maker in measure_kernels.cases(types):
        if operator != name:
            continue
        data = maker.bytes()
        (tmp_path / "one.tflite").write_bytes(data)
        report = neap.plan(tmp_path / "one.tflite", "--runtime", "tflm", "--rewrite", "none")
        refused = report["refused_by_runtime"]
        runs = measure_kernels.accepts(measure_kernels.run_tflm, data)
        assert (refused is None) == runs, f"{name} {words}: TFLM {'runs' if runs else 'refuses'} it, {refused}"
        if refused:
            assert report["delivered"] is None
        compared += 1
    assert compared >= 3


def network(tmp_path, ends):
    """Convolutions of int8 on an image that a caller passes as `ends`."""
    m = measure_kernels.Maker()
    draw = numpy.random.default_rng(1)
    tensor = m.x(ends, (1, 32, 32, 3), scale=1 / 128, zero=128 if ends == "uint8" else 0)
    if ends != "int8":
        converted = m.tensor("int8", (1, 32, 32, 3))
        m.op("QUANTIZE", [tensor], [converted], "QuantizeOptions")
        tensor = converted
    for depth, channels in ((3, 16), (16, 16)):
        weights = m.tensor("int8", (channels, 3, 3, depth),
                           draw.integers(-127, 128, (channels, 3, 3, depth)), [.002] * channels)
        bias = m.tensor("int32", [channels], draw.integers(-99, 99, channels))
        out = m.tensor("int8", (1, 32, 32, channels), scale=1 / 64)
        m.op("CONV_2D", [tensor, weights, bias], [out], "Conv2DOptions", strideH=1, strideW=1,
             dilationHFactor=1, dilationWFactor=1)
        tensor = out
    pooled = m.y("int8", (1, 4, 4, 16), scale=1 / 64)
    m.op("MAX_POOL_2D", [tensor], [pooled], "Pool2DOptions", strideH=8, strideW=8, filterHeight=8,
         filterWidth=8, padding=1)
    (tmp_path / "in.tflite").write_bytes(m.bytes())
    return tmp_path / "in.tflite"


def outputs_of(model, tmp_path):
    program = pathlib.Path(__file__).with_name("run_tflite.py")
    done = subprocess.run([sys.executable, "-B", program, "tflm", model, tmp_path / "out.npz", "1", "2"],
                          capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    with numpy.load(tmp_path / "out.npz") as arrays:
        return [arrays[key] for key in sorted(arrays.files)]


@pytest.mark.parametrize("ends", ("int8", "uint8"))
@pytest.mark.parametrize("bodies", ("clones", "shared"))
def test_tiles_slice_nothing_that_tflm_does_not(ends, bodies, neap, tmp_path):
    model = network(tmp_path, ends)
    report = neap.plan(model, "--runtime", "tflm", "--cascade", "auto", "--cascade-bodies", bodies,
                       "-o", tmp_path / "tiled.tflite")
    assert report["cascade"]["stripes"] > 1
    assert report["refused_by_runtime"] is None
    before, after = outputs_of(model, tmp_path), outputs_of(tmp_path / "tiled.tflite", tmp_path)
    assert same_bytes(before, after)
    assert not same_bytes(before[:1], before[1:]), "inputs make no difference"


def test_the_first_lines_name_the_operator_that_is_refused(neap, tmp_path):
    (tmp_path / "one.tflite").write_bytes(measure_kernels.BY_PAIR["CONV_2D"]("uint8", "uint8").bytes())
    done = neap.run("plan", tmp_path / "one.tflite", "--runtime", "tflm")
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    head = " ".join(done.stdout.decode().split("\n\n")[0].split())
    assert "TensorFlow Lite Micro does not execute this model: operator #0 'CONV_2D'" in head
    assert "there is no kernel for uint8 with weights of uint8" in head
    assert "in TFLM" not in head
