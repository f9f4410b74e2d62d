# SPDX-License-Identifier: Apache-2.0
"""neap run on TFLite_Detection_PostProcess beside LiteRT: every detection that it reports."""

import numpy
import pytest

from test_execute import outputs_of, stock

BOXES, CLASSES, MOST = 40, 5, 12


def network(dtype, regular, each, background, shapes):
    pytest.importorskip("tflite_micro", reason="no wheel of tflite_micro")
    from flatbuffers import flexbuffers

    from made_models import Maker, schema
    maker = Maker()
    draw = numpy.random.default_rng([BOXES, regular, each])

    def given(shape, scale, zero, data=None):
        index = maker.tensor(shape, data if dtype == "float32" else None)
        if dtype == "uint8" and data is not None:
            buffer = schema.BufferT()
            buffer.data = numpy.round(data / scale).astype(numpy.uint8).reshape(-1)
            maker.model.buffers.append(buffer)
            maker.main.tensors[index].buffer = len(maker.model.buffers) - 1
        if dtype == "uint8":
            tensor = maker.main.tensors[index]
            tensor.type = schema.TensorType.UINT8
            tensor.quantization = schema.QuantizationParametersT()
            tensor.quantization.scale, tensor.quantization.zeroPoint = [scale], [zero]
        return index

    maker.main.inputs = [given([1, BOXES, 4], 0.06, 128), given([1, BOXES, CLASSES + background], 1 / 255, 0)]
    places = MOST * each
    anchors = numpy.concatenate([draw.uniform(0, 1, (BOXES, 2)), draw.uniform(0.1, 0.5, (BOXES, 2))], 1)
    # Converters leave the shapes to the runtime.
    maker.main.outputs = [maker.tensor(shape if shapes else []) for shape in
                          ([1, places, 4], [1, places], [1, places], [1])]
    maker.operator(schema.BuiltinOperator.CUSTOM, [*maker.main.inputs, given([BOXES, 4], 0.01, 0, anchors)],
                   maker.main.outputs)
    maker.model.operatorCodes[0].customCode = "TFLite_Detection_PostProcess"
    options = flexbuffers.Dumps({
        "max_detections": MOST, "max_classes_per_detection": each, "detections_per_class": 4,
        "use_regular_nms": regular, "nms_score_threshold": 0.3, "nms_iou_threshold": 0.35,
        "num_classes": CLASSES, "y_scale": 10.0, "x_scale": 10.0, "h_scale": 5.0, "w_scale": 5.0})
    maker.main.operators[0].customOptions = numpy.frombuffer(bytes(options), numpy.uint8)
    return maker.bytes()


@pytest.mark.parametrize("dtype", ["float32", "uint8"])
@pytest.mark.parametrize("regular", [False, True])
def test_detections(neap, dtype, regular, table, tmp_path):
    pytest.importorskip("ai_edge_litert")
    compared = 0
    for each in (1, 3):
        for background in (0, 1):
            path = tmp_path / f"{each}-{background}.tflite"
            path.write_bytes(network(dtype, regular, each, background, shapes=background == 0))
            runs = stock("litert", path, tmp_path, range(1, 9))
            assert runs is not None
            for inputs, (boxes, classes, scores, count) in runs.values():
                ours, why = outputs_of(neap, path, inputs, tmp_path)
                assert ours is not None, why
                assert [mine.shape for mine in ours] == [other.shape for other in (boxes, classes, scores, count)]
                found = int(count[0])
                assert ours[3][0] == found
                # The fast form counts boxes, with a place for each of their classes.
                places = found * (1 if regular else each)
                # Equal scores of one box are in no defined order in LiteRT.
                tied = dtype == "uint8" and each > 1 and not regular
                for mine, other in zip(ours, (boxes, None if tied else classes, scores)):
                    assert other is None or numpy.array_equal(mine[0, :places], other[0, :places])
                compared += places
    assert compared > 40
    table("detections compared with LiteRT", f"{dtype}, {'regular' if regular else 'fast'}: {compared}")
