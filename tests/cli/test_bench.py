# SPDX-License-Identifier: Apache-2.0
"""neap bench: suites in their short form. Quality regressions fail, time never does."""

import json

from neap_cli import DONE, FAILED, SOURCE, USAGE, CliTest


class Bench(CliTest):

    def check_suite(self, suite):
        self.searches_whole_networks()
        stored = SOURCE / "lab/bench/expectations" / f"{suite}.json"
        self.expect(DONE, "bench", suite, "--quick", "--expect", stored, "--json", "r.json",
                    "--markdown", "r.md", "--svg", ".", timeout=290)
        report = json.loads((self.folder / "r.json").read_text())
        self.assertEqual(report["qualities"].keys(),
                         json.loads(stored.read_text())["qualities"].keys())
        self.assertTrue((self.folder / "r.md").read_text().startswith(f"# {report['title']}"))
        return report

    def test_serenity(self):
        report = self.check_suite("serenity")
        ids = {section["id"] for section in report["sections"]}
        self.assertEqual({"table-1", "figure-10", "granularity", "rewriting", "figure-11",
                          "figure-12", "figure-13", "figure-8b", "table-2", "figure-3b",
                          "left-out"} - ids, set())
        tables = {table["id"]: table["rows"] for section in report["sections"]
                  for table in section["tables"]}
        # Four-byte sums change no output; one-byte sums do, and the report states it.
        for row in tables["differences"]:
            self.assertEqual(row["different"] == 0, row["exactness"] == "bitwise")
        # At the paper's granularity its algorithm proves every cell.
        for row in tables["scheduling-time-nodes"]:
            self.assertNotIn("stopped", row["serenity_peak_bytes"])
        peaks = {row["cell"]: row["peak_bytes"] for row in tables["nodes"]}
        self.assertEqual(peaks["SwiftNet A"], 200_704)
        # States grow with the soft budget, and only the optimum and more has a solution.
        last = {}
        for row in tables["budgets"]:
            self.assertGreaterEqual(row["states"], last.get(row["cell"], 0))
            last[row["cell"]] = row["states"]
            self.assertEqual(row["outcome"], "optimum" if row["tau_bytes"] >= peaks[row["cell"]]
                             else "no solution")
        # The drawings are files of their own.
        self.assertIn("svg", (self.folder / "serenity-budget-plot.svg").read_text()[:10])

    def test_order(self):
        self.check_suite("order")

    def test_rewrite(self):
        report = self.check_suite("rewrite")
        rows = {row["network"]: row for row in report["sections"][0]["tables"][0]["rows"]}
        # SERENITY's 188.2 KB, four bytes an element.
        self.assertEqual(rows["swiftnet-cell-a"]["all_bytes"], 4 * 188_160)
        for row in rows.values():
            self.assertLessEqual(row["all_bytes"], row["bitwise_bytes"])
            self.assertLessEqual(row["bitwise_bytes"], row["best_bytes"])
            self.assertLessEqual(row["all_bound_bytes"], row["all_bytes"])

    def test_cascade(self):
        report = self.check_suite("cascade")
        for row in report["sections"][0]["tables"][0]["rows"]:
            self.assertLessEqual(row["arena_bytes"], row["uncut_bytes"])
            self.assertLessEqual(row["bound_bytes"] or 0, row["arena_bytes"])

    def test_stream(self):
        report = self.check_suite("stream")
        for row in report["sections"][0]["tables"][0]["rows"]:
            self.assertLessEqual(row["arena_bytes"], row["layers_bytes"])

    def test_pipeline(self):
        report = self.check_suite("pipeline")
        for row in report["sections"][0]["tables"][1]["rows"]:
            self.assertEqual(row["status"], "optimal")
            self.assertGreaterEqual(row["compiler_microseconds"], row["best_microseconds"])

    def test_place(self):
        stored = SOURCE / "lab/bench/expectations/place.json"
        self.check_suite("place")
        # One quality better than it can be: the run is a regression.
        wish = json.loads(stored.read_text())
        name = next(name for name in wish["qualities"] if name.endswith(".arena_bytes"))
        wish["qualities"][name] -= 1
        self.write_json("wish.json", wish)
        result = self.expect(FAILED, "bench", "place", "--quick", "--expect", "wish.json", "--quiet",
                             timeout=290)
        self.assertIn(name.encode(), result.stderr)

    def test_usage(self):
        for words in ([], ["nosuch"], ["place", "--nosuch"]):
            self.expect(USAGE, "bench", *words)
        listed = self.expect(DONE, "bench", "--list").stdout.decode()
        for suite in ("serenity", "order", "place", "rewrite", "cascade", "stream", "pipeline"):
            self.assertIn(suite, listed)
