# SPDX-License-Identifier: Apache-2.0
"""neap place: MiniMalloc's CSV in and out."""

import gzip
import json
import subprocess

from neap_cli import (DONE, FAILED, INTERRUPTED, NEAP, OVER_BUDGET, SOURCE, UNPROVEN, USAGE,
                      CliTest)

EXAMPLE = "id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\nb3,0,9,4\nb4,9,21,4\nb5,0,21,4\n"

# Many sizes and lifetimes: the load is not reached at once.
HARD = "id,lower,upper,size\n" + "".join(
    f"{i},{i * 7 % 40},{i * 7 % 40 + 3 + i % 11},{1000 + 977 * i % 4000}\n" for i in range(160))


def overlap(a, b):
    return (max(a["lower"], b["lower"]) < min(a["upper"], b["upper"]) and
            max(a["offset"], b["offset"]) < min(a["offset"] + a["size"], b["offset"] + b["size"]))


class Place(CliTest):

    def rows(self, text):
        """The table, judged here and not by the program: no two live buffers share a byte."""
        lines = text.splitlines()
        names = lines[0].split(",")
        rows = []
        for line in lines[1:]:
            row = dict(zip(names, line.split(",")))
            rows.append({"id": row["id"], **{key: int(row[key]) for key in
                                             ("lower", "upper", "size", "offset")}})
        for i, a in enumerate(rows):
            self.assertGreaterEqual(a["offset"], 0)
            for b in rows[:i]:
                self.assertFalse(overlap(a, b), (a, b))
        return rows

    def write(self, name, text):
        (self.folder / name).write_text(text)
        return name

    def test_places_the_example(self):
        self.write("e.csv", EXAMPLE)
        result = self.expect(DONE, "place", "e.csv", "-o", "out.csv")
        self.assertIn(b"e.csv: 5 buffers in an arena of 12 B\noptimal placement: no placement is lower", result.stdout)
        text = (self.folder / "out.csv").read_text()
        rows = self.rows(text)
        self.assertEqual([row["id"] for row in rows], ["b1", "b2", "b3", "b4", "b5"])
        self.assertEqual(max(row["offset"] + row["size"] for row in rows), 12)
        self.assertEqual([line.rsplit(",", 1)[0] for line in text.splitlines()],
                         EXAMPLE.splitlines())
        self.expect(FAILED, "place", "e.csv", "-o", "out.csv")  # exists
        self.expect(DONE, "place", "e.csv", "-o", "out.csv", "--force")

    def test_standard_streams_and_gzip(self):
        self.write("e.csv", EXAMPLE)
        piped = self.expect(DONE, "place", "-", "-o", "-", stdin=EXAMPLE.encode())
        self.rows(piped.stdout.decode())
        self.assertIn(b"5 buffers", piped.stderr)
        (self.folder / "e.csv.gz").write_bytes(gzip.compress(EXAMPLE.encode()))
        self.expect(DONE, "place", "e.csv.gz", "-o", "out.csv.gz", "--quiet")
        packed = (self.folder / "out.csv.gz").read_bytes()
        self.assertEqual(gzip.decompress(packed), piped.stdout)

    def test_json(self):
        self.write("e.csv", EXAMPLE)
        report = self.report_of("place", "e.csv", "--capacity", "12")
        self.assertEqual(report["buffers"], 5)
        self.assertEqual((report["capacity_bytes"], report["fits"]), (12, True))
        self.assertEqual((report["arena_bytes"], report["lower_bound_bytes"]), (12, 12))
        self.assertEqual(report["status"], "optimal")
        self.assertEqual(len(report["offsets"]), 5)
        self.assertIsNone(self.report_of("place", "e.csv")["fits"])
        schema = json.loads((SOURCE / "schemas/place.schema.json").read_text())
        self.assertEqual(set(report), set(schema["properties"]))
        self.assertEqual(sorted(schema["required"]), sorted(schema["properties"]))

    def test_capacity(self):
        self.write("e.csv", EXAMPLE)
        result = self.expect(OVER_BUDGET, "place", "e.csv", "--capacity", "11", "-o", "out.csv")
        self.assertIn(b"does not fit into 11 B: proven, no placement is lower than 12 B",
                      result.stderr)
        self.assertEqual(self.files(), ["e.csv"])
        report = json.loads(self.expect(OVER_BUDGET, "place", "e.csv", "--capacity", "11",
                                        "--json").stdout)
        self.assertIs(report["fits"], False)

    # At most six bytes are live at once, but no placement of alignments 1, 2 and 4 is that low.
    def test_proves_what_the_load_does_not(self):
        self.write("p.csv", "id,lower,upper,size,alignment\n"
                            "a,0,2,3,2\nb,0,1,1,1\nc,1,3,3,4\nd,2,3,1,1\n")
        report = self.report_of("place", "p.csv")
        self.assertEqual(report["status"], "optimal")
        self.assertGreater(report["arena_bytes"], 6)

    def test_limits(self):
        self.write("h.csv", HARD)
        first = self.report_of("place", "h.csv", "--max-states", "3000")
        second = self.report_of("place", "h.csv", "--max-states", "3000")
        del first["seconds"], second["seconds"]
        self.assertEqual(first, second)
        self.assertLessEqual(first["lower_bound_bytes"], first["arena_bytes"])
        if first["status"] == "bounded":
            self.expect(UNPROVEN, "place", "h.csv", "--max-states", "3000", "--require-optimal")
            bound = first["lower_bound_bytes"]
            result = self.run_neap("place", "h.csv", "--max-states", "1", "--capacity", bound)
            if result.returncode == OVER_BUDGET:
                self.assertIn(b"no proof that there is none", result.stderr)
        timed = self.report_of("place", "h.csv", "--time-limit", "0.2")
        self.assertLessEqual(timed["lower_bound_bytes"], timed["arena_bytes"])
        self.expect(DONE, "place", "h.csv", "--seed", "7", "--max-states", "100", "-o", "o.csv")
        self.rows((self.folder / "o.csv").read_text())

    def test_interrupt_writes_the_best(self):
        full = "id,lower,upper,size\n" + "".join(
            f"{i},{i // 9},{i // 9 + 1 + i * i % 5},{1_000_003 + i * 7919 % 400_000}\n"
            for i in range(2000))
        self.write("f.csv", full)
        with subprocess.Popen([NEAP, "place", "f.csv", "--time-limit", "3600", "-o", "o.csv"],
                              cwd=self.folder, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:
            self.interrupt(process)
        if process.returncode == DONE:
            self.skipTest("the search had ended")
        self.assertEqual(process.returncode, INTERRUPTED)
        self.rows((self.folder / "o.csv").read_text())

    def test_bad_tables(self):
        for text, found in (("", "line 1: found no header"),
                            ("id,lower,upper\n", "line 1: found no column 'size'"),
                            (EXAMPLE + "b6,0,x,1\n", "line 7: upper: found 'x'"),
                            (EXAMPLE + "b6,5,4,1\n", "line 7: found lower 5 above upper 4")):
            self.write("bad.csv", text)
            result = self.expect(FAILED, "place", "bad.csv")
            self.assertIn(f"bad.csv: {found}", result.stderr.decode())
        (self.folder / "cut.csv.gz").write_bytes(gzip.compress(EXAMPLE.encode())[:20])
        self.assertIn(b"gzip data ends early", self.expect(FAILED, "place", "cut.csv.gz").stderr)
        self.expect(FAILED, "place", "nosuch.csv")
        self.write("e.csv", EXAMPLE)
        for words in (["--capacity", "12 apples"], ["--capacity", "-1"], ["--max-states", "0"],
                      ["--time-limit", "-1"], ["-o", "-", "--json"], ["--nosuch"]):
            self.expect(USAGE, "place", "e.csv", *words)
