# SPDX-License-Identifier: Apache-2.0
"""One small model for each kernel of TensorFlow Lite Micro, and for each type that decides what the
kernel allocates for itself: CASES maps a name to a function without arguments."""

import flatbuffers.flexbuffers
import numpy

import recurrent_models
from made_models import schema
from recurrent_models import RecurrentMaker

recurrent_models.TYPES.update(
    bool=schema.TensorType.BOOL, int64=schema.TensorType.INT64, uint8=schema.TensorType.UINT8,
    uint32=schema.TensorType.UINT32, uint64=schema.TensorType.UINT64)
BALLAST = 16384
CASES = {}


class KernelMaker(RecurrentMaker):
    """The operator under test runs first. A SLICE after it keeps BALLAST bytes live, so that neither
    loading nor another step needs more than the step under test."""

    def __init__(self):
        super().__init__(3)

    def value(self, dtype, shape, data=None, scales=None, variable=False):
        """A tensor; integers of 8 and 16 bits are quantised. `data`: a constant."""
        quantised = dtype in ("int8", "int16", "uint8") or scales
        index = self.typed(shape, dtype, None if data is None else numpy.asarray(data),
                           0.05 if quantised else None, variable=variable)
        if scales:
            self.main.tensors[index].quantization.scale = [0.01] * scales
            self.main.tensors[index].quantization.zeroPoint = [0] * scales
        return index

    def weights(self, dtype, shape, scales=None):
        return self.value(dtype, shape, numpy.ones(shape), scales)

    def packed(self, shape, scales=None):
        """Weights of four bits, two in a byte."""
        index = self.value("int8", [(int(numpy.prod(shape)) + 1) // 2],
                           numpy.zeros((int(numpy.prod(shape)) + 1) // 2), scales)
        self.main.tensors[index].type = schema.TensorType.INT4
        self.main.tensors[index].shape = list(shape)
        return index

    def ints(self, data, dtype="int32"):
        data = numpy.asarray(data, dtype)
        return self.value(dtype, data.shape, data)

    def under_test(self, code, inputs, outputs, options=None, custom=None, sources=None, **fields):
        """`inputs` and `outputs`: tensors; those that are not constants are the model's own."""
        kind, made = 0, None
        if options:
            made = getattr(schema, options + "OptionsT")()
            kind = getattr(schema.BuiltinOptions, options + "Options")
            for name, value in fields.items():
                assert hasattr(made, name), (options, name)
                setattr(made, name, value)
        if isinstance(code, str):
            entry = schema.OperatorCodeT()
            entry.builtinCode = entry.deprecatedBuiltinCode = schema.BuiltinOperator.CUSTOM
            entry.customCode, entry.version = code, 1
            self.codes[code] = len(self.model.operatorCodes)
            self.model.operatorCodes.append(entry)
        self.operator(code, inputs, outputs, kind, made)
        if custom is not None:
            self.main.operators[-1].customOptions = numpy.frombuffer(
                bytes(flatbuffers.flexbuffers.Dumps(custom)), numpy.uint8)
        ballast = self.value("int8", [BALLAST])
        one = self.value("int8", [1])
        self.operator(schema.BuiltinOperator.SLICE, [ballast, self.ints([0]), self.ints([1])], [one],
                      schema.BuiltinOptions.SliceOptions, schema.SliceOptionsT())
        tensors = self.main.tensors
        free = [i for i in dict.fromkeys(inputs) if i >= 0 and tensors[i].buffer == 0
                and not tensors[i].isVariable]
        self.main.inputs = (free if sources is None else sources) + [ballast]
        self.main.outputs = [*outputs, one]
        return self.bytes()


BUILTIN = schema.BuiltinOperator


def case(name, code, inputs, outputs, options=None, custom=None, **fields):
    """`inputs` and `outputs`: functions of a maker, or (dtype, shape)."""

    def make():
        maker = KernelMaker()

        def tensor(what):
            if what is None:
                return -1
            return what(maker) if callable(what) else maker.value(*what)

        return maker.under_test(code, [tensor(one) for one in inputs], [tensor(one) for one in outputs],
                                options, custom, **fields)

    assert name not in CASES, name
    CASES[name] = make


def weights(dtype, shape, scales=None):
    return lambda maker: maker.weights(dtype, shape, scales)


def ints(*data, dtype="int32"):
    return lambda maker: maker.ints(list(data), dtype)


def scalar(value, dtype="int32"):
    return lambda maker: maker.ints(value, dtype)


def state(dtype, shape):
    return lambda maker: maker.value(dtype, shape, variable=True)


def packed(shape, scales=None):
    return lambda maker: maker.packed(shape, scales)


def exact(dtype, shape, scale, zero):
    def make(maker):
        index = maker.value(dtype, shape)
        maker.main.tensors[index].quantization.scale = [scale]
        maker.main.tensors[index].quantization.zeroPoint = [zero]
        return index
    return make


def bias_of(dtype, size, scale=0.05 * 0.05):
    def make(maker):
        index = maker.weights(dtype, [size], 1)
        maker.main.tensors[index].quantization.scale = [scale]
        return index
    return make


SHAPE = [1, 4, 6, 8]
for code in ("ABS", "CEIL", "COS", "ELU", "EXP", "FLOOR", "HARD_SWISH", "LEAKY_RELU", "LOG", "LOGISTIC",
             "LOG_SOFTMAX", "NEG", "RELU", "RELU6", "ROUND", "RSQRT", "SIN", "SQRT", "SQUARE", "TANH",
             "ZEROS_LIKE", "L2_NORMALIZATION", "SOFTMAX", "QUANTIZE", "DEQUANTIZE"):
    own = {"LEAKY_RELU": "LeakyRelu", "L2_NORMALIZATION": "L2Norm", "SOFTMAX": "Softmax",
           "LOG_SOFTMAX": "LogSoftmax"}.get(code)
    made = {"beta": 1.0} if code == "SOFTMAX" else {}
    for dtype in ("float32", "int8", "int16"):
        target = {"QUANTIZE": "int8", "DEQUANTIZE": "float32"}.get(code, dtype)
        case(f"{code}-{dtype}", getattr(BUILTIN, code), [(dtype, SHAPE)], [(target, SHAPE)], own, **made)
case("SOFTMAX-int8-int16", BUILTIN.SOFTMAX, [("int8", SHAPE)], [("int16", SHAPE)], "Softmax", beta=1.0)
case("LOGICAL_NOT", BUILTIN.LOGICAL_NOT, [("bool", SHAPE)], [("bool", SHAPE)])
case("CAST", BUILTIN.CAST, [("int8", SHAPE)], [("float32", SHAPE)], "Cast")

for code, own in (("ADD", "Add"), ("SUB", "Sub"), ("MUL", "Mul"), ("DIV", "Div"), ("MAXIMUM", None),
                  ("MINIMUM", None), ("SQUARED_DIFFERENCE", None), ("FLOOR_DIV", None),
                  ("FLOOR_MOD", None), ("EQUAL", None), ("NOT_EQUAL", None), ("GREATER", None),
                  ("GREATER_EQUAL", None), ("LESS", None), ("LESS_EQUAL", None), ("PRELU", None)):
    compares = code in ("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL")
    for dtype in ("float32", "int8", "int16"):
        case(f"{code}-{dtype}", getattr(BUILTIN, code), [(dtype, SHAPE), (dtype, SHAPE)],
             [("bool" if compares else dtype, SHAPE)], own)
        case(f"{code}-{dtype}-broadcast", getattr(BUILTIN, code), [(dtype, SHAPE), weights(dtype, [8])],
             [("bool" if compares else dtype, SHAPE)], own)
for code in ("LOGICAL_AND", "LOGICAL_OR"):
    case(code, getattr(BUILTIN, code), [("bool", SHAPE), ("bool", SHAPE)], [("bool", SHAPE)])
for dtype in ("float32", "int8"):
    for count in (2, 3):
        case(f"ADD_N-{dtype}-{count}", BUILTIN.ADD_N, [(dtype, SHAPE)] * count, [(dtype, SHAPE)], "AddN")

for dtype in ("float32", "int8", "int16"):
    for code, own in (("AVERAGE_POOL_2D", "Pool2D"), ("MAX_POOL_2D", "Pool2D"), ("L2_POOL_2D", "Pool2D")):
        case(f"{code}-{dtype}", getattr(BUILTIN, code), [(dtype, SHAPE)], [(dtype, [1, 2, 3, 8])], own,
             strideW=2, strideH=2, filterWidth=2, filterHeight=2)
    wide = {"float32": "float32", "int8": "int8", "int16": "int8"}[dtype]
    bias = {"float32": "float32", "int8": "int32", "int16": "int64"}[dtype]
    for scales in (None, 5):
        if scales and dtype == "float32":
            continue
        per = "-channels" if scales else ""
        case(f"CONV_2D-{dtype}{per}", BUILTIN.CONV_2D,
             [(dtype, SHAPE), weights(wide, [5, 3, 3, 8], scales), weights(bias, [5])],
             [(dtype, [1, 4, 6, 5])], "Conv2D", strideW=1, strideH=1, dilationWFactor=1, dilationHFactor=1)
        case(f"TRANSPOSE_CONV-{dtype}{per}", BUILTIN.TRANSPOSE_CONV,
             [ints(1, 8, 12, 5), weights(wide, [5, 3, 3, 8], scales), (dtype, SHAPE)],
             [(dtype, [1, 8, 12, 5])], "TransposeConv", strideW=2, strideH=2)
        case(f"TRANSPOSE_CONV-{dtype}{per}-bias", BUILTIN.TRANSPOSE_CONV,
             [ints(1, 8, 12, 5), weights(wide, [5, 3, 3, 8], scales), (dtype, SHAPE), weights(bias, [5])],
             [(dtype, [1, 8, 12, 5])], "TransposeConv", strideW=2, strideH=2)
        case(f"FULLY_CONNECTED-{dtype}{per}", BUILTIN.FULLY_CONNECTED,
             [(dtype, [3, 8]), weights(wide, [5, 8], scales), None if scales is None and dtype != "float32"
              else weights(bias, [5])], [(dtype, [3, 5])],
             "FullyConnected")
    case(f"DEPTHWISE_CONV_2D-{dtype}", BUILTIN.DEPTHWISE_CONV_2D,
         [(dtype, SHAPE), weights(wide, [1, 3, 3, 8]), weights(bias, [8])], [(dtype, SHAPE)],
         "DepthwiseConv2D", strideW=1, strideH=1, depthMultiplier=1, dilationWFactor=1, dilationHFactor=1)
case("CONV_2D-int4", BUILTIN.CONV_2D, [("int8", SHAPE), packed([5, 3, 3, 8], 5), weights("int32", [5])],
     [("int8", [1, 4, 6, 5])], "Conv2D", strideW=1, strideH=1, dilationWFactor=1, dilationHFactor=1)
case("DEPTHWISE_CONV_2D-int4", BUILTIN.DEPTHWISE_CONV_2D,
     [("int8", SHAPE), packed([1, 3, 3, 8]), weights("int32", [8])], [("int8", SHAPE)],
     "DepthwiseConv2D", strideW=1, strideH=1, depthMultiplier=1, dilationWFactor=1, dilationHFactor=1)
case("FULLY_CONNECTED-int4", BUILTIN.FULLY_CONNECTED,
     [("int8", [3, 8]), packed([5, 8]), None], [("int8", [3, 5])], "FullyConnected")
case("TRANSPOSE_CONV-int16-narrow-bias", BUILTIN.TRANSPOSE_CONV,
     [ints(1, 8, 12, 5), weights("int8", [5, 3, 3, 8], 5), ("int16", SHAPE), weights("int16", [5])],
     [("int16", [1, 8, 12, 5])], "TransposeConv", strideW=2, strideH=2)

for code in ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_ALL"):
    for dtype in ("bool",) if code == "REDUCE_ALL" else ("float32", "int8", "int16", "int32"):
        for name, axes, target in (("places", (1, 2), [1, 8]), ("channels", (3,), [1, 4, 6]),
                                   ("rows", (1,), [1, 6, 8])):
            case(f"{code}-{dtype}-{name}", getattr(BUILTIN, code), [(dtype, SHAPE), ints(*axes)],
                 [(dtype, target)], "Reducer")
for adjoint in ("", "x", "y", "xy"):
    left = [2, 5, 3] if "x" in adjoint else [2, 3, 5]
    right = [2, 4, 5] if "y" in adjoint else [2, 5, 4]
    for dtype in ("float32", "int8", "int16"):
        for fixed in (False, True):
            second = weights(dtype, right) if fixed else (dtype, right)
            case(f"BATCH_MATMUL-{dtype}-{adjoint}{'-constant' if fixed else ''}", BUILTIN.BATCH_MATMUL,
                 [(dtype, left), second], [(dtype, [2, 3, 4])], "BatchMatMul", adjX="x" in adjoint,
                 adjY="y" in adjoint)
case("BATCH_MATMUL-float32-rank4", BUILTIN.BATCH_MATMUL, [("float32", [2, 3, 4, 5]), ("float32", [1, 3, 5, 6])],
     [("float32", [2, 3, 4, 6])], "BatchMatMul")
case("BATCH_MATMUL-float32-hybrid", BUILTIN.BATCH_MATMUL, [("float32", [2, 3, 5]), weights("int8", [2, 5, 4])],
     [("float32", [2, 3, 4])], "BatchMatMul")

for dtype in ("float32", "int8", "int16"):
    for code, own in (("RESIZE_BILINEAR", "ResizeBilinear"), ("RESIZE_NEAREST_NEIGHBOR", "ResizeNearestNeighbor")):
        case(f"{code}-{dtype}", getattr(BUILTIN, code), [(dtype, SHAPE), ints(8, 12)],
             [(dtype, [1, 8, 12, 8])], own)
    case(f"TRANSPOSE-{dtype}", BUILTIN.TRANSPOSE, [(dtype, SHAPE), ints(0, 2, 1, 3)], [(dtype, [1, 6, 4, 8])],
         "Transpose")
    case(f"STRIDED_SLICE-{dtype}", BUILTIN.STRIDED_SLICE,
         [(dtype, SHAPE), ints(0, 1, 0, 0), ints(1, 3, 6, 8), ints(1, 1, 2, 1)], [(dtype, [1, 2, 3, 8])],
         "StridedSlice")
    case(f"SLICE-{dtype}", BUILTIN.SLICE, [(dtype, SHAPE), ints(0, 1, 0, 0), ints(1, 2, 6, 8)],
         [(dtype, [1, 2, 6, 8])], "Slice")
    case(f"PAD-{dtype}", BUILTIN.PAD, [(dtype, SHAPE), ints([0, 0], [1, 1], [1, 1], [0, 0])],
         [(dtype, [1, 6, 8, 8])], "Pad")
    case(f"MIRROR_PAD-{dtype}", BUILTIN.MIRROR_PAD, [(dtype, SHAPE), ints([0, 0], [1, 1], [1, 1], [0, 0])],
         [(dtype, [1, 6, 8, 8])], "MirrorPad")
    case(f"CONCATENATION-{dtype}", BUILTIN.CONCATENATION, [(dtype, SHAPE), (dtype, SHAPE)],
         [(dtype, [1, 4, 6, 16])], "Concatenation", axis=3)
    case(f"SPLIT-{dtype}", BUILTIN.SPLIT, [scalar(3), (dtype, SHAPE)], [(dtype, [1, 4, 6, 4])] * 2, "Split",
         numSplits=2)
    case(f"SPLIT_V-{dtype}", BUILTIN.SPLIT_V, [(dtype, SHAPE), ints(3, 5), scalar(3)],
         [(dtype, [1, 4, 6, 3]), (dtype, [1, 4, 6, 5])], "SplitV", numSplits=2)
    case(f"PACK-{dtype}", BUILTIN.PACK, [(dtype, [4, 6]), (dtype, [4, 6])], [(dtype, [2, 4, 6])], "Pack",
         valuesCount=2)
    case(f"UNPACK-{dtype}", BUILTIN.UNPACK, [(dtype, [2, 4, 6])], [(dtype, [4, 6])] * 2, "Unpack", num=2)
    case(f"RESHAPE-{dtype}", BUILTIN.RESHAPE, [(dtype, SHAPE), ints(1, 192)], [(dtype, [1, 192])], "Reshape",
         newShape=[1, 192])
    case(f"SQUEEZE-{dtype}", BUILTIN.SQUEEZE, [(dtype, SHAPE)], [(dtype, [4, 6, 8])], "Squeeze", squeezeDims=[0])
    case(f"EXPAND_DIMS-{dtype}", BUILTIN.EXPAND_DIMS, [(dtype, SHAPE), scalar(0)], [(dtype, [1, *SHAPE])],
         "ExpandDims")
    case(f"GATHER-{dtype}", BUILTIN.GATHER, [(dtype, SHAPE), ints(0, 2)], [(dtype, [1, 2, 6, 8])], "Gather", axis=1)
    case(f"GATHER_ND-{dtype}", BUILTIN.GATHER_ND, [(dtype, [4, 6, 8]), ints([0], [2])], [(dtype, [2, 6, 8])],
         "GatherNd")
    case(f"BROADCAST_TO-{dtype}", BUILTIN.BROADCAST_TO, [(dtype, [1, 8]), ints(6, 8)], [(dtype, [6, 8])])
    case(f"SPACE_TO_DEPTH-{dtype}", BUILTIN.SPACE_TO_DEPTH, [(dtype, SHAPE)], [(dtype, [1, 2, 3, 32])],
         "SpaceToDepth", blockSize=2)
    case(f"DEPTH_TO_SPACE-{dtype}", BUILTIN.DEPTH_TO_SPACE, [(dtype, SHAPE)], [(dtype, [1, 8, 12, 2])],
         "DepthToSpace", blockSize=2)
    case(f"SPACE_TO_BATCH_ND-{dtype}", BUILTIN.SPACE_TO_BATCH_ND,
         [(dtype, SHAPE), ints(2, 2), ints([0, 0], [0, 0])], [(dtype, [4, 2, 3, 8])], "SpaceToBatchND")
    case(f"BATCH_TO_SPACE_ND-{dtype}", BUILTIN.BATCH_TO_SPACE_ND,
         [(dtype, [4, 2, 3, 8]), ints(2, 2), ints([0, 0], [0, 0])], [(dtype, SHAPE)], "BatchToSpaceND")
    case(f"ARG_MAX-{dtype}", BUILTIN.ARG_MAX, [(dtype, SHAPE), scalar(3)], [("int32", [1, 4, 6])], "ArgMax",
         outputType=schema.TensorType.INT32)
    case(f"ARG_MIN-{dtype}", BUILTIN.ARG_MIN, [(dtype, SHAPE), scalar(3)], [("int32", [1, 4, 6])], "ArgMin",
         outputType=schema.TensorType.INT32)
    case(f"REVERSE_V2-{dtype}", BUILTIN.REVERSE_V2, [(dtype, SHAPE), ints(1)], [(dtype, SHAPE)], "ReverseV2")
    case(f"CUMSUM-{dtype}", BUILTIN.CUMSUM, [(dtype, SHAPE), scalar(1)], [(dtype, SHAPE)], "Cumsum")
    case(f"SELECT_V2-{dtype}", BUILTIN.SELECT_V2, [("bool", SHAPE), (dtype, SHAPE), (dtype, SHAPE)],
         [(dtype, SHAPE)], "SelectV2")
    case(f"DYNAMIC_UPDATE_SLICE-{dtype}", BUILTIN.DYNAMIC_UPDATE_SLICE,
         [(dtype, [6, 8]), (dtype, [2, 8]), ints(1, 0)], [(dtype, [6, 8])], "DynamicUpdateSlice")
    case(f"SHAPE-{dtype}", BUILTIN.SHAPE, [(dtype, SHAPE)], [("int32", [4])], "Shape",
         outType=schema.TensorType.INT32)
    case(f"EMBEDDING_LOOKUP-{dtype}", BUILTIN.EMBEDDING_LOOKUP, [ints(0, 2), weights(dtype, [5, 8])],
         [(dtype, [2, 8])])
    for rows in (3, 7):
        fill = {"float32": "float32", "int8": "int8", "int16": "int16"}[dtype]
        case(f"FILL-{dtype}-{rows}", BUILTIN.FILL, [ints(rows, 8), scalar(1, fill)], [(dtype, [rows, 8])], "Fill")
case("PADV2-int8", BUILTIN.PADV2,
     [("int8", SHAPE), ints([0, 0], [1, 1], [1, 1], [0, 0]),
      lambda maker: maker.value("int8", [1], numpy.ones(1))], [("int8", [1, 6, 8, 8])], "PadV2")
case("BROADCAST_ARGS", BUILTIN.BROADCAST_ARGS, [("int32", [2]), ("int32", [2])], [("int32", [2])])
case("EMBEDDING_LOOKUP-hybrid", BUILTIN.EMBEDDING_LOOKUP, [ints(0, 2), weights("int8", [5, 8], 5)],
     [("float32", [2, 8])])

case("EMBEDDING_LOOKUP-float32-rank3", BUILTIN.EMBEDDING_LOOKUP, [ints(0, 2), weights("float32", [5, 4, 8])],
     [("float32", [2, 4, 8])])
case("EMBEDDING_LOOKUP-hybrid-rank3", BUILTIN.EMBEDDING_LOOKUP, [ints(0, 2), weights("int8", [5, 4, 8], 5)],
     [("float32", [2, 4, 8])])
for scaled, dtype in (("LOGISTIC", "int8"), ("LOGISTIC", "int16"), ("TANH", "int16"), ("SOFTMAX", "int8"),
                      ("SOFTMAX", "int16"), ("L2_NORMALIZATION", "int8")):
    del CASES[f"{scaled}-{dtype}"]
    scale, zero = {"LOGISTIC-int8": (1 / 256, -128), "LOGISTIC-int16": (1 / 32768, 0),
                   "TANH-int16": (1 / 32768, 0), "SOFTMAX-int8": (1 / 256, -128),
                   "SOFTMAX-int16": (1 / 32768, 0), "L2_NORMALIZATION-int8": (1 / 128, 0)}[f"{scaled}-{dtype}"]
    case(f"{scaled}-{dtype}", getattr(BUILTIN, scaled), [exact(dtype, SHAPE, 2.0 ** -12, 0)],
         [exact(dtype, SHAPE, scale, zero)], {"SOFTMAX": "Softmax", "L2_NORMALIZATION": "L2Norm"}.get(scaled),
         **({"beta": 1.0} if scaled == "SOFTMAX" else {}))

for shape in ((2, 9, 4, 2, 5), (1, 16, 8, 1, 3)):
    batches, width, units, rank, memory = shape
    name = "x".join(map(str, shape))
    size = [batches, memory * units * rank]
    case(f"SVDF-float32-{name}", BUILTIN.SVDF,
         [("float32", [batches, width]), weights("float32", [units * rank, width]),
          weights("float32", [units * rank, memory]), weights("float32", [units]), state("float32", size)],
         [("float32", [batches, units])], "SVDF", rank=rank)
    for kind in ("int16", "int8"):
        def bias(maker, units=units):
            index = maker.weights("int32", [units], 1)
            maker.main.tensors[index].quantization.scale = [0.05 * 0.05]
            return index
        case(f"SVDF-int8-{kind}-{name}", BUILTIN.SVDF,
             [("int8", [batches, width]), weights("int8", [units * rank, width]),
              weights(kind, [units * rank, memory]), bias, state(kind, size)],
             [("int8", [batches, units])], "SVDF", rank=rank)


def lstm(dtype, batches, steps, width, cells, time_major=False):
    def make():
        maker = KernelMaker()
        lead = [steps, batches] if time_major else [batches, steps]
        side = {"float32": "float32", "int8": "int8", "int16": "int8"}[dtype]
        cell = {"float32": "float32"}.get(dtype, "int16")
        bias = {"float32": "float32", "int8": "int32", "int16": "int64"}[dtype]
        state_of = maker.value(cell, [batches, cells], variable=True)
        if cell == "int16":
            maker.main.tensors[state_of].quantization.scale = [2.0 ** -11]
        inputs = [maker.value(dtype, [*lead, width]),
                  *(maker.weights(side, [cells, width]) for _ in range(4)),
                  *(maker.weights(side, [cells, cells]) for _ in range(4)), -1, -1, -1,
                  *(maker.weights(bias, [cells]) for _ in range(4)), -1, -1,
                  maker.value(dtype, [batches, cells], variable=True), state_of, -1, -1, -1, -1]
        target = maker.value(dtype, [*lead, cells])
        return maker.under_test(BUILTIN.UNIDIRECTIONAL_SEQUENCE_LSTM, inputs, [target],
                                 "UnidirectionalSequenceLSTM", timeMajor=time_major,
                                 fusedActivationFunction=schema.ActivationFunctionType.TANH)
    return make


for dtype in ("float32", "int8", "int16"):
    for shape in ((2, 4, 3, 5), (1, 6, 7, 8)):
        for major in (False, True):
            name = f"UNIDIRECTIONAL_SEQUENCE_LSTM-{dtype}-{'x'.join(map(str, shape))}{'-major' if major else ''}"
            CASES[name] = lstm(dtype, *shape, major)

for boxes, classes, most in ((30, 4, 5), (20, 7, 40)):
    case(f"TFLite_Detection_PostProcess-{boxes}x{classes}x{most}", "TFLite_Detection_PostProcess",
         [("float32", [1, boxes, 4]), ("float32", [1, boxes, classes + 1]), weights("float32", [boxes, 4])],
         [("float32", [1, most, 4]), ("float32", [1, most]), ("float32", [1, most]), ("float32", [1])],
         custom={"max_detections": most, "max_classes_per_detection": 1, "num_classes": classes,
                 "nms_score_threshold": 0.1, "nms_iou_threshold": 0.5, "y_scale": 10.0, "x_scale": 10.0,
                 "h_scale": 5.0, "w_scale": 5.0})

CODE_OF_TYPE = {"float32": 0, "int32": 2, "int16": 7}
for length in (64, 512):
    bins = length // 2 + 1
    for dtype in ("float32", "int32", "int16"):
        kind = {"T": CODE_OF_TYPE[dtype], "fft_length": length}
        for lead in ([], [3]):
            tail = f"{dtype}-{length}{'-frames' if lead else ''}"
            case(f"SignalRfft-{tail}", "SignalRfft", [(dtype, [*lead, length - 16])], [(dtype, [*lead, 2 * bins])],
                 custom=kind)
            case(f"SignalIrfft-{tail}", "SignalIrfft", [(dtype, [*lead, 2 * bins])], [(dtype, [*lead, length])],
                 custom=kind)
for size in (30, 480):
    case(f"SignalWindow-{size}", "SignalWindow", [("int16", [size]), weights("int16", [size])],
         [("int16", [size])], custom={"shift": 12})
    case(f"SignalFftAutoScale-{size}", "SignalFftAutoScale", [("int16", [size])],
         [("int16", [size]), ("int32", [])])
    case(f"SignalEnergy-{size}", "SignalEnergy", [("int16", [2 * size])], [("uint32", [size])],
         custom={"start_index": 4, "end_index": size - 2})
    case(f"SignalFilterBankSquareRoot-{size}", "SignalFilterBankSquareRoot",
         [("uint64", [size]), ("int32", [])], [("uint32", [size])])
    case(f"SignalFilterBankLog-{size}", "SignalFilterBankLog", [("uint32", [size])], [("int16", [size])],
         custom={"output_scale": 1600, "input_correction_bits": 3})
    case(f"SignalFilterBankSpectralSubtraction-{size}", "SignalFilterBankSpectralSubtraction",
         [("uint32", [size])], [("uint32", [size]), ("uint32", [size])],
         custom={"num_channels": size, "smoothing": 409, "one_minus_smoothing": 15974,
                 "alternate_smoothing": 983, "alternate_one_minus_smoothing": 15401, "smoothing_bits": 10,
                 "min_signal_remaining": 819, "clamping": 0, "spectral_subtraction_bits": 14})
    case(f"SignalPCAN-{size}", "SignalPCAN", [("uint32", [size]), ("uint32", [size]), weights("int16", [125])],
         [("uint32", [size])], custom={"snr_shift": 6})
    for frames in (2, 3):
        case(f"SignalDelay-{size}-{frames}", "SignalDelay", [("int16", [frames, size])],
             [("int16", [frames, size])], custom={"delay_length": 5 + frames})
    for more in (0, 10, 2 * size + 7):
        for lead in (1, 3):
            case(f"SignalFramer-{size}-{more}-{lead}", "SignalFramer", [("int16", [lead, size])],
                 [("int16", [lead, 1, size + more]), ("bool", [])],
                 custom={"frame_size": size + more, "frame_step": size, "prefill": False})
    for right in (0, 1):
        case(f"SignalStacker-{size}-{right}", "SignalStacker", [("int16", [size])],
             [("int16", [(4 + right) * size]), ("bool", [])],
             custom={"num_channels": size, "stacker_left_context": 3, "stacker_right_context": right,
                     "stacker_step": 2})
    for dtype in ("float32", "int16"):
        for lead in ([], [2]):
            case(f"SignalOverlapAdd-{dtype}-{size}{'-frames' if lead else ''}", "SignalOverlapAdd",
                 [(dtype, [*lead, 3, size])], [(dtype, [*lead, 3 * size // 2])],
                 custom={"T": CODE_OF_TYPE[dtype], "frame_step": size // 2})


def filter_bank(channels, bins):
    per = bins // (channels + 1)
    starts = [per * i for i in range(channels + 1)]
    return [("uint32", [bins]), weights("int16", [bins]), weights("int16", [bins]),
            ints(*starts, dtype="int16"), ints(*starts, dtype="int16"),
            ints(*([per] * (channels + 1)), dtype="int16")]


for channels in (8, 40):
    case(f"SignalFilterBank-{channels}", "SignalFilterBank", filter_bank(channels, 260),
         [("uint64", [channels])], custom={"num_channels": channels})
for rows in (3, 5):
    case(f"CIRCULAR_BUFFER-{rows}", "CIRCULAR_BUFFER", [("int8", [1, 1, 1, 16])], [("int8", [1, rows, 1, 16])],
         custom={"cycles_max": 2})


def shared_body(order):
    """Two IF ("a", "b") that call one body, whose kernel requests scratch, and large tensors ("m")."""

    def make():
        maker = KernelMaker()
        main, body = maker.main, schema.SubGraphT()
        body.tensors, body.operators, body.inputs, body.outputs = [], [], [], []
        maker.model.subgraphs.append(body)
        maker.main = body
        source, target = maker.value("int8", [1, 8, 8, 4]), maker.value("int8", [1, 16, 16, 4])
        options = schema.TransposeConvOptionsT()
        options.strideW = options.strideH = 2
        maker.operator(BUILTIN.TRANSPOSE_CONV,
                       [maker.ints([1, 16, 16, 4]), maker.weights("int8", [4, 3, 3, 4]), source], [target],
                       schema.BuiltinOptions.TransposeConvOptions, options)
        body.inputs, body.outputs = [source], [target]
        maker.main = main
        condition = maker.value("bool", [1], numpy.ones(1))
        source, small = maker.value("int8", [1, 8, 8, 4]), maker.value("int8", [1, 8])
        outputs = {call: maker.value("int8", [1, 16, 16, 4]) for call in "ab"}
        large, one = maker.value("int8", [1000, 8]), maker.value("int8", [1, 1])
        for step in order:
            if step == "m":
                maker.operator(BUILTIN.BROADCAST_TO, [small, maker.ints([1000, 8])], [large])
                maker.operator(BUILTIN.SLICE, [large, maker.ints([0, 0]), maker.ints([1, 1])], [one],
                               schema.BuiltinOptions.SliceOptions, schema.SliceOptionsT())
                continue
            options = schema.IfOptionsT()
            options.thenSubgraphIndex = options.elseSubgraphIndex = 1
            maker.operator(BUILTIN.IF, [condition, source], [outputs[step]], schema.BuiltinOptions.IfOptions,
                           options)
        main.inputs, main.outputs = [source, small], [*outputs.values(), one]
        return maker.bytes()

    return make


def scratch_beside_bodies():
    """Twenty operators with scratch in a model of three subgraphs: their handles are one list."""
    maker = KernelMaker()
    main = maker.main
    for _ in range(2):
        body = schema.SubGraphT()
        body.tensors, body.operators = [], []
        maker.main = body
        maker.model.subgraphs.append(body)
        source, target = maker.value("int8", [1, 4]), maker.value("int8", [1, 4])
        maker.operator(BUILTIN.RELU, [source], [target])
        body.inputs, body.outputs = [source], [target]
    maker.main = main
    image, means = maker.value("int8", [1, 4, 4, 8]), []
    for _ in range(20):
        means.append(maker.value("int8", [1, 8]))
        maker.operator(BUILTIN.MEAN, [image, maker.ints([1, 2])], [means[-1]], schema.BuiltinOptions.ReducerOptions,
                       schema.ReducerOptionsT())
    condition = maker.value("bool", [1], numpy.ones(1))
    source, target = maker.value("int8", [1, 4]), maker.value("int8", [1, 4])
    options = schema.IfOptionsT()
    options.thenSubgraphIndex, options.elseSubgraphIndex = 1, 2
    maker.operator(BUILTIN.IF, [condition, source], [target], schema.BuiltinOptions.IfOptions, options)
    # The planning of the memory takes less than this.
    ballast, one = maker.value("int8", [BALLAST]), maker.value("int8", [1])
    maker.operator(BUILTIN.SLICE, [ballast, maker.ints([0]), maker.ints([1])], [one], schema.BuiltinOptions.SliceOptions,
                   schema.SliceOptionsT())
    main.inputs, main.outputs = [image, source, ballast], [*means, target, one]
    return maker.bytes()


CASES["IF-scratch"] = scratch_beside_bodies

# Of TFLM_DECODE: method and version, then the parameters of the method and its values.
DECODE_METHODS = {
    "tables": [0, 1, 0, 0, 1, 15 << 4 | 4, 16, *[0] * 9, *range(16)],
    "huffman": [1, 1, 0, 0, 1, *[0] * 11, *[0] * 64],
    "pruned": [2, 1, 0, 0, 1, *[0] * 11, *range(48)],
}


def packed_bytes(values):
    return lambda maker: maker.value("uint8", [len(values)], values)


def decoded(shape, scales):
    """Weights as a convolution has them: a scale for each index of the first dimension."""
    return lambda maker: maker.value("int8", shape, None, scales)


for method, description in DECODE_METHODS.items():
    both = [packed_bytes([0] * 96), packed_bytes(description)]
    case(f"TFLM_DECODE-{method}", "TFLM_DECODE", both, [decoded([6, 4, 4], None)])
    case(f"TFLM_DECODE-{method}-channels", "TFLM_DECODE", both, [decoded([6, 4, 4], 6)])
case("TFLM_DECODE-several", "TFLM_DECODE",
     [packed_bytes(values) for one in DECODE_METHODS.values() for values in ([0] * 1000, one)],
     [decoded([40, 7], None), decoded([6, 4, 4], None), decoded([50, 9], 50)])


for order in ("amb", "abm", "mab"):
    CASES[f"IF-{order}"] = shared_body(order)


def main():
    import pathlib
    import sys
    folder = pathlib.Path(sys.argv[1])
    for name, make in CASES.items():
        (folder / f"{name}.tflite").write_bytes(make())
    print(len(CASES), "models")


if __name__ == "__main__":
    main()
