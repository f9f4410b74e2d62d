#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the outputs of two builds of `neap`: compare_programs.py BEFORE AFTER [--files REGEX] [--jobs N].

For a change that is to change no output. Every model and graph of ../shared is planned by both programs with
five sets of options and a small limit of states. Written models and plans must have equal bytes, reports equal
values, failures the same exit code and message. In reports, "seconds" and the times of "steps" are ignored, and "notes"
with --ignore-notes. A line for each difference, then the number of compared runs; exit 1 where something differs.

For a change of texts, file formats or searches, --results compares only what a user gets: exit codes, and the bytes
of the peak, of the arena and of their bounds, as far as both programs report them. With --worse it prints only runs
in which AFTER fails in another way than BEFORE, or has a larger peak or arena. A run that takes longer than
--timeout ends with exit code "time-out"."""

import argparse
import concurrent.futures
import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[1]
SHARED = pathlib.Path(os.environ.get("NEAP_SHARED", SOURCE / "../shared")).resolve()
MODELS = (".tflite", ".onnx")
# Name, options, whether a model is written.
WAYS = (
    ("default", (), True),
    ("cascade", ("--cascade", "auto"), True),
    ("overlap", ("--overlap", "tflm-reference"), True),
    ("stream", ("--runtime", "neap", "--stream", "auto"), False),
    ("reassociate", ("--rewrite", "reassociate"), True),
)


def without_seconds(value):
    if isinstance(value, dict):
        return {key: without_seconds(item) for key, item in value.items() if key != "seconds"}
    return [without_seconds(item) for item in value] if isinstance(value, list) else value


def compared_report(text, ignored):
    """The report without times and without the members `ignored`."""
    report = json.loads(text)
    return without_seconds({key: value for key, value in report.items() if key not in ignored})


def outputs_of(program, path, words, writes, limits, ignored, timeout):
    """{name of an output: its value}."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model, plan = folder / f"out{path.suffix}", folder / "plan.json"
        outputs = ["--plan", plan.name] + (["-o", model.name] if writes else [])
        try:
            run = subprocess.run([program, "plan", path, *words, *limits, "--json", *outputs], capture_output=True,
                                 stdin=subprocess.DEVNULL, check=False, cwd=folder, timeout=timeout)
        except subprocess.TimeoutExpired:
            return {"exit code": "time-out", "message": "", "report": None, "model": None, "plan": None}
        report = compared_report(run.stdout, ignored) if run.stdout else None
        return {"exit code": run.returncode, "message": run.stderr.decode(errors="replace"), "report": report,
                "model": model.read_bytes() if model.exists() else None,
                "plan": plan.read_bytes() if plan.exists() else None}


def first_difference(before, after, at=""):
    if isinstance(before, dict) and isinstance(after, dict):
        for key in [*before, *(key for key in after if key not in before)]:
            if before.get(key) != after.get(key):
                return first_difference(before.get(key), after.get(key), f"{at}.{key}")
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (one, other) in enumerate(zip(before, after)):
            if one != other:
                return first_difference(one, other, f"{at}[{index}]")
    if isinstance(before, bytes) or isinstance(after, bytes):
        return f"{at}: {len(before or b'')} and {len(after or b'')} bytes that differ"
    return f"{at}: {before!r} -> {after!r}"


RESULTS = {"plan": ("peak_bytes", "arena_bytes", "peak_lower_bound_bytes", "arena_lower_bound_bytes",
                    "delivered_arena_bytes"),
           "file_order": ("peak_bytes", "arena_bytes")}


def result_differences(before, after):
    """["plan.arena_bytes: 200 -> 100", ...]: members that both reports have."""
    found = []
    if before["exit code"] != after["exit code"]:
        found.append(f"exit code: {before['exit code']} -> {after['exit code']}")
    for part, members in RESULTS.items():
        one, other = ((outputs["report"] or {}).get(part) or {} for outputs in (before, after))
        found += [f"{part}.{member}: {one[member]} -> {other[member]}" for member in members
                  if member in one and member in other and one[member] != other[member]]
    return found


def is_worse(before, after):
    """Whether the second run fails, not as the first, or needs more bytes."""
    if after["exit code"] != before["exit code"]:
        return after["exit code"] != 0
    plans = [(outputs["report"] or {}).get("plan") or {} for outputs in (before, after)]
    return any(plans[1].get(member, 0) > plans[0].get(member, float("inf")) for member in ("peak_bytes", "arena_bytes"))


def compare(job):
    path, (name, words, writes), before, after, only_results, only_worse, *settings = job
    is_model = path.suffix in MODELS
    if not is_model and name in ("cascade", "overlap", "stream"):
        return None
    one, other = (outputs_of(program, path, words, writes and is_model, *settings) for program in (before, after))
    if only_worse and not is_worse(one, other):
        return ""
    if only_results:
        found = result_differences(one, other)
        return f"{path.name} {name}: {', '.join(found)}" if found else ""
    if one == other:
        return ""
    return f"{path.name} {name}{first_difference(one, other)}"


def inputs(folder, pattern):
    """All models and graphs; packed ones are unpacked into `folder`."""
    root = SHARED / "models"
    found = [path for path in root.rglob("*") if path.suffix in MODELS]
    for path in (SHARED / "graphs").rglob("*.json*"):
        if path.suffix == ".gz":
            unpacked = folder / path.stem
            with gzip.open(path) as packed, open(unpacked, "wb") as out:
                shutil.copyfileobj(packed, out)
            path = unpacked
        if path.suffix == ".json":
            found.append(path)
    return sorted((path for path in found if re.search(pattern, str(path))),
                  key=lambda path: (path.stat().st_size, path))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0].split(":")[0] + ".",
        epilog="Of reports, the times ('seconds', 'steps' and 'plan_steps') are ignored.")
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--files", default="", help="a regular expression that paths have to contain")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--max-states", default="1000")
    parser.add_argument("--ignore-notes", action="store_true", help="ignore the texts of notes in reports, too")
    parser.add_argument("--results", action="store_true", help="compare only exit codes and bytes of peaks and arenas")
    parser.add_argument("--worse", action="store_true", help="as --results, but only results that are worse")
    parser.add_argument("--timeout", type=float, help="seconds for each run; default: no limit")
    arguments = parser.parse_args()
    programs = [str(pathlib.Path(path).resolve()) for path in (arguments.before, arguments.after)]
    with tempfile.TemporaryDirectory() as name:
        files = inputs(pathlib.Path(name), arguments.files)
        limits = ("--max-states", arguments.max_states)
        ignored = ("steps", "plan_steps") + (("notes",) if arguments.ignore_notes else ())
        settings = (arguments.results or arguments.worse, arguments.worse, limits, ignored, arguments.timeout)
        jobs = [(path, way, *programs, *settings) for path in files for way in WAYS]
        compared, different = 0, 0
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            for answer in pool.map(compare, jobs):
                compared += answer is not None
                different += bool(answer)
                if answer:
                    print(answer, flush=True)
    print(f"{compared} runs compared, {different} differ")
    return 1 if different or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
