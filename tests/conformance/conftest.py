# SPDX-License-Identifier: Apache-2.0
"""Options and models of the conformance tests; see tests/README.md."""

import importlib.util
import json
import os
import pathlib
import subprocess

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SHARED = pathlib.Path(os.environ.get("NEAP_SHARED", SOURCE / "../shared")).resolve()


def pytest_addoption(parser):
    parser.addoption("--neap", default=str(SOURCE / "build/release/tools/neap"),
                     help="the program under test")
    parser.addoption("--long", action="store_true", help="all models, not a fixed sample of them")


def pytest_configure(config):
    config.pluginmanager.register(Tables(), "tables")


class Tables:
    """Gathers the rows that tests add with table(), from the processes that run them."""

    def __init__(self):
        self.rows = {}

    def pytest_runtest_logreport(self, report):
        for name, value in report.user_properties if report.when == "call" else ():
            if name == "table":
                title, row = value
                self.rows.setdefault(title, set()).add(row)


def pytest_terminal_summary(terminalreporter, config):
    for module, runtime in (("tflite_micro", "TensorFlow Lite Micro"), ("ai_edge_litert", "LiteRT"),
                            ("onnxruntime", "ONNX Runtime")):
        if importlib.util.find_spec(module) is None:
            terminalreporter.write_line(f"NOT TESTED: {runtime}, there is no wheel {module} here; run "
                                        "scripts/checks/venv.sh", red=True, bold=True)
    for title, rows in sorted(config.pluginmanager.get_plugin("tables").rows.items()):
        terminalreporter.write_line(f"table: {title}")
        for row in sorted(rows):
            terminalreporter.write_line("  " + row)
        terminalreporter.write_line("")


@pytest.fixture
def table(request):
    """table(title, row): a line for people at the end of the run."""
    return lambda title, row: request.node.user_properties.append(("table", (title, row)))


class Neap:
    """The program under test."""

    def __init__(self, path):
        self.path = str(pathlib.Path(path).resolve())

    def run(self, *words, timeout=300):
        return subprocess.run([self.path, *map(str, words)], capture_output=True, timeout=timeout,
                              check=False, stdin=subprocess.DEVNULL)

    def plan(self, model, *words, timeout=300):
        """The report of `neap plan --json`."""
        result = self.run("plan", model, "--json", *words, timeout=timeout)
        assert result.returncode == 0, result.stderr.decode(errors="replace")
        return json.loads(result.stdout)


@pytest.fixture(scope="session")
def neap(request):
    return Neap(request.config.getoption("--neap"))


def shared_files(folder, *suffixes):
    """Paths below a folder of ../shared, relative to it; none when it is absent."""
    root = SHARED / folder
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*")
                  if path.suffix in suffixes and path.is_file())


def one_in(count, files, always=()):
    """The sample of the short form: one in `count` files, and those that are named."""
    chosen = set(files[::count]) | {file for file in files if file in always}
    return [file for file in files if file in chosen]
