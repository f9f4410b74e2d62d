#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Between a device's UART and a server: bridge.py PORT INPUT OUTPUT EMULATOR...

Starts the emulator with its UART at a socket of its own on this machine, and answers the lines that
firmware.c sends. Outputs are written to OUTPUT, OUTPUT.2 and so on. Ends with the code of the device."""

import http.client
import json
import pathlib
import socket
import subprocess
import sys
import time

TIMEOUT = 120


def plan_for(port, model, capacity):
    """A plan of the server; None: nothing fits."""
    def request(method, target):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
        connection.request(method, target)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, body

    status, body = request("POST", f"/v1/plans?name=net.tflite&binary=true&model={model}&budget={capacity}")
    if status != 202:
        raise RuntimeError(body.decode())
    plan = json.loads(body)["id"]
    end = time.monotonic() + TIMEOUT
    while time.monotonic() < end:
        state = json.loads(request("GET", f"/v1/plans/{plan}")[1])
        if state["state"] in ("done", "failed"):
            break
        time.sleep(0.05)
    if state["exit_code"] != 0:
        print(f"{capacity} bytes: no plan: {state['error']}")
        return None
    body = request("GET", f"/v1/plans/{plan}/plan.bin")[1]
    print(f"{capacity} bytes: a plan of {len(body)} bytes")
    return body


def serve(uart, port, path, output):
    outputs = 0
    while True:
        words = uart.readline().decode("ascii", "replace").split()
        if not words:
            raise RuntimeError("the device ended without a word")
        if words[0] == "INPUT":
            data = pathlib.Path(path).read_bytes()
            uart.write(data[:int(words[1])])
        elif words[0] == "ASK":
            plan = plan_for(port, words[1], int(words[2]))
            uart.write(b"NONE\n" if plan is None else b"PLAN %d\n" % len(plan) + plan)
        elif words[0] == "OUTPUT":
            outputs += 1
            name = output if outputs == 1 else f"{output}.{outputs}"
            pathlib.Path(name).write_bytes(uart.read(int(words[1])))
        elif words[0] == "END":
            return int(words[1])
        uart.flush()


def main():
    port, path, output, *command = sys.argv[1:]
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(TIMEOUT)
        at = listener.getsockname()[1]
        emulator = subprocess.Popen([*command, "-serial", f"tcp:127.0.0.1:{at}"], stdin=subprocess.DEVNULL)
        try:
            connection, _ = listener.accept()
            connection.settimeout(TIMEOUT)
            with connection, connection.makefile("rwb") as uart:
                code = serve(uart, int(port), path, output)
            emulator.wait(TIMEOUT)
        finally:
            if emulator.poll() is None:
                emulator.kill()
    return code


if __name__ == "__main__":
    sys.exit(main())
