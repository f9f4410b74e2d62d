# SPDX-License-Identifier: Apache-2.0
"""The stack figures of emitted code are those of the compiler that the header names."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get("NEAP_SOURCE_DIR", pathlib.Path(__file__).parents[2]))
sys.path.insert(0, str(SOURCE / "firmware"))
sys.dont_write_bytecode = True

import measure  # noqa: E402

LIBRARY = measure.find_cmsis_nn()
COMPILER = "arm-none-eabi-gcc"
FLAGS = ["-mthumb", "-mfloat-abi=hard", "-std=c99", "-O2", "-ffreestanding", "-fstack-usage", "-Wall", "-Wextra", "-Werror"]
# The table for each core.
TABLES = {"stack.cc": ["-mcpu=cortex-m4", "-mfpu=fpv4-sp-d16"], "stack_m55.h": ["-mcpu=cortex-m55"]}
# Functions that are called, with their bodies.
APART = re.compile(r"__attribute__\(\(noinline\)\)[\w *]*?(neap_\w+)(\(.*?\n}\n)", re.DOTALL)
# What the portable kernels of convolutions share.
OUTPUTS, SMALL_OUTPUTS = "neap_conv_outputs", "neap_small_outputs"
FUNCTION = re.compile(r"^(?:void|int) (neap_\w+)(\([^;]*?{.*?\n}\n)", re.DOTALL | re.MULTILINE)
# Of functions of kernels that are no kernels.
PARTS = re.compile("_(one|four|twice|few|points?|rest|scaled|reciprocal|shift)_")


def deepest(found, functions, called):
    """The most bytes of calls of `called` functions, of those that are apart; their bodies name the others that they call."""
    def depth(name):
        below = [one for one in functions if re.search(rf"\b{one}\(", functions[name])]
        return found.get(name, 0) + deepest(found, functions, below)
    return max(map(depth, called), default=0)


class StackTest(unittest.TestCase):
    def test_the_table_of_frames_is_that_of_the_compiler(self):
        if shutil.which(COMPILER) is None:
            self.skipTest(f"there is no {COMPILER}")
        version = subprocess.run([COMPILER, "-dumpversion"], capture_output=True, text=True, check=True).stdout
        if not version.startswith("12.2"):
            self.skipTest(f"the table is of version 12.2, this is {version.strip()}")
        for file, flags in TABLES.items():
            with self.subTest(table=file):
                self.check((SOURCE / "neap/emit" / file).read_text(), flags)

    def check(self, text, flags):
        rows = re.findall(r'\{"(neap_\w+)", (\d+)(?:, (\d+))?\}', text)
        table = {name: int(size) for name, size, _ in rows}
        found = {}
        texts = {}  # without macros
        with tempfile.TemporaryDirectory() as folder:
            for path in sorted((SOURCE / "runtime").glob("neap_*.c")):
                includes = []
                if "_cmsis_nn_" in path.name:
                    if LIBRARY is None or flags != TABLES["stack.cc"]:
                        table.pop(path.stem, None)
                        continue
                    includes = [f"-isystem{LIBRARY / part / 'Include'}" for part in ("cmsis_nn", "cmsis_core")]
                subprocess.run([COMPILER, *FLAGS, *flags, *includes, "-c", path, "-o", f"{path.stem}.o"], cwd=folder, check=True)
                texts[path.stem] = subprocess.run([COMPILER, *FLAGS, *flags, *includes, "-E", "-P", path], check=True,
                                                  capture_output=True, text=True).stdout
                for line in (pathlib.Path(folder) / f"{path.stem}.su").read_text().splitlines():
                    place, size, kind = line.split("\t")
                    self.assertEqual(kind, "static", line)
                    name = place.split(":")[-1].split(".")[0]
                    found[name] = max(found.get(name, 0), int(size))
        for name, size in table.items():
            self.assertEqual(found.get(name), size, name)
        # Assembly saves registers, of which the compiler does not know; functions that are apart have their own frames.
        shared = dict(FUNCTION.findall(texts[OUTPUTS])) | dict(FUNCTION.findall(texts[SMALL_OUTPUTS]))
        self.assertLessEqual({OUTPUTS, SMALL_OUTPUTS}, set(shared))
        for name, _, below in rows:
            path = SOURCE / "runtime" / f"{name}.c"
            saved = 4 * sum(len(registers.split(",")) for registers in
                            re.findall(r'"push \{(.*?)\}', path.read_text() if path.exists() else ""))
            functions = dict(APART.findall(texts.get(name, "")))
            if re.fullmatch(r"neap_(conv|depthwise)_(small_)?[su]8", name):
                self.assertNotEqual(functions, {})
                functions |= {one: body for one, body in shared.items() if one != (OUTPUTS if "small" in name else SMALL_OUTPUTS)}
                functions |= dict(APART.findall(texts[OUTPUTS]))
            self.assertEqual(int(below or 0), saved + deepest(found, functions, functions), name)
        self.check_little(flags, table)
        kernels = {name for name in found if re.match(r"neap_(drive_\w+|\w+_[su]8)$", name) and not PARTS.search(name)}
        self.assertLessEqual(kernels, set(table))
        advance = [size for name, size in found.items() if name.startswith("neap_advance")]
        engine = max(found["neap_run"], found["neap_step"] + max(advance, default=0))
        self.assertLessEqual(engine, 80)
        self.assertLessEqual(max(found["neap_source"], found["neap_target"]), 16)

    def check_little(self, flags, table):
        """Drivers that are compiled for size: at most 16 B more than in the table, at most 24 B more where they find taps."""
        found = {}
        with tempfile.TemporaryDirectory() as folder:
            for name in ("neap_drive_points", "neap_drive_runs", "neap_drive_mean", "neap_finish_mean", "neap_find_run"):
                subprocess.run([COMPILER, *FLAGS, *flags, "-DNEAP_LITTLE_FLASH", "-c", SOURCE / f"runtime/{name}.c", "-o", "x.o"],
                               cwd=folder, check=True)
                for line in (pathlib.Path(folder) / "x.su").read_text().splitlines():
                    found[line.split("\t")[0].split(":")[-1].split(".")[0]] = int(line.split("\t")[1])
        for name in ("neap_drive_points", "neap_drive_runs"):
            self.assertLessEqual(found[name], table[name] + 16)
        for name in ("neap_drive_mean", "neap_finish_mean"):
            self.assertLessEqual(found[name], table[name])
        self.assertLessEqual(found["neap_drive_runs"] + found.get("neap_find_all", 0) + found["neap_find_edge"],
                             table["neap_drive_runs"] + 16 + table["neap_find_edge"] + 24)


if __name__ == "__main__":
    unittest.main()
