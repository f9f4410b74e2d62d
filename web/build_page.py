#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the page from its parts: build_page.py SOURCE BUILD OUT. One file without references, so that it
works from any server, without one, and offline: style and scripts inline, the worker and the WebAssembly
as gzip in base64. The content security policy permits exactly these scripts, and no request.
"""

import base64
import gzip
import hashlib
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SCRIPTS = ["web/page/gzip.js", "web/page/runner.js", "neap/show/picture/memory.js", "web/page/files.js", "web/page/view.js",
           "web/page/chart.js", "web/page/app.js"]
STYLES = ["neap/show/picture/page.css", "web/page/page.css"]
WORKER = ["web/page/program.js", "web/page/worker.js"]


def without_comments(text):
    """Whole lines of comment alone."""
    text = re.sub(r"^/\*.*?\*/\n", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"^\s*//.*\n", "", text, flags=re.MULTILINE)


def packed(data):
    """As gzip, in base64. Zopfli, where it is installed, makes it a twentieth smaller."""
    program = shutil.which("zopfli")
    if program is None:
        return base64.b64encode(gzip.compress(data, 9, mtime=0)).decode()
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        made = subprocess.run([program, "--i1", "-c", file.name], capture_output=True, check=True).stdout
    return base64.b64encode(made).decode()


def policy(script):
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return "; ".join(["default-src 'none'", f"script-src 'sha256-{digest}' 'wasm-unsafe-eval'",
                      "worker-src blob:", "style-src 'unsafe-inline'", "img-src data: blob:",
                      "base-uri 'none'", "form-action 'none'"])


def page(source, build):
    read = lambda name: without_comments((source / name).read_text())  # noqa: E731
    script = "\n" + "".join(read(name) for name in SCRIPTS)
    worker = (build / "neap.js").read_text() + "\n" + "".join(read(name) for name in WORKER)
    parts = {
        "CSP": policy(script),
        "STYLE": "\n" + "".join(read(name) for name in STYLES),
        "SCRIPT": script,
        "WORKER": packed(worker.encode()),
        "WASM": packed((build / "neap.wasm").read_bytes()),
    }
    if "</script" in script or "<!--" in script:
        sys.exit("build_page.py: a script contains the end of its element")
    text = (source / "web/page/index.html").read_text()
    return re.sub("@([A-Z]+)@", lambda found: parts[found.group(1)], text)


def main():
    source, build, out = (pathlib.Path(argument) for argument in sys.argv[1:])
    text = page(source, build)
    out.mkdir(parents=True, exist_ok=True)
    (out / "index.html").write_text(text)
    size = len(gzip.compress(text.encode(), 9, mtime=0))
    print(f"{out / 'index.html'}: {len(text.encode()):,} bytes, {size:,} with gzip")


main()
