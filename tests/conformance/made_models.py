# SPDX-License-Identifier: Apache-2.0
"""Small .tflite models made by the tests, by flatbuffers and the schema of the TFLM wheel."""

import flatbuffers
import numpy
from tflite_micro.tensorflow.lite.micro.python import schema_py_generated as schema


class Maker:
    """A model of float32 tensors [1, n]."""

    def __init__(self):
        self.model = schema.ModelT()
        self.model.version = 3
        self.model.buffers = [schema.BufferT()]
        self.model.operatorCodes = []
        self.main = schema.SubGraphT()
        self.main.tensors, self.main.operators = [], []
        self.main.inputs, self.main.outputs = [], []
        self.model.subgraphs = [self.main]
        self.codes = {}

    def tensor(self, shape, data=None):
        tensor = schema.TensorT()
        tensor.name = f"t{len(self.main.tensors)}"
        tensor.shape = list(shape)
        tensor.type = schema.TensorType.FLOAT32
        tensor.buffer = 0
        if data is not None:
            buffer = schema.BufferT()
            buffer.data = numpy.frombuffer(data.astype("<f4").tobytes(), numpy.uint8)
            self.model.buffers.append(buffer)
            tensor.buffer = len(self.model.buffers) - 1
        self.main.tensors.append(tensor)
        return len(self.main.tensors) - 1

    def operator(self, code, inputs, outputs, options_type=0, options=None):
        if code not in self.codes:
            entry = schema.OperatorCodeT()
            entry.builtinCode = code
            entry.deprecatedBuiltinCode = min(code, 127)
            entry.version = 1
            self.codes[code] = len(self.model.operatorCodes)
            self.model.operatorCodes.append(entry)
        made = schema.OperatorT()
        made.opcodeIndex = self.codes[code]
        made.inputs, made.outputs = list(inputs), list(outputs)
        made.builtinOptionsType, made.builtinOptions = options_type, options
        self.main.operators.append(made)

    def fully_connected(self, source, size, weights):
        target = self.tensor([1, size])
        depth = self.main.tensors[source].shape[1]
        filters = self.tensor([size, depth], weights.normal(size=(size, depth)) / depth ** 0.5)
        self.operator(schema.BuiltinOperator.FULLY_CONNECTED, [source, filters, -1], [target],
                      schema.BuiltinOptions.FullyConnectedOptions, schema.FullyConnectedOptionsT())
        return target

    def add(self, first, second):
        target = self.tensor(self.main.tensors[first].shape)
        self.operator(schema.BuiltinOperator.ADD, [first, second], [target],
                      schema.BuiltinOptions.AddOptions, schema.AddOptionsT())
        return target

    def bytes(self):
        builder = flatbuffers.Builder(1024)
        builder.Finish(self.model.Pack(builder), b"TFL3")
        return bytes(builder.Output())


def crowded(seed):
    """Tensors of random sizes and lifetimes that fill the same number of bytes again and again, so that
    few placements fit, in the order of the file. The last consumers' outputs of four floats are
    added up."""
    state = seed * 2654435761 % 2 ** 32

    def draw(low, high):
        nonlocal state
        state = (state * 1664525 + 1013904223) % 2 ** 32
        return low + (state >> 8) % (high - low + 1)

    maker = Maker()
    weights = numpy.random.default_rng(seed)
    source = maker.tensor([1, 4])
    maker.main.inputs = [source]
    total = source
    live = []
    free = draw(8, 14)
    for _ in range(draw(6, 14)):
        while free > 0:
            size = min(draw(1, 6), free)
            live.append((maker.fully_connected(total, 16 * size, weights), size))
            free -= size
        for _ in range(draw(1, max(1, len(live) - 2))):
            tensor, size = live.pop(draw(0, len(live) - 1))
            total = maker.add(total, maker.fully_connected(tensor, 4, weights))
            free += size
            if not live:
                break
    for tensor, _ in live:
        total = maker.add(total, maker.fully_connected(tensor, 4, weights))
    maker.main.outputs = [total]
    return maker.bytes()
