# SPDX-License-Identifier: Apache-2.0
"""neap run: models and plans executed, as the command line has it."""

import json
import unittest

from neap_cli import DIAMOND, DONE, FAILED, USAGE, CliTest


class RunTest(CliTest):
    def planned(self, *words):
        """A small network of the zoo and a plan of it."""
        self.zoo("net.onnx")
        self.expect(DONE, "plan", "net.onnx", "--plan", "plan.json", "--quiet", *words)
        return json.loads((self.folder / "plan.json").read_text())

    def test_plan_gives_the_bytes_of_an_unplanned_run(self):
        self.planned("--runtime", "ideal-inplace")
        report = self.report_of("run", "net.onnx", "--plan", "plan.json", "--random-inputs", "4",
                                "--compare", "--trace", "trace.jsonl")
        self.assertIs(report["equal"], True)
        self.assertEqual(report["violations"], [])
        self.assertLessEqual(report["high_water_bytes"], report["arena_bytes"])
        steps = [json.loads(line) for line in (self.folder / "trace.jsonl").read_text().splitlines()]
        self.assertEqual([step["slot"] for step in steps], list(range(len(steps))))
        apart = self.report_of("run", "net.onnx", "--random-inputs", "4")
        self.assertEqual(apart["outputs"], report["outputs"])
        other = self.report_of("run", "net.onnx", "--random-inputs", "5")
        self.assertNotEqual(other["outputs"], report["outputs"])

    def test_damaged_plans_are_violations(self):
        plan = self.planned()
        entry = plan["entries"][0]
        middle = entry["tensors"][len(entry["tensors"]) // 2]
        middle["last"] -= 1
        self.write_json("bad.json", plan)
        result = self.run_neap("run", "net.onnx", "--plan", "bad.json")
        self.assertEqual(result.returncode, FAILED)
        self.assertRegex(result.stderr, rb"(?m)^neap run: bad.json: .*outside of its lifetime")
        result = self.run_neap("check", "net.onnx", "bad.json")
        self.assertEqual(result.returncode, FAILED)
        for line in result.stderr.splitlines():
            self.assertTrue(line.startswith(b"neap check: bad.json: "), line)

    def test_inputs_are_saved_and_read_again(self):
        self.planned()
        first = self.report_of("run", "net.onnx", "--random-inputs", "9", "--save-inputs", "in.npz",
                               "--outputs", "out.npz")
        again = self.report_of("run", "net.onnx", "--inputs", "in.npz")
        self.assertEqual(first["outputs"], again["outputs"])
        result = self.expect(FAILED, "run", "net.onnx", "--inputs", "out.npz")
        self.assertRegex(result.stderr, rb"out.npz: .*found float32\[.*\].*, expected float32\[")
        self.expect(FAILED, "run", "net.onnx", "--inputs", "plan.json")
        self.expect(FAILED, "run", "net.onnx", "--outputs", "out.npz")

    def test_what_has_no_kernel_is_refused_by_name(self):
        self.write_json("graph.json", DIAMOND)
        result = self.expect(FAILED, "run", "graph.json")
        self.assertIn(b"no kernel", result.stderr)

    def test_plans_of_other_models_are_refused(self):
        self.planned()
        self.zoo("other.onnx", seed=2)
        result = self.expect(FAILED, "run", "other.onnx", "--plan", "plan.json")
        self.assertIn(b"another model", result.stderr)
        self.expect(USAGE, "run", "net.onnx", "--compare")


if __name__ == "__main__":
    unittest.main()
