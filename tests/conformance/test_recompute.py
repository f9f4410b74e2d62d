# SPDX-License-Identifier: Apache-2.0
"""Models with duplicated operators (neap plan --recompute) in stock runtimes: the same bytes from less memory."""

import subprocess
import sys

import pytest

numpy = pytest.importorskip("numpy", reason="no wheel of numpy")

from conftest import SOURCE  # noqa: E402

SEEDS = (1, 2)


def skip_onnx(path):
    """A wide tensor of a cheap operator is used at both ends of a costly wide part."""
    onnx = pytest.importorskip("onnx", reason="no wheel of onnx")
    draw = numpy.random.default_rng(0)
    nodes, weights = [], []

    def conv(source, target, inputs, outputs, size):
        weight = draw.standard_normal((outputs, inputs, size, size)).astype(numpy.float32)
        weights.append(onnx.numpy_helper.from_array(weight, target + "_weight"))
        nodes.append(onnx.helper.make_node("Conv", [source, target + "_weight"], [target], name=target,
                                           pads=[size // 2] * 4))

    conv("input", "early", 2, 16, 1)
    conv("early", "narrow", 16, 2, 3)
    conv("narrow", "wide", 2, 24, 3)
    nodes.append(onnx.helper.make_node("Relu", ["wide"], ["active"], name="active"))
    conv("active", "back", 24, 16, 3)
    nodes.append(onnx.helper.make_node("Add", ["early", "back"], ["sum"], name="sum"))
    conv("sum", "output", 16, 2, 1)
    values = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 2, 16, 16])
              for name in ("input", "output")]
    graph = onnx.helper.make_graph(nodes, "skip", values[:1], values[1:], weights)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)],
                                     ir_version=8), path)


def skip_tflite(path):
    """The same of matrices."""
    pytest.importorskip("tflite_micro", reason="no wheel of tflite-micro")
    from made_models import Maker

    draw = numpy.random.default_rng(0)
    maker = Maker()
    source = maker.tensor([1, 8])
    maker.main.inputs = [source]
    early = maker.fully_connected(source, 256, draw)
    tensor = early
    for size in (8, 512, 512, 256):
        tensor = maker.fully_connected(tensor, size, draw)
    tensor = maker.fully_connected(maker.add(early, tensor), 8, draw)
    maker.main.outputs = [tensor]
    path.write_bytes(maker.bytes())


def onnx_outputs(model):
    onnxruntime = pytest.importorskip("onnxruntime", reason="no wheel of onnxruntime")
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    return [session.run(None, {"input": numpy.random.default_rng(seed).standard_normal(
        (1, 2, 16, 16)).astype(numpy.float32)})[0].tobytes() for seed in SEEDS]


def tflite_outputs(runtime, model):
    pytest.importorskip("tflite_micro" if runtime == "tflm" else "ai_edge_litert")
    out = model.with_suffix(f".{runtime}.npz")
    subprocess.run([sys.executable, str(SOURCE / "tests/conformance/run_tflite.py"), runtime, str(model),
                    str(out), *map(str, SEEDS)], check=True, capture_output=True, timeout=300)
    arrays = numpy.load(out)
    return [arrays[f"{seed}_000"].tobytes() for seed in SEEDS]


def recomputed(neap, model, less, *words):
    """The report of a plan that repeats operators, checked and run by Neap."""
    once = neap.plan(model, *words)
    plan = less.with_suffix(".json")
    report = neap.plan(model, "--recompute", "1.2", "-o", less, "--plan", plan, *words)
    assert report["plan"]["peak_bytes"] < once["plan"]["peak_bytes"]
    assert report["delivered"]["arena_bytes"] is None or (
        report["delivered"]["arena_bytes"] < once["plan"]["arena_bytes"])
    assert report["operators"] == once["operators"] + report["recompute"]["repetitions"]
    assert 0 < report["recompute"]["repetitions"]
    assert report["recompute"]["cost"] <= 1.2 * report["recompute"]["base_cost"]
    assert neap.run("check", model, plan).returncode == 0
    run = neap.run("run", model, "--plan", plan, "--compare")
    assert run.returncode == 0, run.stderr
    return report


def test_onnx(neap, tmp_path):
    model, less = tmp_path / "skip.onnx", tmp_path / "less.onnx"
    skip_onnx(model)
    recomputed(neap, model, less)
    before = onnx_outputs(model)
    assert before[0] != before[1]
    assert before == onnx_outputs(less)


@pytest.mark.parametrize("runtime", ["tflm", "litert"])
def test_tflite(neap, tmp_path, runtime):
    model, less = tmp_path / "skip.tflite", tmp_path / "less.tflite"
    skip_tflite(model)
    recomputed(neap, model, less, "--runtime", runtime)
    before = tflite_outputs(runtime, model)
    assert before[0] != before[1]
    assert before == tflite_outputs(runtime, less)
