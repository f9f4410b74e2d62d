#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The program of the page beside the native one, without a browser: the same models planned by both,
under Node.js. Reports without their seconds, messages, exit codes and written files are compared.

compare.py [--neap NEAP] [--build build/web] [--models FOLDER] [--max-bytes N] [--count N] [--browser]
[--table FILE]
"""

import argparse
import gzip
import json
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SECONDS = ("seconds", "read", "order", "place", "checks", "total")


def outputs(model):
    return ["-o", "planned" + model.suffix, "--emit-c", "arena.h", "--plan", "plan.json", "--html", "memory.html"]


def without_seconds(value):
    """A report without what differs from run to run."""
    if isinstance(value, dict):
        return {key: without_seconds(one) for key, one in value.items()
                if key not in ("seconds", "seconds_by_step", "timings")}
    if isinstance(value, list):
        return [without_seconds(one) for one in value]
    return value


def contents(folder, model):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*"))
            if path.is_file() and path.name != model}


def report_of(text):
    if not text.startswith("{"):
        return text
    return without_seconds(json.loads(text))


class Pair:
    """One command line, run natively and as the page does."""

    def __init__(self, neap, build):
        self.neap, self.build = neap, build

    def native(self, model, arguments, folder):
        shutil.copy(model, folder)
        start = time.perf_counter()
        done = subprocess.run([self.neap, *arguments], cwd=folder, capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr, time.perf_counter() - start

    def page(self, model, arguments, folder):
        done = subprocess.run(["node", str(HERE / "run_program.js"), str(self.build / "web"), str(folder),
                               str(model), "--", *arguments], capture_output=True, text=True)
        *messages, last = done.stderr.splitlines()
        err = "".join(line + "\n" for line in messages)
        return done.returncode, done.stdout, err, json.loads(last)["seconds"]

    def compare(self, model, arguments):
        """The differences as text, and the seconds of both."""
        with tempfile.TemporaryDirectory() as here, tempfile.TemporaryDirectory() as there:
            a, b = pathlib.Path(here), pathlib.Path(there)
            native = self.native(model, arguments, a)
            page = self.page(model, arguments, b)
            differences = []
            if native[0] != page[0]:
                differences.append(f"exit code {native[0]} and {page[0]}")
            if native[2] != page[2]:
                differences.append(f"messages {native[2]!r} and {page[2]!r}")
            if report_of(native[1]) != report_of(page[1]):
                differences.append("reports")
            ours, theirs = contents(a, model.name), contents(b, model.name)
            for name in sorted(ours.keys() | theirs.keys()):
                if ours.get(name) != theirs.get(name):
                    differences.append(name)
            return "; ".join(differences), native[3], page[3], native[0], len(ours)


def models_below(folder, max_bytes, suffix=".tflite"):
    """Those below `max_bytes`, the smallest first; of equal files the first."""
    seen, out = set(), []
    for path in sorted(folder.rglob("*" + suffix), key=lambda path: (path.stat().st_size, str(path))):
        data = path.read_bytes() if path.stat().st_size < max_bytes else None
        if data is not None and hash(data) not in seen:
            seen.add(hash(data))
            out.append(path)
    return out


def sample(models, count):
    """`count` of them, evenly by size."""
    if count >= len(models):
        return models
    return [models[i * len(models) // count] for i in range(count)]


def ready_seconds(times=5):
    """From the request until the page accepts a model, in browsers of their own."""
    import test_web
    server, out = test_web.Server(), []
    for _ in range(times):
        with test_web.Page(server.url) as page:
            page.visit()
            out.append(int(page.run("return document.documentElement.dataset.ready")) / 1000)
    server.shutdown()
    return out


def first_answers(models):
    """Seconds from a chosen model to the first figures on the page, by the page's clock."""
    import test_web
    server, out = test_web.Server(), []
    with test_web.Page(server.url) as page:
        page.visit()
        for model in models:
            page.run("""window.seen = null;
                document.getElementById('file').addEventListener('change', () => { window.begun = performance.now(); },
                                                                 {once: true, capture: true});
                new MutationObserver((_, self) => {
                  const shown = id => !document.getElementById(id).hidden && document.getElementById(id).textContent !== '';
                  if (!shown('first') && !shown('results') && !shown('error')) return;
                  window.seen = performance.now() - window.begun;
                  self.disconnect();
                }).observe(document.querySelector('main'), {subtree: true, childList: true, attributes: true});""")
            page.choose(model)
            out.append(page.wait("window.seen", model) / 1000)
            page.idle()
    server.shutdown()
    return out


def table(rows, args):
    page = args.build / "site" / "index.html"
    data = page.read_bytes()
    def ratios(seconds):
        return sorted(wasm / native for _, _, native, wasm, _ in rows if native >= seconds)

    lines = ["# The page beside the program", "",
             "Made by `tests/web/compare.py --browser --table docs/results/web.md`. Every model was planned with the",
             "default options by the native program and by the program of the page, WebAssembly under",
             f"Node.js {subprocess.run(['node', '--version'], capture_output=True, text=True).stdout.strip()}, "
             f"{platform.machine()}. Reports without their seconds, exit codes, messages and all",
             "written files (model, plan.json, C header, memory report) were compared. The seconds are those of a",
             "machine with other work on it. In short runs, the browser's compiler optimises the program while it runs.", "",
             "| what | figure |", "|---|---|",
             f"| page, bytes | {len(data):,} |",
             f"| page, bytes with gzip | {len(gzip.compress(data, 9)):,} |",
             f"| models | {len(rows)} |",
             f"| models with equal results | {sum(not row[4] for row in rows)} |"]
    for seconds in (0.05, 0.5):
        found = ratios(seconds)
        if found:
            lines.append(f"| time beside native, models of {seconds} s and more: median of {len(found)}, minimum, maximum | "
                         f"{statistics.median(found):.1f}x, {found[0]:.1f}x, {found[-1]:.1f}x |")
    ready = args.ready or []
    if ready:
        lines.append(f"| time until the page is ready, s, in headless Chromium: median of {len(ready)}, maximum | "
                     f"{statistics.median(ready):.2f}, {max(ready):.2f} |")
    first = args.first or []
    if first:
        lines.append(f"| time from a model to its first answer, s, of models whose plan takes 1 s and more: median of "
                     f"{len(first)}, maximum | {statistics.median(first):.2f}, {max(first):.2f} |")
    lines += ["", "| model | bytes | native, s | page, s |", "|---|---|---|---|"]
    for name, size, native, wasm, difference in rows:
        lines.append(f"| {name} | {size:,} | {native:.2f} | {wasm:.2f}{' DIFFERS' if difference else ''} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--neap", default=str(ROOT / "build/release/tools/neap"))
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/web")
    parser.add_argument("--models", type=pathlib.Path, default=ROOT.parent / "shared/models")
    parser.add_argument("--max-bytes", type=int, default=5_000_000)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--table", type=pathlib.Path)
    parser.add_argument("--browser", action="store_true", help="measure the page's start in Chromium, too")
    args = parser.parse_args()
    args.neap = str(pathlib.Path(args.neap).resolve())
    pair = Pair(args.neap, args.build)
    rows = []
    models = [model for suffix in (".tflite", ".onnx")
              for model in sample(models_below(args.models, args.max_bytes, suffix), args.count)]
    for model in models:
        arguments = ["plan", model.name, *outputs(model), "--json"]
        differences, native, wasm, code, written = pair.compare(model, arguments)
        print(f"{model.name}: code {code}, {written} files, {native:.2f} s, {wasm:.2f} s "
              f"{'DIFFERS: ' + differences if differences else 'equal'}", flush=True)
        rows.append((model.name, model.stat().st_size, native, wasm, differences))
    args.ready = ready_seconds() if args.browser else None
    args.first = first_answers([model for model, row in zip(models, rows) if row[3] >= 1]) if args.browser else None
    if args.table:
        args.table.write_text(table(rows, args))
    differing = sum(bool(row[4]) for row in rows)
    print(f"{len(rows)} models, {differing} differ")
    sys.exit(1 if differing or not rows else 0)


if __name__ == "__main__":
    main()
