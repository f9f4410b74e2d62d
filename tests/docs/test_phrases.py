# SPDX-License-Identifier: Apache-2.0
"""The phrases of phrases.txt occur in no page, help text, message, page text, schema or comment."""

import ast
import io
import json
import os
import pathlib
import re
import subprocess
import tempfile
import tokenize
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


def patterns(of_comments=False):
    """[(pattern, instead, example)]; `of_comments`: also those that apply to comments only."""
    found, comments = [], False
    for line in (markdown.HERE / "phrases.txt").read_text().splitlines():
        comments = comments or line == "[comments]"
        if line and not line.startswith(("#", "[comments]")) and (of_comments or not comments):
            pattern, instead, example = line.rsplit(" | ", 2)
            found.append((re.compile(pattern, re.IGNORECASE), instead, example))
    return found


def findings(lines, where, of_comments=False, cache={}):  # noqa: B006, patterns are read once
    if of_comments not in cache:
        cache[of_comments] = patterns(of_comments)
    found = []
    for number, line in enumerate(lines, 1):
        for pattern, instead, _ in cache[of_comments]:
            match = pattern.search(line)
            if match:
                found.append(f"{where}:{number}: '{match.group(0)}' (instead: {instead}): {line.strip()[:120]}")
    return found


def paragraphs_as_lines(lines):
    """Every line with the first word of the next one, so that a phrase is found across a line break."""
    return [f"{line} {(lines[at + 1].split() or [''])[0]}" if at + 1 < len(lines) else line
            for at, line in enumerate(lines)]


def sources_of_program():
    """[(file, text with adjacent literals joined)] of the program, without its tests."""
    for folder in ("neap", "lab", "tools"):
        for path in sorted([*(markdown.SOURCE / folder).rglob("*.cc"), *(markdown.SOURCE / folder).rglob("*.h")]):
            if not re.search(r"(_test|_testing)\.cc$|_bench|/train/", str(path)):
                yield path.relative_to(markdown.SOURCE), re.sub(r'"[ \n]*\n\s*"', "", path.read_text())


def messages_of_source():
    """[(file, [string literals on their lines])] of the program."""
    for path, text in sources_of_program():
        literals = [" ".join(LITERAL.findall(line)) if not line.lstrip().startswith(("//", "#")) else ""
                    for line in text.splitlines()]
        yield path, [line.replace("\\n", " ") for line in literals]


def tracked_files():
    listed = subprocess.run(["git", "-c", "safe.directory=*", "ls-files"], cwd=markdown.SOURCE, check=True, capture_output=True,
                            text=True).stdout
    return [markdown.SOURCE / name for name in listed.splitlines()]


def comments_of_python(text):
    """The comments and docstrings on their lines."""
    lines = [""] * (text.count("\n") + 2)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            lines[token.start[0] - 1] = token.string.lstrip("#")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node, clean=False):
            first = node.body[0].lineno
            for number, line in enumerate(ast.get_docstring(node, clean=False).splitlines()):
                lines[first - 1 + number] = line
    return lines


def comments_of_source(path):
    """The comments of a file on their lines; None for files without comments that people read."""
    if path.suffix == ".py":
        return comments_of_python(path.read_text())
    if path.suffix in (".cc", ".h", ".c", ".rs"):
        # Strings that contain a comment of C are output, which test_messages checks.
        return [(re.search(r"(?:(?:^|\s)///?|^\s*\*|/\*\*?)(.*)$", re.sub(LITERAL, "", line)) or re.match("()", "")).group(1)
                for line in path.read_text().splitlines()]
    if path.suffix in (".sh", ".cmake") or path.name == "CMakeLists.txt":
        return [(re.search(r"(?:^|\s)#(.*)$", line) or re.match("()", "")).group(1) for line in path.read_text().splitlines()]
    return None


def descriptions(schema):
    """Every description inside a schema."""
    if isinstance(schema, dict):
        for key, value in schema.items():
            if key == "description" and isinstance(value, str):
                yield value
            else:
                yield from descriptions(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from descriptions(value)


class Phrases(unittest.TestCase):
    def expect_none(self, found):
        self.assertEqual(found, [], f"{len(found)} findings:\n" + "\n".join(found))

    def test_the_patterns_find_their_examples_and_nothing_legitimate(self):
        self.assertGreater(len(patterns()), 30)
        self.assertGreater(len(patterns(of_comments=True)), len(patterns()))
        for pattern, _, example in patterns(of_comments=True):
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
            if "--help-all" in text:
                text = subprocess.run([NEAP, *words, "--help-all"], check=True, capture_output=True, text=True).stdout
            found += findings(paragraphs_as_lines(text.splitlines()), f"neap {' '.join([*words, '--help'])}")
        self.expect_none(found)

    def test_messages(self):
        found = []
        for path, literals in messages_of_source():
            found += findings(literals, path)
        self.expect_none(found)

    def test_schemas(self):
        found = []
        for path in sorted((markdown.SOURCE / "schemas").glob("*.json")):
            found += findings(descriptions(json.loads(path.read_text())), path.name)
        self.expect_none(found)

    def test_comments(self):
        found = []
        for path in tracked_files():
            lines = comments_of_source(path) if path != pathlib.Path(__file__).resolve() else None
            if lines:
                lines = [re.sub(r"`[^`]*`", "`code`", line) for line in lines]
                found += findings(paragraphs_as_lines(lines), path.relative_to(markdown.SOURCE), of_comments=True)
        self.expect_none(found)

    def test_comments_are_found(self):
        """In every language, on their lines."""
        self.assertEqual(comments_of_python('"""one\ntwo"""\nx = "# no"  # three\n')[:3], ["one", "two", " three"])
        with tempfile.TemporaryDirectory() as folder:
            for name, text, expected in (("a.h", 'f("// no");  // one\n/** two\n * three */\n', [" one", " two", " three */"]),
                                         ("a.sh", "#!/bin/sh\n# one\necho a#b  # two\n", ["!/bin/sh", " one", " two"])):
                path = pathlib.Path(folder) / name
                path.write_text(text)
                self.assertEqual(comments_of_source(path), expected)


if __name__ == "__main__":
    unittest.main()
