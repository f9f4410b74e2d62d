# SPDX-License-Identifier: Apache-2.0
"""Failures in practice: wrong paths, broken files, full disks, closed pipes, Ctrl-C."""

import json
import os
import random
import resource
import shutil
import signal
import subprocess
import unittest

from neap_cli import (DIAMOND, DONE, FAILED, INTERRUPTED, NEAP, SHARED, SOURCE, TIMEOUT, CliTest,
                      wide_graph)

TRUNCATIONS = 200


class Trouble(CliTest):

    def test_wrong_paths(self):
        (self.folder / "folder").mkdir()
        (self.folder / "folder.onnx").mkdir()
        self.write_json("g.json", DIAMOND)
        for words in (["plan", "absent.onnx"], ["absent.onnx", "out.onnx"], ["inspect", "absent.tflite"],
                      ["plan", "folder"], ["plan", "folder.onnx"], ["plan", "g.json/x.onnx"],
                      ["check", "absent.onnx", "absent.json"], ["check", "g.json", "absent.json"],
                      ["plan", "g.json", "--plan", "absent/plan.json"],
                      ["plan", "g.json", "--plan", "folder"],
                      ["zoo", "randwire-ws", "--nodes", "8", "-o", "absent/x.onnx"]):
            result = self.expect(FAILED, *words)
            named = [word for word in words if word.encode() in result.stderr]
            self.assertTrue(named, f"{words} are not named: {result.stderr}")
        self.assertEqual(self.files(), ["folder", "folder.onnx", "g.json"])

    def test_unreadable_contents(self):
        for name, content in (("empty.onnx", b""), ("empty.tflite", b""), ("empty.json", b""),
                              ("text.onnx", b"this is no model\n" * 10),
                              ("text.tflite", b"this is no model\n" * 10),
                              ("zeros.tflite", bytes(4096)), ("zeros.onnx", bytes(4096)),
                              ("head.tflite", b"\x1c\0\0\0TFL3"), ("array.json", b"[1, 2]"),
                              ("open.json", b"{" * 5000), ("deep.json", b"[" * 1_000_000),
                              ("object.json", b"{}"), ("picture.bin", b"\x89PNG\r\n\x1a\n" * 20)):
            (self.folder / name).write_bytes(content)
            for verb in ("plan", "inspect"):
                self.assertIn(name.encode(), self.expect(FAILED, verb, name).stderr)
        self.expect(FAILED, "plan", "-", stdin=b"")

    def test_names_cannot_break_the_message(self):
        graph = json.loads(json.dumps(DIAMOND))
        graph["ops"][0]["outputs"] = ["no\nsuch\x1b[31m"]
        self.write_json("g.json", graph)
        result = self.expect(FAILED, "plan", "g.json")
        self.assertNotIn(b"\x1b", result.stderr)

    def test_numbers_out_of_range(self):
        for size in (-1, 2**63 - 1, 2**64, 1e300, 1.5, "12", None):
            graph = json.loads(json.dumps(DIAMOND))
            for tensor in graph["tensors"]:
                tensor["bytes"] = size
            self.write_json("g.json", graph)
            self.expect(FAILED, "plan", "g.json")

    def test_no_operators(self):
        """Every verb ends, with an answer or an error of one line."""
        tensors = [{"bytes": 16}, {"bytes": 1 << 50}, {"bytes": 0}]
        for name, inputs, outputs in (("kept.json", [0], [0]), ("large.json", [0, 1, 2], [1]),
                                      ("unused.json", [0, 1, 2], []), ("nothing.json", [], [])):
            self.write_json(name, {"tensors": tensors if inputs else [], "inputs": inputs,
                                   "outputs": outputs, "ops": []})
            for words in (["plan"], ["plan", "--cascade", "auto"], ["inspect"], ["traffic"],
                          ["plan", "--runtime", "neap", "--stream", "auto"],
                          ["plan", "--runtime", "tflm"], ["plan", "--order", "learned"],
                          ["traffic", "--ends", "off-chip"]):
                self.expect(DONE, words[0], name, *words[1:])
            for runtime in ("ideal", "neap"):
                result = self.expect(FAILED, "pareto", name, "--runtime", runtime)
                self.assertRegex(result.stderr, b"no operators|too large")
            moved = self.report_of("traffic", name, "--on-chip", "1KiB")
            self.assertTrue(all(row["total_bytes"] == 0 for row in moved["on_chip"]))

    def test_huge_sparse_file(self):
        with open(self.folder / "huge.tflite", "wb") as file:
            file.truncate(1 << 40)
        self.expect(FAILED, "plan", "huge.tflite")

    def test_full_disk(self):
        self.zoo("m.onnx")

        def small_files():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))

        self.expect(FAILED, "plan", "m.onnx", "-o", "out.onnx", preexec_fn=small_files)
        self.assertEqual(self.files(), ["m.onnx"])
        (self.folder / "out.onnx").write_text("precious")
        self.expect(FAILED, "plan", "m.onnx", "-o", "out.onnx", "--force", preexec_fn=small_files)
        self.assertEqual((self.folder / "out.onnx").read_text(), "precious")
        self.assertEqual(self.files(), ["m.onnx", "out.onnx"])

    def test_standard_output_that_is_full(self):
        self.write_json("g.json", DIAMOND)
        for words in (["plan", "g.json"], ["plan", "g.json", "--json"], ["inspect", "g.json"],
                      ["plan", "g.json", "--plan", "-"], ["zoo", "--list"]):
            with open("/dev/full", "wb") as full:
                result = subprocess.run([NEAP, *words], cwd=self.folder, stdout=full,
                                        stderr=subprocess.PIPE, check=False, timeout=TIMEOUT)
            self.assertEqual(result.returncode, FAILED, words)
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)

    def test_pipe_that_nobody_reads(self):
        self.write_json("g.json", DIAMOND)
        for words in (["plan", "g.json"], ["plan", "g.json", "--json"], ["inspect", "g.json", "--all"]):
            run = subprocess.Popen([NEAP, *words], cwd=self.folder, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
            run.stdout.close()
            errors = run.stderr.read()
            run.stderr.close()
            self.assertIn(run.wait(timeout=TIMEOUT), (DONE, FAILED, -signal.SIGPIPE), words)
            self.assertNotIn(b"internal error", errors)
            self.assertNotIn(b"terminate", errors)

    def test_interrupt(self):
        graph = self.write_json("wide.json", wide_graph(200, 1))
        run = subprocess.Popen([NEAP, "plan", graph, "--plan", "plan.json", "--max-states", str(10**12)],
                               cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        output, errors = self.interrupt(run)
        self.assertEqual(run.returncode, INTERRUPTED, errors)
        self.assertRegex(output + errors, rb"(?i)interrupted|not proven|unproven")
        self.assertEqual(self.files(), ["plan.json", "wide.json"])
        self.expect(DONE, "check", "wide.json", "plan.json")

    def test_interrupt_leaves_the_report_whole(self):
        graph = self.write_json("wide.json", wide_graph(200, 1))
        run = subprocess.Popen([NEAP, "plan", graph, "--json", "--max-states", str(10**12)],
                               cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        output, _ = self.interrupt(run)
        self.assertEqual(run.returncode, INTERRUPTED)
        report = json.loads(output)
        self.assertTrue(report["interrupted"])
        self.assertEqual(report["plan"]["order_status"], "bounded")

    def test_time_limit(self):
        """Properties that are true on any machine. That searches stop at the deadline, with the clock counted, is
        tested beside each of them (limits_test.cc)."""
        self.write_json("wide.json", wide_graph(200, 1))
        for seconds in ("0.000001", "0.2", "2"):
            # Ten to the twelfth states would take days.
            report = self.report_of("plan", "wide.json", "--max-states", 10**12, "--time-limit",
                                    seconds, "--plan", "plan.json", "--force")
            self.expect(DONE, "check", "wide.json", "plan.json")
            plan = report["plan"]
            self.assertLessEqual(plan["peak_lower_bound_bytes"], plan["peak_bytes"])
            self.assertLessEqual(plan["arena_lower_bound_bytes"], plan["arena_bytes"])
            self.assertGreaterEqual(plan["arena_bytes"], plan["peak_bytes"])
            self.assertFalse(report["interrupted"])
            self.assertEqual(plan["order_status"], "bounded")

    def test_the_same_plan_without_limits(self):
        """Limits are counted: the same bytes each time, on any number of threads. The default limits in
        the long tests."""
        self.searches_whole_networks()
        self.write_json("wide.json", wide_graph(200, 1))
        limit = () if os.environ.get("NEAP_LONG") == "1" else ("--max-states", 20_000)
        plans = set()
        for threads in (1, 5):
            report = self.report_of("plan", "wide.json", "--plan", "plan.json", "--force", "--order-only",
                                    "--threads", threads, *limit)
            self.assertEqual(report["plan"]["order_status"], "bounded")
            plans.add((self.folder / "plan.json").read_bytes())
        self.assertEqual(len(plans), 1)

    def truncate(self, path):
        """The beginnings of a model end in an error or a plan and leave nothing half-written."""
        content = path.read_bytes()
        draw = random.Random(len(content))
        lengths = sorted({draw.randrange(len(content)) for _ in range(TRUNCATIONS)} |
                         set(range(0, min(16, len(content)))))
        part = self.folder / ("part" + path.suffix)
        for length in lengths:
            part.write_bytes(content[:length])
            words = ["plan", part.name, "--max-states", "1000"]
            words += ["--plan", "out.json"] if path.suffix == ".json" else ["-o", "out" + path.suffix]
            result = self.run_neap(*words)
            outputs = [name for name in self.files() if name.startswith(("out", ".", "tmp"))]
            errors = result.stderr.decode(errors="replace")
            self.assertIn(result.returncode, (DONE, FAILED), f"{length} bytes: {errors}")
            self.assertNotIn("internal error", errors, f"{length} bytes")
            if result.returncode == FAILED:
                self.assertEqual(len(errors.splitlines()), 1, f"{length} bytes: {errors}")
                self.assertEqual(outputs, [], f"{length} bytes")
            else:
                self.assertEqual(len(outputs), 1, f"{length} bytes")
                (self.folder / outputs[0]).unlink()

    def test_truncated_onnx(self):
        self.truncate(self.zoo("m.onnx"))

    def test_truncated_graph_json(self):
        self.truncate(self.write_json("g.json", wide_graph(40, 6)))

    def test_truncated_small_tflite(self):
        flatc = shutil.which("flatc")
        if flatc is None:
            raise unittest.SkipTest("flatc is not installed")
        text = SOURCE / "tests/models/branches.tflite.json"
        subprocess.run([flatc, "--binary", "-o", self.folder, SOURCE / "schemas/tflite.fbs",
                        "--root-type", "neap.formats.tflite.schema.Model", text],
                       check=True, stdout=subprocess.DEVNULL)
        made = [path for path in self.folder.iterdir()]
        self.assertEqual(len(made), 1)
        model = made[0].rename(self.folder / "m.tflite")
        report = self.report_of("plan", model.name, "--runtime", "tflm")
        self.assertLess(report["plan"]["peak_bytes"], report["file_order"]["peak_bytes"])
        self.truncate(model)

    def test_truncated_real_tflite(self):
        model = SHARED / "models/tensorflow+tflite-micro/micro_speech_quantized.tflite"
        if not model.exists():
            raise unittest.SkipTest(f"{model} is not there")
        self.truncate(model)
