# SPDX-License-Identifier: Apache-2.0
"""The table of scripts/conformance: docs/results/conformance.md.

The committed table has every row that is not "equal", and counts. Therefore some models can be executed again
and their rows replaced without executing the others.
"""

import collections
import re

EQUAL = "equal"
WITHIN = "within tolerance"
NOT_APPLICABLE = "not applicable"
TOO_SLOW = "too slow"
DEFECTS = ("wrong", "refused", "failed")
VERDICTS = (EQUAL, WITHIN, *DEFECTS, NOT_APPLICABLE, TOO_SLOW)
SECTIONS = (("Defects", DEFECTS), ("Within tolerance", (WITHIN,)),
            ("Not applicable and too slow", (NOT_APPLICABLE, TOO_SLOW)))
NO_PLACE = "-"  # not executed
TITLES = {"tflm": "TFLM", "litert": "LiteRT", "onnxruntime": "ONNX Runtime", "neap": "neap run"}
# Of the places where a plan is executed.
PLACES = {NO_PLACE: NO_PLACE, **TITLES,
          **{f"neap beside {runtime}": f"neap run, against {TITLES[runtime]}" for runtime in TITLES}}

Row = collections.namedtuple("Row", "model way runtime verdict detail")

LISTED = re.compile(r"- (?P<model>\S+): (?P<verdict>[a-z ]+?)(?: in (?P<place>[^()]+))? \((?P<ways>[^()]*)\): "
                    r"(?P<detail>.*)")
COUNTED = re.compile(r"(\d+) models, of which (\d+) run in a stock runtime\.")


def escaped(detail):
    return detail.replace("|", "\\|").replace("<", "\\<")


def unescaped(detail):
    return detail.replace("\\|", "|").replace("\\<", "<")


class Table:
    """`ways`: names in order. `explanation`: lines between the title and the counts."""

    def __init__(self, ways, explanation):
        self.ways = ways
        self.explanation = explanation
        self.counts = collections.Counter()  # by way, runtime, verdict
        self.listed = []                     # rows that are not equal
        self.models = 0
        self.executed = 0

    def add(self, rows, models):
        self.models += len(models)
        self.executed += len({row.model for row in rows if row.runtime in TITLES and row.runtime != "neap"})
        for row in rows:
            self.counts[row.way, row.runtime, row.verdict] += 1
            if row.verdict != EQUAL:
                self.listed.append(row)

    def read(self, text):
        """The rows of an earlier table."""
        runtimes = {title: runtime for runtime, title in PLACES.items()}
        self.models, self.executed = map(int, COUNTED.search(text).groups())
        verdicts = []
        for line in text.splitlines():
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if line.startswith("| options |"):
                verdicts = cells[2:]
            elif line.startswith("| ") and cells[1] in runtimes:
                for verdict, cell in zip(verdicts, cells[2:], strict=True):
                    if cell:
                        self.counts[cells[0], runtimes[cells[1]], verdict] = int(cell)
            elif found := LISTED.fullmatch(line):
                runtime = runtimes[found["place"] or NO_PLACE]
                self.listed += [Row(found["model"], way, runtime, found["verdict"], unescaped(found["detail"]))
                                for way in found["ways"].split(", ")]
        counted = collections.Counter((row.way, row.runtime, row.verdict) for row in self.listed)
        for key, count in self.counts.items():
            if key[2] != EQUAL and counted[key] != count:
                raise ValueError(f"the table counts {count} of {key} and lists {counted[key]}")

    def replace(self, rows):
        """Rows of models that the table has."""
        before = {(row.model, row.way, row.runtime): row for row in self.listed}
        for row in rows:
            if (row.model, row.way, NO_PLACE) in before and row.runtime != NO_PLACE:
                continue  # it was not executed
            if (row.model, row.way, row.runtime) not in before and row.runtime != NO_PLACE:
                self.counts[row.way, row.runtime, EQUAL] -= 1
        again = {row.model for row in rows}
        for row in self.listed:
            if row.model in again:
                self.counts[row.way, row.runtime, row.verdict] -= 1
        if any(count < 0 for count in self.counts.values()):
            raise ValueError("other runtimes execute these models than those of the table")
        self.listed = [row for row in self.listed if row.model not in again]
        models, executed = self.models, self.executed
        self.add(rows, [])
        self.models, self.executed = models, executed

    def markdown(self):
        counts = +self.counts
        out = ["# Every model in every way", "", *self.explanation, "",
               f"{self.models} models, of which {self.executed} run in a stock runtime.", ""]
        places = sorted({(self.ways.index(way), way, runtime) for way, runtime, _ in counts})
        shown = [verdict for verdict in VERDICTS
                 if verdict in DEFECTS or any(key[2] == verdict for key in counts)]
        out.append("| options | executed by | " + " | ".join(shown) + " |")
        out.append("|---|---|" + "---:|" * len(shown))
        for _, way, runtime in places:
            cells = [str(counts[way, runtime, verdict] or "") for verdict in shown]
            out.append(f"| {way} | {PLACES[runtime]} | " + " | ".join(cells) + " |")
        for title, verdicts in SECTIONS:
            out += ["", f"## {title}", "", *(self.section(verdicts) or ["None."])]
        return "\n".join(out) + "\n"

    def section(self, verdicts):
        grouped = collections.defaultdict(set)
        for row in self.listed:
            if row.verdict in verdicts:
                grouped[row.model, row.verdict, row.runtime, row.detail].add(self.ways.index(row.way))
        lines = []
        for (model, verdict, runtime, detail), ways in sorted(grouped.items()):
            where = "" if runtime == NO_PLACE else f" in {PLACES[runtime]}"
            names = ", ".join(self.ways[way] for way in sorted(ways))
            lines.append(f"- {model}: {verdict}{where} ({names}): {escaped(detail)}")
        return lines
