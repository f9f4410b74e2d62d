# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of the program: a folder of its own for each test, models, runs."""

import json
import os
import pathlib
import random
import signal
import subprocess
import tempfile
import time
import unittest

SOURCE = pathlib.Path(os.environ.get("NEAP_SOURCE_DIR", pathlib.Path(__file__).parents[2]))
NEAP = os.environ.get("NEAP", str(SOURCE / "build/release/tools/neap"))
SHARED = pathlib.Path(os.environ.get("NEAP_SHARED", SOURCE / "../shared"))

# Of one run, on any machine: a test that hangs ends, and no slow machine fails one.
TIMEOUT = 600

DONE, FAILED, USAGE, OVER_BUDGET, UNPROVEN, INTERRUPTED = 0, 1, 2, 3, 4, 130

# Two branches: file order (breadth first) needs 320 bytes, depth first 230.
DIAMOND = {
    "tensors": [{"name": "in", "bytes": 20}, {"name": "wide1", "bytes": 150},
                {"name": "wide2", "bytes": 150}, {"name": "thin1", "bytes": 10},
                {"name": "thin2", "bytes": 10}, {"name": "out", "bytes": 5}],
    "inputs": ["in"],
    "outputs": ["out"],
    "ops": [{"name": "widen1", "inputs": ["in"], "outputs": ["wide1"]},
            {"name": "widen2", "inputs": ["in"], "outputs": ["wide2"]},
            {"name": "narrow1", "inputs": ["wide1"], "outputs": ["thin1"]},
            {"name": "narrow2", "inputs": ["wide2"], "outputs": ["thin2"]},
            {"name": "join", "inputs": ["thin1", "thin2"], "outputs": ["out"]}],
}
DIAMOND_FILE_PEAK = 320
DIAMOND_BEST_PEAK = 180


def wide_graph(operators, seed, width=40):
    """A graph JSON in layers: every operator reads two to four of the two layers before; the last
    reads the whole last layer. With 200 operators no exact search ends soon."""
    draw = random.Random(seed)
    tensors = [{"name": "in", "bytes": 16}]
    ops = []
    for op in range(operators):
        layer = op // width
        pool = range(max(0, (layer - 2) * width + 1), layer * width + 1)
        inputs = sorted(draw.sample(pool, min(len(pool), draw.randint(2, 4))))
        tensors.append({"name": f"t{op}", "bytes": draw.randint(1, 1000)})
        ops.append({"name": f"op{op}", "inputs": inputs, "outputs": [op + 1]})
    inputs = list(range(max(1, operators - width + 1), operators + 1))
    ops.append({"name": "last", "inputs": inputs, "outputs": [operators + 1]})
    tensors.append({"name": "out", "bytes": 1})
    return {"tensors": tensors, "inputs": [0], "outputs": [operators + 1], "ops": ops}


def symbolic_onnx(*symbols):
    """An .onnx of one Relu, whose dimensions are these symbols."""
    def field(number, value):
        if isinstance(value, int):
            return bytes([number << 3, value])
        value = value.encode() if isinstance(value, str) else value
        return bytes([number << 3 | 2, len(value)]) + value

    shape = b"".join(field(1, field(2, symbol)) for symbol in symbols)
    kind = field(2, field(1, field(1, 1) + field(2, shape)))  # of float32
    node = field(1, "x") + field(2, "y") + field(4, "Relu")
    graph = (field(1, node) + field(2, "g") + field(11, field(1, "x") + kind) + field(12, field(1, "y") + kind))
    return field(1, 8) + field(7, graph) + field(8, field(2, 17))


class CliTest(unittest.TestCase):
    """Every test runs in an empty folder of its own: self.folder."""

    def searches_whole_networks(self):
        """For tests that take minutes under sanitizers, and whose parts run there one by one."""
        if os.environ.get("NEAP_SANITIZE") == "1":
            self.skipTest("minutes under sanitizers; its parts are tested one by one")

    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def run_neap(self, *arguments, stdin=b"", timeout=TIMEOUT, **more):
        return subprocess.run([NEAP, *map(str, arguments)], cwd=self.folder, input=stdin,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout,
                              check=False, **more)

    def interrupt(self, run):
        """Ctrl-C as soon as the program listens to it; its output and its errors."""
        status = pathlib.Path(f"/proc/{run.pid}/status")
        listens = 1 << (signal.SIGINT - 1)
        while status.exists() and run.poll() is None:
            caught = [line.split()[1] for line in status.read_text().splitlines()
                      if line.startswith("SigCgt")]
            if caught and int(caught[0], 16) & listens:
                break
            time.sleep(0.02)
        run.send_signal(signal.SIGINT)
        return run.communicate(timeout=TIMEOUT)

    def expect(self, code, *arguments, **more):
        """Runs, compares the exit code, and requires that an error is one line."""
        result = self.run_neap(*arguments, **more)
        errors = result.stderr.decode(errors="replace")
        self.assertEqual(result.returncode, code, f"neap {' '.join(map(str, arguments))}\n{errors}")
        if code == FAILED:
            self.assertEqual(len(errors.splitlines()), 1, errors)
        self.assertNotIn("internal error", errors)
        self.assertNotIn("Sanitizer", errors)
        self.assertNotIn("runtime error", errors)
        return result

    def report_of(self, *arguments, **more):
        return json.loads(self.expect(DONE, *arguments, "--json", **more).stdout)

    def write_json(self, name, graph):
        path = self.folder / name
        path.write_text(json.dumps(graph))
        return path

    def zoo(self, name="small.onnx", network="randwire-ws", **options):
        """A network of the zoo, small unless options change that."""
        options = {"seed": 1, "nodes": 8, "width": 4, **options}
        words = [word for key, value in options.items() for word in (f"--{key}", value)]
        self.expect(DONE, "zoo", network, *words, "-o", name)
        return self.folder / name

    def files(self):
        return sorted(path.name for path in self.folder.iterdir())
