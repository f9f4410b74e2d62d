# SPDX-License-Identifier: Apache-2.0
"""The total arena on `--target wasm32+reference` against stock TFLM compiled for wasm32 (the package mcufit, run by
node). Its benchmark program records allocations and creates resource variables of its own in the arena: the same
bytes for every model, measured here with one model and subtracted from all. They shift later allocations by up to
one alignment unit, which is the tolerance. That TFLM, of August 2026, has smaller options of FULLY_CONNECTED: 16 B, as
measured here, where the version of the targets has a pointer and a number more, 24 B."""

import json
import pathlib
import re
import shutil
import subprocess
import sysconfig

import pytest

pytest.importorskip("numpy", reason="no wheel of numpy")
pytest.importorskip("tflite_micro", reason="no wheel of tflite-micro")

import kernel_models  # noqa: E402
from conftest import SHARED, shared_files  # noqa: E402

ALIGNMENT = 16
OLDER_OPTIONS = 8  # the bytes that a FULLY_CONNECTED has not
MAX_BYTES = 2_000_000  # of a model that the program takes
KERNELS = ("ABS", "ADD", "AVERAGE_POOL_2D", "CONCATENATION", "CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED",
           "LOGISTIC", "MAX_POOL_2D", "MEAN", "MUL", "PAD", "QUANTIZE", "RELU6", "RESHAPE", "SLICE", "SOFTMAX",
           "SPLIT", "SUB", "TANH", "TRANSPOSE_CONV")
# Of many cases each, of which every third runs: records of 32 bits that no other test measures.
RECORDS = ("CIRCULAR_BUFFER", "SignalDelay", "SignalEnergy", "SignalFftAutoScale", "SignalFilterBank",
           "SignalFilterBankLog", "SignalFilterBankSpectralSubtraction", "SignalFilterBankSquareRoot", "SignalFramer",
           "SignalIrfft", "SignalOverlapAdd", "SignalPCAN", "SignalRfft", "SignalStacker", "SignalWindow", "TFLM_DECODE",
           "UNIDIRECTIONAL_SEQUENCE_LSTM")
# Bytes of options beyond those of RELU, which has none.
OPTIONS = {"SOFTMAX": 4, "FULLY_CONNECTED": 24 - OLDER_OPTIONS, "CONV_2D": 28}


@pytest.fixture(name="benchmark", scope="module")
def benchmark_of_mcufit():
    """model -> (bytes of activations, persistent bytes, bytes of no recorded kind), or None where the program does not
    run it."""
    script = pathlib.Path(sysconfig.get_paths()["purelib"]) / "mcufit/wasm/run_benchmark.mjs"
    node = shutil.which("node")
    if not script.exists() or node is None:
        pytest.skip("no package mcufit or no node: run scripts/checks/venv.sh and scripts/install_packages.sh --test")

    def run(path):
        text = subprocess.run([node, script, path], capture_output=True, text=True, check=False, timeout=300).stdout
        found = [re.search(rf"^ *{name} \| +(\d+)", text, re.M) for name in ("NonPersistent", "Persistent")]
        if not all(found):
            return None
        recorded = sum(int(used) for used in re.findall(r"^ *[A-Z][a-z ]+ \| +\d+ \| +(\d+) \|", text, re.M))
        return (*(int(match[1]) for match in found), int(found[1][1]) - recorded)

    return run


def predicted(neap, path, out):
    """(bytes of activations, persistent bytes) of the written model, or None where they are unknown."""
    report = neap.plan(path, "--target", "wasm32+reference", "--rewrite", "none", "-o", out, "--force")
    if not report["delivered"]["targets"]:
        return None
    target = report["delivered"]["targets"][0]
    assert target["name"] == "wasm32+reference"
    if target["persistent_bytes"] is None or report["refused_by_runtime"]:
        return None
    return report["delivered"]["arena_bytes"], target["persistent_bytes"]


def types_of(neap, path):
    entries = json.loads(neap.run("inspect", path, "--json").stdout)["entries"]
    return [step["operator"]["type"] for entry in entries for step in entry["steps"]]


@pytest.fixture(name="own_bytes", scope="module")
def bytes_of_the_program(neap, benchmark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("own")
    path = folder / "conv.tflite"
    path.write_bytes(kernel_models.CASES["CONV_2D-int8"]())
    arena, persistent = predicted(neap, path, folder / "out.tflite")
    measured = benchmark(folder / "out.tflite")
    assert measured[0] == arena
    assert 1000 < measured[1] - persistent < 4000
    return measured[1] - persistent


def names_of_cases():
    names = [name for name in sorted(kernel_models.CASES) if name.split("-")[0] in KERNELS]
    for kind in RECORDS:
        names += [name for name in sorted(kernel_models.CASES) if name.split("-")[0] == kind][::3]
    return names


def test_options_of_fully_connected(benchmark, table, tmp_path):
    """The cause of the only difference: parsed options are the bytes that the program does not record."""
    unrecorded = {}
    for kind in ("RELU", *OPTIONS):
        path = tmp_path / f"{kind}.tflite"
        path.write_bytes(kernel_models.CASES[f"{kind}-int8"]())
        unrecorded[kind] = benchmark(path)[2]
    for kind, count in OPTIONS.items():
        assert unrecorded[kind] - unrecorded["RELU"] == count, kind
    table("total arena on wasm32", f"options of FULLY_CONNECTED: {OPTIONS['FULLY_CONNECTED']} B, {OLDER_OPTIONS} B fewer "
                                   "than in the version of the targets")


def test_kernels(neap, benchmark, own_bytes, table, tmp_path):
    wrong, equal = [], 0
    for name in names_of_cases():
        path, out = tmp_path / f"{name}.tflite", tmp_path / "out.tflite"
        path.write_bytes(kernel_models.CASES[name]())
        mine = predicted(neap, path, out)
        theirs = benchmark(out) if mine else None
        if theirs is None:
            continue
        older = OLDER_OPTIONS if name.startswith("FULLY_CONNECTED") else 0
        if mine[0] != theirs[0] or abs(mine[1] - older + own_bytes - theirs[1]) > ALIGNMENT:
            wrong.append((name, mine, theirs, theirs[1] - mine[1] - own_bytes))
        equal += 1
    assert not wrong, wrong
    assert equal > 60
    table("total arena on wasm32", f"{equal} models of one kernel: within 16 B")


@pytest.mark.parametrize("name", [name for name in shared_files("models", ".tflite")
                                  if (SHARED / "models" / name).stat().st_size <= MAX_BYTES])
def test_models(neap, benchmark, own_bytes, table, tmp_path, name):
    out = tmp_path / "out.tflite"
    run = neap.run("plan", SHARED / "models" / name, "--target", "wasm32+reference", "--order-only")
    if run.returncode != 0:
        pytest.skip("not planned for TFLM")
    mine = predicted(neap, SHARED / "models" / name, out)
    if mine is None:
        pytest.skip("the arena is unknown, or TFLM does not execute the model")
    theirs = benchmark(out)
    if theirs is None:
        pytest.skip("the program does not run the model")
    assert mine[0] == theirs[0]
    types = types_of(neap, SHARED / "models" / name)
    excess = mine[1] + own_bytes - theirs[1]
    assert abs(excess - OLDER_OPTIONS * types.count("FULLY_CONNECTED")) <= ALIGNMENT
    table("total arena on wasm32", f"{name}: {mine[0]:,} + {mine[1]:,} B, {excess:,} B above")
