# SPDX-License-Identifier: Apache-2.0
"""Operators in tiles (--cascade auto) in stock runtimes: the bytes of the model as it is, in less memory."""

import json

import pytest

pytest.importorskip("numpy", reason="no wheel of numpy")

from conftest import SHARED, SOURCE  # noqa: E402
from tensors import same_bytes  # noqa: E402
from test_tflite_runtimes import Run  # noqa: E402

PERSON = "tensorflow+tflite-micro/person_detect.tflite"
WAKE = "mlcommons+tiny/vww_96_int8.tflite"
# Total arena on a Cortex-M at most, by kernels; a prototype on such a machine needed as much.
TOTALS = {
    (PERSON, None): 66244,
    (PERSON, "tflm-reference"): 52612,
    (WAKE, None): 74932,
    (WAKE, "tflm-reference"): 59204,
}
# Likewise with bodies that equal tiles share.
SHARED_TOTALS = {PERSON: 49492, WAKE: 56772}
SHARED_BODIES = ["--cascade-bodies", "shared"]
# Of networks with random weights: upper limits of the activations and of the persistent data that
# tiles add (docs/algorithms/tiles.md), by kernels.
NETWORKS = {
    ("mobilenet-v1", None): 423390,
    ("mobilenet-v1", "tflm-reference"): 423390,
    ("mobilenet-v2", None): 394244,
    ("mobilenet-v2", "tflm-reference"): 394244,
}


FORMS = {
    "1 ordered and placed": [],
    "2 with outputs over inputs": ["--overlap", "tflm-reference"],
    "3 in tiles": ["--cascade", "auto"],
    "4 in tiles, with outputs over inputs": ["--cascade", "auto", "--overlap", "tflm-reference"],
    "5 in tiles with shared bodies": ["--cascade", "auto", *SHARED_BODIES],
    "6 in tiles with shared bodies, with outputs over inputs":
        ["--cascade", "auto", *SHARED_BODIES, "--overlap", "tflm-reference"],
}


@pytest.mark.parametrize("name", [PERSON, WAKE, "mobilenet-v1", "mobilenet-v2"])
def test_all_forms(neap, name, request, table, tmp_path):
    """The table of docs/algorithms/tiles.md: TFLM's report for every form of a model, with identical outputs."""
    pytest.importorskip("tflite_micro", reason="no wheel of tflite-micro")
    made = name.startswith("mobilenet")
    if made and not request.config.getoption("--long"):
        pytest.skip("takes minutes: with --long")
    original = tmp_path / "whole.tflite" if made else SHARED / "models" / name
    if made:
        assert neap.run("zoo", name, "--int8", "-o", original).returncode == 0
    if not original.exists():
        pytest.skip(f"no models in {SHARED}")
    before = Run("tflm", original, tmp_path, (1, 2))
    assert before.ran, before.why_not
    assert not same_bytes(before.outputs[1], before.outputs[2])
    title = "forms of models under TFLM: activations that it reports, total arena on a Cortex-M by the model"
    report = neap.plan(original, "--order", "file", "--no-memory-plan", "-o", tmp_path / "file.tflite")
    table(title, f"{name}: 0 as it is: {before.arena_bytes}, "
                 f"{report['delivered']['total_arena_bytes'] - report['delivered']['arena_bytes'] + before.arena_bytes}")
    arenas, totals = [before.arena_bytes], [None]
    for form, words in FORMS.items():
        written = tmp_path / "form.tflite"
        report = neap.plan(original, "-o", written, "--force", *words, timeout=900)
        after = Run("tflm", written, tmp_path, (1, 2))
        assert after.ran, after.why_not
        for seed in (1, 2):
            assert same_bytes(before.outputs[seed], after.outputs[seed]), form
        assert after.arena_bytes == report["delivered"]["arena_bytes"]
        arenas.append(after.arena_bytes)
        totals.append(report["delivered"]["total_arena_bytes"])
        table(title, f"{name}: {form}: {after.arena_bytes}, {report['delivered']['total_arena_bytes']}")
    assert arenas[0] >= arenas[1] >= arenas[2] and arenas[1] >= arenas[3] and arenas[2] >= arenas[4]
    # Bodies are taken where all that is kept is less with them.
    assert totals[5] <= totals[3] and totals[6] <= totals[4]


@pytest.mark.parametrize("model, kernels", TOTALS)
def test_stock_tflm(neap, model, kernels, table, tmp_path):
    pytest.importorskip("tflite_micro", reason="no wheel of tflite-micro")
    original = SHARED / "models" / model
    if not original.exists():
        pytest.skip(f"no models in {SHARED}")
    overlap = [] if kernels is None else ["--overlap", kernels]
    cut = tmp_path / "cut.tflite"
    report = neap.plan(original, "--cascade", "auto", "-o", cut, "--plan", tmp_path / "plan.json",
                       *overlap)
    assert report["cascade"]["stripes"] > 1
    seeds = range(1, 6)
    before, after = Run("tflm", original, tmp_path, seeds), Run("tflm", cut, tmp_path, seeds)
    assert before.ran and after.ran, after.why_not
    for seed in seeds:
        assert same_bytes(before.outputs[seed], after.outputs[seed]), f"outputs differ for {seed}"
    assert not same_bytes(before.outputs[1], before.outputs[2])
    assert after.arena_bytes == report["delivered"]["arena_bytes"]
    assert after.arena_bytes < report["cascade"]["uncut"]["arena_bytes"]
    assert report["delivered"]["total_arena_bytes"] <= TOTALS[model, kernels]
    table("activations in tiles, as TFLM reports them",
          f"{model}, {kernels or 'any'} kernels: {before.arena_bytes} -> {after.arena_bytes}; whole "
          f"arena on a Cortex-M by the model: {report['delivered']['total_arena_bytes']}")
    assert neap.run("check", original, tmp_path / "plan.json").returncode == 0


@pytest.mark.parametrize("model", SHARED_TOTALS)
def test_shared_bodies(neap, model, table, tmp_path):
    """Equal tiles call one body: the bytes of the model as it is, in less than clones need."""
    pytest.importorskip("tflite_micro", reason="no wheel of tflite-micro")
    from tflite_micro import runtime

    original = SHARED / "models" / model
    if not original.exists():
        pytest.skip(f"no models in {SHARED}")
    cut, plan = tmp_path / "cut.tflite", tmp_path / "plan.json"
    # Without a budget, rewritten tiles with fewer activations and a larger total arena may be taken.
    report = neap.plan(original, "--rewrite", "none", "--cascade", "auto", "--overlap", "tflm-reference",
                       *SHARED_BODIES, "-o", cut, "--plan", plan)
    assert report["cascade"]["bodies"] == "shared"
    assert any("by IF" in note for note in report["notes"])
    jsonschema = pytest.importorskip("jsonschema", reason="no wheel of jsonschema")
    for document, schema in ((report, "plan-report"), (json.loads(plan.read_text()), "plan")):
        jsonschema.validate(document, json.loads((SOURCE / f"schemas/{schema}.schema.json").read_text()))
    seeds = range(1, 6)
    before, after = Run("tflm", original, tmp_path, seeds), Run("tflm", cut, tmp_path, seeds)
    assert before.ran and after.ran, after.why_not
    for seed in seeds:
        assert same_bytes(before.outputs[seed], after.outputs[seed]), f"outputs differ for {seed}"
    assert not same_bytes(before.outputs[1], before.outputs[2])
    assert after.arena_bytes == report["delivered"]["arena_bytes"]
    assert report["delivered"]["total_arena_bytes"] <= SHARED_TOTALS[model]
    # The bytes of IF and a subgraph, measured in the runtime: the model loads in exactly the
    # predicted arena.
    total = {one["target"]: one for one in report["delivered"]["targets"]}["x86-64"]["total_arena_bytes"]
    runtime.Interpreter.from_file(str(cut), arena_size=total)
    with pytest.raises(Exception):
        runtime.Interpreter.from_file(str(cut), arena_size=total - 16)
    assert neap.run("check", original, plan).returncode == 0
    ran = neap.run("run", original, "--plan", plan, "--compare")
    assert ran.returncode == 0, ran.stderr.decode(errors="replace")
    # The negative control: the checker finds a misplaced tensor of a body.
    document = json.loads(plan.read_text())
    inside = [tensor for tensor in document["entries"][0]["tensors"] if tensor["subgraph"] == 1]
    assert inside
    for tensor in inside:
        kept = tensor["offset"]
        tensor["offset"] = kept - 16 if kept else 16
        plan.write_text(json.dumps(document))
        refused = neap.run("check", original, plan).returncode
        tensor["offset"] = kept
        if refused:
            break
    assert refused, "no tensor of a body can be moved without being noticed"
    table("activations in tiles, as TFLM reports them",
          f"{model}, tflm-reference kernels, shared bodies: {before.arena_bytes} -> {after.arena_bytes}; "
          f"total arena on a Cortex-M by the model: {report['delivered']['total_arena_bytes']}")


@pytest.mark.parametrize("words", [[], SHARED_BODIES + ["--overlap", "tflm-reference"]])
def test_right_where_the_plan_is_ignored(neap, words, tmp_path):
    pytest.importorskip("ai_edge_litert", reason="no wheel of ai-edge-litert")
    original = SHARED / "models" / WAKE
    if not original.exists():
        pytest.skip(f"no models in {SHARED}")
    cut = tmp_path / "cut.tflite"
    neap.plan(original, "--cascade", "auto", "-o", cut, *words)
    before, after = (Run("litert", path, tmp_path, (1, 2, 3)) for path in (original, cut))
    if not before.ran:
        pytest.skip("LiteRT refuses the original")
    assert after.ran, after.why_not
    for seed in (1, 2, 3):
        assert same_bytes(before.outputs[seed], after.outputs[seed])


@pytest.mark.parametrize("network, kernels", NETWORKS)
def test_networks(neap, network, kernels, request, table, tmp_path):
    pytest.importorskip("tflite_micro", reason="no wheel of tflite-micro")
    if kernels is not None and not request.config.getoption("--long"):
        pytest.skip("takes minutes: with --long")
    original, cut = tmp_path / "whole.tflite", tmp_path / "cut.tflite"
    assert neap.run("zoo", network, "--int8", "-o", original).returncode == 0
    overlap = [] if kernels is None else ["--overlap", kernels]
    report = neap.plan(original, "--cascade", "auto", "-o", cut, *overlap, timeout=900)
    uncut = report["cascade"]["uncut"]
    kept = uncut["total_arena_bytes"] - uncut["arena_bytes"]
    added = report["delivered"]["total_arena_bytes"] - kept
    assert added <= NETWORKS[network, kernels]
    before, after = (Run("tflm", path, tmp_path, (1, 2)) for path in (original, cut))
    assert before.ran and after.ran, after.why_not
    for seed in (1, 2):
        assert same_bytes(before.outputs[seed], after.outputs[seed])
    assert not same_bytes(before.outputs[1], before.outputs[2])
    assert after.arena_bytes == report["delivered"]["arena_bytes"]
    table("activations in tiles, as TFLM reports them",
          f"{network}, {kernels or 'any'} kernels: {before.arena_bytes} -> {after.arena_bytes} (uncut, "
          f"planned: {uncut['arena_bytes']}), with what clones keep {added}; total arena "
          f"{report['delivered']['total_arena_bytes']}")


# Rewritten and in tiles: limits of the bytes of activations and of the MACs, as a multiple of the model's. SwiftNet:
# below the rewritten network without tiles; MobileNetV2: no more bytes than tiles alone, and fewer MACs.
TOGETHER = {
    "swiftnet": (275_968 - 1, None),
    "mobilenet-v2": (294_336, 1.156),
}


@pytest.mark.parametrize("network", TOGETHER)
def test_rewriting_and_tiles(neap, network, request, table, tmp_path):
    pytest.importorskip("tflite_micro", reason="no wheel of tflite-micro")
    if network != "swiftnet" and not request.config.getoption("--long"):
        pytest.skip("takes minutes: with --long")
    max_bytes, max_ratio = TOGETHER[network]
    original, cut = tmp_path / "whole.tflite", tmp_path / "cut.tflite"
    assert neap.run("zoo", network, "--int8", "-o", original).returncode == 0
    report = neap.plan(original, "--cascade", "auto", "-o", cut, "--plan", tmp_path / "plan.json", timeout=900)
    taken = next(one for one in report["tried"] if one["taken"])
    # Tiles of the model as given may need even less.
    together = next(one for one in report["tried"] if one["kind"] == "rewritten and tiles")
    assert taken["bytes"] <= together["bytes"] <= max_bytes
    before, after = (Run("tflm", path, tmp_path, (1, 2)) for path in (original, cut))
    assert before.ran and after.ran, after.why_not
    for seed in (1, 2):
        assert same_bytes(before.outputs[seed], after.outputs[seed])
    assert not same_bytes(before.outputs[1], before.outputs[2])
    assert after.arena_bytes == report["delivered"]["arena_bytes"] <= max_bytes
    ratio = taken["price"]["macs"] / taken["price"]["model_macs"]
    assert max_ratio is None or ratio < max_ratio
    assert neap.run("check", original, tmp_path / "plan.json").returncode == 0
    table("rewritten and in tiles: activations as TFLM reports them",
          f"{network}: {before.arena_bytes} -> {after.arena_bytes} at {ratio:.3f}x MACs")


@pytest.mark.parametrize("runtime", ["tflm", "neap"])
def test_pareto_schema(neap, runtime, tmp_path):
    jsonschema = pytest.importorskip("jsonschema", reason="no wheel of jsonschema")
    model = tmp_path / "m.tflite"
    assert neap.run("zoo", "mobilenet-v1", "--width-multiplier", "0.25", "--resolution", "64",
                    "--int8", "-o", model).returncode == 0
    done = neap.run("pareto", model, "--runtime", runtime, "--json")
    assert done.returncode == 0
    front = json.loads(done.stdout)
    jsonschema.validate(front,
                        json.loads((SOURCE / "schemas/pareto-report.schema.json").read_text()))
    points = front["points"]
    arenas = [point["arena_bytes"] for point in points]
    assert len(points) > 1 and arenas == sorted(arenas, reverse=True)
