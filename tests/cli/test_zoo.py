# SPDX-License-Identifier: Apache-2.0
"""neap zoo: lists, written networks, refusals."""

import hashlib
import unittest

from neap_cli import DONE, USAGE, CliTest

# Of files that have to be the same on every machine and with every compiler.
HASHES = {
    ("resnet8", "resnet8.onnx"): "694348076ab0c7df",
    ("resnet8", "resnet8.tflite"): "d4b34d34369caa45",
    ("resnet8", "resnet8.tflite", "--int8"): "585251d70f090156",
    ("ds-cnn", "ds-cnn.tflite", "--int8", "--seed", "3"): "2373a4179d079847",
    ("swiftnet", "swiftnet.tflite", "--int8"): "c9a75a1c3585d45e",
    ("darts-imagenet-cell", "cell.tflite", "--int8"): "b668ec1c6c79a605",
    ("mobilenet-v1", "v1.tflite", "--int8"): "1b88fa67a58b65e4",
    ("mobilenet-v2", "v2.tflite", "--int8"): "547a3927f4e6494f",
    ("mobilenet-v2", "small.tflite", "--int8", "--width-multiplier", "0.35", "--resolution", "96"): "4608e7c40c30d4bc",
}


class ZooTest(CliTest):
    def listed(self):
        """Rows of --list by name."""
        lines = self.expect(DONE, "zoo", "--list").stdout.decode().splitlines()
        return {line.split()[0]: line for line in lines[1:] if not line.startswith(" ")}

    def test_list_says_what_the_files_have(self):
        rows = self.listed()
        for name in ("ds-cnn", "resnet8", "randwire-ws-cifar10", "darts-imagenet-cell"):
            self.expect(DONE, "zoo", name, "-o", f"{name}.onnx")
            report = self.report_of("inspect", f"{name}.onnx", "--runtime", "ideal")
            operators, peak = (int(rows[name].split()[i].replace(",", "")) for i in (1, 4))
            self.assertEqual((report["operators"], report["peak_bytes"]), (operators, peak))

    def test_list_says_the_formats(self):
        rows = self.listed()
        self.assertGreaterEqual(sum("onnx tflite int8" in row for row in rows.values()), 50)
        self.assertNotIn("tflite", rows["transformer-encoder"])
        self.assertNotIn("tflite", rows["vit-tiny"])

    def test_format_follows_extension_and_option(self):
        self.expect(DONE, "zoo", "ds-cnn", "-o", "m.tflite")
        by_name = (self.folder / "m.tflite").read_bytes()
        self.assertEqual(by_name[4:8], b"TFL3")
        by_option = self.expect(DONE, "zoo", "ds-cnn", "--format", "tflite", "-o", "-").stdout
        self.assertEqual(by_option, by_name)
        self.expect(DONE, "zoo", "ds-cnn", "--format", "onnx", "-o", "odd.tflite")
        self.assertNotEqual((self.folder / "odd.tflite").read_bytes()[4:8], b"TFL3")
        self.expect(DONE, "zoo", "ds-cnn", "-o", "plain")
        self.assertEqual((self.folder / "plain").read_bytes(), (self.folder / "odd.tflite").read_bytes())

    def test_refuses(self):
        for words, why in (
            (["ds-cnn", "--int8", "-o", "m.onnx"], "--int8 requires .tflite"),
            (["ds-cnn", "--int8", "-o", "-"], "--int8 requires .tflite"),
            (["ds-cnn", "--format", "h5", "-o", "m.h5"], "h5"),
            (["vit-tiny", "-o", "m.tflite"], "'Reshape' (patches/flat)"),
            (["transformer-encoder", "-o", "m.tflite"], "'MatMul' (layer0/attention/query/matmul)"),
            (["ds-cnn", "--resolution", "64", "-o", "m.onnx"], "no width multiplier"),
            (["mobilenet-v2", "--resolution", "8", "-o", "m.onnx"], "from 32 to 2048"),
            (["mobilenet-v2", "--width-multiplier", "0", "-o", "m.onnx"], "is 0, expected a positive number"),
            (["mobilenet-v2", "--width-multiplier", "0.3333", "-o", "m.onnx"], "three decimals"),
            (["mobilenet-v2", "--width-multiplier", "1e1", "-o", "m.onnx"], "three decimals"),
            (["mobilenet-v2", "--width-multiplier", "1.", "-o", "m.onnx"], "three decimals"),
            (["mobilenet-v2", "--width-multiplier", "40", "-o", "m.onnx"], "from 10 to 10000"),
        ):
            errors = self.expect(USAGE, "zoo", *words).stderr.decode()
            self.assertIn(why, errors)
        self.assertEqual(self.files(), [])

    def test_width_multiplier_and_resolution(self):
        self.expect(DONE, "zoo", "mobilenet-v1", "--width-multiplier", "0.25", "-o", "a.onnx")
        self.expect(DONE, "zoo", "mobilenet-v1-0.25", "-o", "b.onnx")
        a, b = (self.report_of("inspect", name, "--runtime", "ideal") for name in ("a.onnx", "b.onnx"))
        for key in ("operators", "tensors", "peak_bytes", "constant_bytes", "largest_tensors"):
            self.assertEqual(a[key], b[key])
        text = self.expect(DONE, "zoo", "mobilenet-v1", "--resolution", "96", "--width-multiplier", "0.25",
                           "--int8", "-o", "c.tflite").stdout.decode()
        self.assertIn("31 operators", text)

    def test_planned_int8_networks(self):
        for name in ("swiftnet", "darts-imagenet-cell"):
            self.expect(DONE, "zoo", name, "--int8", "-o", f"{name}.tflite")
            report = self.report_of("plan", f"{name}.tflite", "-o", "out.tflite", "--force")
            self.assertLessEqual(report["delivered"]["arena_bytes"], report["file_order"]["arena_bytes"])

    def test_files_are_the_same_everywhere(self):
        self.maxDiff = None
        found = {}
        for words in HASHES:
            name, out, *options = words
            self.expect(DONE, "zoo", name, *options, "-o", out, "--force")
            found[words] = hashlib.sha256((self.folder / out).read_bytes()).hexdigest()[:16]
        self.assertEqual(found, HASHES)


if __name__ == "__main__":
    unittest.main()
