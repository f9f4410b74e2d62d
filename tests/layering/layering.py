# SPDX-License-Identifier: Apache-2.0
"""Compares the #include lines of the tree with the architecture in cmake/layers.cmake.

The rules:
1. A file of module M includes headers of M and of the modules in NEAP_MAY_USE_M, nothing else of
   neap/.
2. From another module, or from tools/, bench/, tests/ and examples/, only public headers are
   included: those that cmake/install.cmake lists as NEAP_PUBLIC_HEADERS. Files of a module's own
   tests may include what it keeps private, and those of any test *_testing.h.
3. Tests (*_test.cc, *_testing.h, *_testing.cc, test_*.h, test_*.cc) may make use of every module
   that is no higher than `compile` is, so that a checker can be tried on what the planner makes,
   and of `execute` and `formats`, so that graphs can be held against what they compute, here and in
   stock runtimes;
   and any module may use headers of `base`, `io` and `graph` in its tests.
4. A public header includes public headers, the standard library and tl/expected.hpp, so that no
   third-party type reaches a user.
5. The table in cmake/layers.cmake has no cycle: each module lists modules that stand before it.

Usage: layering.py SOURCE_FOLDER. Exit 1 with a line for each breach.
"""

import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]', re.MULTILINE)
TEST_FILE = re.compile(r"(_test\.cc|_testing\.(cc|h)|^test_\w+\.(cc|h))$")


def read_layers(root):
    text = re.sub(r"#.*", "", (root / "cmake/layers.cmake").read_text())
    sets = {name: words.split() for name, words in re.findall(r"set\((\w+)([^)]*)\)", text)}
    modules = sets["NEAP_MODULES"]
    return modules, {module: set(sets[f"NEAP_MAY_USE_{module}"]) for module in modules}


def read_public_headers(root):
    text = (root / "cmake/install.cmake").read_text()
    words = re.search(r"set\(NEAP_PUBLIC_HEADERS([^)]*)\)", text).group(1).split()
    return {"neap/" + word for word in words}


def module_of(path):
    parts = path.split("/")
    return parts[1] if len(parts) > 2 and parts[0] == "neap" else None


def below_compile(modules, may_use):
    """Every module that `compile` stands on, directly or not, `compile` itself, `execute`, `formats`."""
    reached, todo = set(), ["compile"]
    while todo:
        module = todo.pop()
        if module not in reached:
            reached.add(module)
            todo += may_use[module]
    return reached | {"io", "execute", "formats"}


def check_table(modules, may_use):
    for place, module in enumerate(modules):
        for used in sorted(may_use[module]):
            if used not in modules[:place]:
                yield f"cmake/layers.cmake: {module} may use {used}, which does not stand before it"


def check_file(root, path, modules, may_use, public):
    name = path.relative_to(root).as_posix()
    module = module_of(name)
    is_test = bool(TEST_FILE.search(path.name))
    allowed = {module} | may_use[module] if module else set(modules)
    if module and is_test:
        allowed |= below_compile(modules, may_use)
    for kind, included in INCLUDE.findall(path.read_text(encoding="utf-8")):
        used = module_of(included)
        if used is not None:
            if used not in allowed:
                yield f"{name}: module {module} may not use {used} ({included})"
            elif (used != module and included not in public
                  and not (is_test and included.endswith("_testing.h"))):
                yield f"{name}: {included} is no public header of {used}"
        if name not in public:
            continue
        if kind == "<":
            is_standard = "." not in included and "/" not in included
            if not is_standard and included != "tl/expected.hpp":
                yield f"{name}: a public header includes <{included}>"
        elif included not in public:
            yield f"{name}: a public header includes {included}, which is none"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    modules, may_use = read_layers(root)
    public = read_public_headers(root)
    breaches = list(check_table(modules, may_use))
    breaches += [f"cmake/install.cmake: {header} does not exist"
                 for header in sorted(public) if not (root / header).is_file()]
    files = [path for folder in ("neap", "tools", "bench", "tests", "examples")
             for path in sorted((root / folder).rglob("*")) if path.suffix in (".cc", ".h")]
    for path in files:
        breaches += check_file(root, path, modules, may_use, public)
    print(f"{len(files)} files, {len(modules)} modules, {len(public)} public headers, "
          f"{len(breaches)} breaches")
    print("\n".join(breaches))
    return 1 if breaches or len(files) < len(modules) else 0


if __name__ == "__main__":
    sys.exit(main())
