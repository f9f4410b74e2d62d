# SPDX-License-Identifier: Apache-2.0
"""Emitted C on emulated microcontrollers: RAM, flash, instructions, equal bytes.

    python3 lab/tables/firmware_table.py --neap build/release/tools/neap > docs/results/firmware.md
    python3 lab/tables/firmware_table.py --neap build/release/tools/neap --network kws --cpu cortex-m4 --rows-only

Needs cross-compilers and QEMU (scripts/install_packages.sh --firmware) and, for public models, the folder of shared
models ($NEAP_SHARED, else ../shared). Each network is emitted layer by layer and streamed, with its input in the arena
and fed by rows, compiled at -O2 for each processor, and run in exactly the RAM that it uses on the smallest board that
has enough. Outputs of five seeded inputs (two of MobileNetV2) are compared with those of `neap run`.
"""

import argparse
import concurrent.futures
import dataclasses
import functools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "firmware"))
import measure  # noqa: E402

SHARED = pathlib.Path(os.environ.get("NEAP_SHARED", ROOT / "../shared")) / "models"
SEEDS = (1, 2, 3, 4, 5)
# Boards of a processor, the least memory first.
BOARDS = {"cortex-m3": ["stm32vldiscovery", "emcraft-sf2", "mps2-an385"], "cortex-m4": ["netduinoplus2", "mps2-an386"],
          "cortex-m55": ["mps3-an547", "mps3-an547-ddr"], "rv32imc": ["virt-rv32"], "cortex-m0": ["microbit"]}
CPUS = ["cortex-m0", "cortex-m3", "cortex-m4", "cortex-m55", "rv32imc"]


@dataclasses.dataclass(frozen=True)
class Network:
    name: str
    file: str = ""  # in the folder of shared models
    zoo: tuple = ()  # words of `neap zoo`
    kernels: str = "tflm"  # reference of the bytes
    seeds: tuple = SEEDS
    streams: bool = True  # False: its first operator needs the whole input
    large: bool = False  # minutes a form: streamed alone but on the Cortex-M4, and not on the Cortex-M0


NETWORKS = [
    Network("person_detect", "tensorflow+tflite-micro/person_detect.tflite"),
    Network("vww", "mlcommons+tiny/vww_96_int8.tflite"),
    Network("resnet8", "mlcommons+tiny/pretrainedResnet_quant.tflite"),
    Network("kws", "mlcommons+tiny/kws_ref_model.tflite"),
    Network("ad01", "mlcommons+tiny/ad01_int8.tflite", streams=False),
    Network("mobilenet-v2-224", zoo=("mobilenet-v2", "--int8"), seeds=(1, 2), large=True),
    Network("swiftnet", "newwhitecheng+vwwc19-submission/swiftnet-vww-224-uint8.tflite", kernels="litert",
            large=True),
    # For checkouts without shared models, and for the short form of the tests.
    Network("vww-zoo", zoo=("mobilenet-v1-vww", "--int8")),
    Network("ds-cnn-zoo", zoo=("ds-cnn", "--int8")),
]

# Name, options of `neap emit`, how the network gets its input.
FORMS = [
    ("layer by layer", ["--stream", "off"], "arena"),
    ("streamed", ["--stream", "auto"], "arena"),
    ("streamed, fed by rows", ["--stream", "auto", "--input", "rows"], "rows"),
    ("streamed, input in flash", ["--stream", "auto", "--input", "external"], "flash"),
    ("layer by layer, DSP kernels", ["--stream", "off", "--kernels", "dsp"], "arena"),
    ("streamed, DSP kernels", ["--stream", "auto", "--kernels", "dsp"], "arena"),
    ("streamed, fed by rows, DSP kernels", ["--stream", "auto", "--input", "rows", "--kernels", "dsp"], "rows"),
    ("layer by layer, MVE kernels", ["--stream", "off", "--kernels", "mve"], "arena"),
    ("streamed, MVE kernels", ["--stream", "auto", "--kernels", "mve"], "arena"),
    ("streamed, fed by rows, MVE kernels", ["--stream", "auto", "--input", "rows", "--kernels", "mve"], "rows"),
    ("layer by layer, calls of CMSIS-NN", ["--kernels", "cmsis-nn", "--target", "cortex-m4+cmsis-nn"], "arena"),
    ("layer by layer, calls of CMSIS-NN", ["--kernels", "cmsis-nn", "--target", "cortex-m55+cmsis-nn"], "arena"),
    ("streamed, little flash", ["--stream", "auto", "--optimize", "flash"], "arena"),
]
# From this one on only for processors with the extension, and in tables of their own rows.
FIRST_DSP_FORM = 4
DSP_CPUS = ("cortex-m4", "cortex-m55")
FIRST_MVE_FORM = 7
MVE_CPUS = ("cortex-m55",)
# Where the library is (measure.find_cmsis_nn()).
CMSIS_NN_FORMS = {10: "cortex-m4", 11: "cortex-m55"}
LITTLE_FLASH_FORM, LITTLE_FLASH_CPUS = 12, ("cortex-m3", "cortex-m4")


def processors_of(form):
    """None: all."""
    if form in CMSIS_NN_FORMS:
        return (CMSIS_NN_FORMS[form],)
    if form == LITTLE_FLASH_FORM:
        return LITTLE_FLASH_CPUS
    return None if form < FIRST_DSP_FORM else DSP_CPUS if form < FIRST_MVE_FORM else MVE_CPUS


@dataclasses.dataclass(frozen=True)
class Fixed:
    """Figures measured once: peers whose sources tests cannot install, and a prototype of these kernels."""

    network: str
    cpu: str
    form: str
    ram: str
    flash: str
    instructions: str  # million


M4, M55 = "cortex-m4", "cortex-m55"
FIXED = [
    Fixed("person_detect", M4, "TFLM, reference kernels", "", "338,132", "95.7"),
    Fixed("person_detect", M4, "TFLM, CMSIS-NN", "84,144", "371,644", "22.93"),
    Fixed("person_detect", M4, "prototype, portable C, streamed", "", "", "27.9"),
    Fixed("person_detect", M4, "prototype, DSP kernels, streamed", "12,728", "255,072", "13.0"),
    Fixed("vww", M4, "TFLM, reference kernels", "", "374,996", "100.2"),
    Fixed("vww", M4, "TFLM, CMSIS-NN", "102,588", "417,756", "24.10"),
    Fixed("vww", M4, "prototype, portable C, streamed", "", "", "29.6"),
    Fixed("vww", M4, "prototype, DSP kernels, streamed", "29,134", "256,272", "13.7"),
    Fixed("resnet8", M4, "TFLM, reference kernels", "", "144,780", "107.4"),
    Fixed("resnet8", M4, "TFLM, CMSIS-NN", "56,876", "177,988", "29.87"),
    Fixed("resnet8", M4, "prototype, portable C, streamed", "", "", "70.8"),
    Fixed("resnet8", M4, "prototype, DSP kernels, streamed", "13,818", "90,232", "20.3"),
    Fixed("kws", M4, "TFLM, reference kernels", "", "95,644", "43.0"),
    Fixed("kws", M4, "TFLM, CMSIS-NN", "24,700", "138,404", "7.70"),
    Fixed("kws", M4, "prototype, portable C, streamed", "", "", "15.5"),
    Fixed("kws", M4, "prototype, DSP kernels, streamed", "4,630", "38,784", "5.31"),
    Fixed("ad01", M4, "TFLM, reference kernels", "", "297,724", "1.95"),
    Fixed("ad01", M4, "TFLM, CMSIS-NN", "3,680", "309,180", "0.583"),
    Fixed("ad01", M4, "prototype, portable C", "988", "", "1.37"),
    Fixed("ad01", M4, "prototype, DSP kernels", "3,552", "288,040", "0.363"),
    Fixed("mobilenet-v2-224", M4, "TFLM, reference kernels", "", "4,029,820", "3,355"),
    Fixed("mobilenet-v2-224", M4, "TFLM, CMSIS-NN", "1,653,876", "4,074,580", "792"),
    Fixed("mobilenet-v2-224", M4, "prototype, DSP kernels, streamed", "173,358", "3,712,224", "484"),
    Fixed("person_detect", M55, "TFLM, reference kernels", "", "", "91.5"),
    Fixed("person_detect", M55, "TFLM, CMSIS-NN", "", "", "6.51"),
    Fixed("vww", M55, "TFLM, reference kernels", "", "", "95.6"),
    Fixed("vww", M55, "TFLM, CMSIS-NN", "", "", "6.56"),
    Fixed("resnet8", M55, "TFLM, reference kernels", "", "", "97.4"),
    Fixed("resnet8", M55, "TFLM, CMSIS-NN", "", "", "4.91"),
    Fixed("kws", M55, "TFLM, reference kernels", "", "", "41.9"),
    Fixed("kws", M55, "TFLM, CMSIS-NN", "", "", "1.81"),
    Fixed("ad01", M55, "TFLM, reference kernels", "", "", "1.69"),
    Fixed("ad01", M55, "TFLM, CMSIS-NN", "", "", "0.286"),
]

HEAD = """# Emitted C on emulated microcontrollers

Rows with the name of a board were planned, emitted, compiled and run by this command. QEMU executed them in exactly the
RAM of the row, on boards that fault on an access outside of it; the command first shows that each board does. (The
Cortex-M0 has no protection unit: it faults only outside of the board's 16 KiB.)

```
python3 lab/tables/firmware_table.py --neap build/release/tools/neap > docs/results/firmware.md
```

- *RAM*: arena, stack (highest use), data and bss, in bytes. *of it arena*: with lines, kernel scratch and state.
- *flash*: program, weights and constants, start-up code included, in bytes.
- *instructions*: executed instructions of one inference, million, by a plugin of QEMU. Exact and equal in every run. They
  are not cycles: QEMU has no model of pipelines, caches or wait states.
- *equal*: inputs whose output bytes equal those of the reference kernels of TensorFlow Lite Micro (for uint8, of
  LiteRT), as `neap run` computes them.
- *predicted*: the total arena of TFLM with CMSIS-NN, as `neap plan` reports it.
- *fixed*: measured once with other programs, whose sources tests cannot install; RAM of TFLM is arena, stack and data.
  The prototype of emitted C had kernels of hand-written DSP instructions.
- *DSP kernels*: `--kernels dsp`; *MVE kernels*: `--kernels mve`. All other forms have portable C.
- *little flash*: `--optimize flash`.
- *calls of CMSIS-NN*: `--kernels cmsis-nn`, with version 4.0.0 of the library from the Python package bakenn 1.0.0,
  compiled at -O2. *TFLM, CMSIS-NN* has a newer version.

Compilers: {compilers}. Optimization: -O2.

## What each step saves on the Cortex-M4

RAM in bytes. *TFLM* is the total arena with CMSIS-NN (`--target cortex-m4+cmsis-nn`), predicted, without stack and
data; it runs int8 networks. The emitted forms are the whole RAM, measured.

"""

ROW = "| {} | {} | {} | {} | {} | {} | {} |"


def neap(program, folder, *words):
    done = subprocess.run([program, *map(str, words)], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise measure.Failure(f"neap {' '.join(map(str, words))}: {done.stderr.strip()}")
    return done.stdout


@functools.cache
def judge(name):
    """Shows first that the board faults on accesses outside of its RAM."""
    board = measure.boards()[name]
    with tempfile.TemporaryDirectory(prefix="neap-judge-") as folder:
        missed = measure.find_missed_faults(board, folder)
    if missed:
        raise measure.Failure(f"{name} does not fault: {'; '.join(missed)}")
    return board


class Bench:
    """A network with its inputs and expected outputs, in a folder."""

    def __init__(self, program, network, folder):
        self.program, self.network, self.folder = program, network, folder
        if network.zoo:
            neap(program, folder, "zoo", *network.zoo, "-o", "model.tflite", "--quiet")
            self.model = folder / "model.tflite"
        else:
            self.model = SHARED / network.file
        inputs, self.expected = b"", b""
        for seed in network.seeds:
            neap(program, folder, "run", self.model, "--random-inputs", seed, "--save-inputs", "in.npz", "--outputs",
                 "out.npz", "--kernels", network.kernels, "--force", "--quiet")
            inputs += measure.tensor_bytes([folder / "in.npz"])
            output = measure.tensor_bytes([folder / "out.npz"])
            self.output_bytes = len(output)
            self.expected += output
        (folder / "inputs.bin").write_bytes(inputs)

    def emit(self, number):
        form, words, _ = FORMS[number]
        folder = self.folder / f"form{number}"
        if not folder.exists():
            neap(self.program, self.folder, "emit", self.model, "-o", folder, "--prefix", "net", "--quiet", *words)
        return folder

    def equal_inputs(self, outputs):
        pieces = range(0, len(self.expected), self.output_bytes)
        return sum(outputs[at:at + self.output_bytes] == self.expected[at:at + self.output_bytes] for at in pieces)

    def measure(self, cpu, number):
        """The row of a form on the smallest board of a processor that has the memory; None: no board has."""
        emitted = self.emit(number)
        names = [name for name in BOARDS[cpu] if name in measure.boards()]
        error = None
        for name in names:
            board = judge(name)
            try:
                return measure.measure(board, emitted, self.folder / "inputs.bin", fed=FORMS[number][2], tight=True,
                                       cmsis_nn=measure.find_cmsis_nn() if number in CMSIS_NN_FORMS else None,
                                       timeout=1200)
            except measure.Failure as failure:
                if "overflowed" not in str(failure) and "will not fit" not in str(failure):
                    raise
                error = failure
        if error is None:
            raise measure.Failure(f"no board has a {cpu}")
        return None


TFLM_FORMS = {"TFLM, file order": ["--no-memory-plan", "--order", "file"], "TFLM, planned": [],
              "TFLM, tiles": ["--cascade", "auto"]}


def tflm_rows(bench):
    """Bytes that TFLM with CMSIS-NN allocates in total on a Cortex-M4, by form, as Neap predicts them."""
    rows = {}
    for form, words in TFLM_FORMS.items():
        report = json.loads(neap(bench.program, bench.folder, "plan", bench.model, "--target", "cortex-m4+cmsis-nn",
                                 "--json", "--quiet", *words))
        rows[form] = report["delivered"]["total_arena_bytes"]
    return rows


def summary(facts, predicted):
    """The ablation: a row for each network."""
    forms = [form for form, _, _ in FORMS[:FIRST_DSP_FORM]]
    lines = ["| network | " + " | ".join([*TFLM_FORMS, *forms]) + " |", "|---|" + "--:|" * (len(TFLM_FORMS) + len(forms))]
    found = {(fact["network"], fact["form"]): fact["ram"]["total"] for fact in facts if fact["cpu"] == M4}
    for network in dict.fromkeys(fact["network"] for fact in facts):
        numbers = [predicted[network].get(form) for form in TFLM_FORMS] + [found.get((network, form)) for form in forms]
        lines.append(f"| {network} | " + " | ".join(f"{number:,}" if number else "" for number in numbers) + " |")
    return lines


def tables_of(program, network, cpus, forms):
    """Lines of the tables of one network, a table for each processor; all figures; predictions for TFLM."""
    with tempfile.TemporaryDirectory(prefix="neap-firmware-table-") as folder:
        bench = Bench(program, network, pathlib.Path(folder))
        lines, facts = [], []
        predicted = tflm_rows(bench) if network.kernels == "tflm" and M4 in cpus else {}
        for cpu in cpus:
            if network.large and cpu == "cortex-m0":
                continue
            lines += ["", f"### {network.name} on {cpu}", "",
                      "| form | board | RAM | of it arena | flash | instructions, M | equal |", "|---|---|---|---|---|---|---|"]
            for fixed in FIXED:
                if (fixed.network, fixed.cpu) == (network.name, cpu):
                    lines.append(ROW.format(fixed.form, "fixed", fixed.ram, "", fixed.flash, fixed.instructions, ""))
            if cpu == M4:
                for form, total in predicted.items():
                    lines.append(ROW.format(form + ", CMSIS-NN", "predicted", "", f"{total:,}", "", "", ""))
            for number, (form, _, fed) in enumerate(FORMS):
                whole_only = not network.streams and number not in (0, 1, FIRST_DSP_FORM, FIRST_MVE_FORM, *CMSIS_NN_FORMS)
                chosen_for = processors_of(number)
                for_others = chosen_for is not None and (cpu not in chosen_for or network.kernels != "tflm")
                if number in CMSIS_NN_FORMS and measure.find_cmsis_nn() is None:
                    continue
                left_out = whole_only or for_others or (network.large and cpu != M4 and number != 1)
                if number not in forms or left_out:
                    continue
                try:
                    result = bench.measure(cpu, number)
                except measure.Failure as failure:
                    print(f"{network.name} {cpu} {form}: {failure}", file=sys.stderr)
                    lines.append(ROW.format(form, "failed", "", "", "", "", ""))
                    continue
                if result is None:
                    lines.append(ROW.format(form, "no board has the memory", "", "", "", "", ""))
                    continue
                equal = f"{bench.equal_inputs(result['outputs'])} of {len(network.seeds)}"
                first = result["instructions"]["runs"][0]
                lines.append(ROW.format(form, result["board"], f"{result['ram']['total']:,}", f"{result['ram']['arena']:,}",
                                        f"{result['flash']['total']:,}", f"{first / 1e6:,.3f}", equal))
                facts.append({"network": network.name, "cpu": cpu, "form": form, "board": result["board"],
                              "ram": result["ram"], "flash": result["flash"], "instructions": first, "equal": equal,
                              "functions": result["instructions"]["functions"]})
        return lines, facts, predicted


def compilers():
    found = []
    for command in ("arm-none-eabi-gcc", "riscv64-unknown-elf-gcc", "qemu-system-arm"):
        text = subprocess.run([command, "--version"], capture_output=True, text=True, check=True).stdout
        found.append(text.splitlines()[0])
    return ", ".join(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--neap", default="build/release/tools/neap", help="the program")
    parser.add_argument("--network", action="append", choices=[network.name for network in NETWORKS])
    parser.add_argument("--cpu", action="append", choices=list(BOARDS))
    parser.add_argument("--form", action="append", type=int, choices=range(len(FORMS)), help="by number, from 0")
    parser.add_argument("--jobs", type=int, default=1, help="networks at once")
    parser.add_argument("--rows-only", action="store_true", help="tables alone, of single networks")
    parser.add_argument("--facts", metavar="FILE", help="write all figures, with functions, as JSON")
    options = parser.parse_args()
    missing = {tool for board in measure.boards().values() for tool in board.missing_tools()}
    if missing:
        print(f"firmware_table.py: {', '.join(sorted(missing))} not found; scripts/install_packages.sh --firmware "
              "installs all of them", file=sys.stderr)
        return 1
    program = str(pathlib.Path(options.neap).resolve())
    chosen = [network for network in NETWORKS
              if (network.name in options.network if options.network else not network.name.endswith("-zoo"))]
    absent = [network.name for network in chosen if network.file and not (SHARED / network.file).exists()]
    if absent:
        print(f"firmware_table.py: left out, as the shared models are not there: {', '.join(absent)}", file=sys.stderr)
        chosen = [network for network in chosen if network.name not in absent]
    text, facts, predicted = [], [], {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        cpus, forms = options.cpu or CPUS, options.form or list(range(len(FORMS)))
        for network, (lines, found, totals) in zip(
                chosen, pool.map(lambda network: tables_of(program, network, cpus, forms), chosen)):
            text += lines
            facts += found
            predicted[network.name] = totals
            print(f"{network.name}: {len(found)} rows", file=sys.stderr, flush=True)
    if not options.rows_only:
        text = [HEAD.format(compilers=compilers()) + "\n".join(summary(facts, predicted)), "", "## All rows", *text]
    print("\n".join(text))
    if options.facts:
        pathlib.Path(options.facts).write_text(json.dumps(facts, indent=1) + "\n")
    return 0 if facts and all(fact["equal"].split()[0] == fact["equal"].split()[2] for fact in facts) else 1


if __name__ == "__main__":
    sys.exit(main())
