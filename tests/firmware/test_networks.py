# SPDX-License-Identifier: Apache-2.0
"""Emitted networks on emulated boards: bytes are equal to those of `neap run`, and RAM, flash and instructions are those
of figures.json, which a change updates on purpose:

    NEAP_UPDATE_FIGURES=1 NEAP=build/release/tools/neap python3 -m unittest discover -s tests/firmware -p test_networks.py

A short form of lab/tables/firmware_table.py, with networks of the zoo.
"""

import dataclasses
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get("NEAP_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
sys.path[:0] = [str(SOURCE / "lab/tables"), str(SOURCE / "firmware")]
sys.dont_write_bytecode = True

import firmware_table  # noqa: E402
import measure  # noqa: E402

NEAP = os.environ.get("NEAP", str(SOURCE / "build/release/tools/neap"))
FIGURES = SOURCE / "tests/firmware/figures.json"
SEEDS = (1, 2)
# Instructions and flash may change by a hundredth; RAM may not.
TOLERANCE = 100
# Of modelled instructions (neap/transform/stream/instructions.h).
PREDICTED_PERCENT = 5
(WHOLE, STREAMED, ROWS, FLASH, DSP_WHOLE, DSP_STREAMED, DSP_ROWS, MVE_WHOLE, MVE_STREAMED,
 MVE_ROWS, CMSIS_NN_M4, CMSIS_NN_M55, LITTLE_FLASH) = range(13)
# Portable and DSP kernels beside each other.
PAIRS = [("cortex-m4", form) for form in (STREAMED, ROWS, DSP_STREAMED, DSP_ROWS)] + [("cortex-m55", MVE_STREAMED)]

# Maximum RAM in all of portable kernels on the Cortex-M4: resident, and fed by rows.
MAX_RAM = {"person_detect": (12_000, 10_150), "vww": (28_600, 11_100), "resnet8": (12_000, 10_000), "kws": (4_700, 4_700)}
# Maximum flash beyond the weights of portable kernels on the Cortex-M3, of --optimize flash.
MAX_FLASH = {"person_detect": 30_000}


# The other networks have the same operators and kernels.
long = unittest.skipUnless(os.environ.get("NEAP_LONG") or os.environ.get("NEAP_UPDATE_FIGURES"), "only with NEAP_LONG=1")


class Networks(unittest.TestCase):
    maxDiff = None

    def check(self, name, wanted, key=None):
        """Measures the forms of a network; `wanted` has pairs of processor and form. `key`: of its figures."""
        network, = (one for one in firmware_table.NETWORKS if one.name == name)
        for cpu in {cpu for cpu, _ in wanted}:
            for board in firmware_table.BOARDS[cpu]:
                missing = measure.boards()[board].missing_tools()
                if missing:
                    self.skipTest(f"{board} needs {', '.join(missing)}: scripts/install_packages.sh --firmware")
        stored = json.loads(FIGURES.read_text())
        found = {}
        with tempfile.TemporaryDirectory(prefix="neap-networks-") as folder:
            bench = firmware_table.Bench(NEAP, dataclasses.replace(network, seeds=SEEDS), pathlib.Path(folder))
            outputs = [bench.expected[at:at + bench.output_bytes] for at in range(0, len(bench.expected), bench.output_bytes)]
            self.assertEqual(len(set(outputs)), len(SEEDS), "outputs do not depend on the inputs")
            for cpu, form in wanted:
                with self.subTest(cpu=cpu, form=firmware_table.FORMS[form][0]):
                    result = bench.measure(cpu, form)
                    self.assertIsNotNone(result, "no board has the memory")
                    self.assertEqual(bench.equal_inputs(result["outputs"]), len(SEEDS))
                    self.assertEqual(bench.equal_inputs(result["outputs"][::-1]) < len(SEEDS), True)  # negative control
                    # The stack of a row function is the caller's; that of CMSIS-NN is not known.
                    if (cpu == "cortex-m4" or form >= MVE_WHOLE) and form not in (ROWS, DSP_ROWS, MVE_ROWS, CMSIS_NN_M4,
                                                                                  CMSIS_NN_M55):
                        header = (bench.emit(form) / "net.h").read_text()
                        stated = int(re.search(r"NET_STACK_BYTES (\d+)", header)[1])
                        self.assertLessEqual(result["stack_of_run"], stated)
                    if cpu == "cortex-m4" and form in (STREAMED, ROWS) and name in MAX_RAM:
                        self.assertLessEqual(result["ram"]["total"], MAX_RAM[name][form - STREAMED])
                    if cpu == "cortex-m3" and form == LITTLE_FLASH and name in MAX_FLASH:
                        self.assertLessEqual(result["flash"]["total"] - result["flash"]["weights"], MAX_FLASH[name])
                    found[f"{cpu}, {firmware_table.FORMS[form][0]}"] = {
                        "board": result["board"], "ram": result["ram"]["total"], "flash": result["flash"]["total"],
                        "instructions": result["instructions"]["runs"][0]}
        if os.environ.get("NEAP_UPDATE_FIGURES"):
            stored["compilers"] = versions()
            stored["networks"][key or name] = found
            FIGURES.write_text(json.dumps(stored, indent=1) + "\n")
        elif stored["compilers"] == versions():
            self.compare(found, stored["networks"].get(key or name, {}))

    def compare(self, found, stored):
        self.assertEqual(set(found), set(stored))
        for key, figures in found.items():
            expected = stored[key]
            with self.subTest(figures=key, found=figures, stored=expected):
                self.assertEqual((figures["board"], figures["ram"]), (expected["board"], expected["ram"]))
                for kind in ("flash", "instructions"):
                    difference = abs(figures[kind] - expected[kind])
                    self.assertLessEqual(difference * TOLERANCE, expected[kind], f"{kind}: update figures.json on purpose")

    def check_predictions(self, name, forms):
        """Modelled instructions of `neap emit` against the stored ones, with an error of at most PREDICTED_PERCENT."""
        network, = (one for one in firmware_table.NETWORKS if one.name == name)
        if not (firmware_table.SHARED / network.file).exists():
            self.skipTest(f"{network.file} is not there (NEAP_SHARED)")
        stored = json.loads(FIGURES.read_text())["networks"][name]
        for cpu, form in forms:
            kind, words, _ = firmware_table.FORMS[form]
            with self.subTest(form=kind), tempfile.TemporaryDirectory(prefix="neap-networks-") as folder:
                text = firmware_table.neap(NEAP, folder, "emit", firmware_table.SHARED / network.file, "-o",
                                           pathlib.Path(folder) / "code", "--json", *words)
                modelled = json.loads(text)["modelled_instructions"]
                counted = stored[f"{cpu}, {kind}"]["instructions"]
                self.assertLessEqual(abs(modelled - counted) * 100, counted * PREDICTED_PERCENT, f"{modelled}, {counted}")

    def test_predictions(self):
        self.check_predictions("kws", [("cortex-m4", DSP_STREAMED), ("cortex-m55", MVE_STREAMED)])
        self.check_predictions("ad01", [("cortex-m4", DSP_WHOLE), ("cortex-m55", MVE_WHOLE)])

    @long
    def test_predictions_of_other_networks(self):
        for name in ("person_detect", "vww", "resnet8"):
            self.check_predictions(name, [("cortex-m4", DSP_STREAMED), ("cortex-m55", MVE_STREAMED)])

    def test_ds_cnn(self):
        self.check("ds-cnn-zoo", [("cortex-m0", STREAMED), ("cortex-m3", ROWS), ("cortex-m4", FLASH), ("rv32imc", STREAMED),
                                  ("cortex-m4", DSP_STREAMED)])

    @long
    def test_vww(self):
        self.check("vww-zoo", [("cortex-m4", WHOLE), ("cortex-m4", ROWS), ("cortex-m55", STREAMED),
                               ("cortex-m4", DSP_WHOLE), ("cortex-m4", DSP_ROWS), ("cortex-m55", DSP_STREAMED),
                               ("cortex-m55", MVE_WHOLE), ("cortex-m55", MVE_ROWS)])

    def test_person_detect(self):
        self.check_shared("person_detect", [*PAIRS, ("cortex-m3", STREAMED), ("cortex-m3", LITTLE_FLASH),
                                             ("cortex-m4", LITTLE_FLASH)])

    @long
    def test_vww_of_mlperf(self):
        self.check_shared("vww", PAIRS)

    @long
    def test_resnet8(self):
        self.check_shared("resnet8", PAIRS)

    def test_kws(self):
        self.check_shared("kws", PAIRS)

    def test_ad01(self):
        self.check_shared("ad01", [("cortex-m4", WHOLE), ("cortex-m4", DSP_WHOLE), ("cortex-m55", MVE_WHOLE)])

    def check_cmsis_nn(self, name):
        if measure.find_cmsis_nn() is None:
            self.skipTest("there is no CMSIS-NN: pip install bakenn==1.0.0 (scripts/checks/venv.sh), or NEAP_CMSIS_NN")
        self.check_shared(name, [("cortex-m4", CMSIS_NN_M4), ("cortex-m55", CMSIS_NN_M55)], f"{name}, CMSIS-NN")

    def test_cmsis_nn_person_detect(self):
        self.check_cmsis_nn("person_detect")

    @long
    def test_cmsis_nn_vww(self):
        self.check_cmsis_nn("vww")

    @long
    def test_cmsis_nn_resnet8(self):
        self.check_cmsis_nn("resnet8")

    def test_cmsis_nn_kws(self):
        self.check_cmsis_nn("kws")

    def test_cmsis_nn_ad01(self):
        self.check_cmsis_nn("ad01")

    def test_a_buffer_of_another_processor_is_refused(self):
        library, board = measure.find_cmsis_nn(), measure.boards()["netduinoplus2"]
        if library is None or board.missing_tools():
            self.skipTest("there is no CMSIS-NN, no compiler or no QEMU")
        network, = (one for one in firmware_table.NETWORKS if one.name == "ds-cnn-zoo")
        with tempfile.TemporaryDirectory(prefix="neap-networks-") as folder:
            bench = firmware_table.Bench(NEAP, dataclasses.replace(network, seeds=SEEDS[:1]), pathlib.Path(folder))
            inputs = pathlib.Path(folder) / "inputs.bin"
            # Without instructions of the DSP extension, a depthwise convolution has no buffer.
            for target, works in (("cortex-m4+cmsis-nn", True), ("cortex-m0+cmsis-nn", False)):
                code = pathlib.Path(folder) / target
                firmware_table.neap(NEAP, folder, "emit", bench.model, "-o", code, "--quiet", "--kernels", "cmsis-nn",
                                    "--target", target)
                if works:
                    self.assertEqual(measure.measure(board, code, inputs, cmsis_nn=library)["outputs"], bench.expected)
                else:
                    with self.assertRaisesRegex(measure.Failure, "the network returned an error"):
                        measure.measure(board, code, inputs, cmsis_nn=library)

    def check_shared(self, name, wanted, key=None):
        network, = (one for one in firmware_table.NETWORKS if one.name == name)
        if not (firmware_table.SHARED / network.file).exists():
            self.skipTest(f"{network.file} is not there (NEAP_SHARED)")
        self.check(name, wanted, key)


def versions():
    return {command: subprocess.run([command, "-dumpfullversion"], capture_output=True, text=True, check=True).stdout.strip()
            for command in ("arm-none-eabi-gcc", "riscv64-unknown-elf-gcc")}


if __name__ == "__main__":
    unittest.main()
