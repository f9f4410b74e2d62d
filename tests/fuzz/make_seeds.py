# SPDX-License-Identifier: Apache-2.0
"""Makes seeds for the fuzz targets, a folder each, from models that the program and flatc make.

make_seeds.py --neap PROGRAM --out FOLDER [--flatc flatc]
"""

import argparse
import json
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import zipfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(SOURCE / "tests/cli"))
from neap_cli import DIAMOND, wide_graph  # noqa: E402


def npy(kind, shape, data):
    """The bytes of a .npy file, version 1."""
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (-(10 + len(header) + 1) % 64) + b"\n"
    return b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header + data


def write_weights(folder):
    """Networks of width 8, one of each configuration (neap/learn/model.h)."""
    draw = random.Random(2)
    for bits in range(16):
        encoder, decoder, embedding, mask = (bits >> i & 1 for i in range(4))
        hidden = 8
        lstm = 8 * hidden * hidden + 4 * hidden
        layer = 8 * hidden * hidden + 11 * hidden
        count = (25 if embedding else 15) * hidden + hidden + (layer if encoder else lstm)
        count += (2 * layer + hidden + 1 if decoder else
                  hidden + lstm + 2 * (2 * hidden * hidden + 2 * hidden))
        header = b"NEAPNET1" + struct.pack("<8I", encoder, decoder, embedding, 1, mask, 0, hidden, count)
        weights = struct.pack(f"<{count}f", *(draw.uniform(-0.4, 0.4) for _ in range(count)))
        checksum = 0xcbf29ce484222325
        for byte in header + weights:
            checksum = (checksum ^ byte) * 0x100000001b3 % 2**64
        (folder / str(bits)).write_bytes(header + struct.pack("<Q", checksum) + weights)


def write_requests(folder):
    plan = "/v1/plans/" + "0123456789abcdef" * 2
    lines = ["POST /v1/plans?name=kws.tflite&runtime=tflm&budget=64KiB&code=true", "GET /v1/plans", f"GET {plan}",
             f"GET {plan}/events", f"HEAD {plan}/plan.json", f"DELETE {plan}", "OPTIONS /v1/plans", "GET /app/main.js",
             "GET /healthz", "POST /v1/plans?dim=n%3D1&memory=fast%3A64KiB"]
    for number, line in enumerate(lines):
        body = "5\r\nmodel\r\n0\r\n\r\n" if number % 2 else ""
        more = "Transfer-Encoding: chunked\r\n" if body else ""
        (folder / str(number)).write_bytes(
            f"{line} HTTP/1.1\r\nHost: localhost:8642\r\nOrigin: https://page.example\r\n"
            f"Authorization: Bearer token-of-somebody\r\n{more}\r\n{body}".encode())


def write_binary_plans(folder):
    """Of the network in binary_plan_fuzz.cc: the target sets header and checksum."""
    plans = {"apart": [0, 0, 24, 2, 64, 40, 4, 56, 6, 72, 8, 96], "in_place": [0, 0, 24, 4, 48, 2, 64, 24, 6, 96, 8, 0],
             "moved": [0, 0, 24, 3, 60, 4, 40, 2, 80, 20, 6, 100, 8, 0], "below": [8, 0, 40, 2, 96, 80, 4, 32, 6, 16, 8, 0],
             "held": [0, 0, 24, 4, 56, 2, 64, 0, 6, 40, 8, 0]}
    for name, records in plans.items():
        steps = 6 if name == "moved" else 5
        header = b"NEAP" + struct.pack("<BBHII", 1, 0, steps, 0, 200) + bytes(32) + struct.pack("<HH", 6, 5)
        (folder / name).write_bytes(header + bytes(records) + bytes(4))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--neap", required=True, type=pathlib.Path)
    parser.add_argument("--flatc", default="flatc")
    parser.add_argument("--out", required=True, type=pathlib.Path)
    arguments = parser.parse_args()
    neap, out = arguments.neap.resolve(), arguments.out
    shutil.rmtree(out, ignore_errors=True)
    for name in ("tflite", "onnx", "graph_json", "plan_json", "arena", "csv", "schedule", "npz", "weights",
                 "request", "binary_plan"):
        (out / name).mkdir(parents=True)

    write_requests(out / "request")
    write_binary_plans(out / "binary_plan")
    graphs = {"diamond": DIAMOND, "wide": wide_graph(12, 1),
              "named": {"tensors": [{"name": "a", "bytes": 1}], "inputs": ["a"], "outputs": ["a"],
                        "ops": [{"inputs": ["a"], "outputs": [], "scratch_bytes": 7}]}}
    for name, graph in graphs.items():
        path = out / "graph_json" / f"{name}.json"
        path.write_text(json.dumps(graph))
        subprocess.run([neap, "plan", path, "--plan", out / "plan_json" / f"{name}.json", "--quiet"],
                       check=True)

    for model in sorted((SOURCE / "tests/models").glob("*.tflite.json")):
        subprocess.run([arguments.flatc, "--binary", "-o", out / "tflite",
                        SOURCE / "schemas/tflite.fbs", model], check=True)

    # With a memory plan, and with an archive behind it.
    for model in sorted((out / "tflite").glob("*.tflite")):
        planned = out / "tflite" / f"planned-{model.name}"
        subprocess.run([neap, "plan", model, "-o", planned, "--quiet"], check=True)
        archived = out / "tflite" / f"archived-{model.name}"
        archived.write_bytes(model.read_bytes())
        with zipfile.ZipFile(archived, "a") as archive:
            archive.writestr(zipfile.ZipInfo("labels.txt"), "a\nb\n")

    for seed in range(3):
        subprocess.run([neap, "zoo", "randwire-cell-ws", "--nodes", "6", "--width", "2", "--quiet",
                        "--seed", str(seed), "-o", out / "onnx" / f"randwire{seed}.onnx"],
                       check=True)
    for words in ([], ["--int8"]):
        subprocess.run([neap, "zoo", "randwire-cell-ws", "--nodes", "6", "--width", "2", "--quiet",
                        *words, "-o", out / "tflite" / f"randwire{''.join(words)}.tflite"], check=True)

    tables = {"plain": "id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\nb3,0,9,4\nb4,9,21,4\nb5,0,21,4\n",
              "full": "id,start,end,size,alignment,hint,gaps,offset\n"
                      "a,0,9,64,16,-1,2-3 5-7,\nb,2,3,64,1,-1,,\nc,6,6,32,4,7,,128\n"
                      "d,-9000000000,5,7,1,,,\n",
              "bad": "id,lower,upper,size,gaps\na,0,9,1,2-4@0:3\nb,1,0,1,\n"}
    for name, table in tables.items():
        (out / "csv" / name).write_text(table)

    for name, method in (("stored", zipfile.ZIP_STORED), ("deflated", zipfile.ZIP_DEFLATED)):
        with zipfile.ZipFile(out / "npz" / name, "w", method) as archive:
            for member, kind, shape, data in (("x", "<f4", "(2, 3)", bytes(24)), ("flag", "|b1", "()", b"\1"),
                                              ("n", "<i8", "(2,)", bytes(range(16))), ("none", "|i1", "(0, 4)", b"")):
                archive.writestr(zipfile.ZipInfo(f"{member}.npy"), npy(kind, shape, data), method)
    write_weights(out / "weights")

    draw = random.Random(1)
    for name in ("arena", "schedule"):
        for seed in range(8):
            (out / name / str(seed)).write_bytes(draw.randbytes(40 + 20 * seed))


if __name__ == "__main__":
    main()
