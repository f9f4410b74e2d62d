# SPDX-License-Identifier: Apache-2.0
"""The comparisons and the table of scripts/conformance: tolerances, operators one by one, the table."""

import pytest

numpy = pytest.importorskip("numpy", reason="no wheel of numpy")
onnx = pytest.importorskip("onnx", reason="no wheel of onnx")

import onnx.reference  # noqa: E402

import apart  # noqa: E402
from every_plan import compared, tolerance_of  # noqa: E402
from plan_table import Row, Table  # noqa: E402

WAYS = ["default", "tiles", "neap"]
RESNET, LSTM, MLP = ("a/resnet.onnx", "b/lstm.tflite", "c/mlp.onnx")
ROWS = [
    Row(RESNET, "default", "onnxruntime", "equal", ""),
    Row(RESNET, "tiles", "-", "failed", "plan takes longer than 3 s | of <time>"),
    Row(RESNET, "neap", "neap", "equal", ""),
    Row(RESNET, "neap", "neap beside onnxruntime", "wrong", "differs by 2.0e-01"),
    Row(LSTM, "default", "tflm", "equal", ""),
    Row(LSTM, "tiles", "tflm", "refused", "status 1: no (such) kernel"),
    Row(MLP, "default", "-", "not applicable", "tensor #0: has no shape"),
    Row(MLP, "tiles", "-", "not applicable", "tensor #0: has no shape"),
]


def table_of(rows):
    table = Table(WAYS, ["Explained."])
    table.add(rows, sorted({row.model for row in rows}))
    return table


def test_a_table_is_read_as_it_was_written():
    text = table_of(ROWS).markdown()
    table = Table(WAYS, ["Explained."])
    table.read(text)
    assert table.markdown() == text
    with pytest.raises(ValueError, match="counts 2 of"):
        Table(WAYS, []).read(text.replace("| 1 |", "| 2 |"))


def test_rows_of_some_models_are_replaced():
    again = [
        Row(RESNET, "default", "onnxruntime", "within tolerance", "differs by 1.0e-07"),
        Row(RESNET, "tiles", "onnxruntime", "equal", ""),
        Row(RESNET, "neap", "neap", "equal", ""),
        Row(RESNET, "neap", "neap beside onnxruntime", "equal", ""),
        Row(LSTM, "default", "tflm", "equal", ""),
        Row(LSTM, "tiles", "tflm", "equal", ""),
    ]
    table = Table(WAYS, ["Explained."])
    table.read(table_of(ROWS).markdown())
    table.replace(again)
    assert table.markdown() == table_of(again + [row for row in ROWS if row.model == MLP]).markdown()
    with pytest.raises(ValueError, match="other runtimes"):
        table.replace([Row(LSTM, "neap", "litert", "equal", "")])


def test_the_tolerance_is_one_unit_in_the_last_place_where_a_type_resolves_less():
    def verdict(dtype, ours, theirs):
        return compared([[numpy.array([ours], dtype)]], [[numpy.array([theirs], dtype)]], True)[0]

    unit = 2.0**-10
    assert tolerance_of(numpy.float32, 1.0) == 1e-4
    assert tolerance_of(numpy.float16, 1.0) == tolerance_of(numpy.float16, 1.9) == unit
    assert verdict(numpy.float16, 1.0, 1.0) == "equal"
    assert verdict(numpy.float16, 1.0 + unit, 1.0) == "within tolerance"
    assert verdict(numpy.float16, 1.0 + 2 * unit, 1.0) == "wrong"
    assert verdict(numpy.float32, 1.0 + unit, 1.0) == "wrong"
    assert verdict(numpy.int8, 1, 2) == "wrong"


def test_operators_apart_read_what_others_computed(tmp_path):
    helper, dense = onnx.helper, numpy.array([[1.0, 2.0], [3.0, 4.0]], numpy.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["product"]),
         helper.make_node("QuantizeLinear", ["product", "scale", "zero"], ["steps"]),
         helper.make_node("DequantizeLinear", ["steps", "scale", "zero"], ["y"])],
        "g", [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 2])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 2])],
        [onnx.numpy_helper.from_array(dense, "w"),
         onnx.numpy_helper.from_array(numpy.array(0.5, numpy.float32), "scale"),
         onnx.numpy_helper.from_array(numpy.array(0, numpy.uint8), "zero")])
    given = tmp_path / "given.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)]), str(given))
    assert apart.has_steps(given)
    assert apart.inputs_of(given) == ["x"]
    assert apart.with_all_tensors(given, tmp_path / "every.onnx") == ["y", "product", "steps"]
    onnx.checker.check_model(str(tmp_path / "every.onnx"), full_check=True)
    arrays = {"x": dense[:1], "product": dense[1:], "steps": numpy.array([[7, 9]], numpy.uint8), "y": dense[:1]}
    inputs, outputs = apart.cut_apart(given, arrays, tmp_path / "alone.onnx")
    assert (inputs, outputs) == (["x", "product", "steps"], ["product", "steps", "y"])
    onnx.checker.check_model(str(tmp_path / "alone.onnx"), full_check=True)
    alone = onnx.reference.ReferenceEvaluator(str(tmp_path / "alone.onnx"))
    product, steps, y = alone.run(None, {name: arrays[name] for name in inputs})
    assert product.tolist() == [[7, 10]]
    assert steps.tolist() == [[6, 8]]
    assert y.tolist() == [[3.5, 4.5]]
