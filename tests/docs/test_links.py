# SPDX-License-Identifier: Apache-2.0
"""Links of pages: files and anchors that exist, and a way from the index to every page."""

import fnmatch
import pathlib
import re
import unittest
import urllib.parse

import markdown


SOURCE_PATH = re.compile(r"`((?:neap|lab|testing|tests|scripts|schemas|tools|examples|docs|cmake|share)/[\w*./-]+)`")


def target_of(page, target):
    """(path from the root of the tree, anchor)"""
    path, _, name = urllib.parse.unquote(target).partition("#")
    whole = (markdown.SOURCE / page).parent / path if path else markdown.SOURCE / page
    return pathlib.Path(whole).resolve(), name


def is_outside(target):
    return re.match(r"^[a-z][a-z0-9+.-]*:", target) is not None


class Links(unittest.TestCase):
    def test_every_link_leads_to_a_file_and_an_anchor(self):
        wrong = []
        for page in markdown.pages():
            for line, target in markdown.links((markdown.SOURCE / page).read_text()):
                if is_outside(target):
                    continue
                path, name = target_of(page, target)
                if not path.exists():
                    wrong.append(f"{page}:{line}: {target}: no such file")
                elif name and path.suffix == ".md" and name not in markdown.anchors(path.read_text()):
                    wrong.append(f"{page}:{line}: {target}: no such heading")
        self.assertEqual(wrong, [], "\n".join(wrong))

    def test_files_that_pages_name_exist(self):
        """Code spans such as `neap/ops/traits.cc`, also with `*`."""
        wrong = []
        for page in markdown.pages():
            for line, text in enumerate(markdown.without_blocks((markdown.SOURCE / page).read_text()), 1):
                for name in SOURCE_PATH.findall(text):
                    installed = markdown.SOURCE / "neap/api" / pathlib.Path(name).name
                    if re.search(r"[A-Z]{4}", pathlib.Path(name).name.split(".")[0]) and "_" in name:
                        continue  # a placeholder, as in lab/bench/NAME_suite.cc
                    if not list(markdown.SOURCE.glob(name)) and not installed.exists():
                        wrong.append(f"{page}:{line}: {name}: no such file")
        self.assertEqual(wrong, [], "\n".join(wrong))

    def test_tests_that_pages_name_exist(self):
        """Code spans such as `Suite.Name`, also with `*`, and filters of several."""
        tests = set()
        for folder in ("neap", "lab", "tests", "tools"):
            for path in (markdown.SOURCE / folder).rglob("*_test.cc"):
                tests.update(".".join(name) for name in re.findall(r"TEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\)", path.read_text()))
        wrong, found = [], 0
        for page in markdown.pages():
            for line, text in enumerate(markdown.without_blocks((markdown.SOURCE / page).read_text()), 1):
                for name in re.split(r"[:= ]", " ".join(re.findall(r"`([^`]+)`", text)).replace("'", "")):
                    if re.fullmatch(r"\*?[A-Z]\w+\.(\*|[A-Z]\w+\*?)", name):
                        found += 1
                        if not fnmatch.filter(tests, name):
                            wrong.append(f"{page}:{line}: {name}: no such test")
        self.assertGreater(found, 10)
        self.assertEqual(wrong, [], "\n".join(wrong))

    def test_every_page_is_reached_from_the_index(self):
        start = markdown.SOURCE / "docs/index.md"
        reached, todo = {start}, [start]
        while todo:
            page = todo.pop()
            for _, target in markdown.links(page.read_text()):
                path, _ = target_of(page.relative_to(markdown.SOURCE), target)
                if is_outside(target) or not path.exists():
                    continue
                pages = [path] if path.suffix == ".md" else sorted(path.glob("*.md")) if path.is_dir() else []
                for found in pages:
                    if found not in reached:
                        reached.add(found)
                        todo.append(found)
        missing = [str(page) for page in markdown.pages() if page.parts[0] == "docs" and markdown.SOURCE / page not in reached]
        self.assertEqual(missing, [], "no link leads there from docs/index.md")

    def test_the_readme_links_the_index(self):
        targets = [target for _, target in markdown.links((markdown.SOURCE / "README.md").read_text())]
        self.assertIn("docs/index.md", targets)

    def test_anchors_are_those_of_the_rendered_page(self):
        self.assertEqual(markdown.anchor("TFLM's whole arena"), "tflms-whole-arena")
        self.assertEqual(markdown.anchor("Profiles (`--runtime`)"), "profiles---runtime")
        self.assertEqual(markdown.anchors("# A b\n## A b\n```\n# no\n```\n"), {"a-b", "a-b-1"})


if __name__ == "__main__":
    unittest.main()
