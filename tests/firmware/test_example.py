# SPDX-License-Identifier: Apache-2.0
"""examples/firmware: person detection on an emulated Cortex-M4 and on the host prints the scores that neap run computes."""

import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "cli"))
from neap_cli import DONE, NEAP, SHARED, SOURCE, CliTest  # noqa: E402

sys.path.insert(0, str(SOURCE / "firmware"))
import measure  # noqa: E402

PERSON_DETECT = SHARED / "models/tensorflow+tflite-micro/person_detect.tflite"


class Example(CliTest):
    def build(self, board, *words):
        missing = measure.boards()[board].missing_tools()
        if missing:
            self.skipTest(f"{board} needs {', '.join(missing)}: scripts/install_packages.sh --firmware")
        folder = self.folder / board
        subprocess.run(["cmake", "-S", SOURCE / "examples/firmware", "-B", folder, "-G", "Ninja",
                        f"-DCMAKE_TOOLCHAIN_FILE={SOURCE}/firmware/board.cmake", f"-DNEAP_BOARD={board}", f"-DNEAP={NEAP}",
                        *words], check=True, capture_output=True)
        subprocess.run(["cmake", "--build", folder], check=True, capture_output=True)
        return folder / ("person_detection" + ("" if board == "host" else ".elf"))

    def images(self, model, seeds, magic):
        """Writes camera.pnm; the scores of its images."""
        data, scores = b"", []
        for seed in seeds:
            self.expect(DONE, "run", model, "--random-inputs", seed, "--save-inputs", "in.npz", "--outputs", "out.npz",
                        "--kernels", "tflm", "--force", "--quiet")
            image = measure.tensor_bytes([self.folder / "in.npz"])
            data += magic + b"\n96 96\n255\n" + bytes(byte ^ 128 for byte in image)
            scores.append([byte ^ 128 for byte in measure.tensor_bytes([self.folder / "out.npz"])])
        (self.folder / "camera.pnm").write_bytes(data)
        return scores

    def check(self, board, model, magic, *words):
        program = self.build(board, *words)
        scores = self.images(model or self.folder / board / "person.tflite", (1, 2, 3), magic)
        self.assertGreater(len(set(map(tuple, scores))), 1)
        code, text = measure.execute(measure.boards()[board], program, self.folder)
        self.assertEqual(code, 0, text)
        lines = text.splitlines()
        self.assertEqual([list(map(int, line.split()[-2:])) for line in lines[:3]], scores)
        self.assertEqual([line.startswith("person ") for line in lines[:3]], [b > a for a, b in scores])
        self.assertRegex(lines[3], r"^stack \d+ B, arena \d+ B$")
        # An image of another size is refused.
        (self.folder / "camera.pnm").write_bytes(magic + b"\n96 95\n255\n" + bytes(3 * 96 * 96))
        code, text = measure.execute(measure.boards()[board], program, self.folder)
        self.assertEqual((code, text), (1, "camera.pnm has no image of the network's size\n"))

    def test_a_network_of_the_zoo_on_a_cortex_m4(self):
        self.check("netduinoplus2", None, b"P6")

    def test_a_network_of_the_zoo_on_the_host(self):
        self.check("host", None, b"P6")

    def test_person_detect_on_a_cortex_m4(self):
        if not PERSON_DETECT.exists():
            self.skipTest(f"{PERSON_DETECT} is not there (NEAP_SHARED)")
        self.check("netduinoplus2", PERSON_DETECT, b"P5", f"-DMODEL={PERSON_DETECT}", "-DRAM_BYTES=12288", "-DSTACK_BYTES=768")


if __name__ == "__main__":
    unittest.main()
