#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Emitted C on simulated RTL of RV32 cores: cycles beside instructions.

    pip install pythondata-cpu-picorv32 pythondata-cpu-cv32e40p; apt-get install verilator
    python3 lab/tables/rtl_cycles.py --neap build/release/tools/neap > docs/results/cycles.md

Verilator makes a simulator of each core's RTL, whose memory answers in the first cycle in which it can. The same C
files, compiled with the same options, run under QEMU, which counts instructions, and on the core, which counts cycles.
Output bytes of both are compared.
"""

import argparse
import dataclasses
import importlib.util
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "firmware"), str(ROOT / "lab/tables")]
import firmware_table  # noqa: E402
import measure  # noqa: E402

BOARD = "virt-rv32"
FORMS = {"layer by layer": ["--stream", "off"], "streamed": ["--stream", "auto"]}


@dataclasses.dataclass(frozen=True)
class Core:
    name: str
    package: str  # of PyPI
    top: str
    what: str
    parameters: tuple = ()


CORES = [
    Core("PicoRV32", "pythondata-cpu-picorv32", "picorv32", "several cycles an instruction, multiplier of its own",
         ("COMPRESSED_ISA=1", "ENABLE_FAST_MUL=1", "ENABLE_DIV=1", "BARREL_SHIFTER=1", "CATCH_MISALIGN=0",
          "PROGADDR_RESET=32'h80000000")),
    Core("CV32E40P", "pythondata-cpu-cv32e40p", "cv32e40p_top", "four stages, one instruction at a time"),
]
# Parts of one array of counters are constant, others registers.
QUIET = ["-Wno-BLKANDNBLK", "-Wno-fatal", "-Wno-lint", "-Wno-style", "-Wno-MULTIDRIVEN", "-Wno-UNOPTFLAT", "-Wno-LATCH"]


def folder_of(core):
    spec = importlib.util.find_spec(core.package.replace("-", "_"))
    return pathlib.Path(spec.origin).parent if spec else None


def version_of(core):
    import importlib.metadata
    return importlib.metadata.version(core.package)


def sources_of(core):
    """Files and include folders of the RTL."""
    folder = folder_of(core)
    if core.top == "picorv32":
        return [folder / "verilog/picorv32.v"], []
    rtl = folder / "system_verilog/rtl"
    manifest = (folder / "system_verilog/cv32e40p_manifest.flist").read_text()
    names = re.findall(r"^\$\{DESIGN_RTL_DIR\}/(\S+\.sv)", manifest, re.M)
    # The core and its model of a clock gate; nothing that prints.
    names = [name for name in names if "bhv" not in name or "clock_gate" in name]
    return [rtl / name for name in names], [rtl / "include"]


def build(core, folder):
    """The simulator of a core."""
    files, includes = sources_of(core)
    made = folder / core.top
    subprocess.run(["verilator", "--cc", "--exe", "--build", "-O3", "--x-assign", "fast", "--x-initial", "fast", *QUIET,
                    "--top-module", core.top, "--prefix", "Vcore", "-MAKEFLAGS", "OPT_FAST=-O3 OPT_GLOBAL=-O3", *(f"-G{parameter}" for parameter in core.parameters),
                    *(f"-I{path}" for path in includes), "-CFLAGS", "-DPICORV32" if core.top == "picorv32" else "-DCV32E40P", "-Mdir", made, "-o", "simulate",
                    *files, ROOT / "lab/tables/rtl/simulate.cc"], check=True, capture_output=True, text=True)
    return made / "simulate"


def image(emitted, inputs, folder):
    """A flat binary of program.c with the network."""
    board = measure.boards()[BOARD]
    flags = json.loads((ROOT / "firmware/boards.json").read_text())["cpus"]["rv32imc"]["flags"].split()
    symbols = {"VECTORS_ORIGIN": board.flash_origin, "FLASH_ORIGIN": board.flash_origin, "FLASH_BYTES": board.flash_bytes,
               "RAM_ORIGIN": board.ram_origin, "RAM_BYTES": board.ram_bytes, "STACK_BYTES": 8192, "SLOW_ORIGIN": 0,
               "SLOW_BYTES": 0}
    elf, flat = folder / "program.elf", folder / "program.bin"
    measure.run([board.toolchain + "-gcc", *flags, "-specs=picolibc.specs", "-O2", "-std=gnu99", "-ffunction-sections",
                 "-fdata-sections", "-fno-strict-aliasing", "-nostartfiles", "-T", ROOT / "firmware/board.ld",
                 *(f"-Wl,--defsym={key}={value:#x}" for key, value in symbols.items()), "-Wl,--gc-sections",
                 "-Wl,--no-warn-rwx-segments", f'-DINPUT="{inputs}"', "-DNET_WEIGHTS=__attribute__((section(\".neap_weights\")))",
                 "-I", emitted, ROOT / "lab/tables/rtl/program.c", *sorted(emitted.glob("*.c")),
                 *sorted(emitted.glob("neap_rt/*.c")), "-o", elf])
    measure.run([board.toolchain + "-objcopy", "-O", "binary", elf, flat])
    return flat


HEAD = """# Cycles of real cores

Emitted portable C, compiled for RV32IMC at -O2, on simulated RTL of two cores: cycles of one run, with memory that
answers in the first cycle in which it can (no wait states, no caches). Instructions are those that QEMU counts for the
same C files. Output bytes of both are equal.

```
pip install {packages}
apt-get install verilator
python3 lab/tables/rtl_cycles.py --neap build/release/tools/neap > docs/results/cycles.md
```

{cores}

{versions}

| network | form | core | instructions, M | cycles, M | cycles per instruction |
|---|---|---|--:|--:|--:|"""


def head(cores):
    lines = [f"- *{core.name}*: {core.what}; {core.package} {version_of(core)}"
             + (f", with {', '.join(core.parameters)}" if core.parameters else "") + "." for core in cores]
    versions = []
    for command in ("verilator", "riscv64-unknown-elf-gcc", "qemu-system-riscv32"):
        text = subprocess.run([command, "--version"], capture_output=True, text=True, check=True).stdout
        versions.append(text.splitlines()[0])
    return HEAD.format(packages=" ".join(core.package for core in cores), cores="\n".join(lines),
                       versions="; ".join(versions) + ".")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--neap", default="build/release/tools/neap")
    parser.add_argument("--network", action="append", choices=[network.name for network in firmware_table.NETWORKS])
    parser.add_argument("--core", action="append", choices=[core.name for core in CORES])
    options = parser.parse_args()
    cores = [core for core in CORES if not options.core or core.name in options.core]
    missing = [core.package for core in cores if folder_of(core) is None]
    missing += [tool for tool in ["verilator", *measure.boards()[BOARD].missing_tools()] if shutil.which(tool) is None]
    if missing:
        print(f"rtl_cycles.py: {', '.join(missing)} not found", file=sys.stderr)
        return 1
    program = str(pathlib.Path(options.neap).resolve())
    with tempfile.TemporaryDirectory(prefix="neap-rtl-") as name:
        folder = pathlib.Path(name)
        simulators = {core: build(core, folder) for core in cores}
        print(head(cores))
        ratios = {core: [] for core in cores}
        for network in firmware_table.NETWORKS:
            if network.name not in (options.network or ["kws", "ad01", "person_detect"]):
                continue
            (folder / network.name).mkdir()
            bench = firmware_table.Bench(program, dataclasses.replace(network, seeds=(1,)), folder / network.name)
            inputs = folder / network.name / "inputs.bin"
            for form, words in FORMS.items():
                if form == "streamed" and not network.streams:
                    continue
                emitted = folder / network.name / form.replace(" ", "-")
                firmware_table.neap(program, folder, "emit", bench.model, "-o", emitted, "--prefix", "net", "--quiet", *words)
                counted = measure.measure(measure.boards()[BOARD], emitted, inputs)
                flat = image(emitted, inputs, folder)
                for core in cores:
                    done = subprocess.run([simulators[core], flat], capture_output=True, text=True)
                    if done.returncode != 0:
                        raise measure.Failure(f"{network.name} on {core.name}: {done.stderr}")
                    output, cycles = done.stdout.split("\ncycles ")
                    if bytes.fromhex(output) != bench.expected or counted["outputs"] != bench.expected:
                        raise measure.Failure(f"{network.name}: other bytes on {core.name}")
                    instructions = counted["instructions"]["runs"][0]
                    ratios[core].append(int(cycles) / instructions)
                    print(f"| {network.name} | {form} | {core.name} | {instructions / 1e6:,.3f} | {int(cycles) / 1e6:,.3f} | "
                          f"{int(cycles) / instructions:.3f} |", flush=True)
    print("\n## How well instructions predict cycles\n")
    for core in cores:
        low, high = min(ratios[core]), max(ratios[core])
        middle = (low + high) / 2
        print(f"- {core.name}: {low:.3f} to {high:.3f} cycles an instruction; one factor, {middle:.3f}, is within "
              f"{100 * (high - low) / (high + low):.1f} % of every row.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
