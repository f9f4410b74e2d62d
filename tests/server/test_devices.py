# SPDX-License-Identifier: Apache-2.0
"""Devices that receive plans: examples/device against a server, and what the program refuses."""

import hashlib
import pathlib
import shutil
import subprocess
import sys

from server import NEAP, SOURCE, TIMEOUT, ServerTest

sys.path.insert(0, str(SOURCE / "tests/emit"))
sys.path.insert(0, str(SOURCE / "firmware"))
import emitted  # noqa: E402
import measure  # noqa: E402


class Devices(ServerTest):

    def neap(self, *words, code=0):
        run = subprocess.run([NEAP, *map(str, words)], cwd=self.folder, capture_output=True, text=True,
                             timeout=TIMEOUT, check=False)
        self.assertEqual(run.returncode, code, run.stderr)
        return run

    def network(self):
        """The model of a small network, its code and its input."""
        self.neap("zoo", "ds-cnn", "--int8", "-o", "net.tflite", "--quiet")
        self.neap("emit", "net.tflite", "-o", "net", "--prefix", "net", "--received-plans", "--quiet")
        self.neap("run", "net.tflite", "--random-inputs", 1, "--save-inputs", "in.npz", "--outputs", "out.npz",
                  "--kernels", "tflm", "--quiet")
        (self.folder / "input").write_bytes(emitted.arrays(self.folder / "in.npz")[0])
        return (self.folder / "net.tflite").read_bytes()

    def build(self):
        compiler = shutil.which("cc")
        if compiler is None:
            self.skipTest("there is no C compiler")
        sources = sorted(str(path) for path in (self.folder / "net").rglob("*.c"))
        subprocess.run([compiler, "-std=gnu99", "-Wall", "-Wextra", "-Werror", "-O1", "-fsanitize=address,undefined",
                        "-fno-sanitize-recover=all", "-Inet", str(SOURCE / "examples/device/device.c"), *sources, "-o",
                        "device"], cwd=self.folder, check=True, timeout=TIMEOUT)

    def device(self, server, model, capacity, code):
        run = subprocess.run(["./device", str(server.port), hashlib.sha256(model).hexdigest(), str(capacity), "input",
                              "output"], cwd=self.folder, capture_output=True, text=True, timeout=TIMEOUT, check=False)
        self.assertEqual(run.returncode, code, run.stdout + run.stderr)
        return run.stdout

    def server_with(self, model):
        """A server that keeps the model, and the report of its plan without a budget."""
        server = self.serve()
        plan = server.json("POST", "/v1/plans?name=net.tflite&binary=true&keep-model=true", model, expect=202)["id"]
        self.assertEqual(server.wait(plan)["state"], "done")
        return server, server.json("GET", f"/v1/plans/{plan}/report.json")

    def test_a_device_executes_plans_for_its_memory(self):
        model = self.network()
        self.build()
        expected = emitted.arrays(self.folder / "out.npz")[0]
        server, report = self.server_with(model)
        least = report["arena_bytes"]
        self.assertEqual(report["plan_bytes"], report["arena_lower_bound_bytes"])
        # Memory for a plan, also after it shrank to 70 %.
        self.device(server, model, least * 3 // 2, code=0)
        self.assertEqual((self.folder / "output").read_bytes(), expected)
        self.assertEqual((self.folder / "output.2").read_bytes(), expected)
        # Then it does not fit, and the answer has the bytes that suffice.
        text = self.device(server, model, least, code=3)
        self.assertIn(f"{least:,} B", text.splitlines()[1])
        self.assertEqual(len(text.splitlines()), 2)

    def test_firmware_executes_plans_that_come_over_its_uart(self):
        board = measure.boards()["mps2-an386"]
        if missing := board.missing_tools():
            self.skipTest(f"needs {', '.join(missing)}: scripts/install_packages.sh --firmware")
        model = self.network()
        expected = emitted.arrays(self.folder / "out.npz")[0]
        server, report = self.server_with(model)
        for arena, code in ((report["arena_bytes"] * 3 // 2 // 4 * 4, 0), (report["arena_bytes"], 3)):
            subprocess.run(["cmake", "-S", SOURCE / "examples/device", "-B", "build", "-G", "Ninja",
                            f"-DCMAKE_TOOLCHAIN_FILE={SOURCE}/firmware/board.cmake", f"-DNEAP_BOARD={board.name}",
                            f"-DNETWORK={self.folder}/net", f"-DARENA_BYTES={arena}"], cwd=self.folder, check=True,
                           capture_output=True)
            subprocess.run(["cmake", "--build", "build"], cwd=self.folder, check=True, capture_output=True)
            for output in self.folder.glob("output*"):
                output.unlink()
            run = subprocess.run([sys.executable, SOURCE / "examples/device/bridge.py", str(server.port), "input", "output",
                                  *board.emulator, "-display", "none", "-monitor", "none", "-semihosting-config",
                                  "enable=on,target=native", "-kernel", "build/device.elf"], cwd=self.folder,
                                 capture_output=True, text=True, timeout=2 * TIMEOUT, check=False)
            self.assertEqual(run.returncode, code, run.stdout + run.stderr)
            self.assertEqual((self.folder / "output").read_bytes(), expected)
            second = self.folder / "output.2"
            self.assertEqual(second.read_bytes() if code == 0 else second.exists(), expected if code == 0 else False)

    def test_a_model_is_kept_for_its_token_alone(self):
        tokens = self.folder / "tokens"
        tokens.write_text("alice-has-this-one\nbob-has-another-one\n")
        server = self.serve("--tokens", tokens)
        self.neap("zoo", "ds-cnn", "--int8", "-o", "net.tflite", "--quiet")
        model = (self.folder / "net.tflite").read_bytes()
        target = f"/v1/plans?binary=true&model={hashlib.sha256(model).hexdigest()}"
        self.assertEqual(server.request("POST", target, token="alice-has-this-one")[0], 404)
        server.json("POST", "/v1/plans?binary=true&keep-model=true", model, expect=202, token="alice-has-this-one")
        self.assertEqual(server.request("POST", target, token="alice-has-this-one")[0], 202)
        self.assertEqual(server.request("POST", target, token="bob-has-another-one")[0], 404)

    def test_plans_that_devices_cannot_execute_are_refused(self):
        self.neap("zoo", "ds-cnn", "--int8", "-o", "net.tflite", "--quiet")
        for words in (("--binary-plan", "p", "-o", "net"), ("--binary-plan", "p", "--received-plans"), (),
                      ("--received-plans", "-o", "net", "--plan", "plan.json"),
                      ("--binary-plan", "p", "--stream", "auto")):
            self.neap("emit", "net.tflite", *words, code=2)
        self.neap("emit", "net.tflite", "--binary-plan", "p", "--budget", 100, code=3)
        self.neap("plan", "net.tflite", "--runtime", "neap", "--stream", "auto", "--plan", "s.json", "--quiet")
        run = self.neap("emit", "net.tflite", "--binary-plan", "p", "--plan", "s.json", code=1)
        self.assertIn("has no binary plan", run.stderr)
        self.assertFalse(pathlib.Path(self.folder / "p").exists())
