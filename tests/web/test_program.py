# SPDX-License-Identifier: Apache-2.0
"""The program of the page beside the native one, without a browser: figures, messages and bytes."""

import gzip
import os
import pathlib
import subprocess
import tempfile
import unittest

import compare

ROOT = pathlib.Path(__file__).resolve().parents[2]
NEAP = str(pathlib.Path(os.environ.get("NEAP", ROOT / "build/release/tools/neap")).resolve())
BUILD = pathlib.Path(os.environ.get("NEAP_WEB_BUILD", ROOT / "build/web"))
MODELS = pathlib.Path(os.environ.get("NEAP_SHARED", ROOT.parent / "shared")) / "models"
LONG = os.environ.get("NEAP_LONG", "0") == "1"
MAX_BYTES = 5_000_000


class ProgramTest(unittest.TestCase):

    def setUp(self):
        self.pair = compare.Pair(NEAP, BUILD)

    def same(self, model, *arguments):
        differences, *_ = self.pair.compare(model, list(arguments))
        self.assertEqual(differences, "", f"{model} {' '.join(arguments)}")

    def test_public_models(self):
        """20 of them; with NEAP_LONG=1 all below 5 MB."""
        if not MODELS.is_dir():
            self.skipTest("no public models")
        models = compare.models_below(MODELS, MAX_BYTES)
        for model in models if LONG else compare.sample(models, 20):
            with self.subTest(model=model.name):
                self.same(model, "plan", model.name, *compare.outputs(model), "--json")

    def test_public_onnx_models(self):
        """8 of them; with NEAP_LONG=1 all below 5 MB."""
        if not MODELS.is_dir():
            self.skipTest("no public models")
        models = compare.models_below(MODELS, MAX_BYTES, ".onnx")
        for model in models if LONG else compare.sample(models, 8):
            with self.subTest(model=model.name):
                self.same(model, "plan", model.name, *compare.outputs(model), "--json")

    def test_compressed_models(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for made in ("m.tflite", "m.onnx"):
                subprocess.run([NEAP, "zoo", "swiftnet-cell-a", "-o", str(folder / made), "--quiet"], check=True)
            (folder / "g.json").write_text('{"tensors": [{"name": "a", "bytes": 64}, {"name": "b", "bytes": 8}],'
                                           '"inputs": ["a"], "outputs": ["b"],'
                                           '"ops": [{"name": "n", "inputs": ["a"], "outputs": ["b"]}]}')
            for plain in ("m.tflite", "m.onnx", "g.json"):
                packed = folder / (plain + ".gz")
                packed.write_bytes(gzip.compress((folder / plain).read_bytes()))
                writes = [] if plain == "g.json" else ["-o", "p" + pathlib.Path(plain).suffix]
                with self.subTest(model=plain):
                    self.same(packed, "plan", packed.name, *writes, "--plan", "plan.json", "--json")

    def test_verbs(self):
        """Every verb of the page, on networks of the zoo that it makes itself."""
        with tempfile.TemporaryDirectory() as folder:
            made = {}
            for name, options in (("ds-cnn", ["--int8"]), ("swiftnet-cell-a", ["--format", "tflite"])):
                model = pathlib.Path(folder, name + ".tflite")
                subprocess.run([NEAP, "zoo", name, *options, "-o", str(model), "--quiet"], check=True)
                done = subprocess.run(["node", str(compare.HERE / "run_program.js"), str(BUILD / "web"),
                                       folder + "/made", "", "--", "zoo", name, *options, "-o", name + ".tflite"],
                                      capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(pathlib.Path(folder, "made", name + ".tflite").read_bytes(), model.read_bytes())
                made[name] = model
            for verb in (["explain", "--json"], ["boards", "--json"], ["pareto", "--json"], ["inspect", "--json"],
                         ["emit", "-o", "code"], ["plan", "-o", "p.tflite", "--overlap", "tflm-reference", "--json"],
                         ["plan", "--runtime", "neap", "--stream", "auto", "--plan", "p.json", "--json"],
                         ["plan", "--effort", "quick", "--budget", "9KiB", "-o", "p.tflite", "--json"],
                         ["plan", "--order", "typo"], ["plan", "--time-limit", "x"], ["plan", "--time-limit", "0.5s"]):
                with self.subTest(verb=verb):
                    model = made["ds-cnn"]
                    self.same(model, verb[0], model.name, *verb[1:])

    def test_what_this_build_lacks(self):
        model = pathlib.Path(tempfile.mkdtemp(), "graph.json.gz")
        model.write_bytes(b"\x1f\x8b\x08\x00")
        for arguments, message in (
                (["plan", model.name], "is compressed with gzip, and truncated, malformed or too large for this page"),
                (["batch", model.name], "this build has no verb 'batch'")):
            done = subprocess.run(["node", str(compare.HERE / "run_program.js"), str(BUILD / "web"),
                                   str(model.parent / "out"), str(model), "--", *arguments], capture_output=True, text=True)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(message, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 2, done.stderr)  # the seconds come last


if __name__ == "__main__":
    unittest.main()
