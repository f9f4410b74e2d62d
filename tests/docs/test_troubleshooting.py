# SPDX-License-Identifier: Apache-2.0
"""The messages that docs/troubleshooting.md explains are messages of the program."""

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


if __name__ == "__main__":
    unittest.main()
