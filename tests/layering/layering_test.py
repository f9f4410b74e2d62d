# SPDX-License-Identifier: Apache-2.0
"""layering.py finds each breach: every rule is broken once, in a temporary tree."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.dont_write_bytecode = True
import layering  # noqa: E402

TREE = {
    "cmake/layers.cmake": "# comment\nset(NEAP_MODULES neap/base neap/graph neap/compile)\nset(NEAP_MAY_USE_base)\n"
                          "set(NEAP_MAY_USE_graph base)\nset(NEAP_MAY_USE_compile base graph)\n"
                          "set(NEAP_PUBLIC_HEADERS\n  neap/base/id.h\n  neap/graph/graph.h)\n",
    "neap/base/id.h": "#include <vector>\n",
    "neap/base/id.cc": '#include "neap/base/id.h"\n#include <fmt/format.h>\n',
    "neap/ops/op_table_a.cc": '{.kind = kAdd, .name = "ADD"},\n{.kind = kOnnxAdd, .name = "Add"},\n',
    "neap/graph/graph.h": '#include <tl/expected.hpp>\n#include "neap/base/id.h"\n',
    "neap/graph/private.h": "#include <fmt/format.h>\n",
    "neap/graph/graph.cc": '#include "neap/graph/graph.h"\n#include "neap/graph/private.h"\n',
    "neap/compile/compile.cc": "",
    "neap/compile/uses.cc": '#include "neap/graph/graph.h"\n#include "neap/base/id.h"\n',
    "neap/graph/uses.cc": '#include "neap/base/id.h"\n',
    "ARCHITECTURE.md": "| folder | module | |\n|---|---|---|\n| `neap/` | base, graph | bytes |\n| | compile | plans |\n",
}


class LayeringTest(unittest.TestCase):
    def breaches(self, **changes):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in {**TREE, **changes}.items():
                path = root / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            output = io.StringIO()
            with mock.patch("sys.argv", ["layering.py", folder]), contextlib.redirect_stdout(output):
                status = layering.main()
            self.output = output.getvalue().splitlines()
            summary = next(at for at, line in enumerate(self.output) if line.endswith(" breaches"))
            lines = [line for line in self.output[summary + 1:] if line]
            self.assertEqual(status, 1 if lines else 0)
            return lines

    def test_accepts_a_tree_in_order(self):
        self.assertEqual(self.breaches(), [])

    def test_a_module_may_not_look_up(self):
        lines = self.breaches(**{"neap/base/id.cc": '#include "neap/graph/graph.h"\n'})
        self.assertEqual(lines, ["neap/base/id.cc: module base may not use graph "
                                 "(neap/graph/graph.h)"])

    def test_a_test_may_use_what_lies_below_compile(self):
        self.assertEqual(self.breaches(**{"neap/base/id_test.cc": '#include "neap/graph/graph.h"\n'}),
                         [])

    def test_private_headers_stay_private(self):
        for user in ("neap/compile/compile.cc", "tools/neap.cc"):
            lines = self.breaches(**{user: '#include "neap/graph/private.h"\n'})
            self.assertEqual(lines, [f"{user}: neap/graph/private.h is no public header of graph"])

    def test_only_tests_use_what_is_for_tests(self):
        for user, allowed in (("neap/compile/compile_test.cc", True), ("neap/compile/compile.cc", False)):
            lines = self.breaches(**{"testing/sketch.h": "",
                                     user: '#include "testing/sketch.h"\n'})
            self.assertEqual(lines == [], allowed)

    def test_third_parties_stay_out_of_public_headers(self):
        lines = self.breaches(**{"neap/base/id.h": "#include <fmt/format.h>\n"})
        self.assertEqual(lines, ["neap/base/id.h: a public header includes <fmt/format.h>"])

    def test_a_public_header_reaches_public_ones_only(self):
        lines = self.breaches(**{"neap/graph/graph.h": '#include "neap/graph/private.h"\n'})
        self.assertEqual(lines, ["neap/graph/graph.h: a public header includes "
                                 "neap/graph/private.h, which is none"])

    def test_cycles_of_the_table(self):
        table = TREE["cmake/layers.cmake"].replace("USE_base)", "USE_base graph)")
        lines = self.breaches(**{"cmake/layers.cmake": table})
        self.assertEqual(lines[:1], ["cmake/layers.cmake: base may use graph, which is not before it"])

    def test_listed_headers_exist(self):
        text = TREE["cmake/layers.cmake"].replace("neap/base/id.h", "neap/base/id.h neap/base/gone.h")
        lines = self.breaches(**{"cmake/layers.cmake": text})
        self.assertEqual(lines, ["cmake/layers.cmake: neap/base/gone.h does not exist"])

    def test_the_graph_is_drawn(self):
        self.assertEqual(self.breaches(), [])
        self.assertEqual(self.output[:3], [" 0 base", " 1 graph -> base", " 2 compile -> graph"])

    def test_lists_name_what_is_used(self):
        lines = self.breaches(**{"neap/compile/uses.cc": '#include "neap/graph/graph.h"\n',
                                 "neap/compile/compile_test.cc": '#include "neap/base/id.h"\n'})
        self.assertEqual(lines, ["cmake/layers.cmake: compile may use base, and includes no header of it"])

    def test_modules_are_described(self):
        lines = self.breaches(**{"ARCHITECTURE.md": TREE["ARCHITECTURE.md"].replace("base, graph", "graph")})
        self.assertEqual(lines, ["ARCHITECTURE.md: the table has no row for neap/base"])

    def test_files_are_not_long(self):
        long = "// x\n" * 601
        self.assertEqual(self.breaches(**{"neap/base/id_test.cc": long}), [])
        self.assertEqual(self.breaches(**{"neap/base/id.cc": long}),
                         ["neap/base/id.cc: 601 lines, the limit is 600"])

    def test_a_function_fits_the_limit(self):
        def text(lines):
            return ("namespace neap {\nclass Long {\n  void Method(int a) {\n    if (a) {\n"
                    + "      Call();\n\n" * (lines // 2 - 2) + "    }\n  }\n};\n}  // namespace neap\n")

        self.assertEqual(self.breaches(**{"neap/base/id.cc": text(80)}), [])
        self.assertEqual(self.breaches(**{"neap/base/id_test.cc": text(82)}), [])
        self.assertEqual(self.breaches(**{"neap/base/id.cc": text(82)}),
                         ["neap/base/id.cc:3: a function of 82 lines, the limit is 80"])

    def test_names_of_operators_stand_in_the_table(self):
        code = '// "Add"\n/* "ADD"\n */\nconst char* a = "// \\"ADD";\nbool b = type == "ADD" || "Adder" == x || x == "Add";\n'
        lines = self.breaches(**{"neap/compile/compile.cc": code, "tools/neap.cc": "a = R\"(\"ADD\")\";\n"})
        self.assertEqual(lines, [f'neap/compile/compile.cc:5: names the operator "{name}"; use its ops::OpKind'
                                 for name in ("ADD", "Add")])
        for place in ("neap/ops/macs.cc", "neap/execute/tflite/binary.cc", "lab/zoo/zoo.cc",
                      "neap/compile/compile_test.cc", "testing/cases.h", "tests/cli/cli_test.cc"):
            self.assertEqual(self.breaches(**{place: code}), [])
        self.assertEqual(len(self.breaches(**{"neap/execute/box.cc": code})), 2)

    def test_the_table_of_operators_has_names(self):
        self.assertEqual(self.breaches(**{"neap/ops/op_table_a.cc": ""}),
                         ["neap/ops/op_table_*.cc: no operator has a name"])
    def test_library_errors_name_no_option(self):
        named = 'int a = 1;  // "--force" in a comment\nauto b = "x" + Text("use \\"--force\\"");\n'
        self.assertEqual(self.breaches(**{"neap/base/id.cc": named}),
                         ["neap/base/id.cc: line 2 names --force, an option of the command line"])
        self.assertEqual(self.breaches(**{"neap/base/id_test.cc": named, "neap/show/id.cc": named,
                                          "tools/id.cc": named}), [])
        other = "char c = '\"'; auto d = \"a -- b\", e = \"--\" + name;  // \"--no\"\n"
        self.assertEqual(self.breaches(**{"neap/base/id.cc": other}), [])

    def test_headers_have_no_cycle(self):
        lines = self.breaches(**{"neap/base/id.h": '#include "neap/base/size.h"\n',
                                 "neap/base/size.h": '#include "neap/base/id.h"\n',
                                 "cmake/layers.cmake": TREE["cmake/layers.cmake"].replace(
                                     "neap/base/id.h", "neap/base/id.h neap/base/size.h")})
        self.assertEqual(lines, ["headers in a cycle: neap/base/id.h -> neap/base/size.h -> "
                                 "neap/base/id.h"])

    # `low` is called by `high`; CALLER becomes what low.cc does with the header of `high`.
    PARTS = {
        "neap/base/low.h": "class Low {\n public:\n  void Step();\n};\nint Lowest(int a);\n",
        "neap/base/high.h": "struct High {\n  explicit High(int a);\n  int a;\n};\nint Highest(int a);\n"
                            "inline int Cheap(int a) { return a; }\n",
        "neap/base/high.cc": "#include \"neap/base/high.h\"\n#include \"neap/base/low.h\"\nHigh::High(int b) : a(b) {}\n"
                             "int Highest(int a) {\n  Low low;\n  low.Step();\n  return Lowest(a);\n}\n",
    }

    def test_parts_of_a_module_have_no_cycle(self):
        def breaches(line):
            low = f"#include \"neap/base/low.h\"\n#include \"neap/base/high.h\"\n{line}\n" \
                  "void Low::Step() {}\nint Lowest(int a) { return a; }\n"
            return self.breaches(**self.PARTS, **{"neap/base/low.cc": low})

        cycle = ["parts of base in a cycle: neap/base/high -> neap/base/low -> neap/base/high"]
        for harmless in ("using Type = High;", "int F(const High& high) { return high.a; }", "// Highest(1)",
                         "int F() { return Cheap(1); }", "int F(Other* other) { return other->Highest(1); }",
                         "static int Highest(int a) { return a; }\nint F() { return Highest(1); }"):
            self.assertEqual(breaches(harmless), [], harmless)
        for call in ("int F() { return Highest(1); }", "int F() { return neap::Highest(1); }", "High F() { return High(1); }",
                     "int F() {\n  const High high(1);\n  return high.a;\n}"):
            self.assertEqual(breaches(call), cycle, call)
        header = self.PARTS | {"neap/base/low.h": self.PARTS["neap/base/low.h"] + "#include \"neap/base/high.h\"\n"}
        called = "#include \"neap/base/low.h\"\nint Lowest(int a) { return Highest(a); }\n"
        self.assertEqual(self.breaches(**header, **{"neap/base/low.cc": called}), cycle)


if __name__ == "__main__":
    unittest.main()
