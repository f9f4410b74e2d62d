# SPDX-License-Identifier: Apache-2.0
"""The messages that docs/troubleshooting.md explains are messages of the program, and it explains all of them."""

import fnmatch
import re
import unittest

import markdown
import test_phrases

PAGE = "docs/troubleshooting.md"


def explained():
    """[(line, message)]: the code span that begins a row of a table about messages or notes."""
    found, applies = [], False
    for number, line in enumerate(markdown.without_blocks((markdown.SOURCE / PAGE).read_text()), 1):
        if re.match(r"\| (message|note) \|", line):
            applies = True
        elif not line.startswith("|"):
            applies = False
        elif applies and not line.startswith("|---"):
            found.append((number, re.match(r"\| `([^`]+)` \|", line).group(1)))
    return found


def messages_of_program():
    return "\n".join(" ".join(literals) for _, literals in test_phrases.messages_of_source())


def sources_of_families():
    """The files whose messages a row explains together, as glob patterns: <!-- neap/plan/*.cc --> in its first cell."""
    rows = re.findall(r"^\|[^|]*<!-- (.*?) -->[^|]*\|", (markdown.SOURCE / PAGE).read_text(), re.MULTILINE)
    return [pattern for row in rows for pattern in row.split()]


DIAGNOSTIC = re.compile(r"\b(?:BadInput|UsageError|MissingSize|OverBudget|IoError)\(")


def diagnostics_of_program():
    """[(file, line, [literals])] of the calls that make a diagnostic."""
    for path, text in test_phrases.sources_of_program():
        for call in DIAGNOSTIC.finditer(text):
            depth, at, literals = 1, call.end(), []
            while depth > 0:
                literal = test_phrases.LITERAL.match(text, at)
                if literal:
                    literals.append(literal.group(1))
                depth += {"(": 1, ")": -1}.get(text[at], 0)
                at = literal.end() if literal else at + 1
            if literals:
                yield path, text.count("\n", 0, call.start()) + 1, literals


class Troubleshooting(unittest.TestCase):
    def test_messages_are_those_of_the_program(self):
        text, wrong = messages_of_program(), []
        self.assertGreater(len(explained()), 30)
        for number, message in explained():
            for part in message.split("…"):
                part = part.strip(" ,")
                if len(part) > 3 and part not in text:
                    wrong.append(f"{PAGE}:{number}: the program has no message with '{part}'")
        self.assertEqual(wrong, [], "\n".join(wrong))

    def test_every_diagnostic_is_explained(self):
        parts = [part.strip(" ,") for _, message in explained() for part in message.split("…")]
        parts, families = [part for part in parts if len(part) > 3], sources_of_families()
        missing, count = [], 0
        for path, line, literals in diagnostics_of_program():
            count += 1
            if (not any(part in literal for part in parts for literal in literals)
                    and not any(fnmatch.fnmatch(str(path), pattern) for pattern in families)):
                missing.append(f"{path}:{line}: '{' … '.join(literals)}': add a row to {PAGE}")
        self.assertGreater(count, 300)
        self.assertEqual(missing, [], "\n".join(missing))

    def test_families_name_files(self):
        for pattern in sources_of_families():
            self.assertTrue(list(markdown.SOURCE.glob(pattern)), f"{PAGE}: {pattern}: no such file")


if __name__ == "__main__":
    unittest.main()
