# SPDX-License-Identifier: Apache-2.0
"""Random int8 networks of a few layers: chains and graphs, all kinds of windows, paddings, zero points."""

import numpy
from tflite_micro.tensorflow.lite.micro.python import schema_py_generated as schema

from made_models import Maker

SAME, VALID = schema.Padding.SAME, schema.Padding.VALID
OPTIONS, OPERATOR, ACTIVATION = (schema.BuiltinOptions, schema.BuiltinOperator,
                                 schema.ActivationFunctionType)


def length(size, kernel, stride, dilation, padding):
    span = (kernel - 1) * dilation + 1
    return -(-size // stride) if padding == SAME else (size - span) // stride + 1


class Network(Maker):
    """`draw`: numpy's generator. The network's output is the last tensor; every tensor leads to it.
    Images are `scale` times as high and wide as the least ones."""

    least_rows = 2  # of the output of a layer

    def __init__(self, draw, scale):
        super().__init__()
        self.draw = draw
        self.made = [self.activation(self.first_shape(scale))]
        self.main.inputs = [self.made[0]]
        for _ in range(self.between(1, 6)):
            source = self.made[self.between(0, len(self.made) - 1)] if self.chance(5) else self.made[-1]
            self.layer()(source)
        self.drop_unused()
        self.main.outputs = [self.made[-1]]

    def first_shape(self, scale):
        return [1, scale * self.between(12, 24), scale * self.between(8, 16), self.between(1, 4)]

    def layer(self):
        return (self.window, self.window, self.window, self.pool, self.add, self.pad,
                self.concatenate)[self.between(0, 6)]

    def between(self, low, high):
        return int(self.draw.integers(low, high + 1))

    def chance(self, of):
        return self.between(1, of) == 1

    def shape(self, index):
        return list(self.main.tensors[index].shape)

    def quantised(self, index, scales, zero, axis=0):
        parameters = schema.QuantizationParametersT()
        parameters.scale, parameters.zeroPoint = list(scales), [zero] * len(scales)
        parameters.quantizedDimension = axis
        self.main.tensors[index].quantization = parameters
        return index

    def activation(self, shape, like=None, scale=0.05):
        index = self.tensor(shape)
        self.main.tensors[index].type = schema.TensorType.INT8
        if like is not None:
            self.main.tensors[index].quantization = self.main.tensors[like].quantization
            return index
        return self.quantised(index, [scale], self.between(-100, 100))

    def constant(self, values, kind):
        index = self.tensor(values.shape)
        buffer = schema.BufferT()
        buffer.data = numpy.frombuffer(values.tobytes(), numpy.uint8)
        self.model.buffers.append(buffer)
        self.main.tensors[index].buffer = len(self.model.buffers) - 1
        self.main.tensors[index].type = kind
        return index

    def scale_of(self, index):
        return self.main.tensors[index].quantization.scale[0]

    def window(self, source):
        batch, height, width, depth = self.shape(source)
        depthwise = self.chance(2)
        kernel, stride = (self.between(1, 5), self.between(1, 3)), (self.between(1, 3), self.between(1, 2))
        dilation = (self.between(1, 2), self.between(1, 2)) if stride == (1, 1) else (1, 1)
        padding = VALID if self.chance(4) else SAME
        out = [length(*sizes, padding) for sizes in zip((height, width), kernel, stride, dilation)]
        if out[0] < self.least_rows or out[1] < 2:
            return
        channels = depth * self.between(1, 2) if depthwise else self.between(1, 8)
        shape = [1, *kernel, channels] if depthwise else [channels, *kernel, depth]
        weights = self.constant(self.draw.integers(-127, 128, shape).astype(numpy.int8),
                                schema.TensorType.INT8)
        scales = [0.01 + 0.001 * c for c in range(channels)]
        self.quantised(weights, scales, 0, 3 if depthwise else 0)
        biases = self.constant(self.draw.integers(-500, 500, [channels]).astype("<i4"),
                               schema.TensorType.INT32)
        self.quantised(biases, [self.scale_of(source) * scale for scale in scales], 0)
        sums = kernel[0] * kernel[1] * (1 if depthwise else depth)
        target = self.activation([batch, *out, channels], scale=self.scale_of(source) * 0.8 * sums ** 0.5)
        options = schema.DepthwiseConv2DOptionsT() if depthwise else schema.Conv2DOptionsT()
        options.padding = padding
        options.strideH, options.strideW = stride
        options.dilationHFactor, options.dilationWFactor = dilation
        options.fusedActivationFunction = ACTIVATION.RELU if self.chance(2) else ACTIVATION.NONE
        if depthwise:
            options.depthMultiplier = channels // depth
        self.operator(OPERATOR.DEPTHWISE_CONV_2D if depthwise else OPERATOR.CONV_2D,
                      [source, weights, biases], [target],
                      OPTIONS.DepthwiseConv2DOptions if depthwise else OPTIONS.Conv2DOptions, options)
        self.made.append(target)

    def pool(self, source):
        batch, height, width, depth = self.shape(source)
        kernel, stride = (self.between(1, 3), self.between(1, 3)), (self.between(1, 2), self.between(1, 2))
        padding = VALID if self.chance(4) else SAME
        out = [length(*sizes, 1, padding) for sizes in zip((height, width), kernel, stride)]
        if out[0] < self.least_rows or out[1] < 2:
            return
        target = self.activation([batch, *out, depth], like=source)
        options = schema.Pool2DOptionsT()
        options.padding = padding
        options.strideH, options.strideW = stride
        options.filterHeight, options.filterWidth = kernel
        self.operator(OPERATOR.MAX_POOL_2D if self.chance(2) else OPERATOR.AVERAGE_POOL_2D, [source],
                      [target], OPTIONS.Pool2DOptions, options)
        self.made.append(target)

    def add(self, source):
        for other in reversed(self.made):
            if other != source and self.shape(other) == self.shape(source):
                target = self.activation(self.shape(source), scale=0.1)
                self.operator(OPERATOR.ADD, [source, other], [target], OPTIONS.AddOptions,
                              schema.AddOptionsT())
                self.made.append(target)
                return

    def pad(self, source):
        batch, height, width, depth = self.shape(source)
        amounts = numpy.array([[0, 0], [self.between(0, 2), self.between(0, 2)],
                               [self.between(0, 1), self.between(0, 1)], [0, 0]], "<i4")
        target = self.activation([batch, height + int(amounts[1].sum()), width + int(amounts[2].sum()),
                                  depth], like=source)
        self.operator(OPERATOR.PAD, [source, self.constant(amounts, schema.TensorType.INT32)], [target],
                      OPTIONS.PadOptions, schema.PadOptionsT())
        self.made.append(target)

    def concatenate(self, source):
        for other in reversed(self.made):
            if (other != source and self.shape(other)[:-1] == self.shape(source)[:-1]
                    and self.main.tensors[other].quantization is self.main.tensors[source].quantization):
                depth = self.shape(other)[-1] + self.shape(source)[-1]
                target = self.activation(self.shape(source)[:-1] + [depth], like=source)
                options = schema.ConcatenationOptionsT()
                options.axis = len(self.shape(source)) - 1
                self.operator(OPERATOR.CONCATENATION, [source, other], [target],
                              OPTIONS.ConcatenationOptions, options)
                self.made.append(target)
                return

    def drop_unused(self):
        wanted = {self.made[-1]}
        kept = []
        for operator in reversed(self.main.operators):
            if wanted.intersection(operator.outputs):
                kept.append(operator)
                wanted.update(operator.inputs)
        self.main.operators = kept[::-1]


class Decoder(Network):
    """Half of the layers resize, or exchange pixels and channels."""

    def layer(self):
        return (self.resize, self.blocks)[self.between(0, 1)] if self.chance(2) else super().layer()

    def resize(self, source):
        _, height, width, depth = self.shape(source)
        if height * width > 2000:
            return self.window(source)
        size = (height * 2 ** self.between(0, 2), width * 2 ** self.between(0, 2))
        sizes = self.constant(numpy.array(size, "<i4"), schema.TensorType.INT32)
        target = self.activation([1, *size, depth], like=source)
        if self.chance(2):
            code, kind = OPERATOR.RESIZE_BILINEAR, OPTIONS.ResizeBilinearOptions
            options = schema.ResizeBilinearOptionsT()
        else:
            code, kind = OPERATOR.RESIZE_NEAREST_NEIGHBOR, OPTIONS.ResizeNearestNeighborOptions
            options = schema.ResizeNearestNeighborOptionsT()
        options.alignCorners, options.halfPixelCenters = False, self.chance(2)
        self.operator(code, [source, sizes], [target], kind, options)
        self.made.append(target)

    def blocks(self, source):
        _, height, width, depth = self.shape(source)
        deepens = height % 2 == 0 and width % 2 == 0 and min(height, width) > 3 and depth < 12
        if deepens and self.chance(2):
            target = self.activation([1, height // 2, width // 2, depth * 4], like=source)
            options = schema.SpaceToDepthOptionsT()
            code, kind = OPERATOR.SPACE_TO_DEPTH, OPTIONS.SpaceToDepthOptions
        elif depth % 4 == 0 and height * width < 2000:
            target = self.activation([1, height * 2, width * 2, depth // 4], like=source)
            options = schema.DepthToSpaceOptionsT()
            code, kind = OPERATOR.DEPTH_TO_SPACE, OPTIONS.DepthToSpaceOptions
        else:
            return self.resize(source)
        options.blockSize = 2
        self.operator(code, [source], [target], kind, options)
        self.made.append(target)


class Placer(Network):
    """Half of the layers crop images, skip pixels, or spread them with transposed convolutions."""

    def layer(self):
        return (self.take, self.spread)[self.between(0, 1)] if self.chance(2) else super().layer()

    def take(self, source):
        sizes = self.shape(source)
        integers = schema.TensorType.INT32
        begins = [0, self.between(0, 1), self.between(0, 1), 0]
        steps = [1, self.between(1, 2), self.between(1, 2), 1] if self.chance(2) else None
        ends = [size - (self.between(0, 1) if 0 < d < 3 else 0) for d, size in enumerate(sizes)]
        step = steps or [1, 1, 1, 1]
        out = [-(-(end - begin) // by) for begin, end, by in zip(begins, ends, step)]
        if min(out[1:3]) < 2:
            return self.window(source)
        first = self.constant(numpy.array(begins, "<i4"), integers)
        target = self.activation(out, like=source)
        if steps is None:
            last = self.constant(numpy.array(out, "<i4"), integers)
            self.operator(OPERATOR.SLICE, [source, first, last], [target], OPTIONS.SliceOptions, schema.SliceOptionsT())
        else:
            last, by = (self.constant(numpy.array(some, "<i4"), integers) for some in (ends, steps))
            self.operator(OPERATOR.STRIDED_SLICE, [source, first, last, by], [target],
                          OPTIONS.StridedSliceOptions, schema.StridedSliceOptionsT())
        self.made.append(target)

    def spread(self, source):
        _, height, width, depth = self.shape(source)
        if height * width > 1200:
            return self.window(source)
        stride, padding = self.between(1, 2), SAME if self.chance(2) else VALID
        kernel, channels = self.between(stride, 4), self.between(1, 8)
        sizes = [size * stride if padding == SAME else (size - 1) * stride + kernel for size in (height, width)]
        shape = self.constant(numpy.array([1, *sizes, channels], "<i4"), schema.TensorType.INT32)
        weights = self.constant(self.draw.integers(-127, 128, [channels, kernel, kernel, depth]).astype(numpy.int8),
                                schema.TensorType.INT8)
        self.quantised(weights, [0.01 + 0.002 * channel for channel in range(channels)], 0)
        target = self.activation([1, *sizes, channels], scale=self.scale_of(source) * 0.6 * kernel * depth ** 0.5)
        options = schema.TransposeConvOptionsT()
        options.padding, options.strideH, options.strideW = padding, stride, stride
        self.operator(OPERATOR.TRANSPOSE_CONV, [shape, weights, source], [target],
                      OPTIONS.TransposeConvOptions, options)
        self.made.append(target)


class Divider(Network):
    """Half of the layers divide rows, columns or channels, and put two of the parts together again."""

    def layer(self):
        return self.divide if self.chance(2) else super().layer()

    def divide(self, source):
        axis, integers = self.between(1, 3), schema.TensorType.INT32
        sizes = self.shape(source)
        size = sizes[axis]
        if axis == 3 and size > 1 and self.chance(2):
            return self.unpack(source)
        if size < 4:
            return self.window(source)
        along = self.constant(numpy.array([axis], "<i4"), integers)
        even = size % 2 == 0 and self.chance(2)
        parts = [size // 2] * 2 if even else [size // 3, size - 2 * (size // 3), size // 3]
        targets = [self.activation(sizes[:axis] + [part] + sizes[axis + 1:], like=source) for part in parts]
        options = schema.SplitOptionsT() if even else schema.SplitVOptionsT()
        options.numSplits = len(parts)
        if even:
            self.operator(OPERATOR.SPLIT, [along, source], targets, OPTIONS.SplitOptions, options)
        else:
            lengths = self.constant(numpy.array(parts, "<i4"), integers)
            self.operator(OPERATOR.SPLIT_V, [source, lengths, along], targets, OPTIONS.SplitVOptions, options)
        self.rejoin(source, targets[-1], targets[0])

    def rejoin(self, source, first, second):
        if self.chance(2):
            target = self.activation(self.shape(first), scale=0.1)
            self.operator(OPERATOR.ADD, [first, second], [target], OPTIONS.AddOptions, schema.AddOptionsT())
        else:
            *outer, depth = self.shape(first)
            target = self.activation([*outer, 2 * depth], like=source)
            options = schema.ConcatenationOptionsT()
            options.axis = len(outer)
            self.operator(OPERATOR.CONCATENATION, [first, second], [target], OPTIONS.ConcatenationOptions, options)
        self.made.append(target)

    def unpack(self, source):
        *outer, depth = self.shape(source)
        targets = [self.activation(outer, like=source) for _ in range(depth)]
        options = schema.UnpackOptionsT()
        options.num, options.axis = depth, 3
        self.operator(OPERATOR.UNPACK, [source], targets, OPTIONS.UnpackOptions, options)
        target = self.activation(outer, scale=0.1)
        self.operator(OPERATOR.ADD, [targets[-1], targets[0]], [target], OPTIONS.AddOptions, schema.AddOptionsT())
        image = self.activation([*outer, 1], like=target)
        options = schema.ReshapeOptionsT()
        options.newShape = [*outer, 1]
        shape = self.constant(numpy.array(options.newShape, "<i4"), schema.TensorType.INT32)
        self.operator(OPERATOR.RESHAPE, [target, shape], [image], OPTIONS.ReshapeOptions, options)
        self.made.append(image)


class Tokens(Network):
    """Rows of channels: products of each row with a matrix, attention, sums, channels side by side."""

    def first_shape(self, scale):
        rows, channels = self.between(8, 40), self.between(2, 12)
        return [1, rows, channels] if self.chance(2) else [rows, channels]

    def layer(self):
        return (self.product, self.product, self.add, self.concatenate, self.attention)[self.between(0, 4)]

    def product(self, source):
        *rows, depth = self.shape(source)
        channels = self.between(2, 32)
        weights = self.constant(self.draw.integers(-127, 128, [channels, depth]).astype(numpy.int8),
                                schema.TensorType.INT8)
        self.quantised(weights, [0.01], 0)
        biases = self.constant(self.draw.integers(-500, 500, [channels]).astype("<i4"),
                               schema.TensorType.INT32)
        self.quantised(biases, [self.scale_of(source) * 0.01], 0)
        target = self.activation([*rows, channels], scale=self.scale_of(source) * 0.6 * depth ** 0.5)
        options = schema.FullyConnectedOptionsT()
        options.keepNumDims = True
        options.fusedActivationFunction = ACTIVATION.RELU if self.chance(2) else ACTIVATION.NONE
        self.operator(OPERATOR.FULLY_CONNECTED, [source, weights, biases], [target],
                      OPTIONS.FullyConnectedOptions, options)
        self.made.append(target)

    def matrices(self, first, second, target, turned):
        options = schema.BatchMatMulOptionsT()
        options.adjX, options.adjY = False, turned
        self.operator(OPERATOR.BATCH_MATMUL, [first, second], [target], OPTIONS.BatchMatMulOptions, options)

    def attention(self, source):
        """Each row is a query, a key and a value."""
        *rows, depth = self.shape(source)
        if len(rows) < 2:
            return
        scores = self.activation([*rows, rows[-1]], scale=self.scale_of(source) ** 2 * 40 * depth ** 0.5)
        self.matrices(source, source, scores, True)
        weights = self.quantised(self.activation([*rows, rows[-1]]), [1 / 256], -128)
        options = schema.SoftmaxOptionsT()
        options.beta = 1.0
        self.operator(OPERATOR.SOFTMAX, [scores], [weights], OPTIONS.SoftmaxOptions, options)
        target = self.activation(self.shape(source), scale=self.scale_of(source))
        self.matrices(weights, source, target, False)
        self.made.append(target)


class Heads(Tokens):
    """A wide product of each row at the end, and the mean of all rows: no band of rows reaches it."""

    def drop_unused(self):
        *rows, _ = self.shape(self.made[-1])
        self.product(self.made[-1])
        source = self.made[-1]
        options = schema.ReducerOptionsT()
        options.keepDims = True
        shape = [*rows[:-1], 1, self.shape(source)[-1]]
        axes = self.constant(numpy.array([len(rows) - 1], "<i4"), schema.TensorType.INT32)
        target = self.activation(shape, like=source)
        self.operator(OPERATOR.MEAN, [source, axes], [target], OPTIONS.ReducerOptions, options)
        self.made.append(target)
        super().drop_unused()


class Batch(Network):
    """Several images, often with the mean of each at the end."""

    def __init__(self, draw, scale):
        self.ends = draw.integers(2) == 1
        super().__init__(draw, scale)

    def first_shape(self, scale):
        return [self.between(2, 6), *super().first_shape(scale)[1:]]

    def drop_unused(self):
        if self.ends:
            self.mean(self.made[-1])
        super().drop_unused()

    def mean(self, source):
        batch, _, _, depth = self.shape(source)
        options = schema.ReducerOptionsT()
        options.keepDims = self.chance(2)
        target = self.activation([batch, 1, 1, depth] if options.keepDims else [batch, depth], like=source)
        axes = self.constant(numpy.array([1, 2], "<i4"), schema.TensorType.INT32)
        self.operator(OPERATOR.MEAN, [source, axes], [target], OPTIONS.ReducerOptions, options)
        self.made.append(target)


class Signal(Network):
    """Convolutions over time as images of one row, and sums of three dimensions between them."""

    least_rows = 1

    def first_shape(self, scale):
        return [1, 1, scale * self.between(60, 200), self.between(1, 4)]

    def layer(self):
        return (self.window, self.window, self.pool, self.turn)[self.between(0, 3)]

    def reshape(self, source, shape):
        target = self.activation(shape, like=source)
        options = schema.ReshapeOptionsT()
        options.newShape = shape
        sizes = self.constant(numpy.array(shape, "<i4"), schema.TensorType.INT32)
        self.operator(OPERATOR.RESHAPE, [source, sizes], [target], OPTIONS.ReshapeOptions, options)
        return target

    def turn(self, source):
        shape = self.shape(source)
        signal = self.reshape(source, shape[1:] if self.chance(2) else [shape[0], shape[2], shape[3]])
        total = self.activation(self.shape(signal), scale=0.1)
        self.operator(OPERATOR.ADD, [signal, signal], [total], OPTIONS.AddOptions, schema.AddOptionsT())
        self.made.append(self.reshape(total, shape))


def count(data, *codes):
    """Operators of these codes in the first subgraph of a .tflite."""
    model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(data, 0))
    known = [max(code.builtinCode, code.deprecatedBuiltinCode) for code in model.operatorCodes]
    return sum(known[operator.opcodeIndex] in codes for operator in model.subgraphs[0].operators)


def random_network(seed, scale=1, layers=1, kind=Network):
    """The bytes of a .tflite with at least so many layers."""
    draw = numpy.random.default_rng([2024, seed])
    while True:
        network = kind(draw, scale)
        if len(network.main.operators) >= layers:
            return network.bytes()
