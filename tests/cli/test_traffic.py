# SPDX-License-Identifier: Apache-2.0
"""neap traffic: bytes between a small memory and external memory."""

import json

from neap_cli import DIAMOND, DIAMOND_BEST_PEAK, DIAMOND_FILE_PEAK, DONE, FAILED, SOURCE, USAGE, CliTest


class Traffic(CliTest):

    def rows(self, report, policy, granularity="tensor"):
        return {row["bytes"]: row for row in report["on_chip"]
                if (row["policy"], row["granularity"]) == (policy, granularity)}

    def test_nothing_moves_from_the_peak_on(self):
        self.write_json("g.json", DIAMOND)
        sizes = f"{DIAMOND_BEST_PEAK - 1},{DIAMOND_BEST_PEAK},{DIAMOND_FILE_PEAK}"
        report = self.report_of("traffic", "g.json", "--on-chip", sizes, "--block", "1")
        schema = json.loads((SOURCE / "schemas/traffic.schema.json").read_text())
        self.assertEqual(set(schema["required"]) - set(report), set())
        self.assertEqual(report["without_traffic_bytes"], DIAMOND_BEST_PEAK)
        self.assertEqual(report["file_order"]["without_traffic_bytes"], DIAMOND_FILE_PEAK)
        planned = self.rows(report, "optimum")
        self.assertGreater(planned[DIAMOND_BEST_PEAK - 1]["total_bytes"], 0)
        self.assertEqual(planned[DIAMOND_BEST_PEAK]["total_bytes"], 0)
        file = self.rows(report["file_order"], "optimum")
        self.assertGreater(file[DIAMOND_BEST_PEAK]["total_bytes"], 0)
        self.assertEqual(file[DIAMOND_FILE_PEAK]["total_bytes"], 0)
        self.assertTrue(all(row["status"] == "optimal" for row in planned.values()))

    def test_plans_of_another_model_than_the_file(self):
        """A plan is about the rewritten model, or the one in tiles; the file order about the file."""
        self.expect(DONE, "zoo", "mobilenet-v1-vww", "--int8", "-o", "m.tflite", "--quiet")
        plain = self.report_of("traffic", "m.tflite")
        for words in ([], ["--cascade", "auto"]):
            planned = self.report_of("plan", "m.tflite", "--plan", "plan.json", "--force", *words)
            self.assertTrue(planned["cascade"] if words else planned["rewriting"])
            report = self.report_of("traffic", "m.tflite", "--plan", "plan.json")
            self.assertEqual(report["without_traffic_bytes"], planned["plan"]["peak_bytes"])
            self.assertEqual(report["file_order"], plain["file_order"])
        self.expect(DONE, "plan", "m.tflite", "--runtime", "neap", "--stream", "auto", "--plan",
                    "plan.json", "--force")
        result = self.expect(FAILED, "traffic", "m.tflite", "--plan", "plan.json")
        self.assertIn(b"streamed", result.stderr)

    def test_rules_are_no_better_than_the_optimum(self):
        self.zoo("m.onnx")
        report = self.report_of("traffic", "m.onnx", "--on-chip", "1KiB,4KiB,16KiB")
        for order in (report, report["file_order"]):
            best = self.rows(order, "optimum")
            for policy in ("furthest-next-use", "lru"):
                for size, row in self.rows(order, policy).items():
                    self.assertGreaterEqual(row["total_bytes"], best[size]["total_bytes"])
            for size, row in self.rows(order, "lru", "block").items():
                self.assertGreaterEqual(row["misses"],
                                        self.rows(order, "belady", "block")[size]["misses"])

    def test_ends_off_chip_move_inputs_and_outputs(self):
        self.write_json("g.json", DIAMOND)
        report = self.report_of("traffic", "g.json", "--on-chip", "1KiB", "--ends", "off-chip")
        self.assertEqual(report["compulsory_bytes"], 25)  # 20 in, 5 out
        self.assertEqual(self.rows(report, "optimum")[1024]["total_bytes"], 25)

    def test_a_plan_gives_the_order(self):
        path = self.zoo("m.onnx")
        self.expect(DONE, "plan", "m.onnx", "--plan", "plan.json")
        given = self.report_of("traffic", "m.onnx", "--plan", "plan.json", "--on-chip", "4KiB")
        found = self.report_of("traffic", "m.onnx", "--on-chip", "4KiB")
        self.assertEqual(given["on_chip"], found["on_chip"])
        self.assertEqual(given["plan"], "plan.json")
        self.expect(DONE, "plan", "m.onnx", "--order", "file", "--plan", "file.json")
        of_file = self.report_of("traffic", "m.onnx", "--plan", "file.json", "--on-chip", "4KiB")
        self.assertEqual(of_file["on_chip"], found["file_order"]["on_chip"])
        other = self.zoo("other.onnx", seed=2)
        self.assertNotEqual(path.read_bytes(), other.read_bytes())
        self.expect(FAILED, "traffic", "other.onnx", "--plan", "plan.json")

    def test_usage(self):
        self.write_json("g.json", DIAMOND)
        for words in (["--on-chip", "12 apples"], ["--block", "0"], ["--ends", "nowhere"],
                      ["--max-states", "0"]):
            self.expect(USAGE, "traffic", "g.json", *words)
