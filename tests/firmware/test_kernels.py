# SPDX-License-Identifier: Apache-2.0
"""Kernels for the vectors of a Cortex-M55, on an emulated one, write the bytes of the C that other compilers get: random
shapes, ranges, weights and sums (kernels/main.c)."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get("NEAP_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(SOURCE / "firmware"))
sys.dont_write_bytecode = True

import measure  # noqa: E402


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


if __name__ == "__main__":
    unittest.main()
