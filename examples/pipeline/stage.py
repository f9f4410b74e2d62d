#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One device of a pipeline: receives its stage and the plan of it from a server, executes items, passes them on.

Item after item, as .npz files on the first device and as messages between devices: 8 bytes with the length of an .npz
file, little-endian, then its bytes; a length of zero is the end. An item has the tensors that later stages read.
"""

import argparse
import http.client
import io
import json
import os
import pathlib
import socket
import struct
import subprocess
import sys
import tempfile
import urllib.parse
import zipfile

TIMEOUT = 120


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("server", help="http://127.0.0.1:8642; the environment's NEAP_TOKEN is the token")
    parser.add_argument("plan", help="id of a plan with stages")
    parser.add_argument("stage", type=int, help="number of this device's stage, from 1")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--items", nargs="+", metavar="FILE.npz", help="inputs of the network, one item a file")
    source.add_argument("--listen", action="store_true", help="wait for the device before this one; prints a port")
    target = parser.add_mutually_exclusive_group(required=True)
    target.add_argument("--next", type=int, metavar="PORT", help="port of the device behind this one")
    target.add_argument("--outputs", metavar="FOLDER", help="write the outputs as 1.npz, 2.npz, ...")
    parser.add_argument("--neap", default="neap", help="the program")
    return parser.parse_args()


def get(server, plan, name):
    """A file of the plan."""
    address = urllib.parse.urlsplit(server)
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=TIMEOUT)
    token = os.environ.get("NEAP_TOKEN")
    connection.request("GET", f"/v1/plans/{plan}/{name}", headers={"Authorization": f"Bearer {token}"} if token else {})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    if answer.status != 200:
        sys.exit(f"{name}: {answer.status} {body.decode(errors='replace').strip()}")
    return body


def tensors(archive):
    """{name: bytes of its .npy file} of an .npz file."""
    with zipfile.ZipFile(io.BytesIO(archive)) as file:
        return {name.removesuffix(".npy"): file.read(name) for name in file.namelist()}


def archive(arrays):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name, array in arrays.items():
            file.writestr(f"{name}.npy", array)
    return out.getvalue()


def received(connection):
    """Items of a connection."""
    with connection, connection.makefile("rb") as stream:
        while True:
            head = stream.read(8)
            if len(head) < 8:
                sys.exit("the device before this one is gone")
            length = struct.unpack("<Q", head)[0]
            if length == 0:
                return
            body = stream.read(length)
            if len(body) < length:
                sys.exit("the device before this one is gone")
            yield tensors(body)


def items(options):
    if options.items:
        for path in options.items:
            yield tensors(pathlib.Path(path).read_bytes())
        return
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(listener.getsockname()[1], flush=True)
        listener.settimeout(TIMEOUT)
        connection, _ = listener.accept()
    connection.settimeout(TIMEOUT)
    yield from received(connection)


class Stage:
    """The stage in a folder of its own, executed by `neap run` at the addresses of its plan."""

    def __init__(self, options, folder):
        self.folder, self.neap = pathlib.Path(folder), options.neap
        name = f"stage{options.stage}"
        for file in ("model", "plan.json"):
            (self.folder / f"{name}.{file}").write_bytes(get(options.server, options.plan, f"{name}.{file}"))
        self.model, self.plan = self.folder / f"{name}.model", self.folder / f"{name}.plan.json"
        report = json.loads(get(options.server, options.plan, "report.json"))
        own, later = report["stages"][options.stage - 1], report["stages"][options.stage:]
        self.inputs = [tensor["name"] for tensor in own["inputs"]]
        self.passed = {tensor["name"] for part in [*later, {"inputs": report["outputs"]}] for tensor in part["inputs"]}
        self.arena_bytes = json.loads(get(options.server, options.plan, f"{name}.report.json"))["plan"]["arena_bytes"]

    def execute(self, item):
        (self.folder / "in.npz").write_bytes(archive({name: item[name] for name in self.inputs}))
        subprocess.run([self.neap, "run", self.model, "--plan", self.plan, "--inputs", self.folder / "in.npz",
                        "--outputs", self.folder / "out.npz", "--force", "--quiet"], check=True, timeout=TIMEOUT)
        item = {**item, **tensors((self.folder / "out.npz").read_bytes())}
        return {name: array for name, array in item.items() if name in self.passed}


def main():
    options = arguments()
    with tempfile.TemporaryDirectory() as folder:
        stage = Stage(options, folder)
        print(f"stage {options.stage}: arena {stage.arena_bytes:,} B", file=sys.stderr)
        successor = options.next and socket.create_connection(("127.0.0.1", options.next), TIMEOUT)
        for number, item in enumerate(items(options), 1):
            result = archive(stage.execute(item))
            if successor:
                successor.sendall(struct.pack("<Q", len(result)) + result)
            else:
                pathlib.Path(options.outputs, f"{number}.npz").write_bytes(result)
        if successor:
            successor.sendall(struct.pack("<Q", 0))
            successor.close()


if __name__ == "__main__":
    try:
        main()
    except OSError as error:  # of the server, of another device, of a file
        sys.exit(f"stage.py: {error}")
    except subprocess.SubprocessError as error:
        sys.exit(f"stage.py: the stage was not executed: {error}")
