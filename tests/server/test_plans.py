# SPDX-License-Identifier: Apache-2.0
"""Plans as resources: made, watched, read, removed; and refusals."""

import hashlib
import json
import socket
import sqlite3
import subprocess
import time

from server import DIAMOND_BEST_PEAK, LARGE, LONG, MEDIUM, NEAP, SMALL, SOURCE, TIMEOUT, Server, ServerTest


class Plans(ServerTest):

    def test_a_plan_is_made_and_removed(self):
        server = self.serve()
        plan = server.plan()
        status = server.wait(plan)
        self.assertEqual((status["state"], status["error"], status["exit_code"]), ("done", None, 0))
        names = [file["name"] for file in status["files"]]
        self.assertEqual(names, ["picture.html", "picture.svg", "plan.json", "report.json"])
        for file in status["files"]:
            code, headers, body = server.request("GET", f"/v1/plans/{plan}/{file['name']}")
            self.assertEqual((code, len(body), hashlib.sha256(body).hexdigest()),
                             (200, file["bytes"], file["sha256"]))
            self.assertIn("sandbox", headers["Content-Security-Policy"])
        report = server.json("GET", f"/v1/plans/{plan}/report.json")
        self.assertEqual(report["plan"]["peak_bytes"], DIAMOND_BEST_PEAK)
        # The plan is that of the program.
        (self.folder / "model.json").write_bytes(SMALL)
        subprocess.run([NEAP, "plan", "model.json", "--plan", "plan.json"], cwd=self.folder, check=True,
                       capture_output=True)
        self.assertEqual(server.request("GET", f"/v1/plans/{plan}/plan.json")[2],
                         (self.folder / "plan.json").read_bytes())
        self.assertEqual(server.request("HEAD", f"/v1/plans/{plan}/plan.json")[2], b"")
        self.assertEqual([one["id"] for one in server.json("GET", "/v1/plans")["plans"]], [plan])
        # The model is dropped after its job.
        blobs = {path.name for path in (self.folder / "store/blobs").glob("*/*")}
        self.assertEqual(blobs, {file["sha256"] for file in status["files"]})
        self.assertEqual(server.request("DELETE", f"/v1/plans/{plan}")[0], 204)
        self.assertEqual(server.request("GET", f"/v1/plans/{plan}")[0], 404)
        self.assertEqual(list((self.folder / "store/blobs").glob("*/*")), [])
        self.assertEqual(list((self.folder / "store/work").iterdir()), [])

    def test_a_model_comes_back_planned_with_its_code(self):
        server = self.serve()
        subprocess.run([NEAP, "zoo", "ds-cnn", "--int8", "-o", "kws.tflite"], cwd=self.folder, check=True,
                       capture_output=True)
        model = (self.folder / "kws.tflite").read_bytes()
        target = "/v1/plans?name=kws.tflite&effort=quick"
        plans = [server.json("POST", target + more, model, expect=202)["id"] for more in ("", "&code=true")]
        written, emitted = map(server.wait, plans)
        self.assertEqual((written["state"], emitted["state"]), ("done", "done"), (written, emitted))
        code, headers, planned = server.request("GET", f"/v1/plans/{plans[0]}/model")
        self.assertEqual((code, planned[4:8]), (200, b"TFL3"))
        self.assertIn("kws_planned.tflite", headers["Content-Disposition"])
        self.assertIn(b"model_run", server.request("GET", f"/v1/plans/{plans[1]}/model.h")[2])
        self.assertIn(b"neap", server.request("GET", f"/v1/plans/{plans[1]}/model.c")[2])

    def test_a_plan_over_budget_is_a_result(self):
        server = self.serve()
        status = server.wait(server.plan(query="&budget=100"))
        self.assertEqual((status["state"], status["exit_code"]), ("done", 3))
        self.assertIn("over budget", status["error"])
        self.assertFalse(server.json("GET", f"/v1/plans/{status['id']}/report.json")["fits"])

    def test_a_bad_model_fails_in_one_line(self):
        server = self.serve()
        for model in (b"nonsense", b"{", b"\0" * 100, b"\x1c\0\0\0TFL3" + b"\xff" * 100):
            status = server.wait(server.plan(model))
            self.assertEqual((status["state"], status["exit_code"], status["files"]), ("failed", 1, []))
            self.assertEqual(len(status["error"].splitlines()), 1)
        self.assertEqual(server.json("GET", "/healthz")["status"], "ok")

    def test_events_follow_a_plan_to_its_end(self):
        server = self.serve("--jobs", 1)
        plan = server.plan(MEDIUM, "&max-states=5000")
        connection = server.connect()
        connection.request("GET", f"/v1/plans/{plan}/events")
        answer = connection.getresponse()
        self.assertEqual(answer.getheader("Content-Type"), "text/event-stream")
        text = answer.read().decode()
        connection.close()
        names = [line.removeprefix("event: ") for line in text.splitlines() if line.startswith("event: ")]
        states = [json.loads(line.removeprefix("data: "))["state"] for line in text.splitlines()
                  if line.startswith("data: ")]
        self.assertEqual(names, states)
        self.assertEqual(names[-1], "done")
        self.assertIn("running", names)

    def test_a_running_plan_shows_its_bounds_and_can_be_removed(self):
        server = self.serve("--jobs", 1)
        plan = server.plan(LARGE, LONG)
        end = time.monotonic() + TIMEOUT
        while server.json("GET", f"/v1/plans/{plan}")["progress"] is None:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)
        self.assertEqual(server.request("GET", f"/v1/plans/{plan}/plan.json")[0], 409)
        self.assertEqual(server.request("DELETE", f"/v1/plans/{plan}")[0], 204)
        # Its process has ended: the only worker is free.
        self.assertEqual(server.wait(server.plan())["state"], "done")

    def test_what_is_refused(self):
        server = self.serve("--max-model", "64KiB")
        own = f"http://127.0.0.1:{server.port}"
        for status, method, target, body, headers in (
                (421, "GET", "/v1/plans", None, {"Host": "evil.example"}),
                (403, "GET", "/v1/plans", None, {"Origin": "http://evil.example"}),
                (200, "GET", "/v1/plans", None, {"Origin": own}),
                (413, "POST", "/v1/plans", b"x" * 70000, {}),
                (413, "POST", "/v1/plans", iter([b"x" * 40000, b"x" * 40000]), {}),
                (400, "POST", "/v1/plans", None, {}),
                (400, "POST", "/v1/plans?runtime=none", SMALL, {}),
                (400, "POST", "/v1/plans?name=../up", SMALL, {}),
                (400, "GET", "/v1/plans", b"body", {}),
                (405, "PUT", "/v1/plans", None, {}),
                (404, "GET", "/v1/plans/" + "0" * 32, None, {}),
                (404, "GET", "/..%2f..%2fetc/passwd", None, {}),
                (431, "GET", "/healthz", None, {"X-Long": "x" * 20000}),
        ):
            answer = server.request(method, target, body, headers)
            self.assertEqual(answer[0], status, (method, target, headers, answer))
            if status != 200:
                self.assertIn("error", json.loads(answer[2]))
        self.assertEqual(server.json("GET", "/v1/plans")["plans"], [])
        self.assertEqual(list((self.folder / "store/incoming").iterdir()), [])

    def test_an_equal_request_is_computed_once_and_batches_share_the_store(self):
        server = self.serve()
        first, second = server.wait(server.plan()), server.wait(server.plan())
        self.assertEqual(first["files"], second["files"])
        self.assertEqual(server.metric("neap_plans_reused_total"), 1)
        self.assertEqual(server.wait(server.plan(query="&budget=1KiB"))["state"], "done")
        self.assertEqual(server.metric("neap_plans_reused_total"), 1)
        # The answers of a batch are in the same database, beside a running server.
        (self.folder / "in.jsonl").write_text(json.dumps({"id": "a", "graph": json.loads(SMALL)}) + "\n")
        words = [NEAP, "batch", self.folder / "in.jsonl", "--store", self.folder / "store"]
        answers = [subprocess.run(words, check=True, capture_output=True).stdout for _ in range(2)]
        self.assertEqual(*answers)
        database = sqlite3.connect(self.folder / "store/plans.sqlite")
        self.assertEqual(database.execute("SELECT count(*) FROM answers").fetchone(), (3,))
        database.close()
        # And a server begins with the store of a batch.
        other = self.folder / "other/store"
        other.mkdir(parents=True)
        subprocess.run([*words[:-1], other], check=True, capture_output=True)
        later = Server(self.folder / "other")
        self.addCleanup(later.kill)
        self.assertEqual(later.wait(later.plan())["state"], "done")

    def test_a_full_queue_is_refused(self):
        server = self.serve("--jobs", 1, "--queue", 2)
        running = server.plan(LARGE, LONG)
        server.wait(running, ("running",))
        server.plan()
        server.plan()
        status, headers, _ = server.request("POST", "/v1/plans", SMALL)
        self.assertEqual(status, 429)
        self.assertIn("Retry-After", headers)
        server.request("DELETE", f"/v1/plans/{running}")

    def test_malformed_requests_end_only_their_connection(self):
        server = self.serve()
        for bytes_ in (b"\r\n\r\n", b"\x16\x03\x01\x02\0", b"GET / HTTP/9.9\r\n\r\n", b"GET\r\n\r\n",
                       b"POST /v1/plans HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
                       b"POST /v1/plans HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
                       b"POST /v1/plans HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
                       b"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"):
            with socket.create_connection((server.host, server.port), timeout=TIMEOUT) as connection:
                connection.sendall(bytes_)
                connection.shutdown(socket.SHUT_WR)
                answer = b""
                while part := connection.recv(4096):
                    answer += part
            self.assertNotIn(b" 200 ", answer.split(b"\r\n")[0], bytes_)
            self.assertNotIn(b" 202 ", answer.split(b"\r\n")[0], bytes_)
        self.assertEqual(server.json("GET", "/healthz")["status"], "ok")

    def test_connections_are_reused_also_after_an_upload(self):
        server = self.serve()
        connection = server.connect()
        for _ in range(3):
            connection.request("POST", "/v1/plans", SMALL)
            answer = connection.getresponse()
            self.assertEqual(answer.status, 202)
            plan = json.loads(answer.read())["id"]
            connection.request("GET", f"/v1/plans/{plan}")
            self.assertEqual(connection.getresponse().read()[:1], b"{")
        connection.close()

    def test_plans_belong_to_their_token(self):
        tokens = self.folder / "tokens"
        tokens.write_text("alice-has-this-one\nbob-has-another-one\n")
        server = self.serve("--tokens", tokens)
        alice, bob = {"token": "alice-has-this-one"}, {"token": "bob-has-another-one"}
        self.assertEqual(server.request("POST", "/v1/plans", SMALL)[0], 401)
        self.assertEqual(server.request("GET", "/metrics")[0], 401)
        self.assertEqual(server.request("GET", "/healthz")[0], 200)
        plan = server.plan(**alice)
        server.wait(plan, **alice)
        for method, target in (("GET", ""), ("GET", "/plan.json"), ("GET", "/events"), ("DELETE", "")):
            self.assertEqual(server.request(method, f"/v1/plans/{plan}{target}", **bob)[0], 404)
        self.assertEqual(server.json("GET", "/v1/plans", **bob)["plans"], [])
        # Equal bytes of another token are no way to them, and stay when they are removed.
        other = server.plan(**bob)
        server.wait(other, **bob)
        self.assertEqual(server.request("DELETE", f"/v1/plans/{other}", **bob)[0], 204)
        self.assertEqual(server.request("GET", f"/v1/plans/{plan}/plan.json", **alice)[0], 200)
        self.assertNotIn("alice-has", server.log.read_text())

    def test_another_address_needs_tokens(self):
        self.serve()
        run = subprocess.run([NEAP, "serve", "--store", self.folder / "other", "--listen", "0.0.0.0", "--port", "0"],
                             capture_output=True, text=True, timeout=TIMEOUT, check=False)
        self.assertEqual(run.returncode, 2)
        self.assertIn("needs a file of tokens", run.stderr)

    def test_a_page_is_served_from_its_folder_alone(self):
        page = self.folder / "page"
        page.mkdir()
        (page / "index.html").write_text("<p>page</p>")
        (page / "app.js").write_text("1")
        (self.folder / "secret.txt").write_text("secret")
        server = self.serve("--page", page)
        status, headers, body = server.request("GET", "/")
        self.assertEqual((status, body), (200, b"<p>page</p>"))
        # What Neap's page in one file needs, which has its scripts inline and its worker in a blob.
        for part in ("script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval'", "worker-src 'self' blob:"):
            self.assertIn(part, headers["Content-Security-Policy"])
        self.assertEqual(server.request("GET", "/app.js")[1]["Content-Type"], "text/javascript; charset=utf-8")
        for target in ("/../secret.txt", "/..%2fsecret.txt", "/page/../../secret.txt"):
            self.assertEqual(server.request("GET", target)[0], 404)

    def test_the_description_is_of_this_server(self):
        server = self.serve()
        document = server.json("GET", "/v1/openapi.json")
        self.assertEqual(document, json.loads((SOURCE / "schemas/server.openapi.json").read_text()))
        plan = server.plan()
        shown = server.wait(plan)
        schemas = document["components"]["schemas"]
        self.assertEqual(sorted(shown), sorted(schemas["Plan"]["properties"]))
        self.assertEqual(sorted(shown["files"][0]), sorted(schemas["Plan"]["properties"]["files"]["items"]["properties"]))
        self.assertEqual(sorted(server.json("GET", "/healthz")), sorted(schemas["Health"]["properties"]))
        methods = ("get", "post", "delete")
        for path, described in document["paths"].items():
            target = path.replace("{id}", plan).replace("{file}", "plan.json")
            for method in methods:
                if method in described and (method, path) != ("delete", "/v1/plans/{id}"):
                    body = SMALL if method == "post" else None
                    status, headers, _ = server.request(method.upper(), target, body)
                    answers = described[method]["responses"]
                    self.assertIn(str(status), answers, target)
                    kind = headers["Content-Type"].split(";")[0]
                    self.assertIn(kind, answers[str(status)]["content"], target)
                elif method not in described:
                    status = server.request(method.upper(), target)[0]
                    self.assertEqual(status, 405, (method, target))
        self.assertEqual(server.request("DELETE", f"/v1/plans/{plan}")[0], 204)

    def test_metrics_count(self):
        server = self.serve()
        server.wait(server.plan())
        text = server.request("GET", "/metrics")[2].decode()
        self.assertIn('neap_jobs_total{state="done"} 1\n', text)
        self.assertIn('neap_requests_total{route="create",status="202"} 1\n', text)
        self.assertIn("neap_plans_done 1\n", text)
        for line in text.splitlines():
            self.assertRegex(line, r'^(# TYPE \w+ \w+|\w+(\{[^}]*\})? [0-9.e+-]+)$')
