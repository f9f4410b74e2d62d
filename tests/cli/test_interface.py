# SPDX-License-Identifier: Apache-2.0
"""--integer-io: plans of models whose caller converts."""

import json
import os
import pathlib
import unittest

from neap_cli import DONE, FAILED, USAGE, CliTest

SHARED = pathlib.Path(os.environ.get("NEAP_SHARED", pathlib.Path(__file__).parents[3] / "shared"))
MODEL = SHARED / "models/mit-han-lab+tinyengine/mcunetv2_large.tflite"


class InterfaceTest(CliTest):
    def test_a_model_without_conversions_is_refused_in_one_line(self):
        self.expect(DONE, "zoo", "ds-cnn", "--int8", "-o", "net.tflite", "--quiet")
        for verb in ("plan", "pareto"):
            done = self.expect(FAILED, verb, "net.tflite", "--integer-io", "both")
            self.assertIn(b"no float input has a QUANTIZE as its only consumer", done.stderr)
        self.expect(USAGE, "plan", "net.tflite", "--integer-io", "all")
        (self.folder / "scratch.csv").write_text("CONV_2D,16\n")
        self.expect(USAGE, "plan", "net.tflite", "--integer-io", "both", "--scratch", "scratch.csv")

    @unittest.skipUnless(MODEL.is_file(), f"no {MODEL}")
    def test_plans_say_it_and_are_checked_and_run(self):
        report = self.report_of("plan", str(MODEL), "--runtime", "neap", "--stream", "auto", "--integer-io",
                                "both", "--plan", "plan.json")
        self.assertEqual([change["side"] for change in report["interface"]], ["input", "output"])
        self.assertEqual(report["interface"][0]["new_type"], "int8")
        self.assertLessEqual(report["plan"]["arena_bytes"], 220544)
        self.expect(DONE, "check", str(MODEL), "plan.json")
        ran = self.report_of("run", str(MODEL), "--plan", "plan.json", "--compare", "--random-inputs", "2")
        self.assertIs(ran["equal"], True)
        self.assertEqual(ran["high_water_bytes"], report["plan"]["arena_bytes"])
        self.assertTrue(all(output["type"] == "int8" for output in ran["outputs"]))
        text = self.expect(DONE, "plan", str(MODEL), "--integer-io", "inputs").stdout.decode().splitlines()
        self.assertTrue(any(line.startswith("Interface changed: input") for line in text[1:3]), text)
        # A plan that leaves other operators to the caller is none of this model.
        plan = json.loads((self.folder / "plan.json").read_text())
        self.assertEqual(len(plan["caller_ops"]), 2)
        for ops in ([1], [0, 0], [100000]):
            plan["caller_ops"] = ops
            (self.folder / "wrong.json").write_text(json.dumps(plan))
            for verb in (("check", str(MODEL), "wrong.json"), ("run", str(MODEL), "--plan", "wrong.json")):
                done = self.expect(FAILED, *verb)
                self.assertIn(b"the caller cannot run operator", done.stderr)
        # Without the member it is a plan of the model as it is, which it does not fit.
        del plan["caller_ops"]
        (self.folder / "wrong.json").write_text(json.dumps(plan))
        self.assertEqual(self.run_neap("check", str(MODEL), "wrong.json").returncode, FAILED)

    @unittest.skipUnless(MODEL.is_file(), f"no {MODEL}")
    def test_every_point_of_a_front_has_the_interface(self):
        self.searches_whole_networks()
        front = self.report_of("pareto", str(MODEL), "--runtime", "neap", "--integer-io", "inputs",
                               "--plans", "plans")
        self.assertEqual([change["side"] for change in front["interface"]], ["input"])
        for plan in (self.folder / "plans").iterdir():
            self.assertEqual(len(json.loads(plan.read_text())["caller_ops"]), 1)


if __name__ == "__main__":
    unittest.main()
