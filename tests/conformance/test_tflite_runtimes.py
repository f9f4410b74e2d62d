# SPDX-License-Identifier: Apache-2.0
"""Reordered .tflite files in the stock runtimes: identical outputs, and the predicted arena.

Orders alone, without the memory plan: test_memory_plans.py has those.

TensorFlow Lite Micro decides for the profile `tflm`; LiteRT with its reference kernels runs the models,
too. A model that a runtime refuses in its original form is skipped.
"""

import json
import pathlib
import re
import subprocess
import sys

import pytest

numpy = pytest.importorskip("numpy", reason="no wheel of numpy")

from conftest import SHARED, one_in, shared_files  # noqa: E402
from tensors import same_bytes  # noqa: E402

SEEDS = (1, 2)
SECONDS = 120
# Arena bytes of the activations that TFLM 0.dev20261023 reports for the order of the file.
KNOWN_TFLM_ARENAS = {
    "mlcommons+tiny/vww_96_int8.tflite": 73728,
    "mlcommons+tiny/kws_ref_model.tflite": 16000,
    "mlcommons+tiny/pretrainedResnet_quant.tflite": 49152,
    "tensorflow+tflite-micro/person_detect.tflite": 55296,
}
MODELS = shared_files("models", ".tflite")
SAMPLE = one_in(6, MODELS, always=KNOWN_TFLM_ARENAS)


def pytest_generate_tests(metafunc):
    if "model" in metafunc.fixturenames:
        models = MODELS if metafunc.config.getoption("--long") else SAMPLE
        if not models:
            models = [pytest.param("", marks=pytest.mark.skip(f"no models in {SHARED}"))]
        metafunc.parametrize("model", models)


class Run:
    """A model in a stock runtime: outputs by seed and, of TFLM, the bytes of its activation arena."""

    def __init__(self, runtime, model, folder, seeds=SEEDS):
        output = folder / "outputs.npz"
        program = pathlib.Path(__file__).with_name("run_tflite.py")
        self.ran, self.arena_bytes = False, None
        try:
            run = subprocess.run([sys.executable, "-B", program, runtime, model, output, *map(str, seeds)],
                                 capture_output=True, timeout=SECONDS, check=False,
                                 stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            self.why_not = f"takes longer than {SECONDS} s"
            return
        errors = run.stderr.decode(errors="replace")
        self.why_not = (errors.strip().splitlines() or ["no message"])[-1]
        if run.returncode != 0:
            self.why_not = f"status {run.returncode}: {self.why_not}"
            return
        head = re.search(r"Arena allocation head (\d+) bytes", errors)
        self.arena_bytes = int(head.group(1)) if head else None
        with numpy.load(output, allow_pickle=True) as arrays:
            self.outputs = {seed: [arrays[name] for name in sorted(arrays.files)
                                   if name.startswith(f"{seed}_")] for seed in seeds}
        self.ran = any(self.outputs.values())
        self.why_not = "it has no outputs"
        output.unlink()


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
    pytest.importorskip("tflite_micro", reason="no wheel of tflite-micro")
    original = SHARED / "models" / model
    before = Run("tflm", original, tmp_path)
    if not before.ran:
        pytest.skip(f"TFLM refuses the original: {before.why_not}")
    planned = tmp_path / "planned.tflite"
    report = plan_or_skip(neap, original, planned, table, "--no-memory-plan")
    after = Run("tflm", planned, tmp_path)
    assert after.ran, after.why_not
    varies = same_and_different(before.outputs, after.outputs, model, table)
    predicted = (report["file_order"]["arena_bytes"], report["delivered"]["arena_bytes"])
    measured = (before.arena_bytes, after.arena_bytes)
    table("activation arena that TFLM itself reports, file order -> planned",
          f"{model}: {measured[0]} -> {measured[1]}" + ("" if predicted == measured else f"; neap predicts {predicted[0]} -> {predicted[1]}"))
    if model in KNOWN_TFLM_ARENAS:
        assert varies
        assert before.arena_bytes == KNOWN_TFLM_ARENAS[model]
    assert measured[1] <= measured[0], "the planned order makes TFLM need more"
    assert predicted == measured, f"neap predicts {predicted}, TFLM reports {measured}"


def test_litert(neap, model, table, tmp_path):
    pytest.importorskip("ai_edge_litert", reason="no wheel of ai-edge-litert")
    original = SHARED / "models" / model
    before = Run("litert", original, tmp_path)
    if not before.ran:
        pytest.skip(f"LiteRT refuses the original: {before.why_not}")
    planned = tmp_path / "planned.tflite"
    plan_or_skip(neap, original, planned, table)
    after = Run("litert", planned, tmp_path)
    assert after.ran, after.why_not
    same_and_different(before.outputs, after.outputs, model, table)


def plan_or_skip(neap, original, planned, table, *words):
    """The report; skips for a model that neap refuses because tensor sizes are unknown."""
    result = neap.run("plan", original, "--runtime", "tflm", "--json", "-o", planned, *words)
    if result.returncode == 1:
        message = result.stderr.decode(errors="replace").strip().replace(f"{SHARED}/", "")
        table(".tflite models that a runtime runs and neap refuses", message)
        pytest.skip(message)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_numbers_of_known_models(neap):
    """Without any runtime: the arena of TFLM's greedy planner for the file order."""
    present = [model for model in KNOWN_TFLM_ARENAS if (SHARED / "models" / model).exists()]
    if not present:
        pytest.skip(f"no models in {SHARED}")
    predicted = {model: neap.plan(SHARED / "models" / model, "--runtime", "tflm")["file_order"]["arena_bytes"]
            for model in present}
    assert predicted == {model: KNOWN_TFLM_ARENAS[model] for model in present}
