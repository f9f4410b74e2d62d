#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Instructions of the events that neap/transform/stream/instructions.cc counts, fitted to counted instructions.

    python3 lab/tables/instructions_table.py --cases build/release/lab/tables/instruction_cases \\
        > neap/transform/stream/instruction_rates.inc

Random operators run on emulated boards, as a whole and in blocks (lab/tables/instructions); the plugin counts the
instructions of each. Rates are those of the least squares of relative errors, none below 0, in parts of 1,024. Standard
error has the errors on operators that the fit did not see (--check FILE: of the rates in FILE, without a fit).
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(SOURCE / "firmware")]
sys.dont_write_bytecode = True

import measure  # noqa: E402

# Kernels of `neap emit`, the board, the name in comments. In the order of the table.
PROCESSORS = [("dsp", "mps2-an386", "Cortex-M4, --kernels dsp"), ("mve", "mps3-an547-ddr", "Cortex-M55, --kernels mve")]
# In the order of stream::Kernel.
KERNELS = ["convolution", "depthwise", "add", "multiply", "average pool", "max pool", "sums", "softmax", "move", "table"]
UNIT = 1024
FIT_SEEDS, HELD_OUT_SEEDS = (1, 2, 3), (101, 102)
ROUNDS = 4000


def count_cases(program, kernels, board, seed, operators, folder):
    """A list of (kernel, shape, events, instructions)."""
    code, work = folder / "code", folder / "run"
    text = subprocess.run([program, "--kernels", kernels, "--seed", str(seed), "--count", str(operators), code], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    settings = {"CMAKE_TOOLCHAIN_FILE": SOURCE / "firmware/board.cmake", "NEAP_BOARD": board.name, "NEAP_CASES": code,
                "NEAP_SOURCE": SOURCE}
    measure.run(["cmake", "-S", SOURCE / "lab/tables/instructions", "-B", work, "-G", "Ninja",
                 *(f"-D{key}={value}" for key, value in settings.items())])
    measure.run(["cmake", "--build", work])
    executable = work / "each_case.elf"
    image = measure.Program(executable)
    begin, end = (image.symbols[name] & ~1 for name in ("board_count_begin", "board_count_end"))
    code, output = measure.execute(board, executable, work, [f"out={work}/counts.txt", f"begin={begin:#x}", f"end={end:#x}"],
                                   timeout=280)
    if code != 0:
        raise measure.Failure(f"exit code {code} on {board.name}: {output}")
    nothing, *counts = measure.read_counts(work / "counts.txt", image)["runs"]
    lines = text.splitlines()
    if len(lines) != len(counts):
        raise measure.Failure(f"{len(counts)} runs of {len(lines)} cases")
    found = []
    for line, count in zip(lines, counts):
        kernel, shape, events = line.split("\t")
        found.append((kernel, shape, [int(word) for word in events.split()], count - nothing))
    return found


def fit(cases):
    """Rates of the events of one kernel, from 0 on, with the least sum of squared relative errors."""
    size = len(cases[0][2])
    rows = [[event / count for event in events] for _, _, events, count in cases]
    scale = [max(max(row[i] for row in rows), 0) for i in range(size)]
    used = [i for i in range(size) if scale[i] > 0]
    rows = [[row[i] / scale[i] for i in used] for row in rows]
    n = len(used)
    gram = [[sum(row[i] * row[j] for row in rows) for j in range(n)] for i in range(n)]
    target = [sum(row[i] for row in rows) for i in range(n)]
    rates = [0.0] * n
    gradient = [-value for value in target]  # of gram * rates - target
    for _ in range(ROUNDS):
        moved = 0.0
        for i in range(n):
            step = max(-gradient[i] / gram[i][i], -rates[i])
            if step == 0.0:
                continue
            rates[i] += step
            moved = max(moved, abs(step))
            line = gram[i]
            for j in range(n):
                gradient[j] += line[j] * step
        if moved < 1e-9:
            break
    result = [0] * size
    for i, rate in zip(used, rates):
        result[i] = round(rate / scale[i] * UNIT)
    return result


def predicted(rates, events):
    return sum(rate * event for rate, event in zip(rates, events)) // UNIT


def errors_of(rates, cases):
    """Relative errors in percent, largest first, with the shapes."""
    found = [(100 * (predicted(rates[kernel], events) - count) / count, count, shape) for kernel, shape, events, count in cases]
    return sorted(found, key=lambda error: -abs(error[0]))


def report(name, rates, cases, worst):
    print(f"{name}: operators in blocks that the fit did not see", file=sys.stderr)
    for kernel in KERNELS:
        own = [case for case in cases if case[0] == kernel]
        if not own:
            continue
        errors = errors_of(rates, own)
        sizes = sorted(abs(error[0]) for error in errors)
        within = sum(size <= 5 for size in sizes)
        print(f"  {kernel:13} {len(own):4} cases: median {sizes[len(sizes) // 2]:.2f} %, most {sizes[-1]:.2f} %, "
              f"{within} within 5 %", file=sys.stderr)
        for error, count, shape in errors[:worst]:
            print(f"    {error:+7.2f} % of {count:9} {shape}", file=sys.stderr)


def read_rates(path):
    rows = re.findall(r"\{([\d, \n]+)\}", pathlib.Path(path).read_text())
    values = [[int(word) for word in row.replace("\n", " ").split(",") if word.strip()] for row in rows]
    return [dict(zip(KERNELS, values[at * len(KERNELS):(at + 1) * len(KERNELS)])) for at in range(len(PROCESSORS))]


def row_text(rates):
    while rates and rates[-1] == 0:
        rates = rates[:-1]
    lines, line = [], "    {"
    for at, rate in enumerate(rates or [0]):
        word = ("" if at == 0 else " ") + f"{rate},"
        if len(line) + len(word) > 98:
            lines.append(line)
            line = "    " + word
        else:
            line += word
    return "\n".join([*lines, line.rstrip(",") + "},"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default=SOURCE / "build/release/lab/tables/instruction_cases", metavar="PROGRAM")
    parser.add_argument("--count", type=int, default=48, help="operators of each kind for each seed")
    parser.add_argument("--check", metavar="FILE", help="rates to compare instead of a fit")
    parser.add_argument("--kernels", choices=[kernels for kernels, _, _ in PROCESSORS], help="of one processor alone")
    parser.add_argument("--worst", type=int, default=0, help="list so many cases of each kernel")
    options = parser.parse_args()
    known = read_rates(options.check) if options.check else None
    if not known:
        print("// Made by lab/tables/instructions_table.py. By processor, kernel and event, in parts of 1,024 of an\n"
              "// instruction.\n// clang-format off")
    for at, (kernels, name, title) in enumerate(PROCESSORS):
        if options.kernels not in (None, kernels):
            continue
        board = measure.boards()[name]
        cases = {}
        for seed in (() if known else FIT_SEEDS) + HELD_OUT_SEEDS:
            with tempfile.TemporaryDirectory(prefix="neap-instructions-") as folder:
                cases[seed] = count_cases(options.cases, kernels, board, seed, options.count, pathlib.Path(folder))
        if known:
            rates = known[at]
        else:
            seen = [case for seed in FIT_SEEDS for case in cases[seed]]
            rates = {kernel: fit([case for case in seen if case[0] == kernel]) for kernel in KERNELS}
            print(f"// {title}\n{{")
            for kernel in KERNELS:
                print(f"    // {kernel}\n{row_text(rates[kernel])}")
            print("},")
            if options.worst:
                report(title + " (seen)", rates, seen, options.worst)
        report(title, rates, [case for seed in HELD_OUT_SEEDS for case in cases[seed]], options.worst)
    if not known:
        print("// clang-format on")
    return 0


if __name__ == "__main__":
    sys.exit(main())
