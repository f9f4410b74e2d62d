# SPDX-License-Identifier: Apache-2.0
"""Runtime profiles (--runtime) of every verb that has them."""

import json
import shutil
import subprocess
import unittest

from neap_cli import DIAMOND, DONE, SOURCE, USAGE, CliTest

# branches.tflite.json: in 256, wide1 and wide2 1024, thin1, thin2 and out 16 bytes.
WIDE, IN, THIN = 1024, 256, 64  # rounded up to 64


class Runtimes(CliTest):

    def branches(self):
        flatc = shutil.which("flatc")
        if flatc is None:
            raise unittest.SkipTest("flatc is not installed")
        subprocess.run([flatc, "--binary", "-o", self.folder, SOURCE / "schemas/tflite.fbs",
                        SOURCE / "tests/models/branches.tflite.json"],
                       check=True, stdout=subprocess.DEVNULL)
        (made,) = self.folder.iterdir()
        return made.rename(self.folder / "m.tflite")

    def test_litert(self):
        model = self.branches()
        report = self.report_of("plan", model.name, "--runtime", "litert", "--plan", "plan.json",
                                "-o", "out.tflite")
        self.assertEqual(report["runtime"], "litert")
        # The input lives to the end; both branches at once, or one and the result of the other.
        self.assertEqual(report["file_order"], {"peak_bytes": IN + 2 * WIDE + THIN,
                                                "arena_bytes": IN + 2 * WIDE + THIN})
        self.assertEqual(report["plan"]["peak_bytes"], IN + WIDE + 2 * THIN)
        self.assertEqual(report["delivered"]["arena_bytes"], IN + WIDE + 2 * THIN)
        self.assertIn(b"LiteRT allocates this arena for again.tflite",
                      self.expect(DONE, "plan", model.name, "--runtime", "litert", "-o",
                                  "again.tflite").stdout)
        self.expect(DONE, "check", model.name, "plan.json", "--replay")
        inspected = self.report_of("inspect", model.name, "--runtime", "litert")
        self.assertEqual(inspected["peak_bytes"], IN + 2 * WIDE + THIN)
        (self.folder / "in.jsonl").write_text(json.dumps({"path": model.name}) + "\n")
        answer = json.loads(self.expect(DONE, "batch", "in.jsonl", "--runtime", "litert").stdout)
        self.assertEqual(answer["delivered_arena_bytes"], IN + WIDE + 2 * THIN)

    def test_onnxruntime(self):
        self.write_json("g.json", DIAMOND)
        report = self.report_of("plan", "g.json", "--runtime", "onnxruntime", "--plan", "plan.json")
        ideal = self.report_of("plan", "g.json", "--runtime", "ideal-inplace")
        self.assertEqual(report["plan"], ideal["plan"])
        self.assertIsNone(report["delivered"])
        self.assertIn("ONNX Runtime runs .onnx only", report["notes"][0])
        text = self.expect(DONE, "plan", "g.json", "--runtime", "onnxruntime").stdout
        self.assertNotIn(b"allocates", text)
        self.expect(DONE, "check", "g.json", "plan.json")

    def test_overlaps_belong_to_other_kernels(self):
        self.write_json("g.json", DIAMOND)
        for runtime in ("litert", "onnxruntime"):
            result = self.expect(USAGE, "plan", "g.json", "--runtime", runtime, "--overlap",
                                 "tflm-reference")
            self.assertIn(b"other kernels", result.stderr)
            self.expect(USAGE, "plan", "g.json", "--runtime", runtime + "x")


if __name__ == "__main__":
    unittest.main()
