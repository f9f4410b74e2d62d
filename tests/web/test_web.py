# SPDX-License-Identifier: Apache-2.0
"""The page in a real browser, beside the native program: a dropped model, its figures and downloads, errors,
cancelling, a second model, the link, layout, and no request but that for the page. scripts/checks/web.sh
runs it; python3 without packages. Environment: NEAP the native program, NEAP_SITE the folder of the page,
NEAP_SCREENSHOTS a folder for pictures."""

import base64
import functools
import gzip
import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "cli"))

import browser  # noqa: E402
import test_pages as pages  # noqa: E402
from compare import models_below, sample  # noqa: E402

NEAP = str(pathlib.Path(os.environ.get("NEAP", ROOT / "build/release/tools/neap")).resolve())
SITE = pathlib.Path(os.environ.get("NEAP_SITE", ROOT / "build/web/site"))
MODELS = pathlib.Path(os.environ.get("NEAP_SHARED", ROOT.parent / "shared")) / "models"
SCREENSHOTS = os.environ.get("NEAP_SCREENSHOTS")
# Minutes of search in the browser: to be cancelled.
LONG = "#sample=randwire-cell-ws&effort=thorough&budget=1KiB"
SECONDS = 90
LONG_FORM = os.environ.get("NEAP_LONG", "0") == "1"


def field(number, value):
    """Of a protocol buffer: a number, or a length and bytes; all below 128."""
    if isinstance(value, int):
        return bytes([8 * number, value])
    data = value.encode() if isinstance(value, str) else value
    return bytes([8 * number + 2, len(data)]) + data


def value_info(name):
    dims = field(1, field(2, "batch")) + field(1, field(1, 4))
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, dims)))


# An ONNX model: y = Relu(x), float [batch, 4].
RELU_WITH_SYMBOL = field(1, 8) + field(7, field(1, field(1, "x") + field(2, "y") + field(4, "Relu")) + field(2, "g")
                                       + field(11, value_info("x")) + field(12, value_info("y"))) + field(8, field(2, 17))
# The Python of the conformance tests.
VENV = os.environ.get("NEAP_VENV", str(ROOT / ".venv/bin/python"))
if not pathlib.Path(VENV).exists():
    VENV = sys.executable


class Server(http.server.ThreadingHTTPServer):
    """Serves the site and keeps the paths of all requests."""

    def __init__(self):
        self.paths = []
        server = self

        class Handler(http.server.SimpleHTTPRequestHandler):
            def log_message(self, *_):
                server.paths.append(self.path)

        super().__init__(("127.0.0.1", 0), functools.partial(Handler, directory=str(SITE)))
        self.daemon_threads = True
        threading.Thread(target=self.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server_address[1]}/"


class Page(browser.Browser):
    """The page in a browser; downloads land in `folder`."""

    def __init__(self, url, width=1280, dark=False):
        super().__init__(width, dark)
        self.url = url
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="neap-web-"))

    def __enter__(self):
        super().__enter__()
        self.command("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(self.folder))
        return self

    def __exit__(self, *_):
        super().__exit__()
        shutil.rmtree(self.folder, ignore_errors=True)

    def visit(self, fragment=""):
        self.ask("POST", "/url", {"url": "about:blank"})
        self.ask("POST", "/url", {"url": self.url + fragment})
        self.wait("document.documentElement.dataset.ready")

    def wait(self, condition, what="", seconds=SECONDS):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = self.run(f"return {condition}")
            if found:
                return found
            time.sleep(0.05)
        raise AssertionError(f"waited {seconds} s for {what or condition}: " + self.run(
            "return document.getElementById('progress').textContent + document.getElementById('error').textContent"))

    def text(self, element):
        return self.run(f"return document.getElementById('{element}').textContent")

    def choose(self, path):
        """As with the file dialogue."""
        found = self.ask("POST", "/element", {"using": "css selector", "value": "#file"})
        self.ask("POST", f"/element/{next(iter(found.values()))}/value", {"text": str(path)})

    def drop(self, name, data):
        """As with the mouse."""
        self.ask("POST", "/execute/sync", {"args": [name, base64.b64encode(data).decode()], "script": """
            const bytes = Uint8Array.from(atob(arguments[1]), c => c.charCodeAt(0)), data = new DataTransfer();
            data.items.add(new File([bytes], arguments[0]));
            for (const type of ['dragenter', 'dragover', 'drop'])
              document.getElementById('start').dispatchEvent(new DragEvent(type, {dataTransfer: data, bubbles: true, cancelable: true}));"""})

    def idle(self):
        """Until a result or an error is shown, and nothing runs."""
        self.wait("document.getElementById('work').hidden && (!document.getElementById('results').hidden ||"
                  " !document.getElementById('error').hidden)")

    def click(self, text, within="body"):
        """With the mouse: Chromium permits few downloads without."""
        found = self.run("const all = [...document.querySelectorAll(" + json.dumps(within + " button") + ")];"
                         f"return all.find(b => b.textContent.startsWith({json.dumps(text)})) || null")
        if not found:
            raise AssertionError(f"no button {text}")
        self.ask("POST", f"/element/{next(iter(found.values()))}/click", {})

    def download(self, text, name):
        path = self.folder / name
        path.unlink(missing_ok=True)
        end = time.monotonic() + SECONDS
        again = 0.0
        while not path.exists() or list(self.folder.glob("*.crdownload")):
            # On a busy machine Chromium takes some clicks for ones without a mouse, whose downloads it drops.
            if time.monotonic() > again:
                self.click(text, "#files")
                again = time.monotonic() + 8
            if time.monotonic() > end:
                raise AssertionError(f"{name} is not downloaded: {self.text('error')} {os.listdir(self.folder)}")
            time.sleep(0.02)
        return path.read_bytes()


def native(model, *arguments):
    """Code, output, messages and files of the native program with this model."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(model, folder)
        done = subprocess.run([NEAP, *arguments], cwd=folder, capture_output=True, text=True)
        files = {path.name: path.read_bytes() for path in pathlib.Path(folder).iterdir()
                 if path.is_file() and path.name != model.name}
        return done.returncode, done.stdout, done.stderr, files


class WebTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        if not browser.is_there():
            raise unittest.SkipTest(browser.MISSING)
        cls.server = Server()
        cls.work = pathlib.Path(tempfile.mkdtemp(prefix="neap-web-models-"))
        cls.small = cls.work / "ds-cnn.tflite"
        subprocess.run([NEAP, "zoo", "ds-cnn", "--int8", "-o", str(cls.small), "--quiet"], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.server.shutdown()
        shutil.rmtree(cls.work, ignore_errors=True)

    def check_figures(self, page, model):
        """Of the page's plan of a model; its downloads have the native program's bytes."""
        stem, suffix = model.stem, model.suffix
        header = stem + "_arena.h"
        code, out, _, files = native(model, "plan", model.name, "-o", "planned" + suffix, "--emit-c", header,
                                     "--plan", "plan.json", "--html", "memory.html", "--json")
        self.assertEqual(code, 0, model)
        report = json.loads(out)
        shown = page.text("headline").replace(",", "")
        arena = report["delivered"]["arena_bytes"] or report["plan"]["arena_bytes"]
        self.assertIn(f"An arena of {arena} bytes", shown, model)
        if report["file_order"]["arena_bytes"] > arena:
            self.assertIn(f"in place of {report['file_order']['arena_bytes']}:", shown, model)
        for button, name, written in (("Planned model", stem + "-planned" + suffix, "planned" + suffix),
                                      ("plan.json", f"{stem}-plan.json", "plan.json"),
                                      ("C header", header, header),
                                      ("Memory report", f"{stem}-memory.html", "memory.html")):
            self.assertEqual(page.download(button, name), files[written], f"{model}: {name}")

    def test_dropped_model(self):
        with Page(self.server.url) as page:
            page.visit()
            page.drop("ds-cnn.tflite", self.small.read_bytes())
            page.idle()
            self.assertEqual(page.text("error"), "")
            self.check_figures(page, self.small)
            # The words are those of the program.
            words = page.text("words")
            self.assertIn("ds-cnn.tflite needs an arena of", words)
            text = native(self.small, "plan", "ds-cnn.tflite")[1]
            page.run("document.getElementById('report-box').open = true")
            page.wait("document.getElementById('report').textContent && document.getElementById('work').hidden")
            seconds = re.compile(r"^ +[0-9.]+ s: read .*$", re.M)
            self.assertEqual(seconds.sub("", page.text("report")), seconds.sub("", text))
            self.assertEqual(page.errors(), [])

    def test_downloaded_model_in_tflm(self):
        """The downloaded model in an arena of the size that the page predicts, with the outputs of the given one."""
        if subprocess.run([VENV, "-c", "import tflite_micro"], capture_output=True).returncode != 0:
            self.skipTest("tflite-micro is not installed in .venv")
        with Page(self.server.url) as page:
            page.visit("#options=--overlap%20tflm-reference%20--target%20x86-64%2Breference")
            page.choose(self.small)
            page.idle()
            report = json.loads(native(self.small, "plan", "ds-cnn.tflite", "--overlap", "tflm-reference",
                                       "--target", "x86-64+reference", "--json")[1])
            self.assertLess(report["plan"]["arena_bytes"], report["file_order"]["arena_bytes"])
            page.download("Planned model", "ds-cnn-planned.tflite")
            done = subprocess.run([VENV, str(ROOT / "tests/web/run_tflm.py"), str(self.small), "1000000",
                                   str(page.folder / "ds-cnn-planned.tflite"), str(report["delivered"]["total_arena_bytes"])],
                                  capture_output=True, text=True)
            self.assertEqual(done.stdout, "equal\n", done.stderr)

    def test_figures_of_models(self):
        if not MODELS.is_dir():
            self.skipTest("no public models")
        models = [model for model in models_below(MODELS, 500_000) if model.parent.name != "bad"]
        with Page(self.server.url) as page:
            page.visit()
            compared = 0
            for model in sample(models, 26):
                if native(model, "plan", model.name, "-o", "planned.tflite", "--quiet")[0] != 0:
                    continue
                page.choose(model)
                page.wait("document.getElementById('model').textContent.startsWith("
                          + json.dumps(model.name) + ") && !document.getElementById('results').hidden", model)
                self.check_figures(page, model)
                compared += 1
            self.assertGreaterEqual(compared, 20)
            self.assertEqual(page.errors(), [])

    def test_figures_of_onnx_models(self):
        """4 of them, with NEAP_LONG=1 at least 20."""
        if not MODELS.is_dir():
            self.skipTest("no public models")
        models = [model for model in models_below(MODELS, 2_000_000, ".onnx") if model.parent.name != "bad"]
        models = [model for model in sample(models, 1000 if LONG_FORM else 12)
                  if native(model, "plan", model.name, "-o", "planned.onnx", "--quiet")[0] == 0]
        with Page(self.server.url) as page:
            page.visit()
            for model in models[:None if LONG_FORM else 4]:
                page.choose(model)
                page.wait("document.getElementById('model').textContent.startsWith("
                          + json.dumps(model.name) + ") && !document.getElementById('results').hidden", model)
                self.check_figures(page, model)
            self.assertGreaterEqual(len(models), 20 if LONG_FORM else 4)
            self.assertIn("reads .tflite alone", page.text("boards-out"))
            self.assertEqual(page.errors(), [])

    def test_compressed_model(self):
        packed = gzip.compress(self.small.read_bytes())
        with Page(self.server.url) as page:
            page.visit()
            page.drop("ds-cnn.tflite.gz", packed[:len(packed) // 2])
            page.wait("!document.getElementById('error').hidden && document.getElementById('work').hidden")
            self.assertEqual(page.text("error"), "neap plan: ds-cnn.tflite.gz: is compressed with gzip, and truncated, "
                             "malformed or too large for this page")
            page.drop("ds-cnn.tflite.gz", packed)
            page.idle()
            self.assertEqual(page.text("error"), "")
            self.assertEqual(page.text("model"), f"ds-cnn.tflite.gz, {self.small.stat().st_size:,} bytes expanded")
            given = native(self.small, "plan", "ds-cnn.tflite", "-o", "planned.tflite", "--quiet")[3]["planned.tflite"]
            self.assertEqual(page.download("Planned model", "ds-cnn-planned.tflite"), given)
            self.assertEqual(page.errors(), [])

    def test_symbols(self):
        """A dimension without a size: the page offers a size of one, which all commands get."""
        model = self.work / "symbols.onnx"
        model.write_bytes(RELU_WITH_SYMBOL)
        with Page(self.server.url) as page:
            page.visit()
            page.choose(model)
            page.wait("!document.getElementById('error').hidden && document.getElementById('work').hidden")
            message = native(model, "plan", model.name, "--json")[2].strip()
            self.assertIn("bind every symbol", message)
            self.assertEqual(page.text("error"), message + " Plan with --dim batch=1")
            page.click("Plan with --dim batch=1", "#error")
            page.idle()
            self.assertEqual(page.text("error"), "")
            self.assertIn("An arena of 32 bytes", page.text("headline"))
            self.assertIn("needs an arena of 32 B", page.text("words").replace("symbols.onnx ", ""))
            self.assertEqual(page.errors(), [])

    def test_download_size(self):
        page = (SITE / "index.html").read_bytes()
        self.assertLess(len(gzip.compress(page, 9)), 3_000_000)

    def test_no_request(self):
        with Page(self.server.url) as page:
            self.server.paths.clear()
            page.visit()
            page.choose(self.small)
            page.idle()
            self.assertEqual([path for path in self.server.paths if path != "/"], [])
            self.assertEqual(page.run("return performance.getEntriesByType('resource').map(e => e.name)"
                                      ".filter(name => !/^(blob|data):/.test(name))"), [])
            # The policy forbids what the page does not try either.
            refused = self.ask_async(page, """
                const done = arguments[0], image = new Image();
                const fetched = fetch('/other').then(() => 'fetched', () => 'refused');
                const loaded = new Promise(r => { image.onload = () => r('loaded'); image.onerror = () => r('refused'); image.src = '/other.png'; });
                Promise.all([fetched, loaded]).then(done);""")
            self.assertEqual(refused, ["refused", "refused"])
            self.assertEqual([path for path in self.server.paths if path != "/"], [])

    @staticmethod
    def ask_async(page, script):
        return page.ask("POST", "/execute/async", {"script": script, "args": []})

    def test_bad_files(self):
        good = self.small.read_bytes()
        bad = {"damaged.tflite": good[:len(good) // 2], "zeros.tflite": good[:8] + bytes(len(good) - 8),
               "photo.jpg": b"\xff\xd8\xff\xe0" + bytes(1000), "empty.tflite": b"", "model.onnx": b"\x08\x07\x12\x00",
               "cut.onnx": RELU_WITH_SYMBOL[:40],
               "-rf <b>x.tflite": b"no model"}
        with Page(self.server.url) as page:
            page.visit()
            for name, data in bad.items():
                path = self.work / ("model" + name if name.startswith("-") else name)
                path.write_bytes(data)
                page.drop(name, data)
                page.wait("!document.getElementById('error').hidden && document.getElementById('work').hidden", name)
                code, _, err, _ = native(path, "plan", path.name, "--json")
                self.assertNotEqual(code, 0, name)
                self.assertEqual(page.text("error"), err.strip(), name)
                self.assertEqual(len(page.text("error").splitlines()), 1)
                self.assertTrue(page.run("return document.getElementById('results').hidden"))
            self.assertEqual(page.run("return document.querySelectorAll('#error *').length"), 0)
            # Afterwards a model is planned as ever.
            page.choose(self.small)
            page.idle()
            self.check_figures(page, self.small)
            self.assertEqual(page.errors(), [])

    def test_cancel_and_second_model(self):
        with Page(self.server.url) as page:
            page.visit(LONG)
            # A first answer, then progress as text and as a bar.
            page.wait("document.getElementById('first').textContent.startsWith('Order and addresses alone: An arena of ')")
            self.assertTrue(page.run("return document.getElementById('results').hidden"))
            page.wait("/^planning: /.test(document.getElementById('progress').textContent)", "progress")
            page.wait("document.getElementById('bar').position >= 0 && document.getElementById('share').textContent")
            page.click("Cancel")
            self.assertTrue(page.run("return document.getElementById('work').hidden"))
            self.assertTrue(page.run("return document.getElementById('results').hidden"))
            # The same again, and another model while it runs.
            page.click("Plan again")
            page.wait("!document.getElementById('work').hidden")
            page.run("for (const id of ['effort', 'budget-size']) document.getElementById(id).value = ''")
            page.choose(self.small)
            page.idle()
            self.assertEqual(page.text("model"), f"ds-cnn.tflite, {self.small.stat().st_size:,} bytes")
            self.check_figures(page, self.small)
            self.assertEqual(page.errors(), [])

    def test_link(self):
        with Page(self.server.url) as page:
            page.visit("#budget=9000&options=--overlap%20tflm-reference&sample=ds-cnn")
            page.idle()
            self.assertIn("over budget", page.text("error"))
            page.run("document.getElementById('budget-size').value = '64KiB';"
                     "document.getElementById('form').dispatchEvent(new Event('input', {bubbles: true}))")
            page.click("Plan again")
            page.idle()
            self.assertEqual(page.text("error"), "")
            link = page.run("return location.hash")
            self.assertEqual(link, "#budget=64KiB&options=--overlap%20tflm-reference&sample=ds-cnn")
            first = page.text("headline")
            self.assertIn("38.8 % less", first)
            page.visit(link)
            page.idle()
            self.assertEqual(page.text("headline"), first)
            page.visit("#board=nano-33-ble&sample=ds-cnn")
            page.idle()
            self.assertEqual(page.text("error"), "")
            self.assertEqual(page.run("return document.getElementById('board').selectedOptions[0].textContent"),
                             "Arduino Nano 33 BLE (Sense)")
            # What a link should not contain is refused by the program.
            page.visit("#board=%3Cimg%20src%3Dx%3E&sample=ds-cnn")
            page.idle()
            self.assertIn("neap plan: ", page.text("error"))
            self.assertEqual(page.errors(), [])

    def test_from_a_folder(self):
        with Page((SITE / "index.html").resolve().as_uri()) as page:
            page.visit()
            page.choose(self.small)
            page.idle()
            self.check_figures(page, self.small)
            self.assertEqual(page.errors(), [])

    def test_features_boards_code_and_drawings(self):
        with Page(self.server.url) as page:
            page.visit()
            page.choose(self.small)
            page.idle()
            for button, where in (("Search in full", "features-out"), ("Find the boards", "boards-out"),
                                  ("Find plans", "pareto-out")):
                page.click(button, "#" + where)
                page.wait(f"document.querySelector('#{where} table') && !document.querySelector('#{where} > button') &&"
                          " document.getElementById('work').hidden")
            rows = "return [...document.querySelectorAll('#{} tr')].slice(1).map(r => [...r.cells].map(c => c.textContent))"
            report = json.loads(native(self.small, "explain", "ds-cnn.tflite", "--json")[1])
            shown = page.run(rows.format("features-out"))
            self.assertEqual([row[0] for row in shown], [feature["label"] for feature in report["features"]])
            self.assertEqual([row[1].replace(",", "") for row in shown],
                             [str(feature["arena_bytes"] or "-") for feature in report["features"]])
            head = report["text"].split("\n")[0]
            self.assertIn(head, page.text("words"))
            report = json.loads(native(self.small, "boards", "ds-cnn.tflite", "--json")[1])
            shown = page.run(rows.format("boards-out"))
            self.assertEqual([(row[0], row[3]) for row in shown],
                             [(board["title"], board["answer"]) for board in report["boards"]])
            report = json.loads(native(self.small, "pareto", "ds-cnn.tflite", "--json")[1])
            shown = page.run(rows.format("pareto-out"))
            self.assertEqual([int(row[1].replace(",", "")) for row in shown],
                             [point["arena_bytes"] for point in report["points"]])
            self.assertEqual(page.run("return document.querySelectorAll('#pareto-out circle').length"), len(shown))
            page.run("document.querySelector('#features-out button[aria-label=\"Use overlap\"]').click()")
            page.idle()
            self.assertEqual(page.run("return document.getElementById('options').value"), "--overlap tflm-reference")
            self.assertIn("38.8 % less", page.text("headline"))
            self.check_code(page)
            svg = page.download("Drawing, SVG", "ds-cnn-memory.svg").decode()
            self.assertTrue(svg.startswith("<svg") and "arena" in svg and "var(" not in svg)
            self.assertEqual(page.download("Drawing, PNG", "ds-cnn-memory.png")[:8], b"\x89PNG\r\n\x1a\n")
            self.assertEqual(page.errors(), [])

    def check_code(self, page):
        page.download("C code", "ds-cnn-c.zip")
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([NEAP, "emit", str(self.small), "-o", folder + "/code", "--quiet"], check=True)
            with zipfile.ZipFile(page.folder / "ds-cnn-c.zip") as archive:
                self.assertIsNone(archive.testzip())
                emitted = {"ds-cnn/" + str(path.relative_to(folder + "/code")): path.read_bytes()
                           for path in pathlib.Path(folder, "code").rglob("*") if path.is_file()}
                self.assertEqual({name: archive.read(name) for name in archive.namelist()}, emitted)

    CLEAR = "\ue009a\ue000\ue017"  # Ctrl+A, Delete

    def test_search_by_name(self):
        """Typed with the keyboard: the names of the model's tensors, with the sizes, steps and offsets of the plan."""
        inspected = json.loads(native(self.small, "inspect", "ds-cnn.tflite", "--top", "1000", "--json")[1])
        sizes = {tensor["name"]: tensor["bytes"] for tensor in inspected["largest_tensors"]}
        plan = json.loads(native(self.small, "plan", "ds-cnn.tflite", "--plan", "plan.json")[3]["plan.json"])
        placed = {(t["bytes"], t["first"], t["last"] - 1, t["offset"]) for t in plan["entries"][0]["tensors"]}
        rows = ("return [...document.querySelectorAll('#found table')].map(t => [...t.rows].slice(1).map("
                "r => [...r.cells].map(c => c.title || c.textContent)))")
        full = "return [...document.querySelectorAll('#found td.name span')].map(e => e.title || e.textContent)"
        with Page(self.server.url) as page:
            page.visit()
            page.choose(self.small)
            page.idle()
            field = self.field(page, "#find")
            for text in ("BLOCK1/", "conv", ".", "(", "input"):
                page.ask("POST", f"/element/{field}/value", {"text": self.CLEAR + text})
                wanted = sorted(name for name in sizes if text.lower() in name.lower())
                tables, names = page.run(rows), page.run(full)
                said = page.run("return [...document.querySelectorAll('#found p')].map(p => p.textContent)")
                self.assertEqual(len(said), 2, text)
                if not wanted:
                    self.assertTrue(all("no tensor has this text in its name." in line for line in said), said)
                    self.assertEqual((tables, page.run("return document.querySelectorAll('#map rect.hit').length")), ([], 0))
                    continue
                shown = min(len(wanted), 12)
                self.assertTrue(all(f": {len(wanted)} tensor" in line for line in said), said)
                self.assertEqual([len(table) for table in tables], [shown, shown], text)
                if len(wanted) <= 12:
                    self.assertEqual(sorted(names), sorted(2 * wanted))
                self.assertEqual([sizes[name] for name in names],
                                 [int(row[2].replace(",", "")) for table in tables for row in table])
                for table in tables:  # the largest first
                    found = [int(row[2].replace(",", "")) for row in table]
                    self.assertEqual(found, sorted(found, reverse=True))
                for _, _, size, steps, offset in tables[1]:
                    first, last = steps.split(" to ")
                    self.assertIn(tuple(int(v.replace(",", "")) for v in (size, first, last, offset)), placed)
                # In both maps, each found tensor is marked, and no other one.
                self.assertEqual(page.run("return document.querySelectorAll('#map rect.hit').length"), 2 * len(wanted))
            # A found row leads to its step.
            button = self.field(page, "#found table:last-of-type td button")
            first = page.run("return document.querySelector('#found table:last-of-type td button').textContent").split(" to ")[0]
            page.ask("POST", f"/element/{button}/click", {})
            steps = page.run("return [...document.querySelectorAll('#map input.step')].map(e => e.value)")
            self.assertIn(first, steps)
            self.assertTrue(any(line.startswith(f"Step {first} of ") for line in page.run(
                "return [...document.querySelectorAll('#map .shown')].map(e => e.textContent)")))
            page.ask("POST", f"/element/{field}/value", {"text": self.CLEAR})
            self.assertEqual(page.run("return [document.querySelectorAll('#map rect.hit').length, "
                                      "document.getElementById('found').childNodes.length]"), [0, 0])
            self.assertEqual(page.errors(), [])

    @staticmethod
    def field(page, selector):
        return next(iter(page.ask("POST", "/element", {"using": "css selector", "value": selector}).values()))

    def test_large_model(self):
        large = self.work / "large.tflite"
        # 14,149,480 parameters of 4 bytes.
        subprocess.run([NEAP, "zoo", "densenet-169", "--format", "tflite", "-o", str(large), "--quiet"], check=True)
        self.assertGreater(large.stat().st_size, 40_000_000)
        with Page(self.server.url) as page:
            page.visit()
            page.choose(large)
            page.wait("!document.getElementById('results').hidden || !document.getElementById('error').hidden")
            self.assertEqual(page.text("error"), "")
            self.check_figures(page, large)
            self.assertEqual(page.errors(), [])

    def test_layout(self):
        for width in pages.WIDTHS:
            for dark in (False, True):
                with self.subTest(width=width, dark=dark), Page(self.server.url, width, dark) as page:
                    page.visit("#sample=resnet8")
                    page.idle()
                    page.run("document.getElementById('settings').open = true")
                    page.click("Find plans", "#pareto-out")
                    page.wait("document.querySelector('#pareto-out table') && document.getElementById('work').hidden")
                    self.assertLessEqual(page.run("return document.documentElement.scrollWidth"), width)
                    self.assertEqual(page.run(pages.CLIPPED), [])
                    self.assertEqual(page.run(pages.OVERLAPPING), [])
                    self.assertEqual(page.run(pages.LOW_CONTRAST), [])
                    self.assertTrue(all(page.run(pages.ALTERNATIVES)))
                    self.assertEqual(page.run("return [...document.querySelectorAll('input, select')]"
                                              ".filter(e => !e.labels.length && !e.ariaLabel).map(e => e.id)"), [])
                    self.assertEqual(page.errors(), [])
                    self.picture(page, f"{width}-{'dark' if dark else 'light'}.png")

    @staticmethod
    def picture(page, name):
        if not SCREENSHOTS:
            return
        height = page.run("return document.documentElement.scrollHeight")
        page.command("Emulation.setDeviceMetricsOverride", width=page.width, height=min(height, 8000),
                     deviceScaleFactor=1, mobile=False)
        folder = pathlib.Path(SCREENSHOTS)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(base64.b64decode(page.command("Page.captureScreenshot")["data"]))

    def test_keyboard(self):
        with Page(self.server.url) as page:
            page.visit("#sample=ds-cnn")
            page.idle()
            reached = []
            for _ in range(80):
                for kind in ("keyDown", "keyUp"):
                    page.command("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
                at = page.run("const e = document.activeElement, s = getComputedStyle(e.id === 'file' ? e.nextElementSibling : e);"
                              "return [e.tagName, e.id || e.textContent.slice(0, 30), s.outlineStyle, parseFloat(s.outlineWidth)]")
                if at[0] == "BODY":
                    break
                reached.append((at[0], at[1]))
                self.assertNotEqual(at[2], "none", at)
                self.assertGreaterEqual(at[3], 2, at)
            for wanted in (("INPUT", "file"), ("SELECT", "sample"), ("BUTTON", "Planned model"), ("INPUT", "find"),
                           ("INPUT", "step-1"), ("BUTTON", "Find plans of less memory and m")):
                self.assertIn((wanted[0], wanted[1][:30]), reached)


if __name__ == "__main__":
    unittest.main()
