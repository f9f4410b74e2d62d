# SPDX-License-Identifier: Apache-2.0
"""The unit of systemd and the container file, against this program."""

import json
import re
import shutil
import subprocess

from server import NEAP, SOURCE, TIMEOUT, ServerTest

UNIT = SOURCE / "share/systemd/neap-serve.service"
CONTAINER = SOURCE / "share/container/Containerfile"


class Deploy(ServerTest):

    def test_the_unit_of_systemd_is_valid(self):
        if shutil.which("systemd-analyze") is None:
            self.skipTest("no systemd-analyze")
        text = UNIT.read_text()
        self.assertIn("ExecStart=/usr/bin/neap serve ", text)
        unit = self.folder / UNIT.name
        unit.write_text(text.replace("/usr/bin/neap", str(NEAP)))
        result = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, timeout=TIMEOUT)
        # It also reads the machine's own units.
        self.assertNotIn(UNIT.name, result.stderr)
        unit.write_text(unit.read_text() + "\n[Service]\nNoSuchSetting=yes\n")
        result = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, timeout=TIMEOUT)
        self.assertIn(UNIT.name, result.stderr)

    def test_the_program_takes_the_words_of_both(self):
        (line,) = re.findall(r"^ExecStart=/usr/bin/neap serve (.*)$", UNIT.read_text(), re.MULTILINE)
        unit = line.split()
        (line,) = re.findall(r"^ENTRYPOINT (.*)$", CONTAINER.read_text(), re.MULTILINE)
        container = json.loads(line)
        self.assertEqual(container[:2], ["neap", "serve"])
        (self.folder / "tokens").write_text("of-a-test-0123456789abcdef\n")
        # The tests' server has a folder of its own, and not every address of this machine.
        names = {"/tokens": str(self.folder / "tokens"), "0.0.0.0": "127.0.0.1"}
        for words, store in ((unit, "%S/neap"), (container[2:], "/plans")):
            at = words.index("--store")
            self.assertEqual(words[at + 1], store)
            words = [names.get(word, word) for word in words[:at] + words[at + 2:]]
            server = self.serve(*words)
            self.assertEqual(server.request("GET", "/healthz")[0], 200)
            self.assertEqual(server.end(), 0)

    def test_the_container_has_the_libraries_of_the_program(self):
        if shutil.which("dpkg-query") is None:
            self.skipTest("not a Debian")
        installed = re.search(r"install -y --no-install-recommends ([^\n]*?) *\\\n", CONTAINER.read_text()).group(1).split()
        with open(NEAP, "rb") as program:
            if program.read(4) != b"\x7fELF":
                self.skipTest("not a program of this kernel")
            if b"__asan_init" in program.read():
                self.skipTest("a sanitizer replaces the allocator")
        libraries = subprocess.run(["ldd", NEAP], check=True, capture_output=True, text=True, timeout=TIMEOUT).stdout
        packages = set()
        for path in re.findall(r" => (/\S+)", libraries):
            # /lib and /usr/lib are the same folder.
            name = "/".join(path.split("/")[-2:])
            owner = subprocess.run(["dpkg-query", "-S", f"*/{name}"], capture_output=True, text=True, timeout=TIMEOUT).stdout
            packages.update(line.split(":")[0] for line in owner.splitlines() if line.endswith("/" + name))
        # apt itself needs these: every Debian has them.
        packages -= {"libc6", "libgcc-s1", "libstdc++6"}
        self.assertEqual(sorted(installed), sorted(packages))
