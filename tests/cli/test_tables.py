# SPDX-License-Identifier: Apache-2.0
"""Tables of lab/tables of small graphs."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

from neap_cli import NEAP, SOURCE

TABLES = SOURCE / "lab/tables"
sys.path[:0] = [str(TABLES)]
import hard_table  # noqa: E402

PAGE = """
## One profile

| graph | operators | peak | status | states |
|---|---|---|---|---|
| a | 9 | 1,200 | bounded | 5,000 |
| b | 9 | 70 | optimal | 0 |

## The same in place

| graph | operators | peak | status | states |
|---|---|---|---|---|
| a | 9 | 800 | optimal | 10 |

## Longer

| graph | operators | peak | status | states |
|---|---|---|---|---|
| a | 9 | 1,100 | optimal | 90,000 |

## Other limits

| graph | operators | peak | status | states |
|---|---|---|---|---|
| a | 9 | 1,150 | bounded | 7 |
"""


class HardTable(unittest.TestCase):
    def test_recorded_results(self):
        self.assertEqual(hard_table.recorded_results(PAGE), {"a": (1100, 90000), "b": (70, 0)})
        self.assertEqual([hard_table.ratio(*pair) for pair in ((3, 2), (0, 0), (1, 0), (1, None))],
                         ["1.500", "equal", "", ""])

    def test_rows(self):
        """Rows in the order of the graphs: a recorded one, and one that no page and no list has."""
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, TABLES / "make_hard_graphs.py", folder, "--seeds", "11,3", "--families",
                            "random:80:any"], check=True, stdout=subprocess.DEVNULL)
            best = pathlib.Path(folder, "best.tsv")
            best.write_text("# known\ngraph\tbest_peak\nrandom-80-any-s11\t2134\n")
            graphs = [pathlib.Path(folder, f"random-80-any-s{seed}.json") for seed in (11, 3)]

            def table(*options):
                command = [sys.executable, TABLES / "hard_table.py", NEAP, best, *graphs, *options]
                lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
                return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]

            titles, _, known, unknown, _, (proven,) = table()
            known, unknown = dict(zip(titles, known)), dict(zip(titles, unknown))
            self.assertEqual(known["graph"], "random-80-any-s11")
            for title, cell in {"operators": "80", "peak": "2,134", "best known": "2,134", "lower bound": "2,134",
                                "gap": "0", "proven": "yes", "peak, ratio": "1.000"}.items():
                self.assertEqual(known[title], cell, title)
            self.assertRegex(known["states, ratio"], r"^\d\.\d{3}$")
            self.assertEqual([unknown[title] for title in ("graph", "best known", "peak, ratio", "states, ratio")],
                             ["random-80-any-s3", "", "", ""])
            self.assertEqual(proven, "2 of 2 proven.")
            # States that end a search at its limit are no proof to compare with.
            titles, _, ended, _, _, (proven,) = table("--", "--max-states", "10")
            ended = dict(zip(titles, ended))
            self.assertEqual((ended["proven"], ended["states, ratio"], proven), ("no", "", "0 of 2 proven."))
            self.assertTrue(ended["gap"].endswith(" %"))


if __name__ == "__main__":
    unittest.main()
