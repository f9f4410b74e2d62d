# SPDX-License-Identifier: Apache-2.0
"""Texts about the package: no other project's package is installed, and the example of the README runs."""

import ast
import doctest
import re
import subprocess
import sys

# The distribution of that name on PyPI is not this project.
INSTALL = re.compile(r"pip3?\s+install\s+(?:-\S+\s+)*['\"]?neap(?![-\w/.])")


def test_no_text_installs_the_package_of_a_stranger(source):
    done = subprocess.run(["git", "-C", source, "ls-files", "-z"], capture_output=True, check=True)
    names = [name for name in done.stdout.decode().split("\0") if name]
    assert len(names) > 500
    wrong = []
    for name in names:
        path = source / name
        if not path.is_file() or path == __file__ or name == "python/tests/test_text.py":
            continue
        text = path.read_bytes().decode(errors="replace")
        wrong += [f"{name}: {found[0]}" for found in INSTALL.finditer(text)]
    assert wrong == []
    assert INSTALL.search("pip install neap\n") and INSTALL.search("pip install -U 'neap'")
    assert not INSTALL.search("pip install neap-planner") and not INSTALL.search("pip install ./neap.whl")


def test_the_example_of_the_readme_runs(source, vww, tmp_path):
    for page in ("README.md", "python/README.md"):
        text = (source / page).read_text()
        (example,) = re.findall(r"```python\n(import neap\n.*?)```", text, re.DOTALL)
        (tmp_path / "model.tflite").write_bytes(vww)
        (tmp_path / "vww.tflite").write_bytes(vww)
        (tmp_path / "small.tflite").unlink(missing_ok=True)
        done = subprocess.run([sys.executable, "-c", example], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "small.tflite").stat().st_size > 0


def test_the_examples_of_the_guide(source, tmp_path, monkeypatch):
    """The examples print what the page shows."""
    monkeypatch.chdir(tmp_path)
    text = re.sub(r"^```.*$", "", (source / "docs/guides/python.md").read_text(), flags=re.MULTILINE)
    test = doctest.DocTestParser().get_doctest(text, {}, "python.md", "docs/guides/python.md", 0)
    output = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(test, out=output.append)
    assert runner.summarize(verbose=False).attempted > 15
    assert not output, "".join(output)


def test_importing_needs_no_other_package():
    code = ("import sys; before = set(sys.modules); import neap; neap.peak([1, 2], [(0, 1)]); "
            "neap.plan({'tensors': [{'bytes': 1}], 'inputs': [0], 'outputs': [0], 'ops': []}); "
            "print(sorted({name.split('.')[0] for name in set(sys.modules) - before} - set(sys.stdlib_module_names)))")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['neap']"


def test_the_stub_names_what_the_extension_module_has(source):
    from neap import _neap

    def public(names):
        return {name for name in names if not name.startswith("_")}

    tree = ast.parse((source / "python/neap/_neap.pyi").read_text())
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    classes = {node.name: {one.name for one in node.body if isinstance(one, ast.FunctionDef)}
               for node in tree.body if isinstance(node, ast.ClassDef)}
    assert public(vars(_neap)) == functions | set(classes) | {"version"}
    for name, members in classes.items():
        assert public(vars(getattr(_neap, name))) == members
