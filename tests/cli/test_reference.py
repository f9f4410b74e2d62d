# SPDX-License-Identifier: Apache-2.0
"""Files generated from the option tables: the reference, the manual page, completions."""

import json
import os
import shutil
import subprocess
import sys

from neap_cli import DONE, NEAP, SOURCE, CliTest

COMPLETE = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _neap; printf '%s\\n' "${COMPREPLY[@]}"
"""


class Reference(CliTest):

    def test_files_are_what_the_program_says(self):
        made = subprocess.run([sys.executable, SOURCE / "scripts/make_reference.py", NEAP, "--check"],
                              capture_output=True, check=False, text=True)
        self.assertEqual(made.returncode, 0, made.stderr)

    def test_every_option_of_the_help_is_described(self):
        for line in self.expect(DONE, "--describe").stdout.decode().splitlines():
            verb = line.split("\t")[0]
            described = json.loads(self.expect(DONE, verb, "--describe").stdout)
            has_all = any(option["names"] == "--help-all" for option in described["options"])
            text = self.expect(DONE, verb, "--help-all" if has_all else "--help").stdout.decode()
            for option in described["options"]:
                for name in option["names"].split(","):
                    self.assertIn(name, text, verb)

    def test_the_page_of_the_command_line_has_every_verb(self):
        page = (SOURCE / "docs/reference/command-line.md").read_text()
        for line in self.expect(DONE, "--describe").stdout.decode().splitlines():
            verb = line.split("\t")[0]
            self.assertIn(f"| [`{verb}`](#neap-{verb}) |", page)
            self.assertIn(f"\n## neap {verb}\n", page)

    def complete(self, *words):
        script = SOURCE / "share/completions/neap.bash"
        run = subprocess.run(["bash", "-c", COMPLETE, "bash", script, *words], capture_output=True, check=True,
                             text=True, cwd=self.folder)
        return run.stdout.split()

    def test_bash_completes_verbs_options_and_values(self):
        self.assertEqual(self.complete("neap", "pla"), ["plan", "place"])
        self.assertEqual(self.complete("neap", "plan", "--budget"), ["--budget", "--budget-activations", "--budget-total"])
        self.assertEqual(self.complete("neap", "plan", "--moves", ""), ["none", "compact", "best"])
        self.write_json("graph.json", {})
        self.assertEqual(self.complete("neap", "plan", "gr"), ["graph.json"])

    def test_the_manual_page_is_well_formed(self):
        if shutil.which("man") is None:
            self.skipTest("man is not installed")
        page = subprocess.run(["man", "--warnings", "-l", SOURCE / "share/man/neap.1"], capture_output=True,
                              check=False, env={**os.environ, "LC_ALL": "C.UTF-8", "MANPAGER": "cat"})
        self.assertEqual((page.returncode, page.stderr), (0, b""))
        self.assertIn(b"--budget-total SIZE", page.stdout)
