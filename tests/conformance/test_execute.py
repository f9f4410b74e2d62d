# SPDX-License-Identifier: Apache-2.0
"""neap run beside the stock runtimes: integer outputs byte by byte, floats within a bound."""

import pathlib
import re
import subprocess
import sys

import numpy
import pytest

from conftest import SHARED, one_in, shared_files
from tensors import same_bytes

# Of the largest absolute value of an output: sums in another order than the runtime's.
FLOAT_BOUND = 2e-5
SECONDS = 300
MODELS = [file for file in shared_files("models", ".tflite") if not file.startswith("bad/")]
NAMED = {
    "mlcommons+tiny/ad01_int8.tflite",
    "mlcommons+tiny/kws_ref_model.tflite",
    "mlcommons+tiny/kws_ref_model_float32.tflite",
    "mlcommons+tiny/pretrainedResnet.tflite",
    "mlcommons+tiny/pretrainedResnet_quant.tflite",
    "mlcommons+tiny/str_ww_ref_model.tflite",
    "mlcommons+tiny/vww_96_float.tflite",
    "mlcommons+tiny/vww_96_int8.tflite",
    "newwhitecheng+vwwc19-submission/swiftnet-vww-224-uint8.tflite",
    "tensorflow+tflite-micro/person_detect.tflite",
    "tensorflow+tflite-micro/trained_lstm.tflite",
    "tensorflow+tflite-micro/trained_lstm_int8.tflite",
}
SHORT_SEEDS, LONG_SEEDS = range(1, 4), range(1, 21)


def pytest_generate_tests(metafunc):
    if "model" in metafunc.fixturenames:
        models = MODELS if metafunc.config.getoption("--long") else one_in(9, MODELS, NAMED)
        metafunc.parametrize("model", models or [
            pytest.param("", marks=pytest.mark.skip(f"no models in {SHARED}"))])


def stock(runtime, path, folder, seeds):
    """Inputs and outputs by seed of a runtime of its own process; None: it refuses the model."""
    output = folder / f"{runtime}.npz"
    program = pathlib.Path(__file__).with_name("run_tflite.py")
    try:
        run = subprocess.run([sys.executable, "-B", program, "--keep-inputs", runtime, path, output,
                              *map(str, seeds)], capture_output=True, timeout=SECONDS, check=False,
                             stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return None
    if run.returncode != 0:
        return None
    with numpy.load(output, allow_pickle=True) as arrays:
        if any(arrays[name].dtype == object for name in arrays.files):
            return None
        return {seed: ([arrays[name] for name in sorted(arrays.files) if name.startswith(f"in{seed}_")],
                       [arrays[name] for name in sorted(arrays.files) if name.startswith(f"{seed}_")])
                for seed in seeds}


def outputs_of(neap, path, inputs, folder, *words):
    given, made = folder / "given.npz", folder / "made.npz"
    numpy.savez(given, *inputs)
    result = neap.run("run", path, "--inputs", given, "--outputs", made, "--force", *words,
                      timeout=SECONDS)
    if result.returncode != 0:
        return None, result.stderr.decode(errors="replace").strip()
    with numpy.load(made) as arrays:
        return [arrays[name] for name in arrays.files], ""


def distance(ours, theirs):
    """The largest difference of any output, relative to its largest value where it is a float."""
    most = 0.0
    for a, b in zip(ours, theirs):
        assert a.shape == b.shape and a.dtype == b.dtype
        if a.dtype.kind == "f" and a.size:
            scale = max(float(numpy.max(numpy.abs(b))), 1e-30)
            most = max(most, float(numpy.max(numpy.abs(a - b))) / scale)
        elif not numpy.array_equal(a, b):
            return float("inf")
    return most


@pytest.mark.parametrize("runtime", ["litert", "tflm"])
def test_stock_runtime(neap, model, runtime, table, tmp_path, request):
    pytest.importorskip("ai_edge_litert" if runtime == "litert" else "tflite_micro")
    seeds = LONG_SEEDS if request.config.getoption("--long") else SHORT_SEEDS
    path = SHARED / "models" / model
    runs = stock(runtime, path, tmp_path, seeds)
    if runs is None or not runs[seeds[0]][1]:
        pytest.skip(f"{runtime} does not run it")
    worst, first = 0.0, None
    for seed, (inputs, theirs) in runs.items():
        ours, why = outputs_of(neap, path, inputs, tmp_path, "--kernels", runtime)
        if ours is None:
            table("models that a stock runtime runs and neap run refuses",
                  f"{model}: {re.sub('^.*?operator', 'operator', why)}")
            assert model not in NAMED, why
            pytest.skip(why)
        assert len(ours) == len(theirs)
        worst = max(worst, distance(ours, theirs))
        if first is None:
            first = ours
        elif seed == seeds[1] and not same_bytes(first, ours):
            assert distance(first, theirs) > 0, "the negative control"
    table(f"largest difference to {runtime} (0: byte by byte)", f"{model}: {worst:.1e}")
    assert worst <= FLOAT_BOUND


@pytest.mark.parametrize("profile", ["ideal", "ideal-inplace", "tflm"])
@pytest.mark.parametrize("overlap", [False, True])
def test_plans(neap, model, profile, overlap, tmp_path):
    path, plan = SHARED / "models" / model, tmp_path / "plan.json"
    words = ["--overlap", "tflm-reference"] if overlap else []
    planned = neap.run("plan", path, "--runtime", profile, "--plan", plan, "--max-states", "5000",
                       "--quiet", *words)
    if planned.returncode != 0:
        pytest.skip(planned.stderr.decode(errors="replace").strip())
    result = neap.run("run", path, "--plan", plan, "--random-inputs", "3", "--compare", "--quiet",
                      timeout=SECONDS)
    message = result.stderr.decode(errors="replace").strip()
    if "no kernel for" in message:
        pytest.skip(message)
    assert result.returncode == 0, message
