# SPDX-License-Identifier: Apache-2.0
"""The contents of a .tflite written for TensorFlow Lite Micro, and of the firmware header."""

import json
import shutil
import struct
import subprocess
import unittest
import zipfile

from neap_cli import DONE, FAILED, OVER_BUDGET, SOURCE, USAGE, CliTest

KEY = b"OfflineMemoryAllocation\0"


class DeliverTest(CliTest):
    def binary(self, table, content):
        """The bytes of a FlatBuffer of the schema of models."""
        flatc = shutil.which("flatc")
        if flatc is None:
            raise unittest.SkipTest("flatc is not installed")
        folder = self.folder / "flatc"
        folder.mkdir()
        (folder / "it.json").write_text(json.dumps(content))
        subprocess.run([flatc, "--binary", "-o", folder, SOURCE / "schemas/tflite.fbs", "--root-type",
                        f"neap.formats.tflite.schema.{table}", folder / "it.json"],
                       check=True, stdout=subprocess.DEVNULL)
        (folder / "it.json").unlink()
        (made,) = folder.iterdir()
        data = made.read_bytes()
        made.unlink()
        folder.rmdir()
        return data

    def model(self, custom=None, change=None):
        """`custom`: the last operator is one of that name."""
        model = json.loads((SOURCE / "tests/models/branches.tflite.json").read_text())
        if custom:
            model["operator_codes"][1] = {"deprecated_builtin_code": 32, "version": 1, "builtin_code": "CUSTOM",
                                          "custom_code": custom}
        if change:
            change(model)
        path = self.folder / "m.tflite"
        path.write_bytes(self.binary("Model", model))
        return path

    def test_shapes_that_contradict_an_operator_are_not_streamed(self):
        """The RELUs have more outputs than inputs."""
        self.model()
        report = self.report_of("plan", "m.tflite", "--runtime", "neap", "--stream", "auto")
        self.assertIsNone(report["stream"])

    def test_added_operator_types_are_reported(self):
        """TFLM's interpreter fails where one is not registered."""
        self.expect(DONE, "zoo", "mobilenet-v1-vww", "--int8", "-o", "m.tflite")
        note = "the planned model adds operator types: {}; the firmware must register them"
        for words, types in ((("--rewrite", "none"), None), ((), "CONCATENATION"),
                             (("--cascade", "auto"), "CONCATENATION, SLICE")):
            notes = self.report_of("plan", "m.tflite", *words)["notes"]
            self.assertEqual([line for line in notes if "operator types" in line],
                             [note.format(types)] if types else [], words)

    def test_memory_plan_is_written_once(self):
        model = self.model()
        report = self.report_of("plan", "m.tflite", "-o", "out.tflite", "--plan", "plan.json")
        self.assertTrue(report["delivered"]["memory_plan"])
        first = (self.folder / "out.tflite").read_bytes()
        self.assertEqual(first.count(KEY), 1)
        self.assertEqual((len(first) - model.stat().st_size) % 64, 0)
        self.assertEqual(first[-64:], model.read_bytes()[-64:])
        # The offsets are those of plan.json.
        plan = json.loads((self.folder / "plan.json").read_text())
        offsets = {t["tensor"]: t["offset"] for t in plan["entries"][0]["tensors"]}
        carried = json.loads(self.expect(DONE, "inspect", "out.tflite", "--json").stdout)["memory_plan"]
        self.assertEqual(carried["status"], "valid")
        # Scratch requests of kernels are additional to the placed tensors.
        self.assertLessEqual(carried["arena_bytes"], report["delivered"]["arena_bytes"])
        self.assertGreaterEqual(carried["placed"], len(offsets))
        self.expect(DONE, "plan", "out.tflite", "-o", "again.tflite")
        self.assertEqual((self.folder / "again.tflite").read_bytes(), first)

    def test_inspect_finds_a_wrong_plan(self):
        self.model()
        self.expect(DONE, "plan", "m.tflite", "-o", "out.tflite")
        text = self.expect(DONE, "inspect", "out.tflite").stdout.decode()
        self.assertIn("Contains an offline memory plan for TFLM: ", text)
        self.assertIn("; valid.", text)
        self.assertNotIn("memory plan", self.expect(DONE, "inspect", "m.tflite").stdout.decode())
        data = bytearray((self.folder / "out.tflite").read_bytes())
        plan = next(at for at in range(0, len(data), 16)
                    if struct.unpack_from("<ii", data, at) == (0, 1) and data[at - 4:at] != bytes(4))
        (tensors,) = struct.unpack_from("<i", data, plan + 8)
        struct.pack_into(f"<{tensors}i", data, plan + 12, *[0] * tensors)
        (self.folder / "wrong.tflite").write_bytes(data)
        report = json.loads(self.expect(DONE, "inspect", "wrong.tflite", "--json").stdout)
        self.assertEqual(report["memory_plan"]["status"], "invalid")
        self.assertIn("share bytes", report["memory_plan"]["problems"][0])
        # Planning it again repairs it.
        self.expect(DONE, "plan", "wrong.tflite", "-o", "mended.tflite")
        self.assertEqual((self.folder / "mended.tflite").read_bytes(),
                         (self.folder / "out.tflite").read_bytes())

    def test_name_of_another_format(self):
        self.expect(DONE, "zoo", "ds-cnn", "--int8", "-o", "m.tflite")
        result = self.expect(USAGE, "plan", "m.tflite", "-o", "out.onnx")
        self.assertIn(b"neap writes the format of the input, .tflite", result.stderr)
        self.expect(DONE, "zoo", "resnet8", "-o", "m.onnx")
        self.expect(USAGE, "plan", "m.onnx", "-o", "out.tflite")
        self.assertEqual(self.files(), ["m.onnx", "m.tflite"])

    def test_order_alone(self):
        model = self.model()
        report = self.report_of("plan", "m.tflite", "-o", "out.tflite", "--no-memory-plan")
        self.assertFalse(report["delivered"]["memory_plan"])
        self.assertEqual((self.folder / "out.tflite").stat().st_size, model.stat().st_size)
        self.expect(DONE, "plan", "m.tflite", "-o", "ideal.tflite", "--runtime", "ideal")
        self.assertNotIn(KEY, (self.folder / "ideal.tflite").read_bytes())
        self.expect(USAGE, "plan", "m.tflite", "--runtime", "ideal", "--no-memory-plan")
        self.expect(USAGE, "plan", "m.tflite", "--no-memory-plan", "--overlap", "tflm-reference")

    def test_order_alone_of_a_file_that_carries_a_plan(self):
        self.model()
        words = ("--rewrite", "none", "--no-memory-plan")
        arena = self.report_of("plan", "m.tflite", *words)["delivered"]["arena_bytes"]
        self.expect(DONE, "plan", "m.tflite", "--rewrite", "none", "-o", "out.tflite")
        report = self.report_of("plan", "out.tflite", *words, "-o", "plain.tflite")
        self.assertEqual(report["delivered"]["arena_bytes"], arena)
        self.assertTrue([note for note in report["notes"] if "contains a memory plan" in note])
        # TFLM applies any plan that it finds: none may remain.
        carried = json.loads(self.expect(DONE, "inspect", "plain.tflite", "--json").stdout)["memory_plan"]
        self.assertEqual((carried["placed"], carried["arena_bytes"]), (0, 0))
        report = self.report_of("plan", "plain.tflite", *words)
        self.assertFalse([note for note in report["notes"] if "contains a memory plan" in note])
        # In other runtimes it does not count, and stays right as long as the order does.
        self.expect(DONE, "plan", "out.tflite", "--runtime", "ideal", "-o", "ideal.tflite")
        self.assertEqual((self.folder / "ideal.tflite").read_bytes(),
                         (self.folder / "out.tflite").read_bytes())

    def test_appended_archive(self):
        model = self.model()
        with zipfile.ZipFile(model, "a") as archive:
            archive.writestr("labels.txt", "cat\ndog\n")
        self.expect(DONE, "plan", "m.tflite", "-o", "out.tflite")
        data = (self.folder / "out.tflite").read_bytes()
        directory = struct.unpack_from("<I", data, data.rfind(b"PK\x05\x06") + 16)[0]
        self.assertEqual(data[directory:directory + 4], b"PK\x01\x02")
        local = struct.unpack_from("<I", data, directory + 42)[0]
        self.assertEqual(data[local:local + 4], b"PK\x03\x04")
        with zipfile.ZipFile(self.folder / "out.tflite") as archive:
            self.assertEqual(archive.read("labels.txt"), b"cat\ndog\n")

    def test_whole_arena(self):
        self.model()
        delivered = self.report_of("plan", "m.tflite")["delivered"]
        self.assertEqual([one["target"] for one in delivered["targets"]][:2], ["cortex-m", "x86-64"])
        total = delivered["total_arena_bytes"]
        if total is None:
            self.expect(OVER_BUDGET, "plan", "m.tflite", "--budget-total", "1MiB")
            return
        self.assertGreaterEqual(total, delivered["arena_bytes"] + delivered["persistent_bytes"])
        # --budget is compared with the bytes that the user allocates; --budget-total is its older name.
        for budget in ("--budget", "--budget-total"):
            report = self.report_of("plan", "m.tflite", budget, total)
            self.assertEqual((report["fits"], report["budget_bytes"]), (True, total))
            self.assertEqual(report["compared"], {"number": "total_arena", "required_bytes": total,
                                                  "available_bytes": total})
            result = self.expect(OVER_BUDGET, "plan", "m.tflite", "-o", "out.tflite", budget, total - 1,
                                 "--cascade", "off")
            self.assertIn(f"over budget: total arena on Cortex-M required {total:,} B", result.stderr.decode())
        self.assertEqual(self.files(), ["m.tflite"])
        self.expect(USAGE, "plan", "m.tflite", "--budget", total, "--budget-total", total)
        arena = delivered["arena_bytes"]
        report = self.report_of("plan", "m.tflite", "--budget-activations", arena)
        self.assertEqual((report["fits"], report["budget_bytes"], report["budget_activations_bytes"]),
                         (True, None, arena))
        self.expect(OVER_BUDGET, "plan", "m.tflite", "--budget-activations", arena - 1, "--cascade", "off")
        self.expect(USAGE, "plan", "m.tflite", "--runtime", "litert", "--budget-activations", arena)
        self.expect(USAGE, "plan", "m.tflite", "--runtime", "ideal", "--budget-total", total)

    def test_unknown_scratch(self):
        """Where TFLM's allocation is unknown there is no number, and no budget is met."""
        self.model(custom="MyOp")
        report = self.report_of("plan", "m.tflite", "-o", "out.tflite")
        delivered = report["delivered"]
        self.assertEqual([delivered["arena_bytes"], delivered["total_arena_bytes"], delivered["memory_plan"],
                          report["fits"]], [None, None, False, None])
        text = " ".join(self.expect(DONE, "plan", "m.tflite").stdout.decode().split())
        self.assertTrue(text.startswith("Arena of the plan "), text)
        self.assertIn("TFLM's own allocation is unknown: the scratch of operator #4 'MyOp' is not modelled.", text)
        self.assertNotIn("ptimal", text)
        self.assertNotIn("allocates", text)
        for budget in ("--budget", "--budget-total", "--budget-activations"):
            result = self.expect(OVER_BUDGET, "plan", "m.tflite", budget, "1MiB", "-o", "no.tflite",
                                 "--emit-c", "no.h", "--json")
            self.assertIsNone(json.loads(result.stdout)["fits"])
            (line,) = result.stderr.decode().splitlines()
            self.assertIn("unknown", line)
            self.assertIn("'MyOp' is not modelled; --scratch FILE supplies its size; no model is written", line)
        self.assertEqual(self.files(), ["m.tflite", "out.tflite"])
        self.expect(DONE, "plan", "m.tflite", "--emit-c", "m.h")
        self.assertNotIn("M_ARENA_BYTES", (self.folder / "m.h").read_text())
        # Stated scratch is known.
        (self.folder / "scratch.csv").write_text("MyOp,1000\n")
        stated = self.report_of("plan", "m.tflite", "--scratch", "scratch.csv", "--budget-activations", "1MiB")
        self.assertTrue(stated["fits"])
        self.assertGreaterEqual(stated["delivered"]["arena_bytes"], 1000)
        self.expect(OVER_BUDGET, "plan", "m.tflite", "--scratch", "scratch.csv", "--budget-activations", 1000)
        result = self.expect(OVER_BUDGET, "plan", "m.tflite", "--scratch", "scratch.csv", "--budget", "1MiB")
        self.assertIn(b"--budget-activations compares the activations alone", result.stderr)

    def test_unknown_scratch_is_unknown_in_every_report(self):
        self.model(custom="ethos-u")
        why = "the scratch of operator #4 'ethos-u' is not modelled: its driver decides on it"
        self.assertEqual(self.report_of("inspect", "m.tflite")["unknown_scratch"], why)
        text = " ".join(self.expect(DONE, "inspect", "m.tflite").stdout.decode().split())
        self.assertIn(f"TFLM's own allocation is unknown: {why}.", text)
        points = self.report_of("pareto", "m.tflite")["points"]
        for point in points:
            self.assertEqual(point["unknown_scratch"], why)
            self.assertEqual([point["delivered_arena_bytes"], point["total_arena_bytes"]], [None, None])
            self.assertEqual(point["copies"], [])
        text = " ".join(self.expect(DONE, "pareto", "m.tflite").stdout.decode().split())
        self.assertIn(f"{points[0]['arena_bytes']:,}?", text)
        self.assertIn(f"TFLM's own allocation is unknown: {why}", text)
        # The memory of a device is a budget, and tiles and rewrites are compared within it.
        rates = {"conv": 1000, "pointwise": 1000, "depthwise": 500}
        memory = {"name": "ram", "read_per_kilocycle": 1000, "write_per_kilocycle": 1000,
                  "holds_activations": True, "bytes": 1 << 20}
        self.write_json("roomy.json", {"name": "roomy", "memories": [memory], "per_kilocycle": rates})
        result = self.expect(OVER_BUDGET, "plan", "m.tflite", "--device", "roomy.json", "--cascade", "auto", "--json")
        report = json.loads(result.stdout)
        self.assertIsNone(report["fits"])
        self.assertEqual({one["fits"] for one in report["tried"]}, {None})
        for point in self.report_of("pareto", "m.tflite", "--device", "roomy.json")["points"]:
            self.assertEqual(point["copies"], [], "what the arena leaves free is unknown")
        self.expect(DONE, "plan", "m.tflite", "--html", "page.html")
        self.assertIn("own allocation is unknown, and no number", (self.folder / "page.html").read_text())
        self.write_json("line.jsonl", {"id": 1, "path": str(self.folder / "m.tflite")})
        answer = json.loads(self.expect(DONE, "batch", "line.jsonl").stdout)
        self.assertIsNone(answer["delivered_arena_bytes"])
        # Of a model that is modelled nothing is unknown.
        self.model()
        self.assertIsNone(self.report_of("inspect", "m.tflite")["unknown_scratch"])
        for point in self.report_of("pareto", "m.tflite", "--features", "tiles")["points"]:
            self.assertIsNone(point["unknown_scratch"])
            self.assertEqual(point["delivered_arena_bytes"], point["arena_bytes"])
        self.assertNotIn("?", self.expect(DONE, "pareto", "m.tflite").stdout.decode())

    def test_compressed_constants_have_no_known_scratch(self):
        entry = self.binary("CompressionMetadata", {"subgraphs": [
            {"lut_tensors": [{"tensor": 6, "value_buffer": 1, "index_bitwidth": 2}]}]})

        def change(model):
            model["buffers"].append({"data": list(entry)})
            model["metadata"] = [{"name": "COMPRESSION_METADATA", "buffer": 2}]

        self.model(change=change)
        report = self.report_of("plan", "m.tflite", "-o", "out.tflite")
        self.assertIsNone(report["delivered"]["arena_bytes"])
        self.assertFalse(report["delivered"]["memory_plan"])
        self.assertIn("1 constant is compressed (COMPRESSION_METADATA): only TensorFlow Lite Micro can unpack it",
                      report["notes"])
        result = self.expect(OVER_BUDGET, "plan", "m.tflite", "--budget", "1MiB", "--cascade", "auto")
        self.assertIn(b"the scratch of operator #2 'MEAN' and of 1 more is not modelled: its input #6 'axes' is "
                      b"compressed", result.stderr)
        # The written model is the same, in another order.
        self.assertIn(b"COMPRESSION_METADATA", (self.folder / "out.tflite").read_bytes())
        self.expect(FAILED, "run", "m.tflite")

    def test_kernel_scratch_is_in_the_plan(self):
        """MEAN of int8 requests 64 and two times 16 bytes."""
        self.model()
        report = self.report_of("plan", "m.tflite", "--plan", "plan.json", "--rewrite", "none")
        entry = json.loads((self.folder / "plan.json").read_text())["entries"][0]
        self.assertEqual([area["bytes"] for area in entry["scratch"]], [96, 96])
        self.assertEqual(report["delivered"]["arena_bytes"], report["plan"]["arena_bytes"])
        self.assertEqual(report["peak_at"]["scratch_bytes"], 96)
        self.expect(DONE, "check", "m.tflite", "plan.json", "--replay")

    def test_header_compiles(self):
        compiler = shutil.which("cc")
        if compiler is None:
            raise unittest.SkipTest("no C compiler")
        self.model()
        report = self.report_of("plan", "m.tflite", "--emit-c", "my-net.h", "--plan", "plan.json")
        placed = json.loads((self.folder / "plan.json").read_text())["entries"][0]["tensors"]
        (self.folder / "main.c").write_text(
            '#include "my-net.h"\n#include "my-net.h"\n#include <stdio.h>\n'
            "#define ROW(subgraph, tensor, memory, offset, bytes, name) "
            'printf("%d %d %s\\n", tensor, offset, name);\n'
            'int main(void) { printf("%d\\n", MY_NET_ARENA_BYTES); MY_NET_FOR_EACH_TENSOR(ROW) '
            "return MY_NET_TENSORS; }\n")
        subprocess.run([compiler, "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-o", "main",
                        "main.c"], cwd=self.folder, check=True)
        result = subprocess.run([self.folder / "main"], stdout=subprocess.PIPE, check=False)
        self.assertEqual(result.returncode, len(placed))
        lines = result.stdout.decode().splitlines()
        self.assertEqual(int(lines[0]), report["delivered"]["arena_bytes"])
        self.assertEqual([line.split(" ")[:2] for line in lines[1:]],
                         [[str(t["tensor"]), str(t["offset"])] for t in placed])

    def test_header_like_any_output(self):
        self.model()
        (self.folder / "a.h").write_text("precious")
        self.expect(FAILED, "plan", "m.tflite", "--emit-c", "a.h")
        self.assertEqual((self.folder / "a.h").read_text(), "precious")
        self.expect(DONE, "plan", "m.tflite", "--emit-c", "a.h", "--force")
        self.assertIn(b"#ifndef", self.expect(DONE, "plan", "m.tflite", "--emit-c", "-").stdout)
        self.expect(USAGE, "plan", "m.tflite", "--emit-c", "m.tflite", "--force")
        self.expect(USAGE, "plan", "m.tflite", "--emit-c", "-", "--json")
        self.expect(USAGE, "plan", "m.tflite", "--emit-c", "b.h", "--order-only")


if __name__ == "__main__":
    unittest.main()
