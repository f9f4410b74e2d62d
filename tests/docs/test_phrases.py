# SPDX-License-Identifier: Apache-2.0
"""The phrases of phrases.txt stand in no page, no help text and no message of the program."""

import os
import re
import subprocess
import unittest

import markdown

NEAP = os.environ.get("NEAP", str(markdown.SOURCE / "build/release/tools/neap"))
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
# Sentences that patterns must leave alone.
LEGITIMATE = ("TFLM allocates 36,864 B for activations.", "no order has a smaller peak", "the bound holds for every order",
              "there is no file of that name", "at most 16 tiles", "`at` is the first step", "a folder that exists",
              "Each command writes what to do next.", "the lower bound of the peak", "stands for one tile",
              "an output reuses its input's memory", "what if the model does not fit?", "--budget 64KiB",
              "the rest of the arena", "understand", "belongs to one stage", "the step that needs the most bytes", "the plan with the least memory")


def patterns():
    """[(pattern, instead, example)]"""
    found = []
    for line in (markdown.HERE / "phrases.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            pattern, instead, example = line.rsplit(" | ", 2)
            found.append((re.compile(pattern, re.IGNORECASE), instead, example))
    return found


def findings(lines, where):
    found = []
    for number, line in enumerate(lines, 1):
        for pattern, instead, _ in patterns_of_this_run():
            match = pattern.search(line)
            if match:
                found.append(f"{where}:{number}: '{match.group(0)}' (instead: {instead}): {line.strip()[:120]}")
    return found


def patterns_of_this_run(cache=[]):  # noqa: B006, read once
    if not cache:
        cache.extend(patterns())
    return cache


def paragraphs_as_lines(lines):
    """Every line with the first word of the next one, so that a phrase is found across a line break."""
    return [f"{line} {(lines[at + 1].split() or [''])[0]}" if at + 1 < len(lines) else line
            for at, line in enumerate(lines)]


def messages_of_source():
    """[(file, [string literals, adjacent ones joined, on their lines])] of the program, without its tests."""
    for folder in ("neap", "lab", "tools"):
        for path in sorted((markdown.SOURCE / folder).rglob("*.cc")):
            if re.search(r"(_test|_testing)\.cc$|/train/|/tables/", str(path)):
                continue
            text = re.sub(r'"[ \n]*\n\s*"', "", path.read_text())
            literals = [" ".join(LITERAL.findall(line)) if not line.lstrip().startswith(("//", "#")) else ""
                        for line in text.splitlines()]
            yield path.relative_to(markdown.SOURCE), [line.replace("\\n", " ") for line in literals]


class Phrases(unittest.TestCase):
    def expect_none(self, found):
        self.assertEqual(found, [], f"{len(found)} findings:\n" + "\n".join(found))

    def test_the_patterns_find_their_examples_and_nothing_legitimate(self):
        self.assertGreater(len(patterns()), 30)
        for pattern, _, example in patterns():
            self.assertTrue(pattern.search(example), f"{pattern.pattern} does not find: {example}")
            for sentence in LEGITIMATE:
                self.assertIsNone(pattern.search(sentence), f"{pattern.pattern} finds: {sentence}")

    def test_pages(self):
        found = []
        for page in markdown.pages():
            # Code spans contain names, and messages, which test_messages checks.
            text = re.sub(r"`[^`\n]*`", "`code`", (markdown.SOURCE / page).read_text())
            found += findings(paragraphs_as_lines(text.splitlines()), page)
        self.expect_none(found)

    def test_help(self):
        found = []
        verbs = subprocess.run([NEAP, "--describe"], check=True, capture_output=True, text=True).stdout
        for words in ([], *([line.split("\t")[0]] for line in verbs.splitlines())):
            text = subprocess.run([NEAP, *words, "--help"], check=True, capture_output=True, text=True).stdout
            found += findings(paragraphs_as_lines(text.splitlines()), f"neap {' '.join([*words, '--help'])}")
        self.expect_none(found)

    def test_messages(self):
        found = []
        for path, literals in messages_of_source():
            found += findings(literals, path)
        self.expect_none(found)


if __name__ == "__main__":
    unittest.main()
