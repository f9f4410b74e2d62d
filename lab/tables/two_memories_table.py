# SPDX-License-Identifier: Apache-2.0
r"""Plans for two memories: bytes of the fast one and traffic with the slow one, every plan checked and executed.

    pip install tigris-ml==0.12.1
    python3 lab/tables/two_memories_table.py --neap build/release/tools/neap --tigris tigris \
        > docs/results/two-memories.md
    python3 lab/tables/two_memories_table.py --neap build/release/tools/neap --networks 'vww|kws' --rows-only

Networks of the zoo are made in int8; the others are public ones in the folder of shared models ($NEAP_SHARED, else
../shared). Without --tigris its column is empty.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import tempfile

KIB = 1024
ZOO = ["mobilenet-v1", "mobilenet-v2", "darts-imagenet-cell", "randwire-cell-ws"]
SHARED = ["mlcommons+tiny/vww_96_int8.tflite", "mlcommons+tiny/pretrainedResnet_quant.tflite",
          "mlcommons+tiny/kws_ref_model.tflite", "tensorflow+tflite-micro/person_detect.tflite"]
BUDGETS = [4 * KIB, 8 * KIB, 12 * KIB, 16 * KIB, 32 * KIB, 64 * KIB, 256 * KIB]

HEAD = """# Two memories

Plans with `--fast` ([how they work](../algorithms/streams.md#two-memories---fast)). Inputs and outputs of the network
are in slow memory, and all operators access fast memory alone. Every plan was checked by `neap check` and executed by
`neap run --compare`: output bytes are those of an unplanned run, and the bytes that the run read from and wrote to
slow memory are those of the plan. Networks of the zoo are int8 with seeded weights; the others are as published.

```
pip install tigris-ml==0.12.1
python3 lab/tables/two_memories_table.py --neap build/release/tools/neap --tigris "$(which tigris)" > two-memories.md
```

- *fast*: bytes of the arena. Above the limit, it is the smallest arena that the search knows; no such plan is accepted.
- *slow traffic*: bytes read from and written to slow memory, without weights.
- *bound*: no plan that computes every pixel once moves less, in any order
  ([proof](../algorithms/streams.md#bound-of-the-traffic)). *gap*: how much of the traffic the bound leaves open.
- *TiGrIS*: traffic that `tigris analyze --mem LIMIT+64M` of TiGrIS 0.12.1 measures for the same file: bytes that its
  runtime loads and spills. Where everything fits, that is the input and the output, as here. *none*: it has no plan for
  this limit. It moves less than Neap in the rows with *(less)* only, if there are any.
- *s*: processor seconds of `neap plan`.

| network | limit | fast | slow traffic | bound | gap | TiGrIS | equal | s |
|---|---:|---:|---:|---:|---:|---:|---|---:|"""


def report(neap, *words, codes=(0,)):
    """The report and processor seconds."""
    with subprocess.Popen([neap, *map(str, words), "--json", "--quiet"], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as child:
        out = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in codes:
        raise RuntimeError(f"{words}: exit {child.returncode}")
    return json.loads(out), usage.ru_utime + usage.ru_stime


def tigris_traffic(tigris, model, limit, own):
    """Bytes that TiGrIS loads and spills, beside Neap's own; none: it has no plan."""
    if not tigris:
        return ""
    done = subprocess.run([tigris, "analyze", model, "--mem", f"{limit // KIB}K+64M", "--json"], check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    found = json.loads(done.stdout)
    if found["fast"]["verdict"] not in ("ok", "tiled") or not isinstance(found["slow"]["traffic"], dict):
        return "none"
    moved = found["slow"]["traffic"]["read"] + found["slow"]["traffic"]["written"]
    return f"{moved:,}" + (" (less)" if moved < own else "")


def row(neap, tigris, folder, name, model, limit):
    plan = folder / "plan.json"
    made, seconds = report(neap, "plan", model, "--runtime", "neap", "--stream", "auto", "--fast", limit, "--plan", plan,
                           "--force", codes=(0, 3))
    slow, arena = made["stream"]["slow"], made["plan"]["arena_bytes"]
    report(neap, "check", model, plan)
    ran, _ = report(neap, "run", model, "--plan", plan, "--compare", "--random-inputs", 1)
    counted = ran["slow"]["read_bytes"] + ran["slow"]["written_bytes"]
    equal = ran["equal"] and not ran["violations"] and counted == slow["traffic_bytes"]
    traffic, bound = slow["traffic_bytes"], slow["traffic_lower_bound_bytes"]
    above = "" if arena <= limit else " (above)"
    gap = "0" if traffic == bound else f"{1 - bound / traffic:.1%}"
    return (f"| {name} | {limit // KIB} KiB | {arena:,}{above} | {traffic:,} | {bound:,} | {gap} "
            f"| {tigris_traffic(tigris, model, limit, traffic)} | {'yes' if equal else 'NO'} | {seconds:.1f} |")


def networks(neap, folder, pattern, without=()):
    """(name, path) of those whose name matches; `folder` gets those of the zoo, one at a time."""
    shared = pathlib.Path(os.environ.get("NEAP_SHARED", "../shared")) / "models"
    for path in map(shared.joinpath, SHARED):
        if path.exists() and re.search(pattern, path.stem):
            yield path.stem, path
    for name in ZOO:
        if name in without or not re.search(pattern, name):
            continue
        model = folder / f"{name}.tflite"
        subprocess.run([neap, "zoo", name, "--int8", "-o", model, "--quiet"], check=True)
        yield name, model


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--neap", default="build/release/tools/neap")
    parser.add_argument("--tigris", default="", help="the program of TiGrIS, to measure its traffic as well")
    parser.add_argument("--networks", default="", help="regular expression of names")
    parser.add_argument("--rows-only", action="store_true")
    options = parser.parse_args()
    if not options.rows_only:
        print(HEAD)
    with tempfile.TemporaryDirectory() as holder:
        folder = pathlib.Path(holder)
        for name, model in networks(options.neap, folder, options.networks):
            for limit in BUDGETS:
                print(row(options.neap, options.tigris, folder, name, model, limit), flush=True)


if __name__ == "__main__":
    main()
