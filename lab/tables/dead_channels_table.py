#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of docs/results/dead-channels.md: what int8 models lose with their dead channels.

    lab/tables/dead_channels_table.py build/release/tools/neap [FOLDER]

Prints Markdown. FOLDER: default ../shared/models ($NEAP_SHARED names another place of `shared`). All .tflite
files there are planned for TensorFlow Lite Micro with and without the rule dead-channels alone, with no other
rewrite, and written. Models that no plan or no file can be made of are counted. Equal files count once.
"""
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

SHARED = pathlib.Path(os.environ.get("NEAP_SHARED", "../shared"))
HEAD = """| model | channels removed | MACs | weights | file | arena | total arena, Cortex-M |
|---|--:|--:|--:|--:|--:|--:|"""


def plan(program, model, folder, *options):
    """The report, the removed channels and the size of the written model; None: no plan."""
    written, listed = folder / "out.tflite", folder / "plan.json"
    command = [program, "plan", str(model), "--json", "--force", "-o", str(written), "--plan", str(listed), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode != 0:
        return None
    report = json.loads(done.stdout)
    removed = sum(len(rewrite["parameters"]) for rewrite in json.loads(listed.read_text())["rewrites"])
    return {"report": report, "removed": removed, "file": written.stat().st_size}


def both(before, after):
    if before is None or after is None:
        return "unknown"
    saved = f" (-{100 * (1 - after / before):.1f} %)" if after < before else ""
    return f"{before:,} → {after:,}{saved}" if before != after else f"{before:,}"


def row(name, before, after):
    def taken(plan, kind):
        return next(one["price"] for one in plan["report"]["tried"] if one["kind"] == kind)

    def total(plan):
        return plan["report"]["delivered"]["total_arena_bytes"]

    given, rewritten = taken(before, "as given"), taken(after, "rewritten")
    return (f"| {name} | {after['removed']:,} | {both(given['model_macs'], rewritten['macs'])} | "
            f"{both(before['report']['flash']['weights_bytes'], after['report']['flash']['weights_bytes'])} | "
            f"{both(before['file'], after['file'])} | "
            f"{both(before['report']['delivered']['arena_bytes'], after['report']['delivered']['arena_bytes'])} | "
            f"{both(total(before), total(after))} |")


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    root = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else SHARED / "models"
    seen, rows, counts = set(), [], {"models": 0, "no plan": 0, "no dead channels": 0}
    with tempfile.TemporaryDirectory() as folder:
        for model in sorted(root.rglob("*.tflite")):
            digest = hashlib.sha256(model.read_bytes()).hexdigest()
            if digest in seen or model.relative_to(root).parts[0] == "bad":
                continue
            seen.add(digest)
            counts["models"] += 1
            after = plan(program, model, pathlib.Path(folder), "--rules", "dead-channels")
            if after is None:
                counts["no plan"] += 1
            elif after["removed"] == 0:
                counts["no dead channels"] += 1
            else:
                before = plan(program, model, pathlib.Path(folder), "--rewrite", "none")
                rows.append(row(model.stem, before, after))
    print(f"{counts['models']} models: {len(rows)} with enough dead channels, {counts['no dead channels']} without, "
          f"{counts['no plan']} without a plan.\n")
    print("\n".join([HEAD, *rows]))


if __name__ == "__main__":
    main()
