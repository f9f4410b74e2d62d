# SPDX-License-Identifier: Apache-2.0
"""neap plan: the best of several kinds of plan, budgets, and their report."""

import itertools
import json
import os
import re
import unittest

from neap_cli import DONE, FAILED, OVER_BUDGET, SHARED, USAGE, CliTest

VWW = SHARED / "models/mlcommons+tiny/vww_96_int8.tflite"
DETECTOR = SHARED / "models/mit-han-lab+tinyengine/mcunet_detection.tflite"
WITHOUT_WEIGHTS = SHARED / "models/KULeuven-MICAS+stream/resnet18.onnx"

# Switched on one by one: no set of them gives more bytes than a part of the set.
FEATURES = {
    "tflm": {"rewrite": ("--rewrite", "bitwise"), "tiles": ("--cascade", "auto"),
             "overlap": ("--overlap", "tflm-reference"), "integers": ("--integer-io", "both")},
    "neap": {"rewrite": ("--rewrite", "bitwise"), "tiles": ("--cascade", "auto"),
             "streams": ("--stream", "auto")},
    "ideal": {"rewrite": ("--rewrite", "reassociate"), "tiles": ("--cascade", "auto")},
}


def headline(report):
    """The number of the first line."""
    known = report["delivered"] and report["delivered"]["arena_bytes"]
    return report["plan"]["arena_bytes"] if known is None else known


class BestPlanTest(CliTest):
    def vww(self):
        self.expect(DONE, "zoo", "mobilenet-v1-vww", "--int8", "-o", "vww.tflite")
        return "vww.tflite"

    def bytes_with(self, model, runtime, features):
        words = [word for name in features for word in FEATURES[runtime][name]]
        if "rewrite" not in features:
            words += ["--rewrite", "none"]
        return headline(self.report_of("plan", model, "--runtime", runtime, *words))

    def expect_never_worse(self, model, runtime, names):
        found = {}
        for count in range(len(names) + 1):
            for features in itertools.combinations(names, count):
                found[features] = self.bytes_with(model, runtime, features)
                for name in features:
                    fewer = tuple(other for other in features if other != name)
                    self.assertLessEqual(found[features], found[fewer],
                                         f"{model}, {runtime}: {features} against {fewer}")

    def test_no_feature_makes_a_plan_worse(self):
        self.searches_whole_networks()
        self.expect(DONE, "zoo", "mobilenet-v1", "--width-multiplier", "0.25", "--resolution", "32",
                    "--int8", "-o", "small.tflite")
        self.zoo("random.onnx", nodes=5)
        self.expect_never_worse("small.tflite", "tflm", ["rewrite", "tiles", "overlap"])
        self.expect_never_worse("small.tflite", "neap", ["rewrite", "tiles", "streams"])
        self.expect_never_worse("random.onnx", "ideal", ["rewrite", "tiles"])
        if os.environ.get("NEAP_LONG") != "1":
            return
        self.expect(DONE, "zoo", "swiftnet", "--int8", "-o", "swiftnet.tflite")
        self.expect_never_worse("swiftnet.tflite", "tflm", ["rewrite", "tiles"])
        if not SHARED.is_dir():
            return
        for model in sorted((SHARED / "models").glob("*/*.tflite")):
            if self.run_neap("plan", model, "--runtime", "neap").returncode != DONE:
                continue  # sizes that only a run knows
            self.expect_never_worse(model, "tflm", ["rewrite", "tiles", "overlap"])
            self.expect_never_worse(model, "neap", ["rewrite", "tiles", "streams"])
            if self.run_neap("plan", model, "--integer-io", "both").returncode == DONE:
                self.expect_never_worse(model, "tflm", ["rewrite", "tiles", "integers"])

    def test_moves_and_other_interfaces_are_never_worse(self):
        self.zoo("random.onnx")
        plain = self.report_of("plan", "random.onnx")
        moved = self.report_of("plan", "random.onnx", "--moves", "best")
        self.assertLessEqual(headline(moved), headline(plain))
        several = self.report_of("plan", "random.onnx", "--memory", "a=64MiB,bw=1")
        alone = self.report_of("plan", "random.onnx", "--memory", "a=64MiB,bw=1", "--rewrite", "none")
        self.assertLessEqual(several["access_cycles"], alone["access_cycles"])

    def test_the_report_names_the_kind_that_was_taken(self):
        self.searches_whole_networks()
        model = self.vww()
        report = self.report_of("plan", model, "--cascade", "auto")
        tried = {one["kind"]: one for one in report["tried"]}
        taken = [one for one in report["tried"] if one["taken"]]
        self.assertEqual(len(taken), 1)
        self.assertEqual(taken[0]["bytes"], headline(report))
        self.assertEqual(taken[0]["bytes"], min(one["bytes"] for one in report["tried"]))
        self.assertGreater(tried["as given"]["bytes"], tried["tiles"]["bytes"])
        self.assertIsNone(tried["tiles"]["fits"])
        text = " ".join(self.expect(DONE, "plan", model, "--cascade", "auto").stdout.decode().split())
        self.assertRegex(text, r"taken: (rewritten and )?tiles at 1\.[0-9]{3}x MACs, [0-9,]+ B \((fewest|no)")

    def test_a_missed_budget_reports_every_plan(self):
        """Every plan is reported with its price, and features that need a consent are planned, too."""
        self.searches_whole_networks()
        model = self.vww()
        result = self.expect(OVER_BUDGET, "plan", model, "--budget-activations", "20KiB", "-o", "no.tflite")
        report = json.loads(self.expect(OVER_BUDGET, "plan", model, "--budget-activations", "20KiB", "--json").stdout)
        tried = {one["kind"]: one["bytes"] for one in report["tried"]}
        taken = next(one for one in report["tried"] if one["taken"])
        ratio = f"{report['cascade']['macs_ratio']:.3f}"
        line = result.stderr.decode()
        self.assertIn(f"required {taken['bytes']:,} B", line)
        self.assertIn(f"({taken['kind']} at {ratio}x MACs), available 20,480 B", line)
        text = " ".join(result.stdout.decode().split())
        self.assertIn(f"; as given {tried['as given']:,} B, rewritten {tried['rewritten']:,} B, ", text)
        for one in report["tried"]:  # the budget is of the activations, and the total arena is known
            self.assertLess(one["bytes"], one["total_arena_bytes"])
        self.assertEqual(taken["price"]["new_operator_types"], ["CONCATENATION", "SLICE"])
        self.assertGreater(taken["price"]["macs"], taken["price"]["model_macs"])
        # The input alone needs more: it has to stay outside.
        advice = {one["label"]: one for one in report["advice"]}
        self.assertFalse(advice["overlap"]["fits"])
        self.assertTrue(advice["streams fed by rows"]["fits"])
        self.assertEqual({one["fits"] for one in report["advice"]}, {False, True})
        self.assertIn("; fits with --runtime neap --stream auto --input rows: arena ", line)
        text = self.expect(OVER_BUDGET, "plan", model, "--budget-activations", "40KiB", "--cascade", "off").stdout.decode()
        self.assertIn("Next: not tried yet: --cascade auto.\n", text)
        text = " ".join(text.split())
        self.assertRegex(text, r"Next: fits with --overlap tflm-reference: arena 36,864 B \(TFLM reference kernels\)")

    def test_a_budget_alone_is_met_by_the_cheapest_plan(self):
        """No other option is needed, and what a set of options reaches, the budget reaches."""
        self.searches_whole_networks()
        model = self.vww()
        least = self.report_of("plan", model, "--effort", "default")
        kinds = {one["kind"] for one in least["tried"]}
        self.assertLessEqual({"as given", "rewritten", "tiles", "rewritten and tiles",
                              "as given with overlap copies", "as given with moves"}, kinds)
        steps = []
        for budget in (headline(self.report_of("plan", model)), 40000, headline(least)):
            report = self.report_of("plan", model, "--budget-activations", budget, "--plan", "plan.json",
                                    "--force")
            self.assertTrue(report["fits"])
            taken = next(one for one in report["tried"] if one["taken"])
            steps.append(taken["price"]["macs"] / taken["price"]["model_macs"])
            self.expect(DONE, "check", model, "plan.json")
            self.expect(DONE, "run", model, "--plan", "plan.json", "--compare")
        self.assertEqual(steps[0], 1)
        self.assertEqual(steps, sorted(steps))
        quick = self.report_of("plan", model, "--effort", "quick")
        self.assertFalse([one for one in quick["tried"] if "tiles" in one["kind"]])
        self.assertGreaterEqual(headline(quick), headline(least))

    def test_only_registered_operators_are_added(self):
        self.searches_whole_networks()
        model = self.vww()
        free = self.report_of("plan", model, "--effort", "default")
        none = self.report_of("plan", model, "--effort", "default", "--registered", "none")
        self.assertEqual([one["price"]["new_operator_types"] for one in none["tried"] if one["taken"]], [[]])
        self.assertGreater(headline(none), headline(free))
        named = self.report_of("plan", model, "--effort", "default", "--registered", "CONCATENATION,SLICE")
        self.assertEqual(headline(named), headline(free))
        shared = self.report_of("plan", model, "--effort", "default", "--registered", "all")
        self.assertIn("shared bodies", {step["name"] for step in shared["steps"]})
        self.assertLessEqual(headline(shared), headline(free))

    def test_the_sum_of_the_report_ends_at_the_arena(self):
        """The live bytes may exceed the arena: the terms minus the shared bytes add up to it."""
        model = self.vww()
        text = " ".join(self.expect(DONE, "plan", model, "--cascade", "auto").stdout.decode().split())
        arena = headline(self.report_of("plan", model, "--cascade", "auto"))
        sentence = re.search(r"Arena fullest at operator #\d+ '\w+': (.*?) - ([0-9,]+) shared = ([0-9,]+) B\.",
                             text)
        terms = [int(term.split()[-1].replace(",", "")) for term in sentence[1].split(" + ")]
        shared, in_use = (int(digits.replace(",", "")) for digits in sentence.group(2, 3))
        self.assertEqual(sum(terms) - shared, in_use)
        self.assertLessEqual(in_use, arena)
        self.assertIn(f"bytes in use, maximum {sentence[3]} ", text)

    def test_a_budget_gives_what_the_default_gives(self):
        """A budget used to end the search for tiles with a plan worse than a rewritten one."""
        for model in [self.vww()] + [VWW] * VWW.is_file():
            plain = headline(self.report_of("plan", model, "--budget-activations", "64KiB"))
            cut = self.report_of("plan", model, "--budget-activations", "64KiB", "--cascade", "auto")
            self.assertLessEqual(headline(cut), plain)
            self.assertTrue(cut["fits"])
            self.assertTrue(any("no operators are cut into tiles" in note for note in cut["notes"]))

    def test_tiles_are_tried_before_a_budget_is_missed(self):
        model = self.vww()
        without = self.report_of("plan", model, "--runtime", "tflm")
        with_tiles = self.report_of("plan", model, "--cascade", "auto")
        totals = [report["delivered"]["total_arena_bytes"] for report in (without, with_tiles)]
        self.assertLess(totals[1], totals[0])
        budget = ("--budget", (totals[0] + totals[1]) // 2)
        self.expect(OVER_BUDGET, "plan", model, *budget, "--cascade", "off")
        report = self.report_of("plan", model, *budget, "-o", "cut.tflite", "--plan", "plan.json")
        self.assertTrue(report["fits"])
        self.assertGreater(report["cascade"]["stripes"], 1)
        self.assertLessEqual(report["delivered"]["total_arena_bytes"], budget[1])
        self.expect(DONE, "check", model, "plan.json")
        text = self.expect(DONE, "plan", model, *budget).stdout.decode()
        self.assertRegex(" ".join(text.split()), "the only one within the budget|fewest")
        outputs = [self.report_of("run", name, "--random-inputs", "1")["outputs"][0]["sha256"]
                   for name in (model, "cut.tflite")]
        self.assertEqual(*outputs)

    def test_streams_are_tried_before_a_budget_is_missed(self):
        model = self.vww()
        streamed = headline(self.report_of("plan", model, "--runtime", "neap", "--stream", "auto"))
        budget = ("--runtime", "neap", "--budget", streamed)
        self.expect(OVER_BUDGET, "plan", model, *budget, "--cascade", "off", "--stream", "off")
        report = self.report_of("plan", model, *budget, "--cascade", "off")
        self.assertTrue(report["fits"])
        self.assertIsNotNone(report["stream"])

    def test_both_budgets_are_kept(self):
        self.searches_whole_networks()
        model = self.vww()
        full = self.report_of("plan", model, "--rewrite", "none")
        least = self.report_of("plan", model, "--cascade", "auto", "--rewrite", "none")
        arenas = [headline(report) for report in (full, least)]
        totals = [report["delivered"]["total_arena_bytes"] for report in (full, least)]
        self.assertLess(arenas[1], arenas[0])
        # Either budget alone is met without tiles; here one, then the other is the tight one.
        for arena, total in ((arenas[1], totals[0]), (arenas[0], totals[1])):
            report = self.report_of("plan", model, "--cascade", "auto", "--rewrite", "none",
                                    "--budget-activations", arena, "--budget", total)
            self.assertTrue(report["fits"])
            self.assertLessEqual(headline(report), arena)
            self.assertLessEqual(report["delivered"]["total_arena_bytes"], total)
        self.expect(OVER_BUDGET, "plan", model, "--cascade", "auto", "--rewrite", "none",
                    "--budget-activations", arenas[0], "--budget", 1000)

    def test_the_memory_of_a_device_is_a_budget(self):
        self.searches_whole_networks()
        self.expect(DONE, "zoo", "mobilenet-v1", "--width-multiplier", "0.25", "--resolution", "64",
                    "--int8", "-o", "m.tflite")
        least = self.expect(OVER_BUDGET, "plan", "m.tflite", "--cascade", "auto", "--budget", "1", "--json")
        need = json.loads(least.stdout)["compared"]["required_bytes"]
        rates = {"conv": 1000, "pointwise": 1000, "depthwise": 500}
        ram = {"name": "ram", "read_per_kilocycle": 1000, "write_per_kilocycle": 1000,
               "holds_activations": True}
        for name, size in (("small", need - 1), ("large", need), ("any", 0)):
            self.write_json(f"{name}.json", {"name": name, "memories": [{**ram, "bytes": size}],
                                             "per_kilocycle": rates})
        words = ("plan", "m.tflite", "--cascade", "auto")
        for more in ((), ("--budget", "1MiB")):
            result = self.expect(OVER_BUDGET, *words, "--device", "small.json", *more, "-o", "cut.tflite")
            self.assertIn(b"over budget", result.stderr)
            self.assertFalse((self.folder / "cut.tflite").exists())
        report = self.report_of(*words, "--device", "large.json")
        self.assertTrue(report["fits"])
        self.assertEqual(report["budget_device_bytes"], need)
        self.assertEqual(report["compared"], {"number": "total_arena", "required_bytes": need,
                                              "available_bytes": need})
        self.assertTrue(any("memory 'ram'" in note for note in report["notes"]))
        self.assertIsNone(self.report_of(*words, "--device", "any.json")["fits"])
        # A preset's memory is one, too, but not that of the default device.
        report = self.report_of(*words, "--device", "cortex-m4")
        self.assertEqual([report["fits"], report["budget_device_bytes"]], [True, 655360])
        self.assertIsNone(self.report_of(*words)["budget_device_bytes"])

    def test_the_memory_for_weights_is_a_budget(self):
        self.expect(DONE, "zoo", "mobilenet-v1", "--width-multiplier", "0.25", "--resolution", "32", "--int8",
                    "-o", "m.tflite")
        constants = json.loads(self.expect(DONE, "inspect", "m.tflite", "--json").stdout)["constant_bytes"]
        rates = {"conv": 1000, "pointwise": 1000, "depthwise": 500}
        ram = {"name": "ram", "bytes": 1 << 20, "holds_activations": True}
        for name, size in (("small", constants - 1), ("enough", constants)):
            flash = {"name": "flash", "source": "this test", "bytes": size, "holds_weights": True}
            self.write_json(f"{name}.json", {"name": name, "memories": [ram, flash], "per_kilocycle": rates})
        words = ("plan", "m.tflite", "--cascade", "auto", "--effort", "quick")
        self.assertTrue(self.report_of(*words, "--device", "enough.json")["fits"])
        result = self.expect(OVER_BUDGET, *words, "--device", "small.json", "--json", "-o", "over.tflite")
        self.assertEqual(json.loads(result.stdout)["compared"],
                         {"number": "weights", "required_bytes": constants, "available_bytes": constants - 1})
        self.assertIn(b"weights required", result.stderr)
        self.assertFalse((self.folder / "over.tflite").exists())

    def test_rewriting_is_asked_for_beside_other_features(self):
        self.searches_whole_networks()
        self.expect(DONE, "zoo", "swiftnet-cell-a", "--int8", "-o", "cell.tflite")
        for words in (("--cascade", "auto"), ("--order", "kahn"), ("--memory", "a=64MiB,bw=1"),
                      ("--runtime", "neap", "--stream", "auto")):
            self.expect(DONE, "plan", "cell.tflite", "--rewrite", "bitwise", *words, "--plan",
                        "plan.json", "--force")
            self.expect(DONE, "check", "cell.tflite", "plan.json")

    def test_the_folder_of_the_model_is_not_in_what_is_written(self):
        self.expect(DONE, "zoo", "mobilenet-v1-vww", "--int8", "-o", "m.tflite")
        (self.folder / "other").mkdir()
        os.link(self.folder / "m.tflite", self.folder / "other/m.tflite")
        written = []
        for path in ("m.tflite", "other/m.tflite", self.folder / "other/m.tflite"):
            report = self.report_of("plan", path, "--plan", "plan.json", "--emit-c", "m.h", "--force")
            self.assertEqual(report["model"], str(path))
            written.append(((self.folder / "plan.json").read_bytes(),
                            (self.folder / "m.h").read_bytes()))
        self.assertEqual(written[0], written[1])
        self.assertEqual(written[0], written[2])
        self.assertEqual(json.loads(written[0][0])["model"], "m.tflite")

    def test_the_same_plan_with_and_without_a_written_model(self):
        if not WITHOUT_WEIGHTS.is_file():
            self.skipTest("the shared models are not here")
        reports = [self.report_of("plan", WITHOUT_WEIGHTS, "--runtime", "neap", *words)
                   for words in ((), ("-o", "out.onnx"))]
        self.assertEqual(reports[0]["plan"], reports[1]["plan"])
        self.assertTrue(any("has no values of the weights" in note for note in reports[0]["notes"]))

    def test_every_verb_replays_the_edits_of_a_plan_in_one_order(self):
        """A plan of any origin may have both rewrites and tiles: no verb takes another order."""
        self.expect(DONE, "zoo", "mobilenet-v1", "--width-multiplier", "0.25", "--resolution", "32",
                    "--int8", "-o", "m.tflite")
        self.expect(DONE, "plan", "m.tflite", "--cascade", "auto", "--plan", "plan.json")
        for words in (("check", "m.tflite", "plan.json"),
                      ("run", "m.tflite", "--plan", "plan.json", "--compare"),
                      ("traffic", "m.tflite", "--plan", "plan.json", "--on-chip", "32KiB")):
            self.expect(DONE, *words)
        plan = json.loads((self.folder / "plan.json").read_text())
        plan["rewrites"] = [{"rule": "no-op", "op": 0, "exactness": "bitwise", "parameters": [],
                             "bytes_saved": 0}]
        self.write_json("both.json", plan)
        messages = []
        for words in (("check", "m.tflite", "both.json"),
                      ("run", "m.tflite", "--plan", "both.json"),
                      ("traffic", "m.tflite", "--plan", "both.json", "--on-chip", "32KiB")):
            message = self.expect(FAILED, *words).stderr.decode()
            messages.append(message.split(": ", 1)[1])
        self.assertEqual(len(set(messages)), 1, messages)

    @unittest.skipUnless(DETECTOR.is_file(), f"no {DETECTOR}")
    def test_every_verb_sees_the_model_of_all_edits(self):
        """Plan, check, run and traffic agree on plans that change the interface and cut or rewrite the network."""
        tiles, rewrites = ("--cascade", "auto"), ("--rewrite", "bitwise")
        for words, tiled, rewritten in (((*tiles, "--rewrite", "none"), True, False), (rewrites, False, True),
                                        ((*tiles, *rewrites), True, True)):
            report = self.report_of("plan", DETECTOR, "--integer-io", "both", "--max-states", "300", *words,
                                    "--plan", "plan.json", "--force")
            plan = json.loads((self.folder / "plan.json").read_text())
            self.assertEqual((len(plan["caller_ops"]), bool(plan.get("cascade")), bool(plan["rewrites"])),
                             (4, tiled, rewritten), words)
            planned = report["plan"]
            checked = self.report_of("check", DETECTOR, "plan.json")["entries"][0]
            ran = self.report_of("run", DETECTOR, "--plan", "plan.json", "--compare")
            traffic = self.report_of("traffic", DETECTOR, "--plan", "plan.json", "--on-chip", "64KiB")
            self.assertEqual((checked["peak_bytes"], traffic["peak_bytes"]), (planned["peak_bytes"],) * 2, words)
            self.assertEqual((checked["arena_bytes"], ran["high_water_bytes"], ran["equal"]),
                             (planned["arena_bytes"], planned["arena_bytes"], True), words)
            # A plan without one of its edits is a plan of another model, for each verb.
            for edit in ("caller_ops", *(("cascade",) if tiled else ()), *(("rewrites",) if rewritten else ())):
                self.write_json("other.json", {**plan, edit: plan[edit][:-1] if edit != "cascade" else None})
                messages = [self.expect(FAILED, *verb).stderr.decode().splitlines()[0].split(": ", 1)[1]
                            for verb in (("run", DETECTOR, "--plan", "other.json"),
                                         ("check", DETECTOR, "other.json"),
                                         ("traffic", DETECTOR, "--plan", "other.json", "--on-chip", "64KiB"))]
                if edit != "cascade":  # the edits themselves are refused, in the same words
                    self.assertEqual(set(messages), {messages[0]}, (words, edit))
                    self.assertIn(DETECTOR.name, messages[0])

    def test_batch_and_plan_take_the_same_rewrites(self):
        self.searches_whole_networks()
        names = []
        for network, words in (("swiftnet.onnx", ()), ("swiftnet.tflite", ("--int8",)),
                               ("swiftnet-cell-a.tflite", ("--int8",)), ("darts-imagenet-cell.onnx", ())):
            made = self.run_neap("zoo", network.split(".")[0], *words, "-o", network)
            if made.returncode == DONE:
                names.append(network)
        self.assertGreater(len(names), 2)
        (self.folder / "m.jsonl").write_text("".join(json.dumps({"id": name, "path": name}) + "\n"
                                                     for name in names))
        for runtime in ("ideal", "neap"):
            words = ("--runtime", runtime, "--rewrite", "bitwise")
            answers = self.expect(DONE, "batch", "m.jsonl", *words).stdout.decode().splitlines()
            for name, answer in zip(names, map(json.loads, answers)):
                planned = self.report_of("plan", name, *words)
                self.assertEqual(answer["arena_bytes"], planned["plan"]["arena_bytes"], (name, runtime))

    def test_what_does_not_go_together(self):
        self.zoo("net.onnx")
        (self.folder / "s.csv").write_text("0,4\n")
        self.expect(USAGE, "plan", "net.onnx", "--rewrite", "bitwise", "--scratch", "s.csv")


if __name__ == "__main__":
    unittest.main()
