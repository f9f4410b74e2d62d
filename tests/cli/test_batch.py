# SPDX-License-Identifier: Apache-2.0
"""neap batch: a line in, a line out."""

import contextlib
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys

from neap_cli import (DIAMOND, DIAMOND_BEST_PEAK, DONE, FAILED, INTERRUPTED, NEAP, SOURCE, USAGE,
                      TIMEOUT, CliTest, wide_graph)

KEYS = ["id", "peak_bytes", "peak_lower_bound_bytes", "arena_bytes", "delivered_arena_bytes", "status", "error"]


class Batch(CliTest):

    def manifest(self, lines, name="in.jsonl"):
        """Objects become JSON, strings stay what they are."""
        text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n"
                       for line in lines)
        (self.folder / name).write_text(text)
        return text

    def answers(self, *arguments, code=DONE, **more):
        output = self.expect(code, "batch", *arguments, **more).stdout
        self.assertTrue(not output or output.endswith(b"\n"))
        return [json.loads(line) for line in output.splitlines()]

    def graphs(self, count, operators=20):
        return [{"id": i, "graph": wide_graph(operators, i, width=5)} for i in range(count)]

    def test_numbers_of_a_graph_known_by_hand(self):
        self.manifest([{"id": "d", "graph": DIAMOND}])
        expected = {"id": "d", "peak_bytes": DIAMOND_BEST_PEAK,
                    "peak_lower_bound_bytes": DIAMOND_BEST_PEAK, "arena_bytes": DIAMOND_BEST_PEAK,
                    "delivered_arena_bytes": None,
                    "status": "optimal", "error": None}
        answers = self.answers("in.jsonl")
        self.assertEqual(answers, [expected])
        self.assertEqual(list(answers[0]), KEYS)
        self.assertEqual(self.answers("in.jsonl", "--order-only"), [{**expected, "arena_bytes": None}])

    def test_answers_are_those_of_plan(self):
        self.zoo("m.onnx")
        self.write_json("w.json", wide_graph(30, 3, width=6))
        self.manifest([{"id": name, "path": name} for name in ("m.onnx", "w.json")])
        for answer in self.answers("in.jsonl"):
            plan = self.report_of("plan", answer["id"], "--max-states", 50000)["plan"]
            for key in ("peak_bytes", "peak_lower_bound_bytes", "arena_bytes"):
                self.assertEqual(answer[key], plan[key], key)
            self.assertEqual(answer["status"], plan["order_status"])

    def stored(self):
        with contextlib.closing(sqlite3.connect(self.folder / "s.db")) as database:
            return database.execute("SELECT count(*) FROM answers").fetchone()[0]

    def test_a_store_keeps_the_answers_of_every_run(self):
        text = self.manifest(self.graphs(30) + self.graphs(5))
        plain = self.expect(DONE, "batch", "in.jsonl").stdout
        for run in range(2):
            result = self.expect(DONE, "batch", "in.jsonl", "--store", "s.db", "-o", f"{run}.jsonl")
            self.assertIn(f"{5 if run == 0 else 35} repeated", result.stdout.decode())
            self.assertEqual((self.folder / f"{run}.jsonl").read_bytes(), plain)
        self.assertEqual(self.stored(), 30)
        # Other options have other answers; errors have none.
        self.assertEqual(self.answers("in.jsonl", "--store", "s.db", "--order-only")[0]["arena_bytes"], None)
        self.assertEqual(self.stored(), 60)
        (self.folder / "in.jsonl").write_text("{}\n" + text)
        self.assertEqual(self.answers("in.jsonl", "--store", "s.db")[0]["status"], "error")
        self.assertEqual(self.stored(), 60)

    def test_processes_share_a_store(self):
        self.manifest(self.graphs(60))
        plain = self.expect(DONE, "batch", "in.jsonl").stdout
        words = [NEAP, "batch", "in.jsonl", "--jobs", "1", "--store", "s.db", "--force", "-o"]
        runs = [subprocess.Popen([*words, f"{i}.jsonl"], cwd=self.folder, stdout=subprocess.PIPE) for i in range(3)]
        summaries = [run.communicate(timeout=TIMEOUT)[0].decode() for run in runs]
        self.assertEqual([run.returncode for run in runs], [DONE] * 3)
        repeated = [int(found[1]) if (found := re.search(r"(\d+) repeated", text)) else 0 for text in summaries]
        self.assertEqual(sum(repeated), 2 * 60, "each graph is computed by one of them")
        for i in range(3):
            self.assertEqual((self.folder / f"{i}.jsonl").read_bytes(), plain)

    def test_a_store_whose_writer_was_killed_is_read_again(self):
        self.manifest(self.graphs(200))
        plain = self.expect(DONE, "batch", "in.jsonl").stdout
        with subprocess.Popen([NEAP, "batch", "in.jsonl", "--jobs", "1", "--store", "s.db"], cwd=self.folder,
                              stdout=subprocess.PIPE) as run:
            for _ in range(20):
                run.stdout.readline()
            run.kill()
        # The end of the log is torn, as a write that was cut off would leave it.
        log = self.folder / "s.db-wal"
        if log.exists():
            os.truncate(log, max(0, log.stat().st_size - 1000))
        # The lease of the killed process is live: its graph is computed after an interrupt of the wait, or
        # when the lease has expired. Here it expires at once.
        with contextlib.closing(sqlite3.connect(self.folder / "s.db")) as database, database:
            database.execute("UPDATE leases SET until = 0")
        self.assertEqual(self.expect(DONE, "batch", "in.jsonl", "--store", "s.db").stdout, plain)
        self.assertEqual(self.stored(), 200)

    def test_other_files_are_no_stores(self):
        self.manifest(self.graphs(1))
        message = self.expect(FAILED, "batch", "in.jsonl", "--store", "in.jsonl").stderr.decode()
        self.assertEqual(message, "neap batch: in.jsonl: is not a store of answers\n")
        with contextlib.closing(sqlite3.connect(self.folder / "foreign.db")) as database, database:
            database.execute("CREATE TABLE places (name TEXT)")
        before = (self.folder / "foreign.db").read_bytes()
        message = self.expect(FAILED, "batch", "in.jsonl", "--store", "foreign.db").stderr.decode()
        self.assertEqual(message, "neap batch: foreign.db: is not a store of answers\n")
        self.assertEqual((self.folder / "foreign.db").read_bytes(), before)
        self.answers("in.jsonl", "--store", "s.db")
        before = (self.folder / "s.db").read_bytes()
        message = self.expect(USAGE, "batch", "in.jsonl", "--store", "s.db", "-o", "./s.db", "--force").stderr.decode()
        self.assertIn("-o would overwrite the file of --store", message)
        self.assertEqual((self.folder / "s.db").read_bytes(), before)
        # Of a folder, the database in it.
        (self.folder / "plans").mkdir()
        self.answers("in.jsonl", "--store", "plans")
        before = (self.folder / "plans/plans.sqlite").read_bytes()
        message = self.expect(USAGE, "batch", "in.jsonl", "--store", "plans", "-o", "plans/plans.sqlite", "--force").stderr
        self.assertIn(b"-o would overwrite the file of --store", message)
        self.assertEqual((self.folder / "plans/plans.sqlite").read_bytes(), before)
        message = self.expect(FAILED, "batch", "in.jsonl", "--store", "none/s.db").stderr.decode()
        self.assertEqual(message, "neap batch: none/s.db: cannot be opened: unable to open database file\n")

    def test_rewriting_is_asked_for(self):
        self.expect(DONE, "zoo", "swiftnet-cell-a", "-o", "a.onnx")
        self.expect(DONE, "zoo", "swiftnet", "-o", "s.onnx")
        self.manifest([{"id": name, "path": name} for name in ("a.onnx", "s.onnx")] * 2)
        plain = self.answers("in.jsonl")
        self.assertEqual(plain, self.answers("in.jsonl", "--rewrite", "none"))
        bitwise = self.answers("in.jsonl", "--rewrite", "bitwise", "--jobs", 1)
        self.assertEqual(bitwise, self.answers("in.jsonl", "--rewrite", "bitwise", "--jobs", 2))
        self.assertEqual(bitwise[:2], bitwise[2:])
        for answer in bitwise[:2]:
            plan = self.report_of("plan", answer["id"], "--max-states", 50000)["plan"]
            self.assertEqual([answer["peak_bytes"], answer["arena_bytes"]],
                             [plan["peak_bytes"], plan["arena_bytes"]])
        self.assertLess(bitwise[1]["peak_bytes"], plain[1]["peak_bytes"])
        # The paper's accounting, four bytes an element.
        sums = self.answers("in.jsonl", "--rewrite", "reassociate", "--runtime", "neap", "--order-only",
                            "--rules", "concat,kernel-wise,channel-wise")
        self.assertEqual(sums[0]["peak_bytes"], 4 * 188_160)
        self.assertIsNone(sums[0]["arena_bytes"])
        for words in (["--rewrite", "fully"], ["--rewrite", "bitwise", "--rules", "nonsense"],
                      ["--rewrite", "bitwise", "--accumulator-bytes", "4"]):
            self.expect(USAGE, "batch", "in.jsonl", *words)

    def test_one_bad_line_does_not_stop_the_rest(self):
        lines = ["", "{", "[1]", "\x00\x01", json.dumps({"id": 3, "path": "absent.onnx"}),
                 json.dumps({"id": 4, "graph": {}}), "[" * 100000,
                 json.dumps({"id": 5, "graph": DIAMOND, "typo": 1})]
        good = {"id": "good", "graph": DIAMOND}
        self.manifest([good] + [item for line in lines for item in (line, good)])
        answers = self.answers("in.jsonl")
        self.assertEqual(len(answers), 1 + 2 * len(lines))
        for at, answer in enumerate(answers):
            self.assertEqual(list(answer), KEYS)
            if at % 2 == 0:
                self.assertEqual((answer["id"], answer["peak_bytes"]), ("good", DIAMOND_BEST_PEAK))
            else:
                self.assertEqual(answer["status"], "error")
                self.assertEqual([answer[key] for key in KEYS[1:4]], [None] * 3)
                self.assertTrue(answer["error"])
        self.assertIn("absent.onnx", answers[9]["error"])
        self.assertEqual([answers[i]["id"] for i in (9, 11, 15)], [3, 4, 5])
        self.assertEqual(self.answers("in.jsonl", "--strict", code=FAILED), answers)
        self.manifest([good])
        self.answers("in.jsonl", "--strict")

    def test_streams_and_jobs_give_the_same_bytes(self):
        text = self.manifest(self.graphs(60)).encode()
        expected = self.expect(DONE, "batch", "in.jsonl", "--jobs", 1).stdout
        self.assertEqual(len(expected.splitlines()), 60)
        self.assertEqual([json.loads(line)["id"] for line in expected.splitlines()],
                         list(range(60)))
        for jobs in (2, 7):
            self.assertEqual(self.expect(DONE, "batch", "-", "--jobs", jobs, stdin=text).stdout,
                             expected)
        self.assertEqual(self.expect(DONE, "batch", "-", stdin=text[:-1]).stdout, expected)
        self.expect(DONE, "batch", "in.jsonl", "-o", "out.jsonl")
        self.assertEqual((self.folder / "out.jsonl").read_bytes(), expected)
        self.assertEqual(self.expect(DONE, "batch", "-").stdout, b"")

    def test_answers_come_as_lines_go(self):
        """A search sends a graph, reads the answer, and sends the next."""
        with subprocess.Popen([NEAP, "batch", "-"], cwd=self.folder, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as run:
            for i in range(20):
                run.stdin.write(json.dumps({"id": i, "graph": DIAMOND}).encode() + b"\n")
                run.stdin.flush()
                answer = json.loads(run.stdout.readline())
                self.assertEqual((answer["id"], answer["status"]), (i, "optimal"))
            run.stdin.close()
            self.assertEqual(run.stdout.read(), b"")
            self.assertEqual(run.wait(timeout=TIMEOUT), DONE)

    def test_shards(self):
        self.manifest(self.graphs(11))
        whole = self.answers("in.jsonl")
        for count in (1, 3, 20):
            for index in range(count):
                part = self.answers("in.jsonl", "--shard", f"{index}/{count}")
                self.assertEqual(part, whole[index::count])

    def test_resume(self):
        self.manifest(self.graphs(12))
        self.expect(DONE, "batch", "in.jsonl", "-o", "whole.jsonl")
        whole = (self.folder / "whole.jsonl").read_bytes()
        out = self.folder / "out.jsonl"
        self.expect(DONE, "batch", "in.jsonl", "-o", "out.jsonl", "--resume")
        self.assertEqual(out.read_bytes(), whole)
        for kept in (0, 1, 50, 51, len(whole) // 2, len(whole) - 1, len(whole)):
            out.write_bytes(whole[:kept])
            result = self.expect(DONE, "batch", "in.jsonl", "-o", "out.jsonl", "--resume")
            self.assertEqual(out.read_bytes(), whole)
            self.assertEqual(b"kept" in result.stdout, b"\n" in whole[:kept], result.stdout)
        self.manifest(self.graphs(12)[::-1], "other.jsonl")
        self.manifest(self.graphs(5), "shorter.jsonl")
        for other in ("other.jsonl", "shorter.jsonl"):
            self.expect(FAILED, "batch", other, "-o", "out.jsonl", "--resume")
            self.assertEqual(out.read_bytes(), whole)
        self.expect(FAILED, "batch", "in.jsonl", "-o", "out.jsonl", "--resume", "--shard", "1/2")
        self.assertEqual(out.read_bytes(), whole)

    def test_files_are_safe(self):
        text = self.manifest(self.graphs(3))
        (self.folder / "out.jsonl").write_text("precious")
        self.expect(FAILED, "batch", "in.jsonl", "-o", "out.jsonl")
        self.expect(FAILED, "batch", "in.jsonl", "-o", "in.jsonl", "--force")
        os.symlink("in.jsonl", self.folder / "link.jsonl")
        self.expect(FAILED, "batch", "in.jsonl", "-o", "link.jsonl", "--resume")
        self.expect(FAILED, "batch", "absent.jsonl", "-o", "out.jsonl", "--force")
        self.expect(FAILED, "batch", ".", "-o", "out.jsonl", "--force")
        self.expect(FAILED, "batch", "in.jsonl", "-o", "absent/out.jsonl")
        self.assertEqual((self.folder / "in.jsonl").read_text(), text)
        self.assertEqual((self.folder / "out.jsonl").read_text(), "precious")
        self.expect(DONE, "batch", "in.jsonl", "-o", "out.jsonl", "--force")
        self.assertEqual(len((self.folder / "out.jsonl").read_text().splitlines()), 3)
        with open("/dev/full", "wb") as full:
            result = subprocess.run([NEAP, "batch", "in.jsonl"], cwd=self.folder, stdout=full,
                                    stderr=subprocess.PIPE, check=False, timeout=TIMEOUT)
        self.assertEqual(result.returncode, FAILED)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)

    def test_usage(self):
        self.manifest([])
        for words in ([], ["in.jsonl", "--resume"], ["in.jsonl", "--jobs", "0"],
                      ["in.jsonl", "-o", "x", "--resume", "--force"],
                      ["in.jsonl", "--shard", "1"], ["in.jsonl", "--shard", "2/2"],
                      ["in.jsonl", "--shard", "-1/2"], ["in.jsonl", "--shard", "0/0"],
                      ["in.jsonl", "--shard", "0/2x"], ["in.jsonl", "--runtime", "nosuch"],
                      ["in.jsonl", "--dim", "x"], ["in.jsonl", "--time-limit", "-1"],
                      ["in.jsonl", "--max-states", "0"]):
            self.assertEqual(self.expect(USAGE, "batch", *words).stdout, b"", words)
        self.assertEqual(self.files(), ["in.jsonl"])
        self.assertIn(b"Examples:", self.expect(DONE, "batch", "--help").stdout)
        result = self.expect(DONE, "batch", "in.jsonl", "-o", "out.jsonl", "--quiet")
        self.assertEqual((result.stdout, result.stderr), (b"", b""))

    def test_limits_and_profiles(self):
        self.manifest([{"id": 0, "graph": wide_graph(200, 1)}, {"id": 1, "graph": DIAMOND}])
        few = self.answers("in.jsonl", "--order-only", "--max-states", 100)
        self.assertEqual([answer["status"] for answer in few], ["bounded", "optimal"])
        self.assertLess(few[0]["peak_lower_bound_bytes"], few[0]["peak_bytes"])
        tflm = self.answers("in.jsonl", "--order-only", "--max-states", 100, "--runtime", "tflm")
        self.assertEqual([answer["peak_bytes"] % 16 for answer in tflm], [0, 0])

    def test_interrupt(self):
        # Graphs of one size, each a little different, on a pipe that stays open.
        with subprocess.Popen([NEAP, "batch", "-"], cwd=self.folder, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
            for line in self.graphs(3):
                run.stdin.write(json.dumps(line).encode() + b"\n")
            run.stdin.flush()
            output = [run.stdout.readline() for _ in range(3)]
            run.send_signal(signal.SIGINT)
            code = run.wait(timeout=TIMEOUT)
            errors = run.stderr.read()
            output.append(run.stdout.read())
        self.assertEqual(code, INTERRUPTED)
        self.assertIn(b"interrupted", errors)
        self.assertEqual([json.loads(line)["id"] for line in output[:3]], [0, 1, 2])
        self.assertEqual(output[3], b"")

    def test_memory_does_not_grow_with_the_manifest(self):
        if not sys.platform.startswith("linux"):
            self.skipTest("needs /proc")
        peaks = []
        # AddressSanitizer would keep what is freed for a while: 256 MB of it.
        options = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1:thread_local_quarantine_size_kb=64"
        environment = {**os.environ, "ASAN_OPTIONS": options.lstrip(":")}
        for count in (2000, 20000):
            script = ("import json,sys\n"
                      "for i in range(%d): print(json.dumps({'id': i, 'path': 'absent'}))\n" % count)
            with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as maker:
                with subprocess.Popen([NEAP, "batch", "-", "--jobs", "2"], cwd=self.folder,
                                      env=environment, stdin=maker.stdout,
                                      stdout=subprocess.DEVNULL) as run:
                    _, status, usage = os.wait4(run.pid, 0)
                    run.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(run.returncode, DONE)
            peaks.append(usage.ru_maxrss)
        self.assertLess(peaks[1], peaks[0] + 8 * 1024, peaks)

    def test_random_graphs(self):
        """The generator of the benchmark makes different graphs, the same for the same seed."""
        make = [sys.executable, str(SOURCE / "lab/tables/make_random_graphs.py"), "--count", "30",
                "--operators", "50", "--seed"]
        texts = [subprocess.run(make + [seed], stdout=subprocess.PIPE, check=True).stdout
                 for seed in ("1", "1", "2")]
        self.assertEqual(texts[0], texts[1])
        self.assertNotEqual(texts[0], texts[2])
        lines = [json.loads(line) for line in texts[0].splitlines()]
        self.assertEqual({len(line["graph"]["ops"]) for line in lines}, {50})
        self.assertEqual(len({json.dumps(line["graph"]) for line in lines}), 30)
        answers = self.answers("-", stdin=texts[0])
        self.assertEqual({answer["status"] for answer in answers}, {"optimal"})
