# SPDX-License-Identifier: Apache-2.0
"""neap plan --cascade, neap pareto: operators in tiles."""

import json
import re

from neap_cli import DONE, FAILED, OVER_BUDGET, USAGE, CliTest

TILES = ("--features", "tiles")  # of neap pareto


class Cascade(CliTest):

    def setUp(self):
        super().setUp()
        self.expect(DONE, "zoo", "mobilenet-v1", "--width-multiplier", "0.25", "--resolution", "64",
                    "--int8", "-o", "m.tflite")

    def test_less_memory_and_the_same_outputs(self):
        report = self.report_of("plan", "m.tflite", "--cascade", "auto", "-o", "cut.tflite",
                                "--plan", "p.json")
        cascade = report["cascade"]
        self.assertGreater(cascade["stripes"], 1)
        self.assertGreaterEqual(cascade["macs_ratio"], 1)
        self.assertLess(report["delivered"]["total_arena_bytes"],
                        cascade["uncut"]["total_arena_bytes"])
        self.assertEqual(report["kernels"], "copies")
        self.expect(DONE, "check", "m.tflite", "p.json")
        run = self.report_of("run", "m.tflite", "--plan", "p.json", "--compare")
        self.assertTrue(run["equal"])
        self.assertEqual(run["violations"], [])
        # A cut that is not there makes another model, for which nothing of the plan is right.
        plan = json.loads((self.folder / "p.json").read_text())
        plan["cascade"]["regions"][0]["splits"][0]["cuts"][0] += 1
        (self.folder / "p.json").write_text(json.dumps(plan))
        self.assertEqual(self.run_neap("check", "m.tflite", "p.json").returncode, FAILED)

    def test_tiles_in_several_memories(self):
        memories = ("--memory", "sram=12KiB,bw=8", "--memory", "psram=64KiB,bw=1")
        words = ("plan", "m.tflite", "--runtime", "neap", "--skip", "rewrite", "--plan", "p.json", "--force")
        small = self.report_of(*words, "--cascade", "auto")
        uncut = self.report_of(*words, *memories)
        report = self.report_of(*words, *memories, "--cascade", "auto")
        self.assertLess(report["access_cycles"], uncut["access_cycles"])
        # Not the tiles of the smallest arena, which take longer there.
        self.assertNotEqual(report["cascade"]["regions"], small["cascade"]["regions"])
        self.assertEqual(sum(memory["arena_bytes"] for memory in report["memories"]),
                         report["plan"]["arena_bytes"])
        self.assertTrue(all(0 < memory["arena_bytes"] <= memory["capacity_bytes"] for memory in report["memories"]))
        self.expect(DONE, "check", "m.tflite", "p.json")
        run = self.report_of("run", "m.tflite", "--plan", "p.json", "--compare")
        self.assertTrue(run["equal"])
        self.assertEqual(run["violations"], [])
        # A tensor in the other memory takes another time; tensors are beyond the end of a smaller one.
        plan = json.loads((self.folder / "p.json").read_text())
        for change in (lambda: plan["entries"][0]["tensors"][0].update(memory=1 - plan["entries"][0]["tensors"][0]["memory"]),
                       lambda: plan["memories"][0].update(capacity_bytes=report["memories"][0]["arena_bytes"] - 1)):
            change()
            (self.folder / "wrong.json").write_text(json.dumps(plan))
            self.assertEqual(self.run_neap("check", "m.tflite", "wrong.json").returncode, FAILED)
            plan = json.loads((self.folder / "p.json").read_text())
        # Memories that are given replace the device's memory for activations.
        ram = {"name": "ram", "bytes": 1024, "read_per_kilocycle": 4000, "write_per_kilocycle": 4000, "holds_activations": True}
        (self.folder / "small.json").write_text(json.dumps({
            "name": "small", "memories": [ram, {"name": "flash", "read_per_kilocycle": 50, "holds_weights": True}],
            "per_kilocycle": {"conv": 300, "pointwise": 350, "depthwise": 120}}))
        self.expect(OVER_BUDGET, *words, "--cascade", "auto", "--device", "small.json")
        self.expect(DONE, *words, *memories, "--cascade", "auto", "--device", "small.json")
        self.expect(OVER_BUDGET, *words, "--cascade", "auto", "--memory", "sram=2KiB,bw=8", "--memory", "psram=4KiB,bw=1")

    def test_tiles_that_share_bodies(self):
        self.searches_whole_networks()
        self.expect(DONE, "zoo", "mobilenet-v1", "--width-multiplier", "0.25", "--resolution", "128",
                    "--int8", "-o", "large.tflite")
        words = ("plan", "large.tflite", "--cascade", "auto", "--overlap", "tflm-reference")
        clones = self.report_of(*words)
        shared = self.report_of(*words, "--cascade-bodies", "shared", "-o", "cut.tflite", "--plan", "p.json")
        self.assertEqual(clones["cascade"]["bodies"], "clones")
        self.assertEqual(shared["cascade"]["bodies"], "shared")
        self.assertLess(shared["delivered"]["total_arena_bytes"],
                        clones["delivered"]["total_arena_bytes"])
        self.assertTrue(any("by IF" in note for note in shared["notes"]))
        self.expect(DONE, "check", "large.tflite", "p.json")
        run = self.report_of("run", "large.tflite", "--plan", "p.json", "--compare")
        self.assertTrue(run["equal"])
        self.assertEqual(run["violations"], [])
        # The written model computes the same as the given one, without the plan, too.
        whole, cut = (self.report_of("run", name)["outputs"] for name in ("large.tflite", "cut.tflite"))
        self.assertEqual(whole[0]["sha256"], cut[0]["sha256"])
        # Without its bodies the plan is about another model.
        plan = json.loads((self.folder / "p.json").read_text())
        del plan["cascade"]["bodies"]
        (self.folder / "p.json").write_text(json.dumps(plan))
        self.assertEqual(self.run_neap("check", "large.tflite", "p.json").returncode, FAILED)
        plan["cascade"]["bodies"] = "clones"
        (self.folder / "p.json").write_text(json.dumps(plan))
        refused = self.expect(FAILED, "check", "large.tflite", "p.json")
        self.assertIn(b"cascade.bodies is", refused.stderr)

    def test_the_cheapest_plan_that_fits(self):
        self.searches_whole_networks()
        front = self.report_of("pareto", "m.tflite", *TILES)["points"]
        self.assertGreater(len(front), 1)
        arenas = [point["arena_bytes"] for point in front]
        self.assertEqual(arenas, sorted(arenas, reverse=True))
        middle = front[len(front) // 2]
        report = self.report_of("plan", "m.tflite", "--cascade", "auto", "--budget-activations",
                                str(middle["arena_bytes"]))
        self.assertTrue(report["fits"])
        self.assertLessEqual(report["delivered"]["arena_bytes"], middle["arena_bytes"])

    @staticmethod
    def beaten(points, fields):
        """Points that another one beats in these fields, or equals in all and comes before. A total that
        is not known is no better than any."""
        keys = [tuple(float("inf") if point[field] is None else point[field] for field in fields)
                for point in points]
        return [i for i, key in enumerate(keys)
                if any(j != i and all(a <= b for a, b in zip(other, key)) and (other != key or j < i)
                       for j, other in enumerate(keys))]

    def test_points_are_compared_by_the_criteria_that_are_named(self):
        self.searches_whole_networks()
        front = self.report_of("pareto", "m.tflite", *TILES)
        self.assertEqual(front["criteria"], ["arena_bytes", "total_arena_bytes", "cycles"])
        self.assertEqual(self.beaten(front["points"], front["criteria"]), [])
        # Multiplications are a criterion of their own if requested.
        more = self.report_of("pareto", "m.tflite", *TILES, "--criteria", "arena,total,cycles,macs")
        self.assertEqual(more["criteria"], ["arena_bytes", "total_arena_bytes", "cycles", "macs"])
        self.assertEqual(self.beaten(more["points"], more["criteria"]), [])
        # What no other point beats, none beats with one criterion more.
        values = [{tuple(point[field] for field in front["criteria"]) for point in points["points"]}
                  for points in (front, more)]
        self.assertLessEqual(values[0], values[1])
        arena, = self.report_of("pareto", "m.tflite", *TILES, "--criteria", "arena")["points"]
        self.assertLessEqual(arena["arena_bytes"], min(point["arena_bytes"] for point in front["points"]))
        text = self.expect(DONE, "pareto", "m.tflite", *TILES).stdout
        self.assertIn(b"none is beaten by another in arena, total arena and cycles", text)
        for wrong in ("bytes", "arena,", "arena,time"):
            self.expect(USAGE, "pareto", "m.tflite", "--criteria", wrong)
        self.expect(USAGE, "pareto", "m.tflite", "--runtime", "litert", "--criteria", "total")
        self.expect(USAGE, "pareto", "m.tflite", "--runtime", "neap", "--criteria", "arena,total")
        streams = self.report_of("pareto", "m.tflite", "--runtime", "neap", "--criteria", "arena,cycles")
        self.assertEqual(self.beaten(streams["points"], streams["criteria"]), [])

    def test_the_page_of_a_front(self):
        for words in (TILES, ("--runtime", "neap")):
            front = self.report_of("pareto", "m.tflite", *words, "--html", "page.html", "--force")
            page = (self.folder / "page.html").read_text()
            data = json.loads(re.search(r'id="neap-data"[^>]*>(.*?)</script>', page, re.S)[1])
            self.assertEqual(data["points"], front["points"])
            self.assertEqual(page.count("<tr><td>"), len(front["points"]))
            self.assertIn(f"<td>{front['points'][-1]['arena_bytes']:,}</td>", page)
            self.assertIn("<svg", page)
        self.expect(FAILED, "pareto", "m.tflite", *TILES, "--html", "page.html")
        self.assertEqual((self.folder / "page.html").read_text(), page)
        self.expect(USAGE, "pareto", "m.tflite", *TILES, "--html", "m.tflite", "--force")

    def test_the_front_of_all_features(self):
        self.searches_whole_networks()
        self.expect(DONE, "zoo", "mobilenet-v1-vww", "--int8", "-o", "vww.tflite")
        front = self.report_of("pareto", "vww.tflite")
        points = front["points"]
        self.assertEqual({point["kind"] for point in points},
                         {"as given", "rewritten", "tiles", "rewritten and tiles", "streamed"})
        self.assertEqual({point["requires"] for point in points}, {None, "TFLM reference kernels", "neap run or neap emit"})
        for point in points:
            for other in points:
                if other is point or other["requires"] not in (None, point["requires"]):
                    continue
                fields = [field for field in front["criteria"]
                          if field != "total_arena_bytes" or not {point["kind"], other["kind"]} & {"streamed"}]
                self.assertFalse(all(other[field] <= point[field] for field in fields), (point, other))
        # No feature by itself, and no combination, gives what the front lacks.
        for words, required in (((), {None}), (("--cascade", "auto"), {None}),
                                (("--overlap", "tflm-reference"), {None, "TFLM reference kernels"}),
                                (("--cascade", "auto", "--overlap", "tflm-reference"), {None, "TFLM reference kernels"}),
                                (("--runtime", "neap", "--stream", "auto"), {None, "neap run or neap emit"})):
            report = self.report_of("plan", "vww.tflite", *words)
            least = min(point["arena_bytes"] for point in points if point["requires"] in required)
            self.assertLessEqual(least, report["plan"]["arena_bytes"], words)
        # Every arena is delivered for the command that --help states.
        for required, words in ((None, ()), ("TFLM reference kernels", ("--overlap", "tflm-reference"))):
            of_kind = [point for point in points if point["requires"] == required]
            for point in (of_kind[0], of_kind[len(of_kind) // 2], of_kind[-1]):
                report = self.report_of("plan", "vww.tflite", "--effort", "default", "--budget-activations",
                                        point["arena_bytes"], *words)
                self.assertTrue(report["fits"], point)
        text = self.expect(DONE, "pareto", "vww.tflite").stdout.decode()
        self.assertIn("(a) requires ", text)
        self.assertLessEqual(max(map(len, text.splitlines())), 100)
        # What the user decides on is left out, or is no requirement.
        named = self.report_of("pareto", "vww.tflite", "--overlap", "tflm-reference", "--runtime", "tflm")["points"]
        self.assertEqual({point["requires"] for point in named}, {None})
        self.assertEqual({point["overlap"] for point in named}, {"tflm-reference"})
        alone = self.report_of("pareto", "vww.tflite", *TILES)["points"]
        self.assertEqual({point["kind"] for point in alone}, {"as given", "tiles"})
        self.expect(USAGE, "pareto", "vww.tflite", "--features", "streams")
        self.expect(USAGE, "pareto", "vww.tflite", "--runtime", "neap", *TILES)
        self.expect(USAGE, "pareto", "vww.tflite", "--runtime", "neap", "--input", "nowhere")

    def test_limits_of_grids_are_options(self):
        self.searches_whole_networks()
        front = self.report_of("pareto", "m.tflite", *TILES)
        self.assertEqual(front["grids"], {"max_region_operators": 24, "max_region_tiles": 64,
                                          "max_tile_aspect": 2, "tile_grids": "auto"})
        few = self.report_of("pareto", "m.tflite", *TILES, "--max-region-operators", 2, "--max-region-tiles", 3)
        self.assertEqual(few["grids"]["max_region_tiles"], 3)
        for point in few["points"]:
            for region in point["regions"]:
                self.assertLessEqual(len(region["operators"]), 2)
                tiles = 1
                for split in region["splits"]:
                    tiles *= len(split["cuts"]) + 1
                self.assertLessEqual(tiles, 3)
        self.assertGreaterEqual(few["points"][-1]["arena_bytes"], front["points"][-1]["arena_bytes"])
        self.expect(DONE, "plan", "m.tflite", "--cascade", "auto", "--tile-grids", "all",
                    "--max-tile-aspect", 4, "--max-region-operators", 6, "--time-limit", 5)
        for words in (("--max-region-tiles", 1), ("--max-region-operators", 0), ("--max-tile-aspect", 0),
                      ("--tile-grids", "some")):
            self.expect(USAGE, "pareto", "m.tflite", *words)
        self.expect(USAGE, "plan", "m.tflite", "--max-region-tiles", 8)
        self.expect(USAGE, "plan", "m.tflite", "--cascade", "off", "--tile-grids", "all")
        self.expect(USAGE, "pareto", "m.tflite", "--runtime", "neap", "--tile-grids", "all")

    def test_too_small_a_budget(self):
        self.searches_whole_networks()
        result = self.expect(OVER_BUDGET, "plan", "m.tflite", "--cascade", "auto", "--budget", "1KiB",
                             "-o", "cut.tflite")
        self.assertIn(b"over budget", result.stderr)
        self.assertFalse((self.folder / "cut.tflite").exists())

    def test_devices(self):
        self.expect(USAGE, "plan", "m.tflite", "--device", "cortex-m7")
        self.expect(USAGE, "plan", "m.tflite", "--cascade", "auto", "--device", "cortex-m99")
        (self.folder / "bad.json").write_text('{"memories": 3}')
        self.expect(FAILED, "pareto", "m.tflite", "--device", "bad.json")
        (self.folder / "mine.json").write_text(json.dumps({
            "name": "mine", "memories": [{"name": "ram", "read_per_kilocycle": 1000,
                                          "write_per_kilocycle": 1000, "holds_activations": True}],
            "per_kilocycle": {"conv": 1000, "pointwise": 1000, "depthwise": 500}}))
        report = self.report_of("pareto", "m.tflite", "--device", "mine.json")
        self.assertEqual(report["device"], "mine")

    def test_weights_that_pay_in_fast_memory(self):
        self.searches_whole_networks()
        # Weights come at a twentieth of a byte a cycle: where tiles read them again, a copy pays.
        ram = {"name": "ram", "bytes": 1 << 20, "read_per_kilocycle": 4000, "write_per_kilocycle": 4000,
               "holds_activations": True}
        flash = {"name": "flash", "read_per_kilocycle": 50, "holds_weights": True}
        rates = {"conv": 300, "pointwise": 350, "depthwise": 120}
        for name, size in (("roomy", 1 << 20), ("full", 1)):
            (self.folder / f"{name}.json").write_text(json.dumps({
                "name": name, "memories": [{**ram, "bytes": size}, flash], "per_kilocycle": rates}))
        roomy = self.report_of("pareto", "m.tflite", *TILES, "--device", "roomy.json")["points"]
        cut = [point for point in roomy if point["regions"]]
        self.assertTrue(any(point["copies"] for point in cut))
        for point in cut:
            inside = {op for region in point["regions"] for op in region["operators"]}
            for copy in point["copies"]:
                self.assertIn(copy["operator"], inside)
                self.assertGreater(copy["reads"], 1)
                self.assertLessEqual(point["arena_bytes"] + copy["bytes"], 1 << 20)
        full = self.report_of("pareto", "m.tflite", *TILES, "--device", "full.json")["points"]
        self.assertFalse(any(point["copies"] for point in full))

    def test_fronts_know_the_kernels_of_the_runtime(self):
        for words in (("--overlap", "neap"), ("--overlap", "copies", "--runtime", "litert"),
                      ("--overlap", "tflm-reference", "--runtime", "litert")):
            self.expect(USAGE, "pareto", "m.tflite", *words)

    def test_time_limits(self):
        # So short that nothing is searched: the plan without a search is reported, checked and written.
        report = self.report_of("plan", "m.tflite", "--cascade", "auto", "--time-limit", "0.000001",
                                "-o", "cut.tflite", "--plan", "p.json")
        self.assertFalse(report["interrupted"])
        self.assertTrue(any("limit ended the search" in note for note in report["notes"]))
        self.expect(DONE, "check", "m.tflite", "p.json")
        front = self.report_of("pareto", "m.tflite", *TILES, "--time-limit", "0.000001")
        self.assertTrue(front["cut_short"])
        self.assertFalse(front["interrupted"])
        self.assertEqual(len(front["points"]), 1)
        self.assertFalse(self.report_of("pareto", "m.tflite")["cut_short"])
        self.expect(USAGE, "pareto", "m.tflite", "--time-limit", "-1")

    def test_what_does_not_go_together(self):
        for words in (("--order-only",), ("--order", "file")):
            self.expect(USAGE, "plan", "m.tflite", "--cascade", "auto", *words)
        shared = ("--cascade-bodies", "shared")
        for words in (shared, ("--cascade", "auto", "--runtime", "neap", *shared),
                      ("--cascade", "auto", "--no-memory-plan", *shared),
                      ("--cascade", "auto", "--cascade-bodies", "loops")):
            self.expect(USAGE, "plan", "m.tflite", *words)
