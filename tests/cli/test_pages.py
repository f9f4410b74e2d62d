# SPDX-License-Identifier: Apache-2.0
"""The pages in a real browser: no script error, the numbers of the JSON, hostile names as text."""

import copy
import json
import re

import browser
from neap_cli import DIAMOND, DIAMOND_BEST_PEAK, DIAMOND_FILE_PEAK, DONE, FAILED, SHARED, CliTest

SWIFTNET = "models/newwhitecheng+vwwc19-submission/swiftnet-vww-224-uint8.tflite"
WIDTHS = (390, 1280, 1920)

HOSTILE = "</script><script>document.documentElement.dataset.error='ran'</script><img src=x onerror=\"document.title='ran'\">"


def renamed(prefix):
    """The diamond with `prefix` before the names of its tensors and operators."""
    graph = copy.deepcopy(DIAMOND)
    for tensor in graph["tensors"]:
        tensor["name"] = prefix + tensor["name"]
    for op in graph["ops"]:
        op["name"] = prefix + op["name"]
        for side in ("inputs", "outputs"):
            op[side] = [prefix + name for name in op[side]]
    for side in ("inputs", "outputs"):
        graph[side] = [prefix + name for name in graph[side]]
    return graph


# Labels outside their chart, or cut by a container that scrolls or clips. Tables and wide charts in
# a ".scroll" scroll on purpose.
CLIPPED = """
const out = [], inside = (r, s) =>
  r.left >= s.left - .5 && r.right <= s.right + .5 && r.top >= s.top - .5 && r.bottom <= s.bottom + .5;
for (const text of document.querySelectorAll('svg text')) {
  const r = text.getBoundingClientRect();
  const chart = text.closest('.chart') || text.closest('svg');
  const frames = [chart];
  for (let e = chart; e; e = e.parentElement) {
    const style = getComputedStyle(e);
    if (e instanceof HTMLElement && style.overflowX !== 'visible' && !e.matches('.scroll, html, body')) frames.push(e);
  }
  if (!frames.every(f => inside(r, f.getBoundingClientRect()))) out.push(text.textContent);
}
return out"""

# Labels that cover one another; those below bars are turned, and their boxes meet.
OVERLAPPING = """
const out = [];
for (const chart of document.querySelectorAll('.chart')) {
  const labels = [...chart.querySelectorAll('text:not(.group):not(.strong)')];
  const boxes = labels.map(t => t.getBoundingClientRect());
  boxes.forEach((a, i) => boxes.slice(0, i).forEach((b, j) => {
    if (a.left < b.right && b.left < a.right && a.top + 2 < b.bottom && b.top + 2 < a.bottom)
      out.push(labels[i].textContent + ' | ' + labels[j].textContent);
  }));
}
return out"""

# Text below 4.5 to 1 and colours of keys below 3 to 1 against their background (WCAG 2.1).
LOW_CONTRAST = """
const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
const rgb = color => {
  canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1);
  return canvas.getImageData(0, 0, 1, 1).data;
};
const light = c => [0, 1, 2].map(i => c[i] / 255)
  .map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
  .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
const behind = e => {
  for (; e; e = e.parentElement) {
    const c = rgb(getComputedStyle(e).backgroundColor);
    if (c[3] === 255) return c;
  }
  return [255, 255, 255];
};
const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + .05) / (y + .05) };
const out = [];
for (const e of document.querySelectorAll('body *')) {
  const own = [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim());
  if (!own || e.matches('script, style, title') || !e.getClientRects().length) continue;
  const style = getComputedStyle(e);
  const found = ratio(rgb(e instanceof SVGElement ? style.fill : style.color), behind(e));
  if (found < 4.5) out.push(e.textContent.slice(0, 40) + ' ' + found.toFixed(2));
}
for (const e of document.querySelectorAll('[placeholder]')) {
  const found = ratio(rgb(getComputedStyle(e, '::placeholder').color), behind(e));
  if (found < 4.5) out.push(e.placeholder + ' ' + found.toFixed(2));
}
for (const e of document.querySelectorAll('.key i:not(.rule)')) {
  const found = ratio(rgb(getComputedStyle(e).backgroundColor), behind(e.parentElement));
  if (found < 3) out.push(e.className + ' ' + found.toFixed(2));
}
return out"""

# The text alternatives of all drawings, "" where one has none.
ALTERNATIVES = """
return [...document.querySelectorAll('svg')].filter(svg => !svg.parentElement.closest('svg'))
  .map(svg => svg.closest('[role=img][aria-label]')?.getAttribute('aria-label') || '')"""

# Names that are wider than a line of a table should have.
LONG_NAMES = """
return [...document.querySelectorAll('td.name, .shown span, #verdict span')]
  .filter(e => !e.closest('details') && !e.textContent.includes('Live there')).map(e => e.textContent).filter(t => /[;/]/.test(t) && t.length > 40)"""


class Pages(CliTest):

    def setUp(self):
        super().setUp()
        if not browser.is_there():
            self.skipTest(browser.MISSING)

    def check_layout(self, page, figures):
        """At three widths, light and dark: nothing overflows or is clipped, every drawing has a text
        alternative and one of them each of `figures`."""
        for width in WIDTHS:
            with browser.Browser(width, dark=width == 1280) as seen:
                seen.open(page)
                self.assertEqual(seen.errors(), [])
                self.assertLessEqual(seen.run("return document.documentElement.scrollWidth"),
                                     seen.run("return window.innerWidth"), f"overflows at {width}")
                self.assertEqual(seen.run(CLIPPED), [], f"clipped at {width}")
                self.assertEqual(seen.run(OVERLAPPING), [], f"overlaps at {width}")
                self.assertEqual(seen.run(LOW_CONTRAST), [], f"contrast at {width}")
                self.assertEqual(seen.run(LONG_NAMES), [])
                self.assertEqual(seen.run(
                    "return [...document.querySelectorAll('.scroll')].filter(e => e.tabIndex !== 0 ||"
                    " e.getAttribute('role') !== 'region' || !e.ariaLabel).length"), 0)
                alternatives = seen.run(ALTERNATIVES)
                self.assertGreater(len(alternatives), 0)
                for text in alternatives:
                    self.assertRegex(text, r"\d")
                for figure in figures:
                    self.assertTrue(any(figure in text for text in alternatives), figure)

    def check_keyboard(self, page):
        """Tab reaches every control and shows where it is."""
        with browser.Browser() as seen:
            seen.open(page)
            reached = []
            for _ in range(60):
                for kind in ("keyDown", "keyUp"):
                    seen.command("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab",
                                 windowsVirtualKeyCode=9)
                at = seen.run("const e = document.activeElement, s = getComputedStyle(e);"
                              "return [e.tagName, e.id || e.className || e.textContent, s.outlineStyle,"
                              "parseFloat(s.outlineWidth)]")
                if at[0] == "BODY":
                    break
                reached.append((at[0], at[1]))
                self.assertNotEqual(at[2], "none", at)
                self.assertGreaterEqual(at[3], 2, at)
            for wanted in (("INPUT", "budget"), ("INPUT", "step-0"), ("INPUT", "step-1"),
                           ("BUTTON", "Go to the peak"), ("DIV", "scroll")):
                self.assertIn(wanted, reached)
            self.assertEqual(sum(tag == "SUMMARY" for tag, _ in reached),
                             seen.run("return document.querySelectorAll('summary').length"))

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
        shown = "return document.querySelectorAll('.shown')[1].textContent"
        key = "document.getElementById('step-1').focus()"
        seen.run(key)
        for name, code, step in (("Home", 36, 0), ("ArrowRight", 39, min(1, len(run["live"]) - 1))):
            seen.command("Input.dispatchKeyEvent", type="keyDown", key=name, code=name,
                         windowsVirtualKeyCode=code)
            self.assertIn(f"Step {step} of {len(run['live'])}", seen.run(shown))
            self.assertIn(f"{run['live'][step]:,} B live", seen.run(shown))
            self.assertIn(f"{run['live'][step]:,} B live",
                          seen.run("return document.getElementById('step-1').ariaValueText"))
        seen.run("document.querySelector('[data-run=\"1\"] .control button').click()")
        self.assertIn(f"{run['peak_bytes']:,} B live", seen.run(shown))
        lit = seen.run("return document.querySelectorAll('[data-run=\"1\"] rect.lit').length")
        at = run["peak_step"]
        self.assertEqual(lit, sum(b[3] <= at < b[4] and b[2] > 0 for b in run["buffers"]))
        seen.run("const s=document.getElementById('budget');s.value=s.min;"
                 "s.dispatchEvent(new Event('input'))")
        verdict = seen.run("return document.getElementById('verdict').textContent")
        self.assertIn(f"by at most {run['peak_bytes']:,} B", verdict)
        seen.run("const s=document.getElementById('budget');s.value=s.max;"
                 "s.dispatchEvent(new Event('input'))")
        self.assertIn("Plan: fits.", seen.run("return document.getElementById('verdict').textContent"))

    def test_inspect(self):
        self.zoo("m.onnx")
        self.expect(DONE, "inspect", "m.onnx", "--html", "page.html")
        self.check_memory_page(self.folder / "page.html", self.report_of("plan", "m.onnx"))

    def test_plan_with_hostile_names(self):
        self.write_json("g.json", renamed(HOSTILE))
        self.expect(DONE, "plan", "g.json", "--html", "page.html", "--budget", "1KiB")
        self.check_memory_page(self.folder / "page.html", self.report_of("plan", "g.json"))
        with browser.Browser() as seen:
            seen.open(self.folder / "page.html")
            self.assertNotEqual(seen.run("return document.title"), "ran")
            self.assertEqual(seen.run("return document.images.length"), 0)
            self.assertIn("<img src=x", seen.run(
                "return document.querySelector('td.name span[title]').title"))

    def test_title_is_the_name_of_the_file(self):
        (self.folder / "some/folder").mkdir(parents=True)
        path = self.write_json("some/folder/net.json", DIAMOND)
        for model in (path, path.relative_to(self.folder)):
            self.expect(DONE, "plan", model, "--html", "page.html", "--force")
            with browser.Browser() as seen:
                seen.open(self.folder / "page.html")
                self.assertEqual(seen.run("return document.querySelector('h1').textContent"), "net.json")
                self.assertRegex(seen.run("return document.title"), r"^net\.json\b[^/]*$")

    def test_layout(self):
        self.expect(DONE, "zoo", "mobilenet-v1-vww", "--int8", "-o", "m.tflite", "--quiet")
        report = self.report_of("plan", "m.tflite", "--html", "page.html")
        self.check_layout(self.folder / "page.html",
                          [f"peak {report['file_order']['peak_bytes']:,} B",
                           f"peak {report['plan']['peak_bytes']:,} B",
                           f"arena {report['plan']['arena_bytes']:,} B"])
        self.check_keyboard(self.folder / "page.html")

    def test_layout_of_a_stream(self):
        self.expect(DONE, "zoo", "mobilenet-v1-vww", "--int8", "-o", "m.tflite", "--quiet")
        report = self.report_of("plan", "m.tflite", "--runtime", "neap", "--stream", "auto",
                                "--html", "page.html")
        self.check_layout(self.folder / "page.html",
                          [f"arena {report['plan']['arena_bytes']:,} B", "lines: rows of earlier"])

    def test_long_names_never_push_the_layout(self):
        prefix = "Network/" + "scope_of_the_network_with_a_long_name/" * 6
        graph = renamed(prefix)
        for tensor in graph["tensors"]:
            tensor["name"] += ";" + tensor["name"] + "/BatchNorm_Fold/bias"
        graph["inputs"] = [name + ";" + name + "/BatchNorm_Fold/bias" for name in graph["inputs"]]
        graph["outputs"] = [name + ";" + name + "/BatchNorm_Fold/bias" for name in graph["outputs"]]
        for op in graph["ops"]:
            for side in ("inputs", "outputs"):
                op[side] = [name + ";" + name + "/BatchNorm_Fold/bias" for name in op[side]]
        self.write_json("g.json", graph)
        self.expect(DONE, "plan", "g.json", "--html", "page.html")
        self.check_layout(self.folder / "page.html", [f"peak {DIAMOND_BEST_PEAK:,} B"])
        with browser.Browser() as seen:
            seen.open(self.folder / "page.html")
            cells = seen.run("return [...document.querySelectorAll('td.name span[title]')]"
                             ".map(e => [e.textContent, e.title])")
            self.assertIn(["wide1", f"{prefix}wide1;{prefix}wide1/BatchNorm_Fold/bias"], cells)
            self.assertIn("wide1", seen.run("return document.querySelector('.shown').textContent"))

    def test_readable_without_script(self):
        self.write_json("g.json", DIAMOND)
        self.expect(DONE, "plan", "g.json", "--html", "page.html")
        page = self.folder / "page.html"
        page.write_text(re.sub(r"<script>.*?</script>", "", page.read_text(), flags=re.S))
        with browser.Browser() as seen:
            seen.open(page)
            self.assertIn(f"{DIAMOND_BEST_PEAK:,} B", seen.run("return document.body.innerText"))
            self.assertEqual(seen.run("return document.querySelectorAll('.chart').length"), 4)
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
                    self.assertEqual(shown.count("Inside the largest segments"), headings)
                self.assertIn("lines: rows of earlier row steps", shown)
                self.assertGreater(seen.run(
                    "return document.querySelector('path.c1').getBoundingClientRect().width"), 1)

    def test_bench(self):
        self.expect(DONE, "bench", "place", "--quick", "--html", "page.html", "--json", "r.json",
                    timeout=280)
        report = json.loads((self.folder / "r.json").read_text())
        self.check_layout(self.folder / "page.html", [])
        with browser.Browser() as seen:
            seen.open(self.folder / "page.html")
            for section in report["sections"]:
                for table in section["tables"]:
                    cells = seen.run(
                        f"return [...document.getElementById('{table['id']}').rows].slice(1)"
                        ".map(r=>[...r.cells].map(c=>c.textContent))")
                    self.compare(table, cells)

    def test_bench_alternatives_have_the_values(self):
        self.expect(DONE, "bench", "stream", "--quick", "--html", "page.html", "--json", "r.json",
                    timeout=280)
        plot = json.loads((self.folder / "r.json").read_text())["sections"][0]["plots"][0]
        figures = [f"{group} {value[0]:.3g} x" for group, value in zip(plot["groups"], plot["values"])]
        self.assertGreater(len(figures), 1)
        self.check_layout(self.folder / "page.html", figures)

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
    """Files for other viewers, without a browser."""

    def check_planned_figure(self, model):
        """Page, JSON and text of `neap inspect` have the figure of `neap plan`."""
        plan = self.report_of("plan", model, "--html", "plan.html")
        inspect = self.report_of("inspect", model, "--html", "inspect.html")
        text = self.expect(DONE, "inspect", model, "--html", "inspect.html", "--force").stdout.decode()
        bytes_, before = inspect["planned"]["bytes"], inspect["planned"]["file_order_bytes"]
        self.assertEqual(bytes_, (plan["delivered"] or plan["plan"])["arena_bytes"])
        self.assertEqual(before, plan["file_order"]["arena_bytes"])
        self.assertEqual(inspect["planned"]["peak_bytes"], plan["plan"]["peak_bytes"])
        self.assertIn(f"arena {bytes_:,} B", text)
        pages = [(self.folder / name).read_text() for name in ("plan.html", "inspect.html")]
        for page in pages:
            self.assertIn(f'<p class="big">Arena {bytes_:,} B', page)
        planned = [json.loads(re.search(r'id="neap-data"[^>]*>(.*?)</script>', page, re.S)[1])
                   for page in pages]
        self.assertEqual(planned[0], planned[1])
        self.assertEqual(planned[1]["planned_bytes"], bytes_)
        return bytes_

    def test_inspect_has_the_figure_of_plan(self):
        self.expect(DONE, "zoo", "mobilenet-v1-vww", "--int8", "-o", "m.tflite", "--quiet")
        self.assertEqual(self.check_planned_figure("m.tflite"), 46_080)
        # Without a page nothing is planned.
        self.assertIsNone(self.report_of("inspect", "m.tflite")["planned"])

    def test_inspect_has_the_figure_of_plan_for_swiftnet(self):
        if not (SHARED / SWIFTNET).exists():
            self.skipTest(f"{SHARED / SWIFTNET} is not there: SWIFTNET IS NOT TESTED")
        self.assertEqual(self.check_planned_figure(SHARED / SWIFTNET), 275_968)

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
