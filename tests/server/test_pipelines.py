# SPDX-License-Identifier: Apache-2.0
"""Pipelines of several devices: examples/pipeline against a server, one process for each device."""

import subprocess
import sys
import zipfile

from server import NEAP, SOURCE, TIMEOUT, ServerTest

ITEMS = 3


def arrays(path):
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


class Pipelines(ServerTest):

    def neap(self, *words):
        subprocess.run([NEAP, *map(str, words)], cwd=self.folder, check=True, capture_output=True, timeout=TIMEOUT)

    def network(self, name, file, *more):
        """The model's bytes; in.N.npz and out.N.npz are items and their outputs without a pipeline."""
        self.neap("zoo", name, "-o", file, "--quiet", *more)
        for number in range(1, ITEMS + 1):
            self.neap("run", file, "--random-inputs", number, "--save-inputs", f"in.{number}.npz", "--outputs",
                      f"out.{number}.npz", "--quiet")
        return (self.folder / file).read_bytes()

    def devices(self, server, plan, count):
        """Executes the items by a process for each stage, started from the last one."""
        target, running = ["--outputs", str(self.folder)], []
        for stage in range(count, 0, -1):
            source = ["--listen"] if stage > 1 else ["--items", *(f"in.{number}.npz" for number in range(1, ITEMS + 1))]
            run = subprocess.Popen([sys.executable, str(SOURCE / "examples/pipeline/stage.py"),
                                    f"http://127.0.0.1:{server.port}", plan, str(stage), *source, *target, "--neap",
                                    NEAP], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.addCleanup(run.kill)
            running.append(run)
            if stage > 1:
                target = ["--next", run.stdout.readline().strip()]
        for run in running:
            _, errors = run.communicate(timeout=TIMEOUT)
            self.assertEqual(run.returncode, 0, errors)

    def compare(self, name, file, stages, *more, query=""):
        model = self.network(name, file, *more)
        server = self.serve()
        plan = server.json("POST", f"/v1/plans?name={file}{query}&stages={stages}&objective=parameters", model,
                           expect=202)["id"]
        shown = server.wait(plan)
        self.assertEqual((shown["state"], shown["exit_code"], shown["stages"]), ("done", 0, True), shown)
        report = server.json("GET", f"/v1/plans/{plan}/report.json")
        self.assertEqual(len(report["stages"]), stages)
        names = {file["name"] for file in shown["files"]}
        self.assertEqual(names, {"report.json"} | {f"stage{number}.{file}" for number in range(1, stages + 1)
                                                   for file in ("model", "plan.json", "report.json")})
        self.devices(server, plan, stages)
        for number in range(1, ITEMS + 1):
            self.assertEqual(arrays(self.folder / f"{number}.npz"), arrays(self.folder / f"out.{number}.npz"))
        return server, plan

    def test_outputs_are_those_of_one_device(self):
        server, plan = self.compare("resnet8", "net.tflite", 3, "--int8", query="&runtime=neap")
        alone = server.json("POST", "/v1/plans?runtime=neap", (self.folder / "net.tflite").read_bytes(), expect=202)["id"]
        server.wait(alone)
        whole = server.json("GET", f"/v1/plans/{alone}/report.json")["plan"]["arena_bytes"]
        parts = [server.json("GET", f"/v1/plans/{plan}/stage{number}.report.json")["plan"]["arena_bytes"]
                 for number in (1, 2, 3)]
        self.assertLessEqual(max(parts), whole)

    def test_onnx_in_floats(self):
        self.compare("ds-cnn", "net.onnx", 2)

    def test_a_stage_over_budget_is_a_result(self):
        self.neap("zoo", "ds-cnn", "--int8", "-o", "net.tflite", "--quiet")
        server = self.serve()
        plan = server.json("POST", "/v1/plans?stages=2&objective=parameters&runtime=tflm&budget-activations=1KiB",
                           (self.folder / "net.tflite").read_bytes(), expect=202)["id"]
        shown = server.wait(plan)
        self.assertEqual((shown["state"], shown["exit_code"]), ("done", 3), shown)
        fits = [server.json("GET", f"/v1/plans/{plan}/stage{number}.report.json")["fits"] for number in (1, 2)]
        self.assertEqual(fits, [False, False])

    def test_requests_without_sense_are_refused(self):
        server = self.serve()
        for query in ("stages=0", "stages=17", "stages=x", "stages=", "stages=2&code=true", "stages=2&binary=true",
                      "objective=time", "stages=2&objective=speed", "stages=2&parameter-limit=much",
                      "stages=2&output=x"):
            status, _, body = server.request("POST", f"/v1/plans?{query}", b"model")
            self.assertEqual(status, 400, (query, body))
        self.assertEqual(server.request("POST", "/v1/plans?stages=16", b"model")[0], 202)
