# SPDX-License-Identifier: Apache-2.0
"""neap run --compare: a plan against the model as it was given."""

import json
import unittest

from neap_cli import DONE, FAILED, SHARED, USAGE, CliTest

CONVERTED = SHARED / "models/mit-han-lab+tinyengine/mcunetv2_large.tflite"


class CompareTest(CliTest):
    def setUp(self):
        super().setUp()
        self.expect(DONE, "zoo", "swiftnet-cell-a", "--int8", "-o", "cell.tflite", "--quiet")

    def plan(self, accumulator_bytes):
        self.expect(DONE, "plan", "cell.tflite", "--runtime", "neap", "--rewrite", "reassociate",
                    "--accumulator-bytes", accumulator_bytes, "--plan", "plan.json", "--quiet")
        return json.loads((self.folder / "plan.json").read_text())

    def compare(self, code, *words):
        done = self.run_neap("run", "cell.tflite", "--plan", "plan.json", "--compare", "--json", *words)
        self.assertEqual(done.returncode, code, done.stderr)
        return json.loads(done.stdout)

    def test_accumulators_of_one_byte_differ_from_the_given_model(self):
        """The negative control: only the rewritten model computes the plan's outputs, byte for byte."""
        self.plan(1)
        run = self.compare(FAILED)
        self.assertEqual(run["violations"], [])
        self.assertIs(run["equal"], False)
        self.assertIs(run["comparison"]["rewrites_exact"], False)
        self.assertIsNone(run["comparison"]["tolerance"])
        self.assertIs(run["comparison"]["passes"], False)
        output, = run["comparison"]["outputs"]
        self.assertEqual(output["elements"], 28 * 28 * 48)
        self.assertGreater(output["differing_elements"], output["elements"] // 2)
        self.assertGreater(output["max_difference"], 1)
        self.assertAlmostEqual(output["relative_difference"],
                               output["max_difference"] / output["largest_magnitude"])
        text = self.expect(FAILED, "run", "cell.tflite", "--plan", "plan.json", "--compare")
        self.assertIn(b"37,632 elements differ from the given model", text.stdout)
        self.assertNotIn(b"identical", text.stdout)
        self.assertIn(b"--tolerance", text.stderr)

    def test_inexact_rewrites_pass_within_the_tolerance_alone(self):
        self.plan(1)
        found = self.compare(FAILED)["comparison"]["outputs"][0]["relative_difference"]
        self.assertIs(self.compare(DONE, "--tolerance", found * 1.01)["comparison"]["passes"], True)
        self.assertIs(self.compare(DONE, "--tolerance", found * 1.01)["equal"], False)
        self.assertIs(self.compare(FAILED, "--tolerance", found * 0.99)["comparison"]["passes"], False)
        self.compare(FAILED, "--tolerance", "0")
        for wrong in ("-1", "nan", "inf", "much"):
            self.expect(USAGE, "run", "cell.tflite", "--plan", "plan.json", "--compare",
                        f"--tolerance={wrong}")
        self.expect(USAGE, "run", "cell.tflite", "--plan", "plan.json", "--tolerance", "0.1")

    def test_accumulators_of_four_bytes_are_identical(self):
        self.plan(4)
        run = self.compare(DONE)
        self.assertIs(run["equal"], True)
        self.assertEqual(run["comparison"]["outputs"][0]["differing_elements"], 0)
        text = self.expect(DONE, "run", "cell.tflite", "--plan", "plan.json", "--compare").stdout
        self.assertIn(b"identical: every output byte equals that of the given model", text)

    def test_what_is_not_exact_is_not_believed_to_be(self):
        plan = self.plan(1)
        partial = [rewrite for rewrite in plan["rewrites"] if rewrite["rule"] == "channel-wise"]
        self.assertTrue(partial)
        for rewrite in partial:
            rewrite["exactness"] = "bitwise"
        self.write_json("plan.json", plan)
        for words in (("run", "cell.tflite", "--plan", "plan.json", "--compare"),
                      ("check", "cell.tflite", "plan.json")):
            self.assertIn(b"is marked bitwise, but it is not", self.expect(FAILED, *words).stderr)

    def test_tiles_are_compared_with_the_model_that_is_not_cut(self):
        self.searches_whole_networks()
        self.expect(DONE, "zoo", "mobilenet-v1-vww", "--int8", "-o", "vww.tflite", "--quiet")
        self.expect(DONE, "plan", "vww.tflite", "--cascade", "auto", "--time-limit", "3", "--plan",
                    "tiles.json", "--quiet")
        run = self.report_of("run", "vww.tflite", "--plan", "tiles.json", "--compare")
        self.assertIs(run["equal"], True)
        self.assertEqual(len(run["comparison"]["outputs"]), 1)

    @unittest.skipUnless(CONVERTED.is_file(), f"no {CONVERTED}")
    def test_conversions_left_to_the_caller_are_applied(self):
        self.expect(DONE, "plan", CONVERTED, "--runtime", "neap", "--integer-io", "both", "--plan",
                    "integer.json", "--quiet")
        run = self.report_of("run", CONVERTED, "--plan", "integer.json", "--compare",
                             "--random-inputs", "2", "--save-inputs", "in.npz")
        self.assertIs(run["equal"], True)
        self.assertEqual(run["outputs"][0]["type"], "int8")
        self.assertEqual(run["comparison"]["outputs"][0]["type"], "float32")
        # From the integers that the caller has made, the given model runs from there.
        again = self.report_of("run", CONVERTED, "--plan", "integer.json", "--compare", "--inputs",
                               "in.npz")
        self.assertEqual(again["comparison"], run["comparison"])
        self.assertEqual(again["outputs"], run["outputs"])


if __name__ == "__main__":
    unittest.main()
