# SPDX-License-Identifier: Apache-2.0
"""Faults: kills, slow and vanished clients, jobs that attack."""

import os
import pathlib
import signal
import socket
import subprocess
import time

from server import LARGE, LONG, NEAP, SMALL, TIMEOUT, ServerTest


class Faults(ServerTest):

    def test_a_kill_loses_nothing_that_was_accepted(self):
        server = self.serve("--jobs", 1)
        plans = [server.plan(LARGE, LONG)] + [server.plan() for _ in range(5)]
        server.wait(plans[0], ("running",))
        jobs = children(server.run.pid)
        server.kill()
        for job in jobs:  # as a kill of the whole service would
            os.kill(job, signal.SIGKILL)
        server = self.serve("--jobs", 2)
        for plan in plans[1:]:
            self.assertEqual(server.wait(plan)["state"], "done")
        self.assertEqual(server.wait(plans[0], ("running",))["attempts"], 2)
        self.assertEqual(server.request("DELETE", f"/v1/plans/{plans[0]}")[0], 204)
        self.assertEqual(server.end(), 0)

    def test_a_job_ends_with_its_server(self):
        server = self.serve("--jobs", 1)
        server.wait(server.plan(LARGE, LONG), ("running",))
        job, = children(server.run.pid)
        server.kill()
        end = time.monotonic() + TIMEOUT
        while pathlib.Path(f"/proc/{job}/stat").exists() and state_of(job) != "Z":
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)

    def test_a_signal_ends_the_server_and_the_next_one_continues(self):
        server = self.serve("--jobs", 1, "--drain-seconds", 1)
        plan = server.plan(LARGE, LONG)
        server.wait(plan, ("running",))
        self.assertEqual(server.end(), 0)
        self.assertEqual(server.events()[-1]["event"], "ended")
        server = self.serve("--jobs", 1, "--drain-seconds", 1)
        self.assertEqual(server.wait(plan, ("running",))["attempts"], 1)
        self.assertEqual(server.end(), 0)

    def test_a_killed_job_fails_alone(self):
        server = self.serve("--jobs", 1)
        plan = server.plan(LARGE, LONG)
        server.wait(plan, ("running",))
        os.kill(children(server.run.pid)[0], signal.SIGKILL)
        status = server.wait(plan)
        self.assertEqual((status["state"], status["error"]), ("failed", "the job was killed"))
        self.assertEqual(server.wait(server.plan())["state"], "done")

    def test_jobs_have_limits(self):
        server = self.serve("--jobs", 2, "--job-seconds", 1)
        status = server.wait(server.plan(LARGE, LONG))
        self.assertEqual(status["state"], "failed")
        # The elapsed time is limited to 11 s, which come first on a busy machine.
        self.assertIn(status["error"], ("the job exceeded its processor time", "the job exceeded its time"))

    def test_slow_clients_and_aborted_uploads_stop_nobody(self):
        server = self.serve("--uploads", 8, "--streams", 8)
        sockets = []
        head = b"POST /v1/plans HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\nabc"
        for part in [b"GET /heal"] * 20 + [head] * 8:
            connection = socket.create_connection((server.host, server.port), timeout=TIMEOUT)
            connection.sendall(part)
            sockets.append(connection)
        end = time.monotonic() + TIMEOUT
        while len(list((self.folder / "store/incoming").iterdir())) < 8:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)
        self.assertEqual(server.request("POST", "/v1/plans", SMALL)[0], 503)
        # One that sends nothing gives way after two seconds.
        while server.request("POST", "/v1/plans", SMALL)[0] != 202:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.2)
        self.assertEqual(server.json("GET", "/healthz")["status"], "ok")
        for connection in sockets:
            connection.close()
        while list((self.folder / "store/incoming").iterdir()):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)
        self.assertEqual(server.wait(server.plan())["state"], "done")

    def test_two_servers_do_not_share_a_store(self):
        self.serve()
        run = subprocess.run([NEAP, "serve", "--store", self.folder / "store", "--port", "0"], capture_output=True,
                             text=True, timeout=TIMEOUT, check=False)
        self.assertEqual(run.returncode, 1)
        self.assertIn("another server", run.stderr)


def children(parent):
    """The processes of the running jobs, at least one."""
    end = time.monotonic() + TIMEOUT
    while time.monotonic() < end:
        found = []
        for task in pathlib.Path(f"/proc/{parent}/task").iterdir():
            found += [int(word) for word in (task / "children").read_text().split()]
        found = [child for child in found if b"serve-job" in pathlib.Path(f"/proc/{child}/cmdline").read_bytes()]
        if found:
            return found
        time.sleep(0.02)
    raise TimeoutError("no job runs")


def state_of(process):
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "Z"
