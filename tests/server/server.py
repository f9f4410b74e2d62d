# SPDX-License-Identifier: Apache-2.0
"""A server on loopback for a test, and its client: the standard library alone."""

import http.client
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

SOURCE = pathlib.Path(os.environ.get("NEAP_SOURCE_DIR", pathlib.Path(__file__).parents[2]))
sys.path.insert(0, str(SOURCE / "tests/cli"))
from neap_cli import DIAMOND, DIAMOND_BEST_PEAK, NEAP, wide_graph  # noqa: E402, F401

TIMEOUT = 120  # of anything, on a slow machine
SMALL = json.dumps(DIAMOND).encode()
# LARGE: a search without an end, with LONG. MEDIUM: a search of less than a second.
LARGE = json.dumps(wide_graph(400, 1)).encode()
MEDIUM = json.dumps(wide_graph(40, 1)).encode()
LONG = "&max-states=1000000000000"


class Server:
    """`neap serve` on a free port; it ends with the test."""

    def __init__(self, folder, *options, program=NEAP):
        self.folder = pathlib.Path(folder)
        self.log = self.folder / "log"
        with open(self.log, "ab") as log:
            self.run = subprocess.Popen([program, "serve", "--store", str(self.folder / "store"), "--port", "0",
                                         *map(str, options)], stdout=subprocess.PIPE, stderr=log, text=True)
        address = self.run.stdout.readline()
        if not address:
            self.run.wait(TIMEOUT)
            text = self.log.read_text()
            self.run.stdout.close()
            raise RuntimeError(text)
        self.host, port = address.strip().removeprefix("http://").rsplit(":", 1)
        self.port = int(port)

    def connect(self):
        return http.client.HTTPConnection(self.host, self.port, timeout=TIMEOUT)

    def request(self, method, target, body=None, headers=None, token=None):
        """(status, headers, body)."""
        headers = dict(headers or {})
        if token:
            headers["Authorization"] = f"Bearer {token}"
        connection = self.connect()
        try:
            connection.request(method, target, body, headers)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def json(self, method, target, *more, expect=200, **options):
        status, _, body = self.request(method, target, *more, **options)
        assert status == expect, (status, body)
        return json.loads(body)

    def plan(self, model=SMALL, query="", **options):
        """The id of an accepted plan."""
        return self.json("POST", f"/v1/plans?name=model.json{query}", model, expect=202, **options)["id"]

    def wait(self, plan, states=("done", "failed"), **options):
        end = time.monotonic() + TIMEOUT
        while time.monotonic() < end:
            status = self.json("GET", f"/v1/plans/{plan}", **options)
            if status["state"] in states:
                return status
            time.sleep(0.02)
        raise TimeoutError(f"{plan}: {status}")

    def metric(self, name):
        for line in self.request("GET", "/metrics")[2].decode().splitlines():
            if line.startswith(name + " "):
                return int(line.split()[1])
        return 0

    def events(self):
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    def kill(self):
        self.run.send_signal(signal.SIGKILL)
        self.run.wait(TIMEOUT)
        self.run.stdout.close()

    def end(self):
        """The exit code after SIGTERM."""
        if self.run.poll() is None:
            self.run.send_signal(signal.SIGTERM)
        code = self.run.wait(TIMEOUT)
        self.run.stdout.close()
        return code


class ServerTest(unittest.TestCase):

    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def serve(self, *options):
        try:
            server = Server(self.folder, *options)
        except RuntimeError as error:
            if "without its server" in str(error):
                self.skipTest("the program was built without its server")
            raise
        self.addCleanup(lambda: server.run.poll() is None and server.kill())
        return server
