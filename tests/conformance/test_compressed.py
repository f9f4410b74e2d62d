# SPDX-License-Identifier: Apache-2.0
"""Models whose weights TFLM_DECODE unpacks, as TFLM's own tool writes them: arenas, decompression memory and outputs
in stock TFLM. test_kernel_memory.py has the other methods of TFLM_DECODE."""

import json
import pathlib
import subprocess
import sys
import warnings

import pytest

numpy = pytest.importorskip("numpy", reason="no wheel of numpy")
pytest.importorskip("tflite_micro", reason="no wheel of tflite-micro")
compression = pytest.importorskip("tflite_micro.tensorflow.lite.micro.compression",
                                  reason="a wheel of tflite-micro without its compression")

import flatbuffers  # noqa: E402
from made_models import schema  # noqa: E402

LARGE = 4 << 20
REGION = 16  # the counter of a decompression memory
SEEDS = range(3)
BUILTIN = schema.BuiltinOperator
# The axis of the channels of weights; None: one scale.
AXES = {BUILTIN.CONV_2D: 0, BUILTIN.DEPTHWISE_CONV_2D: 3, BUILTIN.FULLY_CONNECTED: None}


def coarse(path):
    """The model with at most 16 values in each of its weights, and a list of (weights, axis)."""
    model = schema.ModelT.InitFromObj(schema.Model.GetRootAsModel(bytearray(path.read_bytes()), 0))
    main = model.subgraphs[0]
    found = []
    for operator in main.operators:
        code = model.operatorCodes[operator.opcodeIndex]
        # The tool reads the newer of the two fields alone.
        code.builtinCode = max(code.builtinCode, code.deprecatedBuiltinCode)
        if code.builtinCode not in AXES:
            continue
        index = int(operator.inputs[1])
        tensor = main.tensors[index]
        buffer = model.buffers[tensor.buffer]
        values = numpy.frombuffer(bytes(buffer.data), numpy.int8)
        buffer.data = (values // 16 * 16).view(numpy.uint8)
        many = len(tensor.quantization.scale) > 1
        found.append((index, AXES[code.builtinCode] if many else None))
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output()), found


def compressed(model, weights):
    builder = compression.SpecBuilder()
    for index, axis in weights:
        mode = compression.spec.PerTensor() if axis is None else compression.spec.PerChannel(axis=axis)
        builder.add_tensor(0, index).with_lut(4, mode)
    return bytes(compression.compress(bytearray(model), builder.build()))


def executed(lines):
    program = pathlib.Path(__file__).with_name("run_compressed.py")
    done = subprocess.run([sys.executable, "-B", program], input="".join(" ".join(map(str, line)) + "\n" for line in lines),
                          capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.fixture(name="models", scope="module", params=["ds-cnn", "mobilenet-v1-vww"])
def models_of_the_zoo(request, neap, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    given = folder / "given.tflite"
    assert neap.run("zoo", request.param, "--int8", "-o", given).returncode == 0
    plain, weights = coarse(given)
    (folder / "plain.tflite").write_bytes(plain)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tables of small weights are larger than the weights
        (folder / "compressed.tflite").write_bytes(compressed(plain, weights))
    return folder / "plain.tflite", folder / "compressed.tflite"


def test_arenas_and_outputs(neap, models, table, tmp_path):
    plain, packed = models
    written = tmp_path / "written.tflite"
    report = neap.plan(packed, "--target", "x86-64+reference", "-o", written)
    delivered = report["delivered"]
    memory = delivered["decompression_memory"]
    assert memory["missing"] is None
    total, with_memory = delivered["total_arena_bytes"], memory["total_arena_bytes"]
    # Of the larger network the weights are not live at the peak.
    at_peak = with_memory < total
    assert at_peak == ("ds-cnn" in str(packed.parent)) and with_memory <= total + REGION
    lines = [(plain, LARGE, 0, seed) for seed in SEEDS]
    # In exactly the predicted arenas, and not in the next smaller one.
    lines += [(written, total, 0, seed) for seed in SEEDS]
    lines += [(written, with_memory, memory["bytes"], seed) for seed in SEEDS]
    lines += [(packed, LARGE, 0, seed) for seed in SEEDS]
    lines += [(written, total - 16, 0, 0), (written, with_memory - 16, memory["bytes"], 0)]
    if at_peak:
        lines.append((written, with_memory, memory["bytes"] - 1, 0))
    results = executed(lines)
    count = len(SEEDS)
    assert "refused" not in results[:4 * count]
    # The larger network of the zoo has one output for all inputs.
    assert not at_peak or len(set(results[:count])) == count
    for at in range(1, 4):
        assert results[at * count:(at + 1) * count] == results[:count], lines[at * count]
    assert set(results[4 * count:]) == {"refused"}
    table("compressed models", f"{packed.parent.name}: arena {total:,} B, or {with_memory:,} B and {memory['bytes']:,} B "
                               "of decompression memory, as in TFLM")


def test_report(neap, models):
    _, packed = models
    report = neap.plan(packed)
    memory = report["delivered"]["decompression_memory"]
    text = " ".join(neap.run("plan", packed).stdout.decode().split())
    assert f"decompression memory: with {memory['bytes']:,} B" in text
    assert f"the total arena is {memory['total_arena_bytes']:,} B" in text
    assert report["flash"]["compressed_bytes"] > report["flash"]["weights_bytes"]
    assert neap.plan(models[0])["delivered"]["decompression_memory"] is None
    # Kernels of a library keep the same records.
    for target in ("cortex-m4+cmsis-nn", "esp32s3+esp-nn", "wasm32+reference"):
        row = neap.plan(packed, "--target", target)["delivered"]
        assert row["decompression_memory"]["total_arena_bytes"] <= row["total_arena_bytes"] + REGION


@pytest.mark.parametrize("words", [("--cascade", "auto"), ("--overlap", "tflm-reference")], ids=lambda words: words[0][2:])
def test_tiles_and_overlaps(neap, models, tmp_path, words):
    plain, packed = models
    written = tmp_path / "written.tflite"
    report = neap.plan(packed, *words, "--target", "x86-64+reference", "-o", written)
    delivered = report["delivered"]
    memory = delivered["decompression_memory"]
    lines = [(plain, LARGE, 0, 1), (written, delivered["total_arena_bytes"], 0, 1)]
    if memory["missing"] is None:
        lines.append((written, memory["total_arena_bytes"], memory["bytes"], 1))
    else:
        assert "is not the next one" in memory["missing"]
    assert len(set(executed(lines))) == 1
