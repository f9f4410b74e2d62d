# SPDX-License-Identifier: Apache-2.0
"""neap run on ONNX models: operator vectors, golden outputs, ONNX Runtime."""

import numpy
import pytest

from conftest import SHARED, one_in, shared_files
from test_execute import SECONDS, outputs_of
from tensors import random_tensor

onnx = pytest.importorskip("onnx", reason="no wheel of onnx")

NODES = sorted({file.split("/")[0] for file in shared_files("onnx_node_tests", ".onnx")})
GRAPHS = shared_files("graphs", ".onnx")
DEEPLOY = "models/pulp-platform+Deeploy"
GOLDEN = [file.removesuffix(".inputs.npz") for file in shared_files(DEEPLOY, ".npz")
          if file.endswith(".inputs.npz")]
# The operators that neap run refuses by name, and why.
REFUSED_NODES = {
    "test_identity_sequence": "sequences have no bytes",
    "test_if": "control flow",
    "test_loop11": "control flow",
}
# The vector's int8 output wraps around where the operator's text and ONNX Runtime saturate.
WRONG_NODES = {"test_qlinearmatmul_2D_int8_float32": (1, 2)}
# Version 10 of Softmax without an axis takes all dimensions from the first on together; these
# outputs were made along the last one.
LAST_AXIS_SOFTMAX = {"microLlama1_fp32"}
# The bounds that the ONNX project gives its own vectors.
RELATIVE, ABSOLUTE = 1e-3, 1e-7


def pytest_generate_tests(metafunc):
    lists = {"node": NODES, "graph": GRAPHS, "golden": GOLDEN}
    for name, files in lists.items():
        if name in metafunc.fixturenames:
            short = not metafunc.config.getoption("--long")
            chosen = one_in(6, files) if short and name == "graph" else files
            metafunc.parametrize(name, chosen or [
                pytest.param("", marks=pytest.mark.skip(f"no files in {SHARED}"))])


def tensor_of(path):
    proto = onnx.TensorProto()
    proto.ParseFromString(path.read_bytes())
    return onnx.numpy_helper.to_array(proto)


def as_bytes(array):
    """Four-bit integers as bytes, as neap reads and writes them."""
    if array.dtype.itemsize == 1 and array.dtype.kind not in "iub":
        return array.astype(numpy.int8 if "u" not in str(array.dtype) else numpy.uint8)
    return array


def test_node(neap, node, tmp_path):
    folder = SHARED / "onnx_node_tests" / node
    data = folder / "test_data_set_0"
    count = len(list(data.glob("input_*.pb")))
    if node in REFUSED_NODES:
        result = neap.run("run", folder / "model.onnx")
        assert result.returncode == 1 and b"internal error" not in result.stderr
        return
    inputs = [as_bytes(tensor_of(data / f"input_{i}.pb")) for i in range(count)]
    ours, why = outputs_of(neap, folder / "model.onnx", inputs, tmp_path)
    assert ours is not None, why
    expected = [as_bytes(tensor_of(data / f"output_{i}.pb")) for i in range(len(ours))]
    for a, b in zip(ours, expected):
        assert a.shape == b.shape
        if node in WRONG_NODES:
            b = b.copy()
            b[WRONG_NODES[node]] = a[WRONG_NODES[node]]
        if b.dtype.kind == "f":
            numpy.testing.assert_allclose(a, b, rtol=RELATIVE, atol=ABSOLUTE)
        else:
            numpy.testing.assert_array_equal(a, b)


def test_golden(neap, golden, tmp_path):
    path = SHARED / DEEPLOY / f"{golden}.onnx"
    with numpy.load(SHARED / DEEPLOY / f"{golden}.inputs.npz") as arrays:
        inputs = [arrays[name].astype(numpy.float32) for name in arrays.files]
    with numpy.load(SHARED / DEEPLOY / f"{golden}.outputs.npz") as arrays:
        expected = [arrays[name] for name in arrays.files]
    if golden in LAST_AXIS_SOFTMAX:
        model = onnx.load(path)
        for one in model.graph.node:
            if one.op_type == "Softmax":
                one.attribute.append(onnx.helper.make_attribute("axis", -1))
        path = tmp_path / path.name
        onnx.save(model, path)
    ours, why = outputs_of(neap, path, inputs, tmp_path)
    assert ours is not None, why
    for a, b in zip(ours, expected):
        if b.dtype.kind == "f":
            numpy.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
        else:
            numpy.testing.assert_array_equal(a.astype(numpy.int64), b)


def shapes_of(graph):
    return {value.name: [d.dim_value for d in value.type.tensor_type.shape.dim]
            for values in (graph.value_info, graph.input, graph.output) for value in values}


def mend(model):
    """The files keep the shapes but not all attributes: without these an operator would give other
    shapes than the file declares, or not exist. The function adds the attributes for the declared shapes."""
    shapes = shapes_of(model.graph)
    for node in model.graph.node:
        names = {attribute.name: attribute for attribute in node.attribute}
        given, made = shapes.get(node.input[0]), shapes.get(node.output[0])
        if node.op_type in ("Conv", "MaxPool", "AveragePool") and not names.keys() & {"pads", "auto_pad"}:
            strides = list(names["strides"].ints) if "strides" in names else [1, 1]
            window = list(names["kernel_shape"].ints) if "kernel_shape" in names else [2, 2]
            unpadded = [(a - k) // s + 1 for a, k, s in zip(given[2:], window, strides)]
            same = [-(-a // s) for a, s in zip(given[2:], strides)]
            if made[2:] == same != unpadded:
                node.attribute.append(onnx.helper.make_attribute("auto_pad", "SAME_UPPER"))
        elif node.op_type == "Pad" and "pads" not in names and len(node.input) == 1:
            behind = [b - a for a, b in zip(given, made)]
            node.attribute.append(onnx.helper.make_attribute("pads", [0] * len(given) + behind))
        elif node.op_type == "Slice" and len(node.input) == 1:
            starts = numpy.array([a - b for a, b in zip(given, made)], numpy.int64)
            for name, values in (("starts", starts), ("ends", numpy.array(given, numpy.int64))):
                tensor = onnx.numpy_helper.from_array(values, f"{node.name}_{name}")
                model.graph.initializer.append(tensor)
                node.input.append(tensor.name)


def with_weights(path, copy):
    """The file has none: seeded ones, small enough that values stay finite."""
    draw = numpy.random.default_rng(7)
    model = onnx.load(path, load_external_data=False)
    mend(model)
    for constant in model.graph.initializer:
        if constant.data_type == onnx.TensorProto.FLOAT and not constant.float_data:
            fan_in = max(int(numpy.prod(constant.dims[1:])), 1)
            values = draw.uniform(0.5, 1, constant.dims) if len(constant.dims) == 1 else \
                draw.normal(0, fan_in ** -0.5, constant.dims)
            constant.ClearField("raw_data")
            constant.raw_data = values.astype(numpy.float32).tobytes()
    onnx.save(model, copy)
    return copy


def test_graph(neap, graph, tmp_path, table):
    runtime = pytest.importorskip("onnxruntime", reason="no wheel of onnxruntime")
    path = with_weights(SHARED / "graphs" / graph, tmp_path / "model.onnx")
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    given = session.get_inputs()
    inputs = [random_tensor(one.shape, numpy.float32, 1, i) for i, one in enumerate(given)]
    theirs = session.run(None, {one.name: value for one, value in zip(given, inputs)})
    ours, why = outputs_of(neap, path, inputs, tmp_path)
    assert ours is not None, why
    for a, b in zip(ours, theirs):
        scale = max(float(numpy.max(numpy.abs(b))), 1e-30)
        worst = float(numpy.max(numpy.abs(a - b))) / scale
        table("largest difference to ONNX Runtime", f"{graph}: {worst:.1e}")
        assert worst <= 1e-4


@pytest.mark.parametrize("seed", range(12))
def test_rnn(neap, seed, tmp_path):
    """RNN of random sizes, activations and directions, with and without bias and initial state."""
    runtime = pytest.importorskip("onnxruntime", reason="no wheel of onnxruntime")
    draw = numpy.random.default_rng([13, seed])
    steps, batch, width, hidden = (int(draw.integers(1, high)) for high in (12, 4, 9, 9))
    direction = ("forward", "reverse", "bidirectional")[seed % 3]
    directions = 2 if direction == "bidirectional" else 1
    constants = []

    def weights(*shape):
        name = f"w{len(constants)}"
        constants.append(onnx.numpy_helper.from_array(draw.uniform(-1, 1, shape).astype(numpy.float32), name))
        return name

    inputs = ["x", weights(directions, hidden, width), weights(directions, hidden, hidden)]
    if seed % 2:
        inputs += [weights(directions, 2 * hidden), "", weights(directions, batch, hidden)]
    names = [str(name) for name in draw.choice(["Tanh", "Relu", "Sigmoid"], directions)]
    given = {"activations": names} if seed > 2 else {}
    node = onnx.helper.make_node("RNN", inputs, ["y", "h"], hidden_size=hidden, direction=direction, **given)
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [node], "rnn", [value("x", onnx.TensorProto.FLOAT, [steps, batch, width])],
        [value("y", onnx.TensorProto.FLOAT, [steps, directions, batch, hidden]),
         value("h", onnx.TensorProto.FLOAT, [directions, batch, hidden])], constants)
    path = tmp_path / "rnn.onnx"
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), path)
    source = random_tensor([steps, batch, width], numpy.float32, seed, 0)
    theirs = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(None, {"x": source})
    ours, why = outputs_of(neap, path, [source], tmp_path)
    assert ours is not None, why
    for a, b in zip(ours, theirs):
        assert a.shape == b.shape
        assert numpy.allclose(a, b, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("network", ["randwire-ws", "darts-cifar"])
def test_zoo(neap, network, tmp_path, table):
    """Networks with seeded weights, which ONNX Runtime runs as well."""
    runtime = pytest.importorskip("onnxruntime", reason="no wheel of onnxruntime")
    path = tmp_path / "zoo.onnx"
    made = neap.run("zoo", network, "--width", "8", "-o", path)
    assert made.returncode == 0, made.stderr
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    given = session.get_inputs()
    inputs = [random_tensor(one.shape, numpy.float32, 1, i) for i, one in enumerate(given)]
    theirs = session.run(None, {one.name: value for one, value in zip(given, inputs)})
    ours, why = outputs_of(neap, path, inputs, tmp_path)
    assert ours is not None, why
    for a, b in zip(ours, theirs):
        scale = max(float(numpy.max(numpy.abs(b))), 1e-30)
        worst = float(numpy.max(numpy.abs(a - b))) / scale
        table("largest difference to ONNX Runtime", f"{network}: {worst:.1e}")
        assert worst <= 1e-4
