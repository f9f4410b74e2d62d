# SPDX-License-Identifier: Apache-2.0
"""A headless browser for the tests of pages, through chromedriver and nothing but the standard
library."""

import json
import re
import shutil
import subprocess
import urllib.request

MISSING = "chromium and chromium-driver are not installed: THE PAGES ARE NOT TESTED"


def is_there():
    return bool(shutil.which("chromedriver") and shutil.which("chromium"))


class Browser:
    """with Browser(width, dark) as b: b.open(path); b.run("return 1 + 1")"""

    def __init__(self, width=1280, dark=False):
        self.width, self.dark = width, dark

    def __enter__(self):
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL, text=True)
        try:
            self.base = self.address()
            session = self.ask("POST", "/session", {"capabilities": {"alwaysMatch": self.wanted()}})
            self.base += f"/session/{session['sessionId']}"
            # Windows have a least width of their own; the page is laid out for this one.
            self.command("Emulation.setDeviceMetricsOverride", width=self.width, height=1000,
                         deviceScaleFactor=1, mobile=False)
            self.command("Emulation.setEmulatedMedia", features=[
                {"name": "prefers-color-scheme", "value": "dark" if self.dark else "light"}])
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(self, *_):
        try:
            self.ask("DELETE", "")
        finally:
            self.end()

    def end(self):
        self.driver.terminate()
        self.driver.communicate()

    def address(self):
        """The driver's port, which it prints when it listens."""
        for line in self.driver.stdout:
            found = re.search(r"successfully on port (\d+)", line)
            if found:
                return f"http://127.0.0.1:{found.group(1)}"
        raise RuntimeError("chromedriver did not start")

    def wanted(self):
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     f"--window-size={self.width},1000"]
        if self.dark:
            arguments.append("--force-dark-mode")
        return {"browserName": "chrome", "goog:chromeOptions": {"args": arguments},
                "goog:loggingPrefs": {"browser": "ALL"}}

    def ask(self, method, path, body=None):
        request = urllib.request.Request(self.base + path, method=method,
                                         data=None if body is None else json.dumps(body).encode(),
                                         headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)["value"]

    def command(self, name, **parameters):
        return self.ask("POST", "/goog/cdp/execute", {"cmd": name, "params": parameters})

    def open(self, path):
        self.ask("POST", "/url", {"url": path.resolve().as_uri()})

    def run(self, script):
        return self.ask("POST", "/execute/sync", {"script": script, "args": []})

    def errors(self):
        """Errors of the console and of the page's own guard."""
        lines = [entry["message"] for entry in self.ask("POST", "/se/log", {"type": "browser"})
                 if entry["level"] in ("SEVERE", "WARNING")]
        error = self.run("return document.documentElement.dataset.error || null")
        return lines + ([error] if error else [])
