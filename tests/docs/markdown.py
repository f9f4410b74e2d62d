# SPDX-License-Identifier: Apache-2.0
"""The parts of a Markdown page that tests need: fenced blocks with their markers, links, anchors, prose.

A marker is an HTML comment on the line before a fence:
  <!-- skip: REASON -->   the commands are not run
  <!-- long: REASON -->   the commands are run only where NEAP_LONG is set
  <!-- needs: MODULE -->  the commands are run only where python3 has this module
  <!-- needs: program NAME ... -->  the commands are run only where these programs are
  <!-- file: NAME -->     the block is the content of a file that later commands of the page read
"""

import dataclasses
import os
import pathlib
import re

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = pathlib.Path(os.environ.get("NEAP_SOURCE_DIR", HERE.parents[1]))

FENCE = re.compile(r"^( *)(```+|~~~+) *([\w+-]*)")
MARKER = re.compile(r"^ *<!-- (skip|long|needs|file): (.+?) -->$")


@dataclasses.dataclass
class Block:
    line: int      # of the opening fence, from 1 on
    end: int       # of the closing fence
    language: str
    text: list     # lines, without the indentation of the fence
    indent: str    # of the fence
    marker: str    # "skip", "long", "needs", "file" or ""
    argument: str  # of the marker


def pages():
    """The pages that tests/docs/pages.txt lists, as paths from the root of the tree."""
    found = []
    for line in (HERE / "pages.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            found += sorted(path.relative_to(SOURCE) for path in SOURCE.glob(line))
    return list(dict.fromkeys(found))


def blocks(text):
    found, open_block, close = [], None, ""
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        if open_block is None:
            fence = FENCE.match(line)
            if fence:
                marker = MARKER.match(lines[number - 2]) if number > 1 else None
                kind, argument = marker.groups() if marker else ("", "")
                open_block = Block(number, 0, fence.group(3), [], fence.group(1), kind, argument)
                close = fence.group(2)
        elif line.strip() == close:
            open_block.end = number
            found.append(open_block)
            open_block = None
        else:
            open_block.text.append(line.removeprefix(open_block.indent))
    if open_block is not None:
        raise ValueError(f"line {open_block.line}: the block is not closed")
    return found


def without_blocks(text):
    """The page with empty lines in place of fenced blocks, so that line numbers stay."""
    lines = text.splitlines()
    for block in blocks(text):
        for number in range(block.line, block.end + 1):
            lines[number - 1] = ""
    return lines


def anchor(heading):
    """As GitHub derives it from the text of a heading."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text.replace("`", "")).replace(" ", "-")


def anchors(text):
    found, seen = set(), {}
    for line in without_blocks(text):
        heading = re.match(r"^#{1,6} +(.*?) *#*$", line)
        if heading:
            name = anchor(heading.group(1))
            count = seen.get(name, 0)
            seen[name] = count + 1
            found.add(f"{name}-{count}" if count else name)
        found.update(re.findall(r'<a (?:id|name)="([^"]+)"', line))
    return found


def links(text):
    """[(line, target)] of inline links, images and HTML images."""
    found = []
    for number, line in enumerate(without_blocks(text), 1):
        line = re.sub(r"(`+).*?\1", "", line)
        for target in re.findall(r"\]\(\s*<?([^)\s>]+)>?[^)]*\)", line):
            found.append((number, target))
        for target in re.findall(r'(?:src|srcset|href)="([^"]+)"', line):
            found.append((number, target))
    return found
