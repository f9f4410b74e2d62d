# SPDX-License-Identifier: Apache-2.0
r"""Plans for two memories whose weights are in the slow one, every plan checked and executed.

    python3 lab/tables/slow_weights_table.py --neap build/release/tools/neap > docs/results/slow-weights.md
    python3 lab/tables/slow_weights_table.py --neap build/release/tools/neap --networks 'vww|kws' --rows-only

The networks are those of two_memories_table.py.
"""

import argparse
import pathlib
import tempfile

from two_memories_table import KIB, networks, report

LIMITS = [8 * KIB, 16 * KIB, 32 * KIB, 64 * KIB, 256 * KIB]
ENOUGH = 16 * KIB * KIB  # for all weights and tensors at once
SKIPPED = ["mobilenet-v1", "darts-imagenet-cell", "randwire-cell-ws"]

HEAD = """# Weights in slow memory

Plans with `--fast` and `--slow-weights` ([how they work](../algorithms/streams.md#two-memories---fast)): inputs, outputs
and weights of the network are in slow memory, and operators access fast memory alone. Every plan was checked by
`neap check` and executed by `neap run --compare` with the weights that its copies brought into the arena: output bytes are those of an
unplanned run, and the bytes that the run read from and wrote to slow memory are those of the plan.

```
python3 lab/tables/slow_weights_table.py --neap build/release/tools/neap > docs/results/slow-weights.md
```

- *fast*: bytes of the arena. Above the limit, it is the smallest arena that the search knows; no such plan is accepted.
- *weights*: bytes of weights that the plan reads, each access counted, and as a multiple of all weights of the network.
- *tensors*: all other bytes read from and written to slow memory. *direct*: what a plan without `--slow-weights` moves
  within the same limit, in which weights need no fast memory.
- *bound*: of the sum of both columns. No plan that computes every pixel once moves less.
- *s*: processor seconds of `neap plan`.

Where the sum is above the bound, weights of some segment do not all stay beside its lines: others are read again for
every box, or the network is cut into more segments, whose tensors move. Two ways to run an operator are not tried, and
could move less: its input is read again for each block of its output channels, and weights stay over two segments.

| network | limit | fast | weights | all weights | tensors | direct | sum | bound | equal | s |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---|---:|"""


def planned(neap, model, limit, plan, *words):
    return report(neap, "plan", model, "--runtime", "neap", "--stream", "auto", "--fast", limit, "--plan", plan, "--force",
                  *words, codes=(0, 3))


def row(neap, folder, name, model, limit, once):
    plan = folder / "plan.json"
    direct, _ = planned(neap, model, limit, plan)
    made, seconds = planned(neap, model, limit, plan, "--slow-weights")
    report(neap, "check", model, plan)
    ran, _ = report(neap, "run", model, "--plan", plan, "--compare", "--random-inputs", 1)
    slow, before, arena = made["stream"]["slow"], direct["stream"]["slow"], made["plan"]["arena_bytes"]
    moved = slow["traffic_bytes"]
    weights = slow["weight_bytes"]
    equal = ran["equal"] and not ran["violations"] and ran["slow"]["read_bytes"] + ran["slow"]["written_bytes"] == moved
    above = "" if arena <= limit else " (above)"
    return (f"| {name} | {limit // KIB} KiB | {arena:,}{above} | {weights:,} | {weights / once:.2f}x "
            f"| {moved - weights:,} | {before['traffic_bytes']:,} | {moved:,} | {slow['traffic_lower_bound_bytes']:,} "
            f"| {'yes' if equal else 'NO'} | {seconds:.1f} |")


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
            made, _ = planned(options.neap, model, ENOUGH, folder / "plan.json", "--slow-weights")
            once = made["stream"]["slow"]["weight_bytes"]
            for limit in LIMITS:
                print(row(options.neap, folder, name, model, limit, once), flush=True)


if __name__ == "__main__":
    main()
