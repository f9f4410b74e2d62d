# SPDX-License-Identifier: Apache-2.0
"""Scratch and persistent data of TFLM's reference kernels, as the wheel reports them for one small model
per kernel."""

import json
import pathlib
import re
import subprocess
import sys

import pytest

pytest.importorskip("numpy", reason="no wheel of numpy")
pytest.importorskip("tflite_micro", reason="no wheel of tflite-micro")

import kernel_models  # noqa: E402
from test_memory_plans import WHEEL  # noqa: E402

LARGE = 16 << 20
REFUSED_MOST = 25  # TFLM takes no such types


def arenas_of(lines):
    """{(file, arena bytes): bytes of activations, or None where TFLM refuses}."""
    program = pathlib.Path(__file__).with_name("run_arenas.py")
    run = subprocess.run([sys.executable, "-B", program], input="\n".join(lines).encode(),
                         capture_output=True, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
    found = {}
    for part in run.stderr.decode(errors="replace").split("@ ")[1:]:
        path, arena_bytes = part.split("\n", 1)[0].split()
        head = re.search(r"Arena allocation head (\d+) bytes", part)
        found[path, int(arena_bytes)] = None if "refused" in part or not head else int(head.group(1))
    return found


def cases(request):
    names = sorted(kernel_models.CASES)
    if not request.config.getoption("--long"):
        # One of each kernel at least: of a kernel's cases, every third.
        seen = {}
        for name in names:
            seen.setdefault(name.split("-")[0], []).append(name)
        names = [name for group in seen.values() for name in group[::3 if len(group) > 3 else 1]]
    return names


def test_scratch_and_what_is_kept(neap, request, table, tmp_path):
    runtime = pytest.importorskip("tflite_micro.python.tflite_micro._version",
                                  reason="no wheel of tflite-micro")
    exact = runtime.__version__.startswith(WHEEL)
    files = {name: tmp_path / f"{name}.tflite" for name in cases(request)}
    for name, path in files.items():
        path.write_bytes(kernel_models.CASES[name]())
    given = arenas_of([f"{path} {LARGE}" for path in files.values()])
    run = [name for name, path in files.items() if given[str(path), LARGE] is not None]
    assert len(files) - len(run) <= REFUSED_MOST
    planned = {name: tmp_path / f"{name}-planned.tflite" for name in run}
    reports, lines = {}, []
    for name in run:
        reports[name] = neap.plan(files[name], "--target", "x86-64+reference", "--rewrite", "none", "-o", planned[name])
        # TFLM loads some models whose kernels then refuse to run: nothing is reported of their arena.
        if reports[name]["refused_by_runtime"]:
            del reports[name]
            continue
        lines.append(f"{planned[name]} {LARGE}")
        total = reports[name]["delivered"]["targets"][0]["total_arena_bytes"]
        if total is not None:
            lines += [f"{planned[name]} {total}", f"{planned[name]} {total - 16}"]
    found = arenas_of(lines)
    wrong = []
    for name, report in reports.items():
        measured = (given[str(files[name]), LARGE], found[str(planned[name]), LARGE])
        predicted = (report["file_order"]["arena_bytes"], report["delivered"]["arena_bytes"])
        if predicted != measured:
            wrong.append(f"{name}: neap reports {predicted}, TFLM allocates {measured}")
        # The scratch of a body that is called twice is free between the calls, in the plan alone.
        if not name.startswith("IF") and report["delivered"]["arena_bytes"] != report["plan"]["arena_bytes"]:
            wrong.append(f"{name}: the plan has {report['plan']['arena_bytes']}")
        total = report["delivered"]["targets"][0]["total_arena_bytes"]
        if total is None:
            wrong.append(f"{name}: total unknown: {report['delivered']['targets'][0]['missing']}")
        elif exact and (found[str(planned[name]), total] is None
                        or found[str(planned[name]), total - 16] is not None):
            wrong.append(f"{name}: {total} is not the smallest arena")
    table("kernels whose scratch and persistent bytes are TFLM's",
          f"{len(reports)} models of {len({name.split('-')[0] for name in reports})} kernels")
    assert not wrong, "\n".join(wrong)


def test_unknown_scratch_is_unknown(neap, tmp_path):
    """An operator that is not modelled: no number, and no budget is met."""
    path, written = tmp_path / "custom.tflite", tmp_path / "out.tflite"
    maker = kernel_models.KernelMaker()
    source, target = maker.value("int8", [1000]), maker.value("int8", [1000])
    path.write_bytes(maker.under_test("MyOperator", [source], [target]))
    report = neap.plan(path, "--runtime", "tflm")
    assert report["delivered"]["arena_bytes"] is None
    assert report["delivered"]["total_arena_bytes"] is None
    assert report["fits"] is None
    text = neap.run("plan", path, "--runtime", "tflm").stdout.decode()
    assert text.startswith("Arena of the plan ")
    assert "TFLM's own allocation is unknown: the scratch of operator #0 'MyOperator' is not modelled" in \
        " ".join(text.split())
    assert "optimal" not in text
    for budget in ("--budget", "--budget-total"):
        result = neap.run("plan", path, "--runtime", "tflm", budget, "1MiB", "-o", written, "--json")
        assert result.returncode == 3, result.stderr
        assert json.loads(result.stdout)["fits"] is None
        message = result.stderr.decode().strip()
        assert "\n" not in message and "unknown" in message and "--scratch FILE" in message
        assert not written.exists()
    scratch = tmp_path / "scratch.csv"
    scratch.write_text("MyOperator,100\n")
    stated = neap.run("plan", path, "--runtime", "tflm", "--scratch", scratch, "--budget-activations", "1MiB",
                      "-o", written, "--json")
    assert stated.returncode == 0, stated.stderr
    assert json.loads(stated.stdout)["fits"] is True
