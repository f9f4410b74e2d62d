# SPDX-License-Identifier: Apache-2.0
"""Emitted C with two memories on an emulated board: loads and stores of the slow memory are the bytes of the plan. A short
form of lab/tables/two_memories_code_table.py, with a network of the zoo."""

import os
import pathlib
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get("NEAP_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
sys.path[:0] = [str(SOURCE / "lab/tables"), str(SOURCE / "firmware")]
sys.dont_write_bytecode = True

import measure  # noqa: E402
import two_memories_code_table as table  # noqa: E402

NEAP = os.environ.get("NEAP", str(SOURCE / "build/release/tools/neap"))
LIMIT = 4 * table.KIB


class TwoMemories(unittest.TestCase):
    def setUp(self):
        if table.missing_tools():
            self.skipTest(f"{', '.join(table.missing_tools())} not found: scripts/install_packages.sh --firmware")
        holder = tempfile.TemporaryDirectory(prefix="neap-two-memories-")
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        self.model = table.bench(NEAP, self.folder, ("mobilenet-v1-vww", "--int8"))

    def test_loads_and_stores_are_those_of_the_plan(self):
        facts = table.facts_of(NEAP, self.folder, self.model, LIMIT, tight=False)
        self.assertLessEqual(facts["arena"], LIMIT)
        # Tensors beside input and output are in slow memory.
        network = table.emitted.Network(self.folder / f"code{LIMIT}", "net")
        self.assertGreater(facts["written"], network.macro("OUTPUT_BYTES"))
        self.assertGreater(facts["read"], network.macro("INPUT_BYTES"))
        # Negative control: one more load for each copy from slow memory is counted, with equal outputs.
        driver = network.folder / "neap_rt/neap_drive_transfer.c"
        text = driver.read_text()
        more = text.replace("      memcpy(to, from, bytes);\n",
                            "      memcpy(to, from, bytes);\n      (void)*(const volatile int8_t*)from;\n")
        self.assertNotEqual(text, more)
        driver.write_text(more)
        board = measure.boards()[table.BOARD]
        result = measure.measure(board, network.folder, self.folder / "inputs.bin", timeout=120)
        (run,) = result["slow"]["runs"]
        self.assertEqual(result["outputs"], measure.tensor_bytes([self.folder / "out.npz"]))
        self.assertEqual(run["written_bytes"], facts["written"])
        self.assertGreater(run["read_bytes"], facts["read"])
        with self.assertRaisesRegex(measure.Failure, "SLOW.*overflowed"):  # a board without slow memory
            measure.build(measure.boards()["netduinoplus2"], self.folder / "build", "measure", network.folder)

    def test_weights_in_slow_memory_are_read_by_copies_alone(self):
        facts = table.facts_of(NEAP, self.folder, self.model, 8 * table.KIB, tight=False, more=["--slow-weights"])
        network = table.emitted.Network(self.folder / f"code{8 * table.KIB}", "net")
        self.assertEqual(network.macro("SLOW_WEIGHT_BYTES"), facts["weights"])
        self.assertEqual(facts["run"]["read_bytes"], facts["read"])
        # Negative control: a kernel that reads them where they are computes the same outputs and is counted.
        driver = network.folder / "neap_rt/neap_drive_slow_weights.c"
        text = driver.read_text()
        where = "    conv.weights = neap_weights_at(of, frame, 0);\n    if (of->bias"
        self.assertIn(where, text)
        driver.write_text(text.replace(where, "    conv.weights = of->weights;\n    if (of->bias"))
        board = measure.boards()[table.BOARD]
        result = measure.measure(board, network.folder, self.folder / "inputs.bin", timeout=120)
        self.assertEqual(result["outputs"], measure.tensor_bytes([self.folder / "out.npz"]))
        self.assertGreater(result["slow"]["runs"][0]["read_bytes"], facts["read"])
        # Of some operators those of the first channels stay.
        self.assertIn('"kept"', (self.folder / f"plan{8 * table.KIB}.json").read_text())
        # Some are read more than once, and none is in flash.
        self.assertGreater(facts["weights"], result["slow"]["weights"])
        self.assertEqual(result["flash"]["weights"], 0)

    def test_weights_that_are_copied_ahead_are_read_once(self):
        limit = 16 * table.KIB
        plain = table.facts_of(NEAP, self.folder, self.model, limit, on_board=False, more=["--slow-weights"])
        facts = table.facts_of(NEAP, self.folder, self.model, limit, tight=False, more=["--slow-weights", "--prefetch"])
        self.assertLessEqual(facts["arena"], limit)
        self.assertEqual(facts["run"]["read_bytes"], plain["read"])
        self.assertEqual(facts["weights"], plain["weights"])
        code = (self.folder / f"code{limit}/net.c").read_text()
        self.assertIn("net_weight_copies[]", code)


if __name__ == "__main__":
    unittest.main()
