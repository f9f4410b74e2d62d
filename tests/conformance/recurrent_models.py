# SPDX-License-Identifier: Apache-2.0
"""Models of one recurrent operator, with seeded weights."""

import numpy

from made_models import Maker, schema

TYPES = {"float32": schema.TensorType.FLOAT32, "int8": schema.TensorType.INT8,
         "int16": schema.TensorType.INT16, "int32": schema.TensorType.INT32}


class RecurrentMaker(Maker):
    def __init__(self, seed):
        super().__init__()
        self.draw = numpy.random.default_rng(seed)

    def typed(self, shape, dtype, data=None, scale=None, zero=0, variable=False):
        index = self.tensor(shape)
        tensor = self.main.tensors[index]
        tensor.type = TYPES[dtype]
        tensor.isVariable = variable
        if scale is not None:
            tensor.quantization = schema.QuantizationParametersT()
            tensor.quantization.scale = [float(numpy.float32(scale))]
            tensor.quantization.zeroPoint = [zero]
        if data is not None:
            buffer = schema.BufferT()
            buffer.data = numpy.frombuffer(data.astype(dtype).tobytes(), numpy.uint8)
            self.model.buffers.append(buffer)
            tensor.buffer = len(self.model.buffers) - 1
        return index

    def floats(self, shape, size=1.0):
        return self.typed(shape, "float32", self.draw.uniform(-size, size, shape))

    def int8s(self, shape, scale):
        return self.typed(shape, "int8", self.draw.integers(-127, 128, shape), scale)

    def int32s(self, shape, most, scale):
        return self.typed(shape, "int32", self.draw.integers(-most, most + 1, shape), scale)

    def finish(self, source, target, code, inputs, options_type, options, between=()):
        self.operator(code, inputs, [target], options_type, options)
        if between:
            self.main.operators[-1].intermediates = list(between)
        self.main.inputs, self.main.outputs = [source], [target]
        return self.bytes()


def svdf_float(seed, batches=2, width=5, units=3, rank=2, memory=4, activation=0):
    maker = RecurrentMaker(seed)
    source, target = maker.typed([batches, width], "float32"), maker.typed([batches, units], "float32")
    inputs = [source, maker.floats([units * rank, width]), maker.floats([units * rank, memory]),
              maker.floats([units]),
              maker.typed([batches, memory * units * rank], "float32", variable=True)]
    options = schema.SVDFOptionsT()
    options.rank, options.fusedActivationFunction = rank, activation
    return maker.finish(source, target, schema.BuiltinOperator.SVDF, inputs,
                        schema.BuiltinOptions.SVDFOptions, options)


def svdf_int8(seed, batches=2, width=9, units=4, rank=2, memory=5):
    maker = RecurrentMaker(seed)
    source = maker.typed([batches, width], "int8", scale=0.031, zero=-7)
    target = maker.typed([batches, units], "int8", scale=0.047, zero=-128 + seed % 50)
    times = maker.typed([units * rank, memory], "int16",
                        maker.draw.integers(-32767, 32768, [units * rank, memory]), 3e-5)
    inputs = [source, maker.int8s([units * rank, width], 0.008), times,
              maker.int32s([units], 20000, 3e-5 * 4e-4),
              maker.typed([batches, memory * units * rank], "int16", scale=4e-4, variable=True)]
    options = schema.SVDFOptionsT()
    options.rank = rank
    options.fusedActivationFunction = schema.ActivationFunctionType.RELU
    return maker.finish(source, target, schema.BuiltinOperator.SVDF, inputs,
                        schema.BuiltinOptions.SVDFOptions, options)


def lstm_options(time_major, cell_clip, projection_clip=0.0):
    options = schema.UnidirectionalSequenceLSTMOptionsT()
    options.fusedActivationFunction = schema.ActivationFunctionType.TANH
    options.timeMajor = time_major
    options.cellClip, options.projClip = cell_clip, projection_clip
    return options


def lstm_float(seed, batches=2, steps=4, width=3, cells=5, outputs=None, time_major=False,
               coupled=False, peepholes=False, norms=False, cell_clip=0.0, projection_clip=0.0):
    maker = RecurrentMaker(seed)
    projects, outputs = outputs is not None, outputs or cells
    lead = [steps, batches] if time_major else [batches, steps]
    source = maker.typed([*lead, width], "float32")
    target = maker.typed([*lead, outputs], "float32")

    def gates(make, left_out=()):
        return [-1 if gate in left_out else make() for gate in range(4)]

    first = (0,) if coupled else ()
    peeps = gates(lambda: maker.floats([cells]), (*first, 2)) if peepholes else [-1] * 4
    inputs = [source, *gates(lambda: maker.floats([cells, width]), first),
              *gates(lambda: maker.floats([cells, outputs]), first), peeps[0], peeps[1], peeps[3],
              *gates(lambda: maker.floats([cells]), first),
              maker.floats([outputs, cells]) if projects else -1,
              maker.floats([outputs]) if projects else -1,
              maker.typed([batches, outputs], "float32", variable=True),
              maker.typed([batches, cells], "float32", variable=True),
              *(gates(lambda: maker.floats([cells]), first) if norms else [-1] * 4)]
    between = [maker.typed([0], "float32") for _ in range(5)] if norms else ()
    return maker.finish(source, target, schema.BuiltinOperator.UNIDIRECTIONAL_SEQUENCE_LSTM, inputs,
                        schema.BuiltinOptions.UnidirectionalSequenceLSTMOptions,
                        lstm_options(time_major, cell_clip, projection_clip), between)


def lstm_int8(seed, batches=1, steps=6, width=7, cells=8, time_major=False, coupled=False,
              cell_clip=0.0, state_zero=0, hidden_zero=0, cell_power=-12, size=0.02):
    """`hidden_zero`, of the values before a projection, is that of the state in files that a
    converter wrote."""
    maker = RecurrentMaker(seed)
    lead = [steps, batches] if time_major else [batches, steps]
    source = maker.typed([*lead, width], "int8", scale=0.0157, zero=3)
    target = maker.typed([*lead, cells], "int8", scale=0.0078, zero=state_zero)
    skipped = (0,) if coupled else ()

    def gates(make):
        return [-1 if gate in skipped else make() for gate in range(4)]

    inputs = [source, *gates(lambda: maker.int8s([cells, width], size)),
              *gates(lambda: maker.int8s([cells, cells], size)), -1, -1, -1,
              *gates(lambda: maker.int32s([cells], 3000, size * 0.0157)), -1, -1,
              maker.typed([batches, cells], "int8", scale=0.0078, zero=state_zero, variable=True),
              maker.typed([batches, cells], "int16", scale=2.0 ** cell_power, variable=True),
              -1, -1, -1, -1]
    between = [maker.typed([0], "float32") for _ in range(4)]
    between.append(maker.typed([0], "int8", scale=0.0078, zero=hidden_zero))
    return maker.finish(source, target, schema.BuiltinOperator.UNIDIRECTIONAL_SEQUENCE_LSTM, inputs,
                        schema.BuiltinOptions.UnidirectionalSequenceLSTMOptions,
                        lstm_options(time_major, cell_clip), between)
