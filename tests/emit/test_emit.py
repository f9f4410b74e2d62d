# SPDX-License-Identifier: Apache-2.0
"""neap emit: what it writes compiles without warnings and computes the executor's bytes."""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "cli"))
from neap_cli import DONE, FAILED, OVER_BUDGET, SHARED, SOURCE, USAGE, CliTest  # noqa: E402

import emitted  # noqa: E402

MODELS = {
    "kws": "mlcommons+tiny/kws_ref_model.tflite",
    "ad01": "mlcommons+tiny/ad01_int8.tflite",
    "vww": "mlcommons+tiny/vww_96_int8.tflite",
    "resnet8": "mlcommons+tiny/pretrainedResnet_quant.tflite",
    "person_detect": "tensorflow+tflite-micro/person_detect.tflite",
}
WAYS = {
    "whole": ["--stream", "off"],
    "resident": ["--stream", "auto"],
    "external": ["--stream", "auto", "--input", "external"],
    "rows": ["--stream", "auto", "--input", "rows"],
}


class EmitTest(CliTest):
    def setUp(self):
        super().setUp()
        if not emitted.installed("gcc"):
            self.skipTest("there is no gcc")

    def small(self, name="net.tflite"):
        """A network of the zoo with few operations."""
        self.expect(DONE, "zoo", "mobilenet-v1-vww", "--int8", "-o", name, "--quiet")
        return self.folder / name

    def emit(self, model, folder, *words, prefix="net"):
        self.expect(DONE, "emit", model, "-o", folder, "--prefix", prefix, "--quiet", *words)
        return emitted.Network(self.folder / folder, prefix)

    def give_seeds(self, network, model, seeds, kernels="tflm"):
        for seed in seeds:
            self.expect(DONE, "run", model, "--random-inputs", seed, "--save-inputs", "in.npz", "--outputs", "out.npz",
                        "--kernels", kernels, "--force", "--quiet")
            network.write_seed(seed, emitted.arrays(self.folder / "in.npz"), emitted.arrays(self.folder / "out.npz"))

    def expect_equal(self, network, model, seeds=(1, 2), compiler="gcc", flags=(), kernels="tflm"):
        self.give_seeds(network, model, seeds, kernels)
        self.assertEqual(network.compile(compiler, *flags), "")
        self.assertEqual(network.run(seeds, *flags), "")


class PlansTest(EmitTest):
    def test_boxes_of_a_segment_with_one_operator_are_rows(self):
        # In the plan, the first convolution is 48 x 48 boxes of one pixel.
        network = self.emit(self.small(), "joined")
        segments = re.findall(r"^    \{\S+, &net_ops\[\d+\], \d+, (\d+), (\d+), (\d+)\},$", (network.folder / "net.c").read_text(),
                              re.MULTILINE)
        self.assertEqual(segments[0], ("1", "1", "1"))

    def test_plans_of_all_kinds_compute_the_same_bytes(self):
        self.searches_whole_networks()
        model = self.small()
        arenas = {}
        for name, words in WAYS.items():
            network = self.emit(model, name, *words)
            self.expect_equal(network, model, flags=emitted.SANITIZERS)
            arenas[name] = network.arena_bytes
        self.assertLess(arenas["resident"], arenas["whole"])
        self.assertLess(arenas["rows"], arenas["resident"])

    def test_a_mean_goes_on_in_a_later_segment(self):
        self.expect(DONE, "zoo", "resnet8", "--int8", "-o", "resnet8.tflite", "--quiet")
        model = self.folder / "resnet8.tflite"
        network = self.emit(model, "parts", "--kernels", "dsp", "--max-slowdown", "10")
        text = (network.folder / "net.c").read_text()
        self.assertEqual(text.count("{neap_drive_sums, "), 2)
        self.expect_equal(network, model, seeds=(1,))

    def test_packed_weights_compute_the_same_bytes(self):
        model = self.small()
        portable = self.emit(model, "portable", "--stream", "off")
        for kernels, name in (("dsp", "neap_conv_packed_s8"), ("mve", "neap_conv_mve_s8")):
            packed = self.emit(model, kernels, "--stream", "off", "--kernels", kernels)
            self.assertIn(name, (packed.folder / "net.c").read_text())
            self.expect_equal(packed, model, flags=emitted.SANITIZERS)
            self.assertLess(portable.arena_bytes, packed.arena_bytes)

    def test_code_for_little_flash_computes_the_same_bytes(self):
        model = self.small()
        fast = self.emit(model, "fast")
        little = self.emit(model, "little", "--optimize", "flash")
        text = (little.folder / "net.c").read_text()
        # The first layers have many pixels: their channels keep 8 bytes. No table of exponentials.
        for name in ("neap_conv_small_s8", "neap_depthwise_small_s8", "neap_softmax_small_s8"):
            self.assertIn(name, text)
        self.assertNotIn("neap_conv_s8,", text)
        self.assertEqual(little.arena_bytes, fast.arena_bytes)
        self.expect_equal(little, model, flags=emitted.SANITIZERS)
        single = self.emit(model, "single", "--optimize", "flash", "--single-file", "--stream", "off")
        self.expect_equal(single, model, seeds=(1,))
        for words in (("--kernels", "dsp"), ("--received-plans",)):
            self.expect(USAGE, "emit", model, "-o", "other", "--optimize", "flash", *words)

    def test_the_schema_of_the_report_has_every_kernel_set(self):
        model = self.small()
        known = json.loads((SOURCE / "schemas/emit-report.schema.json").read_text())["properties"]["kernels"]["enum"]
        for kernels in ("portable", "dsp", "mve"):
            report = json.loads(self.expect(DONE, "emit", model, "-o", kernels, "--kernels", kernels, "--stream", "off",
                                            "--json").stdout)
            self.assertEqual(report["kernels"], kernels)
            self.assertIn(kernels, known)

    def test_a_plan_is_read_and_outputs_differ_between_inputs(self):
        model = self.small()
        self.expect(DONE, "plan", model, "--runtime", "tflm", "--overlap", "tflm-reference", "--plan", "plan.json", "--quiet")
        network = self.emit(model, "out", "--plan", "plan.json")
        self.expect_equal(network, model)
        # Negative control: the outputs of one seed are not those of another.
        outputs = [(network.folder / f"{seed}.output.expected").read_bytes() for seed in (1, 2)]
        self.assertNotEqual(*outputs)
        (network.folder / "1.output.expected").write_bytes(outputs[1])
        self.assertIn("output differs", network.run((1, 2)))

    def test_tiles_and_moves(self):
        self.searches_whole_networks()
        model = self.small()
        for name, words in {"tiles": ["--cascade", "auto", "--runtime", "tflm", "--budget", "1KiB"],
                            "moves": ["--runtime", "tflm", "--moves", "best"]}.items():
            result = self.run_neap("plan", model, *words, "--plan", f"{name}.json", "--quiet")
            self.assertIn(result.returncode, (DONE, OVER_BUDGET), result.stderr)
            network = self.emit(model, name, "--plan", f"{name}.json")
            self.expect_equal(network, model, seeds=(1,))

    def test_a_shared_body_is_in_the_tables_once(self):
        self.searches_whole_networks()
        self.expect(DONE, "zoo", "resnet8", "--int8", "-o", "net.tflite", "--quiet")
        network = self.emit("net.tflite", "out", "--runtime", "tflm", "--cascade", "auto", "--cascade-bodies", "shared")
        self.expect_equal(network, "net.tflite", flags=emitted.SANITIZERS)
        text = (network.folder / "net.c").read_text()
        rows = re.findall(r"^    \{neap_drive_", text, re.MULTILINE)
        segments = re.findall(r"^    \{NULL, &net_ops\[\d+\], 0, (\d+), 1, 1\},$", text, re.MULTILINE)
        # 16 tiles call bodies of three or more operators.
        self.assertGreaterEqual(sum(map(int, segments)), len(rows) + 16 * 2)


class MemoriesTest(EmitTest):
    """Plans with two memories: a pointer for each, copies between them by a function of the caller."""

    def plan_with_a_move(self, model):
        """A plan of two memories in which a tensor of the first moves to the second. The planner does not make such
        plans yet; the checker knows them."""
        self.expect(DONE, "plan", model, "--runtime", "neap", "--memory", "fast=32KiB,bw=8", "slow=256KiB,bw=1", "--plan",
                    "plan.json", "--quiet")
        plan = json.loads((self.folder / "plan.json").read_text())
        (entry,) = plan["entries"]
        overlapping = {overlap[key] for overlap in entry["overlaps"] for key in ("input", "output")}
        moved = next(place for place in entry["tensors"] if place["memory"] == 0 and place["tensor"] not in overlapping
                     and place["last"] - place["first"] > 1)
        slot = moved["first"] + 1  # the move comes before the step that had this number
        for item in [*entry["tensors"], *entry["scratch"], *entry["overlaps"]]:
            for key, later in (("first", 0), ("last", 1), ("slot", 0)):  # `last` is one behind
                if key in item and item[key] >= slot + later:
                    item[key] += 1
        second = {**moved, "memory": 1, "offset": (entry["memory_bytes"][1] + 15) // 16 * 16, "first": slot}
        moved["last"] = slot + 1
        entry["tensors"].append(second)
        entry["memory_bytes"][1] = second["offset"] + second["bytes"]
        entry["steps"].insert(slot, {"subgraph": 0, "move": moved["tensor"]})
        entry["arena_bytes"] = sum(entry["memory_bytes"])
        self.write_json("moved.json", plan)
        return moved["bytes"]

    def test_tiles_in_two_memories(self):
        self.expect(DONE, "zoo", "mobilenet-v1", "--width-multiplier", "0.25", "--resolution", "64", "--int8", "-o",
                    "net.tflite", "--quiet")
        self.expect(DONE, "plan", "net.tflite", "--runtime", "neap", "--skip", "rewrite", "--cascade", "auto",
                    "--memory", "fast=12KiB,bw=8", "slow=64KiB,bw=1", "--plan", "plan.json", "--quiet")
        plan = json.loads((self.folder / "plan.json").read_text())
        self.assertTrue(plan["cascade"]["regions"])
        self.assertEqual({place["memory"] for place in plan["entries"][0]["tensors"]}, {0, 1})
        network = self.emit("net.tflite", "out", "--plan", "plan.json")
        self.expect_equal(network, "net.tflite", seeds=(1,))

    def test_copies_between_memories_go_through_a_hook(self):
        model = self.small()
        copied = self.plan_with_a_move(model)
        network = self.emit(model, "out", "--plan", "moved.json")
        self.give_seeds(network, model, (1, 2))
        # Without a function of the caller: memmove.
        self.assertEqual(network.compile("gcc"), "")
        self.assertEqual(network.run((1, 2)), "")
        (network.folder / "hook.c").write_text(
            "#include <stdio.h>\n#include <string.h>\nvoid dma(void *to, const void *from, size_t bytes);\n"
            "void dma(void *to, const void *from, size_t bytes) {\n"
            '  FILE *log = fopen("log", "a");\n  fprintf(log, "%zu\\n", bytes);\n  fclose(log);\n'
            "  memmove(to, from, bytes);\n}\n")
        self.assertEqual(network.compile("gcc", "-DNET_COPY=dma"), "")
        self.assertEqual(network.run((1, 2), "hook.c"), "")
        # Each seed runs once as a whole and once in steps.
        self.assertEqual((network.folder / "log").read_text().split(), [str(copied)] * 4)
        # Negative control: a hook that copies nothing changes the output.
        (network.folder / "hook.c").write_text(
            "#include <stddef.h>\nvoid dma(void *to, const void *from, size_t bytes);\n"
            "void dma(void *to, const void *from, size_t bytes) { (void)to; (void)from; (void)bytes; }\n")
        self.assertIn("output differs", network.run((1, 2), "hook.c"))


class TwoMemoriesTest(EmitTest):
    """Fast and slow memory: the copies of a run are those of the plan, in bytes, and of `neap run`."""

    def plan(self, model, fast):
        """The plan of a fast memory: a file, and the bytes that it reads and writes."""
        self.expect(DONE, "plan", model, "--runtime", "neap", "--stream", "auto", "--fast", fast, "--plan", "plan.json",
                    "--force", "--quiet")
        (entry,) = json.loads((self.folder / "plan.json").read_text())["entries"]
        slow = entry["stream"]["slow"]
        run = json.loads(self.expect(DONE, "run", model, "--plan", "plan.json", "--json").stdout)
        self.assertEqual([run["slow"][key] for key in ("read_bytes", "written_bytes")],
                         [slow[key] for key in ("read_bytes", "written_bytes")])
        return self.folder / "plan.json", (slow["read_bytes"], slow["written_bytes"])

    def expect_copies(self, network, model, counted, compiler="gcc", seeds=(1, 2)):
        self.assertEqual((network.macro("SLOW_READ_BYTES"), network.macro("SLOW_WRITTEN_BYTES")), counted)
        self.give_seeds(network, model, seeds)
        self.assertEqual(network.compile(compiler, *network.counts_copies), "")
        self.assertEqual(network.run(seeds, counted=counted), "")

    def test_copies_are_those_of_the_plan(self):
        model = self.small()
        for fast, words in (("8KiB", ()), ("8KiB", ("--kernels", "dsp")), ("4KiB", ("--single-file",))):
            plan, counted = self.plan(model, fast)
            with self.subTest(fast=fast, words=words):
                network = self.emit(model, f"{fast}{len(words)}", "--plan", plan, *words)
                self.expect_copies(network, model, counted)
        # Without functions of the caller: memcpy.
        self.assertEqual(network.compile("gcc"), "")
        self.assertEqual(network.run((1, 2)), "")
        # Negative controls: another number of bytes; copies that are never done.
        self.assertEqual(network.compile("gcc", *network.counts_copies), "")
        self.assertIn("copies:", network.run((1,), counted=(counted[0] + 1, counted[1])))
        self.assertEqual(network.compile("gcc", network.counts_copies[0]), "")
        self.assertIn("copies:", network.run((1,), counted=counted))

    def test_copies_that_begin_ahead(self):
        """Late copies come at the end of a block, early ones at once: the output is the same."""
        model = self.small()
        for fast in ("8KiB", "16KiB"):
            network = self.emit(model, f"ahead{fast}", "--fast", fast, "--prefetch")
            self.expect_copies(network, model, tuple(network.macro(f"SLOW_{name}_BYTES") for name in ("READ", "WRITTEN")))

    def test_all_compilers_accept_its_hooks(self):
        model = self.small()
        network = self.emit(model, "out", "--plan", self.plan(model, "8KiB")[0])
        for compiler in emitted.COMPILERS:
            if emitted.installed(compiler):
                self.assertEqual(network.compile(compiler, *network.counts_copies), "", compiler)

    def test_weights_in_slow_memory_in_a_single_file(self):
        model = self.small()
        network = self.emit(model, "weights", "--fast", "8KiB", "--slow-weights", "--weights", "bin", "--single-file")
        self.assertTrue(network.has_slow_weights)
        for compiler in emitted.COMPILERS:
            if emitted.installed(compiler):
                self.assertEqual(network.compile(compiler, *network.counts_copies), "", compiler)
        self.expect_copies(network, model, tuple(network.macro(f"SLOW_{name}_BYTES") for name in ("READ", "WRITTEN")))

    def test_the_arena_is_within_the_fast_memory(self):
        model = self.small()
        report = json.loads(self.expect(DONE, "emit", model, "-o", "out", "--prefix", "net", "--fast", "8KiB", "--json").stdout)
        network = emitted.Network(self.folder / "out", "net")
        self.assertLessEqual(network.arena_bytes, 8192)
        self.assertEqual(network.macro("BUDGET_BYTES"), 8192)
        self.assertEqual(report["slow"], {"bytes": network.macro("SLOW_BYTES"), "read_bytes": network.macro("SLOW_READ_BYTES"),
                                          "written_bytes": network.macro("SLOW_WRITTEN_BYTES")})
        self.expect_copies(network, model, (report["slow"]["read_bytes"], report["slow"]["written_bytes"]), seeds=(1,))
        errors = self.expect(OVER_BUDGET, "emit", model, "-o", "small", "--fast", "1000").stderr.decode()
        self.assertRegex(errors, r"over budget: arena required [\d,]+ B .*, available 1,000 B\s*$")
        self.assertFalse((self.folder / "small").exists())
        # The plan of a smaller limit can be emitted without space for the state; the report states it.
        self.expect(DONE, "plan", model, "--runtime", "neap", "--stream", "auto", "--fast", "8064", "--plan", "plan.json",
                    "--quiet")
        text = self.expect(DONE, "emit", model, "-o", "other", "--plan", "plan.json").stdout.decode()
        self.assertIn("exceeds the 8,064 B of fast memory of the plan", text)

    def test_packed_kernels_keep_within_a_limit_that_others_need(self):
        model = self.small()
        portable = self.emit(model, "portable", "--fast", "4748")
        limit = portable.arena_bytes
        packed = self.emit(model, "packed", "--fast", str(limit), "--kernels", "dsp")
        self.assertLessEqual(packed.arena_bytes, limit)
        for kernel in ("neap_conv_packed_s8,", "neap_conv_s8,"):
            self.assertIn(kernel, (packed.folder / "net.c").read_text())
        self.expect_copies(packed, model, tuple(packed.macro(f"SLOW_{name}_BYTES") for name in ("READ", "WRITTEN")))
        self.expect(OVER_BUDGET, "emit", model, "-o", "less", "--fast", "500", "--kernels", "dsp")

    def test_a_board_with_two_memories_has_both(self):
        network = self.emit(self.small(), "board", "--board", "portenta-h7")
        self.assertGreater(network.macro("SLOW_BYTES"), 0)

    def test_slow_memory_is_necessary_and_needs_no_alignment(self):
        model = self.small()
        network = self.emit(model, "out", "--fast", "8KiB")
        self.assertEqual(network.compile("gcc"), "")
        (network.folder / "main.c").write_text(
            '#include <stdio.h>\n#include "net.h"\nstatic int64_t arena[NET_ARENA_BYTES / 8 + 1];\n'
            "static char slow[NET_SLOW_BYTES + 1];\n"
            'int main(void) {\n  printf("[%d, %d, %d, %d, %d]\\n", net_run(arena, 0), net_run(0, slow), net_step(arena, 0),\n'
            "         net_run(arena, slow), net_run(arena, slow + 1));\n  return 0;\n}\n")
        objects = [pathlib.Path(source).stem + ".o" for source in network.sources()]
        run = subprocess.run
        run(["gcc", "main.c", *objects, "-o", "network"], cwd=network.folder, check=True)
        found = json.loads(run(["./network"], cwd=network.folder, capture_output=True, text=True, check=True).stdout)
        self.assertEqual(found, [-1, -1, -1, 0, 0])

    def check(self, name, *limits):
        model = SHARED / "models" / MODELS[name]
        if not model.exists():
            self.skipTest(f"{model} is not there (NEAP_SHARED)")
        for fast in limits:
            with self.subTest(fast=fast):
                plan, counted = self.plan(model, fast)
                self.expect_copies(self.emit(model, fast, "--plan", plan), model, counted, seeds=(1,))

    def test_kws_in_two_memories(self):
        self.check("kws", "4KiB")

    def test_vww_in_two_memories(self):
        self.check("vww", "12KiB")

    def test_resnet8_in_two_memories(self):
        self.check("resnet8", "4KiB")

    def test_person_detect_in_two_memories(self):
        self.check("person_detect", "8KiB")


class CompilersTest(EmitTest):
    def test_all_compilers_accept_it_without_a_warning(self):
        model = self.small()
        for kernels in ("portable", "dsp", "mve"):
            network = self.emit(model, kernels, "--kernels", kernels)
            self.give_seeds(network, model, (1,))
            for compiler in emitted.COMPILERS:
                if emitted.installed(compiler):
                    self.assertEqual(network.compile(compiler), "", compiler)
            self.assertEqual(network.compile("gcc"), "")
            self.assertEqual(network.run((1,)), "")

    def test_vectors_of_this_processor_compute_the_same_bytes(self):
        kinds = emitted.vectors_of_this_processor()
        if not kinds:
            self.skipTest("the processor has no AVX2")
        model = self.small()
        network = self.emit(model, "out", "--kernels", "mve")
        self.give_seeds(network, model, (1, 2))
        for name, flags in kinds.items():
            for compiler in ("g++", "gcc"):
                with self.subTest(vectors=name, compiler=compiler):
                    self.assertEqual(network.compile(compiler, *flags), "")
            self.assertEqual(network.run((1, 2)), "", name)
            code = subprocess.run(["objdump", "-d", "neap_conv_mve_s8.o"], cwd=network.folder, capture_output=True,
                                  text=True, check=True).stdout
            self.assertIn("vpdpbusd" if "VNNI" in name else "vpmaddwd", code)

    def test_vectors_of_arm64_compute_the_same_bytes(self):
        missing = [tool for tool in (emitted.ARM64, "qemu-aarch64") if shutil.which(tool) is None]
        if missing:
            self.skipTest(f"there is no {missing[0]}")
        model = self.small()
        network = self.emit(model, "out", "--kernels", "mve")
        self.give_seeds(network, model, (1,))
        for flags in ([], ["-march=armv8.2-a+dotprod"]):
            with self.subTest(flags=flags):
                self.assertEqual(network.compile(emitted.ARM64, *flags), "")
                self.assertEqual(network.run((1,), "-static", compiler=[emitted.ARM64], emulator=["qemu-aarch64"]), "")

    def test_single_files_of_two_networks_are_linked_together(self):
        model = self.small()
        first = self.emit(model, "first", "--single-file", prefix="one")
        second = self.emit(model, "second", "--single-file", "--stream", "off", "--kernels", "mve", prefix="two")
        self.assertFalse((first.folder / "neap_rt").exists())
        self.expect_equal(first, model)
        self.expect_equal(second, model)
        both = f"{second.folder}/two.o"
        self.assertEqual(first.run((1,), both), "")

    def test_only_memory_functions_of_the_library_are_called(self):
        network = self.emit(self.small(), "out", "--single-file")
        self.assertEqual(network.compile("gcc", "-fno-stack-protector", "-ffreestanding"), "")
        symbols = subprocess.run(["nm", "-u", "net.o"], cwd=network.folder, capture_output=True, text=True,
                                               check=True).stdout.split()
        self.assertLessEqual(set(symbols) - {"U", "_GLOBAL_OFFSET_TABLE_"}, {"memcpy", "memmove", "memset"})
        written = subprocess.run(["nm", "net.o"], cwd=network.folder, capture_output=True, text=True,
                                               check=True).stdout.splitlines()
        self.assertEqual([line for line in written if line.split()[-2] in "bBDC"], [])

    def test_all_of_the_runtime_is_c_and_cpp_without_warnings_or_more_of_the_library(self):
        runtime = SOURCE / "runtime"
        # Calls of CMSIS-NN need its headers: tests/firmware compiles them.
        files = [path.name for path in sorted(runtime.glob("*.c")) if "_cmsis_nn_" not in path.name]
        (self.folder / "all.c").write_text("".join(f'#include "{name}"\n' for name in files))
        for name, words in emitted.COMPILERS.items():
            if not emitted.installed(name):
                continue
            with self.subTest(compiler=name):
                result = subprocess.run([*words, "-O1", "-ffreestanding", "-fno-stack-protector", f"-I{runtime}", "-c",
                                         "all.c", "-o", "all.o"], cwd=self.folder, capture_output=True, text=True, check=False)
                self.assertEqual(result.stderr, "")
                symbols = [line.split()[-2:] for line in subprocess.run(
                    ["nm", "all.o"], cwd=self.folder, capture_output=True, text=True, check=True).stdout.splitlines()]
                missing = {symbol for kind, symbol in symbols if kind == "U"}
                self.assertLessEqual(missing, {"memcpy", "memmove", "memset", "expf", "tanhf", "_GLOBAL_OFFSET_TABLE_"})
                self.assertEqual([symbol for kind, symbol in symbols if kind in "bBdDC"], [])

    def test_several_instances_run_at_once(self):
        model = self.small()
        network = self.emit(model, "out")
        self.give_seeds(network, model, (1, 2))
        self.assertEqual(network.compile("gcc"), "")
        (network.folder / "main.c").write_text(
            '#include <stdio.h>\n#include <string.h>\n#include "net.h"\n'
            "static int64_t arenas[2][NET_ARENA_BYTES / 8 + 1];\n"
            "static void load(const char *path, void *to, size_t bytes) {\n"
            '  FILE *file = fopen(path, "rb");\n  if (fread(to, 1, bytes, file) != bytes) memset(to, 0, bytes);\n'
            "  fclose(file);\n}\n"
            "int main(void) {\n  static signed char expected[NET_OUTPUT_BYTES];\n  int more[2] = {1, 1}, steps = 0;\n"
            '  load("1.input", net_input(arenas[0]), NET_INPUT_BYTES);\n  net_begin(arenas[0]);\n  net_step(arenas[0]);\n'
            '  load("2.input", net_input(arenas[1]), NET_INPUT_BYTES);\n  net_begin(arenas[1]);\n'
            "  while (more[0] || more[1]) {\n    for (int i = 0; i < 2; ++i) {\n"
            "      if (more[i]) more[i] = net_step(arenas[i]) == NET_MORE;\n    }\n    ++steps;\n  }\n"
            '  load("1.output.expected", expected, NET_OUTPUT_BYTES);\n'
            "  printf(\"[%d, \", memcmp(expected, net_output(arenas[0]), NET_OUTPUT_BYTES));\n"
            '  load("2.output.expected", expected, NET_OUTPUT_BYTES);\n'
            '  printf("%d, %d]\\n", memcmp(expected, net_output(arenas[1]), NET_OUTPUT_BYTES), steps > 100);\n  return 0;\n}\n')
        objects = [pathlib.Path(source).stem + ".o" for source in network.sources()]
        run = subprocess.run
        run(["gcc", "main.c", *objects, "-o", "network"], cwd=network.folder, check=True)
        found = json.loads(run(["./network"], cwd=network.folder, capture_output=True, text=True, check=True).stdout)
        self.assertEqual(found, [0, 0, 1])

    def test_weights_as_a_file(self):
        model = self.small()
        for kernels in ("portable", "dsp", "mve"):
            network = self.emit(model, kernels, "--weights", "bin", "--kernels", kernels)
            self.assertNotIn("weights[", (network.folder / "net.c").read_text().replace("net_weights[];", ""))
            data = (network.folder / "net_weights.bin").read_bytes()
            (network.folder / "neap_rt" / "net_weights.c").write_text(
                "extern const signed char net_weights[];\n__attribute__((aligned(4))) const signed char net_weights[] = {"
                + ",".join(str(byte - 256 if byte > 127 else byte) for byte in data) + "};\n")
            self.expect_equal(network, model, seeds=(1,))


class FilesTest(EmitTest):
    def test_the_same_input_gives_the_same_bytes(self):
        model = self.small()
        for folder in ("a", "b"):
            self.emit(model, folder)
        a, b = ({path.relative_to(self.folder / name): path.read_bytes()
                 for path in (self.folder / name).rglob("*") if path.is_file()} for name in ("a", "b"))
        self.assertEqual(a, b)
        for name, data in a.items():
            self.assertIn(b"SPDX-License-Identifier: ", data[:80], name)

    def test_existing_files_are_kept(self):
        model = self.small()
        self.emit(model, "out")
        before = (self.folder / "out/net.h").read_bytes()
        errors = self.expect(FAILED, "emit", model, "-o", "out", "--prefix", "net").stderr
        self.assertIn(b"exists", errors)
        self.assertEqual((self.folder / "out/net.h").read_bytes(), before)
        self.expect(DONE, "emit", model, "-o", "out", "--prefix", "net", "--force", "--quiet")

    def test_operators_without_a_kernel_are_named_and_nothing_is_written(self):
        self.expect(DONE, "zoo", "mobilenet-v1-vww", "-o", "float.tflite", "--quiet")
        errors = self.expect(FAILED, "emit", "float.tflite", "-o", "out").stderr.decode()
        self.assertIn("cannot be emitted", errors)
        self.assertIn("CONV_2D", errors)
        self.assertFalse((self.folder / "out").exists())

    def test_budgets_and_names(self):
        model = self.small()
        self.expect(OVER_BUDGET, "emit", model, "-o", "out", "--budget", "1KiB", "--cascade", "off")
        self.assertFalse((self.folder / "out").exists())
        network = self.emit(model, "fits", "--budget", "1MiB")
        self.assertEqual(network.macro("BUDGET_BYTES"), 1 << 20)
        self.assertIn("negative", network.compile("gcc", "-DNET_BUDGET_BYTES=16"))
        # Where the scratch of two pixels exceeds the budget, kernels have that of one, or none.
        limit = self.emit(model, "portable").arena_bytes
        packed = self.emit(model, "packed", "--kernels", "dsp", "--budget", str(limit))
        self.assertEqual(packed.arena_bytes, limit)
        self.expect_equal(packed, model)
        self.expect(USAGE, "emit", model, "-o", "other", "--prefix", "neap_x")
        self.expect(USAGE, "emit", model, "-o", "other", "--plan", "plan.json", "--stream", "off")

    def test_results_of_functions(self):
        network = self.emit(self.small(), "out", "--input", "rows")
        network.compile("gcc")
        (network.folder / "main.c").write_text(
            '#include <stdio.h>\n#include "net.h"\nstatic int64_t arena[NET_ARENA_BYTES / 8 + 2];\n'
            "static int no(void *user, int row, int8_t *dst) { (void)user; (void)row; (void)dst; return 42; }\n"
            'int main(void) {\n  printf("[%d, %d, %d, %d, %d]\\n", net_run_rows(0, no, 0), net_run_rows((char *)arena + 1, no, 0),\n'
            "         net_run_rows(arena, 0, 0), net_run_rows(arena, no, 0), net_step_rows(arena, no, 0));\n  return 0;\n}\n")
        objects = [pathlib.Path(source).stem + ".o" for source in network.sources()]
        run = subprocess.run
        run(["gcc", "main.c", *objects, "-o", "network"], cwd=network.folder, check=True)
        found = json.loads(run(["./network"], cwd=network.folder, capture_output=True, text=True, check=True).stdout)
        self.assertEqual(found, [-1, -1, -2, 42, -3])


class ModelsTest(EmitTest):
    """The networks of MLPerf Tiny, in all ways in which they can be planned."""

    def check(self, name):
        self.searches_whole_networks()
        model = SHARED / "models" / MODELS[name]
        if not model.exists():
            self.skipTest(f"{model} is not there (NEAP_SHARED)")
        for way, words in WAYS.items():
            if name == "ad01" and way in ("external", "rows"):
                continue  # its first operator reads all of the input: there is nothing to stream
            with self.subTest(way=way):
                self.expect_equal(self.emit(model, way, *words), model)
        for kernels in ("dsp", "mve"):
            with self.subTest(kernels=kernels):
                self.expect_equal(self.emit(model, kernels, *WAYS["resident"], "--kernels", kernels), model)

    def test_kws(self):
        self.check("kws")

    def test_ad01(self):
        self.check("ad01")

    def test_vww(self):
        self.check("vww")

    def test_resnet8(self):
        self.check("resnet8")

    def test_person_detect(self):
        self.check("person_detect")

    def lstm(self, name):
        model = SHARED / "models/tensorflow+tflite-micro" / name
        if not model.exists():
            self.skipTest(f"{model} is not there (NEAP_SHARED)")
        return model

    def test_lstms(self):
        # The arena of the plan with both variables, and the 12 bytes of the state of steps.
        for name, whole, resident, rows in (("trained_lstm_int8", 1424, 864, 648), ("trained_lstm", 5536, 3376, 2512)):
            model = self.lstm(f"{name}.tflite")
            for way, most in (("whole", whole), ("resident", resident), ("rows", rows), ("external", rows)):
                with self.subTest(model=name, way=way):
                    network = self.emit(model, f"{name}_{way}", *WAYS[way])
                    self.assertLessEqual(network.arena_bytes, most + 12)
                    self.expect_equal(network, model, flags=emitted.SANITIZERS)
            for words in (("--kernels", "dsp"), ("--kernels", "mve"), ("--optimize", "flash"), ("--weights", "bin")):
                with self.subTest(model=name, words=words):
                    network = self.emit(model, f"{name}_{words[1]}", *words)
                    if words[1] != "bin":
                        self.expect_equal(network, model, seeds=(1,))
            single = self.emit(model, f"{name}_single", "--single-file")
            for compiler in filter(emitted.installed, emitted.COMPILERS):
                with self.subTest(model=name, compiler=compiler):
                    self.expect_equal(single, model, seeds=(1,), compiler=compiler)

    def test_an_lstm_in_several_memories(self):
        model = self.lstm("trained_lstm_int8.tflite")
        self.expect(DONE, "plan", model, "--runtime", "neap", "--memory", "fast=1KiB,bw=8", "slow=64KiB,bw=1", "--plan",
                    "plan.json", "--quiet")
        network = self.emit(model, "out", "--plan", "plan.json")
        self.assertEqual(len(re.findall(r"^  memset\(", (network.folder / "net.c").read_text(), re.MULTILINE)), 2)
        self.expect_equal(network, model, flags=emitted.SANITIZERS)

    def test_lstms_whose_variables_have_no_place_are_refused(self):
        model = self.lstm("trained_lstm_int8.tflite")
        for words in (["--received-plans"], ["--runtime", "tflm"], ["--fast", "1KiB"]):
            with self.subTest(words=words):
                errors = self.expect(FAILED, "emit", model, "-o", "out", *words).stderr.decode()
                self.assertIn("variables", errors)
                self.assertFalse((self.folder / "out").exists())


if __name__ == "__main__":
    unittest.main()
