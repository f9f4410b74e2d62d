# SPDX-License-Identifier: Apache-2.0
"""Any model file ends in a plan, or in one clear line."""

import pytest

from conftest import SHARED, one_in, shared_files

SECONDS = 600  # on any machine, with sanitizers
FILES = [f"models/{file}" for file in shared_files("models", ".tflite", ".onnx")]
BAD = [file for file in FILES if file.startswith("models/bad/")]


def pytest_generate_tests(metafunc):
    files = FILES if metafunc.config.getoption("--long") else one_in(3, FILES, always=BAD)
    metafunc.parametrize("file", files or [
        pytest.param("", marks=pytest.mark.skip(f"no files in {SHARED}"))])


def test_plan_or_one_line(neap, file, table, tmp_path):
    path = SHARED / file
    output = tmp_path / f"out{path.suffix}"
    result = neap.run("plan", path, "-o", output, "--quiet", timeout=SECONDS)
    errors = result.stderr.decode(errors="replace")
    assert result.returncode in (0, 1), errors
    if result.returncode == 0:
        assert errors == ""
        assert output.exists()
        assert neap.run("plan", output, "--quiet", timeout=SECONDS).returncode == 0
        return
    assert len(errors.splitlines()) == 1, errors
    assert path.name in errors
    assert "internal error" not in errors
    assert list(tmp_path.iterdir()) == []
    shown = errors.strip().replace(str(SHARED) + "/", "")
    table("files that neap plan refuses", shown)
