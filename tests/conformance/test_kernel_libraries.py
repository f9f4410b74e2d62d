# SPDX-License-Identifier: Apache-2.0
"""Neap's sizes of the scratch of CMSIS-NN and ESP-NN against those libraries themselves, on random
shapes. The wheel of ExecuTorch has CMSIS-NN's size functions for all its instruction sets, and the
package bakenn has the sources of ESP-NN. Nothing of either is in this repository."""

import ctypes
import importlib.util
import pathlib
import random
import shutil
import subprocess
import sysconfig

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHAPES = 4000
BACKENDS = ("SCALAR", "DSP", "MVE")


def installed(package, pattern):
    """Files of an installed package, without importing it: ExecuTorch would import torch."""
    folder = pathlib.Path(sysconfig.get_paths()["purelib"]) / package
    files = sorted(folder.glob(pattern))
    if not files:
        pytest.skip(f"no wheel of {package} with {pattern}")
    return files


@pytest.fixture(name="sizes", scope="module")
def sizes_of_neap(tmp_path_factory):
    """A function from lines of input to sizes, by Neap's own code."""
    compiler = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    program = tmp_path_factory.mktemp("sizes") / "scratch_sizes"
    sources = [ROOT / "tests/conformance/scratch_sizes.cc", ROOT / "neap/target/cmsis_nn.cc",
               ROOT / "neap/target/esp_nn.cc"]
    subprocess.run([compiler, "-std=c++20", "-I", ROOT, *sources, "-o", program], check=True)

    def run(lines):
        text = "".join(" ".join(map(str, line)) + "\n" for line in lines)
        done = subprocess.run([program], input=text, capture_output=True, text=True, check=True)
        return [int(line) for line in done.stdout.split()]

    return run


@pytest.fixture(name="cmsis_nn", scope="module")
def cmsis_nn_module():
    path = installed("executorch", "backends/cortex_m/library/_cmsis_nn/cmsis_nn.*.so")[0]
    spec = importlib.util.spec_from_file_location("cmsis_nn", path)
    try:
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    except ImportError as error:
        pytest.skip(f"the wheel of executorch does not run here: {error}")
    return module


class Shape:
    """A random convolution as TFLM has it: padding SAME or VALID."""

    def __init__(self, rng, depthwise=False, transposed=False):
        self.batches = rng.choice((1, 1, 1, 2))
        small = rng.random() < 0.3
        self.filter = (rng.choice((1, 1, 3, 3, 5, rng.randint(1, 11))),
                       rng.choice((1, 3, 3, 5, rng.randint(1, 11))))
        if rng.random() < 0.2:
            self.filter = (1, self.filter[1])
        self.stride = (rng.choice((1, 1, 2, 3)), rng.choice((1, 1, 2, 3)))
        self.dilation = (1, 1)
        if not transposed and rng.random() < 0.15:
            self.dilation = (rng.choice((1, 2)), rng.choice((1, 2)))
        least = [(k - 1) * d + 1 for k, d in zip(self.filter, self.dilation)]
        self.size = [lowest + rng.randint(0, 4 if small else 90) for lowest in least]
        if self.filter[0] == 1 and rng.random() < 0.6:
            self.size[0] = 1
        self.channels = rng.choice((1, 2, 3, 4, 8, 12, 16, 24, 32, 64, 128, rng.randint(1, 300)))
        multiplier = rng.choice((1, 1, 1, 1, 2, 4, 8)) if depthwise else 0
        self.out_channels = self.channels * multiplier if depthwise else rng.randint(1, 300)
        if transposed:
            self.out = [size * s for size, s in zip(self.size, self.stride)]
            self.padding = (0, 0)
            return
        same = rng.random() < 0.6
        self.out, padding = [], []
        for size, reach, stride in zip(self.size, least, self.stride):
            out = -(-size // stride) if same else (size - reach) // stride + 1
            self.out.append(out)
            padding.append(max((out - 1) * stride + reach - size, 0) // 2)
        self.padding = tuple(padding)

    def numbers(self):
        return (self.batches, *self.size, self.channels, *self.filter, *self.out, self.out_channels,
                *self.stride, *self.dilation, *self.padding)

    def nhwc(self, depthwise=False):
        """Input, filter and output as CMSIS-NN has them."""
        filters = 1 if depthwise else self.out_channels
        return ([self.batches, *self.size, self.channels],
                [filters, *self.filter, self.out_channels if depthwise else self.channels],
                [self.batches, *self.out, self.out_channels])


def compared(sizes, lines, expected):
    got = sizes(lines)
    assert len(got) == len(expected) == len(lines)
    wrong = [(line, mine, theirs) for line, mine, theirs in zip(lines, got, expected) if mine != theirs]
    assert not wrong, f"{len(wrong)} of {len(lines)}: {wrong[:3]}"
    # Not all by the same branch.
    assert len(set(expected)) > len(expected) // 20


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function, data_type", [("conv_s8", "A8W8"), ("conv_s16", "A16W8")])
def test_cmsis_nn_convolutions(sizes, cmsis_nn, backend, function, data_type):
    rng = random.Random(f"{backend} {function}")
    shapes = [Shape(rng) for _ in range(SHAPES)]
    lines = [(f"cmsis.{function}", backend, *shape.numbers()) for shape in shapes]
    expected = [cmsis_nn.convolve_wrapper_buffer_size(
        getattr(cmsis_nn.Backend, backend), getattr(cmsis_nn.DataType, data_type), *shape.nhwc(),
        shape.padding, shape.stride, shape.dilation) for shape in shapes]
    compared(sizes, lines, expected)


@pytest.mark.parametrize("backend, function, data_type",
                         [("DSP", "depthwise_s8", "A8W8"), ("MVE", "depthwise_s8", "A8W8"),
                          ("DSP", "depthwise_s4", "A8W4"), ("MVE", "depthwise_s4", "A8W4")])
def test_cmsis_nn_depthwise_convolutions(sizes, cmsis_nn, backend, function, data_type):
    rng = random.Random(f"{backend} {function}")
    shapes = [Shape(rng, depthwise=True) for _ in range(SHAPES)]
    lines = [(f"cmsis.{function}", backend, *shape.numbers()) for shape in shapes]
    expected = [cmsis_nn.depthwise_conv_wrapper_buffer_size(
        getattr(cmsis_nn.Backend, backend), getattr(cmsis_nn.DataType, data_type),
        *shape.nhwc(depthwise=True), shape.padding, shape.stride, shape.dilation,
        shape.out_channels // shape.channels) for shape in shapes]
    got = sizes(lines)
    assert got == expected
    assert len(set(expected)) > 20 and 0 in expected


@pytest.mark.parametrize("backend", BACKENDS)
def test_cmsis_nn_transposed_convolutions(sizes, cmsis_nn, backend):
    rng = random.Random(f"{backend} transposed")
    shapes = [Shape(rng, transposed=True) for _ in range(SHAPES)]
    kind = (getattr(cmsis_nn.Backend, backend), cmsis_nn.DataType.A8W8)
    lines = [("cmsis.transpose_s8", backend, *shape.numbers()) for shape in shapes]
    expected = [cmsis_nn.transpose_conv_buffer_size(*kind, *shape.nhwc(), shape.padding, shape.stride,
                                                    shape.dilation) for shape in shapes]
    lines += [("cmsis.reverse_s8", backend, *shape.numbers()) for shape in shapes]
    expected += [cmsis_nn.transpose_conv_reverse_conv_buffer_size(
        *kind, *shape.nhwc()[:2], shape.padding, shape.stride) for shape in shapes]
    compared(sizes, lines, expected)


@pytest.mark.parametrize("backend", BACKENDS)
def test_cmsis_nn_lists(sizes, cmsis_nn, backend):
    """One number for each channel, or none."""
    kind = (getattr(cmsis_nn.Backend, backend), cmsis_nn.DataType.A8W8)
    numbers = range(1, 1500, 7)
    lines, expected = [], []
    for number in numbers:
        lines.append(("cmsis.average_pool", backend, number))
        expected.append(cmsis_nn.avgpool_buffer_size(*kind, 3, number))
        lines.append(("cmsis.fully_connected_s8", backend, number))
        expected.append(cmsis_nn.fully_connected_buffer_size(*kind, [17, 1, 1, number]))
        lines.append(("cmsis.svdf_s8", backend, number))
        expected.append(cmsis_nn.svdf_buffer_size(*kind, [number, 9, 1, 1]))
    assert sizes(lines) == expected
    assert backend == "SCALAR" or max(expected) > 1000
    pool16 = [cmsis_nn.avgpool_buffer_size(kind[0], cmsis_nn.DataType.A16W8, 3, n) for n in numbers]
    assert sizes([("cmsis.average_pool", backend, n) for n in numbers]) == pool16


class Dims(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int32) for name in ("width", "height", "channels", "extra")]


class ConvParams(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int32) for name in
                ("in_offset", "out_offset", "stride_w", "stride_h", "pad_w", "pad_h", "dilation_w",
                 "dilation_h", "least", "most")]


class DepthwiseParams(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int32) for name in
                ("in_offset", "out_offset", "multiplier", "stride_w", "stride_h", "pad_w", "pad_h",
                 "dilation_w", "dilation_h", "least", "most")]


@pytest.fixture(name="esp_nn", scope="module")
def esp_nn_library(tmp_path_factory):
    """The C sources of ESP-NN for the ESP32-S3, compiled here: kernels that they call in assembler
    stay unresolved, as only functions of sizes are called."""
    root = installed("bakenn", "backend/esp_nn/vendor/esp_nn/include/esp_nn.h")[0].parents[1]
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler")
    library = tmp_path_factory.mktemp("esp_nn") / "esp_nn.so"
    sources = [root / "src" / name for name in
               ("convolution/esp_nn_conv_esp32s3.c", "convolution/esp_nn_depthwise_conv_s8_esp32s3.c",
                "softmax/esp_nn_softmax_s8_esp32s3.c")]
    done = subprocess.run(
        [compiler, "-w", "-O1", "-shared", "-fPIC", "-Wl,-z,lazy", "-I", root / "include", "-I",
         root / "src/common", *sources, "-o", library], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return ctypes.CDLL(str(library), mode=1)  # RTLD_LAZY


def esp_nn_dims(shape):
    return (Dims(shape.size[1], shape.size[0], shape.channels, 1),
            Dims(shape.filter[1], shape.filter[0], 0, 0),
            Dims(shape.out[1], shape.out[0], shape.out_channels, 1))


def test_esp_nn(sizes, esp_nn):
    rng = random.Random("esp-nn")
    lines, expected = [], []
    for _ in range(SHAPES):
        shape = Shape(rng)
        window = (*shape.stride[::-1], *shape.padding[::-1], 0, 0, -128, 127)
        dims = esp_nn_dims(shape)
        lines.append(("esp.conv_s8", "S3", *shape.numbers()))
        expected.append(esp_nn.esp_nn_get_conv_scratch_size_esp32s3(
            *map(ctypes.byref, dims), ctypes.byref(ConvParams(0, 0, *window))))
    for _ in range(SHAPES):
        shape = Shape(rng, depthwise=True)
        window = (*shape.stride[::-1], *shape.padding[::-1], 0, 0, -128, 127)
        dims = esp_nn_dims(shape)
        multiplier = shape.out_channels // shape.channels
        lines.append(("esp.depthwise_s8", "S3", *shape.numbers()))
        expected.append(esp_nn.esp_nn_get_depthwise_conv_scratch_size_esp32s3(
            *map(ctypes.byref, dims), ctypes.byref(DepthwiseParams(0, 0, multiplier, *window))))
    for width in range(1, 200):
        lines.append(("esp.softmax_s8", "S3", width))
        expected.append(esp_nn.esp_nn_get_softmax_scratch_size_esp32s3(width, 1))
    compared(sizes, lines, expected)
