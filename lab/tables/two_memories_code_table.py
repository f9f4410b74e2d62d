# SPDX-License-Identifier: Apache-2.0
"""Emitted C with two memories: bytes of copies counted by the plan, `neap run`, functions of the caller, and QEMU.

    python3 lab/tables/two_memories_code_table.py --neap build/release/tools/neap > docs/results/two-memories-c.md
    python3 lab/tables/two_memories_code_table.py --neap build/release/tools/neap --networks 'vww|kws' --rows-only

Needs cross-compilers and QEMU (scripts/install_packages.sh --firmware) and, for public models, the folder of shared
models ($NEAP_SHARED, else ../shared).
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "firmware"), str(ROOT / "tests/emit")]
import emitted  # noqa: E402
import measure  # noqa: E402

SHARED = pathlib.Path(os.environ.get("NEAP_SHARED", ROOT / "../shared")) / "models"
KIB = 1024
STATE_BYTES = 12  # of the arena of emitted C, not of its plan
BOARD = "mps2-an386"
# Name, file of a shared model or words of `neap zoo`, limits of the fast memory, whether the board's flash has the
# weights.
NETWORKS = [
    ("vww_96_int8", "mlcommons+tiny/vww_96_int8.tflite", (4, 8, 12, 32), True),
    ("person_detect", "tensorflow+tflite-micro/person_detect.tflite", (4, 8, 12, 32), True),
    ("pretrainedResnet_quant", "mlcommons+tiny/pretrainedResnet_quant.tflite", (4, 8, 12, 32), True),
    ("kws_ref_model", "mlcommons+tiny/kws_ref_model.tflite", (4, 8, 16), True),
    ("mobilenet-v1", ("mobilenet-v1", "--int8"), (32, 64, 256), False),
    ("mobilenet-v2", ("mobilenet-v2", "--int8"), (32, 64, 256), True),
    # For checkouts without shared models, and for tests.
    ("vww-zoo", ("mobilenet-v1-vww", "--int8"), (4,), True),
]

HEAD = """# Emitted C with two memories

Plans with [two memories](two-memories.md) as [emitted C](../reference/emitted-c.md#two-memories). The bytes that a run
reads from slow memory and writes to it are counted four times:

- *plan*: by the planner; `neap check` accepted them.
- *run*: by `neap run`, during the run.
- *copies*: by functions of the caller, on the host. Slow memory is without access except while one of them copies. Each
  input runs twice: with copies that are done when they are waited for, and in steps with copies that are done at once.
- *loads and stores*: by a plugin of QEMU, which sees each access of the emulated {board} ({cpu}) to its 16 MiB of PSRAM
  at 0x21000000, where the slow memory is; copies are the compiler's `memcpy` there. All were inside of the slow memory.

```
python3 lab/tables/two_memories_code_table.py --neap build/release/tools/neap > docs/results/two-memories-c.md
```

*arena*: with 12 bytes of state; the plan was made for a limit of 12 bytes less. *equal*: the output bytes of both
programs are those of `neap run --kernels tflm` without a plan. *RAM*: arena, stack, data and bss; the board has exactly
that. *instructions*: of one inference, million. Networks of the zoo are int8 with seeded weights. The weights of
MobileNetV1 exceed the flash of the board.

Compilers: {compilers}. Optimization: -O2.

| network | limit | arena | slow memory | read, plan | written, plan | run | copies | loads and stores | RAM | instructions, M | equal |
|---|--:|--:|--:|--:|--:|---|---|---|--:|--:|---|"""


# The same with weights in slow memory, where a board has space for those of all networks.
SLOW_WEIGHTS = [
    ("vww_96_int8", "mlcommons+tiny/vww_96_int8.tflite", (8, 16, 32), True),
    ("person_detect", "tensorflow+tflite-micro/person_detect.tflite", (8, 16, 32), True),
    ("pretrainedResnet_quant", "mlcommons+tiny/pretrainedResnet_quant.tflite", (8, 16, 32), True),
    ("kws_ref_model", "mlcommons+tiny/kws_ref_model.tflite", (8, 16, 32), True),
    ("mobilenet-v2", ("mobilenet-v2", "--int8"), (32, 64, 256), True),
    ("vww-zoo", ("mobilenet-v1-vww", "--int8"), (8,), True),
]

SLOW_WEIGHTS_HEAD = """
## Weights in slow memory

Plans with [weights in slow memory](slow-weights.md), too. On the board, weights are in the PSRAM; on the host, in pages
without access except while a function of the caller copies. The kernels are `portable`.

- *weights*: bytes of weights that a run reads, which are a part of those that it reads.

| network | limit | arena | slow memory | read, plan | weights | written, plan | run | copies | loads and stores | RAM | instructions, M | equal |
|---|--:|--:|--:|--:|--:|--:|---|---|---|--:|--:|---|"""


class Difference(Exception):
    """A row whose counts or bytes are not equal."""


def neap(program, folder, *words):
    done = subprocess.run([program, *map(str, words)], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise measure.Failure(f"neap {' '.join(map(str, words))}: {done.stderr.strip()}")
    return done.stdout


def copies_on_host(network, folder):
    """"": the copies of all runs have the bytes of the plan, and outputs are equal; else a report."""
    network.write_seed(1, emitted.arrays(folder / "in.npz"), emitted.arrays(folder / "out.npz"))
    errors = network.compile("gcc", *network.counts_copies)
    counted = (network.macro("SLOW_READ_BYTES"), network.macro("SLOW_WRITTEN_BYTES"))
    return errors or network.run((1,), counted=counted)


def facts_of(program, folder, model, limit, on_board=True, tight=True, more=()):
    """All counts of one plan, made with the words `more`. Raises Difference where two are not equal."""
    plan, code = folder / f"plan{limit}.json", folder / f"code{limit}"
    neap(program, folder, "plan", model, "--runtime", "neap", "--stream", "auto", "--fast", limit - STATE_BYTES, "--plan", plan,
         "--force", "--quiet", *more)
    neap(program, folder, "check", model, plan, "--quiet")
    (entry,) = json.loads(plan.read_text())["entries"]
    slow = entry["stream"]["slow"]
    expected = (slow["read_bytes"], slow["written_bytes"])
    ran = json.loads(neap(program, folder, "run", model, "--plan", plan, "--compare", "--random-inputs", 1, "--json", "--quiet"))
    if not ran["equal"] or ran["violations"] or (ran["slow"]["read_bytes"], ran["slow"]["written_bytes"]) != expected:
        raise Difference(f"{model}, {limit} B: neap run: {ran['slow']}, expected {expected}")
    emit = ("emit", model, "--plan", plan, "--prefix", "net", "--budget", limit, "--force", "--quiet")
    neap(program, folder, *emit, "-o", code)
    # Programs for the host are compiled in a folder of their own, with weights in pages of their own.
    host = folder / f"host{limit}"
    neap(program, folder, *emit, "-o", host, *(["--weights", "bin"] if "weight_bytes" in slow else []))
    network = emitted.Network(host, "net")
    if (network.macro("SLOW_READ_BYTES"), network.macro("SLOW_WRITTEN_BYTES")) != expected:
        raise Difference(f"{model}, {limit} B: the header states other bytes than the plan")
    report = copies_on_host(network, folder)
    if report:
        raise Difference(f"{model}, {limit} B: copies on the host: {report}")
    facts = {"arena": network.arena_bytes, "slow": network.macro("SLOW_BYTES"), "read": expected[0], "written": expected[1],
             "weights": slow.get("weight_bytes", 0)}
    if not on_board:
        return facts
    inputs = folder / "inputs.bin"
    inputs.write_bytes(measure.tensor_bytes([folder / "in.npz"]))
    result = measure.measure(measure.boards()[BOARD], code, inputs, tight=tight, timeout=1200)
    (run,) = result["slow"]["runs"]
    if (run["read_bytes"], run["written_bytes"]) != expected:
        raise Difference(f"{model}, {limit} B: {BOARD}: {run}, expected {expected}")
    if result["outputs"] != measure.tensor_bytes([folder / "out.npz"]):
        raise Difference(f"{model}, {limit} B: outputs differ on {BOARD}")
    return facts | {"run": run, "ram": result["ram"]["total"], "instructions": result["instructions"]["runs"][0]}


def row(name, limit, facts, slow_weights=False):
    board = "", "", ""
    if "run" in facts:
        board = (f"equal: {facts['run']['loads']:,} and {facts['run']['stores']:,}", f"{facts['ram']:,}",
                 f"{facts['instructions'] / 1e6:,.3f}")
    weights = f"{facts['weights']:,} | " if slow_weights else ""
    return (f"| {name} | {limit // KIB} KiB | {facts['arena']:,} | {facts['slow']:,} | {facts['read']:,} | {weights}"
            f"{facts['written']:,} | equal | equal | {' | '.join(board)} | yes |")


def bench(program, folder, source):
    """The model, with an input and its outputs in `folder`."""
    model = SHARED / source if isinstance(source, str) else folder / "model.tflite"
    if not isinstance(source, str):
        neap(program, folder, "zoo", *source, "-o", model, "--quiet")
    neap(program, folder, "run", model, "--random-inputs", 1, "--kernels", "tflm", "--save-inputs", "in.npz", "--outputs",
         "out.npz", "--quiet")
    return model


def missing_tools():
    return measure.boards()[BOARD].missing_tools() + ([] if emitted.installed("gcc") else ["gcc"])


def versions():
    return ", ".join(subprocess.run([command, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
                     for command in ("gcc", "arm-none-eabi-gcc", "qemu-system-arm"))


def print_rows(program, pattern, networks, slow_weights=False):
    """How many of them failed."""
    failed = 0
    for name, source, limits, on_board in networks:
        absent = isinstance(source, str) and not (SHARED / source).exists()
        if absent or not re.search(pattern, name) or (name.endswith("-zoo") and not pattern):
            continue
        with tempfile.TemporaryDirectory(prefix="neap-two-memories-") as holder:
            folder = pathlib.Path(holder)
            model = bench(program, folder, source)
            for limit in limits:
                try:
                    facts = facts_of(program, folder, model, limit * KIB, on_board,
                                     more=["--slow-weights"] if slow_weights else [])
                    print(row(name, limit * KIB, facts, slow_weights), flush=True)
                except (Difference, measure.Failure) as error:
                    failed += 1
                    print(f"{name}, {limit} KiB: {error}", file=sys.stderr, flush=True)
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--neap", default="build/release/tools/neap")
    parser.add_argument("--networks", default="", help="regular expression of names")
    parser.add_argument("--rows-only", action="store_true")
    options = parser.parse_args()
    if missing_tools():
        print(f"two_memories_code_table.py: {', '.join(missing_tools())} not found; scripts/install_packages.sh --firmware "
              "installs all of them", file=sys.stderr)
        return 1
    program = str(pathlib.Path(options.neap).resolve())
    if not options.rows_only:
        print(HEAD.format(board=BOARD, cpu=measure.boards()[BOARD].cpu, compilers=versions()))
    failed = print_rows(program, options.networks, NETWORKS)
    if not options.rows_only:
        print(SLOW_WEIGHTS_HEAD)
    failed += print_rows(program, options.networks, SLOW_WEIGHTS, slow_weights=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
