# SPDX-License-Identifier: Apache-2.0
"""The pages in a real browser: no script error, the numbers of the JSON, hostile names as text."""

import copy
import json
import re

import browser
from neap_cli import DIAMOND, DIAMOND_BEST_PEAK, DIAMOND_FILE_PEAK, DONE, FAILED, CliTest

HOSTILE = "</script><script>document.documentElement.dataset.error='ran'</script><img src=x onerror=\"document.title='ran'\">"


def hostile_graph():
    graph = copy.deepcopy(DIAMOND)
    for tensor in graph["tensors"]:
        tensor["name"] = HOSTILE + tensor["name"]
    for op in graph["ops"]:
        op["name"] = HOSTILE + op["name"]
        for side in ("inputs", "outputs"):
            op[side] = [HOSTILE + name for name in op[side]]
    for side in ("inputs", "outputs"):
        graph[side] = [HOSTILE + name for name in graph[side]]
    return graph


class Pages(CliTest):

    def setUp(self):
        super().setUp()
        if not browser.is_there():
            self.skipTest(browser.MISSING)

    def check_memory_page(self, page, report):
        for width, dark in ((390, False), (1280, True)):
            with browser.Browser(width, dark) as seen:
                seen.open(page)
                self.assertEqual(seen.errors(), [])
                data = seen.run("return JSON.parse(document.getElementById('neap-data').textContent)")
                self.assertEqual(data["runs"][0]["peak_bytes"], report["file_order"]["peak_bytes"])
                self.assertEqual(data["runs"][1]["peak_bytes"], report["plan"]["peak_bytes"])
                self.assertEqual(data["runs"][1]["arena_bytes"], report["plan"]["arena_bytes"])
                text = seen.run("return document.body.innerText")
                for number in (report["file_order"]["peak_bytes"], report["plan"]["peak_bytes"],
                               report["plan"]["arena_bytes"]):
                    self.assertIn(f"{number:,}", text)
                # Nothing sticks out of the window.
                self.assertLessEqual(seen.run("return document.documentElement.scrollWidth"), width)
                background = seen.run("return getComputedStyle(document.body).backgroundColor")
                light = sum(map(int, re.findall(r"\d+", background)[:3])) > 3 * 128
                self.assertEqual(light, not dark, background)
                self.drive(seen, data)
                self.assertEqual(seen.errors(), [])

    def drive(self, seen, data):
        """Keyboard, pointer and slider."""
        run = data["runs"][1]
        told = "return document.querySelectorAll('.told')[1].textContent"
        key = ("const d=document.querySelectorAll('[data-run=\"1\"] .draw')[0];d.focus();"
               "d.dispatchEvent(new KeyboardEvent('keydown',{key:'%s',bubbles:true,cancelable:true}))")
        seen.run(key % "Home")
        self.assertIn(f"Step 0 of {len(run['live'])}", seen.run(told))
        self.assertIn(f"{run['live'][0]:,} B live", seen.run(told))
        seen.run(key % "ArrowRight")
        self.assertIn(f"{run['live'][1]:,} B live", seen.run(told))
        seen.run(key % "p")
        self.assertIn(f"{run['peak_bytes']:,} B live", seen.run(told))
        lit = seen.run("return document.querySelectorAll('[data-run=\"1\"] rect.lit').length")
        at = run["peak_step"]
        self.assertEqual(lit, sum(b[3] <= at < b[4] and b[2] > 0 for b in run["buffers"]))
        seen.run("const s=document.getElementById('budget');s.value=s.min;"
                 "s.dispatchEvent(new Event('input'))")
        verdict = seen.run("return document.getElementById('verdict').textContent")
        self.assertIn(f"the worst by {run['peak_bytes']:,} B", verdict)
        self.assertIn("would have to shrink", verdict)

    def test_inspect(self):
        self.zoo("m.onnx")
        self.expect(DONE, "inspect", "m.onnx", "--html", "page.html")
        self.check_memory_page(self.folder / "page.html", self.report_of("plan", "m.onnx"))

    def test_plan_with_hostile_names(self):
        self.write_json("g.json", hostile_graph())
        self.expect(DONE, "plan", "g.json", "--html", "page.html", "--budget", "1KiB")
        self.check_memory_page(self.folder / "page.html", self.report_of("plan", "g.json"))
        with browser.Browser() as seen:
            seen.open(self.folder / "page.html")
            self.assertNotEqual(seen.run("return document.title"), "ran")
            self.assertEqual(seen.run("return document.images.length"), 0)
            self.assertIn("<img src=x", seen.run("return document.body.innerText"))

    def test_readable_without_script(self):
        self.write_json("g.json", DIAMOND)
        self.expect(DONE, "plan", "g.json", "--html", "page.html")
        page = self.folder / "page.html"
        page.write_text(re.sub(r"<script>.*?</script>", "", page.read_text(), flags=re.S))
        with browser.Browser() as seen:
            seen.open(page)
            self.assertIn(f"{DIAMOND_BEST_PEAK:,} B", seen.run("return document.body.innerText"))
            self.assertEqual(seen.run("return document.querySelectorAll('svg').length"), 4)
            self.assertGreater(seen.run(
                "return document.querySelector('rect.b').getBoundingClientRect().width"), 1)

    def test_streamed_segments_from_the_inside(self):
        self.expect(DONE, "zoo", "ds-cnn", "--int8", "-o", "m.tflite", "--quiet")
        self.expect(DONE, "plan", "m.tflite", "--runtime", "neap", "--stream", "auto",
                    "--html", "page.html")
        page = self.folder / "page.html"
        for text in (page.read_text(),
                     re.sub(r"<script>.*?</script>", "", page.read_text(), flags=re.S)):
            page.write_text(text)
            with browser.Browser() as seen:
                seen.open(page)
                # Of the plan; the order of the file has no streams.
                for run, headings in enumerate((0, 1)):
                    shown = seen.run(
                        f"return document.querySelector('[data-run=\"{run}\"]').innerText")
                    self.assertEqual(shown.count("Inside the segments that reach highest"), headings)
                self.assertIn("lines: rows of earlier steps", shown)
                self.assertGreater(seen.run(
                    "return document.querySelector('path.c1').getBoundingClientRect().width"), 1)

    def test_bench(self):
        self.expect(DONE, "bench", "place", "--quick", "--html", "page.html", "--json", "r.json",
                    timeout=280)
        report = json.loads((self.folder / "r.json").read_text())
        for width, dark in ((390, True), (1280, False)):
            with browser.Browser(width, dark) as seen:
                seen.open(self.folder / "page.html")
                self.assertEqual(seen.errors(), [])
                self.assertLessEqual(seen.run("return document.documentElement.scrollWidth"), width)
                for section in report["sections"]:
                    for table in section["tables"]:
                        cells = seen.run(
                            f"return [...document.getElementById('{table['id']}').rows].slice(1)"
                            ".map(r=>[...r.cells].map(c=>c.textContent))")
                        self.compare(table, cells)

    def compare(self, table, cells):
        self.assertEqual(len(cells), len(table["rows"]))
        for row, shown in zip(table["rows"], cells):
            for value, text in zip(row.values(), shown):
                if isinstance(value, int):
                    self.assertEqual(text, f"{value:,}")
                elif isinstance(value, float):
                    self.assertAlmostEqual(float(text), value, places=1)
                elif value is not None:
                    self.assertEqual(text, value)


class Files(CliTest):
    """What other viewers read, without a browser."""

    def test_numbers_are_those_of_the_report(self):
        self.zoo("m.onnx")
        self.expect(DONE, "inspect", "m.onnx", "--csv", "tables", "--trace", "map.json", "--timeline",
                    "time.json", "--dot", "g.dot", "--model-explorer", "nodes.json")
        report = self.report_of("inspect", "m.onnx")
        steps = (self.folder / "tables/steps.csv").read_text().splitlines()[1:]
        self.assertEqual([int(line.rsplit(",", 1)[1]) for line in steps],
                         [step["live_bytes"] for step in report["entries"][0]["steps"]])
        counters = [event["args"]["bytes"] for event in
                    json.loads((self.folder / "time.json").read_text())["traceEvents"]
                    if event["ph"] == "C"]
        self.assertEqual(max(counters), report["peak_bytes"])
        self.assertGreater(len(json.loads((self.folder / "map.json").read_text())["traceEvents"]), 0)
        values = [node["value"] for node in
                  json.loads((self.folder / "nodes.json").read_text())["results"].values()]
        self.assertEqual(max(values), report["peak_bytes"])
        self.assertTrue((self.folder / "g.dot").read_text().startswith("digraph"))

    def test_of_a_plan(self):
        self.write_json("g.json", DIAMOND)
        self.expect(DONE, "plan", "g.json", "--csv", "tables")
        steps = (self.folder / "tables/steps.csv").read_text().splitlines()[1:]
        self.assertEqual(max(int(line.rsplit(",", 1)[1]) for line in steps), DIAMOND_BEST_PEAK)
        self.expect(DONE, "inspect", "g.json", "--csv", "file")
        steps = (self.folder / "file/steps.csv").read_text().splitlines()[1:]
        self.assertEqual(max(int(line.rsplit(",", 1)[1]) for line in steps), DIAMOND_FILE_PEAK)

    def test_the_order_of_the_file_is_that_of_the_file(self):
        """Also where the plan is about rewritten operators, or operators in tiles."""
        self.expect(DONE, "zoo", "mobilenet-v1-vww", "--int8", "-o", "m.tflite", "--quiet")
        for words in ([], ["--cascade", "auto"], ["--runtime", "neap", "--stream", "auto"]):
            report = self.report_of("plan", "m.tflite", "--html", "m.html", "--force", *words)
            page = (self.folder / "m.html").read_text()
            data = json.loads(re.search(r'id="neap-data"[^>]*>(.*?)</script>', page, re.S)[1])
            file, planned = data["runs"]
            self.assertEqual(file["peak_bytes"], report["file_order"]["peak_bytes"])
            self.assertEqual(file["peak_lower_bound_bytes"], report["file_order"]["peak_bytes"])
            self.assertEqual(planned["peak_bytes"], report["plan"]["peak_bytes"])
            self.assertLess(planned["peak_bytes"], file["peak_bytes"])

    def test_nothing_is_overwritten(self):
        self.write_json("g.json", DIAMOND)
        (self.folder / "page.html").write_text("precious")
        self.expect(FAILED, "inspect", "g.json", "--html", "page.html")
        self.expect(FAILED, "plan", "g.json", "--html", "page.html")
        self.assertEqual((self.folder / "page.html").read_text(), "precious")
        self.expect(DONE, "plan", "g.json", "--html", "page.html", "--force")
