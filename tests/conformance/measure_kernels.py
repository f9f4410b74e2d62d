# SPDX-License-Identifier: Apache-2.0
"""Which element types, ranks and numbers of inputs the kernels of a stock runtime accept.

measure_kernels.py tflm|litert makes a model of one operator for every case, runs it in a process of its
own, and prints what was accepted: the table of neap/ops/stock_kernels.cc. test_kernel_support.py compares
the two.
"""

import faulthandler
import os
import sys
import tempfile

import flatbuffers
import numpy
from tflite_micro.tensorflow.lite.micro.python import schema_py_generated as schema

FORMATS = {
    "bool": ("BOOL", "?"), "float16": ("FLOAT16", "<f2"), "float32": ("FLOAT32", "<f4"),
    "float64": ("FLOAT64", "<f8"), "int16": ("INT16", "<i2"), "int32": ("INT32", "<i4"),
    "int64": ("INT64", "<i8"), "int8": ("INT8", "i1"), "uint32": ("UINT32", "<u4"),
    "uint64": ("UINT64", "<u8"), "uint8": ("UINT8", "u1"),
}
TYPES = tuple(FORMATS)
QUANTIZED = {"int8", "uint8", "int16"}
BIASES = {"int8": "int32", "uint8": "int32", "int16": "int64"}
# Scale and zero point that kernels require of an output.
FIXED = {
    "SOFTMAX": {"int8": (1 / 256, -128), "uint8": (1 / 256, 0), "int16": (1 / 32768, 0)},
    "LOG_SOFTMAX": {"int8": (16 / 256, 127), "uint8": (16 / 256, 255)},
    "LOGISTIC": {"int8": (1 / 256, -128), "uint8": (1 / 256, 0), "int16": (1 / 32768, 0)},
    "TANH": {"int8": (1 / 128, 0), "uint8": (1 / 128, 128), "int16": (1 / 32768, 0)},
    "L2_NORMALIZATION": {"int8": (1 / 128, 0), "uint8": (1 / 128, 128)},
}


class Maker:
    """A model of one operator."""

    def __init__(self):
        self.model = schema.ModelT()
        self.model.version = 3
        self.model.buffers = [schema.BufferT()]
        self.model.operatorCodes, self.model.subgraphs = [], []
        self.main = self.graph()

    def graph(self):
        graph = schema.SubGraphT()
        graph.tensors, graph.operators, graph.inputs, graph.outputs = [], [], [], []
        self.model.subgraphs.append(graph)
        return graph

    def tensor(self, kind, shape, data=None, scale=1 / 128, zero=0, graph=None, axis=0):
        graph = graph or self.main
        tensor = schema.TensorT()
        tensor.name = f"t{len(graph.tensors)}"
        tensor.shape = list(shape)
        tensor.type = getattr(schema.TensorType, FORMATS[kind][0])
        tensor.buffer = 0
        if kind in QUANTIZED:
            tensor.quantization = schema.QuantizationParametersT()
            scales = scale if isinstance(scale, list) else [scale]
            tensor.quantization.scale = numpy.array(scales, numpy.float32)
            tensor.quantization.zeroPoint = numpy.array([zero] * len(scales), numpy.int64)
            tensor.quantization.quantizedDimension = axis
        if data is not None:
            buffer = schema.BufferT()
            values = numpy.asarray(data).astype(FORMATS[kind][1])
            buffer.data = numpy.frombuffer(values.tobytes(), numpy.uint8)
            self.model.buffers.append(buffer)
            tensor.buffer = len(self.model.buffers) - 1
        graph.tensors.append(tensor)
        return len(graph.tensors) - 1

    def x(self, kind, shape, graph=None, **words):
        (graph or self.main).inputs.append(self.tensor(kind, shape, graph=graph, **words))
        return (graph or self.main).inputs[-1]

    def y(self, kind, shape, graph=None, **words):
        (graph or self.main).outputs.append(self.tensor(kind, shape, graph=graph, **words))
        return (graph or self.main).outputs[-1]

    def ints(self, values, shape=None):
        return self.tensor("int32", [len(values)] if shape is None else shape, values)

    def op(self, name, inputs, outputs, options=None, graph=None, **fields):
        code = getattr(schema.BuiltinOperator, name)
        entry = schema.OperatorCodeT()
        entry.builtinCode, entry.deprecatedBuiltinCode, entry.version = code, min(code, 127), 1
        self.model.operatorCodes.append(entry)
        made = schema.OperatorT()
        made.opcodeIndex = len(self.model.operatorCodes) - 1
        made.inputs, made.outputs = list(inputs), list(outputs)
        if options:
            made.builtinOptionsType = getattr(schema.BuiltinOptions, options)
            made.builtinOptions = getattr(schema, options + "T")()
            for field, value in fields.items():
                assert hasattr(made.builtinOptions, field), field
                setattr(made.builtinOptions, field, value)
        (graph or self.main).operators.append(made)
        return self

    def bytes(self, version=1):
        for entry in self.model.operatorCodes:
            entry.version = version
        builder = flatbuffers.Builder(1024)
        builder.Finish(self.model.Pack(builder), b"TFL3")
        return bytes(builder.Output())


def camel(name, ending="Options"):
    return "".join(word.capitalize() for word in name.split("_")) + ending


def alike(name, options=None, count=1, shape=(1, 4), out=None, **fields):
    """`count` inputs of one shape, an output of that shape."""
    def make(kind):
        m = Maker()
        scale, zero = FIXED.get(name, {}).get(kind, (1 / 128, 0))
        return m.op(name, [m.x(kind, shape) for _ in range(count)],
                    [m.y(out or kind, shape, scale=scale, zero=zero)], options, **fields)
    return make


def moved(name, options, before, after, *constants, data=0, count=1, outputs=1, **fields):
    """Input(s) of one shape, outputs of another, constant integers (values, shape) around the data."""
    def make(kind):
        m = Maker()
        inputs = [m.ints(*constant) for constant in constants]
        inputs[data:data] = [m.x(kind, before) for _ in range(count)]
        return m.op(name, inputs, [m.y(kind, after) for _ in range(outputs)], options, **fields)
    return make


def convolution(name):
    def make(kind, weights):
        m = Maker()
        depthwise = name == "DEPTHWISE_CONV_2D"
        shape = (1, 3, 3, 2) if depthwise else (2, 3, 3, 2)
        scale = [.01, .01] if weights == "int8" else .01
        filters = m.tensor(weights, shape, numpy.ones(shape), scale, axis=3 if depthwise else 0)
        bias = m.tensor(BIASES.get(kind, kind), [2], numpy.zeros(2))
        fields = {"depthMultiplier": 1} if depthwise else {}
        return m.op(name, [m.x(kind, (1, 4, 4, 2)), filters, bias], [m.y(kind, (1, 4, 4, 2))],
                    "DepthwiseConv2DOptions" if depthwise else "Conv2DOptions",
                    strideH=1, strideW=1, dilationHFactor=1, dilationWFactor=1, **fields)
    return make


def transposed(kind, weights):
    m = Maker()
    shape = (2, 3, 3, 2)
    filters = m.tensor(weights, shape, numpy.ones(shape), [.01, .01] if weights == "int8" else .01)
    return m.op("TRANSPOSE_CONV", [m.ints([1, 4, 4, 2]), filters, m.x(kind, (1, 2, 2, 2))],
                [m.y(kind, (1, 4, 4, 2))], "TransposeConvOptions", strideH=2, strideW=2)


def connected(kind, weights):
    m = Maker()
    filters = m.tensor(weights, (3, 4), numpy.ones((3, 4)), .01)
    bias = m.tensor(BIASES.get(kind, kind), [3], numpy.zeros(3))
    return m.op("FULLY_CONNECTED", [m.x(kind, (1, 4)), filters, bias], [m.y(kind, (1, 3))],
                "FullyConnectedOptions")


def multiplied(kind, other):
    m = Maker()
    return m.op("BATCH_MATMUL", [m.x(kind, (1, 2, 3)), m.x(other, (1, 3, 2))],
                [m.y(kind, (1, 2, 2))], "BatchMatMulOptions")


def converted(name):
    def make(kind, to):
        m = Maker()
        return m.op(name, [m.x(kind, (1, 4))], [m.y(to, (1, 4))], camel(name))
    return make


def branch(kind):
    m = Maker()
    condition = m.tensor("bool", [1], [True])
    x, y = m.x(kind, (1, 4)), m.y(kind, (1, 4))
    body = m.graph()
    m.op("RESHAPE", [m.x(kind, (1, 4), body)], [m.y(kind, (1, 4), body)], "ReshapeOptions", body,
         newShape=[1, 4])
    return m.op("IF", [condition, x], [y], "IfOptions", thenSubgraphIndex=1, elseSubgraphIndex=1)


def padded(name, rank=4):
    def make(kind):
        m = Maker()
        inputs = [m.x(kind, [1] * (rank - 1) + [2]), m.ints([0, 0] * (rank - 1) + [1, 1], [rank, 2])]
        if name == "PADV2":
            inputs.append(m.tensor(kind, [], numpy.zeros(1)))
        return m.op(name, inputs, [m.y(kind, [1] * (rank - 1) + [4])],
                    {"PAD": "PadOptions", "PADV2": "PadV2Options", "MIRROR_PAD": "MirrorPadOptions"}[name])
    return make


def sliced(name, rank=4):
    shape = [4] if rank == 1 else [1] * (rank - 2) + [4, 2]
    out = [2] if rank == 1 else [1] * (rank - 2) + [2, 2]
    steps = [([1] * rank,)] if name == "STRIDED_SLICE" else []
    return moved(name, camel(name), shape, out, ([0] * rank,), (out,), *steps)


def joined(rank=4, count=2):
    return moved("CONCATENATION", "ConcatenationOptions", [2] + [1] * (rank - 1),
                 [2 * count] + [1] * (rank - 1), count=count, axis=0)


def reshaped(rank):
    return moved("RESHAPE", "ReshapeOptions", [1] * (rank - 1) + [4], [4] + [1] * (rank - 1),
                 newShape=[4] + [1] * (rank - 1))


def chosen(kind):
    m = Maker()
    return m.op("SELECT_V2", [m.x("bool", (1, 4)), m.x(kind, (1, 4)), m.x(kind, (1, 4))],
                [m.y(kind, (1, 4))], "SelectV2Options")


def looked_up(kind):
    m = Maker()
    return m.op("EMBEDDING_LOOKUP", [m.ints([0, 1]), m.tensor(kind, (3, 4), numpy.ones((3, 4)))],
                [m.y("float32" if kind == "int8" else kind, (2, 4))])


def prelu(kind):
    m = Maker()
    return m.op("PRELU", [m.x(kind, (1, 2, 2, 2)), m.tensor(kind, (1, 1, 2), numpy.ones(2))],
                [m.y(kind, (1, 2, 2, 2))])


def found(name):
    def make(kind):
        m = Maker()
        return m.op(name, [m.x(kind, (1, 4)), m.ints([1])], [m.y("int32", (1,))], camel(name),
                    outputType=schema.TensorType.INT32)
    return make


def shape_of(kind):
    m = Maker()
    return m.op("SHAPE", [m.x(kind, (1, 4))], [m.y("int32", (2,))], "ShapeOptions",
                outType=schema.TensorType.INT32)


IMAGE = (1, 4, 4, 2)
# name: a model of the operator for an element type
BY_TYPE = {
    **{name: alike(name) for name in ("CEIL", "ELU", "FLOOR", "LOG", "RELU", "RELU6", "RELU_0_TO_1",
                                      "RELU_N1_TO_1", "ROUND", "RSQRT", "SIN", "SQRT", "LOGISTIC", "TANH",
                                      "SIGN")},
    **{name: alike(name, camel(name)) for name in ("ABS", "COS", "EXP", "LOGICAL_NOT", "NEG", "SQUARE",
                                                   "HARD_SWISH", "ZEROS_LIKE", "GELU")},
    "LEAKY_RELU": alike("LEAKY_RELU", "LeakyReluOptions", alpha=.1),
    "SOFTMAX": alike("SOFTMAX", "SoftmaxOptions", beta=1.0),
    "LOG_SOFTMAX": alike("LOG_SOFTMAX", "LogSoftmaxOptions"),
    "L2_NORMALIZATION": alike("L2_NORMALIZATION", "L2NormOptions"),
    "LOCAL_RESPONSE_NORMALIZATION": alike("LOCAL_RESPONSE_NORMALIZATION",
                                          "LocalResponseNormalizationOptions", shape=(1, 2, 2, 4), radius=1,
                                          bias=1.0, alpha=1.0, beta=.5),
    **{name: alike(name, camel(name), 2, IMAGE) for name in (
        "ADD", "SUB", "MUL", "DIV", "FLOOR_DIV", "FLOOR_MOD", "POW", "SQUARED_DIFFERENCE", "LOGICAL_AND",
        "LOGICAL_OR")},
    **{name: alike(name, "MaximumMinimumOptions", 2, IMAGE) for name in ("MAXIMUM", "MINIMUM")},
    **{name: alike(name, None, 2, IMAGE) for name in ("ATAN2", "BITWISE_XOR", "RIGHT_SHIFT")},
    **{name: alike(name, camel(name), 2, IMAGE, "bool") for name in (
        "EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL")},
    "ADD_N": alike("ADD_N", "AddNOptions", 3),
    **{name: moved(name, "ReducerOptions", (1, 2, 3), (1, 2, 1), ([2],), keepDims=True) for name in (
        "MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD", "REDUCE_ANY", "REDUCE_ALL")},
    **{name: found(name) for name in ("ARG_MAX", "ARG_MIN")},
    **{name: moved(name, "Pool2DOptions", IMAGE, (1, 2, 2, 2), strideH=2, strideW=2, filterHeight=2,
                   filterWidth=2, padding=1) for name in ("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D")},
    **{name: moved(name, camel(name), (1, 2, 2, 2), IMAGE, ([4, 4],)) for name in (
        "RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR")},
    **{name: padded(name) for name in ("PAD", "PADV2", "MIRROR_PAD")},
    "DEPTH_TO_SPACE": moved("DEPTH_TO_SPACE", "DepthToSpaceOptions", (1, 2, 2, 4), (1, 4, 4, 1), blockSize=2),
    "SPACE_TO_DEPTH": moved("SPACE_TO_DEPTH", "SpaceToDepthOptions", (1, 4, 4, 1), (1, 2, 2, 4), blockSize=2),
    "SPACE_TO_BATCH_ND": moved("SPACE_TO_BATCH_ND", "SpaceToBatchNDOptions", (1, 4, 4, 1), (4, 2, 2, 1),
                               ([2, 2],), ([0, 0, 0, 0], [2, 2])),
    "BATCH_TO_SPACE_ND": moved("BATCH_TO_SPACE_ND", "BatchToSpaceNDOptions", (4, 2, 2, 1), (1, 4, 4, 1),
                               ([2, 2],), ([0, 0, 0, 0], [2, 2])),
    "SLICE": sliced("SLICE"), "STRIDED_SLICE": sliced("STRIDED_SLICE"), "CONCATENATION": joined(),
    "RESHAPE": reshaped(2),
    "SPLIT": moved("SPLIT", "SplitOptions", (1, 4), (1, 2), ([1], []), data=1, outputs=2, numSplits=2),
    "SPLIT_V": moved("SPLIT_V", "SplitVOptions", (1, 4), (1, 2), ([2, 2],), ([1], []), outputs=2, numSplits=2),
    "PACK": moved("PACK", "PackOptions", (4,), (2, 4), count=2, valuesCount=2),
    "UNPACK": moved("UNPACK", "UnpackOptions", (2, 4), (4,), outputs=2, num=2),
    "GATHER": moved("GATHER", "GatherOptions", (4, 2), (2, 2), ([0, 2],)),
    "GATHER_ND": moved("GATHER_ND", "GatherNdOptions", (4, 2), (2, 2), ([0, 2], [2, 1])),
    "TRANSPOSE": moved("TRANSPOSE", "TransposeOptions", (1, 2, 3), (1, 3, 2), ([0, 2, 1],)),
    "EXPAND_DIMS": moved("EXPAND_DIMS", "ExpandDimsOptions", (4,), (1, 4), ([0], [])),
    "SQUEEZE": moved("SQUEEZE", "SqueezeOptions", (1, 4), (4,), squeezeDims=[0]),
    "BROADCAST_TO": moved("BROADCAST_TO", "BroadcastToOptions", (1, 4), (2, 4), ([2, 4],)),
    "FILL": moved("FILL", "FillOptions", (), (4,), ([4],), data=1),
    "CUMSUM": moved("CUMSUM", "CumsumOptions", (1, 4), (1, 4), ([1], [])),
    "REVERSE_V2": moved("REVERSE_V2", "ReverseV2Options", (1, 4), (1, 4), ([1],)),
    "TILE": moved("TILE", "TileOptions", (1, 4), (2, 4), ([2, 1],)),
    "SELECT_V2": chosen, "EMBEDDING_LOOKUP": looked_up, "PRELU": prelu, "SHAPE": shape_of, "IF": branch,
}
# name: a model for the element types of input and weights, or of input and output
BY_PAIR = {
    "CONV_2D": convolution("CONV_2D"), "DEPTHWISE_CONV_2D": convolution("DEPTHWISE_CONV_2D"),
    "TRANSPOSE_CONV": transposed, "FULLY_CONNECTED": connected, "BATCH_MATMUL": multiplied,
    "QUANTIZE": converted("QUANTIZE"), "DEQUANTIZE": converted("DEQUANTIZE"), "CAST": converted("CAST"),
}
BY_RANK = {
    "SLICE": lambda rank: sliced("SLICE", rank), "STRIDED_SLICE": lambda rank: sliced("STRIDED_SLICE", rank),
    "CONCATENATION": joined, "RESHAPE": reshaped, "PAD": lambda rank: padded("PAD", rank),
    "PADV2": lambda rank: padded("PADV2", rank),
    "ADD": lambda rank: alike("ADD", "AddOptions", 2, [1] * (rank - 1) + [4]),
}


def cases(types=TYPES):
    """(words, model) of every case."""
    for name, make in BY_TYPE.items():
        for kind in types:
            yield (name, kind), make(kind)
    for name, make in BY_PAIR.items():
        for kind in types:
            for other in types:
                yield (name, f"{kind}/{other}"), make(kind, other)
    for name, make in BY_RANK.items():
        for rank in range(1, 8):
            yield (name, f"rank {rank}"), make(rank)("int8")
    for count in range(1, 13):
        yield ("CONCATENATION", f"{count} inputs"), joined(4, count)("int8")


def run_tflm(data):
    from tflite_micro import runtime

    interpreter = runtime.Interpreter.from_bytes(data, arena_size=1 << 20)
    index = 0
    while True:
        try:
            detail = interpreter.get_input_details(index)
        except IndexError:
            break
        interpreter.set_input(numpy.ones([int(size) for size in detail["shape"]], detail["dtype"]), index)
        index += 1
    interpreter.invoke()


def run_litert(data):
    from ai_edge_litert import interpreter as litert

    interpreter = litert.Interpreter(model_content=data, num_threads=1,
                                     experimental_op_resolver_type=litert.OpResolverType.BUILTIN_REF)
    interpreter.allocate_tensors()
    for detail in interpreter.get_input_details():
        interpreter.set_tensor(detail["index"], numpy.ones(detail["shape"], detail["dtype"]))
    interpreter.invoke()


def accepts(run, data):
    """Whether a model runs, in a process of its own: a kernel may end it."""
    child = os.fork()
    if child == 0:
        faulthandler.disable()
        with tempfile.TemporaryFile() as nowhere:
            os.dup2(nowhere.fileno(), 1)
            os.dup2(nowhere.fileno(), 2)
            try:
                run(data)
            except BaseException:  # pylint: disable=broad-except
                os._exit(1)
            os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def main():
    runtime = sys.argv[1]
    run = {"tflm": run_tflm, "litert": run_litert}[runtime]
    if runtime == "tflm":
        from tflite_micro import runtime as _
    accepted = {}
    for (name, words), maker in cases():
        # LiteRT has operators in versions; TFLM does not look at them.
        versions = [1] if runtime == "tflm" else range(1, 13)
        runs = any(accepts(run, maker.bytes(version)) for version in versions)
        accepted.setdefault(name, []).extend([words] if runs else [])
    for name, words in accepted.items():
        print(f"{name}: {', '.join(words)}")


if __name__ == "__main__":
    main()
