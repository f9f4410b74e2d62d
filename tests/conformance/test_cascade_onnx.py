# SPDX-License-Identifier: Apache-2.0
"""Operators in tiles under ONNX Runtime: the points of `neap pareto`, delivered, run and measured.

Outputs of integers are equal byte by byte; those of floats as far as a kernel's order of sums does not
depend on sizes. The tests measure the resident memory of the process while the model runs (run_onnx.py).
"""

import json
import re
import subprocess
import sys

import pytest

numpy = pytest.importorskip("numpy", reason="no wheel of numpy")
onnx = pytest.importorskip("onnx", reason="no wheel of onnx")
pytest.importorskip("onnxruntime", reason="no wheel of onnxruntime")

from conftest import SOURCE  # noqa: E402
from run_onnx import environment  # noqa: E402
from tensors import random_tensor, same_bytes  # noqa: E402

SEEDS = (1, 2)
# Largest difference of floats, of the largest output.
FLOAT_TOLERANCE = 1e-4
# Stacks, buffers of the interpreter and ends of pages that a run may touch beside its tensors.
ELSEWHERE = 256 << 10


def quantised(original, quantized):
    """An integer model: QLinearConv and similar operators, all tensors between of one byte."""
    from onnxruntime import quantization

    model = onnx.load(original)
    given = model.graph.input[0]
    shape = [size.dim_value for size in given.type.tensor_type.shape.dim]

    class Samples(quantization.CalibrationDataReader):
        def __init__(self):
            self.left = [random_tensor(shape, numpy.float32, 100 + seed, 0) for seed in range(2)]

        def get_next(self):
            return {given.name: self.left.pop()} if self.left else None

    quantization.quantize_static(
        str(original), str(quantized), Samples(), quant_format=quantization.QuantFormat.QOperator,
        activation_type=quantization.QuantType.QUInt8, weight_type=quantization.QuantType.QUInt8)
    # The input in bytes, too: as floats it would be the largest tensor.
    model = onnx.load(quantized)
    first = next(node for node in model.graph.node if given.name in node.input)
    assert first.op_type == "QuantizeLinear"
    for node in model.graph.node:
        for index, name in enumerate(node.input):
            if name == first.output[0]:
                node.input[index] = given.name
    model.graph.node.remove(first)
    model.graph.input[0].type.tensor_type.elem_type = onnx.TensorProto.UINT8
    onnx.save(model, quantized)


def in_batches(original, batched):
    """The same network on several images at once: its tensors outgrow what the runtime itself takes."""
    model = onnx.load(original)
    for tensor in (*model.graph.input, *model.graph.output):
        tensor.type.tensor_type.shape.dim[0].dim_value = BATCH
    del model.graph.value_info[:]
    onnx.save(model, batched)


class Runs:
    """A model in ONNX Runtime, on seeded inputs."""

    def __init__(self, model, tmp_path):
        inputs = {}
        for index, given in enumerate(onnx.load(model).graph.input):
            kind = onnx.helper.tensor_dtype_to_np_dtype(given.type.tensor_type.elem_type)
            shape = [size.dim_value for size in given.type.tensor_type.shape.dim]
            for seed in SEEDS:
                inputs[f"{seed}_{index:03}"] = random_tensor(shape, kind, seed, index)
        numpy.savez(tmp_path / "in.npz", **inputs)
        peaks = []
        for reuse in (1, 0):
            done = subprocess.run(
                [sys.executable, str(SOURCE / "tests/conformance/run_onnx.py"), str(reuse), str(model),
                 str(tmp_path / "in.npz"), str(tmp_path / "out.npz")],
                capture_output=True, timeout=300, check=False, env=environment())
            assert done.returncode == 0, done.stderr.decode(errors="replace")
            peaks.append(json.loads(done.stdout)["peak_bytes"])
        self.with_reuse, self.measured = peaks
        self.outputs = {}
        with numpy.load(tmp_path / "out.npz") as arrays:
            for key in sorted(arrays.files):
                self.outputs.setdefault(int(key.split("_")[0]), []).append(arrays[key])


def words_for(network, long):
    """Of the published size in the long form."""
    return [] if long or network != "mobilenet-v2" else ["--resolution", "64", "--width-multiplier", "0.35"]


def budgets_of(neap, original, long):
    """Of all points of the front with tiles; in the short form only of the plan with minimum memory."""
    if not long:
        return [[]]
    done = neap.run("pareto", original, "--runtime", "onnxruntime", "--features", "tiles", "--json", timeout=1200)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    cut = [point for point in json.loads(done.stdout)["points"] if point["regions"]]
    assert cut, "nothing is cut"
    return [["--budget", point["arena_bytes"]] for point in cut]


def forks_inside(model, regions):
    """Tensors that several operators of one region read and none behind it: forks that meet again in it."""
    nodes = onnx.load(model).graph.node
    forks = []
    for first, last in re.findall(r"#(\d+) to #(\d+)", " ".join(regions)):
        inside = nodes[int(first):int(last) + 1]
        outside = [*nodes[:int(first)], *nodes[int(last) + 1:]]
        for name in (name for node in inside for name in node.output):
            readers = [node for node in inside if name in node.input]
            if len(readers) > 1 and not any(name in node.input for node in outside):
                forks.append(name)
    return forks


def divided(path, opset, axis):
    """Half of the channels, or of the rows, goes through a window of its own."""
    draw = numpy.random.default_rng([7, opset, axis])

    def weights(name, shape):
        return onnx.numpy_helper.from_array(draw.normal(size=shape).astype(numpy.float32), name)

    parts = [4, 12] if axis == 1 else [20, 28]
    depth = 4 if axis == 1 else 16
    constants = [weights("w0", [16, 3, 1, 1]), weights("w1", [depth, 1, 3, 3])]
    given, by_attribute = {}, opset < 13
    if by_attribute:
        given["split"] = parts
    else:
        constants.append(onnx.numpy_helper.from_array(numpy.array(parts), "parts"))
    node = onnx.helper.make_node
    nodes = [
        node("Conv", ["x", "w0"], ["wide"]),
        node("Relu", ["wide"], ["cut"]),
        node("Split", ["cut"] if by_attribute else ["cut", "parts"], ["first", "second"], axis=axis, **given),
        node("Conv", ["first", "w1"], ["window"], pads=[1, 1, 1, 1], group=depth),
        node("Concat", ["second", "window"], ["joined"], axis=axis),
        node("MaxPool", ["joined"], ["y"], kernel_shape=[2, 2], strides=[2, 2]),
    ]
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        nodes, "divided", [value("x", onnx.TensorProto.FLOAT, [1, 3, 48, 48])],
        [value("y", onnx.TensorProto.FLOAT, [1, 16, 24, 24])], constants)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=8), path)


@pytest.mark.parametrize(("opset", "axis"), [(9, 1), (11, 2), (13, 1), (17, 2)])
def test_split(neap, opset, axis, tmp_path):
    """Slice takes the part of each output: before version 10 by attributes, then by inputs."""
    original, cut = tmp_path / "whole.onnx", tmp_path / "cut.onnx"
    divided(original, opset, axis)
    report = neap.plan(original, "--runtime", "onnxruntime", "--cascade", "auto", "--max-states", "20000", "-o", cut)
    first, last = re.findall(r"#(\d+) to #(\d+)", report["cascade"]["regions"][0])[0]
    assert int(first) < 2 < int(last)
    assert "Split" not in {node.op_type for node in onnx.load(cut).graph.node}
    before, after = Runs(original, tmp_path), Runs(cut, tmp_path)
    assert not same_bytes(before.outputs[1], before.outputs[2])
    for seed in SEEDS:
        for whole, tiled in zip(before.outputs[seed], after.outputs[seed]):
            assert float(numpy.abs(whole - tiled).max() / numpy.abs(whole).max()) < FLOAT_TOLERANCE


def over_time(path, kind, opset, options):
    """A product of each step, an LSTM or a GRU, a product of each output; random sizes."""
    draw = numpy.random.default_rng([11, opset, len(kind), len(options)])
    steps, batch, width, hidden, classes = (int(draw.integers(low, high)) for low, high in
                                            ((20, 60), (1, 4), (2, 20), (3, 40), (2, 10)))
    constants = []

    def weights(*shape):
        name = f"w{len(constants)}"
        constants.append(onnx.numpy_helper.from_array(draw.normal(size=shape).astype(numpy.float32), name))
        return name

    gates = (4 if kind == "LSTM" else 3) * hidden
    node = onnx.helper.make_node
    inputs = ["wide", weights(1, gates, 3 * width), weights(1, gates, hidden)]
    if "bias" in options:
        inputs.append(weights(1, 2 * gates))
    if "initial" in options:
        inputs += [""] * (5 - len(inputs)) + [weights(1, batch, hidden) for _ in range(2 if kind == "LSTM" else 1)]
    outputs = ["y", "unread"] if "outputs" in options else ["y"]
    more = {"linear_before_reset": 1} if "before" in options else {}
    if opset < 13:
        squeeze = node("Squeeze", ["y"], ["rows"], axes=[1])
    else:
        constants.append(onnx.numpy_helper.from_array(numpy.array([1]), "axes"))
        squeeze = node("Squeeze", ["y", "axes"], ["rows"])
    nodes = [node("MatMul", ["x", weights(width, 3 * width)], ["product"]), node("Tanh", ["product"], ["wide"]),
             node(kind, inputs, outputs, hidden_size=hidden, **more), squeeze,
             node("MatMul", ["rows", weights(hidden, classes)], ["z"])]
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        nodes, "over_time", [value("x", onnx.TensorProto.FLOAT, [steps, batch, width])],
        [value("z", onnx.TensorProto.FLOAT, [steps, batch, classes])], constants)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=8), path)


@pytest.mark.parametrize(("kind", "opset", "options"), [
    ("LSTM", 17, ("bias",)), ("LSTM", 11, ("initial", "outputs")), ("GRU", 17, ("bias", "before")),
    ("GRU", 11, ("initial",)), ("GRU", 14, ("outputs",))])
def test_steps(neap, kind, opset, options, tmp_path):
    """The state goes from one tile to the next; floats are equal, too."""
    original, cut, plan = tmp_path / "whole.onnx", tmp_path / "cut.onnx", tmp_path / "plan.json"
    over_time(original, kind, opset, options)
    words = ("--runtime", "onnxruntime", "--cascade", "auto")
    report = neap.plan(original, *words, "-o", cut, "--plan", plan)
    assert report["plan"]["arena_bytes"] < report["file_order"]["arena_bytes"]
    assert neap.run("check", original, plan).returncode == 0
    clones = [one for one in onnx.load(cut).graph.node if one.op_type == kind]
    assert len(clones) > 1
    onnx.checker.check_model(onnx.load(cut), full_check=True)
    before, after = Runs(original, tmp_path), Runs(cut, tmp_path)
    assert not same_bytes(before.outputs[1], before.outputs[2])
    for seed in SEEDS:
        assert same_bytes(before.outputs[seed], after.outputs[seed])


def head(path, form, per_channel):
    """A wide product of each row, and the largest of all rows: rows cannot be cut, columns can."""
    draw = numpy.random.default_rng([13, len(form), per_channel])
    rows, depth, width = (int(draw.integers(low, high)) for low, high in ((24, 60), (5, 30), (90, 200)))
    constants = []
    node = onnx.helper.make_node

    def constant(values):
        constants.append(onnx.numpy_helper.from_array(numpy.array(values), f"c{len(constants)}"))
        return constants[-1].name

    image = form.endswith("Conv")
    last = onnx.TensorProto.FLOAT if form == "MatMul" else onnx.TensorProto.INT8
    shape = [1, depth, rows, 3] if image else [rows, depth]
    out = [1, width, 1, 1] if image else [1, width]
    weights = draw.integers(-127, 128, (width, depth, 3, 3) if image else (depth, width)).astype(numpy.int8)
    scales = draw.uniform(0.002, 0.01, width).astype(numpy.float32) if per_channel else numpy.float32(0.01)
    zeros = numpy.zeros(scales.shape, numpy.int8)
    x_scale, x_zero = constant(numpy.float32(0.02)), constant(numpy.int8(3))
    y_scale = constant(numpy.float32(0.03 * (depth * (9 if image else 1)) ** 0.5))
    y_zero = constant(numpy.int8(-4))
    pads = {"pads": [1, 1, 1, 1]} if image else {}
    if form == "MatMul":
        wide = "wide"
        nodes = [node("MatMul", ["x", constant(weights.astype(numpy.float32) / 64)], [wide])]
    elif form.startswith("QLinear"):
        wide = "wide"
        nodes = [node(form, ["x", x_scale, x_zero, constant(weights), constant(scales), constant(zeros), y_scale,
                             y_zero], [wide], **pads)]
    else:
        wide = "quantised"
        nodes = [
            node("DequantizeLinear", ["x", x_scale, x_zero], ["real"]),
            node("DequantizeLinear", [constant(weights), constant(scales), constant(zeros)], ["filters"],
                 axis=0 if image else 1),
            node(form, ["real", "filters"], ["wide"], **pads),
            node("QuantizeLinear", ["wide", y_scale, y_zero], [wide])]
    if image:
        nodes.append(node("MaxPool", [wide], ["y"], kernel_shape=[rows, 3]))
    else:
        nodes.append(node("ReduceMax", [wide], ["y"], axes=[0], keepdims=1))
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(nodes, "head", [value("x", last, shape)], [value("y", last, out)], constants)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), path)
    return rows * width * (3 if image else 1)


@pytest.mark.parametrize(("form", "per_channel"), [
    ("MatMul", False), ("QLinearMatMul", False), ("QLinearMatMul", True), ("QLinearConv", True),
    ("QLinearConv", False), ("Gemm", True), ("Gemm", False)])
def test_columns(neap, form, per_channel, tmp_path):
    """Each tile has some columns of the weights; the bytes are equal, of floats, too."""
    original, cut, plan = tmp_path / "whole.onnx", tmp_path / "cut.onnx", tmp_path / "plan.json"
    wide = head(original, form, per_channel)
    words = ("--runtime", "onnxruntime", "--cascade", "auto")
    report = neap.plan(original, *words, "-o", cut, "--plan", plan)
    # The wide tensor is not there as a whole.
    assert report["plan"]["arena_bytes"] < report["file_order"]["arena_bytes"] - wide // 2
    # A budget alone starts the same search.
    arena = report["plan"]["arena_bytes"]
    within = neap.plan(original, "--runtime", "onnxruntime", "--budget", str(arena))
    assert within["plan"]["arena_bytes"] <= arena
    assert neap.run("check", original, plan).returncode == 0
    model = onnx.load(cut)
    assert sum(one.op_type == form for one in model.graph.node) > 1
    onnx.checker.check_model(model, full_check=True)
    # No weights twice.
    assert cut.stat().st_size < 1.5 * original.stat().st_size + 600 * len(model.graph.node)
    before, after = Runs(original, tmp_path), Runs(cut, tmp_path)
    assert not same_bytes(before.outputs[1], before.outputs[2])
    for seed in SEEDS:
        assert same_bytes(before.outputs[seed], after.outputs[seed])


def padded(path, mode, opset):
    """A wide window on an image whose borders repeat it."""
    draw = numpy.random.default_rng([17, len(mode), opset])
    constants = [onnx.numpy_helper.from_array(draw.normal(size=(16, 3, 1, 1)).astype(numpy.float32), "w")]
    pads = [0, 0, 3, 2, 0, 0, 2, 3]
    node = onnx.helper.make_node
    if opset < 11:
        pad = node("Pad", ["x"], ["bordered"], pads=pads, mode=mode)
    else:
        constants.append(onnx.numpy_helper.from_array(numpy.array(pads), "pads"))
        pad = node("Pad", ["x", "pads"], ["bordered"], mode=mode)
    nodes = [pad, node("Conv", ["bordered", "w"], ["wide"]), node("Relu", ["wide"], ["cut"]),
             node("MaxPool", ["cut"], ["y"], kernel_shape=[6, 6], strides=[3, 3])]
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        nodes, "padded", [value("x", onnx.TensorProto.FLOAT, [1, 3, 40, 40])],
        [value("y", onnx.TensorProto.FLOAT, [1, 16, 14, 14])], constants)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=8), path)


@pytest.mark.parametrize(("mode", "opset"), [("reflect", 9), ("edge", 11), ("reflect", 17), ("edge", 18),
                                             ("wrap", 19)])
def test_pad(neap, mode, opset, tmp_path):
    original, cut = tmp_path / "whole.onnx", tmp_path / "cut.onnx"
    padded(original, mode, opset)
    whole = neap.plan(original, "--runtime", "onnxruntime")
    report = neap.plan(original, "--runtime", "onnxruntime", "--cascade", "auto", "-o", cut)
    assert report["plan"]["arena_bytes"] < whole["plan"]["arena_bytes"]
    kinds = [one.op_type for one in onnx.load(cut).graph.node]
    # A tile at a border that wraps would need all rows.
    assert mode == "wrap" or kinds.count("Pad") > 1
    before, after = Runs(original, tmp_path), Runs(cut, tmp_path)
    assert not same_bytes(before.outputs[1], before.outputs[2])
    for seed in SEEDS:
        for one, tiled in zip(before.outputs[seed], after.outputs[seed]):
            assert float(numpy.abs(one - tiled).max() / numpy.abs(one).max()) < FLOAT_TOLERANCE


# ResNet-8 has three blocks with a way round each, two of them through a convolution of its own.
BRANCHED = "resnet8"
BATCH = 32


@pytest.mark.parametrize("kind, network", [("float", "mobilenet-v2"), ("integer", "mobilenet-v2"),
                                           ("float", BRANCHED), ("integer", BRANCHED)])
def test_front(neap, kind, network, request, table, tmp_path):
    original = tmp_path / "whole.onnx"
    long = request.config.getoption("--long")
    assert neap.run("zoo", network, *words_for(network, long), "-o", original).returncode == 0
    if network == BRANCHED:
        in_batches(original, tmp_path / "batched.onnx")
        original = tmp_path / "batched.onnx"
    if kind == "integer":
        quantised(original, tmp_path / "integer.onnx")
        original = tmp_path / "integer.onnx"
    plain = tmp_path / "plain.onnx"
    uncut = neap.plan(original, "--runtime", "onnxruntime", "-o", plain, "--rewrite", "none")
    before = Runs(plain, tmp_path)
    first, second = (before.outputs[seed] for seed in SEEDS)
    assert not same_bytes(first, second), "inputs do not tell outputs apart"
    title = "ONNX Runtime: arena of the plan; measured beside the model's inputs, and with reuse of tensors"
    table(title, f"{network}, {kind}, 0: not cut: plan {uncut['plan']['arena_bytes']}, measured "
                 f"{before.measured}, {before.with_reuse}")
    measured = []
    forks = 0
    for number, budget in enumerate(budgets_of(neap, original, long)):
        cut = tmp_path / f"cut{number}.onnx"
        report = neap.plan(original, "--runtime", "onnxruntime", "--cascade", "auto", *budget,
                           "-o", cut, timeout=1200)
        assert report["cascade"]["stripes"] > 0
        assert report["plan"]["arena_bytes"] < uncut["plan"]["arena_bytes"]
        forks = max(forks, len(forks_inside(original, report["cascade"]["regions"])))
        if budget:
            assert report["plan"]["arena_bytes"] <= budget[1]
        after = Runs(cut, tmp_path)
        worst = 0.0
        for seed in SEEDS:
            if kind == "integer":
                assert same_bytes(before.outputs[seed], after.outputs[seed])
                continue
            for whole, tiled in zip(before.outputs[seed], after.outputs[seed]):
                worst = max(worst, float(numpy.abs(whole - tiled).max() / numpy.abs(whole).max()))
        assert worst < FLOAT_TOLERANCE
        measured.append(after.measured)
        table(title, f"{network}, {kind}, {number + 1}: plan {report['plan']['arena_bytes']}, "
                     f"measured {after.measured}, {after.with_reuse}, MACs x {report['cascade']['macs_ratio']:.3f}, "
                     f"tiles {report['cascade']['stripes']}, largest difference {worst:.1e}")
    assert network != BRANCHED or forks > 1
    # The runtime's own memory exceeds that of a small network.
    if uncut["plan"]["arena_bytes"] - report["plan"]["arena_bytes"] > 2 * ELSEWHERE:
        assert measured[-1] < before.measured - ELSEWHERE
