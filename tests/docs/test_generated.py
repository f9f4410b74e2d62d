# SPDX-License-Identifier: Apache-2.0
"""Pictures and measured tables are those that the program makes now."""

import os
import subprocess
import sys
import unittest

import markdown

NEAP = os.environ.get("NEAP", str(markdown.SOURCE / "build/release/tools/neap"))


class Generated(unittest.TestCase):
    def check(self, script, *options):
        if os.environ.get("NEAP_SANITIZE") == "1":
            self.skipTest("minutes under sanitizers")
        done = subprocess.run([sys.executable, markdown.SOURCE / "scripts" / script, NEAP, "--check", *options],
                              capture_output=True, check=False, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_pictures(self):
        self.check("make_pictures.py")

    def test_tables(self):
        self.check("make_tables.py", *(() if os.environ.get("NEAP_LONG") == "1" else ("--quick",)))


if __name__ == "__main__":
    unittest.main()
