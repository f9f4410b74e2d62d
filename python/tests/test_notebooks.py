# SPDX-License-Identifier: Apache-2.0
"""The notebooks run, and a plan shows its memory map."""

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")


@pytest.mark.parametrize("name", ["does_it_fit", "architecture_search", "comparing_runtimes"])
def test_a_notebook_runs(name, source, tmp_path):
    path = source / "examples/notebooks" / f"{name}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") for cell in notebook.cells), "outputs are not committed"
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3",
                            resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output.data for cell in notebook.cells for output in cell.get("outputs", []) if "data" in output]
    if name != "architecture_search":
        assert any("sandbox" in data.get("text/html", "") for data in shown)
