# SPDX-License-Identifier: Apache-2.0
"""Texts for people: widths, headings, notes and next steps."""

import json
import re

from neap_cli import DONE, FAILED, OVER_BUDGET, CliTest, symbolic_onnx

COLUMNS = 100
VERBS = ("plan", "inspect", "explain", "boards", "check-budget", "check", "emit", "zoo", "batch", "run", "place", "pipeline",
         "traffic", "pareto", "bench")


class Texts(CliTest):

    def text(self, *words):
        return self.expect(DONE, *words).stdout.decode()

    def vww(self):
        self.expect(DONE, "zoo", "mobilenet-v1-vww", "--int8", "-o", "vww.tflite")
        return "vww.tflite"

    def test_no_line_is_wider_than_100_columns(self):
        model = self.vww()
        wide = "keyword_spotting_of_a_product_with_a_name.tflite"
        (self.folder / wide).write_bytes((self.folder / model).read_bytes())
        # As C code it fits on nine more boards.
        self.expect(DONE, "zoo", "mobilenet-v1-0.25", "--int8", "-o", "code.tflite")
        self.expect(DONE, "zoo", "ds-cnn", "--int8", "-o", "words.tflite")
        words = ["check-budget", "words.tflite", "--board", "arduino-zero"]
        lines = self.expect(OVER_BUDGET, *words).stdout.decode().splitlines()
        self.assertEqual([line for line in lines if len(line) > COLUMNS], [])
        self.assertTrue(any(line.startswith("  arena-over-budget: ") for line in lines))
        for words in (["zoo", "--list"], ["boards"], ["boards", "code.tflite", "--cascade", "off"], ["traffic", wide, "--on-chip", "64KiB"], ["boards", model, "--cascade", "off"],
                      ["emit", model, "-o", "network"], ["plan", model, "--board", "nano-33-ble"], ["inspect", model],
                      ["pareto", wide, "--max-region-operators", "4"], ["pipeline", model, "--stages", "3"],
                      ["units", model, "--units", "2"], ["traffic", model, "--on-chip", "64KiB"],
                      ["plan", model, "--plan", "p.json"], ["check", model, "p.json"], ["run", model, "--plan", "p.json", "--compare"],
                      ["check-budget", model, "--board", "nano-33-ble"]):
            lines = self.text(*words).splitlines()
            self.assertEqual([line for line in lines if len(line) > COLUMNS], [], words)
            self.assertGreater(len(lines), 2, words)

    def test_help_has_the_words_of_this_program_alone(self):
        for verb in VERBS:
            text = self.text(verb, "--help")
            if "--help-all" in text:
                text = self.text(verb, "--help-all")
            self.assertNotRegex(text, r"Needs:|Excludes:|TEXT|REQUIRED|:\{", verb)
        self.assertIn("--kernels tflm|litert|onnx", self.text("run", "--help"))

    def test_emit_counts_the_written_files(self):
        lines = self.text("emit", self.vww(), "-o", "network").splitlines()
        files = [path for path in (self.folder / "network").rglob("*") if path.is_file()]
        self.assertEqual(lines[2], f"Wrote {len(files)} files to network:")
        self.assertIn("add", (self.folder / "network/vww.h").read_text().lower().split("_stack_bytes")[0])

    def test_emit_counts_refused_operators_by_type(self):
        self.expect(DONE, "zoo", "resnet8", "-o", "float.onnx")
        errors = self.expect(FAILED, "emit", "float.onnx", "-o", "out").stderr.decode()
        self.assertRegex(errors, r"\d+ of \d+ operators cannot be emitted as C: Conv \(\d+\), .*; the first is #0 ")
        for step in ("convert it to a .tflite of 8 bits", "docs/reference/emitted-c.md", "--json lists"):
            self.assertIn(step, errors)
        self.assertNotIn("...", errors)
        report = json.loads(self.expect(FAILED, "emit", "float.onnx", "-o", "out", "--json").stdout)
        operators = [refusal["operator"] for refusal in report["refused"] if refusal["operator"] is not None]
        self.assertEqual(operators, sorted(operators))
        self.assertIn(f"{len(set(operators))} of ", errors)
        self.assertFalse((self.folder / "out").exists())

    def test_numbers_of_emit_have_separators(self):
        errors = self.expect(OVER_BUDGET, "emit", self.vww(), "-o", "out", "--budget", "8KiB").stderr.decode()
        self.assertRegex(errors, r"arena required \d+,\d+ B \(.* KiB\), available 8,192 B")

    def test_a_model_is_not_a_manifest(self):
        model = self.vww()
        errors = self.expect(FAILED, "batch", model).stderr.decode()
        self.assertIn('vww.tflite: is a model, not a list of models (write a line {"path": "model.tflite"}', errors)
        (self.folder / "one.onnx").write_bytes(symbolic_onnx("batch"))
        self.assertIn(b"is a model", self.expect(FAILED, "batch", "one.onnx").stderr)
        (self.folder / "other.bin").write_bytes(b"\x00\x01\n" * 1000)
        result = self.expect(FAILED, "batch", "other.bin", "-o", "answers.jsonl")
        self.assertIn(b"is binary, expected one JSON object per line", result.stderr)
        self.assertNotIn("answers.jsonl", self.files())
        (self.folder / "models.jsonl").write_text('{"path": "vww.tflite"}\n')
        self.expect(DONE, "batch", "models.jsonl", "--strict")

    def test_the_older_name_of_the_budget_has_a_note(self):
        model = self.vww()
        flat = " ".join(self.text("plan", model, "--budget-total", "1MiB").split())
        self.assertIn("--budget-total is an older name of --budget; the next minor version removes it", flat)
        self.assertNotIn("older name", self.text("plan", model, "--budget", "1MiB"))

    def test_the_header_names_the_kernels_of_its_target(self):
        model = self.vww()
        self.text("plan", model, "--board", "nano-33-ble", "--emit-c", "b64.h")
        header = (self.folder / "b64.h").read_text()
        self.assertNotIn("reference kernels", header)
        self.assertIn("Shim, with the kernels of Cortex-M4, CMSIS-NN:", header)
        self.assertRegex(header, r"B64_ARENA_BYTES \d+ /\* activations alone")
        self.assertRegex(header, r"B64_TENSOR_ARENA_BYTES \d+ /\* tensor_arena\[\], ")

    def test_boards_name_their_columns(self):
        text = self.text("boards", self.vww(), "--cascade", "off")
        self.assertRegex(text, r"\n  board +RAM for arena  answer\n  nano-33-ble +240\.0 KiB  fits: ")
        self.assertIn("RAM for arena: RAM of the board less 16.0 KiB", text)
        self.assertIn("CMSIS-NN", re.split(r"\n\n", text)[0])
