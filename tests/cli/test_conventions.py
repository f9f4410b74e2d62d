# SPDX-License-Identifier: Apache-2.0
"""Exit codes, overwriting, standard streams, JSON: the conventions of every verb."""

import hashlib
import json
import os
import re
import stat

from neap_cli import (DIAMOND, DIAMOND_BEST_PEAK, DIAMOND_FILE_PEAK, DONE, FAILED, OVER_BUDGET,
                      SOURCE, UNPROVEN, USAGE, CliTest, symbolic_onnx, wide_graph)


class Conventions(CliTest):

    def test_version_and_help(self):
        self.assertRegex(self.expect(DONE, "--version").stdout.decode(), r"^neap \d+\.\d+\.\d+\n$")
        sections = {part.split()[0]: part for part in
                    (SOURCE / "docs/reference/command-line.md").read_text().split("\n## neap ")[1:]}
        for verb in ("explain", "plan", "inspect", "check", "run", "zoo", "batch", "place", "pareto", "pipeline",
                     "units", "traffic", "bench", None):
            result = self.expect(DONE, *([verb] if verb else []), "--help")
            text = result.stdout.decode()
            if "--help-all" in text:
                self.assertLess(len(text.splitlines()), 110, verb)
                result = self.expect(DONE, verb, "--help-all")
                text = result.stdout.decode()
            self.assertIn("Examples:", text, verb)
            self.assertEqual(result.stderr, b"", verb)
            self.assertLessEqual(max(map(len, text.splitlines())), 100, verb)
            if verb is None:
                continue
            # Every option is documented, by its short name where it has one.
            for short, option in re.findall(r"^  (-\w)?,?(--[a-z-]+)", text, re.MULTILINE):
                if option not in ("--help", "--help-all"):
                    self.assertRegex(sections[verb], (short or option) + r"(?![a-z-])", verb)

    def test_usage_errors(self):
        self.write_json("g.json", DIAMOND)
        for words in ([], ["plan"], ["nosuchverb"], ["plan", "g.json", "--nosuchoption"],
                      ["plan", "g.json", "--order", "nosuch"],
                      ["plan", "g.json", "--runtime", "nosuch"],
                      ["plan", "g.json", "--budget", "12 apples"],
                      ["plan", "g.json", "--budget", "-1"],
                      ["plan", "g.json", "--dim", "batch"],
                      ["plan", "g.json", "--max-states", "0"],
                      ["plan", "g.json", "--seed", "-1", "--order", "random"],
                      ["plan", "g.json", "--threads", "0"],
                      ["plan", "g.json", "--time-limit", "-1"],
                      ["plan", "g.json", "--json", "--plan", "-"],
                      ["plan", "g.json", "-o", "out.onnx"],
                      ["inspect"], ["check", "g.json"], ["zoo", "nosuch", "-o", "x.onnx"],
                      ["zoo", "randwire-ws"]):
            result = self.expect(USAGE, *words)
            self.assertEqual(result.stdout, b"", words)
            self.assertNotEqual(result.stderr, b"", words)
        self.assertEqual(self.files(), ["g.json"])

    def test_misspelled_names(self):
        """The nearest name is proposed, and the first error is about the option, not its value."""
        self.write_json("g.json", DIAMOND)
        for words, message in (
                (("plan", "g.json", "--bugdet", "64KiB"), "there is no option '--bugdet' (did you mean '--budget'?"),
                (("plan", "g.json", "--nosuchoption=1"), "there is no option '--nosuchoption' (see 'neap plan --help-all')"),
                (("plan", "g.json", "--slak", "3"), "(did you mean '--slack'? see 'neap plan --help-all')"),
                (("plan", "g.json", "--order", "best"), "(see 'neap plan --help-all')"),
                (("plan", "g.json", "--effort", "best"), "(see 'neap plan --help')"),
                (("plan", "g.json", "--slack"), "neap plan: --slack requires a value (see 'neap plan --help-all')"),
                (("plan", "g.json", "-o"), "neap plan: --output requires a value (see 'neap plan --help')"),
                (("plan", "g.json", "--budget", "1KiB", "--budget", "2KiB"), "--budget occurs 2 times, expected once"),
                (("zoo", "--nosuchoption"), "there is no option '--nosuchoption' (see 'neap zoo --help')"),
                (("plan", "g.json", "--budget", "64", "KiB"), "'KiB' was not expected (a size has no space: 64KiB"),
                (("plan", "g.json", "more"), "the argument 'more' was not expected"),
                (("plan", "g.json", "--board", "nano33ble"), "did you mean 'nano-33-ble'?"),
                (("zoo", "mobilenetv1", "-o", "m.onnx"), "did you mean 'mobilenet-v1'?"),
                (("plna", "g.json"), "did you mean 'plan'?"), (("hlp",), "did you mean 'help'?"), (("xyzzy",), "'xyzzy' is neither a verb nor a file (see")):
            errors = self.expect(USAGE, *words).stderr.decode()
            self.assertIn(message, errors)
            self.assertEqual(len(errors.splitlines()), 1)
        for words in ((), ("plan",)):
            self.assertEqual(self.expect(DONE, "help", *words).stdout, self.expect(DONE, *words, "--help").stdout)

    def test_symbols_without_a_value_are_all_named(self):
        (self.folder / "m.onnx").write_bytes(symbolic_onnx("batch", "rows"))
        both = b"--dim batch=1 --dim rows=1"
        for words in (["plan", "m.onnx"], ["explain", "m.onnx"], ["inspect", "m.onnx"], ["run", "m.onnx"],
                      ["traffic", "m.onnx"], ["pareto", "m.onnx"], ["pipeline", "m.onnx", "--stages", "2"]):
            self.assertIn(both, self.expect(FAILED, *words).stderr, words)
        answer = self.expect(DONE, "batch", "-", stdin=b'{"path": "m.onnx"}\n').stdout
        self.assertIn(both, answer)
        self.expect(DONE, "plan", "m.onnx", "--dim", "batch=2", "--dim", "rows=3", "--plan", "p.json")
        self.expect(DONE, "check", "m.onnx", "p.json")
        for words in (["check", "m.onnx", "p.json"], ["run", "m.onnx", "--plan", "p.json"]):
            done = self.run_neap(*words, "--dim", "batch=2")
            self.assertEqual(done.returncode, FAILED, words)
            self.assertIn(b"--dim rows=1", done.stderr, words)

    def test_short_form_equals_plan(self):
        self.zoo("m.onnx")
        self.expect(DONE, "m.onnx", "short.onnx")
        self.expect(DONE, "plan", "m.onnx", "-o", "long.onnx")
        self.assertEqual((self.folder / "short.onnx").read_bytes(),
                         (self.folder / "long.onnx").read_bytes())

    def test_outputs_are_not_overwritten(self):
        self.zoo("m.onnx")
        for name, words in (("out.onnx", ["plan", "m.onnx", "-o"]),
                            ("plan.json", ["plan", "m.onnx", "--plan"]),
                            ("zoo.onnx", ["zoo", "randwire-ws", "--nodes", "8", "-o"])):
            (self.folder / name).write_text("precious")
            self.expect(FAILED, *words, name)
            self.assertEqual((self.folder / name).read_text(), "precious")
            self.expect(DONE, *words, name, "--force")
            self.assertNotEqual((self.folder / name).read_bytes(), b"precious")

    def test_input_as_output(self):
        path = self.zoo("m.onnx")
        before = path.read_bytes()
        self.expect(FAILED, "m.onnx", "m.onnx")
        self.assertEqual(path.read_bytes(), before)
        self.expect(DONE, "m.onnx", "m.onnx", "--force")
        self.report_of("plan", "m.onnx")

    def test_written_files_are_ordinary(self):
        self.zoo("m.onnx")
        self.expect(DONE, "plan", "m.onnx", "-o", "out.onnx", "--plan", "plan.json",
                    umask=0o022)
        for name in ("out.onnx", "plan.json"):
            self.assertEqual(stat.S_IMODE((self.folder / name).stat().st_mode), 0o644, name)
        self.assertEqual(self.files(), ["m.onnx", "out.onnx", "plan.json"])

    def test_standard_streams(self):
        model = self.zoo("m.onnx").read_bytes()
        self.expect(DONE, "m.onnx", "out.onnx")
        piped = self.expect(DONE, "plan", "-", "-o", "-", stdin=model)
        self.assertEqual(piped.stdout, (self.folder / "out.onnx").read_bytes())
        plan = self.expect(DONE, "plan", "-", "--plan", "-", stdin=model).stdout
        self.assertEqual(json.loads(plan)["model_sha256"], hashlib.sha256(model).hexdigest())
        made = self.expect(DONE, "zoo", "randwire-ws", "--seed", "1", "--nodes", "8", "--width", "4",
                           "-o", "-").stdout
        self.assertEqual(made, model)

    def test_quiet(self):
        self.write_json("g.json", DIAMOND)
        result = self.expect(DONE, "plan", "g.json", "--quiet")
        self.assertEqual((result.stdout, result.stderr), (b"", b""))

    def test_no_colour_without_a_terminal(self):
        self.write_json("g.json", DIAMOND)
        for words in (["plan", "g.json"], ["inspect", "g.json"], ["plan", "g.json", "--color", "auto"]):
            self.assertNotIn(b"\x1b", self.expect(DONE, *words).stdout)

    def test_json_of_plan(self):
        self.zoo("m.onnx")
        report = self.report_of("plan", "m.onnx", "-o", "out.onnx", "--plan", "plan.json")
        schema = json.loads((SOURCE / "schemas/plan-report.schema.json").read_text())
        self.assertEqual(set(schema["required"]) - set(report), set())
        contract = {"model", "model_sha256", "runtime", "operators", "tensors", "file_order", "plan",
                    "delivered", "peak_at", "overlaps", "clobbered_inputs", "moves", "memories",
                    "rewrites", "cascade", "budget_bytes", "fits", "seconds", "written",
                    "schema_version"}
        self.assertEqual(contract - set(report), set())
        self.assertEqual({"peak_bytes", "peak_lower_bound_bytes", "order_status", "arena_bytes",
                          "arena_given_order_lower_bound_bytes", "arena_lower_bound_bytes",
                          "arena_status", "states"} - set(report["plan"]), set())
        self.assertEqual(sorted(report["written"]), ["out.onnx", "plan.json"])
        for name in ("m.onnx", "out.onnx"):
            digest = hashlib.sha256((self.folder / name).read_bytes()).hexdigest()
            key = report["model_sha256"] if name == "m.onnx" else report["delivered"]["sha256"]
            self.assertEqual(key, digest, name)

    def test_numbers_of_a_graph_known_by_hand(self):
        self.write_json("g.json", DIAMOND)
        report = self.report_of("plan", "g.json")
        self.assertEqual(report["file_order"]["peak_bytes"], DIAMOND_FILE_PEAK)
        self.assertEqual(report["plan"]["peak_bytes"], DIAMOND_BEST_PEAK)
        self.assertEqual(report["plan"]["peak_lower_bound_bytes"], DIAMOND_BEST_PEAK)
        self.assertEqual(report["plan"]["order_status"], "optimal")
        self.assertEqual(report["operators"], len(DIAMOND["ops"]))
        self.assertEqual(report["tensors"], len(DIAMOND["tensors"]))

    def test_budget(self):
        self.zoo("m.onnx")
        arena = self.report_of("plan", "m.onnx")["plan"]["arena_bytes"]
        report = self.report_of("plan", "m.onnx", "--budget", arena, "-o", "fits.onnx")
        self.assertEqual((report["fits"], report["budget_bytes"]), (True, arena))
        result = self.expect(OVER_BUDGET, "plan", "m.onnx", "--budget", arena - 1, "--cascade", "off",
                             "-o", "no.onnx", "--plan", "plan.json", "--json")
        self.assertEqual(json.loads(result.stdout)["fits"], False)
        self.assertEqual(self.files(), ["fits.onnx", "m.onnx", "plan.json"])

    def test_require_optimal(self):
        self.write_json("g.json", DIAMOND)
        self.expect(DONE, "plan", "g.json", "--require-optimal")
        self.write_json("wide.json", wide_graph(200, 1))
        limits = ["--max-states", "50"]
        errors = self.expect(UNPROVEN, "plan", "wide.json", *limits, "--require-optimal", "--quiet").stderr.decode()
        self.assertRegex(errors, r"^neap plan: not proven optimal: arena [0-9,]+ B .*, lower bound [0-9,]+ B .*\n$")
        report = self.report_of("plan", "wide.json", *limits)
        self.assertEqual(report["plan"]["order_status"], "bounded")
        self.assertLess(report["plan"]["peak_lower_bound_bytes"], report["plan"]["peak_bytes"])

    def test_same_input_same_bytes(self):
        self.write_json("wide.json", wide_graph(60, 2))
        self.zoo("m.onnx")
        for model in ("wide.json", "m.onnx"):
            runs = []
            for threads in ("1", "1", "2", "3"):
                words = ["plan", model, "--max-states", "20000", "--threads", threads]
                plan = self.expect(DONE, *words, "--plan", "-").stdout
                report = self.report_of(*words)
                del report["seconds"]
                for step in report["steps"] + report["plan_steps"]:
                    del step["seconds"]
                runs.append((plan, report))
            for run in runs[1:]:
                self.assertEqual(runs[0], run, model)

    def test_names_of_steps_are_those_of_the_schema(self):
        schema = json.loads((SOURCE / "schemas/plan-report.schema.json").read_text())
        names = {part: set(schema["properties"][part]["items"]["properties"]["name"]["enum"])
                 for part in ("steps", "plan_steps")}
        self.write_json("graph.json", wide_graph(30, 1))
        for words in (("--recompute", "1.2"), ("--runtime", "neap", "--stream", "auto"), ("--cascade", "auto"),
                      ("--effort", "quick")):
            report = self.report_of("plan", "graph.json", "--max-states", "1000", *words)
            for part, known in names.items():
                self.assertLessEqual({step["name"] for step in report[part]}, known, words)

    def test_check(self):
        self.zoo("m.onnx")
        self.zoo("other.onnx", seed=2)
        self.expect(DONE, "plan", "m.onnx", "--plan", "plan.json")
        self.assertIn(b"ok", self.expect(DONE, "check", "m.onnx", "plan.json").stdout)
        self.assertEqual(self.run_neap("check", "other.onnx", "plan.json").returncode, FAILED)
        plan = json.loads((self.folder / "plan.json").read_text())
        plan["entries"][0]["peak_bytes"] -= 1
        self.write_json("wrong.json", plan)
        result = self.run_neap("check", "m.onnx", "wrong.json")
        self.assertEqual(result.returncode, FAILED)
        self.assertIn(b"peak", result.stderr)

    def test_inspect(self):
        self.write_json("g.json", DIAMOND)
        report = self.report_of("inspect", "g.json")
        self.assertIn(str(DIAMOND_FILE_PEAK), json.dumps(report))
        text = self.expect(DONE, "inspect", "g.json").stdout.decode()
        self.assertIn("widen2", text)

    def test_zoo_lists_and_builds_networks(self):
        lines = self.expect(DONE, "zoo", "--list").stdout.decode().splitlines()
        names = [line.split()[0] for line in lines[1:] if not line.startswith(" ")]
        self.assertGreaterEqual(len(names), 30)
        self.assertEqual(len(names), len(set(names)))
        # The small ones; the tests of the zoo build all of them.
        for name, options in {
            "randwire-ws": ["--width", "4", "--nodes", "8"],
            "randwire-cell-ws": ["--width", "4"],
            "darts-imagenet-cell": ["--width", "4"],
            "resnet8": [],
            "ds-cnn": [],
        }.items():
            self.assertIn(name, names)
            self.expect(DONE, "zoo", name, *options, "-o", f"{name}.onnx")
            report = self.report_of("plan", f"{name}.onnx", "--max-states", "20000")
            self.assertLessEqual(report["plan"]["peak_bytes"], report["file_order"]["peak_bytes"])
        self.assertTrue(os.listdir(self.folder))
