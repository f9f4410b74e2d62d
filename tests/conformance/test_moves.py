# SPDX-License-Identifier: Apache-2.0
"""Moves in stock runtimes: a RESHAPE with an offset of its own, between disjoint places.

The models are made here: tensors that fill the same bytes again and again, in an order of the file that
no placement without a move is within its peak.
"""

import json
import struct

import pytest

numpy = pytest.importorskip("numpy", reason="no wheel of numpy")
pytest.importorskip("tflite_micro", reason="no wheel of tflite-micro")

import made_models  # noqa: E402
from tensors import same_bytes  # noqa: E402
from test_memory_plans import fits, plan_place  # noqa: E402
from test_tflite_runtimes import Run  # noqa: E402

# By number of the made model and strategy: left-compaction by disjoint copies is possible in few. Of
# each, no placement without a move is within its peak: that is refuted, so no better search finds one.
CROWDED = ((276, "compact"), *((number, "best") for number in (33, 219, 358, 57, 109, 136, 143, 276, 283, 536)),
           (350, "compact"))


@pytest.fixture(params=CROWDED, ids=lambda param: f"{param[0]}-{param[1]}")
def model(request, tmp_path):
    if request.param not in CROWDED[:4] and not request.config.getoption("--long"):
        pytest.skip("with --long")
    number, strategy = request.param
    path = tmp_path / f"crowded-{number}-{strategy}.tflite"
    path.write_bytes(made_models.crowded(number))
    return path


def seeds_for(request):
    return tuple(range(1, 21 if request.config.getoption("--long") else 4))


def delivered(neap, model, folder):
    planned = folder / "planned.tflite"
    report = neap.plan(model, "--runtime", "tflm", "--order", "file", "--moves", model.stem.split("-")[-1],
                       "-o", planned, "--plan", folder / "plan.json", "--force")
    return planned, report


def test_tflm_moves_as_planned(neap, model, table, request, tmp_path):
    seeds = seeds_for(request)
    before = Run("tflm", model, tmp_path, seeds)
    assert before.ran, before.why_not
    planned, report = delivered(neap, model, tmp_path)
    assert report["moves"]
    assert report["delivered"]["memory_plan"]
    after = Run("tflm", planned, tmp_path, seeds)
    assert after.ran, after.why_not
    for seed in seeds:
        assert same_bytes(before.outputs[seed], after.outputs[seed]), f"outputs differ for seed {seed}"
    assert not same_bytes(before.outputs[seeds[0]], after.outputs[seeds[1]])
    assert before.arena_bytes == report["file_order"]["arena_bytes"]
    assert after.arena_bytes == report["delivered"]["arena_bytes"] == report["plan"]["peak_bytes"]
    assert after.arena_bytes < before.arena_bytes
    table("arena with moves, as TFLM itself reports it",
          f"{model.stem}: {before.arena_bytes} -> {after.arena_bytes}, "
          f"{len(report['moves'])} moves")
    total = {one["target"]: one for one in report["delivered"]["targets"]}["x86-64"]
    assert fits(planned, total["total_arena_bytes"])
    assert not fits(planned, total["total_arena_bytes"] - 16)


def test_places_of_a_move_are_disjoint(neap, model, tmp_path):
    _, report = delivered(neap, model, tmp_path)
    plan = json.loads((tmp_path / "plan.json").read_text())
    moved = {move["tensor"]["index"] for move in report["moves"]}
    assert moved
    for tensor in moved:
        places = [t for t in plan["entries"][0]["tensors"] if t["tensor"] == tensor]
        assert len(places) > 1
        for a, b in zip(places, places[1:]):
            assert a["offset"] + a["bytes"] <= b["offset"] or b["offset"] + b["bytes"] <= a["offset"]


def test_a_move_to_a_wrong_place_shows(neap, model, tmp_path):
    """A move onto a tensor in use destroys it."""
    planned, report = delivered(neap, model, tmp_path)
    before = Run("tflm", model, tmp_path, (1, 2))
    data = planned.read_bytes()
    place, offsets = plan_place(data, report)
    plan = json.loads((tmp_path / "plan.json").read_text())
    tensors = plan["entries"][0]["tensors"]
    places = {}
    for one in tensors:
        places.setdefault(one["tensor"], []).append(one)
    # Of an output that one move copies, the file's own tensor has the second place.
    victims = {}
    for moved, (_, second) in ((t, of) for t, of in places.items()
                               if len(of) == 2 and of[0]["first"] > 0):
        assert offsets[moved] == second["offset"]
        over = [t for t in tensors if t["first"] < second["first"] < t["last"] - 1
                and t["tensor"] != moved and t["bytes"] >= 64]
        if over:
            victims[moved] = over[0]["offset"]
    assert victims
    moved = min(victims)
    wrong = bytearray(data)
    struct.pack_into("<i", wrong, place + 4 * moved, victims[moved])
    planned.write_bytes(wrong)
    after = Run("tflm", planned, tmp_path, (1, 2))
    assert not after.ran or not same_bytes(before.outputs[1], after.outputs[1])


def test_litert_runs_the_moves(neap, model, tmp_path):
    pytest.importorskip("ai_edge_litert", reason="no wheel of ai-edge-litert")
    planned, _ = delivered(neap, model, tmp_path)
    before = Run("litert", model, tmp_path, (1, 2, 3))
    after = Run("litert", planned, tmp_path, (1, 2, 3))
    assert after.ran, after.why_not
    for seed in (1, 2, 3):
        assert same_bytes(before.outputs[seed], after.outputs[seed])


def test_neap_runs_its_plan_and_the_written_model(neap, model, tmp_path):
    planned, _ = delivered(neap, model, tmp_path)
    for words in ((model, "--plan", tmp_path / "plan.json", "--compare"), (planned,)):
        result = neap.run("run", *words, "--outputs", tmp_path / f"{len(words)}.npz")
        assert result.returncode == 0, result.stderr.decode(errors="replace")
    with numpy.load(tmp_path / "4.npz") as planned_run, numpy.load(tmp_path / "1.npz") as written_run:
        assert planned_run.files == written_run.files
        for name in planned_run.files:
            assert planned_run[name].tobytes() == written_run[name].tobytes()
    assert neap.run("check", model, tmp_path / "plan.json").returncode == 0


def test_compaction_that_is_impossible_is_said(neap, tmp_path):
    path = tmp_path / "crowded.tflite"
    path.write_bytes(made_models.crowded(33))
    report = neap.plan(path, "--runtime", "tflm", "--order", "file", "--moves", "compact")
    assert not report["moves"]
    assert report["plan"]["arena_bytes"] > report["plan"]["peak_bytes"]
    assert [note for note in report["notes"] if note.startswith("no left-compaction reaches 928 bytes")]
