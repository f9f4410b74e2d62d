# SPDX-License-Identifier: Apache-2.0
"""neap units: schedules, fronts, pages, exit codes."""

import copy
import json
import unittest

from neap_cli import DIAMOND, DIAMOND_BEST_PEAK, DONE, FAILED, OVER_BUDGET, USAGE, CliTest, wide_graph

COSTS = [4, 4, 3, 3, 1]


class Units(CliTest):

    def setUp(self):
        super().setUp()
        graph = copy.deepcopy(DIAMOND)
        for op, cost in zip(graph["ops"], COSTS):
            op["cost"] = cost
        (self.folder / "g.json").write_text(json.dumps(graph))

    def units(self, *words, code=DONE, model="g.json", units=2):
        return json.loads(self.expect(code, "units", model, "--units", units, "--json", *words).stdout)

    def check(self, report):
        """Starts, units, live bytes and addresses, from the numbers alone."""
        operators, buffers = report["operators"], report["buffers"]
        times = sorted({op["start"] for op in operators} | {op["end"] for op in operators})
        self.assertEqual(max(times), report["makespan"])
        for time in times:
            running = [op["unit"] for op in operators if op["start"] <= time < op["end"]]
            self.assertEqual(len(running), len(set(running)))
            live = [buffer for buffer in buffers if buffer["first"] <= time < buffer["last"]]
            self.assertLessEqual(sum(buffer["bytes"] for buffer in live), report["peak_bytes"])
            live.sort(key=lambda buffer: buffer["offset"])
            for below, above in zip(live, live[1:]):
                self.assertLessEqual(below["offset"] + below["bytes"], above["offset"])
            for buffer in live:
                self.assertLessEqual(buffer["offset"] + buffer["bytes"], report["arena_bytes"])
        self.assertEqual(max(moment["live_bytes"] for moment in report["live"][:-1]), report["peak_bytes"])
        return report

    def test_objectives(self):
        fast = self.check(self.units())
        self.assertEqual((fast["makespan"], fast["peak_bytes"], fast["status"]), (8, 320, "optimal"))
        small = self.check(self.units("--budget", 319))
        self.assertEqual(small["status"], "optimal")
        self.assertLess(small["peak_bytes"], 320)
        within = self.check(self.units("--makespan", small["makespan"]))
        self.assertEqual(within["peak_bytes"], small["peak_bytes"])
        serial = self.check(self.units("--makespan", sum(COSTS), units=1))
        self.assertEqual(serial["peak_bytes"], DIAMOND_BEST_PEAK)

    def test_front(self):
        report = self.units("--front")
        points = [(point["makespan"], point["peak_bytes"]) for point in report["front"]]
        self.assertEqual(points[0], (8, 320))
        self.assertEqual(points[-1][1], DIAMOND_BEST_PEAK)
        self.assertEqual(points, sorted(points))
        self.assertTrue(report["front_complete"])

    def test_limits_that_cannot_be_met(self):
        self.assertEqual(self.units("--budget", 179, code=OVER_BUDGET)["status"], "infeasible")
        self.assertEqual(self.units("--makespan", 7, code=OVER_BUDGET)["status"], "infeasible")
        error = self.expect(OVER_BUDGET, "units", "g.json", "--units", 2, "--budget", 179).stderr
        self.assertIn(b"proven: no schedule is within 179 B", error)

    def test_addresses_above_the_budget(self):
        """The peak is within the budget, but its buffers do not fit side by side."""
        (self.folder / "wide.json").write_text(json.dumps(wide_graph(120, 2)))
        peak = self.units(model="wide.json", units=1)["peak_bytes"]
        run = self.expect(OVER_BUDGET, "units", "wide.json", "--units", 1, "--budget", peak)
        self.assertIn(b"but the addresses that were found need", run.stderr)
        self.check(self.units("--budget", 2 * peak, model="wide.json", units=1))

    def test_bad_input(self):
        self.expect(USAGE, "units", "g.json")
        self.expect(USAGE, "units", "g.json", "--units", 0)
        self.expect(USAGE, "units", "g.json", "--units", 2, "--makespan", 9, "--budget", 200)
        self.expect(FAILED, "units", "none.json", "--units", 2)
        self.assertFalse((self.folder / "page.html").exists())

    def test_large_graphs_are_bounded_and_repeatable(self):
        (self.folder / "wide.json").write_text(json.dumps(wide_graph(120, 1)))
        report = self.check(self.units(model="wide.json", units=3))
        self.assertLessEqual(report["makespan_lower_bound"], report["makespan"])
        again = self.units(model="wide.json", units=3)
        self.assertEqual({**report, "seconds": 0}, {**again, "seconds": 0})

    def test_page(self):
        self.expect(DONE, "units", "g.json", "--units", 2, "--html", "page.html")
        page = (self.folder / "page.html").read_text()
        self.assertEqual(page.count('class="operator"'), 5)
        self.assertEqual(page.count('class="live"'), 1)
        self.expect(FAILED, "units", "g.json", "--units", 2, "--html", "page.html")
        self.expect(DONE, "units", "g.json", "--units", 2, "--html", "page.html", "--force")
        self.assertEqual((self.folder / "page.html").read_text(), page)


if __name__ == "__main__":
    unittest.main()
