# SPDX-License-Identifier: Apache-2.0
"""Kernels for the vectors of a Cortex-M55, on an emulated one, of x86-64 and of AArch64 write the bytes of the C that
other compilers get: random shapes, ranges, weights and sums (kernels/main.c)."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get("NEAP_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
sys.path[:0] = [str(SOURCE / "firmware"), str(SOURCE / "tests/emit")]
sys.dont_write_bytecode = True

import emitted  # noqa: E402
import measure  # noqa: E402

HOST_CASES = 2000


class Kernels(unittest.TestCase):
    def check(self, name, vectors):
        board = measure.boards()[name]
        missing = board.missing_tools()
        if missing:
            self.skipTest(f"{name} needs {', '.join(missing)}: scripts/install_packages.sh --firmware")
        with tempfile.TemporaryDirectory(prefix="neap-kernels-") as folder:
            subprocess.run(["cmake", "-S", SOURCE / "tests/firmware/kernels", "-B", folder, "-G", "Ninja",
                            f"-DCMAKE_TOOLCHAIN_FILE={SOURCE}/firmware/board.cmake", f"-DNEAP_BOARD={name}"], check=True,
                           capture_output=True)
            done = subprocess.run(["cmake", "--build", folder], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout)
            program = pathlib.Path(folder) / ("kernels" + ("" if board.is_host else ".elf"))
            self.assertEqual(measure.execute(board, program, folder), (0, f"cases 400 vectors {vectors} "))

    def test_vectors_compute_the_bytes_of_c(self):
        self.check("mps3-an547", 1)

    def test_the_program_runs_on_the_host(self):
        self.check("host", 0)

    def check_host(self, compiler, flags, vectors, emulator=()):
        for tool in (compiler, *emulator):
            if shutil.which(tool) is None:
                self.skipTest(f"there is no {tool}")
        kernels, support = SOURCE / "tests/firmware/kernels", SOURCE / "firmware/support"
        with tempfile.TemporaryDirectory(prefix="neap-kernels-") as folder:
            program = pathlib.Path(folder) / "kernels"
            done = subprocess.run([compiler, "-std=c99", "-O2", *flags, f"-DCASES={HOST_CASES}", "-I", SOURCE / "runtime",
                                   "-I", support, *(kernels / f"{name}.c" for name in ("main", "vectors", "scalars")),
                                   support / "board_host.c", "-o", program], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            done = subprocess.run([*emulator, program], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), (0, f"cases {HOST_CASES} vectors {vectors} "))

    def test_vectors_of_this_processor(self):
        kinds = emitted.vectors_of_this_processor()
        for name, flags in kinds.items():
            for compiler in ("gcc", "clang-16"):
                with self.subTest(vectors=name, compiler=compiler):
                    self.check_host(compiler, flags, 1)
        with self.subTest(vectors="none"):
            self.check_host("gcc", ["-DNEAP_PORTABLE"], 0)

    def test_vectors_of_arm64(self):
        for flags in ([], ["-march=armv8.2-a+dotprod"]):
            with self.subTest(flags=flags):
                self.check_host(emitted.ARM64, ["-static", *flags], 1, ["qemu-aarch64"])


if __name__ == "__main__":
    unittest.main()
