# SPDX-License-Identifier: Apache-2.0
"""neap plan: the options that decide the addresses of tensors."""

import json

from neap_cli import DIAMOND, DIAMOND_BEST_PEAK, DONE, FAILED, OVER_BUDGET, USAGE, CliTest


class Addresses(CliTest):

    def setUp(self):
        super().setUp()
        (self.folder / "g.json").write_text(json.dumps(DIAMOND))

    def test_several_memories(self):
        report = self.report_of("plan", "g.json", "--plan", "p.json",
                                "--memory", "sram=40,bw=8", "--memory", "psram=1KiB,bw=0.5")
        sram, psram = report["memories"]
        self.assertEqual((sram["name"], sram["capacity_bytes"], sram["bytes_per_kilocycle"]),
                         ("sram", 40, 8000))
        self.assertEqual((psram["name"], psram["bytes_per_kilocycle"]), ("psram", 500))
        self.assertLessEqual(sram["arena_bytes"], 40)
        # Only the two wide tensors, one after the other at one address, go to the slow one.
        self.assertEqual(psram["arena_bytes"], 150)
        touched = 20 + 20 + 10 * 4 + 5
        self.assertEqual(report["access_cycles"], -(-(touched * 125 + 600 * 2000) // 1000))
        self.assertEqual(report["access_cycles_lower_bound"], report["access_cycles"])
        self.expect(DONE, "check", "g.json", "p.json")
        plan = json.loads((self.folder / "p.json").read_text())
        plan["memories"][1]["capacity_bytes"] = 149
        (self.folder / "p.json").write_text(json.dumps(plan))
        self.expect(FAILED, "check", "g.json", "p.json")

    def test_memories_that_are_too_small(self):
        result = self.expect(OVER_BUDGET, "plan", "g.json", "--plan", "p.json",
                             "--memory", "sram=40,bw=8", "--memory", "psram=140,bw=1")
        self.assertIn(b"no placement fits into the memories", result.stderr)
        self.assertFalse((self.folder / "p.json").exists())

    def test_memories_that_make_no_sense(self):
        for wrong in ("sram", "sram=1KiB", "=1KiB,bw=1", "sram=1KiB,bw=", "sram=1KiB,bw=0",
                      "sram=1KiB,bw=1.2345", "sram=x,bw=1", "sram=1KiB,bw=-1"):
            self.expect(USAGE, "plan", "g.json", "--memory", wrong)
        self.expect(USAGE, "plan", "g.json", "--memory", "a=1KiB,bw=1", "--memory", "a=1KiB,bw=2")

    def test_scratch(self):
        lines = "# of the kernels\n" + "".join(f"{op}, 7\n" for op in range(5)) + "4, 100  # join\n"
        (self.folder / "s.csv").write_text(lines)
        report = self.report_of("plan", "g.json", "--scratch", "s.csv", "--plan", "p.json")
        self.assertEqual(report["plan"]["peak_bytes"], DIAMOND_BEST_PEAK + 7)
        plan = json.loads((self.folder / "p.json").read_text())
        self.assertEqual(sorted(area["bytes"] for area in plan["entries"][0]["scratch"]),
                         [7, 7, 7, 7, 100])
        self.expect(DONE, "check", "g.json", "p.json", "--scratch", "s.csv")
        self.assertEqual(self.run_neap("check", "g.json", "p.json").returncode, FAILED)

    def test_scratch_that_is_wrong(self):
        for text in ("nothing", "nosuch,5", "99,5", "0,x", "0,-5"):
            (self.folder / "s.csv").write_text("0,1\n" + text)
            result = self.expect(FAILED, "plan", "g.json", "--scratch", "s.csv")
            self.assertIn(b"s.csv: line 2: ", result.stderr)
        self.expect(FAILED, "plan", "g.json", "--scratch", "missing.csv")

    def test_moves_and_overlap_are_checked_options(self):
        for moves in ("none", "compact", "best"):
            report = self.report_of("plan", "g.json", "--moves", moves)
            self.assertEqual(report["moves"], [])  # the peak is reached without
        self.expect(USAGE, "plan", "g.json", "--moves", "sideways")
        self.expect(USAGE, "plan", "g.json", "--overlap", "cmsis")
        self.expect(USAGE, "plan", "g.json", "--keep-inputs")
        for words in (["--moves", "best", "--order-only"], ["--moves", "best", "--runtime", "litert"],
                      ["--moves", "best", "--runtime", "neap"],
                      ["--moves", "best", "--overlap", "tflm-reference"],
                      ["--memory", "a=1MiB,bw=1", "--runtime", "tflm", "--budget-total", "1"],
                      ["--runtime", "neap", "--stream", "auto", "--overlap", "neap",
                       "--keep-inputs"]):
            self.expect(USAGE, "plan", "g.json", *words)
        report = self.report_of("plan", "g.json", "--overlap", "tflm-reference")
        self.assertEqual(report["kernels"], "tflm-reference")
        self.assertEqual(report["overlaps"], [])  # no kernel of that library is in the graph
