# SPDX-License-Identifier: Apache-2.0
"""Operators that Neap adds to .onnx files are of the file's operator set: generated networks of versions 7 to 21 in tiles
under ONNX Runtime, and the networks of ../shared/models of old versions."""

import pytest

numpy = pytest.importorskip("numpy", reason="no wheel of numpy")
onnx = pytest.importorskip("onnx", reason="no wheel of onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="no wheel of onnxruntime")

from conftest import SHARED, shared_files  # noqa: E402
from tensors import random_tensor  # noqa: E402

VERSIONS = range(7, 22)
SEEDS = (1, 2, 3)
# Largest difference of floats, of the largest output: kernels choose the order of sums by sizes.
FLOAT_TOLERANCE = 1e-4
LIGHT = [file for file in shared_files("models", ".onnx") if "/light_" in file]


def made(version):
    """Convolutions on a large image and a fork."""
    draw = numpy.random.default_rng(version)
    shapes = {"w1": (16, 3, 3, 3), "w2": (16, 16, 3, 3), "w3": (4, 16, 1, 1)}
    weights = {name: draw.normal(size=shape).astype(numpy.float32) * .1 for name, shape in shapes.items()}
    node = onnx.helper.make_node
    nodes = [
        node("Conv", ["x", "w1"], ["a"], "conv1", pads=[1, 1, 1, 1], kernel_shape=[3, 3]),
        node("Relu", ["a"], ["b"], "relu1"),
        node("Conv", ["b", "w2"], ["c"], "conv2", pads=[1, 1, 1, 1], kernel_shape=[3, 3]),
        node("Add", ["b", "c"], ["d"], "add"),
        node("Conv", ["d", "w3"], ["e"], "conv3", kernel_shape=[1, 1]),
        node("MaxPool", ["e"], ["y"], "pool", kernel_shape=[4, 4], strides=[4, 4]),
    ]
    ends = {"x": (1, 3, 32, 32), "y": (1, 4, 8, 8)}
    infos = {name: onnx.helper.make_tensor_value_info(name, 1, shape) for name, shape in
             {**ends, **shapes}.items()}
    # Before version 4 of the format weights are inputs, too.
    ir_version = 3 if version < 9 else 8 if version < 19 else 9
    inputs = [infos["x"], *(infos[name] for name in shapes if ir_version == 3)]
    graph = onnx.helper.make_graph(
        nodes, "made", inputs, [infos["y"]],
        [onnx.numpy_helper.from_array(array, name) for name, array in weights.items()])
    return onnx.helper.make_model(graph, ir_version=ir_version,
                                  opset_imports=[onnx.helper.make_opsetid("", version)])


def outputs_of(path):
    """Of every seed, in the order of the file."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    kinds = {"tensor(float)": numpy.float32, "tensor(int64)": numpy.int64}
    results = []
    for seed in SEEDS:
        inputs = {given.name: random_tensor(given.shape, kinds[given.type], seed, index)
                  for index, given in enumerate(session.get_inputs())}
        results.append(session.run(None, inputs))
    return results


def assert_same(before, after, varied=True):
    for left, right in zip(before, after):
        for a, b in zip(left, right):
            assert a.shape == b.shape
            assert numpy.abs(a - b).max() <= FLOAT_TOLERANCE * max(numpy.abs(a).max(), 1e-6)
    assert not varied or any((a != b).any() for a, b in zip(before[0], before[1])), "inputs make no difference"


@pytest.mark.parametrize("version", VERSIONS)
def test_tiles_are_of_the_version(version, neap, tmp_path):
    onnx.save(made(version), tmp_path / "in.onnx")
    report = neap.plan(tmp_path / "in.onnx", "--runtime", "onnxruntime", "--cascade", "auto",
                       "--max-states", "20000", "-o", tmp_path / "out.onnx")
    assert report["cascade"]["stripes"] > 1
    model = onnx.load(tmp_path / "out.onnx")
    onnx.checker.check_model(model)
    slices = [node for node in model.graph.node if node.op_type == "Slice"]
    assert slices
    for node in slices:
        assert (len(node.input) == 1) == (version < 10)
        assert {field.name for field in node.attribute} == ({"starts", "ends"} if version < 10 else set())
    assert_same(outputs_of(tmp_path / "in.onnx"), outputs_of(tmp_path / "out.onnx"))


@pytest.mark.parametrize("version", (7, 9, 10, 13, 21))
def test_rewrites_are_of_the_version(version, neap, tmp_path):
    """Convolutions over a concatenation become sums, their channels pieces."""
    draw = numpy.random.default_rng(version)
    shapes = {"w1": (16, 4, 1, 1), "w2": (16, 4, 1, 1), "w3": (4, 32, 1, 1), "w4": (32, 1, 3, 3)}
    node = onnx.helper.make_node
    graph = onnx.helper.make_graph([
        node("Conv", ["x", "w1"], ["a"], "conv1"),
        node("Conv", ["x", "w2"], ["b"], "conv2"),
        node("Concat", ["a", "b"], ["c"], "concat", axis=1),
        node("Conv", ["c", "w4"], ["d"], "depthwise", group=32, pads=[1, 1, 1, 1]),
        node("Relu", ["d"], ["e"], "relu"),
        node("Conv", ["e", "w3"], ["y"], "conv3"),
    ], "made", [onnx.helper.make_tensor_value_info("x", 1, (1, 4, 16, 16))],
        [onnx.helper.make_tensor_value_info("y", 1, (1, 4, 16, 16))],
        [onnx.numpy_helper.from_array(draw.normal(size=shape).astype(numpy.float32), name)
         for name, shape in shapes.items()])
    model = onnx.helper.make_model(graph, ir_version=8,
                                   opset_imports=[onnx.helper.make_opsetid("", version)])
    onnx.save(model, tmp_path / "in.onnx")
    report = neap.plan(tmp_path / "in.onnx", "--runtime", "onnxruntime", "--rewrite", "reassociate",
                       "-o", tmp_path / "out.onnx")
    assert report["rewrites"]
    onnx.checker.check_model(onnx.load(tmp_path / "out.onnx"))
    assert_same(outputs_of(tmp_path / "in.onnx"), outputs_of(tmp_path / "out.onnx"))


@pytest.mark.parametrize("model", LIGHT or [pytest.param("", marks=pytest.mark.skip(f"no models in {SHARED}"))])
def test_old_networks_in_tiles(model, neap, tmp_path, request):
    """Of the short form the smallest one."""
    if not request.config.getoption("--long") and "squeezenet" not in model:
        pytest.skip("only with --long")
    report = neap.plan(SHARED / "models" / model, "--runtime", "onnxruntime", "--cascade", "auto",
                       "-o", tmp_path / "out.onnx", timeout=900)
    cut = report["cascade"]["stripes"] > 0
    gains = report["plan"]["arena_bytes"] < report["cascade"]["uncut"]["arena_bytes"]
    assert cut == gains, "cut without a gain"
    # All weights of these files are equal: so are the outputs, for every input.
    assert_same(outputs_of(SHARED / "models" / model), outputs_of(tmp_path / "out.onnx"), varied=False)


def test_shapes_that_are_computed_from_activations(neap, tmp_path):
    """Shape of an activation is known before the run, but its node follows the producer of its input."""
    model = made(13)
    graph = model.graph
    node = onnx.helper.make_node
    # The batch and all else, as exporters of PyTorch write a flattening.
    graph.node.extend([
        node("Shape", ["y"], ["shape"], "shape"),
        node("Gather", ["shape", "zero"], ["batch"], "batch", axis=0),
        node("Concat", ["batch", "rest"], ["flat"], "flat", axis=0),
        node("Reshape", ["y", "flat"], ["z"], "reshape"),
        # Read before the region is through.
        node("Shape", ["b"], ["inner"], "inner"),
        node("Gather", ["inner", "zero"], ["one"], "one", axis=0),
        node("Cast", ["one"], ["factor"], "cast", to=1),
        node("Mul", ["z", "factor"], ["scaled"], "mul"),
    ])
    for name, values in (("zero", [0]), ("rest", [-1])):
        graph.initializer.append(onnx.numpy_helper.from_array(numpy.array(values, numpy.int64), name))
    del graph.output[:]
    graph.output.append(onnx.helper.make_tensor_value_info("scaled", 1, (1, 256)))
    onnx.save(model, tmp_path / "in.onnx")
    report = neap.plan(tmp_path / "in.onnx", "--runtime", "onnxruntime", "--cascade", "auto",
                       "--max-states", "20000", "-o", tmp_path / "out.onnx")
    assert report["cascade"]["stripes"] > 1
    assert_same(outputs_of(tmp_path / "in.onnx"), outputs_of(tmp_path / "out.onnx"))


def test_attributes_that_are_tensors_are_copied(neap, tmp_path):
    """Operators of vendors have tensors as attributes: tiles keep their type and shape."""
    model = made(13)
    graph = model.graph
    for index, dims in ((1, ()), (3, (1,))):
        relu = graph.node[index]
        if relu.op_type != "Relu":
            continue
        relu.op_type, relu.domain = "RequantShift", "PACTOps"
        relu.input.extend(["mul", "add"])
        for name in ("div", "n_levels_out", "signed"):
            relu.attribute.append(onnx.helper.make_attribute(
                name, onnx.helper.make_tensor(name, 1, dims, [float({"div": 256, "signed": 0}.get(name, 256))])))
    for name in ("mul", "add"):
        graph.initializer.append(onnx.numpy_helper.from_array(numpy.ones((1, 16, 1, 1), numpy.float32), name))
    model.opset_import.append(onnx.helper.make_opsetid("PACTOps", 1))
    onnx.save(model, tmp_path / "in.onnx")
    report = neap.plan(tmp_path / "in.onnx", "--cascade", "auto", "-o", tmp_path / "out.onnx")
    assert report["cascade"]["stripes"] > 1
    given = {field.name: field for node in graph.node if node.domain == "PACTOps" for field in node.attribute}
    copies = [node for node in onnx.load(tmp_path / "out.onnx").graph.node if node.domain == "PACTOps"]
    assert len(copies) > 1
    for node in copies:
        assert {field.name: field for field in node.attribute} == given
