# SPDX-License-Identifier: Apache-2.0
"""Streamed plans: neap plan --stream, neap check and neap run of them."""

import json
import re
import unittest

from neap_cli import DONE, FAILED, OVER_BUDGET, USAGE, CliTest


class StreamTest(CliTest):
    def setUp(self):
        super().setUp()
        self.expect(DONE, "zoo", "mobilenet-v1-vww", "--int8", "-o", "net.tflite", "--quiet")

    def plan(self, *words):
        return self.report_of("plan", "net.tflite", "--runtime", "neap", "--stream", "auto",
                              "--plan", "plan.json", "--force", *words)

    def run_plan(self):
        self.expect(DONE, "check", "net.tflite", "plan.json")
        report = self.report_of("run", "net.tflite", "--plan", "plan.json", "--compare",
                                "--random-inputs", "3")
        self.assertIs(report["equal"], True)
        self.assertEqual(report["violations"], [])
        self.assertEqual(report["high_water_bytes"], report["arena_bytes"])
        return report

    def test_the_report_names_the_fullest_segment_and_its_terms_add_up(self):
        for words in ((), ("--input", "rows"), ("--input", "external"), ("--fast", "8KiB"),
                      ("--fast", "8KiB", "--slow-weights")):
            text = self.expect(DONE, "plan", "net.tflite", "--runtime", "neap", "--stream", "auto", *words).stdout
            text = " ".join(text.decode().split()).replace(",", "")  # one line, no separators
            arena = int(re.match(r"Arena (\d+) B", text)[1])
            found = re.search(r"Arena fullest in segment \d+ of \d+ operators? .*?: (.*?) = (\d+) B\.", text)
            terms, total = found.groups()
            signed = re.findall(r"([-+]|^) ?(?:'[^']*' |\d+ more |weights )?(\d+)(?= |$)", terms)
            self.assertEqual(sum(-int(n) if sign == "-" else int(n) for sign, n in signed), int(total), terms)
            self.assertEqual(int(total), arena)

    def test_streamed_plans_run_in_fewer_bytes(self):
        layers = self.report_of("plan", "net.tflite", "--runtime", "neap")
        self.assertIsNone(layers["stream"])
        for source in ("resident", "external", "rows"):
            report = self.plan("--input", source)
            self.assertEqual(report["stream"]["input"], source)
            self.assertEqual(report["stream"]["macs"], report["stream"]["layerwise_macs"])
            self.assertLess(report["plan"]["arena_bytes"], layers["plan"]["arena_bytes"])
            self.assertLessEqual(report["stream"]["lower_bound_bytes"],
                                 report["plan"]["arena_bytes"])
            ran = self.run_plan()
            self.assertEqual(ran["arena_bytes"], report["plan"]["arena_bytes"])
            self.assertEqual(ran["macs"], report["stream"]["macs"])

    def test_a_skip_keeps_none_of_the_rows_that_it_leaves_out(self):
        # Skips of ResNet-8 read every other row, later than the convolutions beside them.
        self.expect(DONE, "zoo", "resnet8", "--int8", "-o", "net.tflite", "--force", "--quiet")
        for source, most in (("resident", 9_600), ("external", 7_720), ("rows", 8_100)):
            report = self.plan("--input", source)
            self.assertLessEqual(report["plan"]["arena_bytes"], most)
            self.assertEqual(report["stream"]["macs"], report["stream"]["layerwise_macs"])
            self.run_plan()

    def test_the_strongest_bound_comes_first(self):
        for source in ("external", "rows"):
            report = self.plan("--input", source)
            arena, any_plan = report["plan"]["arena_bytes"], report["plan"]["arena_lower_bound_bytes"]
            first, second = report["stream"]["lower_bounds"]
            self.assertEqual(first["bytes"], report["stream"]["lower_bound_bytes"])
            self.assertIn("every pixel once", first["over"])
            self.assertEqual(second, {"bytes": any_plan, "over": "every plan of this graph"})
            # On every machine, the bound over all plans is an output of two bytes.
            self.assertLess(20 * any_plan, first["bytes"])
            self.assertLess(arena, 2 * first["bytes"])
            text = self.expect(DONE, "plan", "net.tflite", "--runtime", "neap", "--stream", "auto",
                               "--input", source)
            head, table = text.stdout.decode().split("\n\n")[:2]
            self.assertIn(f"lower bound {first['bytes']:,} B over streamed plans that compute every",
                          " ".join(head.split()))
            arena_row = next(line for line in table.splitlines() if line.split()[0] == "arena")
            self.assertEqual(arena_row.split()[2], f"{first['bytes']:,}")
            # The checker derives the bound by itself.
            plan = json.loads((self.folder / "plan.json").read_text())
            plan["entries"][0]["stream"]["lower_bound_bytes"] = first["bytes"] + 300
            (self.folder / "more.json").write_text(json.dumps(plan))
            refused = self.run_neap("check", "net.tflite", "more.json")
            self.assertEqual(refused.returncode, FAILED)
            self.assertIn("stream.lower_bound_bytes", (refused.stdout + refused.stderr).decode())

    def test_time_limits(self):
        report = self.plan("--time-limit", "0.000001")
        self.assertFalse(report["interrupted"])
        self.assertTrue(any("limit ended the search" in note for note in report["notes"]))
        self.run_plan()
        front = self.report_of("pareto", "net.tflite", "--runtime", "neap", "--time-limit", "0.000001")
        self.assertTrue(front["cut_short"])
        self.assertFalse(front["interrupted"])

    def test_blocks_as_wide_as_asked(self):
        self.searches_whole_networks()
        narrow = self.plan("--block-columns", "1")
        wide = self.plan("--block-columns", "row")
        self.run_plan()
        self.assertLess(narrow["plan"]["arena_bytes"], wide["plan"]["arena_bytes"])
        self.assertGreater(narrow["stream"]["cycles"], wide["stream"]["cycles"])

    def test_the_same_plan_every_time(self):
        self.searches_whole_networks()
        self.plan()
        first = (self.folder / "plan.json").read_bytes()
        self.plan()
        self.assertEqual(first, (self.folder / "plan.json").read_bytes())

    def test_budgets(self):
        self.searches_whole_networks()
        least = self.plan()["plan"]["arena_bytes"]
        self.expect(DONE, "plan", "net.tflite", "--runtime", "neap", "--stream", "auto", "--budget",
                    str(least))
        self.expect(OVER_BUDGET, "plan", "net.tflite", "--runtime", "neap", "--stream", "auto",
                    "--budget", "9KiB")

    def test_two_memories(self):
        traffic = []
        for limit in (4096, 8192, 16384):
            report = self.plan("--fast", str(limit))
            slow = report["stream"]["slow"]
            self.assertEqual((report["stream"]["input"], slow["fast_bytes"], report["fits"]), ("slow", limit, True))
            self.assertLessEqual(report["plan"]["arena_bytes"], limit)
            self.assertLessEqual(slow["traffic_lower_bound_bytes"], slow["traffic_bytes"])
            ran = self.run_plan()
            self.assertEqual(ran["slow"], {name: slow[name] for name in ("bytes", "read_bytes", "written_bytes")})
            traffic.append(slow["traffic_bytes"])
        self.assertEqual(traffic, sorted(traffic, reverse=True))
        self.assertEqual(traffic[-1], slow["traffic_lower_bound_bytes"])  # input and output alone

    def test_prefetch(self):
        """The same bytes, in the same fast memory, in fewer modelled cycles."""
        for limit in (8192, 16384):
            plain = self.plan("--fast", str(limit))
            report = self.plan("--fast", str(limit), "--prefetch")
            slow = report["stream"]["slow"]
            self.assertEqual(slow["traffic_bytes"], plain["stream"]["slow"]["traffic_bytes"])
            self.assertEqual(plain["stream"]["slow"]["ahead_bytes"], 0)
            self.assertLessEqual(report["plan"]["arena_bytes"], limit)
            self.assertLessEqual(report["stream"]["cycles"], plain["stream"]["cycles"])
            self.assertEqual(self.run_plan()["slow"]["read_bytes"], slow["read_bytes"])
            plan = json.loads((self.folder / "plan.json").read_text())
            ahead = [op for segment in plan["entries"][0]["stream"]["segments"] for op in segment["ops"] if op.get("ahead")]
            self.assertEqual(bool(ahead), slow["ahead_bytes"] > 0)
        refused = self.expect(USAGE, "plan", "net.tflite", "--runtime", "neap", "--stream", "auto", "--prefetch")
        self.assertIn(b"--prefetch requires --fast", refused.stderr)

    def test_weights_in_slow_memory(self):
        """Their copies count, and they have a place in fast memory."""
        traffic = []
        for limit in (8192, 32768, 1 << 20):
            plain = self.plan("--fast", str(limit))["stream"]["slow"]
            self.assertNotIn("weight_bytes", plain)
            report = self.plan("--fast", str(limit), "--slow-weights")
            slow = report["stream"]["slow"]
            self.assertLessEqual(report["plan"]["arena_bytes"], limit)
            self.assertLessEqual(slow["traffic_lower_bound_bytes"], slow["traffic_bytes"])
            flash = report["flash"]
            self.assertEqual(flash["copied_bytes"] + flash["in_place_bytes"], flash["weights_bytes"] + flash["constants_bytes"])
            self.assertLessEqual(flash["weights_bytes"], flash["copied_bytes"])
            self.assertLessEqual(flash["copied_bytes"], slow["weight_bytes"])
            self.assertLessEqual(plain["traffic_bytes"], slow["traffic_bytes"] - slow["weight_bytes"])
            self.assertEqual(self.run_plan()["slow"], {name: slow[name] for name in ("bytes", "read_bytes", "written_bytes")})
            traffic.append(slow["traffic_bytes"])
        self.assertEqual(traffic, sorted(traffic, reverse=True))
        self.assertEqual(traffic[-1], slow["traffic_lower_bound_bytes"])  # all that there is, once
        self.expect(DONE, "emit", "net.tflite", "--plan", "plan.json", "-o", "net", "--quiet")
        header = (self.folder / "net/net.h").read_text()
        self.assertIn(f"#define NET_SLOW_READ_BYTES {slow['read_bytes']}\n", header)
        self.assertIn(f"#define NET_SLOW_WEIGHT_BYTES {slow['weight_bytes']}\n", header)
        # Their kernels are portable, regardless of --kernels, and not modelled.
        dsp = ("emit", "net.tflite", "--plan", "plan.json", "-o", "net", "--force", "--kernels", "dsp")
        self.assertNotIn("modelled_instructions", self.report_of(*dsp))
        self.assertIn(b"Operators with weights in slow memory have portable kernels.", self.expect(DONE, *dsp).stdout)
        refused = self.expect(USAGE, "plan", "net.tflite", "--runtime", "neap", "--stream", "auto", "--slow-weights")
        self.assertIn(b"--slow-weights requires --fast", refused.stderr)

    def test_a_fast_memory_that_is_too_small(self):
        run = self.expect(OVER_BUDGET, "plan", "net.tflite", "--runtime", "neap", "--stream", "auto", "--fast", "1000",
                          "--plan", "plan.json")
        self.assertRegex(run.stderr.decode(), r"over budget: required [\d,]+ B .*available 1,000 B")
        ran = self.run_plan()
        self.assertGreater(ran["arena_bytes"], 1000)

    def test_the_order_of_least_traffic(self):
        """A network of several orders gets the one that moves the fewest bytes."""
        self.expect(DONE, "zoo", "darts-imagenet-cell", "--int8", "-o", "cell.tflite", "--quiet")

        def slow(*more):
            return self.report_of("plan", "cell.tflite", "--runtime", "neap", "--stream", "auto", "--fast", "16KiB",
                                  *more)["stream"]["slow"]
        traffic = {order: slow("--order", order)["traffic_bytes"] for order in ("file", "lpmf")}
        self.assertLess(traffic["file"], traffic["lpmf"])
        self.assertLessEqual(slow()["traffic_bytes"], traffic["file"])

    def test_memories_of_a_board(self):
        """A board with several memories gives both limits; --fast replaces the first."""
        slow = lambda *words: self.plan(*words)["stream"]["slow"]
        self.assertEqual(slow("--board", "nucleo-h743zi")["fast_bytes"], (128 - 16) * 1024)
        self.assertEqual(slow("--board", "nucleo-h743zi", "--reserve", "64KiB")["fast_bytes"], 64 * 1024)
        self.assertEqual(slow("--board", "nucleo-h743zi", "--fast", "8KiB")["fast_bytes"], 8192)
        self.assertEqual(slow("--board", "ethos-u-sram-384k")["fast_bytes"], (384 - 16) * 1024)
        one = self.plan("--board", "pico-2")
        self.assertNotIn("slow", one["stream"])
        self.assertEqual(one["budget_bytes"], (520 - 16) * 1024)
        self.assertNotIn("slow", self.plan("--board", "nucleo-h743zi", "--input", "rows")["stream"])
        # Its slow tensors need more than the AXI SRAM, not more than an SDRAM.
        self.run_neap("zoo", "mobilenet-v1", "--int8", "-o", "wide.tflite", "--quiet")
        words = ("plan", "wide.tflite", "--runtime", "neap", "--stream", "auto", "--fast", "12KiB", "--board")
        run = self.expect(OVER_BUDGET, *words, "nucleo-h743zi")
        self.assertIn(b"over budget: slow memory required 802,816 B (784.0 KiB), available 524,288 B", run.stderr)
        self.expect(DONE, *words, "portenta-h7")
        for more in (("--board", "nucleo-h743zi", "--reserve", "200KiB"),
                     ("--board", "nucleo-h743zi", "--reserve", "1KiB", "--fast", "8KiB")):
            self.expect(USAGE, "plan", "net.tflite", "--runtime", "neap", "--stream", "auto", *more)
        refused = self.expect(USAGE, "plan", "net.tflite", "--board", "ethos-u-sram-384k")
        self.assertIn(b"without a target of tflm", refused.stderr)

    def test_a_wrong_count_of_slow_bytes_is_found(self):
        self.plan("--fast", "8KiB")
        plan = json.loads((self.folder / "plan.json").read_text())
        plan["entries"][0]["stream"]["slow"]["written_bytes"] -= 1
        self.write_json("bad.json", plan)
        self.assertIn(b"written_bytes", self.run_neap("check", "net.tflite", "bad.json").stderr)
        self.expect(FAILED, "check", "net.tflite", "bad.json")
        self.assertIn(b"slow memory", self.run_neap("run", "net.tflite", "--plan", "bad.json").stderr)

    def test_damaged_plans_are_found(self):
        self.plan()
        plan = json.loads((self.folder / "plan.json").read_text())
        segment = next(s for s in plan["entries"][0]["stream"]["segments"]
                       if len(s["ops"]) > 1 and not s["whole"])
        rows = segment["ops"][0]["rows"]
        rows[len(rows) // 2][1] = rows[len(rows) // 2][0]
        self.write_json("bad.json", plan)
        self.expect(FAILED, "check", "net.tflite", "bad.json")
        result = self.run_neap("run", "net.tflite", "--plan", "bad.json")
        self.assertEqual(result.returncode, FAILED)
        self.assertIn(b"before it is written", result.stderr)

    def test_fronts(self):
        self.searches_whole_networks()
        for source in ("resident", "external"):
            report = self.report_of("pareto", "net.tflite", "--runtime", "neap", "--input", source,
                                    "--plans", "plans", "--force")
            points = report["points"]
            self.assertEqual(report["input"], source)
            self.assertGreater(len(points), 1)
            for before, after in zip(points, points[1:]):
                self.assertGreaterEqual(before["arena_bytes"], after["arena_bytes"])
                self.assertTrue(after["macs"] > before["macs"] or after["cycles"] > before["cycles"])
            for i in (0, len(points) - 1):
                self.expect(DONE, "check", "net.tflite", f"plans/{i}.json")
                ran = self.report_of("run", "net.tflite", "--plan", f"plans/{i}.json", "--compare",
                                     "--random-inputs", "3")
                self.assertIs(ran["equal"], True)
                self.assertEqual(ran["high_water_bytes"], points[i]["arena_bytes"])
                self.assertEqual(ran["macs"], points[i]["macs"])
        self.expect(USAGE, "pareto", "net.tflite", "--input", "external")

    def test_fronts_of_emitted_c(self):
        self.searches_whole_networks()
        least = {}
        for target in ("cortex-m4", "cortex-m55"):
            report = self.report_of("pareto", "net.tflite", "--target", target)
            self.assertEqual(report["criteria"], ["arena_bytes", "instructions", "macs"])
            self.assertIn(target, report["device"])
            for point in report["points"]:
                self.assertIsNone(point["cycles"])
                self.assertGreater(point["instructions"], 0)
            least[target] = min(point["instructions"] for point in report["points"])
            text = self.expect(DONE, "pareto", "net.tflite", "--target", target).stdout.decode()
            self.assertIn("instructions", text)
            self.assertNotIn("cycles", text)
        self.assertLess(2 * least["cortex-m55"], least["cortex-m4"])
        for words in (("cortex-m7",), ("cortex-m4", "--runtime", "tflm"), ("cortex-m4", "--features", "tiles")):
            self.expect(USAGE, "pareto", "net.tflite", "--target", *words)

    def test_a_limit_of_instructions(self):
        self.expect(DONE, "zoo", "resnet8", "--int8", "-o", "resnet8.tflite", "--quiet")
        emit = ("emit", "resnet8.tflite", "-o", "net", "--force", "--kernels", "dsp")
        whole = self.report_of(*emit, "--stream", "off")
        least = self.report_of(*emit)
        fast = self.report_of(*emit, "--max-slowdown", "5")
        self.assertLess(least["arena_bytes"], fast["arena_bytes"])
        self.assertLess(fast["arena_bytes"], whole["arena_bytes"])
        self.assertGreater(least["modelled_instructions"] * 100, whole["modelled_instructions"] * 105)
        self.assertLessEqual(fast["modelled_instructions"] * 100, whole["modelled_instructions"] * 105)
        for words in (("--kernels", "portable"), ("--kernels", "dsp", "--stream", "off"),
                      ("--kernels", "mve", "--fast", "8KiB"), ("--kernels", "dsp", "--received-plans")):
            self.expect(USAGE, "emit", "resnet8.tflite", "-o", "other", "--max-slowdown", "5", *words)

    def test_usage(self):
        for words in (("--stream", "auto"), ("--runtime", "neap", "--input", "rows"),
                      ("--runtime", "neap", "--stream", "auto", "-o", "out.tflite"),
                      ("--runtime", "neap", "--stream", "auto", "--max-macs", "0.5"),
                      ("--runtime", "neap", "--stream", "auto", "--block-columns", "0"),
                      ("--runtime", "neap", "--stream", "sometimes"),
                      ("--runtime", "neap", "--fast", "8KiB"),
                      ("--runtime", "neap", "--stream", "auto", "--fast", "0"),
                      ("--runtime", "neap", "--stream", "auto", "--fast", "8KiB", "--budget", "8KiB"),
                      ("--runtime", "neap", "--stream", "auto", "--fast", "8KiB", "--input", "rows")):
            self.expect(USAGE, "plan", "net.tflite", *words)


if __name__ == "__main__":
    unittest.main()
