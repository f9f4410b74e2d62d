#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a network that `neap emit` wrote on an emulated board and reports its memory and instructions.

    firmware/measure.py FOLDER --board netduinoplus2 --inputs in1.npz in2.npz --expect out1.npz out2.npz
    firmware/measure.py FOLDER --board mps3-an547 --inputs images.bin --fed rows --tight --functions 10
    firmware/measure.py --boards

FOLDER is the output of `neap emit`. Inputs and expected outputs are files of `neap run` (--save-inputs, --outputs) or
plain bytes, of one or more inputs each. Reported are bytes of RAM (stack by paint, data, bss, arena), bytes of flash by section, and executed
instructions of each run by a plugin of QEMU: exact and repeatable, but instructions, not cycles. Of a network with two
memories, the plugin also counts the loads and stores of each run in the slow one.
--tight links a second time, with exactly the RAM that the first run used, and runs it in that: boards with a
protection unit fault on any access outside of it, and the emulator's exit code is then 86.
"""

import argparse
import bisect
import dataclasses
import functools
import json
import os
import pathlib
import re
import shlex
import shutil
import struct
import subprocess
import sys
import sysconfig
import tempfile
import zipfile

FOLDER = pathlib.Path(__file__).resolve().parent
FAULT_EXIT = 86
STACK_BYTES = 4096
FED = ("arena", "rows", "flash")


class Failure(Exception):
    """A build or a run that failed; the message is for people."""


@dataclasses.dataclass(frozen=True)
class Board:
    name: str
    cpu: str
    toolchain: str
    emulator: tuple
    flash_origin: int
    flash_bytes: int
    ram_origin: int
    ram_bytes: int
    slow_origin: int
    slow_bytes: int

    @property
    def is_host(self):
        return not self.emulator

    def missing_tools(self):
        """The programs that building and running for this board lacks."""
        needed = ["cmake", "ninja"]
        if not self.is_host:
            needed += [self.toolchain + "-gcc", self.emulator[0], "cc"]
        return [tool for tool in needed if shutil.which(tool) is None]


@functools.cache
def boards():
    """All boards of boards.json by name."""
    table = json.loads((FOLDER / "boards.json").read_text())
    return {name: Board(name, entry["cpu"], table["cpus"][entry["cpu"]]["toolchain"],
                        tuple(shlex.split(entry["emulator"])),
                        *(int(entry.get(key, "0"), 0) for key in ("flash_origin", "flash_bytes", "ram_origin", "ram_bytes",
                                                                  "slow_origin", "slow_bytes")))
            for name, entry in table["boards"].items()}


def tensor_bytes(paths):
    """The bytes of all tensors of files, one after the other: arrays of .npz files, plain bytes of others."""
    found = b""
    for path in paths:
        if pathlib.Path(path).suffix != ".npz":
            found += pathlib.Path(path).read_bytes()
            continue
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                data = archive.read(name)
                if data[:7] != b"\x93NUMPY\x01":
                    raise Failure(f"{path}: {name} is no array of version 1")
                header, = struct.unpack_from("<H", data, 8)
                found += data[10 + header:]
    return found


def find_cmsis_nn():
    """The folder of CMSIS-NN 4.0.0: $NEAP_CMSIS_NN, else in the Python package bakenn of this interpreter or of .venv;
    None: there is none."""
    given = os.environ.get("NEAP_CMSIS_NN")
    if given:
        return pathlib.Path(given)
    packages = [pathlib.Path(sysconfig.get_paths()["purelib"]), *FOLDER.parent.glob(".venv/lib/python3*/site-packages")]
    return next((found for found in (folder / "bakenn/backend/cmsis_nn/vendor" for folder in packages) if found.is_dir()),
                None)


def run(command, **options):
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    if done.returncode != 0:
        raise Failure(f"{shlex.join(map(str, command))}\n{done.stdout[-4000:]}")
    return done.stdout


class Program:
    """Sections and functions of a 32-bit little-endian ELF file."""

    def __init__(self, path):
        data = pathlib.Path(path).read_bytes()
        if data[:6] != b"\x7fELF\x01\x01":
            raise Failure(f"{path} is no 32-bit little-endian ELF file")
        offset, = struct.unpack_from("<I", data, 32)
        size, count, names = struct.unpack_from("<3H", data, 46)
        headers = [struct.unpack_from("<10I", data, offset + i * size) for i in range(count)]
        text = lambda table, at: data[headers[table][4] + at:].split(b"\0", 1)[0].decode()
        self.sections = {text(names, header[0]): header[5] for header in headers}
        self.symbols, functions = {}, []
        for header in headers:
            if header[1] != 2:  # symbol table
                continue
            for at in range(header[4], header[4] + header[5], 16):
                name, value, _, kind, _, section = struct.unpack_from("<3I2BH", data, at)
                if section == 0:
                    continue
                label = text(header[6], name)
                self.symbols[label] = value
                if kind & 15 == 2:
                    functions.append((value & ~1, label))
        self.functions = sorted(functions)

    def function_at(self, address):
        place = bisect.bisect_right(self.functions, (address, "\x7f")) - 1
        return self.functions[place][1] if place >= 0 else "?"


@functools.cache
def plugin():
    """The counting plugin, compiled once for each version of its source and compiler's user."""
    source = FOLDER / "qemu/count.c"
    folder = pathlib.Path(tempfile.mkdtemp(prefix="neap-plugin-"))
    library = folder / "libcount.so"
    run(["cc", "-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror", "-fvisibility=hidden", source, "-o", library])
    import atexit
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return library


def build(board, folder, program, network=None, fed="arena", inputs=None, stack_bytes=STACK_BYTES, ram_bytes=None,
          optimization=None, cmsis_nn=None):
    """Builds `program` (measure, overrun) for a board in `folder`; the path of the executable. `cmsis_nn`: the folder of
    that library, for a network that calls it."""
    settings = {"CMAKE_TOOLCHAIN_FILE": FOLDER / "board.cmake", "NEAP_BOARD": board.name,
                "NEAP_NETWORK": pathlib.Path(network).resolve() if network else "", "NEAP_FED": fed,
                "NEAP_INPUTS": pathlib.Path(inputs).resolve() if inputs else "", "NEAP_STACK_BYTES": stack_bytes,
                "NEAP_RAM_BYTES": ram_bytes or "", "NEAP_CMSIS_NN": pathlib.Path(cmsis_nn).resolve() if cmsis_nn else ""}
    if optimization:
        settings["NEAP_OPTIMIZATION"] = optimization
    run(["cmake", "-S", FOLDER, "-B", folder, "-G", "Ninja", *(f"-D{key}={value}" for key, value in settings.items())])
    run(["cmake", "--build", folder, "--target", program])
    return pathlib.Path(folder) / (program if board.is_host else program + ".elf")


def execute(board, executable, folder, plugin_arguments=None, timeout=120):
    """Runs a program in `folder`: (exit code, what it printed)."""
    command = [executable]
    if not board.is_host:
        command = [*board.emulator, "-display", "none", "-monitor", "none", "-serial", "none", "-chardev",
                   "stdio,id=c0", "-semihosting-config", "enable=on,target=native,chardev=c0", "-kernel", executable]
    if plugin_arguments:
        command += ["-plugin", ",".join([str(plugin()), *plugin_arguments])]
    try:
        done = subprocess.run(command, cwd=folder, text=True, timeout=timeout, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    except subprocess.TimeoutExpired:
        raise Failure(f"{executable} did not end in {timeout} s on {board.name}") from None
    return done.returncode, done.stdout


# Accesses of overrun.c that fault on every board.
FAULTS = {"w": "write past RAM", "r": "read past RAM", "b": "write below RAM", "s": "stack overflow", "n": "no memory"}


def find_missed_faults(board, folder, ram_bytes=None):
    """Runs overrun.c: the accesses that do not end as they must, each with what the program printed."""
    program = build(board, folder, "overrun", ram_bytes=ram_bytes)
    missed = []
    for access, what in [("i", "access inside of RAM"), *FAULTS.items()]:
        (pathlib.Path(folder) / "input.bin").write_bytes(access.encode())
        code, text = execute(board, program, folder, timeout=60)
        if code != (0 if access == "i" else FAULT_EXIT):
            missed.append(f"{what}: exit code {code}: {text.strip()}")
    return missed


def read_counts(path, program):
    """The output of the plugin: instructions of the whole run, of each inference, and by function over all inferences."""
    counts = {"whole": 0, "runs": [], "functions": {}}
    for line in pathlib.Path(path).read_text().splitlines():
        kind, *words = line.split()
        if kind == "whole":
            counts["whole"] = int(words[0])
        elif kind == "run":
            counts["runs"].append(int(words[0]))
        elif kind == "accesses":
            read, written, loads, stores = map(int, words)
            counts.setdefault("accesses", []).append({"read_bytes": read, "written_bytes": written, "loads": loads,
                                                      "stores": stores})
        elif kind == "touched":
            counts["touched"] = [int(word, 16) for word in words]
        else:
            name = program.function_at(int(words[0], 16))
            counts["functions"][name] = counts["functions"].get(name, 0) + int(words[1])
    counts["functions"] = dict(sorted(counts["functions"].items(), key=lambda item: (-item[1], item[0])))
    return counts


def memory_of(program, stack_used):
    sections = program.sections
    ram = {"arena": sections.get(".arena", 0), "stack": (stack_used + 7) // 8 * 8, "data": sections.get(".data", 0),
           "bss": sections.get(".bss", 0)}
    flash = {"text": sections.get(".entry", 0) + sections.get(".text", 0), "weights": sections.get(".weights", 0),
             "constants": sections.get(".rodata", 0), "data": sections.get(".data", 0)}
    for memory in (ram, flash):
        memory["total"] = sum(memory.values())
    return ram, flash


def slow_of(program, counts):
    """The bytes of the slow memory, of weights in it, and what each run accessed. All accesses were inside of both."""
    first, size = program.symbols["slow"], program.sections[".slow"]
    weights = program.sections.get(".slow_weights", 0)
    if weights:
        size = (first + size + 3) // 4 * 4 - first + weights
    lowest, highest = counts.pop("touched", (first, first))
    if lowest < first or highest >= first + size:
        raise Failure(f"a run accessed {lowest:#x} to {highest:#x}, expected {first:#x} to {first + size - 1:#x}")
    return {"bytes": program.sections[".slow"], "weights": weights, "runs": counts.pop("accesses")}


def input_bytes(network):
    """The bytes of one input, by the header of the network."""
    header, = pathlib.Path(network).glob("*.h")
    found = re.search(r"_INPUT_BYTES (\d+)", header.read_text())
    if not found:
        raise Failure(f"{header}: expected a network of one input")
    return int(found[1])


def measure_once(board, work, network, inputs, *, fed, stack_bytes, ram_bytes, optimization, cmsis_nn, count, timeout):
    executable = build(board, work / "build", "measure", network, fed, inputs if fed == "flash" else None, stack_bytes,
                       ram_bytes, optimization, cmsis_nn)
    if fed == "flash":
        (work / "input.bin").write_bytes(b"")
    else:
        shutil.copyfile(inputs, work / "input.bin")
    (work / "output.bin").unlink(missing_ok=True)
    arguments, program = None, None
    if not board.is_host:
        program = Program(executable)
        if count:
            begin, end = (program.symbols[name] & ~1 for name in ("board_count_begin", "board_count_end"))
            arguments = [f"out={work}/counts.txt", f"begin={begin:#x}", f"end={end:#x}"]
            if ".slow" in program.sections:
                arguments += [f"low={board.slow_origin:#x}", f"high={board.slow_origin + board.slow_bytes:#x}"]
    code, text = execute(board, executable, work, arguments, timeout)
    words = text.split()
    if code != 0 or words[:1] != ["runs"] or len(words) != 6:
        raise Failure(f"exit code {code} on {board.name}: {text.strip()}")
    result = {"board": board.name, "cpu": board.cpu, "fed": fed, "outputs": (work / "output.bin").read_bytes()}
    if program:
        result["ram"], result["flash"] = memory_of(program, int(words[3]))
        result["ram"]["limit"] = ram_bytes or board.ram_bytes
        result["stack_of_run"] = int(words[3]) - int(words[5])
        if count:
            counts = result["instructions"] = read_counts(work / "counts.txt", program)
            if ".slow" in program.sections:
                result["slow"] = slow_of(program, counts)
    return result


def measure(board, network, inputs, *, fed="arena", stack_bytes=STACK_BYTES, ram_bytes=None, tight=False,
            optimization=None, cmsis_nn=None, count=True, timeout=300):
    """Measures a network on the inputs of a file. A dictionary: board, cpu, fed, outputs (bytes) and, on emulated
    boards, ram, flash, stack_of_run (without that of the caller), instructions (whole, runs, functions), with two
    memories slow (bytes, runs). `tight`: the second of two runs, in exactly the RAM that
    the first one used, rounded up to 32 bytes."""
    with tempfile.TemporaryDirectory(prefix="neap-measure-") as work:
        work = pathlib.Path(work)
        settings = {"fed": fed, "optimization": optimization, "cmsis_nn": cmsis_nn, "timeout": timeout}
        if not tight or board.is_host:
            return measure_once(board, work, network, inputs, stack_bytes=stack_bytes, ram_bytes=ram_bytes, count=count,
                                **settings)
        # The first input alone: the stack does not depend on the data.
        data = pathlib.Path(inputs).read_bytes()
        (work / "first.bin").write_bytes(data[:input_bytes(network)])
        first = measure_once(board, work, network, work / "first.bin", stack_bytes=stack_bytes, ram_bytes=ram_bytes,
                             count=False, **settings)
        ram = first["ram"]
        second = measure_once(board, work, network, inputs, stack_bytes=ram["stack"],
                              ram_bytes=(ram["total"] + 31) // 32 * 32, count=count, **settings)
        if not second["outputs"].startswith(first["outputs"]):
            raise Failure(f"outputs in the least RAM differ on {board.name}")
        return second


def report(result, functions):
    lines = [f"{result['board']} ({result['cpu']})"]
    for memory in ("ram", "flash"):
        if memory in result:
            parts = ", ".join(f"{name} {size:,}" for name, size in result[memory].items() if name not in ("total", "limit"))
            lines.append(f"  {memory:5} {result[memory]['total']:>11,} B  ({parts})")
    if "slow" in result:
        lines.append(f"  slow  {result['slow']['bytes']:>11,} B")
        if result["slow"]["weights"]:
            lines.append(f"  slow  {result['slow']['weights']:>11,} B of weights")
        for number, run in enumerate(result["slow"]["runs"]):
            lines.append(f"  run {number} {run['read_bytes']:>11,} B read from slow memory in {run['loads']:,} loads, "
                         f"{run['written_bytes']:,} B written to it in {run['stores']:,} stores")
    counts = result.get("instructions")
    if counts:
        for number, executed in enumerate(counts["runs"]):
            lines.append(f"  run {number} {executed:>11,} instructions")
        for name, executed in list(counts["functions"].items())[:functions]:
            lines.append(f"    {executed:>13,}  {name}")
    if "equal" in result:
        lines.append("  outputs are equal" if result["equal"] else "  OUTPUTS DIFFER")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network", nargs="?", metavar="FOLDER", help="what neap emit wrote")
    parser.add_argument("--boards", action="store_true", help="list the boards")
    parser.add_argument("--board", default="netduinoplus2", choices=boards(), metavar="NAME")
    parser.add_argument("--inputs", metavar="FILE", nargs="+", help="inputs, one after the other")
    parser.add_argument("--expect", metavar="FILE", nargs="+", help="outputs that must be equal")
    parser.add_argument("--output", metavar="FILE", help="write the outputs here, one after the other")
    parser.add_argument("--fed", default="arena", choices=FED, help="where the inputs are: written to the arena, "
                        "row by row, or in flash")
    parser.add_argument("--ram-bytes", type=int, help="link for so many bytes of RAM")
    parser.add_argument("--stack-bytes", type=int, default=STACK_BYTES)
    parser.add_argument("--tight", action="store_true", help="run in exactly the RAM that was used")
    parser.add_argument("--optimization", help="of the compiler; -O2 by default")
    parser.add_argument("--cmsis-nn", metavar="FOLDER", help="with cmsis_nn/ and cmsis_core/, for a network of "
                        "--kernels cmsis-nn")
    parser.add_argument("--functions", type=int, default=0, metavar="N", help="list the N functions with most instructions")
    parser.add_argument("--timeout", type=float, default=300, metavar="SECONDS")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.boards:
        for board in boards().values():
            print(f"{board.name:18} {board.cpu:12} flash {board.flash_bytes:>10,} B  RAM {board.ram_bytes:>10,} B")
        return 0
    if not options.network or not options.inputs:
        parser.error("FOLDER and --inputs are needed")
    board = boards()[options.board]
    missing = board.missing_tools()
    if missing:
        print(f"measure.py: {board.name} needs {', '.join(missing)}; scripts/install_packages.sh --firmware installs "
              "all of them", file=sys.stderr)
        return 1
    try:
        expected = tensor_bytes(options.expect or [])
        with tempfile.NamedTemporaryFile(suffix=".bin") as inputs:
            inputs.write(tensor_bytes(options.inputs))
            inputs.flush()
            result = measure(board, options.network, inputs.name, fed=options.fed, stack_bytes=options.stack_bytes,
                             ram_bytes=options.ram_bytes, tight=options.tight, optimization=options.optimization,
                             cmsis_nn=options.cmsis_nn, timeout=options.timeout)
    except (Failure, OSError, zipfile.BadZipFile) as error:
        print(f"measure.py: {error}", file=sys.stderr)
        return 1
    outputs = result.pop("outputs")
    if options.output:
        pathlib.Path(options.output).write_bytes(outputs)
    if options.expect:
        result["equal"] = outputs == expected
    print(json.dumps(result, indent=1) if options.json else report(result, options.functions))
    return 0 if result.get("equal", True) else 1


if __name__ == "__main__":
    sys.exit(main())
