# SPDX-License-Identifier: Apache-2.0
"""Files that the command line names: no output overwrites another file that the command reads or writes."""

import gzip
import json
import xml.etree.ElementTree

from neap_cli import DIAMOND, DIAMOND_BEST_PEAK, DONE, FAILED, USAGE, CliTest


def without_times(report):
    """A report as a value that two runs have in common."""
    if isinstance(report, list):
        return [without_times(item) for item in report]
    if not isinstance(report, dict):
        return report
    return {key: without_times(value) for key, value in report.items() if key != "seconds"}


class Files(CliTest):

    def setUp(self):
        super().setUp()
        self.write_json("g.json", DIAMOND)
        self.model = (self.folder / "g.json").read_bytes()

    def refused(self, *words):
        result = self.expect(USAGE, *words, "--force")
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertEqual((self.folder / "g.json").read_bytes(), self.model)

    def test_pictures_never_replace_the_model(self):
        (self.folder / "link.json").symlink_to("g.json")
        for path in ("g.json", "./g.json", self.folder / "g.json", "link.json"):
            for option in ("--html", "--svg", "--trace", "--timeline", "--dot", "--model-explorer"):
                self.refused("inspect", "g.json", option, path)
            for option in ("--html", "--svg", "--plan", "--emit-c"):
                self.refused("plan", "g.json", option, path)
        (self.folder / "s.csv").write_text("0,4\n")
        self.refused("plan", "g.json", "--scratch", "s.csv", "--plan", "s.csv")
        self.assertEqual((self.folder / "s.csv").read_text(), "0,4\n")

    def test_compressed_graphs_are_the_same_graphs(self):
        (self.folder / "g.json.gz").write_bytes(gzip.compress(self.model))
        for verb in ("plan", "inspect", "traffic"):
            extra = ("--on-chip", "1KiB") if verb == "traffic" else ()
            reports = []
            for name in ("g.json", "g.json.gz"):
                report = json.loads(self.expect(DONE, verb, name, "--json", *extra).stdout)
                self.assertEqual(report.pop("model"), name)
                reports.append(without_times(report))
            self.assertEqual(*reports)
        self.expect(DONE, "plan", "g.json", "--plan", "plan.json", "--quiet")
        self.expect(DONE, "check", "g.json.gz", "plan.json")
        piped = self.expect(DONE, "plan", "-", "--json", stdin=gzip.compress(self.model))
        self.assertEqual(json.loads(piped.stdout)["operators"], len(DIAMOND["ops"]))
        # A megabyte of a gigabyte of text: refused without the memory for it.
        (self.folder / "bomb.json.gz").write_bytes(gzip.compress(b" " * 300_000_000))
        self.assertIn(b"expands to more than", self.expect(FAILED, "plan", "bomb.json.gz").stderr)

    def test_compressed_models_are_the_same_models(self):
        for format_ in ("tflite", "onnx"):
            model = f"m.{format_}"
            self.expect(DONE, "zoo", "swiftnet-cell-a", "-o", model, "--quiet")
            (self.folder / (model + ".gz")).write_bytes(gzip.compress((self.folder / model).read_bytes()))
            for name, out in ((model, "a"), (model + ".gz", "b")):
                self.expect(DONE, "plan", name, "-o", f"{out}.{format_}", "--quiet")
            self.assertEqual(*((self.folder / f"{out}.{format_}").read_bytes() for out in "ab"))

    def test_drawings_are_an_svg_file(self):
        for verb in ("plan", "inspect"):
            self.expect(DONE, verb, "g.json", "--svg", f"{verb}.svg")
            root = xml.etree.ElementTree.parse(self.folder / f"{verb}.svg").getroot()
            self.assertEqual(root.tag, "{http://www.w3.org/2000/svg}svg")
            texts = ["".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text")]
            for text in ("g.json", "File order", "Plan", f"peak {DIAMOND_BEST_PEAK} B"):
                self.assertIn(text, texts)
        self.assertEqual(*((self.folder / f"{verb}.svg").read_bytes() for verb in ("plan", "inspect")))

    def test_two_outputs_are_two_files(self):
        self.refused("plan", "g.json", "--plan", "x", "--html", "./x")
        self.refused("plan", "g.json", "--plan", "x", "--emit-c", self.folder / "x")
        (self.folder / "tables").mkdir()
        self.refused("plan", "g.json", "--csv", "tables", "--plan", "tables/steps.csv")
        self.refused("inspect", "g.json", "--csv", "tables", "--dot", "tables/tensors.csv")
        self.refused("bench", "order", "--json", "x", "--html", "x")
        self.refused("bench", "order", "--expect", "x", "--store", "x")
        self.assertEqual(self.files(), ["g.json", "tables"])
        self.assertEqual(list((self.folder / "tables").iterdir()), [])
        # Discarded output may be discarded twice.
        self.expect(DONE, "plan", "g.json", "--plan", "/dev/null", "--html", "/dev/null", "--force")

    def test_a_folder_is_one(self):
        for words in (("plan",), ("inspect",)):
            result = self.expect(FAILED, *words, "g.json", "--csv", "g.json", "--force")
            self.assertIn(b"expected a folder", result.stderr)
            self.expect(USAGE, *words, "g.json", "--csv", "-")
        self.expect(USAGE, "pipeline", "g.json", "--stages", "2", "-o", "-")
        self.assertEqual(self.files(), ["g.json"])

    def test_runs_keep_what_they_read(self):
        self.zoo("net.onnx")
        self.expect(DONE, "plan", "net.onnx", "--plan", "plan.json", "--quiet")
        self.expect(DONE, "run", "net.onnx", "--save-inputs", "in.npz", "--quiet")
        before = {name: (self.folder / name).read_bytes() for name in self.files()}
        for option in ("--outputs", "--trace", "--save-inputs"):
            for path in ("net.onnx", "plan.json", "in.npz"):
                self.expect(USAGE, "run", "net.onnx", "--plan", "plan.json", "--inputs", "in.npz",
                            option, f"./{path}", "--force")
        self.expect(USAGE, "run", "net.onnx", "--outputs", "x.npz", "--save-inputs", "x.npz")
        self.assertEqual({name: (self.folder / name).read_bytes() for name in self.files()}, before)

    def test_one_output_of_a_run_is_standard_output(self):
        self.zoo("net.onnx")
        self.expect(DONE, "run", "net.onnx", "--outputs", "out.npz", "--quiet")
        result = self.expect(DONE, "run", "net.onnx", "--outputs", "-")
        self.assertEqual(result.stdout, (self.folder / "out.npz").read_bytes())
        self.assertIn(b"sha256", result.stderr)
        self.expect(USAGE, "run", "net.onnx", "--outputs", "-", "--json")
        self.expect(USAGE, "run", "net.onnx", "--outputs", "-", "--save-inputs", "-")

    def test_plans_of_a_front_are_not_overwritten(self):
        self.expect(DONE, "zoo", "ds-cnn", "--int8", "-o", "net.tflite", "--quiet")
        (self.folder / "plans").mkdir()
        (self.folder / "plans/0.json").write_text("precious")
        words = ("pareto", "net.tflite", "--runtime", "neap", "--plans", "plans")
        self.assertIn(b"plans/0.json: exists already", self.expect(FAILED, *words).stderr)
        self.assertEqual([path.name for path in (self.folder / "plans").iterdir()], ["0.json"])
        self.assertEqual((self.folder / "plans/0.json").read_text(), "precious")
        points = json.loads(self.expect(DONE, *words, "--force", "--json").stdout)["points"]
        self.assertEqual(len(list((self.folder / "plans").iterdir())), len(points))

    def test_errors_of_a_run_name_the_model(self):
        self.assertIn(b"g.json: operator #0", self.expect(FAILED, "run", "g.json").stderr)
