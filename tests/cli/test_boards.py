# SPDX-License-Identifier: Apache-2.0
"""neap boards, neap plan --board and --target, neap check-budget, and the hook and the action that run it."""

import json
import os
import re
import subprocess
import urllib.parse

from neap_cli import DONE, FAILED, NEAP, OVER_BUDGET, SOURCE, USAGE, CliTest

CI = SOURCE / "scripts/ci"


class Boards(CliTest):

    def model(self):
        self.expect(DONE, "zoo", "mobilenet-v1-vww", "--int8", "-o", "vww.tflite")
        return "vww.tflite"

    def test_the_table(self):
        boards = self.report_of("boards")["boards"]
        self.assertGreaterEqual(len(boards), 30)
        text = self.expect(DONE, "boards").stdout.decode()
        for board in boards:
            self.assertIn(board["name"], text)
            self.assertRegex(board["source"], r"^(RAM: )?(PlatformIO|Zephyr) ")
        self.expect(USAGE, "plan", "x.tflite", "--board", "no-such-board")

    def test_an_answer_for_every_board(self):
        """Each answer is that of `neap plan --board` with its exit code."""
        model = self.model()
        report = self.report_of("boards", model, "--cascade", "off")
        schema = json.loads((SOURCE / "schemas/boards-report.schema.json").read_text())
        fields = set(schema["properties"]["boards"]["items"]["properties"])
        answers = {board["name"]: board for board in report["boards"]}
        self.assertEqual(set(schema["required"]), set(report))
        for board in report["boards"]:
            self.assertEqual(set(board), fields)
            self.assertEqual(board["budget_bytes"], board["ram_bytes"] - report["reserve_bytes"])
            self.assertEqual(board["answer"] == "fits", board["total_arena_bytes"] <= board["budget_bytes"])
        self.assertEqual({board["answer"] for board in report["boards"]}, {"fits", "does not fit"})
        for name in ("nano-33-ble", "nano-33-iot", "xiao-esp32s3", "esp32-devkitc", "pico"):
            answer = answers[name]
            code = DONE if answer["answer"] == "fits" else OVER_BUDGET
            planned = json.loads(self.expect(code, "plan", model, "--board", name, "--cascade", "off",
                                             "--json").stdout)
            self.assertEqual(planned["delivered"]["total_arena_bytes"], answer["total_arena_bytes"], name)
            self.assertEqual(planned["board"]["name"], name)
            self.assertEqual(planned["budget_bytes"], answer["budget_bytes"])
        text = self.expect(DONE, "boards", model, "--cascade", "off").stdout.decode()
        iot = answers["nano-33-iot"]
        missing = (iot["total_arena_bytes"] - iot["budget_bytes"]) / 1024
        self.assertIn(f"does not fit: {missing:.1f} KiB missing, the least known is "
                      f"{iot['total_arena_bytes']:,} B", text)

    def test_every_board_limits_a_plan(self):
        """Every board and memory system states its memories; a plan above the first one has the exit code for it."""
        self.expect(DONE, "zoo", "ds-cnn", "--int8", "-o", "kws.tflite")
        table = self.report_of("boards")
        names = []
        for board in table["boards"] + table["systems"]:
            memories = board["memories"]
            for memory in memories:
                self.assertTrue(memory["name"] and memory["source"], board["name"])
            first = min(memories[0]["bytes"], board.get("ram_bytes") or memories[0]["bytes"])
            fits = [(16 << 10, DONE)] if len(memories) > 1 else []
            for left, code in [(128, OVER_BUDGET), *fits]:
                plan = json.loads(self.expect(
                    code, "plan", "kws.tflite", "--runtime", "neap", "--stream", "auto", "--board", board["name"],
                    "--reserve", str(first - left), "--json").stdout)
                self.assertEqual(plan["plan"]["arena_bytes"] <= left, code == DONE, board["name"])
                self.assertEqual("slow" in plan["stream"], len(memories) > 1, board["name"])
            names.append(board["name"])
        self.assertGreaterEqual(len(set(names)), 37)

    def test_boards_on_which_only_c_code_fits(self):
        """`boards` and `emit` state the same C code."""
        self.expect(DONE, "zoo", "ds-cnn", "--int8", "-o", "kws.tflite")
        report = self.report_of("boards", "kws.tflite", "--cascade", "off")
        emitted = self.report_of("emit", "kws.tflite", "-o", "net")
        code = report["code"]
        self.assertEqual((code["arena_bytes"], code["stack_bytes"]), (emitted["arena_bytes"], emitted["stack_bytes"]))
        only = []
        for board in report["boards"]:
            fits = code["arena_bytes"] <= board["budget_bytes"] and code["weights_bytes"] <= board["flash_bytes"]
            self.assertEqual(board["fits_as_code"], fits, board["name"])
            if fits and not board["fits"]:
                only.append(board["name"])
        self.assertTrue(only)
        text = self.expect(DONE, "boards", "kws.tflite", "--cascade", "off").stdout.decode()
        self.assertIn(f"Boards on which only that fits: {', '.join(only)}.", text)

    def test_a_board_is_a_target_and_a_budget(self):
        model = self.model()
        planned = self.report_of("plan", model, "--board", "nano-33-ble", "--reserve", "20KiB")
        self.assertEqual(planned["budget_bytes"], 262144 - 20480)
        self.assertEqual(planned["delivered"]["targets"][0]["name"], "cortex-m4+cmsis-nn")
        text = self.expect(DONE, "plan", model, "--board", "nano-33-ble", "--reserve", "20KiB").stdout.decode()
        self.assertIn("20,480 B (20.0 KiB) are reserved", " ".join(text.split()))
        # A budget of its own replaces the board's.
        for budget, bytes_of_it in (("--budget", 1 << 20), ("--budget-total", 300_000)):
            own = self.report_of("plan", model, "--board", "nano-33-ble", budget, bytes_of_it)
            self.assertEqual(own["budget_bytes"], bytes_of_it)
            self.assertEqual(own["delivered"]["targets"][0]["name"], "cortex-m4+cmsis-nn")
            self.expect(USAGE, "plan", model, "--board", "nano-33-ble", budget, bytes_of_it, "--reserve", "20KiB")
        for words in (("--target", "cortex-m4+cmsis-nn"), ("--runtime", "litert"), ("--overlap", "tflm-reference")):
            self.expect(USAGE, "plan", model, "--board", "nano-33-ble", *words)
        # TFLM reads one format.
        self.zoo("m.onnx")
        for words in (("boards", "m.onnx"), ("plan", "m.onnx", "--board", "nano-33-ble")):
            errors = self.expect(FAILED, *words).stderr.decode()
            self.assertIn("m.onnx: boards run TFLM, which reads .tflite; this is onnx", errors)
        self.expect(USAGE, "plan", model, "--reserve", "20KiB")

    def test_overlaps_belong_to_kernels(self):
        """An overlap is refused on a target whose kernels it is wrong for."""
        model = self.model()
        report = self.report_of("plan", model, "--overlap", "cmsis-nn", "--plan", "p.json")
        self.assertEqual(report["kernels"], "cmsis-nn")
        self.assertIn("+cmsis-nn", report["delivered"]["targets"][0]["name"])
        self.expect(DONE, "check", model, "p.json")
        both = self.report_of("plan", model, "--overlap", "esp-nn,cmsis-nn,tflm-reference", "--plan", "q.json")
        self.assertEqual(both["kernels"], "tflm-reference,cmsis-nn,esp-nn")
        self.expect(DONE, "check", model, "q.json")
        alone = [self.report_of("plan", model, "--overlap", name)["delivered"]["arena_bytes"]
                 for name in ("tflm-reference", "cmsis-nn", "cmsis-nn-mve", "esp-nn")]
        self.assertGreaterEqual(both["delivered"]["arena_bytes"], max(alone[0], alone[3]))
        self.assertTrue(report["overlaps"])
        for overlap, target in (("tflm-reference", "cortex-m4+cmsis-nn"), ("cmsis-nn-dsp", "cortex-m55+cmsis-nn"),
                                ("esp-nn", "esp32s3+esp-nn"), ("cmsis-nn", "x86-64+reference")):
            self.expect(USAGE, "plan", model, "--overlap", overlap, "--target", target)
        self.expect(USAGE, "plan", model, "--overlap", "cmsis-nn,none-such")
        for target in ("esp32+esp-nn", "esp32c3+esp-nn"):
            self.expect(DONE, "plan", model, "--overlap", "esp-nn", "--target", target)
        for other in report["delivered"]["targets"]:
            self.assertIn("cmsis-nn", other["name"], "a total where the plan is wrong")


class CheckBudget(CliTest):

    def setUp(self):
        super().setUp()
        self.expect(DONE, "zoo", "mobilenet-v1-vww", "--int8", "-o", "vww.tflite")

    def check(self, code, *words):
        return json.loads(self.expect(code, "check-budget", "vww.tflite", *words, "--json").stdout)

    def test_it_passes_and_fails(self):
        report = self.check(DONE, "--board", "nano-33-ble")
        schema = json.loads((SOURCE / "schemas/check-budget-report.schema.json").read_text())
        self.assertEqual(set(schema["required"]), set(report))
        (model,) = report["models"]
        self.assertEqual(set(schema["properties"]["models"]["items"]["required"]), set(model))
        self.assertEqual((model["fits"], model["findings"], model["base"]), (True, [], None))
        failed = self.check(OVER_BUDGET, "--board", "nano-33-iot", "--cascade", "off")
        self.assertEqual([finding["rule"] for finding in failed["models"][0]["findings"]],
                         ["arena-over-budget", "flash-over-budget"])
        self.expect(USAGE, "check-budget", "vww.tflite")
        self.expect(FAILED, "check-budget", "none.tflite", "--board", "pico")

    def test_a_baseline(self):
        report = self.check(DONE, "--board", "nano-33-ble")
        self.write_json("base.json", report)
        words = ("--board", "nano-33-ble", "--baseline", "base.json", "--max-growth", "0")
        self.assertEqual(self.check(DONE, *words)["models"][0]["base"],
                         {key: report["models"][0][key] for key in ("total_arena_bytes", "model_bytes", "macs")})
        report["models"][0]["total_arena_bytes"] -= 16
        self.write_json("base.json", report)
        (finding,) = self.check(OVER_BUDGET, *words)["models"][0]["findings"]
        self.assertEqual(finding["rule"], "memory-grew")
        self.assertEqual(self.check(DONE, *words[:-1], "16")["models"][0]["findings"], [])
        text = self.expect(DONE, "check-budget", "vww.tflite", *words[:4]).stdout.decode()
        self.assertIn("(+16 B against the baseline)", text)
        # A baseline of another board, and files that are none.
        self.expect(FAILED, "check-budget", "vww.tflite", "--board", "pico", "--baseline", "base.json")
        for text in ("", "{}", "[1]", '{"schema_version": 1, "board": 3, "models": []}',
                     '{"schema_version": 1, "board": "nano-33-ble", "models": [{"model": "x"}]}'):
            (self.folder / "bad.json").write_text(text)
            self.expect(FAILED, "check-budget", "vww.tflite", "--board", "nano-33-ble", "--baseline", "bad.json")

    def test_sarif(self):
        self.check(OVER_BUDGET, "--board", "nano-33-iot", "--cascade", "off", "--sarif", "out.sarif")
        sarif = json.loads((self.folder / "out.sarif").read_text())
        self.assertEqual(sarif["version"], "2.1.0")
        (run,) = sarif["runs"]
        rules = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
        self.assertEqual([result["ruleId"] for result in run["results"]], ["arena-over-budget", "flash-over-budget"])
        self.assertLessEqual({result["ruleId"] for result in run["results"]}, rules)
        location = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        self.assertEqual(location, "vww.tflite")
        # It exists now.
        self.expect(FAILED, "check-budget", "vww.tflite", "--board", "pico", "--sarif", "out.sarif")

    # Names of SARIF 2.1.0 (OASIS, section 3) for the objects that Neap writes: those that must be there, and others that
    # may be.
    SARIF = {
        "sarifLog": ({"version", "runs"}, {"$schema"}),
        "run": ({"tool"}, {"results"}),
        "tool": ({"driver"}, set()),
        "toolComponent": ({"name"}, {"version", "rules"}),
        "reportingDescriptor": ({"id"}, {"shortDescription"}),
        "multiformatMessageString": ({"text"}, set()),
        "result": ({"message"}, {"ruleId", "level", "locations"}),
        "message": ({"text"}, set()),
        "location": (set(), {"physicalLocation"}),
        "physicalLocation": ({"artifactLocation"}, set()),
        "artifactLocation": ({"uri"}, set()),
    }

    def is_sarif(self, kind, value):
        must, may = self.SARIF[kind]
        self.assertIsInstance(value, dict, kind)
        self.assertLessEqual(must, set(value), kind)
        self.assertLessEqual(set(value), must | may, kind)
        return value

    def test_sarif_is_valid(self):
        """By the specification; code scanning needs texts, rules and locations as well."""
        name = "a model, 100% \u00e9.tflite"
        (self.folder / "vww.tflite").rename(self.folder / name)
        self.expect(OVER_BUDGET, "check-budget", name, "--board", "nano-33-iot", "--cascade", "off", "--sarif", "x.sarif")
        log = self.is_sarif("sarifLog", json.loads((self.folder / "x.sarif").read_text(encoding="utf-8")))
        self.assertEqual(log["version"], "2.1.0")
        self.assertRegex(log["$schema"], r"^https://.*sarif.*2\.1\.0.*\.json$")
        for run in log["runs"]:
            self.is_sarif("run", run)
            driver = self.is_sarif("toolComponent", self.is_sarif("tool", run["tool"])["driver"])
            rules = [self.is_sarif("reportingDescriptor", rule) for rule in driver["rules"]]
            self.assertEqual(len({rule["id"] for rule in rules}), len(rules))
            for rule in rules:
                self.assertTrue(self.is_sarif("multiformatMessageString", rule["shortDescription"])["text"])
            self.assertTrue(run["results"])
            for result in run["results"]:
                self.is_sarif("result", result)
                self.assertTrue(self.is_sarif("message", result["message"])["text"])
                self.assertIn(result["ruleId"], [rule["id"] for rule in rules])
                self.assertIn(result["level"], ("none", "note", "warning", "error"))
                self.assertEqual(len(result["locations"]), 1)
                physical = self.is_sarif("location", result["locations"][0])["physicalLocation"]
                uri = self.is_sarif("artifactLocation", self.is_sarif("physicalLocation", physical)["artifactLocation"])["uri"]
                self.assertRegex(uri, r"^[A-Za-z0-9._~/%-]+$")
                self.assertEqual(urllib.parse.unquote(uri), name)

    def script(self, name, *words, **environment):
        return subprocess.run(["bash", CI / name, *words], capture_output=True, cwd=self.folder, check=False,
                              env={**os.environ, "NEAP": str(NEAP), **environment}, text=True)

    def test_the_hook(self):
        hooks = (SOURCE / ".pre-commit-hooks.yaml").read_text()
        entry = re.search(r"entry: (\S+)", hooks)[1]
        self.assertTrue(os.access(SOURCE / entry, os.X_OK))
        name = os.path.basename(entry)
        self.assertEqual(self.script(name, "--board", "nano-33-ble", "vww.tflite").returncode, DONE)
        failed = self.script(name, "--board", "nano-33-iot", "--cascade", "off", "vww.tflite")
        self.assertEqual(failed.returncode, OVER_BUDGET)
        self.assertIn("arena-over-budget", failed.stdout)
        pinned = self.script(name, "--board", "pico", "vww.tflite", NEAP_VERSION="0.0.1")
        self.assertEqual(pinned.returncode, FAILED)
        self.assertIn("is not the pinned version 0.0.1", pinned.stderr)

    def test_the_action(self):
        """The environment of action.yml's step, as a runner sets it."""
        action = (SOURCE / "action.yml").read_text()
        names = re.findall(r"^        (NEAP\w*): ", action, re.M)
        inputs = {"NEAP_MODELS": "*.tflite", "NEAP_BOARD": "nano-33-iot", "NEAP_REPORT": "r.json",
                  "NEAP_SARIF": "s.sarif", "NEAP_RESERVE": "4KiB"}
        self.assertLessEqual(set(inputs), set(names))
        environment = {**{name: "" for name in names if name not in ("NEAP", "NEAP_REPORT", "NEAP_SARIF")}, **inputs,
                       "GITHUB_OUTPUT": str(self.folder / "outputs"), "GITHUB_STEP_SUMMARY": str(self.folder / "summary")}
        failed = self.script("action.sh", **environment)
        self.assertEqual(failed.returncode, OVER_BUDGET, failed.stderr)
        self.assertIn("fits=false", (self.folder / "outputs").read_text())
        self.assertIn("vww.tflite", (self.folder / "summary").read_text())
        self.assertEqual(len(json.loads((self.folder / "s.sarif").read_text())["runs"][0]["results"]), 2)
        report = json.loads((self.folder / "r.json").read_text())
        self.assertEqual(report["reserve_bytes"], 4096)
        passed = self.script("action.sh", **{**environment, "NEAP_BOARD": "pico"})
        self.assertEqual(passed.returncode, DONE, passed.stderr)
        self.assertIn("fits=true", (self.folder / "outputs").read_text())
        # The report of one run is the baseline of the next.
        (self.folder / "base.json").write_text((self.folder / "r.json").read_text())
        again = self.script("action.sh", **{**environment, "NEAP_BOARD": "pico", "NEAP_BASELINE": "base.json",
                                            "NEAP_MAX_GROWTH": "0"})
        self.assertEqual(again.returncode, DONE, again.stderr)
        nothing = self.script("action.sh", **{**environment, "NEAP_MODELS": "*.onnx"})
        self.assertEqual(nothing.returncode, FAILED)
