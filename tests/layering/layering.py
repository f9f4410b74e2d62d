# SPDX-License-Identifier: Apache-2.0
"""Compares the #include lines of the tree with the architecture in cmake/layers.cmake.

The rules:
1. A file of module M includes headers of M and of the modules in NEAP_MAY_USE_M, and of no other
   module.
2. From another module, or from tools/, python/, lab/tables/, tests/ and examples/, only public headers are
   included: those in NEAP_PUBLIC_HEADERS. Tests of a module may include its private headers.
3. Only tests (*_test.cc, tests/ and testing/ itself) include testing/. testing/ may include any header.
4. Tests of a module may use every module that is no higher than `compile`, and `stream`, so that a
   checker is tried on plans of the planner, and `execute` and `formats`, so that graphs are
   compared with what they compute, here and in stock runtimes.
5. A public header includes public headers, the standard library and tl/expected.hpp, so that no
   third-party type reaches a user.
6. The table in cmake/layers.cmake has no cycle: each module lists modules before it.
7. Headers include each other without a cycle, inside a module too.
8. A file has at most MAX_LINES lines, and a function at most MAX_FUNCTION_LINES; those of tests may be longer.
9. The name of an operator is quoted only where the table of operators is (neap/ops), where kernels are
   registered (neap/execute), in lab/zoo and in tests. Other code uses ops::OpKind, so that a new
   operator has one place.
10. No string of neap/ names an option of the command line: the caller may be another program. Reports
   (neap/show) are those of the command line.
11. Every module has a row in the table of ARCHITECTURE.md, under its folder.
12. A module includes headers of every module that its list names.
13. The parts of a module, a header with its source each, call each other without a cycle: a part can be linked and
   tested with those below it. Parts may include the header of a part above them for its types. Functions, methods
   and constructors are found by name; a name that a part defines itself is its own.

The graph of the modules is printed from the bottom up: each module with the modules it includes, without
those that it reaches through another of them.

Usage: layering.py SOURCE_FOLDER. Exit 1 with a line for each breach.
"""

import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]', re.MULTILINE)
TEST_FILE = re.compile(r"(_test\.cc$|^testing/|^tests/)")
# Comments and character literals are skipped; the group is the text of a string.
STRING = re.compile(r"""//[^\n]*|'\\?"'|"((?:[^"\\\n]|\\.)*)\"""")
FLAG = re.compile(r"--[a-z][a-z-]*")
MAX_LINES = 600
MAX_FUNCTION_LINES = 80
OP_NAME = re.compile(r'\.name = "([^"]+)"')
OP_NAME_TABLES = "neap/ops/op_table_*.cc"
MAY_NAME_OPS = re.compile(r"^(neap/ops/|neap/execute/(tflite|onnx|neap)/|lab/zoo/)")
# A raw string, a string or a comment.
STRING_OR_COMMENT = re.compile(r'R"(\w*)\(.*?\)\1"|"((?:\\.|[^"\\\n])*)"|//[^\n]*|/\*.*?\*/', re.DOTALL)
# A function or method: its qualifiers and its name, where a definition begins. Formatted code begins it in column 0.
DEFINITION = re.compile(r"^(?!namespace|struct|class|enum|using|template|return|static_assert|NEAP_|#|\}|public|private)"
                        r"(?=[A-Za-z_])[^\n;={]*?\b((?:\w+::)*)(~?\w+)\(", re.MULTILINE)
# The qualifier and the name of a call; the type of an object that is made with arguments.
CALL = re.compile(r"(\.|->|\b\w+::)?\b([A-Za-z_]\w*)(?:<[^;(){}]*>)?\(")
OBJECT = re.compile(r"\b([A-Z]\w*)(?:>\(| \w+[({])")
FOLDERS = ("neap", "lab", "tools", "python", "tests", "testing", "examples")


class Layers:
    """The table: modules from low to high, and the modules that each may use."""

    def __init__(self, root):
        text = re.sub(r"#.*", "", (root / "cmake/layers.cmake").read_text())
        sets = {name: words.split() for name, words in re.findall(r"set\((\w+)([^)]*)\)", text)}
        self.folders = {folder.split("/")[-1]: folder for folder in sets["NEAP_MODULES"]}
        self.modules = list(self.folders)
        self.may_use = {module: set(sets[f"NEAP_MAY_USE_{module}"]) for module in self.modules}
        self.public = set(sets["NEAP_PUBLIC_HEADERS"])

    def module_of(self, path):
        for module, folder in self.folders.items():
            if path.startswith(folder + "/"):
                return module
        return None

    def up_to_compile(self):
        """Every module that `compile` uses, directly or not, itself, `stream`, `execute`, `formats`."""
        reached, todo = set(), ["compile"]
        while todo:
            module = todo.pop()
            if module not in reached:
                reached.add(module)
                todo += self.may_use[module]
        return reached | {"io", "stream", "execute", "formats"}


def check_table(layers):
    for place, module in enumerate(layers.modules):
        for used in sorted(layers.may_use[module]):
            if used not in layers.modules[:place]:
                yield f"cmake/layers.cmake: {module} may use {used}, which is not before it"


def check_file(name, text, layers):
    module = layers.module_of(name)
    is_test = bool(TEST_FILE.search(name))
    allowed = {module} | layers.may_use[module] if module else set(layers.modules)
    if module and is_test:
        allowed |= layers.up_to_compile()
    for kind, included in INCLUDE.findall(text):
        used = layers.module_of(included)
        if used is not None:
            if used not in allowed:
                yield f"{name}: module {module} may not use {used} ({included})"
            elif (used != module and included not in layers.public
                  and not name.startswith("testing/")):
                yield f"{name}: {included} is no public header of {used}"
        if included.startswith("testing/") and not is_test:
            yield f"{name}: {included} is for tests"
        if name not in layers.public:
            continue
        if kind == "<":
            is_standard = "." not in included and "/" not in included
            if not is_standard and included != "tl/expected.hpp":
                yield f"{name}: a public header includes <{included}>"
        elif included not in layers.public:
            yield f"{name}: a public header includes {included}, which is none"


def names_of_operators(root):
    return {name for path in root.glob(OP_NAME_TABLES) for name in OP_NAME.findall(path.read_text())}


def check_operator_names(name, text, operators):
    if MAY_NAME_OPS.search(name) or TEST_FILE.search(name):
        return
    for found in STRING_OR_COMMENT.finditer(text):
        if found[2] in operators:
            line = text.count("\n", 0, found.start()) + 1
            yield f'{name}:{line}: names the operator "{found[2]}"; use its ops::OpKind'


def check_strings(name, text):
    if not name.startswith("neap/") or name.startswith("neap/show/") or TEST_FILE.search(name):
        return
    for found in STRING.finditer(text):
        flag = FLAG.search(found[1] or "")
        if flag:
            line = text.count("\n", 0, found.start()) + 1
            yield f"{name}: line {line} names {flag[0]}, an option of the command line"


def check_functions(name, text):
    """Formatted code closes a block at the indentation of the line where its statement begins; no other block is
    as long as the function that contains it, and types and tables close with a semicolon."""
    if TEST_FILE.search(name):
        return
    lines = text.splitlines()
    for end, line in enumerate(lines):
        block = re.fullmatch(r"( *)}", line)
        if not block:
            continue
        begin = end - 1
        while begin > 0 and (not lines[begin] or lines[begin][0] == "#" or lines[begin].startswith(block[1] + " ")):
            begin -= 1
        length = end - begin + 1
        if length > MAX_FUNCTION_LINES:
            yield f"{name}:{begin + 1}: a function of {length} lines, the limit is {MAX_FUNCTION_LINES}"


def find_cycle(uses):
    """A list of nodes, each of which uses the next and the last the first; None without one."""
    done, path = set(), []

    def visit(node):
        if node in path:
            return path[path.index(node):]
        if node in done:
            return None
        path.append(node)
        for used in sorted(uses.get(node, ())):
            cycle = visit(used)
            if cycle:
                return cycle
        path.pop()
        done.add(node)
        return None

    for node in sorted(uses):
        cycle = visit(node)
        if cycle:
            return cycle
    return None


def check_headers(texts, layers):
    uses = {name: {included for _, included in INCLUDE.findall(text) if included in texts}
            for name, text in texts.items() if name.endswith(".h") and layers.module_of(name)}
    cycle = find_cycle(uses)
    if cycle:
        yield f"headers in a cycle: {' -> '.join(cycle + cycle[:1])}"


def without_comments(text):
    return STRING_OR_COMMENT.sub('""', text)


def definitions(text):
    """{(name, whether it belongs to a class)} of the functions that the text has bodies of."""
    found = set()
    for begin in DEFINITION.finditer(text):
        depth, at = 1, begin.end()
        while depth and at < len(text):
            depth += {"(": 1, ")": -1}.get(text[at], 0)
            at += 1
        end = re.compile(r"[^;{]*([;{])").match(text, at)
        if end and end[1] == "{":
            found.add((begin[2], begin[1][:1].isupper()))
    return found


def calls(text):
    """{(name, whether it is one of a class)} of everything that the text may call."""
    found = set()
    for before, name in CALL.findall(text):
        of_class = before in (".", "->") or before[:1].isupper()
        found.add((name, of_class))
    return found | {(name, True) for name in OBJECT.findall(text)}


def part_of(name):
    return name.rsplit(".", 1)[0]


def part_calls(texts, layers):
    """{part: parts of its module whose code it calls}; tests do not count."""
    codes = {name: without_comments(text) for name, text in texts.items()
             if layers.module_of(name) and not TEST_FILE.search(name)}
    includes = {name: [included for _, included in INCLUDE.findall(texts[name])
                       if included in codes and layers.module_of(included) == layers.module_of(name)]
                for name in codes}
    defined = {name: definitions(code) for name, code in codes.items()}
    offers = {}  # {part: what its source defines and its header declares}
    for name in codes:
        header = part_of(name) + ".h"
        if name.endswith(".cc") and header in codes:
            words = set(re.findall(r"\w+", codes[header]))
            offers[part_of(name)] = {known for known in defined[name] if known[0] in words}
    uses = {part_of(name): set() for name in codes}
    for name, code in codes.items():
        own = set().union(*(defined.get(part_of(name) + end, set()) for end in (".h", ".cc")))
        called = calls(code) - own
        reached, todo = set(), list(includes[name])
        while todo:
            header = todo.pop()
            if header not in reached:
                reached.add(header)
                todo += includes[header]
        uses[part_of(name)] |= {part_of(header) for header in reached
                                if called & offers.get(part_of(header), set())} - {part_of(name)}
    return uses


def check_parts(texts, layers):
    uses = part_calls(texts, layers)
    for module in layers.modules:
        cycle = find_cycle({part: used for part, used in uses.items() if layers.module_of(part + ".h") == module})
        if cycle:
            yield f"parts of {module} in a cycle: {' -> '.join(cycle + cycle[:1])}"


def module_uses(texts, layers):
    """{module: modules whose headers its sources include}; tests do not count."""
    uses = {module: set() for module in layers.modules}
    for name, text in texts.items():
        module = layers.module_of(name)
        if module and not TEST_FILE.search(name):
            uses[module] |= {layers.module_of(included) for _, included in INCLUDE.findall(text)} - {None, module}
    return uses


def check_lists(uses, layers):
    for module in layers.modules:
        for unused in sorted(layers.may_use[module] - uses[module]):
            yield f"cmake/layers.cmake: {module} may use {unused}, and includes no header of it"


def check_architecture(root, layers):
    path = root / "ARCHITECTURE.md"
    rows, parent = set(), ""
    for cells in re.findall(r"^\| *([^|]*?) *\| *([^|]*?) *\|", path.read_text() if path.is_file() else "", re.MULTILINE):
        parent = cells[0].strip("`") or parent
        rows |= {parent + name for name in re.split(r"[, ]+", cells[1])}
    for folder in layers.folders.values():
        if folder not in rows:
            yield f"ARCHITECTURE.md: the table has no row for {folder}"


def drawing(uses, layers):
    """Lines: the modules by their distance from the bottom, with the arrows that no others imply."""
    reached, level = {}, {}
    for module in layers.modules:  # from the bottom up
        reached[module] = set().union(uses[module], *(reached.get(used, set()) for used in uses[module]))
        level[module] = 1 + max((level.get(used, 0) for used in uses[module]), default=-1)
    for height in range(max(level.values(), default=-1) + 1):
        for module in (module for module in layers.modules if level[module] == height):
            direct = [used for used in layers.modules if used in uses[module]
                      and not any(used in reached.get(other, ()) for other in uses[module])]
            yield f"{height:2} {module}" + (f" -> {' '.join(direct)}" if direct else "")


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    layers = Layers(root)
    breaches = list(check_table(layers))
    breaches += [f"cmake/layers.cmake: {header} does not exist"
                 for header in sorted(layers.public) if not (root / header).is_file()]
    texts = {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8")
             for folder in FOLDERS for path in sorted((root / folder).rglob("*"))
             if path.suffix in (".cc", ".h")}
    operators = names_of_operators(root)
    if not operators:
        breaches.append(f"{OP_NAME_TABLES}: no operator has a name")
    for name, text in texts.items():
        breaches += check_file(name, text, layers)
        breaches += check_operator_names(name, text, operators)
        breaches += check_strings(name, text)
        breaches += check_functions(name, text)
        lines = text.count("\n")
        if lines > MAX_LINES and not TEST_FILE.search(name):
            breaches.append(f"{name}: {lines} lines, the limit is {MAX_LINES}")
    breaches += check_headers(texts, layers)
    breaches += check_parts(texts, layers)
    uses = module_uses(texts, layers)
    breaches += check_lists(uses, layers)
    breaches += check_architecture(root, layers)
    print("\n".join(drawing(uses, layers)))
    print(f"{len(texts)} files, {len(layers.modules)} modules, {len(layers.public)} public headers, "
          f"{len(breaches)} breaches")
    print("\n".join(breaches))
    return 1 if breaches or len(texts) < len(layers.modules) else 0


if __name__ == "__main__":
    sys.exit(main())
