# SPDX-License-Identifier: Apache-2.0
"""The profile `litert` compared with LiteRT: its arenas, its outputs, and its outputs in place."""

import json
import pathlib
import shutil
import struct
import subprocess
import sys

import pytest

numpy = pytest.importorskip("numpy", reason="no wheel of numpy")
pytest.importorskip("ai_edge_litert", reason="no wheel of ai-edge-litert")

from conftest import SHARED, SOURCE, one_in, shared_files  # noqa: E402
from tensors import same_bytes  # noqa: E402
from test_tflite_runtimes import SEEDS, Run  # noqa: E402

SECONDS = 120
MODELS = shared_files("models", ".tflite")


def pytest_generate_tests(metafunc):
    if "model" in metafunc.fixturenames:
        models = MODELS if metafunc.config.getoption("--long") else one_in(3, MODELS)
        metafunc.parametrize("model", models or [
            pytest.param("", marks=pytest.mark.skip(f"no models in {SHARED}"))])


def measured(model):
    """The output of litert_arena.py; None when LiteRT refuses the model."""
    program = pathlib.Path(__file__).with_name("litert_arena.py")
    try:
        run = subprocess.run([sys.executable, "-B", program, model], capture_output=True,
                             timeout=SECONDS, check=False, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return None
    return json.loads(run.stdout.splitlines()[-1]) if run.returncode == 0 else None


def check_arena(predicted, found, what, table):
    """Equal, unless the allocation depends on facts that are not in the file."""
    total = found["bytes"]
    if "control flow" in found["reasons"]:
        assert predicted is None
    elif found["reasons"]:
        if predicted != total:
            table("arenas of LiteRT that neap cannot know",
                  f"{what}: LiteRT {total or '?'}, neap {predicted}: {', '.join(found['reasons'])}")
    else:
        assert predicted == total, f"neap predicts {predicted}, LiteRT has {total}"
        table("arenas of LiteRT that neap tells to the byte", f"{what}: {total}")


def test_model(neap, model, table, tmp_path):
    original = (SHARED / "models" / model).resolve()
    found = measured(original)
    if found is None:
        pytest.skip("LiteRT refuses the original")
    planned = tmp_path / "planned.tflite"
    result = neap.run("plan", original, "--runtime", "litert", "--json", "-o", planned)
    if result.returncode == 1:
        pytest.skip(result.stderr.decode(errors="replace").strip())
    report = json.loads(result.stdout)
    delivered = report["delivered"]["arena_bytes"]
    if delivered is not None:
        check_arena(report["file_order"]["arena_bytes"], found, f"{model}, file order", table)
        assert delivered <= report["file_order"]["arena_bytes"]
        assert delivered >= report["plan"]["arena_lower_bound_bytes"]
    again = measured(planned)
    assert again is not None
    check_arena(delivered, again, f"{model}, planned", table)
    before, after = (Run("litert", path, tmp_path) for path in (original, planned))
    if not before.ran:
        pytest.skip(f"LiteRT does not run the original: {before.why_not}")
    assert after.ran, after.why_not
    for seed in SEEDS:
        assert same_bytes(before.outputs[seed], after.outputs[seed]), f"outputs differ, seed {seed}"


RISKY = [  # builtin code, inputs, output, its shape
    (19, ["in"], "positive", [1, 64]),  # RELU
    (0, ["positive", "factors"], "sum", [1, 64]),  # ADD, in place
    (22, ["sum", "shape"], "column", [64, 1]),  # RESHAPE, at the same address
    (0, ["sum", "many"], "wide", [4, 64]),  # ADD
    (18, ["column", "factors"], "product", [64, 1]),  # MUL, in place
    (40, ["product", "axis"], "mean", [1]),  # MEAN
]
CONSTANTS = {"factors": ("FLOAT32", [1, 1], struct.pack("<f", 3)),
             "many": ("FLOAT32", [4, 1], struct.pack("<4f", 1, 2, 3, 4)),
             "shape": ("INT32", [2], struct.pack("<2i", 64, 1)),
             "axis": ("INT32", [1], struct.pack("<i", 0))}


def risky_model(folder):
    flatc = shutil.which("flatc")
    if flatc is None:
        pytest.skip("no flatc")
    codes = sorted({code for code, *_ in RISKY})
    shapes = {"in": [1, 64], **{output: shape for _, _, output, shape in RISKY}}
    names = list(shapes) + list(CONSTANTS)
    tensors = [{"shape": shapes[name], "type": "FLOAT32", "buffer": 0, "name": name} for name in shapes]
    tensors += [{"shape": shape, "type": kind, "buffer": 1 + index, "name": name}
                for index, (name, (kind, shape, _)) in enumerate(CONSTANTS.items())]
    model = {
        "version": 3,
        "operator_codes": [{"deprecated_builtin_code": code, "builtin_code": code, "version": 1}
                           for code in codes],
        "subgraphs": [{"tensors": tensors, "inputs": [0],
                       "outputs": [names.index("wide"), names.index("mean")],
                       "operators": [{"opcode_index": codes.index(code),
                                      "inputs": [names.index(name) for name in inputs],
                                      "outputs": [names.index(output)]}
                                     for code, inputs, output, _ in RISKY]}],
        "buffers": [{}] + [{"data": list(data)} for *_, data in CONSTANTS.values()]}
    source = folder / "risky.json"
    source.write_text(json.dumps(model))
    subprocess.run([flatc, "-b", "-o", folder, SOURCE / "schemas/tflite.fbs", source], check=True)
    return (folder / "risky.bin").rename(folder / "risky.tflite")


def test_a_value_is_read_before_it_is_written_over(neap, tmp_path):
    """LiteRT multiplies `column` in place, at the address of `sum`: the order decides whether the
    operator that reads `sum` reads its value. The order of minimum peak without this rule computes
    other outputs (the negative control); the one for LiteRT does not, at its minimum peak."""
    original = risky_model(tmp_path)
    before = Run("litert", original, tmp_path)
    assert before.ran, before.why_not
    outputs = {}
    for runtime in ("ideal", "litert"):
        planned, plan = tmp_path / f"{runtime}.tflite", tmp_path / f"{runtime}.json"
        neap.plan(original, "--runtime", runtime, "-o", planned, "--plan", plan)
        check = neap.run("check", original, plan)
        assert check.returncode == 0, check.stderr
        after = Run("litert", planned, tmp_path)
        assert after.ran, after.why_not
        outputs[runtime] = after.outputs
    for seed in SEEDS:
        assert same_bytes(before.outputs[seed], outputs["litert"][seed])
    assert not same_bytes(before.outputs[SEEDS[0]], outputs["ideal"][SEEDS[0]])
