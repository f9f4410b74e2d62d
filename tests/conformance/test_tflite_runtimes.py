# SPDX-License-Identifier: Apache-2.0
"""Reordered .tflite files in the stock runtimes: same bytes out, and the arena that was said.

TensorFlow Lite Micro is the judge of the profile `tflm`; LiteRT with its reference kernels is asked
as well. A model that a runtime refuses in its original form tells nothing and skips.
"""

import re
import subprocess
import sys

import numpy
import pytest

from conftest import SHARED, one_in, shared_files
from tensors import random_tensor, same_bytes

pytest.importorskip("tflite_micro", reason="no wheel of tflite-micro")

SEEDS = (1, 2)
# Arena bytes of the activations that TFLM 0.dev20261023 reports for the order of the file.
KNOWN_TFLM_ARENAS = {
    "mlcommons+tiny/vww_96_int8.tflite": 73728,
    "mlcommons+tiny/kws_ref_model.tflite": 16000,
    "mlcommons+tiny/pretrainedResnet_quant.tflite": 49152,
    "tensorflow+tflite-micro/person_detect.tflite": 55296,
}
# Outputs of these are the same for both seeds; each says why. Nothing else may be.
CONSTANT_OUTPUTS = {}

MODELS = shared_files("models", ".tflite")
SAMPLE = one_in(6, MODELS, always=KNOWN_TFLM_ARENAS)


def pytest_generate_tests(metafunc):
    if "model" in metafunc.fixturenames:
        models = MODELS if metafunc.config.getoption("--long") else SAMPLE
        if not models:
            models = [pytest.param("", marks=pytest.mark.skip(f"no models in {SHARED}"))]
        metafunc.parametrize("model", models)


class TflmRun:
    """One run in TFLM: outputs by seed, and the bytes of its non-persistent arena."""

    def __init__(self, model, folder):
        output = folder / "tflm.npz"
        run = subprocess.run([sys.executable, "-B", __file__.replace("test_tflite_runtimes", "tflm_run"),
                              model, output, *map(str, SEEDS)], capture_output=True, text=True,
                             timeout=300, check=False, stdin=subprocess.DEVNULL)
        head = re.search(r"Arena allocation head (\d+) bytes", run.stderr)
        self.ran = run.returncode == 0 and head is not None
        self.why_not = (run.stderr.strip().splitlines() or [f"status {run.returncode}"])[-1]
        if self.ran:
            self.arena_bytes = int(head.group(1))
            arrays = numpy.load(output)
            self.outputs = {seed: [arrays[name] for name in sorted(arrays.files)
                                   if name.startswith(f"{seed}_")] for seed in SEEDS}
            output.unlink()


def litert_outputs(model, seed):
    """Outputs with the reference kernels and no delegate; inputs of unknown sizes become 1."""
    interpreter_module = pytest.importorskip("ai_edge_litert.interpreter", reason="no wheel of ai-edge-litert")
    interpreter = interpreter_module.Interpreter(
        model_path=str(model), num_threads=1,
        experimental_op_resolver_type=interpreter_module.OpResolverType.BUILTIN_REF)
    interpreter.allocate_tensors()
    for index, detail in enumerate(interpreter.get_input_details()):
        interpreter.set_tensor(detail["index"], random_tensor(detail["shape"], detail["dtype"], seed, index))
    interpreter.invoke()
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]


def same_and_different(before, after, model, table):
    """Equal for equal seeds; the negative control: not equal for different ones."""
    for seed in SEEDS:
        assert before[seed], "no outputs were compared"
        assert same_bytes(before[seed], after[seed]), f"outputs differ for seed {seed}"
    if same_bytes(before[SEEDS[0]], after[SEEDS[1]]):
        table("tflite models whose outputs do not depend on the seed", model)
        return False
    return True


def test_tflm(neap, model, table, tmp_path):
    original = SHARED / "models" / model
    before = TflmRun(original, tmp_path)
    if not before.ran:
        pytest.skip(f"TFLM refuses the original: {before.why_not}")
    report = neap.plan(original, "--runtime", "tflm", "-o", tmp_path / "planned.tflite")
    after = TflmRun(tmp_path / "planned.tflite", tmp_path)
    assert after.ran, after.why_not
    varies = same_and_different(before.outputs, after.outputs, model, table)

    said = (report["file_order"]["arena_bytes"], report["delivered"]["arena_bytes"])
    reported = (before.arena_bytes, after.arena_bytes)
    if model in KNOWN_TFLM_ARENAS:
        assert varies
        assert before.arena_bytes == KNOWN_TFLM_ARENAS[model]
        assert said == reported
    table("activation arena in TFLM, bytes: file order -> planned (TFLM's own report)",
          f"{model}: {reported[0]} -> {reported[1]}"
          + ("" if said == reported else f"  neap says {said[0]} -> {said[1]}"))
    if said != reported:
        # Kernels may ask for scratch memory, which the file does not tell: then TFLM needs more.
        assert said[0] <= reported[0] and said[1] <= reported[1], (said, reported)


def test_litert(neap, model, table, tmp_path):
    original = SHARED / "models" / model
    try:
        before = {seed: litert_outputs(original, seed) for seed in SEEDS}
    except (RuntimeError, ValueError, TypeError) as error:
        pytest.skip(f"LiteRT refuses the original: {str(error).splitlines()[0]}")
    planned = tmp_path / "planned.tflite"
    result = neap.run("plan", original, "--runtime", "tflm", "-o", planned)
    if result.returncode == 1 and b"dimension" in result.stderr:
        pytest.skip(result.stderr.decode(errors="replace").strip())
    assert result.returncode == 0, result.stderr
    after = {seed: litert_outputs(planned, seed) for seed in SEEDS}
    same_and_different(before, after, model, table)
