# SPDX-License-Identifier: Apache-2.0
"""Random instances of every rewriting rule in the stock runtimes, before and after.

build/*/neap/rewrite/rewrite_cases writes them: shapes, windows, strides, dilations, paddings, groups, scales per
channel, and random networks of many rules. Bitwise rewrites keep every byte; sums in another order
have to stay within 2 K u / (1 - K u) of the sum of absolute values, for K products (the rules' headers).
Thousands with --long, a sample without.
"""

import json
import pathlib
import subprocess
import sys
from collections import Counter

import pytest

numpy = pytest.importorskip("numpy", reason="no wheel of numpy")

from conftest import SOURCE  # noqa: E402

RULES = {"no-op", "concat", "slice", "kernel-wise", "channel-wise", "sum", "split-conv", "network"}
# Seeds for each runtime; every 32 of them are all rules and all types.
SHORT, LONG = 320, 8000
WRONG_SHORT, WRONG_LONG = 640, 4000
# TensorFlow Lite Micro has no uint8.
TYPES = {"litert": {"float32", "int8", "uint8"}, "tflm": {"float32", "int8"}, "onnxruntime": {"onnx"}}
MODULES = {"litert": "ai_edge_litert", "tflm": "tflite_micro", "onnxruntime": "onnxruntime"}


@pytest.fixture(scope="session")
def long(request):
    return request.config.getoption("--long")


def made(neap, folder, count, *words):
    """The cases with seeds 0 to count - 1."""
    program = pathlib.Path(neap.path).parents[1] / "neap/transform/rewrite/rewrite_cases"
    assert program.is_file(), f"{program} has not been built"
    done = subprocess.run([program, folder, "0", str(count), *words], capture_output=True, text=True,
                          check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def compared(runtime, cases, folder):
    """Verdicts of run_rewrite_cases.py, one for each case."""
    listed = folder / "cases.json"
    listed.write_text(json.dumps([case for case in cases if case["type"] in TYPES[runtime]]))
    done = subprocess.run([sys.executable, str(SOURCE / "tests/conformance/run_rewrite_cases.py"), runtime,
                           str(folder), str(listed)], capture_output=True, text=True, check=False, timeout=3000)
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("runtime", sorted(TYPES))
def test_every_rule(neap, tmp_path, table, long, runtime):
    pytest.importorskip(MODULES[runtime], reason=f"no wheel of {MODULES[runtime]}")
    cases = made(neap, tmp_path, LONG if long else SHORT, *(["--tflm"] if runtime == "tflm" else []))
    verdicts = compared(runtime, cases, tmp_path)
    counted = Counter()
    different = 0
    for case in verdicts:
        assert case["error"] is None, case
        counted[case["rule"], case["bitwise"]] += 1
        if case["bitwise"]:
            assert case["same"], f"not the same bytes: {case}"
        else:
            assert case["within"], f"beyond the bound: {case}"
            different += not case["same"]
    # The outputs of small images may be zeros alone.
    assert sum(case["varies"] for case in verdicts) > 0.85 * len(verdicts)
    for rule in RULES:
        assert any(counted[rule, bitwise] for bitwise in (False, True)), rule
    if runtime != "tflm":
        assert different > 0, "sums in another order are other sums: the class is no formality"
    for (rule, bitwise), count in counted.items():
        table("rules in stock runtimes", f"{runtime:12} {rule:12} {'bitwise' if bitwise else 'within bound'} {count}")


@pytest.mark.parametrize("runtime", ["litert", "onnxruntime"])
def test_wrong_rewrites_are_seen(neap, tmp_path, long, runtime):
    """Parts exchanged on purpose: the comparison of the test above has to find them."""
    pytest.importorskip(MODULES[runtime], reason=f"no wheel of {MODULES[runtime]}")
    cases = made(neap, tmp_path, WRONG_LONG if long else WRONG_SHORT, "--wrong")
    verdicts = compared(runtime, cases, tmp_path)
    assert len(verdicts) > 40
    seen = sum(not (case["same"] if case["bitwise"] else case["within"]) for case in verdicts)
    # A rare one may hide: an activation cuts everything off, or both parts come from one tensor.
    assert seen > 0.7 * len(verdicts), f"{seen} of {len(verdicts)}"


@pytest.mark.parametrize("runtime", sorted(TYPES))
def test_attention_in_blocks_of_keys(neap, tmp_path, table, long, runtime):
    """Heads, scales, masks, all distances that keys are followed: within the bound of docs/algorithms/rewrite.md."""
    pytest.importorskip(MODULES[runtime], reason=f"no wheel of {MODULES[runtime]}")
    words = ["--attention", *(["--tflm"] if runtime == "tflm" else [])]
    verdicts = compared(runtime, made(neap, tmp_path, 2000 if long else 80, *words), tmp_path)
    assert len(verdicts) >= 40
    for case in verdicts:
        assert case["error"] is None, case
        assert case["within"], f"beyond the bound: {case}"
    assert sum(not case["same"] for case in verdicts) > len(verdicts) / 4
    assert sum(case["varies"] for case in verdicts) > 0.85 * len(verdicts)
    table("rules in stock runtimes", f"{runtime:12} key-blocks   within bound {len(verdicts)}")
