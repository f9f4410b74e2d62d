# SPDX-License-Identifier: Apache-2.0
"""neap explain: every number is that of a plan, every command makes it, and the text is short."""

import json
import os
import pty
import shlex
import subprocess

from neap_cli import (DIAMOND, DIAMOND_BEST_PEAK, DIAMOND_FILE_PEAK, DONE, FAILED, INTERRUPTED, NEAP, SHARED, SOURCE,
                      USAGE, CliTest, wide_graph)

MOST_LINES = 25
MOST_COLUMNS = 100

# Nothing helps: the first operator alone needs its input and its output.
CHAIN = {"tensors": [{"name": "in", "bytes": 20}, {"name": "wide", "bytes": 150}, {"name": "out", "bytes": 5}],
         "inputs": ["in"], "outputs": ["out"],
         "ops": [{"name": "widen", "inputs": ["in"], "outputs": ["wide"]},
                 {"name": "narrow", "inputs": ["wide"], "outputs": ["out"]}]}


def arena_of(plan_report):
    if "prefix" in plan_report:  # of neap emit
        return plan_report["arena_bytes"]
    delivered = plan_report["delivered"]
    return delivered["arena_bytes"] if delivered and delivered["arena_bytes"] else plan_report["plan"]["arena_bytes"]


class Explain(CliTest):

    def test_dead_channels_have_a_row(self):
        model = SHARED / "models/mlcommons+tiny/vww_96_int8.tflite"
        if not model.exists():
            self.skipTest(f"{model} is not there")
        text = self.expect(DONE, "explain", model).stdout.decode()
        self.assertRegex(text, r"\n  dead channels .* 0\.\d{3}x +-\d")
        self.assertIn("same outputs, fewer MACs: ", text)
        self.assertIn("--rewrite bitwise", text)
        report = self.report_of("explain", model)
        row, = (feature for feature in report["features"] if feature["label"] == "dead channels")
        plan = self.report_of("plan", model, "--rewrite", "bitwise", "-o", "small.tflite")
        self.assertEqual(row["total_arena_bytes"], plan["delivered"]["total_arena_bytes"])
        growth = (self.folder / "small.tflite").stat().st_size - model.stat().st_size
        self.assertEqual(row["file_growth_bytes"], growth)
        self.assertLess(row["macs"], 0.6 * row["model_macs"])

    def text_of(self, *words):
        text = self.expect(DONE, "explain", *words).stdout.decode()
        self.assertLessEqual(len(text.splitlines()), MOST_LINES, text)
        self.assertLessEqual(max(map(len, text.splitlines())), MOST_COLUMNS, text)
        return text

    def vww(self):
        self.expect(DONE, "zoo", "mobilenet-v1-vww", "--int8", "-o", "vww.tflite")
        return self.report_of("explain", "vww.tflite")

    def run_command(self, command):
        """Its report. The files of different commands have different names."""
        words = shlex.split(command)
        self.assertEqual(words[0], "neap")
        return self.report_of(*words[1:])

    def test_the_schema_names_every_field(self):
        self.write_json("g.json", DIAMOND)
        schema = json.loads((SOURCE / "schemas/explain-report.schema.json").read_text())
        report = self.report_of("explain", "g.json")
        self.assertEqual(set(schema["required"]), set(report))
        feature = schema["properties"]["features"]["items"]
        step = schema["properties"]["next"]["items"]
        self.assertTrue(report["features"] and report["next"])
        for part, entries in ((feature, report["features"]), (step, report["next"])):
            for entry in entries:
                self.assertEqual(set(part["required"]), set(entry))

    def test_rows_are_those_of_neap_plan(self):
        """The number of each feature equals the report of `neap plan` for its options."""
        report = self.vww()
        self.assertEqual(report["file_order"]["arena_bytes"], 73728)
        for feature in report["features"]:
            if feature["state"] == "not applicable":
                self.assertEqual(feature["label"], "integer interface")
                self.assertTrue(feature["reason"])
                continue
            self.assertEqual(feature["state"], "planned", feature)
            writes = ["-o", "out.tflite", "--force"] if feature["file_growth_bytes"] is not None else []
            planned = self.report_of("plan", "vww.tflite", *feature["options"], *writes)
            self.assertEqual(arena_of(planned), feature["arena_bytes"], feature["label"])
            if writes:
                growth = (self.folder / "out.tflite").stat().st_size - (self.folder / "vww.tflite").stat().st_size
                self.assertEqual(growth, feature["file_growth_bytes"], feature["label"])
            if feature["total_arena_bytes"] is not None:
                self.assertEqual(planned["delivered"]["total_arena_bytes"], feature["total_arena_bytes"])
            if feature["kind"] == "tiles":
                ratio = planned["cascade"]["macs_ratio"]
                self.assertAlmostEqual(ratio, feature["macs"] / feature["model_macs"], places=6)

    def test_commands_make_what_they_promise(self):
        report = self.vww()
        self.assertEqual([step["why"] for step in report["next"]], ["free", "runtime", "code"])
        need = report["file_order"]["arena_bytes"]
        for step in report["next"]:
            if step["why"] == "code":
                # Its arena has all that TFLM's total arena has.
                totals = {feature["label"]: feature["total_arena_bytes"] for feature in report["features"]}
                need = totals[report["next"][1]["feature"]]
            self.assertLess(step["arena_bytes"], need)
            need = step["arena_bytes"]
            self.assertEqual(arena_of(self.run_command(step["command"])), step["arena_bytes"])
        text = self.text_of("vww.tflite").replace(" \\\n     ", "")
        for step in report["next"]:
            self.assertIn(f"  {step['command']}\n", text)
        self.assertIn("73,728 B (72.0 KiB) in file order on stock TFLM", text)
        self.assertIn("46,080 B (37.5 % less)", text)
        # The operators to register, from the written model.
        default = next(feature for feature in report["features"] if feature["label"] == report["next"][0]["feature"])
        self.assertEqual(default["new_operators"], ["CONCATENATION"])
        self.assertIn(", register CONCATENATION\n", text)

    def test_commands_of_other_models(self):
        """Pasted one after the other they give the promised bytes, or fewer where a limit ended the search of the
        report."""
        models = [("kws.tflite", "ds-cnn", "--int8"),
                  ("cell.tflite", "randwire-cell-ba", "--nodes", "6", "--width", "8", "--int8")]
        if os.environ.get("NEAP_LONG") == "1":
            models.append(("transformer.onnx", "transformer-encoder"))
        for name, *words in models:
            self.expect(DONE, "zoo", *words, "-o", name)
            report = self.report_of("explain", name)
            self.assertTrue(report["next"], name)
            state = {feature["label"]: feature["state"] for feature in report["features"]}
            for step in report["next"]:
                compare = self.assertLessEqual if state.get(step["feature"]) == "unfinished" else self.assertEqual
                compare(arena_of(self.run_command(step["command"])), step["arena_bytes"], step["command"])
            self.text_of(name)

    def test_a_chain_that_nothing_helps(self):
        self.write_json("chain.json", CHAIN)
        for runtime in ("ideal", "tflm"):
            report = self.report_of("explain", "chain.json", "--runtime", runtime)
            self.assertEqual(report["next"], [])
            self.assertEqual(report["plan"]["certificate"], "single-operator")
            text = self.text_of("chain.json", "--runtime", runtime)
            self.assertIn("Default options need the same", text)
            self.assertIn("this operator alone needs", text)
            self.assertIn("next: none; this graph needs its proven lower bound\n", text)

    def test_the_order_is_explained(self):
        self.write_json("g.json", DIAMOND)
        report = self.report_of("explain", "g.json")
        self.assertEqual(report["file_order"]["arena_bytes"], DIAMOND_FILE_PEAK)
        self.assertEqual(report["plan"]["arena_bytes"], DIAMOND_BEST_PEAK)
        self.assertEqual(report["next"][0]["command"], "neap plan g.json --plan g-planned.json")
        self.run_command(report["next"][0]["command"])

    def test_options_are_repeated_in_commands(self):
        path = self.zoo("m.onnx", nodes=5)
        command = self.report_of("explain", path.name, "--runtime", "onnxruntime")["next"][0]["command"]
        self.assertIn("--runtime onnxruntime", command)
        self.run_command(command)

    def test_equal_input_gives_equal_output(self):
        self.write_json("g.json", DIAMOND)
        self.assertEqual(self.text_of("g.json"), self.text_of("g.json"))
        self.zoo("m.onnx", nodes=5)
        first, second = (self.report_of("explain", "m.onnx") for _ in range(2))
        for report in (first, second):
            del report["seconds"]
        self.assertEqual(first, second)

    def test_limits(self):
        """A graph too large for any limit: the text names the unfinished rows."""
        self.write_json("g.json", wide_graph(200, 1))
        report = self.report_of("explain", "g.json", "--time-limit", "0.5")
        states = {feature["state"] for feature in report["features"]}
        self.assertTrue(states & {"unfinished", "not started"}, states)
        self.assertRegex(self.text_of("g.json", "--time-limit", "0.5"), "unfinished|limit was reached")

    def test_interrupt(self):
        self.write_json("g.json", wide_graph(400, 1))
        with subprocess.Popen([NEAP, "explain", "g.json", "--time-limit", "300", "--json"], cwd=self.folder,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
            out, errors = self.interrupt(run)
        self.assertEqual(run.returncode, INTERRUPTED, errors)
        self.assertTrue(json.loads(out)["interrupted"])

    def test_progress_is_for_terminals(self):
        self.write_json("g.json", wide_graph(400, 1))
        result = self.expect(DONE, "explain", "g.json", "--time-limit", "3")
        self.assertEqual(result.stderr, b"")
        terminal, child = pty.openpty()
        with subprocess.Popen([NEAP, "explain", "g.json", "--time-limit", "3"], cwd=self.folder,
                              stdout=subprocess.DEVNULL, stderr=child) as run:
            os.close(child)
            seen = b""
            try:
                while chunk := os.read(terminal, 4096):
                    seen += chunk
            except OSError:
                pass  # the other end is closed
        os.close(terminal)
        self.assertRegex(seen, rb"explain: \d+ of \d+, ")
        self.assertTrue(seen.endswith(b"\r\x1b[K"), "the line is erased")

    def test_errors(self):
        self.write_json("g.json", DIAMOND)
        self.expect(USAGE, "explain")
        self.expect(USAGE, "explain", "g.json", "--time-limit", "-1")
        self.expect(USAGE, "explain", "g.json", "--runtime", "nosuch")
        self.assertIn(b"absent.onnx", self.expect(FAILED, "explain", "absent.onnx").stderr)
        quiet = self.expect(DONE, "explain", "g.json", "--quiet")
        self.assertEqual((quiet.stdout, quiet.stderr), (b"", b""))
