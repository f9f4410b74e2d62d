#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Load and faults of `neap serve`, on loopback: server_load.py PROGRAM [--short] prints docs/results/server.md.

Requests at the same time, large models, slow clients, aborted uploads, mutated models, kills in the middle.
Exits with 1 where an accepted plan is lost, the server ends, or its memory exceeds MAX_SERVER_BYTES."""

import argparse
import concurrent.futures
import itertools
import json
import os
import pathlib
import random
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(SOURCE / "tests/server"))
import server as of_tests  # noqa: E402

MAX_SERVER_BYTES = 256 << 20
ENDED = ("done", "failed")


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]


def spread(seconds):
    return " / ".join(f"{1000 * percentile(seconds, share):,.0f}" for share in (0.5, 0.95, 1)) + " ms"


def timed(call, *arguments, **more):
    start = time.monotonic()
    result = call(*arguments, **more)
    return time.monotonic() - start, result


def resident(process):
    """The most bytes that the process had."""
    return int(re.search(r"VmHWM:\s+(\d+)", pathlib.Path(f"/proc/{process}/status").read_text())[1]) << 10


class Pulse:
    """Latencies of /healthz while something else goes on."""

    def __init__(self, server):
        self.server, self.seconds, self.ends = server, [], threading.Event()
        self.thread = threading.Thread(target=self.beat)

    def beat(self):
        while not self.ends.is_set():
            self.seconds.append(timed(self.server.json, "GET", "/healthz")[0])
            time.sleep(0.02)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ends.set()
        self.thread.join()


class Load:
    def __init__(self, program, folder, short):
        self.program, self.folder, self.short = program, folder, short
        self.rows, self.accepted, self.outcomes = [], [], {}
        self.server, self.repeated = None, 0
        self.numbers = itertools.count(1000)  # an equal request would be answered with earlier results

    def start(self, *options):
        self.server = of_tests.Server(self.folder, "--queue", 2000, *options,
                                      program=self.program)

    def zoo(self, network, *options):
        path = self.folder / f"{network}.tflite"
        subprocess.run([self.program, "zoo", network, "--format", "tflite", "--int8", *options, "-o", path, "--quiet",
                        "--force"], check=True, stdout=subprocess.DEVNULL)
        return path.read_bytes()

    def post(self, body, query):
        start = time.monotonic()
        while True:
            status, _, answer = self.server.request("POST", f"/v1/plans?{query}", body)
            if status == 202:
                break
            assert status in (429, 503), answer
            self.repeated += 1
            time.sleep(0.1)
        seconds, answer = time.monotonic() - start, json.loads(answer)
        self.accepted.append(answer["id"])
        return seconds, answer["id"]

    def wait(self, plans):
        end = time.monotonic() + 1800
        left = set(plans)
        states = {}
        while left and time.monotonic() < end:
            for plan in list(left):
                status = self.server.json("GET", f"/v1/plans/{plan}")
                if status["state"] in ENDED:
                    states[plan] = status
                    left.remove(plan)
            time.sleep(0.1)
        if left:
            raise SystemExit(f"{len(left)} accepted plans did not end")
        return states

    def row(self, what, result):
        self.rows.append((what, result))
        print(f"{what}: {result}", file=sys.stderr)

    def requests(self):
        small = of_tests.SMALL
        large = self.zoo("mobilenet-v2") if not self.short else self.zoo("ds-cnn")
        count, heavy = (20, 2) if self.short else (100, 10)
        with Pulse(self.server) as pulse, concurrent.futures.ThreadPoolExecutor(count + heavy) as pool:
            start = time.monotonic()
            made = [pool.submit(self.post, large, f"name=large{number}.tflite&effort=quick") for number in range(heavy)]
            made += [pool.submit(self.post, small, f"name=small{number}.json") for number in range(count)]
            answers = [one.result() for one in made]
            states = self.wait(plan for _, plan in answers)
            seconds = time.monotonic() - start
        done = sum(status["state"] == "done" for status in states.values())
        self.row(f"{count} small and {heavy} large models ({len(large):,} B each) at the same time",
                 f"{done} of {count + heavy} done in {seconds:,.1f} s")
        self.row("until 202, small: median / 95 % / most", spread([s for s, _ in answers[heavy:]]))
        self.row("until 202, large", spread([s for s, _ in answers[:heavy]]))
        self.row("`/healthz` meanwhile", spread(pulse.seconds))

    def slow_clients(self):
        sockets = []
        upload = b"POST /v1/plans HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n"
        for part in [b"GET /heal"] * 200 + [upload] * 200:
            connection = socket.create_connection((self.server.host, self.server.port))
            connection.sendall(part)
            sockets.append(connection)
        end = time.monotonic() + (3 if self.short else 20)
        answered = []
        with Pulse(self.server) as pulse:
            while time.monotonic() < end:
                for connection in sockets[200:]:
                    try:
                        connection.sendall(b"x")
                    except OSError:
                        pass
                answered.append(timed(self.server.request, "POST", "/v1/plans", of_tests.SMALL)[1][0])
                time.sleep(0.5)
        with socket.create_connection((self.server.host, self.server.port)):
            pass
        for connection in sockets:
            connection.close()
        self.row("`/healthz` with 200 clients that do not finish a header and 200 uploads of a byte a half second",
                 spread(pulse.seconds))
        self.row("uploads meanwhile, answered with 503 / 202", f"{answered.count(503)} / {answered.count(202)}")

    def aborted_uploads(self):
        for number in range(100):
            with socket.create_connection((self.server.host, self.server.port)) as connection:
                connection.sendall(b"POST /v1/plans HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n"
                                   + b"x" * (1000 * number))
        end = time.monotonic() + 60
        while list((self.folder / "store/incoming").iterdir()) and time.monotonic() < end:
            time.sleep(0.1)
        self.row("files left of 100 aborted uploads", len(list((self.folder / "store/incoming").iterdir())))

    def mutated_models(self):
        count = 60 if self.short else 1000
        draw = random.Random(1)
        models = [self.zoo("ds-cnn"), of_tests.SMALL, (self.folder / "small.onnx").read_bytes()]
        names = ("m.tflite", "m.json", "m.onnx")
        bodies = []
        for number in range(count):
            body = bytearray(models[number % 3])
            for _ in range(draw.randint(1, 2)):
                at = draw.randrange(len(body))
                kind = draw.randrange(4)
                if kind == 0:
                    body[at] = draw.randrange(256)
                elif kind == 1:
                    body[at:at + 4] = draw.choice((b"\xff\xff\xff\xff", b"\0\0\0\0", b"\xff\xff\xff\x7f"))
                elif kind == 2:
                    del body[at:at + draw.randint(1, 64)]
                else:
                    # The structure of a .tflite is at its ends.
                    body[draw.randrange(min(64, len(body)))] ^= 1 << draw.randrange(8)
            bodies.append((bytes(body) or b"x", names[number % 3]))
        start = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            made = list(pool.map(lambda one: self.post(one[0], f"name={one[1]}&max-states=1000"), bodies))
        states = self.wait(plan for _, plan in made)
        seconds = time.monotonic() - start
        done = sum(status["state"] == "done" for status in states.values())
        errors = [status["error"] for status in states.values() if status["state"] == "failed"]
        crashed = [error for error in errors if "signal" in error or "internal error" in error]
        limits = [error for error in errors if "exceeded" in error or "out of memory" in error]
        self.row(f"{count:,} mutated models", f"{done:,} done, {len(errors):,} failed, in {seconds:,.0f} s")
        self.row("of the failed: refused with a message / ended by a limit / crashed",
                 f"{len(errors) - len(crashed) - len(limits):,} / {len(limits)} / {len(crashed)}")
        for error in crashed[:3]:
            print(error, file=sys.stderr)

    def kills(self):
        count = 10 if self.short else 60
        plans, attempts = [], 0
        for _ in range(3):
            stop, before = threading.Event(), len(plans)

            def feed(stop=stop, before=before):
                while not stop.is_set() and len(plans) < before + 2 * count:
                    try:
                        plans.append(self.post(of_tests.SMALL, f"name=small{next(self.numbers)}.json")[1])
                    except (OSError, ValueError, of_tests.http.client.HTTPException):
                        return

            threads = [threading.Thread(target=feed) for _ in range(4)]
            for thread in threads:
                thread.start()
            while len(plans) < before + count and any(thread.is_alive() for thread in threads):
                time.sleep(0.01)
            self.server.kill()
            stop.set()
            for thread in threads:
                thread.join()
            self.start()
        states = self.wait(plans)
        attempts = sum(status["attempts"] > 1 for status in states.values())
        done = sum(status["state"] == "done" for status in states.values())
        self.row(f"accepted while the server was killed three times (SIGKILL): done, of {len(plans)}", done)
        self.row("of them started again", attempts)

    def run(self):
        subprocess.run([self.program, "zoo", "randwire-ws", "--nodes", "8", "--width", "4", "-o",
                        self.folder / "small.onnx", "--quiet"], check=True, stdout=subprocess.DEVNULL)
        self.start()
        self.requests()
        self.slow_clients()
        self.aborted_uploads()
        self.mutated_models()
        peak = resident(self.server.run.pid)
        self.kills()
        states = self.wait(self.accepted)
        self.row("requests repeated after 429 or 503", self.repeated)
        self.row("accepted plans, all ended", f"{len(states):,}")
        self.row("maximum memory of the server", f"{peak / 2**20:,.1f} MiB")
        jobs = [event for event in self.server.events() if "peak_bytes" in event]
        self.row("maximum memory of a job", f"{max(int(event['peak_bytes']) for event in jobs) / 2**20:,.1f} MiB")
        assert self.server.end() == 0
        if peak > MAX_SERVER_BYTES:
            raise SystemExit("the server used too much memory")


PAGE = """# The server under load and faults

`neap serve` on loopback with two jobs at the same time, on {cores} processor cores that other work used too. Times
depend on the machine; lost plans, crashes and left files do not. "Done" of a mutated model: the change did not make it
invalid.

<!-- skip: takes minutes -->
```
lab/tables/server_load.py build/release/tools/neap > docs/results/server.md
```

| what | measured |
|---|---|
{rows}

A job that attacks is not in this table: `neap/serve/sandbox_test.cc` tries files, sockets, processes and limits from
inside of a job.
"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--short", action="store_true", help="a tenth of it, as a test of this script")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        load = Load(str(arguments.program.resolve()), pathlib.Path(folder), arguments.short)
        load.run()
    rows = "\n".join(f"| {what} | {result} |" for what, result in load.rows)
    print(PAGE.format(cores=os.cpu_count(), rows=rows), end="")


if __name__ == "__main__":
    main()
