# SPDX-License-Identifier: Apache-2.0
"""Rewritten files in the stock runtimes: the outputs that their class promises."""

import subprocess
import sys

import pytest

numpy = pytest.importorskip("numpy", reason="no wheel of numpy")

from conftest import SHARED, SOURCE  # noqa: E402

SEEDS = (1, 2)
SWIFTNET = SHARED / "models/newwhitecheng+vwwc19-submission/swiftnet-vww-224-uint8.tflite"


def tflite_outputs(runtime, model, folder):
    pytest.importorskip("tflite_micro" if runtime == "tflm" else "ai_edge_litert")
    out = folder / f"{model.stem}-{runtime}.npz"
    subprocess.run([sys.executable, str(SOURCE / "tests/conformance/run_tflite.py"), runtime, str(model),
                    str(out), *map(str, SEEDS)], check=True, capture_output=True, timeout=300)
    arrays = numpy.load(out)
    return {name: arrays[name] for name in arrays.files}


def onnx_outputs(model):
    onnxruntime = pytest.importorskip("onnxruntime", reason="no wheel of onnxruntime")
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    outputs = {}
    for seed in SEEDS:
        draw = numpy.random.default_rng(seed)
        feeds = {tensor.name: draw.standard_normal(tensor.shape).astype(numpy.float32)
                 for tensor in session.get_inputs()}
        for index, value in enumerate(session.run(None, feeds)):
            outputs[f"{seed}_{index:03}"] = value
    return outputs


def same_bytes(a, b):
    return a.keys() == b.keys() and all(a[name].tobytes() == b[name].tobytes() for name in a)


def vary(outputs):
    first, second = (outputs[f"{seed}_000"] for seed in SEEDS)
    return first.tobytes() != second.tobytes()


def rewritten(neap, model, out, *words):
    report = neap.plan(model, "-o", out, *words)
    assert report["rewrites"], "nothing was rewritten: the test shows nothing"
    return report


@pytest.mark.parametrize("runtime", ["tflm", "litert"])
def test_bitwise_tflite(neap, tmp_path, runtime):
    model = tmp_path / "swiftnet.tflite"
    assert neap.run("zoo", "swiftnet", "--int8", "-o", model).returncode == 0
    small = tmp_path / "small.tflite"
    rewritten(neap, model, small, "--runtime", runtime)
    before = tflite_outputs(runtime, model, tmp_path)
    assert vary(before)
    assert same_bytes(before, tflite_outputs(runtime, small, tmp_path))


VWW = SHARED / "models/mlcommons+tiny/vww_96_int8.tflite"


@pytest.mark.parametrize("cascade", ["off", "auto"])
@pytest.mark.parametrize("runtime", ["tflm", "litert"])
def test_dead_channels(neap, tmp_path, runtime, cascade):
    """Half of the MACs and most weights of this network compute constants."""
    if not VWW.exists():
        pytest.skip(f"{VWW} is not there")
    small = tmp_path / "small.tflite"
    report = rewritten(neap, VWW, small, "--rewrite", "bitwise", "--runtime", runtime, "--cascade", cascade)
    assert "dead-channels" in {rewrite["rule"] for rewrite in report["rewrites"]}
    assert small.stat().st_size < VWW.stat().st_size
    before = tflite_outputs(runtime, VWW, tmp_path)
    assert vary(before)
    assert same_bytes(before, tflite_outputs(runtime, small, tmp_path))


@pytest.mark.parametrize("runtime", ["tflm", "litert"])
@pytest.mark.parametrize("network", ["mobilenet-v1-vww", "mobilenet-v2"])
def test_partitions_of_integers_are_bitwise(neap, tmp_path, network, runtime):
    """Convolutions split over their output channels, depthwise ones in pieces."""
    model = tmp_path / f"{network}.tflite"
    assert neap.run("zoo", network, "--int8", "-o", model).returncode == 0
    small = tmp_path / "small.tflite"
    report = neap.plan(model, "-o", small, "--runtime", runtime)
    if not report["rewrites"]:
        pytest.skip("no rewrite lowers the arena of this network under this runtime")
    before = tflite_outputs(runtime, model, tmp_path)
    assert vary(before)
    assert same_bytes(before, tflite_outputs(runtime, small, tmp_path))


@pytest.mark.parametrize("network", ["swiftnet", "swiftnet-cell-a"])
def test_onnx_classes(neap, tmp_path, network):
    model = tmp_path / "model.onnx"
    assert neap.run("zoo", network, "-o", model).returncode == 0
    before = onnx_outputs(model)
    assert vary(before)
    bitwise = neap.plan(model, "-o", tmp_path / "bitwise.onnx", "--runtime", "onnxruntime")
    assert all(rewrite["exactness"] == "bitwise" for rewrite in bitwise["rewrites"])
    assert same_bytes(before, onnx_outputs(tmp_path / "bitwise.onnx"))
    sums = neap.plan(model, "-o", tmp_path / "sums.onnx", "--runtime", "onnxruntime", "--rewrite",
                     "reassociate")
    assert sums["plan"]["peak_bytes"] <= bitwise["plan"]["peak_bytes"]
    after = onnx_outputs(tmp_path / "sums.onnx")
    assert before.keys() == after.keys()
    for name, value in before.items():
        # Sums in another order, through a few layers.
        assert numpy.allclose(value, after[name], rtol=1e-3, atol=1e-4 * numpy.abs(value).max())


def test_a_file_without_its_weights_is_planned_all_the_same(neap, tmp_path):
    """Its sizes are enough for a plan; the constants to cut for a file are missing."""
    onnx = pytest.importorskip("onnx", reason="no wheel of onnx")
    whole, shapes = tmp_path / "whole.onnx", tmp_path / "shapes.onnx"
    assert neap.run("zoo", "swiftnet-cell-a", "-o", whole).returncode == 0
    model = onnx.load(whole)
    for tensor in model.graph.initializer:
        if len(tensor.dims) == 4:
            tensor.ClearField("raw_data")
            tensor.ClearField("float_data")
    onnx.save(model, shapes)
    words = ["--runtime", "onnxruntime", "--rewrite", "reassociate"]
    plan = tmp_path / "plan.json"
    with_weights = neap.plan(whole, *words)
    without = neap.plan(shapes, *words, "--plan", plan)
    assert with_weights["rewrites"] != []
    # The same plan whether the model is written or not: without what cuts weights.
    written = neap.plan(shapes, *words, "-o", tmp_path / "out.onnx")
    assert without["plan"] == written["plan"] and without["rewrites"] == written["rewrites"]
    assert all(rewrite["rule"] == "no-op" for rewrite in written["rewrites"])
    for report in (without, written):
        assert any("rewrites are left out" in note for note in report["notes"])
    assert neap.run("check", shapes, plan).returncode == 0
    assert neap.run("check", whole, plan).returncode == 1


def test_published_swiftnet(neap, tmp_path):
    """Its uint8 is nothing for TensorFlow Lite Micro."""
    if not SWIFTNET.is_file():
        pytest.skip(f"no files in {SHARED}")
    small = tmp_path / "small.tflite"
    report = rewritten(neap, SWIFTNET, small, "--runtime", "ideal")
    assert report["plan"]["arena_bytes"] == 275_968
    before = tflite_outputs("litert", SWIFTNET, tmp_path)
    assert same_bytes(before, tflite_outputs("litert", small, tmp_path))
