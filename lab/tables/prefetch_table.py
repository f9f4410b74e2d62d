# SPDX-License-Identifier: Apache-2.0
r"""Plans for two memories with and without --prefetch, every plan checked and executed.

    python3 lab/tables/prefetch_table.py --neap build/release/tools/neap > docs/results/prefetch.md
    python3 lab/tables/prefetch_table.py --neap build/release/tools/neap --networks 'vww|kws' --rows-only

The networks are those of two_memories_table.py.
"""

import argparse
import pathlib
import tempfile

from two_memories_table import KIB, networks, report

LIMITS = [8 * KIB, 16 * KIB, 64 * KIB]
SKIPPED = ["randwire-cell-ws"]  # its plans take a minute

HEAD = """# Prefetch

Plans with `--fast` and `--prefetch` ([how they work](../algorithms/streams.md#two-memories---fast)) beside those without
`--prefetch`. Both move the same bytes. Every plan was checked by `neap check` and executed by `neap run --compare`:
output bytes are those of an unplanned run, where copies are done at the last moment that the plan allows.

```
python3 lab/tables/prefetch_table.py --neap build/release/tools/neap > docs/results/prefetch.md
```

- *fast*: bytes of the arena without and with `--prefetch`.
- *ahead*: of the bytes read from slow memory, those whose copies begin one block ahead.
- *copies*: part of all modelled cycles that are copies between the two memories, without `--prefetch`. *cycles*: modelled
  cycles with `--prefetch`, compared with those without. A copied byte takes a quarter of a cycle in the model; slower
  memory has more to gain. Nothing was measured on a device.

| network | limit | fast, without | fast, with | read, B | ahead | copies | cycles | equal |
|---|---:|---:|---:|---:|---:|---:|---:|---|"""


WEIGHT_LIMITS = [8 * KIB, 16 * KIB, 32 * KIB, 64 * KIB]
WEIGHT_SKIPPED = ["mobilenet-v1", "darts-imagenet-cell", "randwire-cell-ws"]

WEIGHT_HEAD = """
## Weights in slow memory

The same with `--slow-weights` in both plans. *ahead*: of all bytes read, weights among them, those whose copies begin while
something is computed. Operators of which some weights stay copy the others when they are used.

| network | limit | fast, without | fast, with | read, B | ahead | copies | cycles | equal |
|---|---:|---:|---:|---:|---:|---:|---:|---|"""


def planned(neap, folder, model, limit, *words):
    plan = folder / "plan.json"
    made, _ = report(neap, "plan", model, "--runtime", "neap", "--stream", "auto", "--fast", limit, "--plan", plan, "--force",
                     *words, codes=(0, 3))
    report(neap, "check", model, plan)
    ran, _ = report(neap, "run", model, "--plan", plan, "--compare", "--random-inputs", 1)
    slow = made["stream"]["slow"]
    counted = ran["slow"]["read_bytes"] + ran["slow"]["written_bytes"]
    return made, ran["equal"] and not ran["violations"] and counted == slow["traffic_bytes"]


def row(neap, folder, name, model, limit, *words):
    plain, plain_equal = planned(neap, folder, model, limit, *words)
    made, equal = planned(neap, folder, model, limit, "--prefetch", *words)
    slow, before = made["stream"]["slow"], plain["stream"]["slow"]
    same = (slow["read_bytes"], slow["written_bytes"]) == (before["read_bytes"], before["written_bytes"])
    cycles = plain["stream"]["cycles"]
    return (f"| {name} | {limit // KIB} KiB | {plain['plan']['arena_bytes']:,} | {made['plan']['arena_bytes']:,} "
            f"| {slow['read_bytes']:,} | {slow['ahead_bytes'] / slow['read_bytes']:.0%} "
            f"| {before['traffic_bytes'] / 4 / cycles:.2%} | {made['stream']['cycles'] / cycles:.4f} "
            f"| {'yes' if same and equal and plain_equal else 'NO'} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--neap", default="build/release/tools/neap")
    parser.add_argument("--networks", default="", help="regular expression of names")
    parser.add_argument("--rows-only", action="store_true")
    options = parser.parse_args()
    if not options.rows_only:
        print(HEAD)
    with tempfile.TemporaryDirectory() as holder:
        folder = pathlib.Path(holder)
        for name, model in networks(options.neap, folder, options.networks, SKIPPED):
            for limit in LIMITS:
                print(row(options.neap, folder, name, model, limit), flush=True)
        if not options.rows_only:
            print(WEIGHT_HEAD)
        for name, model in networks(options.neap, folder, options.networks, WEIGHT_SKIPPED):
            for limit in WEIGHT_LIMITS:
                print(row(options.neap, folder, name, model, limit, "--slow-weights"), flush=True)


if __name__ == "__main__":
    main()
