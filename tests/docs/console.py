#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of documentation pages: console.py NEAP [--update] [PAGE ...]

Commands are in blocks that begin with ```console, each after `$ `; a trailing backslash continues it.
The blocks of a page run in their order in one empty folder, where `neap` is the program NEAP and $NEAP_SOURCE
the root of the tree. Every command must succeed unless the next one is `echo $?`. The figures of the lines
below a command must be those of its output: numbers in their order, without times in seconds. A line `...`
matches any lines. --update replaces the output in the page by the printed one; where `...` replaces a part
of it, each line is replaced by the printed line with the same figures, or kept if there is none."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import markdown

TIMEOUT = 600
TIME = re.compile(r"\b\d[\d,]*(?:\.\d+)? ?(?:ms|s|seconds)\b|(?<= read )\d+\.\d+|(?<= order )\d+\.\d+|(?<= place )\d+\.\d+|(?<= checks )\d+\.\d+")
NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
ELISION = "..."


def figures(text):
    return [number.replace(",", "") for number in NUMBER.findall(TIME.sub(" ", text))]


def commands(block):
    """[(command, output lines)] of a console block."""
    found = []
    lines = iter(block.text)
    for line in lines:
        if line.startswith("$ "):
            command = line[2:]
            while command.endswith("\\"):
                if command.count("'") % 2:
                    raise ValueError(f"line {block.line}: in quotes, a shell keeps a backslash and the line break")
                command = command[:-1].rstrip() + " " + next(lines).strip()
            found.append((command, []))
        elif not found:
            raise ValueError(f"line {block.line}: a console block begins with a prompt, '$ '")
        else:
            found[-1][1].append(line)
    return found


def contains(whole, part, start):
    """Where `part` follows in `whole` from `start` on; -1 if it does not."""
    for at in range(start, len(whole) - len(part) + 1):
        if whole[at:at + len(part)] == part:
            return at
    return -1


def difference(stated, printed):
    """Why the figures of `stated`, with elisions, are not those of `printed`; or ''."""
    found = figures("\n".join(printed))
    parts, elided = [[]], any(line.strip() == ELISION for line in stated)
    for line in stated:
        if line.strip() == ELISION:
            parts.append([])
        else:
            parts[-1] += figures(line)
    if not elided:
        return "" if parts[0] == found else f"the page states {parts[0]}, the command prints {found}"
    at = 0
    for index, part in enumerate(parts):
        place = contains(found, part, at)
        anchored = (index > 0 or place == 0) and (index + 1 < len(parts) or not part or found[-len(part):] == part)
        if part and (place < 0 or not anchored):
            return f"the page states {part}, the command prints {found}"
        at = max(at, place + len(part))
    return ""


def refreshed(stated, printed):
    """The output as the page shows it: with elisions the printed lines with the figures of the stated ones."""
    if not any(line.strip() == ELISION for line in stated):
        return printed
    lines, at = [], 0
    for line in stated:
        same = [place for place in range(at, len(printed)) if figures(printed[place]) == figures(line) != []]
        lines.append(printed[same[0]] if same else line)
        at = same[0] + 1 if same else at
    return lines


class Runner:
    """The commands of one page."""

    def __init__(self, neap, page):
        self.page, self.text = page, (markdown.SOURCE / page).read_text()
        self.neap, self.status = pathlib.Path(neap).resolve(), 0
        self.errors, self.ran, self.skipped, self.updates = [], 0, [], []

    def run(self):
        with tempfile.TemporaryDirectory() as folder:
            self.folder = pathlib.Path(folder) / "work"
            programs = pathlib.Path(folder) / "programs"
            self.folder.mkdir()
            programs.mkdir()
            (programs / "neap").symlink_to(self.neap)
            self.environment = {**os.environ, "PATH": f"{programs}:{markdown.SOURCE}/.venv/bin:{os.environ['PATH']}", "LC_ALL": "C.UTF-8",
                                "NEAP_SOURCE": str(markdown.SOURCE), "HOME": folder}
            for block in markdown.blocks(self.text):
                self.run_block(block)
        return self

    def run_block(self, block):
        if block.marker == "file":
            (self.folder / block.argument).write_text("\n".join(block.text) + "\n")
        elif block.language != "console" and block.marker != "skip":
            return
        elif self.is_skipped(block):
            self.skipped.append(f"{self.page}:{block.line}: {block.marker}: {block.argument}")
        else:
            parts = commands(block)
            printed = []
            for index, (command, stated) in enumerate(parts):
                looks = index + 1 < len(parts) and parts[index + 1][0] == "echo $?"
                printed.append(self.run_command(block, command, stated, looks))
            self.updates.append((block, printed))

    def is_skipped(self, block):
        if block.marker == "needs" and block.argument.startswith("program "):
            return any(shutil.which(name) is None for name in block.argument.split()[1:])
        if block.marker == "needs":
            found = subprocess.run(["python3", "-c", f"import {block.argument}"], env=self.environment, check=False,
                                   capture_output=True)
            return found.returncode != 0
        return block.marker == "skip" or (block.marker == "long" and not os.environ.get("NEAP_LONG"))

    def run_command(self, block, command, stated, may_fail):
        done = subprocess.run(["bash", "-c", f"(exit {self.status})\n{command}"], cwd=self.folder, check=False,
                              env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=TIMEOUT)
        self.ran += 1
        self.status = done.returncode
        printed = done.stdout.decode(errors="replace").splitlines()
        where = f"{self.page}:{block.line}: $ {command}"
        if done.returncode != 0 and not may_fail:
            self.errors.append(f"{where}\n  exit {done.returncode}: " + "\n  ".join(printed[-20:]))
        else:
            why = difference(stated, printed)
            if why:
                self.errors.append(f"{where}\n  {why}")
        return printed

    def updated(self):
        """The page with the outputs that were printed."""
        lines = self.text.splitlines()
        for block, printed in reversed(self.updates):
            shown = iter(printed)
            body, stated, output = [], [], None
            for line in [*block.text, "$ "]:
                if line.startswith("$ "):
                    if output is not None:
                        body += refreshed(stated, output)
                    if line != "$ ":
                        body.append(line)
                        output, stated = next(shown), []
                elif body and body[-1].endswith("\\"):
                    body.append(line)
                else:
                    stated.append(line)
            lines[block.line:block.end - 1] = [block.indent + line if line else "" for line in body]
        return "\n".join(lines) + "\n"


def main():
    arguments = [word for word in sys.argv[1:] if word != "--update"]
    if not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    failed = ran = 0
    for page in arguments[1:] or markdown.pages():
        runner = Runner(arguments[0], page).run()
        ran += runner.ran
        for reason in runner.skipped:
            print(f"skipped: {reason}")
        if "--update" in sys.argv:
            (markdown.SOURCE / page).write_text(runner.updated())
            runner.errors = [error for error in runner.errors if "\n  exit " in error]
        for error in runner.errors:
            print(error, file=sys.stderr)
        failed += len(runner.errors)
    print(f"{ran} commands, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
