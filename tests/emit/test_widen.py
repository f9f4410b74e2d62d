# SPDX-License-Identifier: Apache-2.0
"""Inputs of three channels as 16-bit numbers: three rows of three taps at once are the words of any taps."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get("NEAP_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.dont_write_bytecode = True

import emitted  # noqa: E402

PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include "neap_dsp.h"

enum { kRow = 24, kStep = 6, kWords = 28 };

int main(void) {
  const neap_packed nine = {NULL, NULL, 9, 3, 0, -128, 127, 1};
  const neap_packed eight = {NULL, NULL, 8, 3, 0, -128, 127, 1};
  srand(1);
  for (int round = 0; round < 500; ++round) {
    int8_t* image = (int8_t*)malloc(3 * kRow - 9);  /* ends with the last byte that is read */
    const int8_t* taps[9];
    uint32_t both[kWords], apart[kWords];
    for (int i = 0; i < 3 * kRow - 9; ++i) image[i] = (int8_t)(rand() % 256 - 128);
    for (int i = 0; i < 9; ++i) taps[i] = image + i / 3 * kRow + i % 3 * 3;
    if (!neap_packed_are_nines(&nine, taps) || neap_packed_are_nines(&eight, taps)) return 1;
    neap_packed_widen_nines(taps, 0, kStep, both);
    neap_packed_widen(&nine, taps, 0, apart, 2);
    neap_packed_widen(&nine, taps, kStep, apart + 1, 2);
    if (memcmp(both, apart, sizeof both) != 0) return 2;
    taps[4] = image;
    if (neap_packed_are_nines(&nine, taps)) return 3;
    free(image);
  }
  return 0;
}
"""


class WidenTest(unittest.TestCase):
    def test_three_rows_of_three_taps(self):
        if not emitted.installed("gcc"):
            self.skipTest("there is no gcc")
        with tempfile.TemporaryDirectory(prefix="neap-widen-") as folder:
            source, program = pathlib.Path(folder) / "widen.c", pathlib.Path(folder) / "widen"
            source.write_text(PROGRAM)
            subprocess.run(["gcc", "-std=c99", "-O1", *emitted.STRICT, *emitted.SANITIZERS, f"-I{SOURCE}/runtime", source,
                            SOURCE / "runtime/neap_packed_widen.c", "-o", program], check=True)
            self.assertEqual(subprocess.run([program]).returncode, 0)


if __name__ == "__main__":
    unittest.main()
