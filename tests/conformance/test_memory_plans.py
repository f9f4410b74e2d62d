# SPDX-License-Identifier: Apache-2.0
"""Offline memory plans in stock TensorFlow Lite Micro: identical outputs, the predicted arena.

TFLM obeys the offsets in the file and checks none of them, so that a wrong one shows in the outputs:
each test has a control that moves one onto a tensor in use.
"""

import json
import re
import struct
import subprocess
import sys
import zipfile

import pytest

numpy = pytest.importorskip("numpy", reason="no wheel of numpy")

from conftest import SHARED, SOURCE, one_in, shared_files  # noqa: E402
from tensors import same_bytes  # noqa: E402
from test_tflite_runtimes import KNOWN_TFLM_ARENAS, Run, plan_or_skip  # noqa: E402

WHEEL = "0.dev20261023182759"  # total_arena_bytes of x86-64 is about this one
# TFLM's report without overlap inside operators: for the original file, for the one delivered with
# its operators unchanged, and an upper limit for the one delivered with bitwise rewrites.
GAINS = {
    "mlcommons+tiny/vww_96_int8.tflite": (73728, 55296, 46080),
    "tensorflow+tflite-micro/person_detect.tflite": (55296, 55296, 41472),
    "mlcommons+tiny/kws_ref_model.tflite": (16000, 16000, 16000),
    "mlcommons+tiny/pretrainedResnet_quant.tflite": (49152, 49152, 49152),
    "mlcommons+tiny/ad01_int8.tflite": (768, 768, 768),
}
MODELS = shared_files("models", ".tflite")
SAMPLE = one_in(9, MODELS, always=GAINS)
# Seconds for a run in the reference kernels that are worth twenty of them.
SLOW = {"mlcommons+mobile_models/edsr_f32b5_full_qint8.tflite",
        "google-ai-edge+LiteRT/torchaudio_conformer.tflite",
        "terryky+tflite_gles_app/object_detection_3d_chair_640x480_integer_quant.tflite",
        "terryky+tflite_gles_app/deeplabv3_257_mv_gpu.tflite",
        "tensorflow+flutter-tflite/custom_ssd_mobilenet_v2_fpn_lite_320x320.tflite",
        "anilsathyan7+Portrait-Segmentation/slim_reshape.tflite",
        "terryky+tflite_gles_app/bisenetv2_celebamaskhq_256x256_integer_quant.tflite",
        "terryky+tflite_gles_app/dbface_keras_256x256_integer_quant_nhwc.tflite",
        "google-coral+edgetpu/mobilenet_edgetpu_0.75_224_post_training_quant.tflite",
        "mit-han-lab+tinyengine/mcunetv2_large.tflite",
        "anilsathyan7+Portrait-Segmentation/prisma_quant.tflite"}


def pytest_generate_tests(metafunc):
    if "model" in metafunc.fixturenames:
        models = MODELS if metafunc.config.getoption("--long") else SAMPLE
        metafunc.parametrize("model", models or [
            pytest.param("", marks=pytest.mark.skip(f"no models in {SHARED}"))])


def seeds_for(model, request):
    if model in SLOW:
        return (1, 2)
    return tuple(range(1, 21 if request.config.getoption("--long") else 4))


def plan_place(data, report):
    """Where in the file the offsets begin, and how many there are."""
    from tflite_micro.tensorflow.lite.micro.python import schema_py_generated as schema

    root = schema.Model.GetRootAsModel(data, 0)
    entries = [root.Metadata(i) for i in range(root.MetadataLength())
               if root.Metadata(i).Name() == b"OfflineMemoryAllocation"]
    assert len(entries) == 1
    plan = root.Buffers(entries[0].Buffer()).DataAsNumpy()
    words = plan.view("<i4")
    assert words[0] == 0 and words[1] == root.SubgraphsLength()
    tensors = sum(root.Subgraphs(i).TensorsLength() for i in range(root.SubgraphsLength()))
    assert words[2] == tensors == len(words) - 3
    place = data.find(plan.tobytes())
    assert place % 16 == 0
    return place + 12, words[3:]


def moves(plan):
    """(tensor, offset) that puts a tensor onto one that is still to be read when it is written.

    By 64 or 16 bytes onto the end of the one below, else onto its second half: the first bytes of an
    input are often read for the last time before the last bytes of the output are written.
    """
    tensors = [t for t in plan["entries"][0]["tensors"] if t["subgraph"] == 0 and t["bytes"] > 0]
    tensors.sort(key=lambda t: -t["bytes"])
    pairs = [(a, b) for a in tensors for b in tensors
             if a["first"] < b["first"] < a["last"] and a["offset"] != b["offset"]]
    for before, after in pairs:
        if after["offset"] == (before["offset"] + before["bytes"] + 15) // 16 * 16:
            for by in (64, 16):
                if before["bytes"] >= by:
                    yield after["tensor"], after["offset"] - by
    for before, after in pairs:
        yield after["tensor"], before["offset"] + before["bytes"] // 32 * 16


def controls(data, report, plan, folder):
    """Delivered files with one wrong offset."""
    place, offsets = plan_place(data, report)
    for tensor, offset in moves(plan):
        if offsets[tensor] < 0:
            continue
        wrong = bytearray(data)
        struct.pack_into("<i", wrong, place + 4 * tensor, offset)
        path = folder / "wrong.tflite"
        path.write_bytes(wrong)
        yield path, f"tensor {tensor} to {offset}"


def test_delivered(neap, model, table, request, tmp_path):
    pytest.importorskip("tflite_micro", reason="no wheel of tflite-micro")
    original = SHARED / "models" / model
    seeds = seeds_for(model, request)
    before = Run("tflm", original, tmp_path, seeds)
    if not before.ran:
        pytest.skip(f"TFLM refuses the original: {before.why_not}")
    planned = tmp_path / "planned.tflite"
    report = plan_or_skip(neap, original, planned, table, "--plan", tmp_path / "plan.json")
    after = Run("tflm", planned, tmp_path, seeds)
    assert after.ran, after.why_not
    for seed in seeds:
        assert same_bytes(before.outputs[seed], after.outputs[seed]), f"outputs differ for seed {seed}"
    varies = not same_bytes(before.outputs[seeds[0]], after.outputs[seeds[1]])
    measured = (before.arena_bytes, after.arena_bytes)
    predicted = (report["file_order"]["arena_bytes"], report["delivered"]["arena_bytes"])
    table("arena with an offline memory plan, as TFLM itself reports it",
          f"{model}: {measured[0]} -> {measured[1]}, {len(seeds)} seeds"
          + ("" if varies else ", outputs do not depend on them"))
    if model in GAINS:
        assert measured[0] == GAINS[model][0] and measured[1] <= GAINS[model][2]
        assert varies
    assert measured[1] <= measured[0], "TFLM needs more for the delivered model"
    assert predicted == measured
    if not report["delivered"]["memory_plan"]:
        table("models that are delivered without a memory plan", f"{model}: {report['notes']}")
        return
    if not varies:
        return
    plan = json.loads((tmp_path / "plan.json").read_text())
    tried = []
    for path, what in controls(planned.read_bytes(), report, plan, tmp_path):
        wrong = Run("tflm", path, tmp_path, seeds[:3])
        if not wrong.ran or any(not same_bytes(wrong.outputs[seed], before.outputs[seed])
                                for seed in seeds[:3]):
            table("a wrong offset that shows in the outputs", f"{model}: {what}")
            return
        tried.append(what)
        if len(tried) == 40:
            break
    assert not tried or model not in GAINS, f"no wrong offset shows: {tried}"
    table("models where no wrong offset was found that shows", f"{model}: {len(tried)} tried")


@pytest.mark.parametrize("known", GAINS)
def test_operators_unchanged(neap, known, table, tmp_path):
    """The arena with addresses alone, to the byte."""
    pytest.importorskip("tflite_micro", reason="no wheel of tflite-micro")
    original = SHARED / "models" / known
    if not original.exists():
        pytest.skip(f"no models in {SHARED}")
    before = Run("tflm", original, tmp_path, (1, 2))
    planned = tmp_path / "planned.tflite"
    plan_or_skip(neap, original, planned, table, "--rewrite", "none")
    after = Run("tflm", planned, tmp_path, (1, 2))
    assert (before.arena_bytes, after.arena_bytes) == GAINS[known][:2]
    assert all(same_bytes(before.outputs[seed], after.outputs[seed]) for seed in (1, 2))


# With outputs over inputs as far as TFLM's reference kernels allow it: at most.
OVERLAPPED = {
    "mlcommons+tiny/vww_96_int8.tflite": 36896,
    "tensorflow+tflite-micro/person_detect.tflite": 36896,
    "mlcommons+tiny/kws_ref_model.tflite": 10048,
    "mlcommons+tiny/pretrainedResnet_quant.tflite": 33312,
}


def test_overlapped(neap, model, table, request, tmp_path):
    pytest.importorskip("tflite_micro", reason="no wheel of tflite-micro")
    original = SHARED / "models" / model
    seeds = seeds_for(model, request)
    before = Run("tflm", original, tmp_path, seeds)
    if not before.ran:
        pytest.skip(f"TFLM refuses the original: {before.why_not}")
    planned = tmp_path / "planned.tflite"
    report = plan_or_skip(neap, original, planned, table, "--overlap", "tflm-reference")
    after = Run("tflm", planned, tmp_path, seeds)
    assert after.ran, after.why_not
    for seed in seeds:
        assert same_bytes(before.outputs[seed], after.outputs[seed]), f"outputs differ for seed {seed}"
    table("arena with outputs over inputs (--overlap tflm-reference), as TFLM itself reports it",
          f"{model}: {before.arena_bytes} -> {after.arena_bytes}")
    assert after.arena_bytes <= OVERLAPPED.get(model, before.arena_bytes)
    assert after.arena_bytes == report["delivered"]["arena_bytes"]
    if report["delivered"]["memory_plan"]:
        assert b"neap.overlap_kernels" in planned.read_bytes()


def fits(model, arena_bytes):
    """Whether TFLM loads and runs the model in an arena of that size; a process of its own."""
    code = ("import sys\nfrom tflite_micro import runtime\n"
            "interpreter = runtime.Interpreter.from_file(sys.argv[1], arena_size=int(sys.argv[2]))\n"
            "interpreter.invoke()\n")
    return subprocess.run([sys.executable, "-c", code, str(model), str(arena_bytes)],
                          capture_output=True, check=False).returncode == 0


# Small networks that end in a MEAN, sum, pad and stride: they need no file of others.
ZOO = {"mobilenet-v2": ("--width-multiplier", "0.35", "--resolution", "96"),
       "mobilenet-v3-small": (), "mobilenet-v1-vww": (), "resnet8": (), "ds-cnn": ()}


@pytest.mark.parametrize("name", ZOO)
def test_overlapped_networks_of_the_zoo(neap, name, tmp_path):
    pytest.importorskip("tflite_micro", reason="no wheel of tflite-micro")
    original, planned = tmp_path / "original.tflite", tmp_path / "planned.tflite"
    assert neap.run("zoo", name, "--int8", *ZOO[name], "-o", original, "--quiet").returncode == 0
    result = neap.run("plan", original, "-o", planned, "--overlap", "tflm-reference", "--json")
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    before = Run("tflm", original, tmp_path, seeds=(1, 2))
    after = Run("tflm", planned, tmp_path, seeds=(1, 2))
    assert before.ran and after.ran, (before.why_not, after.why_not)
    for seed in (1, 2):
        assert same_bytes(before.outputs[seed], after.outputs[seed]), seed
    assert after.arena_bytes == report["delivered"]["arena_bytes"]


def test_total_arena(neap, model, table, tmp_path):
    runtime = pytest.importorskip("tflite_micro.python.tflite_micro._version",
                                  reason="no wheel of tflite-micro")
    if not runtime.__version__.startswith(WHEEL):
        pytest.skip(f"the total arena is known for tflite-micro {WHEEL}, found {runtime.__version__}")
    original = SHARED / "models" / model
    if model in SLOW:
        pytest.skip("a run takes too long for a search of the arena")
    if not Run("tflm", original, tmp_path, (1,)).ran:
        pytest.skip("TFLM refuses the original")
    planned = tmp_path / "planned.tflite"
    report = plan_or_skip(neap, original, planned, table)
    total = {one["target"]: one for one in report["delivered"]["targets"]}["x86-64"]
    if total["total_arena_bytes"] is None:
        table("models whose total arena neap does not know", f"{model}: {total['missing']}")
        return
    bytes_needed = total["total_arena_bytes"]
    assert fits(planned, bytes_needed), f"{bytes_needed} bytes do not suffice"
    assert not fits(planned, bytes_needed - 16), f"{bytes_needed - 16} bytes suffice"
    table("smallest arena that TFLM loads the delivered model in (x86-64 wheel, exact)",
          f"{model}: {bytes_needed}; Cortex-M, by the model: {report['delivered']['total_arena_bytes']}")


def test_cortex_m_figures(neap):
    """Bytes kept beside the activations, as a build for Cortex-M4 with a recorder reported them."""
    recorder_bytes = 104
    for model, reported in (("tensorflow+tflite-micro/person_detect.tflite", 27092),
                            ("mlcommons+tiny/vww_96_int8.tflite", 27028)):
        path = SHARED / "models" / model
        if not path.exists():
            pytest.skip(f"no models in {SHARED}")
        predicted = neap.plan(path, "--runtime", "tflm", "--rewrite", "none")["delivered"]["persistent_bytes"]
        # The allocations after the recorder are aligned again: to 16 bytes at most.
        assert abs(predicted + recorder_bytes - reported) < 16


def test_litert_ignores_the_plan(neap, model, table, tmp_path):
    pytest.importorskip("ai_edge_litert", reason="no wheel of ai-edge-litert")
    if model not in GAINS:
        pytest.skip("one of the models of every run")
    original = SHARED / "models" / model
    before = Run("litert", original, tmp_path, (1, 2, 3))
    if not before.ran:
        pytest.skip("LiteRT refuses the original")
    planned = tmp_path / "planned.tflite"
    report = plan_or_skip(neap, original, planned, table)
    assert report["delivered"]["memory_plan"]
    after = Run("litert", planned, tmp_path, (1, 2, 3))
    assert after.ran, after.why_not
    for seed in (1, 2, 3):
        assert same_bytes(before.outputs[seed], after.outputs[seed])


def test_archive_stays_readable(neap, tmp_path):
    """An appended ZIP, read by its stored positions and not by a reader that corrects them."""
    path = next((SHARED / "models" / name for name in MODELS
                 if not name.startswith("bad/") and zipfile.is_zipfile(SHARED / "models" / name)
                 and neap.run("plan", SHARED / "models" / name, "--quiet").returncode == 0), None)
    if path is None:
        pytest.skip(f"no model with an archive in {SHARED}")
    planned = tmp_path / "planned.tflite"
    neap.plan(path, "--runtime", "tflm", "-o", planned)
    data = planned.read_bytes()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(planned) as new:
        assert old.namelist() == new.namelist() and new.testzip() is None
        assert all(old.read(name) == new.read(name) for name in old.namelist())
    end = data.rfind(b"PK\x05\x06")
    count, size, directory = struct.unpack_from("<HII", data, end + 10)
    assert directory + size == end
    at = directory
    for _ in range(count):
        assert data[at:at + 4] == b"PK\x01\x02"
        name, extra, comment = struct.unpack_from("<HHH", data, at + 28)
        (local,) = struct.unpack_from("<I", data, at + 42)
        assert data[local:local + 4] == b"PK\x03\x04"
        at += 46 + name + extra + comment


def test_planned_twice_is_planned_once(neap, tmp_path):
    model = SHARED / "models/mlcommons+tiny/vww_96_int8.tflite"
    if not model.exists():
        pytest.skip(f"no models in {SHARED}")
    first, second = tmp_path / "first.tflite", tmp_path / "second.tflite"
    neap.plan(model, "--runtime", "tflm", "-o", first)
    neap.plan(first, "--runtime", "tflm", "-o", second)
    assert first.read_bytes() == second.read_bytes()


def test_c_header(neap, tmp_path):
    """The numbers of --emit-c in a C99 program are those of plan.json."""
    model = SHARED / "models/mlcommons+tiny/kws_ref_model.tflite"
    if not model.exists():
        pytest.skip(f"no models in {SHARED}")
    header, plan, program = tmp_path / "kws.h", tmp_path / "plan.json", tmp_path / "main.c"
    report = neap.plan(model, "--runtime", "tflm", "--emit-c", header, "--plan", plan)
    program.write_text('#include "kws.h"\n#include <stdint.h>\n#include <stdio.h>\n'
                       "static const int32_t plan[] = KWS_BUFFER_PLAN;\n"
                       "#define ROW(s, t, m, o, b, n) "
                       'printf("%d %d %ld %ld %s\\n", s, t, (long)(o), (long)(b), n);\n'
                       "int main(void) {\n"
                       '  printf("%d %d %d\\n", KWS_ARENA_BYTES, KWS_TENSOR_ARENA_BYTES, KWS_TENSORS);\n'
                       "  KWS_FOR_EACH_TENSOR(ROW)\n"
                       '  for (int i = 0; i <= plan[0]; ++i) printf("%d ", (int)plan[i]);\n'
                       "  return KWS_BUFFERS == (int)(sizeof plan / sizeof *plan) - 1 ? 0 : 1;\n}\n")
    binary = tmp_path / "main"
    subprocess.run(["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-o", binary, program],
                   check=True)
    lines = subprocess.run([binary], check=True, capture_output=True).stdout.decode().splitlines()
    placed = json.loads(plan.read_text())["entries"][0]["tensors"]
    assert [int(word) for word in lines[0].split()] == [
        report["delivered"]["arena_bytes"], report["delivered"]["total_arena_bytes"], len(placed)]
    assert len(lines) == len(placed) + 2
    for line, tensor in zip(lines[1:], placed):
        numbers = [int(word) for word in line.split(" ", 4)[:4]]
        assert numbers == [tensor["subgraph"], tensor["tensor"], tensor["offset"], tensor["bytes"]]
    count, *offsets = (int(word) for word in lines[-1].split())
    assert count == len(offsets)
    # AddBuffer calls come by tensor index; there is no scratch in this model.
    by_index = [tensor["offset"] for tensor in sorted(placed, key=lambda t: t["tensor"])]
    assert offsets == by_index


def test_known_models_are_known():
    assert set(GAINS) > set(KNOWN_TFLM_ARENAS)
    assert re.fullmatch(r"0\.dev\d{14}", WHEEL)
    assert (SOURCE / "tests/conformance").exists()
