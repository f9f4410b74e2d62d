# SPDX-License-Identifier: Apache-2.0
"""Every file that the zoo writes, in stock runtimes.

.onnx: the checker accepts it and ONNX Runtime runs it. Float .tflite: LiteRT (reference kernels) and
TensorFlow Lite Micro compute what ONNX Runtime does. Int8 .tflite: both run it with the same bytes,
or the difference is listed; activations do not saturate; outputs follow the input and the float ones.
The short form takes the smaller networks and the MobileNets, --long all.
"""

import pathlib
import subprocess
import sys

import pytest

numpy = pytest.importorskip("numpy", reason="no wheel of numpy")
onnx = pytest.importorskip("onnx", reason="no wheel of onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="no wheel of onnxruntime")

from tensors import same_bytes  # noqa: E402
from test_tflite_runtimes import SEEDS, Run  # noqa: E402

SHORT_ONNX = {"randwire-ws-cifar10", "randwire-er-weighted", "darts-imagenet-cell", "darts-v1-cifar",
              "nasnet-mobile", "pnasnet-cifar", "swiftnet", "mobilenet-v1-vww", "mobilenet-v2",
              "mobilenet-v3-small", "efficientnet-lite0", "unet++", "ds-cnn", "resnet8", "vit-tiny"}
SHORT_TFLITE = {"randwire-cell-ws", "randwire-ws-cifar10", "darts-imagenet-cell", "swiftnet",
                "mobilenet-v1", "mobilenet-v1-vww", "mobilenet-v2", "mobilenet-v3-small", "ds-cnn",
                "resnet8"}
SMALL_V2 = ("mobilenet-v2", "--width-multiplier", "0.35", "--resolution", "96")

# Of the float outputs, as a share of the largest one.
FLOAT_TOLERANCE = 2e-5
# Between the real values of the int8 outputs and the float ones.
LEAST_CORRELATION = 0.9
# Of the values of one activation over all runs: a share, or single ones of a small activation.
MOST_SATURATED = 0.002
FEW_SATURATED = 3
# Where TFLM and LiteRT do not agree to the byte: FULLY_CONNECTED rounds in one or in two steps.
MOST_DIFFERENT = 0.01
SECONDS = 1800


def listed(program):
    """The networks by name, with whether they can be .tflite."""
    try:
        lines = subprocess.run([program, "zoo", "--list"], stdout=subprocess.PIPE, check=True,
                               stdin=subprocess.DEVNULL).stdout.decode().splitlines()
    except OSError:
        return {}
    return {line.split()[0]: " tflite int8 " in line for line in lines[1:]
            if not line.startswith(" ")}


def pytest_generate_tests(metafunc):
    long = metafunc.config.getoption("--long")
    names = listed(metafunc.config.getoption("--neap"))
    if "onnx_network" in metafunc.fixturenames:
        metafunc.parametrize("onnx_network", [name for name in names if long or name in SHORT_ONNX])
    if "tflite_network" in metafunc.fixturenames:
        chosen = [(name,) for name, tflite in names.items() if tflite and (long or name in SHORT_TFLITE)]
        metafunc.parametrize("tflite_network", [*chosen, SMALL_V2], ids=" ".join)


def steps_of(seed, shape):
    """An image in steps of 1/128: noise, or for odd seeds coarse patches."""
    draw = numpy.random.default_rng(seed)
    if seed % 2 == 0 or len(shape) != 4:
        return draw.integers(-128, 128, shape).astype(numpy.int8)
    patches = draw.integers(-128, 128, (*shape[:2], 8, 8))
    rows, columns = (-(-size // 8) for size in shape[2:])
    image = patches.repeat(rows, 2).repeat(columns, 3)
    return image[:, :, :shape[2], :shape[3]].astype(numpy.int8)


def channels_last(array):
    return numpy.ascontiguousarray(array.transpose(0, 2, 3, 1)) if array.ndim == 4 else array


class OnnxModel:
    def __init__(self, path):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 4
        self.session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self.shapes = [tensor.shape for tensor in self.session.get_inputs()]

    def run(self, images):
        names = [tensor.name for tensor in self.session.get_inputs()]
        floats = [image.astype(numpy.float32) / 128 for image in images]
        return self.session.run(None, dict(zip(names, floats)))


def run_tflite(runtime, model, runs, folder):
    """The outputs of each run, and the saturated tensors."""
    given, output = folder / "inputs.npz", folder / "outputs.npz"
    numpy.savez(given, **{f"{run}_{index:03}": array for run, arrays in runs.items()
                          for index, array in enumerate(arrays)})
    program = pathlib.Path(__file__).with_name("run_inputs.py")
    result = subprocess.run([sys.executable, "-B", program, runtime, model, given, output],
                            capture_output=True, timeout=SECONDS, check=False, stdin=subprocess.DEVNULL)
    assert result.returncode == 0, result.stderr.decode(errors="replace")[-2000:]
    with numpy.load(output) as arrays:
        return ({run: [arrays[name] for name in sorted(arrays.files) if name.startswith(f"{run}_")]
                 for run in runs}, arrays["saturated"] if "saturated" in arrays.files else None)


def write(neap, words, path):
    result = neap.run("zoo", *words, "-o", path, timeout=SECONDS)
    assert result.returncode == 0, result.stderr


def all_different(outputs):
    texts = {b"".join(array.tobytes() for array in arrays) for arrays in outputs.values()}
    return len(texts) == len(outputs)


def test_onnx(neap, onnx_network, tmp_path):
    path = tmp_path / "zoo.onnx"
    write(neap, [onnx_network], path)
    onnx.checker.check_model(str(path), full_check=True)
    model = OnnxModel(path)
    outputs = {seed: model.run([steps_of((seed + 10 * i), shape) for i, shape in enumerate(model.shapes)])
               for seed in (1, 2)}
    assert all_different(outputs)
    for arrays in outputs.values():
        for array in arrays:
            assert numpy.isfinite(array).all()
            assert array.std() > 0


@pytest.fixture
def references(neap, tflite_network, tmp_path):
    """Images, and ONNX Runtime's outputs for them, both channels last."""
    path = tmp_path / "zoo.onnx"
    write(neap, tflite_network, path)
    model = OnnxModel(path)
    images = {seed: [steps_of(seed + 10 * i, shape) for i, shape in enumerate(model.shapes)]
              for seed in (1, 2, 3)}
    outputs = {seed: [channels_last(array) for array in model.run(arrays)]
               for seed, arrays in images.items()}
    path.unlink()
    return {seed: [channels_last(array) for array in arrays] for seed, arrays in images.items()}, outputs


def test_float_tflite(neap, tflite_network, references, tmp_path):
    pytest.importorskip("tflite_micro", reason="no wheel of tflite-micro")
    pytest.importorskip("ai_edge_litert", reason="no wheel of ai-edge-litert")
    path = tmp_path / "zoo.tflite"
    write(neap, tflite_network, path)
    images, expected = references
    floats = {seed: [image.astype(numpy.float32) / 128 for image in arrays]
              for seed, arrays in images.items()}
    for runtime in ("litert", "tflm"):
        outputs, _ = run_tflite(runtime, path, floats, tmp_path)
        for seed, arrays in outputs.items():
            assert len(arrays) == len(expected[seed])
            for array, right in zip(arrays, expected[seed]):
                assert array.shape == right.shape
                error = numpy.abs(array - right).max() / numpy.abs(right).max()
                assert error < FLOAT_TOLERANCE, (runtime, seed)
        # The negative control of the comparison.
        assert numpy.abs(outputs[1][0] - expected[2][0]).max() / numpy.abs(expected[2][0]).max() > FLOAT_TOLERANCE


def list_differences(network, outputs, table):
    """TFLM decides; differences of LiteRT are listed."""
    for seed, arrays in outputs["tflm"].items():
        for ours, theirs in zip(arrays, outputs["litert"][seed]):
            assert ours.shape == theirs.shape
            different = (ours != theirs).mean()
            if different == 0:
                continue
            most = numpy.abs(ours.astype(int) - theirs).max()
            table("int8 networks of the zoo for which TFLM and LiteRT disagree",
                  f"{' '.join(network)}, seed {seed}: {different:.2%} of the outputs, by at most {most}")
            assert different <= MOST_DIFFERENT


def test_int8_tflite(neap, tflite_network, references, table, tmp_path):
    pytest.importorskip("tflite_micro", reason="no wheel of tflite-micro")
    pytest.importorskip("ai_edge_litert", reason="no wheel of ai-edge-litert")
    path = tmp_path / "zoo.tflite"
    write(neap, [*tflite_network, "--int8"], path)
    images, expected = references
    outputs = {}
    outputs["litert"], saturated = run_tflite("litert", path, images, tmp_path)
    outputs["tflm"], _ = run_tflite("tflm", path, images, tmp_path)
    for arrays in outputs["tflm"].values():
        assert all(array.dtype == numpy.int8 for array in arrays)
    list_differences(tflite_network, outputs, table)
    assert len(saturated) > 5
    for at_end, values in saturated:
        assert at_end <= max(FEW_SATURATED, MOST_SATURATED * values)
    # Every network distinguishes noise and patches.
    assert all_different({seed: outputs["tflm"][seed] for seed in (1, 2)})
    correlations = []
    for ours, right in zip(zip(*outputs["tflm"].values()), zip(*expected.values())):
        left, right = (numpy.concatenate([array.ravel() for array in arrays]).astype(float)
                       for arrays in (ours, right))
        correlations.append(numpy.corrcoef(left, right)[0, 1])
    table("correlation of the int8 outputs with the float ones",
          f"{' '.join(tflite_network)}: {min(correlations):.4f}")
    assert min(correlations) >= LEAST_CORRELATION


@pytest.mark.parametrize("network", ["swiftnet", "randwire-ws-cifar10", "darts-imagenet-cell", "resnet8"])
def test_planned_int8(neap, network, table, tmp_path):
    """In the planned order: identical outputs, and the arena that neap predicts for TFLM."""
    pytest.importorskip("tflite_micro", reason="no wheel of tflite-micro")
    original, planned = tmp_path / "zoo.tflite", tmp_path / "planned.tflite"
    write(neap, [network, "--int8"], original)
    report = neap.plan(original, "--runtime", "tflm", "-o", planned)
    before, after = (Run("tflm", path, tmp_path) for path in (original, planned))
    assert before.ran and after.ran, (before.why_not, after.why_not)
    for seed in SEEDS:
        assert same_bytes(before.outputs[seed], after.outputs[seed])
    assert not same_bytes(before.outputs[SEEDS[0]], after.outputs[SEEDS[1]])
    measured = (before.arena_bytes, after.arena_bytes)
    table("activation arena of int8 zoo networks that TFLM reports, file order -> planned",
          f"{network}: {measured[0]} -> {measured[1]}")
    assert measured == (report["file_order"]["arena_bytes"], report["delivered"]["arena_bytes"])
