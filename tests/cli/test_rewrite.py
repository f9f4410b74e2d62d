# SPDX-License-Identifier: Apache-2.0
"""neap plan --rewrite: other operators, the same outputs."""

import json
import unittest

from neap_cli import DONE, FAILED, SHARED, USAGE, CliTest

SWIFTNET = SHARED / "models/newwhitecheng+vwwc19-submission/swiftnet-vww-224-uint8.tflite"


class RewriteTest(CliTest):
    def network(self, name, *words):
        self.expect(DONE, "zoo", name.split(".")[0], *words, "-o", name)
        return self.folder / name

    def outputs_of(self, model, seed):
        return [output["sha256"] for output in
                self.report_of("run", model, "--random-inputs", seed)["outputs"]]

    def test_a_copying_split_is_taken_out_and_every_byte_stays(self):
        for name, words in (("swiftnet.onnx", []), ("swiftnet.tflite", ["--int8"])):
            self.network(name, *words)
            small = "small-" + name
            report = self.report_of("plan", name, "--runtime", "ideal", "-o", small, "--plan",
                                    "plan.json", "--force")
            self.assertEqual([r["rule"] for r in report["rewrites"]], ["no-op"])
            self.assertEqual(report["rewrites"][0]["exactness"], "bitwise")
            self.assertEqual(report["operators"], report["rewriting"]["operators_before"] - 1)
            plain = self.report_of("plan", name, "--runtime", "ideal", "--rewrite", "none")
            self.assertIsNone(plain["rewriting"])
            self.assertLess(report["plan"]["arena_bytes"], plain["plan"]["arena_bytes"])
            self.assertEqual(report["plan"]["arena_bytes"], report["plan"]["arena_lower_bound_bytes"])
            self.assertEqual(report["file_order"], plain["file_order"])
            for seed in (1, 2):
                self.assertEqual(self.outputs_of(name, seed), self.outputs_of(small, seed))
            self.assertNotEqual(self.outputs_of(name, 1), self.outputs_of(name, 2))
            # The plan is checked and run against the model as it was given.
            self.expect(DONE, "check", name, "plan.json")
            run = self.report_of("run", name, "--plan", "plan.json", "--compare")
            self.assertIs(run["equal"], True)
            self.expect(FAILED, "check", small, "plan.json")

    def test_accumulators_reach_what_the_paper_counts(self):
        """Float: four bytes an element are the accounting of the paper with one."""
        self.network("swiftnet-cell-a.onnx")
        report = self.report_of("plan", "swiftnet-cell-a.onnx", "--runtime", "neap", "--rewrite",
                                "reassociate", "--rules", "concat,kernel-wise,channel-wise", "--plan",
                                "plan.json")
        self.assertEqual(report["plan"]["peak_bytes"], 4 * 188_160)
        self.assertEqual(report["plan"]["arena_bytes"], 4 * 188_160)
        self.assertEqual(report["rewriting"]["peak_lower_bound_bytes"], 4 * 188_160)
        self.expect(DONE, "check", "swiftnet-cell-a.onnx", "plan.json")
        run = self.report_of("run", "swiftnet-cell-a.onnx", "--plan", "plan.json", "--compare",
                             "--tolerance", "1e-5")
        self.assertEqual(run["violations"], [])
        self.assertIs(run["comparison"]["rewrites_exact"], False)
        self.assertLess(run["comparison"]["outputs"][0]["relative_difference"], 1e-5)

    def test_exact_accumulators_keep_every_byte(self):
        self.network("swiftnet-cell-a.tflite", "--int8")
        plans = {}
        for size in (4, 1):
            exactness = "bitwise" if size == 4 else "reassociate"
            report = self.report_of("plan", "swiftnet-cell-a.tflite", "--runtime", "neap", "--rewrite",
                                    exactness, "--accumulator-bytes", size, "--plan", f"{size}.json")
            plans[size] = report["plan"]["arena_bytes"]
            self.expect(DONE, "check", "swiftnet-cell-a.tflite", f"{size}.json")
        run = self.report_of("run", "swiftnet-cell-a.tflite", "--plan", "4.json", "--compare")
        self.assertIs(run["equal"], True)
        self.assertIs(run["comparison"]["rewrites_exact"], True)
        self.assertEqual(run["violations"], [])
        self.assertLessEqual(plans[1], 188_160)
        self.assertGreater(plans[4], plans[1])

    def test_what_does_not_go_together(self):
        """Requested rules are not left out silently."""
        self.zoo("net.onnx")
        (self.folder / "s.csv").write_text("0,4\n")
        for asked in (["--rewrite", "reassociate"], ["--rules", "sum"], ["--rewrite-work", "5"]):
            self.expect(USAGE, "plan", "net.onnx", *asked, "--scratch", "s.csv")
            if asked[0] != "--rewrite":
                self.expect(USAGE, "plan", "net.onnx", "--rewrite", "none", *asked)
                self.expect(USAGE, "batch", "m.jsonl", *asked)
        self.expect(DONE, "plan", "net.onnx", "--order", "kahn", "--rewrite", "none")
        for words in (["--rules", "sum"], ["--rewrite-work", "5"]):
            self.expect(USAGE, "plan", "net.onnx", "--rewrite", "serenity", *words)
        for words in (["--soft-budget", "1KiB"],
                      ["--order", "serenity-dc", "--soft-budget", "1KiB"],
                      ["--order", "serenity", "--soft-budget", "0"],
                      ["--order", "serenity", "--soft-budget", "1KiB", "--step-states", "9"]):
            self.expect(USAGE, "plan", "net.onnx", *words)

    def test_the_whole_workflow_of_serenity_is_one_command(self):
        """Rewriting, dynamic programming, divide and conquer, adaptive soft budget."""
        self.network("swiftnet-cell-a.tflite", "--int8")
        words = ("plan", "swiftnet-cell-a.tflite", "--runtime", "neap", "--order", "serenity", "--plan",
                 "plan.json", "--force")
        plain = self.report_of(*words)
        self.assertIsNone(plain["rewriting"])
        report = self.report_of(*words, "--rewrite", "serenity")
        self.assertEqual(report["plan"]["peak_bytes"], 188_160)
        self.assertEqual(report["plan"]["order_status"], "optimal")
        self.assertLess(report["plan"]["peak_bytes"], plain["plan"]["peak_bytes"])
        self.assertEqual(json.loads((self.folder / "plan.json").read_text())["order_strategy"],
                         "serenity")
        self.assertIn("reassociates", {rewrite["exactness"] for rewrite in report["rewrites"]})
        self.expect(DONE, "check", "swiftnet-cell-a.tflite", "plan.json")
        # Four bytes an element are exact, and gain nothing in this cell: it stays as it is.
        exact = self.report_of(*words, "--rewrite", "serenity", "--accumulator-bytes", "4")
        self.assertLessEqual(exact["plan"]["peak_bytes"], plain["plan"]["peak_bytes"])
        self.assertNotIn("reassociates", {rewrite["exactness"] for rewrite in exact["rewrites"]})

    def test_one_soft_budget_proves_or_refutes(self):
        self.network("swiftnet-cell-a.tflite", "--int8")
        words = ("plan", "swiftnet-cell-a.tflite", "--runtime", "ideal", "--rewrite", "none",
                 "--order-only", "--order")
        optimum = self.report_of(*words, "exact")["plan"]["peak_bytes"]
        whole = self.report_of(*words, "serenity-dc")["plan"]
        within = self.report_of(*words, "serenity", "--soft-budget", optimum)["plan"]
        self.assertEqual((within["peak_bytes"], within["order_status"]), (optimum, "optimal"))
        self.assertLess(within["states"], whole["states"])
        below = self.report_of(*words, "serenity", "--soft-budget", optimum - 1)["plan"]
        self.assertEqual(below["peak_lower_bound_bytes"], optimum)
        self.assertLess(below["states"], within["states"])

    def test_no_file_holds_accumulators(self):
        self.network("swiftnet-cell-a.tflite", "--int8")
        self.expect(USAGE, "plan", "swiftnet-cell-a.tflite", "--accumulator-bytes", "1")
        self.expect(USAGE, "plan", "swiftnet-cell-a.tflite", "--runtime", "neap", "-o", "out.tflite",
                    "--accumulator-bytes", "4")
        report = self.report_of("plan", "swiftnet-cell-a.tflite", "--runtime", "neap", "-o",
                                "out.tflite", "--rewrite", "reassociate")
        self.assertEqual(report["rewriting"]["accumulator_bytes"] if report["rewriting"] else 0, 0)
        self.assertEqual(self.outputs_of("swiftnet-cell-a.tflite", 3), self.outputs_of("out.tflite", 3))

    def test_rules_are_switched(self):
        self.network("swiftnet.onnx")
        for rules, expected in (("no-op", ["no-op"]), ("-no-op", []), ("concat", [])):
            report = self.report_of("plan", "swiftnet.onnx", "--runtime", "ideal", "--rules", rules)
            self.assertEqual([r["rule"] for r in report["rewrites"]], expected)
        result = self.expect(USAGE, "plan", "swiftnet.onnx", "--rules", "nonsense")
        self.assertIn(b"channel-wise", result.stderr)
        self.expect(USAGE, "plan", "swiftnet.onnx", "--rules", "no-op,-concat")
        self.expect(USAGE, "plan", "swiftnet.onnx", "--rewrite", "fully")

    def test_a_plan_whose_rewrites_do_not_fit_is_refused(self):
        self.network("swiftnet.onnx")
        self.expect(DONE, "plan", "swiftnet.onnx", "--runtime", "ideal", "--plan", "plan.json")
        plan = json.loads((self.folder / "plan.json").read_text())
        for change in ({"op": 1}, {"rule": "concat"}, {"rule": "other"}, {"parameters": [1]}):
            bad = json.loads(json.dumps(plan))
            bad["rewrites"][0].update(change)
            self.write_json("bad.json", bad)
            self.expect(FAILED, "check", "swiftnet.onnx", "bad.json")
        bad = json.loads(json.dumps(plan))
        bad["rewritten_sha256"] = "0" * 64
        self.write_json("bad.json", bad)
        self.expect(FAILED, "check", "swiftnet.onnx", "bad.json")

    def test_the_published_swiftnet(self):
        if not SWIFTNET.is_file():
            self.skipTest("the shared models are not here")
        report = self.report_of("plan", SWIFTNET, "--runtime", "ideal", "-o", "small.tflite")
        self.assertEqual(report["plan"]["arena_bytes"], 275_968)
        self.assertEqual(report["rewriting"]["peak_lower_bound_bytes"], 275_968)
        for seed in (1, 2, 3):
            self.assertEqual(self.outputs_of(SWIFTNET, seed), self.outputs_of("small.tflite", seed))
        report = self.report_of("plan", SWIFTNET, "--runtime", "neap", "--rewrite", "reassociate",
                                "--accumulator-bytes", "1", "--plan", "plan.json")
        self.assertEqual(report["plan"]["peak_bytes"], 200_704)
        self.assertEqual(report["plan"]["arena_bytes"], 200_704)
        self.assertEqual(report["rewriting"]["peak_lower_bound_bytes"], 200_704)
        self.expect(DONE, "check", SWIFTNET, "plan.json")


if __name__ == "__main__":
    unittest.main()
