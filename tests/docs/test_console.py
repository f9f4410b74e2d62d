# SPDX-License-Identifier: Apache-2.0
"""The runner of the pages' commands finds wrong figures, failed commands and commands that no test runs."""

import pathlib
import re
import sys
import tempfile
import unittest

import console
import markdown

PAGE = """# A page
<!-- file: data.txt -->
```
one 12
```

```console
$ cat data.txt
one 12
$ false; exit 3
$ echo $?
3
```

- indented:
  ```console
  $ printf 'a 1,024\\nb 2\\nc 0.5 s\\n'
  a 1,024
  ...
  ```
<!-- skip: takes a board -->
```console
$ flash-the-board
```
"""


# A line of usage, such as `neap plan INPUT [-o OUT]`.
SYNOPSIS = re.compile(r" \[| \.\.\.| [A-Z]{2,}\b")


class Console(unittest.TestCase):
    def run_page(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "page.md"
            path.write_text(text)
            return console.Runner(sys.executable, path).run()

    def test_a_page_that_is_right(self):
        done = self.run_page(PAGE)
        self.assertEqual((done.errors, done.ran, len(done.skipped)), ([], 4, 1))
        self.assertIn("takes a board", done.skipped[0])
        self.assertEqual(done.updated(), PAGE)

    def test_wrong_figures_and_failures_are_found(self):
        for right, wrong in (("one 12\n$", "one 13\n$"), ("one 12\n$", "$"), ("3\n```", "4\n```"), ("1,024\n  ...", "1,025\n  ..."),
                             ("$ cat data", "$ cat dada"), ("$ echo $?\n3\n", "")):
            self.assertIn(right, PAGE)
            self.assertEqual(len(self.run_page(PAGE.replace(right, wrong, 1)).errors), 1, wrong)

    def test_an_update_replaces_output_that_is_not_elided(self):
        for wrong in ("one 13\n$", "$"):
            self.assertEqual(self.run_page(PAGE.replace("one 12\n$", wrong)).updated(), PAGE)

    def test_an_update_replaces_the_words_of_lines_beside_elisions(self):
        done = self.run_page(PAGE.replace("  a 1,024\n  ...", "  old words 1,024\n  ..."))
        self.assertEqual((done.errors, done.updated()), ([], PAGE))

    def test_a_line_break_in_quotes_is_refused(self):
        """There a shell keeps the backslash, and the command is not the one that is run here."""
        self.assertEqual(self.run_page("```console\n$ echo 'a'\\\n  'b'\na b\n```\n").errors, [])
        with self.assertRaisesRegex(ValueError, "in quotes, a shell keeps"):
            self.run_page("```console\n$ echo 'a\\\n  b'\n```\n")

    def test_figures(self):
        self.assertEqual(console.figures("Arena 46,080 B (45.0 KiB) in 0.05 s: read 0.006, order 0.000"), ["46080", "45.0"])
        self.assertEqual(console.difference(["a 1", "...", "c 3"], ["a 1", "b 2", "c 3"]), "")
        self.assertNotEqual(console.difference(["a 1", "...", "c 3"], ["a 1", "c 3", "d 4"]), "")
        self.assertNotEqual(console.difference(["b 2", "..."], ["a 1", "b 2"]), "")

    def test_commands_of_pages_are_run_or_marked(self):
        """A fenced block with a command of neap is a console block, or has a marker with the reason."""
        wrong = []
        for page in markdown.pages():
            for block in markdown.blocks((markdown.SOURCE / page).read_text()):
                runs = any(re.match(r" *(\$ )?neap [a-z./-]", line) for line in block.text)
                usage = any(SYNOPSIS.search(line) for line in block.text)
                if runs and not usage and block.language != "console" and not block.marker:
                    wrong.append(f"{page}:{block.line}: write ```console and `$ `, or <!-- skip: REASON --> before it")
            for number, line in enumerate(markdown.without_blocks((markdown.SOURCE / page).read_text()), 1):
                if re.match(r"(    |\t)(\$ )?(neap|scripts/|build/)", line):
                    wrong.append(f"{page}:{number}: an indented command is not run: write a fenced block")
        self.assertEqual(wrong, [], "\n".join(wrong))


if __name__ == "__main__":
    unittest.main()
