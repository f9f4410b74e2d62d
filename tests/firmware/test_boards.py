# SPDX-License-Identifier: Apache-2.0
"""The firmware support: boards enforce their limits of RAM, and measurements are right and repeatable. The network is
written by hand (small_network), so that these tests need no emitter."""

import json
import os
import pathlib
import random
import shutil
import sys
import tempfile
import unittest
import unittest.mock

SOURCE = pathlib.Path(os.environ.get("NEAP_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(SOURCE / "firmware"))
sys.dont_write_bytecode = True

import measure  # noqa: E402

SMALL = SOURCE / "tests/firmware/small_network"
WEIGHTS = [3, -7, 11, -2, 5, -128, 127, 1, -64, 9, -31, 17]
COLUMNS = 16
ARENA_BYTES = 208
ARM = ["microbit", "stm32vldiscovery", "emcraft-sf2", "mps2-an385", "netduinoplus2", "mps2-an386", "mps3-an547",
       "mps3-an547-ddr"]
RISCV = ["virt-rv32"]
# No memory protection unit: only what is outside of the board's own memory faults.
UNPROTECTED = {"microbit"}


def expected_output(data):
    """The output of small_network, in numbers of any size."""
    sums = [100] * COLUMNS
    for row, weight in enumerate(WEIGHTS):
        for x in range(COLUMNS):
            byte = data[row * COLUMNS + x]
            sums[x] += (byte - 256 if byte > 127 else byte) * weight
    return bytes(value % 256 for value in sums)


class Boards(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="neap-firmware-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        random.seed(7)
        inputs = [random.randbytes(len(WEIGHTS) * COLUMNS) for _ in range(3)]
        self.inputs = self.folder / "inputs.bin"
        self.inputs.write_bytes(b"".join(inputs))
        self.expected = b"".join(map(expected_output, inputs))
        self.assertEqual(len(set(map(expected_output, inputs))), 3)

    def board(self, name):
        board = measure.boards()[name]
        missing = board.missing_tools()
        if missing:
            self.skipTest(f"{name} needs {', '.join(missing)}: scripts/install_packages.sh --firmware")
        return board

    def check_overruns(self, names):
        """Accesses within RAM end well, those past it, below it and by a deep stack are faults; with the whole RAM of the
        board and with an odd part of it."""
        for name in names:
            board = self.board(name)
            for ram_bytes in [None] if name in UNPROTECTED else [None, 0x1b20]:
                with self.subTest(board=name, ram_bytes=ram_bytes):
                    self.assertEqual(measure.find_missed_faults(board, self.folder / name, ram_bytes), [])

    def test_overruns_fault_on_arm(self):
        self.check_overruns(ARM)

    def test_overruns_fault_on_riscv(self):
        self.check_overruns(RISCV)

    def check_small_network(self, names):
        for name in names:
            board = self.board(name)
            for fed in ("arena", "rows"):
                with self.subTest(board=name, fed=fed):
                    result = measure.measure(board, SMALL, self.inputs, fed=fed, tight=True, timeout=60)
                    self.assertEqual(result["outputs"], self.expected)
                    ram = result["ram"]
                    self.assertEqual((ram["arena"], ram["data"], ram["bss"]), (ARENA_BYTES, 0, 0))
                    self.assertLess(ram["total"], ARENA_BYTES + 256)
                    self.assertLess(ram["limit"] - ram["total"], 32)
                    self.assertEqual(result["flash"]["weights"], len(WEIGHTS))
                    counts = result["instructions"]
                    self.assertEqual(len(counts["runs"]), 3)
                    self.assertEqual(sum(counts["runs"]), sum(counts["functions"].values()))
                    self.assertLess(sum(counts["runs"]), counts["whole"])
                    self.assertEqual(next(iter(counts["functions"])), "small_run" + ("_rows" if fed == "rows" else ""))

    def test_small_network_on_arm(self):
        self.check_small_network(["microbit", "stm32vldiscovery", "netduinoplus2", "mps3-an547"])

    def test_small_network_on_riscv(self):
        self.check_small_network(RISCV)

    def test_small_network_on_the_host(self):
        for compiler in ("gcc", "clang-16"):
            if shutil.which(compiler) is None:
                continue
            with self.subTest(compiler=compiler), unittest.mock.patch.dict(os.environ, {"CC": compiler}):
                for fed in ("arena", "rows"):
                    result = measure.measure(self.board("host"), SMALL, self.inputs, fed=fed)
                    self.assertEqual(result["outputs"], self.expected)

    def test_counts_repeat_and_add_up(self):
        board = self.board("mps2-an386")
        folder = self.folder / "build"
        executable = measure.build(board, folder, "measure", SMALL)
        program = measure.Program(executable)
        shutil.copyfile(self.inputs, folder / "input.bin")
        begin, end = (program.symbols[f"board_count_{name}"] & ~1 for name in ("begin", "end"))
        arena = [name for name in program.symbols if name == "arena"]
        self.assertEqual(len(arena), 1)
        texts = set()
        for number in range(3):
            out = folder / f"counts{number}"
            code, text = measure.execute(board, executable, folder, [f"out={out}", f"begin={begin}", f"end={end}"])
            self.assertEqual(code, 0, text)
            texts.add(out.read_text())
        self.assertEqual(len(texts), 1)
        # Without marks every instruction counts, and accesses within the arena reach its last byte.
        out, low = folder / "whole", program.symbols["arena"]
        measure.execute(board, executable, folder, [f"out={out}", f"low={low}", f"high={low + ARENA_BYTES + 64}"])
        counts = measure.read_counts(out, program)
        self.assertEqual(counts["whole"], sum(counts["functions"].values()))
        self.assertEqual(counts["touched"], [low, low + ARENA_BYTES - 1])

    def test_a_plugin_refuses_unknown_arguments(self):
        board = self.board("mps2-an386")
        executable = measure.build(board, self.folder / "build", "overrun")
        code, text = measure.execute(board, executable, self.folder, ["ouch=1"])
        self.assertNotEqual(code, 0)
        self.assertIn("unknown argument ouch", text)

    def test_too_little_ram_is_an_error_of_the_linker(self):
        with self.assertRaisesRegex(measure.Failure, "overflowed|will not fit"):
            measure.build(self.board("netduinoplus2"), self.folder / "build", "measure", SMALL, stack_bytes=256,
                          ram_bytes=448)

    def test_a_heap_is_an_error_of_the_linker(self):
        network = self.folder / "network"
        shutil.copytree(SMALL, network)
        source = network / "small.c"
        source.write_text("#include <stdlib.h>\n" + source.read_text().replace(
            "return (int8_t*)arena + kInput;", "(void)arena; return (int8_t*)malloc(192);"))
        for name in ("netduinoplus2", "virt-rv32"):
            with self.subTest(board=name), self.assertRaisesRegex(measure.Failure, "undefined reference to `_*(sbrk|heap|end)"):
                measure.build(self.board(name), self.folder / name, "measure", network)

    def test_a_run_that_exceeds_its_arena_fails(self):
        network = self.folder / "network"
        shutil.copytree(SMALL, network)
        header = network / "small.h"
        header.write_text(header.read_text().replace("ARENA_BYTES 208", "ARENA_BYTES 20"))
        with self.assertRaisesRegex(measure.Failure, f"exit code {measure.FAULT_EXIT}.*fault"):
            measure.measure(self.board("netduinoplus2"), network, self.inputs, fed="rows", tight=True)

    def test_inputs_are_whole(self):
        for fed in ("arena", "rows"):
            for data, message in [(b"", "no input"), (bytes(200), "within an input")]:
                self.inputs.write_bytes(data)
                with self.subTest(fed=fed, bytes=len(data)), self.assertRaisesRegex(measure.Failure, message):
                    measure.measure(self.board("host"), SMALL, self.inputs, fed=fed)

    def test_every_board_is_tested(self):
        self.assertEqual({*ARM, *RISCV, "host"}, set(measure.boards()))
        presets = json.loads((SOURCE / "firmware/CMakePresets.json").read_text())["configurePresets"]
        self.assertEqual({preset["name"] for preset in presets} - {"board", "host-clang"}, set(measure.boards()))

    def test_regions_of_boards_are_powers_of_two(self):
        """One region of a protection unit covers the flash; the first of the RAM needs its alignment."""
        for board in measure.boards().values():
            if not board.is_host:
                with self.subTest(board=board.name):
                    self.assertEqual(board.flash_bytes & (board.flash_bytes - 1), 0)
                    self.assertEqual(board.flash_origin % board.flash_bytes, 0)
                    self.assertEqual(board.ram_origin % (1 << (board.ram_bytes - 1).bit_length()), 0)


if __name__ == "__main__":
    unittest.main()
