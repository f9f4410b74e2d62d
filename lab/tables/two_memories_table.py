# SPDX-License-Identifier: Apache-2.0
"""Plans for two memories: bytes of the fast one and traffic with the slow one, every plan checked and executed.

    python3 lab/tables/two_memories_table.py --neap build/release/tools/neap > docs/results/two-memories.md
    python3 lab/tables/two_memories_table.py --neap build/release/tools/neap --networks 'vww|kws' --rows-only

Networks of the zoo are made in int8; the others are public ones in the folder of shared models ($NEAP_SHARED, else
../shared).
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
# TiGrIS 0.12.1 (PyPI tigris-ml) on the same files: bytes of traffic that it reports, by network and budget.
TIGRIS = {("vww_96_int8", 12 * KIB): "175,874", ("vww_96_int8", 32 * KIB): "111,746",
          ("mobilenet-v2", 32 * KIB): "9.9 MB", ("mobilenet-v2", 256 * KIB): "1.9 MB"}

HEAD = """# Two memories

Plans with `--fast` ([how they work](../algorithms/streams.md#two-memories---fast)). Inputs and outputs of the network
are in slow memory, and all operators access fast memory alone. Every plan was checked by `neap check` and executed by
`neap run --compare`: output bytes are those of an unplanned run, and the bytes that the run read from and wrote to
slow memory are those of the plan. Networks of the zoo are int8 with seeded weights; the others are as published.

```
python3 lab/tables/two_memories_table.py --neap build/release/tools/neap > docs/results/two-memories.md
```

- *fast*: bytes of the arena. Above the limit, it is the smallest arena that the search knows; no such plan is accepted.
- *slow traffic*: bytes read from and written to slow memory, without weights.
- *bound*: every plan reads each input and writes each output. *gap*: how much of the traffic the bound leaves open.
- *TiGrIS*: traffic that TiGrIS 0.12.1 reports for the same file and limit, where it is known. It was not checked
  whether it counts the same bytes.
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


def row(neap, folder, name, model, limit):
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
            f"| {TIGRIS.get((name, limit), '')} | {'yes' if equal else 'NO'} | {seconds:.1f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--neap", default="build/release/tools/neap")
    parser.add_argument("--networks", default="", help="regular expression of names")
    parser.add_argument("--rows-only", action="store_true")
    options = parser.parse_args()
    shared = pathlib.Path(os.environ.get("NEAP_SHARED", "../shared")) / "models"
    if not options.rows_only:
        print(HEAD)
    with tempfile.TemporaryDirectory() as holder:
        folder = pathlib.Path(holder)
        networks = [(path.stem, path) for path in map(shared.joinpath, SHARED) if path.exists()]
        networks += [(name, folder / f"{name}.tflite") for name in ZOO]
        for name, model in networks:
            if not re.search(options.networks, name):
                continue
            if name in ZOO:
                subprocess.run([options.neap, "zoo", name, "--int8", "-o", model, "--quiet"], check=True)
            for limit in BUDGETS:
                print(row(options.neap, folder, name, model, limit), flush=True)


if __name__ == "__main__":
    main()
