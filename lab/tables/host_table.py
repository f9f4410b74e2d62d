# SPDX-License-Identifier: Apache-2.0
"""Emitted C on this machine beside LiteRT: milliseconds of one inference in one thread.

    python3 lab/tables/host_table.py --neap build/release/tools/neap > docs/results/host.md

Needs gcc, the Python package ai-edge-litert and, for public models, the folder of shared models ($NEAP_SHARED, else
../shared). The programs of a network run in turn, several times, in processor time.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "lab/tables"), str(ROOT / "tests/emit")]
sys.dont_write_bytecode = True
import emitted  # noqa: E402
import firmware_table  # noqa: E402

NETWORKS = ("mobilenet-v2-224", "person_detect", "vww", "resnet8", "kws", "ad01")
SEED = 1
ROUNDS = 5  # in each, every program runs once
RUNS = 15  # of an inference in a round

PROGRAM = """
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "net.h"
static unsigned char arena[NET_ARENA_BYTES] __attribute__((aligned(64)));
static unsigned char given[NET_INPUT_BYTES], expected[NET_OUTPUT_BYTES];
static void load(const char *path, unsigned char *to, size_t bytes) {
  FILE *file = fopen(path, "rb");
  if (file == NULL || fread(to, 1, bytes, file) != bytes) exit(1);
  fclose(file);
}
int main(void) {
  load("input", given, sizeof(given));
  load("expected", expected, sizeof(expected));
  for (int i = 0; i < %(runs)d; ++i) {
    struct timespec from, to;
    memcpy(net_input(arena), given, sizeof(given));
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    if (net_run(arena) != 0) return 1;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    if (memcmp(net_output(arena), expected, sizeof(expected)) != 0) return 2;
    printf("%%.6f\\n", (double)(to.tv_sec - from.tv_sec) * 1e3 + (double)(to.tv_nsec - from.tv_nsec) * 1e-6);
  }
  return 0;
}
"""

HEAD = """# Emitted C on a computer, beside LiteRT

Milliseconds of one inference in one thread, processor time: the median of {count} runs, {rounds} rounds in which the
programs of a network take turns. In brackets: multiples of LiteRT's time. Every run of emitted C computed the bytes of
`neap run`.

```
python3 lab/tables/host_table.py --neap build/release/tools/neap > docs/results/host.md
```

Processor: {processor}. {compiler}, `-O2`. LiteRT: ai-edge-litert {litert}, with XNNPACK, its default.

- *portable*: `--kernels portable`. *vectors*: `--kernels mve`, whose tables also serve the vectors of x86-64 (AVX2 with
  `-mavx2`; AVX-512 VNNI with `-mavx512vnni -mavx512bw`) and of AArch64.
- *streamed*: the default plan of `neap emit`. *whole*: layer by layer (`--stream off`).
- `-`: LiteRT refuses the file (person_detect: an axis of quantization parameters), or the network has no stream.
"""

TAIL = """
The kernels of `neap_rt` compute one pixel or two for each pass over the weights of a layer, which need no scratch beyond
the inputs of two pixels. Most blocks of a streamed plan are one pixel wide, and each finds the addresses of its inputs.
"""


class Litert:
    """The stock runtime in one thread."""

    def __init__(self, model, data):
        import numpy
        from ai_edge_litert.interpreter import Interpreter

        self.interpreter = Interpreter(model_path=str(model), num_threads=1)
        self.interpreter.allocate_tensors()
        port = self.interpreter.get_input_details()[0]
        self.interpreter.set_tensor(port["index"], numpy.frombuffer(data, port["dtype"]).reshape(port["shape"]))

    def times(self):
        found = []
        for _ in range(RUNS):
            before = time.clock_gettime(time.CLOCK_PROCESS_CPUTIME_ID)
            self.interpreter.invoke()
            found.append((time.clock_gettime(time.CLOCK_PROCESS_CPUTIME_ID) - before) * 1e3)
        return found


class Program:
    """Emitted C with a program that times it."""

    def __init__(self, neap, model, folder, words, flags, files):
        folder.mkdir()
        run([neap, "emit", model, "-o", folder, "--prefix", "net", "--quiet", *words])
        for name, data in files.items():
            (folder / name).write_bytes(data)
        (folder / "main.c").write_text(PROGRAM % {"runs": RUNS})
        sources = ["main.c", "net.c", *(f"neap_rt/{path.name}" for path in sorted((folder / "neap_rt").glob("*.c")))]
        run(["gcc", "-std=c99", "-O2", *flags, *sources, "-o", "program"], folder)
        self.folder = folder

    def times(self):
        return [float(line) for line in run(["./program"], self.folder).split()]


def run(words, folder=None):
    done = subprocess.run([str(word) for word in words], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}: exit {done.returncode}: {done.stderr}")
    return done.stdout


def programs(neap, network, folder):
    """The names of columns to what measures them."""
    model = firmware_table.SHARED / network.file
    if not network.file:
        model = folder / "model.tflite"
        run([neap, "zoo", *network.zoo, "-o", model, "--quiet"])
    run([neap, "run", model, "--random-inputs", SEED, "--save-inputs", folder / "in.npz", "--outputs", folder / "out.npz",
         "--kernels", network.kernels, "--quiet"])
    (data,), (expected,) = emitted.arrays(folder / "in.npz"), emitted.arrays(folder / "out.npz")
    files = {"input": data, "expected": expected}
    found = {}
    try:
        found["LiteRT"] = Litert(model, data)
    except ValueError as error:  # it refuses the file
        print(f"{network.name}: {str(error)[:100]}", file=sys.stderr)
    kinds = {"portable": (["--kernels", "portable"], [])}
    for name, flags in emitted.vectors_of_this_processor().items():
        kinds[name] = (["--kernels", "mve"], flags)
    plans = {"streamed": [], "whole": ["--stream", "off"]} if network.streams else {"whole": ["--stream", "off"]}
    for plan, plan_words in plans.items():
        for name, (words, flags) in kinds.items():
            label = f"{plan}, {name}"
            found[label] = Program(neap, model, folder / label.replace(" ", "_"), [*words, *plan_words], flags, files)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--neap", required=True)
    parser.add_argument("--network", action="append", choices=NETWORKS)
    options = parser.parse_args()
    neap = str(pathlib.Path(options.neap).resolve())
    import ai_edge_litert

    columns = ["LiteRT", *(f"{plan}, {name}" for plan in ("streamed", "whole")
                           for name in ("portable", *emitted.vectors_of_this_processor()))]
    processor = next((line.split(":")[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
                      if line.startswith("model name")), os.uname().machine)
    print(HEAD.format(count=ROUNDS * RUNS, rounds=ROUNDS, processor=processor, litert=ai_edge_litert.__version__,
                      compiler=run(["gcc", "--version"]).splitlines()[0]))
    print("| network | " + " | ".join(columns) + " |\n|---|" + "--:|" * len(columns))
    for network in firmware_table.NETWORKS:
        if network.name not in (options.network or NETWORKS):
            continue
        with tempfile.TemporaryDirectory(prefix="neap-host-") as folder:
            measured = programs(neap, network, pathlib.Path(folder))
            times = {name: [] for name in measured}
            for _ in range(ROUNDS):
                for name, program in measured.items():
                    times[name] += program.times()
        medians = {name: statistics.median(found) for name, found in times.items()}
        cells = ["-" if name not in medians else f"{medians[name]:.3g}" if name == "LiteRT" or "LiteRT" not in medians
                 else f"{medians[name]:.3g} ({medians[name] / medians['LiteRT']:.2f}x)" for name in columns]
        print(f"| {network.name} | " + " | ".join(cells) + " |", flush=True)
    print(TAIL, end="")


if __name__ == "__main__":
    main()
