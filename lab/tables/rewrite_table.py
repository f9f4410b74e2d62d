#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/results/rewriting.md: peaks and operators before and after.

    lab/tables/rewrite_table.py build/release/tools/neap [FILE_OR_FOLDER...] [--zoo NAME...]
        [--runtime PROFILE] [--branched]

Prints Markdown. Without files and names: networks of the zoo, then ../shared/graphs and the branched
ones of ../shared/models ($NEAP_SHARED names another folder) where they exist. `seconds` are
processor time of all that `neap plan --order-only` does, without rewriting and (the longer of two) with
it, on the machine of the run. A peak is marked `=` where no choice of these rules has a smaller
one; else the bound that was reached follows it. --branched leaves out graphs in which no order saves
anything and no rewrite is taken.
"""
import argparse
import json
import os
import pathlib
import resource
import subprocess
import tempfile

ENDINGS = {".tflite", ".onnx"}
SHARED = pathlib.Path(os.environ.get("NEAP_SHARED", "../shared"))
ZOO = ["swiftnet", "swiftnet.int8", "swiftnet-cell-a", "swiftnet-cell-a.int8", "darts-imagenet-cell",
       "mobilenet-v1-vww.int8", "mobilenet-v2.int8", "resnet8.int8", "ds-cnn.int8",
       "efficientnet-lite0.int8", "densenet-121.int8", "inception-v3.int8", "nasnet-mobile.int8",
       "pnasnet-cifar", "randwire-cell-ws", "unet++"]
HEAD = """| graph | file order | best order | rewritten, bitwise | rewritten, all | operators | seconds |
|---|---|---|---|---|---|---|"""
slow = []  # (name, seconds) of runs that take longer than a second


def models(paths):
    for path in map(pathlib.Path, paths):
        if path.is_dir():
            yield from sorted(p for p in path.rglob("*") if p.suffix in ENDINGS)
        else:
            yield path


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def plan(program, model, runtime, *options):
    command = [program, "plan", str(model), "--runtime", runtime, "--order-only", "--json", *options]
    before = processor_seconds()
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode != 0:
        return None
    return {**json.loads(done.stdout), "processor": processor_seconds() - before}


def cell(report, plain):
    peak = report["plan"]["peak_bytes"]
    rewriting = report["rewriting"]
    if rewriting is None:
        return f"{peak:,}"
    bound = rewriting["peak_lower_bound_bytes"]
    mark = " =" if bound >= peak else f" ({bound:,})"
    saved = 1 - peak / plain["plan"]["peak_bytes"] if plain["plan"]["peak_bytes"] else 0
    return f"{peak:,}{mark}, -{100 * saved:.1f} %"


def row(program, name, model, runtime, branched):
    plain = plan(program, model, runtime, "--rewrite", "none")
    if plain is None:
        return None
    bitwise = plan(program, model, runtime)
    every = plan(program, model, runtime, "--rewrite", "reassociate")
    if bitwise is None or every is None:
        return f"| {name} | failed | | | | | |"
    changed = bitwise["rewriting"] or every["rewriting"]
    saved = plain["plan"]["peak_bytes"] < plain["file_order"]["peak_bytes"]
    if branched and not changed and not saved:
        return None
    seconds = max(r["processor"] for r in (bitwise, every))
    if seconds > 1:
        slow.append((name, seconds))
    return (f"| {name} | {plain['file_order']['peak_bytes']:,} | {plain['plan']['peak_bytes']:,} | "
            f"{cell(bitwise, plain)} | {cell(every, plain)} | {plain['operators']} / "
            f"{bitwise['operators']} / {every['operators']} | {plain['processor']:.2f} / {seconds:.2f} |")


def file_rows(options, models_of, branched):
    for model in models(models_of):
        line = row(options.program, model.stem, model, options.runtime, branched)
        if line:
            print(line, flush=True)


def zoo_rows(options, names):
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            stem, _, ending = name.partition(".")
            words = ["--int8"] if ending == "int8" else []
            model = pathlib.Path(folder) / (f"{stem}.tflite" if words else f"{stem}.onnx")
            subprocess.run([options.program, "zoo", stem, *words, "-o", str(model), "--force"], check=True,
                           capture_output=True)
            line = row(options.program, name, model, options.runtime, options.branched)
            if line:
                print(line, flush=True)
            model.unlink()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("models", nargs="*")
    parser.add_argument("--zoo", nargs="*", default=[])
    parser.add_argument("--runtime", default="neap")
    parser.add_argument("--branched", action="store_true")
    options = parser.parse_args()
    if options.models or options.zoo:
        print(HEAD)
        file_rows(options, options.models, options.branched)
        zoo_rows(options, options.zoo)
    else:
        print(f"## The zoo\n\n{HEAD}")
        zoo_rows(options, ZOO)
        for title, folder, branched in (("Test graphs", "graphs", False), ("Models", "models", True)):
            if (SHARED / folder).is_dir():
                print(f"\n## {title}\n\n{HEAD}")
                file_rows(options, sorted((SHARED / folder).glob("*.onnx")) or [SHARED / folder], branched)
    if slow:
        print("\nLonger than a second: " + ", ".join(f"{name} ({took:.1f} s)" for name, took in slow) + ".")


if __name__ == "__main__":
    main()
