# SPDX-License-Identifier: Apache-2.0
"""Models whose caller converts (--integer-io) in the stock runtimes: with the caller's QUANTIZE before and its
DEQUANTIZE after the model, the outputs equal those of the original model, byte for byte."""

import subprocess
import sys

import pytest

numpy = pytest.importorskip("numpy", reason="no wheel of numpy")

from conftest import SHARED, SOURCE  # noqa: E402

MODEL = SHARED / "models/mit-han-lab+tinyengine/mcunet_detection.tflite"
SHAPE = (1, 128, 160, 3)
RUNS = 2


def run(runtime, model, inputs, folder):
    pytest.importorskip("tflite_micro" if runtime == "tflm" else "ai_edge_litert")
    given, out = folder / f"{model.stem}-in.npz", folder / f"{model.stem}-{runtime}.npz"
    numpy.savez(given, **{f"{n}_000": value for n, value in enumerate(inputs)})
    subprocess.run([sys.executable, str(SOURCE / "tests/conformance/run_inputs.py"), runtime, str(model),
                    str(given), str(out)], check=True, capture_output=True, timeout=300)
    arrays = numpy.load(out)
    return [[arrays[name] for name in sorted(arrays.files) if name.startswith(f"{n}_")] for n in range(RUNS)]


def quantize(values, change):
    """As the reference kernels: in floats of 32 bits, halves away from zero."""
    scaled = values / numpy.float32(change["scale"])
    rounded = numpy.trunc(scaled + numpy.copysign(numpy.float32(0.5), scaled)).astype(numpy.int64)
    return numpy.clip(rounded + change["zero_point"], -128, 127).astype(numpy.int8)


def dequantize(values, change):
    return ((values.astype(numpy.int32) - change["zero_point"]).astype(numpy.float32)
            * numpy.float32(change["scale"]))


@pytest.mark.skipif(not MODEL.is_file(), reason=f"no {MODEL}")
@pytest.mark.parametrize("runtime", ["tflm", "litert"])
@pytest.mark.parametrize("ends", ["inputs", "both"])
def test_the_caller_converts(neap, tmp_path, runtime, ends):
    out = tmp_path / "integers.tflite"
    report = neap.plan(MODEL, "-o", out, "--integer-io", ends, "--rewrite", "none")
    change = report["interface"][0]
    assert change["side"] == "input"
    # By operator: the outputs of this model are in the other order.
    behind = [change for change in report["interface"] if change["side"] == "output"][::-1]
    assert len(behind) == (0 if ends == "inputs" else 3)

    def outputs(inputs):
        outs = run(runtime, out, [quantize(value, change) for value in inputs], tmp_path)
        if ends == "inputs":
            return outs
        assert all(value.dtype == numpy.int8 for value in outs[0])
        return [[dequantize(*pair) for pair in zip(values, behind, strict=True)] for values in outs]
    draw = numpy.random.default_rng(5)
    # Over all of the range, beyond its ends and with halves.
    low, high = ((end - change["zero_point"]) * change["scale"] for end in (-130, 129))
    draw = numpy.random.default_rng(5)
    floats = [draw.uniform(low, high, SHAPE).astype(numpy.float32) for _ in range(RUNS)]
    floats[0][0, 0] = (numpy.arange(SHAPE[2])[:, None] - 90.5 - change["zero_point"]) * change["scale"]
    before, after = run(runtime, MODEL, floats, tmp_path), outputs(floats)
    as_bytes = [[value.tobytes() for value in values] for values in before]
    assert as_bytes[0] != as_bytes[1]
    assert as_bytes == [[value.tobytes() for value in values] for values in after]
    assert outputs([-value for value in floats])[0][0].tobytes() != as_bytes[0][0]


@pytest.mark.skipif(not MODEL.is_file(), reason=f"no {MODEL}")
def test_signatures_name_the_integers(neap, tmp_path):
    litert = pytest.importorskip("ai_edge_litert.interpreter")
    out = tmp_path / "integers.tflite"
    neap.plan(MODEL, "-o", out, "--integer-io", "both", "--rewrite", "none")

    def signatures(model):
        return litert.Interpreter(model_path=str(model)).get_signature_list()

    assert signatures(out) == signatures(MODEL)
    if signatures(MODEL):
        runner = litert.Interpreter(model_path=str(out)).get_signature_runner()
        for details in (runner.get_input_details(), runner.get_output_details()):
            assert all(detail["dtype"] == numpy.int8 for detail in details.values())
