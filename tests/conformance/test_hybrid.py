# SPDX-License-Identifier: Apache-2.0
"""Operators whose arithmetic depends on a whole tensor: hybrid convolutions (float activations, integer
weights) keep their outputs, byte by byte, in tiles under LiteRT and in streams of Neap's executor."""

import json
import pathlib
import subprocess
import sys

import pytest

numpy = pytest.importorskip("numpy", reason="no wheel of numpy")
pytest.importorskip("ai_edge_litert", reason="no wheel of ai_edge_litert")
pytest.importorskip("tflite_micro", reason="no wheel of tflite_micro")

import measure_kernels  # noqa: E402
from conftest import SHARED  # noqa: E402
from tensors import same_bytes  # noqa: E402

SHARED_MODELS = ("mlcommons+tiny/kws_ref_model_float32.tflite",
                 "anilsathyan7+Portrait-Segmentation/prisma-net_uint8.tflite")


def network(weights, hybrid=(0, 1, 2)):
    """Three convolutions of which some have integer weights, relu between them, and pooling."""
    m = measure_kernels.Maker()
    draw = numpy.random.default_rng(2)
    tensor, depth = m.x("float32", (1, 24, 24, 3)), 3
    for index, channels in enumerate((12, 12, 8)):
        kind = weights if index in hybrid else "float32"
        shape = (channels, 3, 3, depth)
        values = draw.normal(size=shape) if kind == "float32" else draw.integers(-127, 128, shape)
        filters = m.tensor(kind, shape, values, .004)
        bias = m.tensor("float32", [channels], draw.normal(size=channels))
        out = m.tensor("float32", (1, 24, 24, channels))
        m.op("CONV_2D", [tensor, filters, bias], [out], "Conv2DOptions", strideH=1, strideW=1,
             dilationHFactor=1, dilationWFactor=1)
        tensor, depth = m.tensor("float32", (1, 24, 24, channels)), channels
        m.op("RELU", [out], [tensor])
    m.op("MAX_POOL_2D", [tensor], [m.y("float32", (1, 3, 3, depth))], "Pool2DOptions", strideH=8, strideW=8,
         filterHeight=8, filterWidth=8, padding=1)
    return m.bytes(2)


def outputs_of(model, tmp_path):
    program = pathlib.Path(__file__).with_name("run_tflite.py")
    done = subprocess.run([sys.executable, "-B", program, "litert", model, tmp_path / "out.npz", "1", "2"],
                          capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    with numpy.load(tmp_path / "out.npz") as arrays:
        return [arrays[key] for key in sorted(arrays.files)]


def assert_tiles_compute_the_same(neap, model, tmp_path, *words):
    report = neap.plan(model, "--runtime", "litert", "--cascade", "auto", "-o", tmp_path / "tiled.tflite", *words)
    before, after = outputs_of(model, tmp_path), outputs_of(tmp_path / "tiled.tflite", tmp_path)
    assert same_bytes(before, after)
    half = len(before) // 2
    assert not same_bytes(before[:half], before[half:]), "inputs make no difference"
    return report


@pytest.mark.parametrize("hybrid", ((), (0,), (1,), (2,), (0, 1, 2)), ids=str)
def test_tiles(hybrid, neap, tmp_path):
    (tmp_path / "in.tflite").write_bytes(network("int8", hybrid))
    report = assert_tiles_compute_the_same(neap, tmp_path / "in.tflite", tmp_path)
    # What follows the first operator is cut; a hybrid one between keeps both of its tensors whole.
    assert (report["cascade"]["stripes"] > 0) == (hybrid in ((), (0,)))


@pytest.mark.parametrize("hybrid", ((), (1,), (0, 1, 2)), ids=str)
def test_streams(hybrid, neap, tmp_path):
    (tmp_path / "in.tflite").write_bytes(network("int8", hybrid))
    done = neap.run("plan", tmp_path / "in.tflite", "--runtime", "neap", "--stream", "auto", "--plan",
                    tmp_path / "plan.json")
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    check = neap.run("check", tmp_path / "in.tflite", tmp_path / "plan.json")
    assert check.returncode == 0, check.stderr.decode(errors="replace")
    for seed in (1, 2):
        done = neap.run("run", tmp_path / "in.tflite", "--plan", tmp_path / "plan.json", "--compare", "--json",
                        "--random-inputs", seed)
        assert done.returncode == 0, done.stderr.decode(errors="replace")
        assert json.loads(done.stdout)["equal"]


@pytest.mark.parametrize("model", SHARED_MODELS)
def test_shared_models(model, neap, tmp_path, request):
    path = SHARED / "models" / model
    if not path.exists():
        pytest.skip(f"no {path}")
    if "prisma" in model and not request.config.getoption("--long"):
        pytest.skip("only with --long")
    assert_tiles_compute_the_same(neap, path, tmp_path)
