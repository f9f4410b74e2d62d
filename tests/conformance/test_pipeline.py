# SPDX-License-Identifier: Apache-2.0
"""The stages that `neap pipeline -o` writes, one after the other in stock runtimes: the bytes of the whole."""

import importlib.util
import json
import pathlib
import subprocess
import sys

import pytest

numpy = pytest.importorskip("numpy", reason="no wheel of numpy")

from conftest import SHARED, SOURCE, one_in, shared_files  # noqa: E402
from tensors import same_bytes  # noqa: E402

FOLDER = pathlib.Path(__file__).resolve().parent
SEEDS = ("1", "2")
TFLITE_ZOO = [("ds-cnn", 3), ("resnet8", 4), ("mobilenet-v1-vww", 5), ("swiftnet", 4),
              ("randwire-cell-ws", 3)]
ONNX_ZOO = [("resnet8", 3), ("randwire-cell-ws", 4), ("mobilenet-v3-small", 3), ("swiftnet", 4),
            ("vit-tiny", 4)]
TFLITE_FILES = [file for file in shared_files("models", ".tflite") if not file.startswith("bad/")]
ONNX_FILES = [file for file in shared_files("models", ".onnx") if not file.startswith("bad/")]


def pytest_generate_tests(metafunc):
    long = metafunc.config.getoption("--long")
    for name, files in (("tflite_file", TFLITE_FILES), ("onnx_file", ONNX_FILES)):
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, (files if long else one_in(9, files)) or [
                pytest.param("", marks=pytest.mark.skip(f"no files in {SHARED}"))])


def arrays_of(program, *words):
    """The outputs for every seed; None, with the runtime's message, where it refuses the model."""
    output = words[-1]
    result = subprocess.run([sys.executable, str(FOLDER / program), *map(str, words), *SEEDS],
                            stdin=subprocess.DEVNULL, capture_output=True, timeout=600, check=False)
    if result.returncode != 0:
        lines = result.stderr.decode(errors="replace").strip().splitlines()
        return None, (lines or ["it ended without a word"])[-1]
    with numpy.load(output) as arrays:
        return {key: arrays[key] for key in arrays.files}, ""


def of_seeds(arrays, keys):
    """The arguments of compare() for the outputs with these keys."""
    return {seed: [arrays[key] for key in sorted(keys) if key.startswith(seed + "_")] for seed in SEEDS}


def split(neap, model, stages, folder, *words):
    """The report; skips with the reason where the file cannot be divided."""
    result = neap.run("pipeline", model, "--stages", stages, "--method", "compiler", "-o", folder,
                      "--json", *words)
    if result.returncode == 1:
        pytest.skip(result.stderr.decode(errors="replace").strip())
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def compare(whole, chain, must_vary, halves=False):
    for seed in SEEDS:
        if halves:
            for left, right in zip(whole[seed], chain[seed]):
                numpy.testing.assert_allclose(left, right, rtol=0.02, atol=1e-3)
            continue
        assert whole[seed] and same_bytes(whole[seed], chain[seed]), f"outputs differ, seed {seed}"
    # The negative control.
    if must_vary:
        assert not same_bytes(whole[SEEDS[0]], chain[SEEDS[1]])


def check_tflite(neap, model, stages, runtime, tmp_path, must_vary, table):
    module = {"tflm": "tflite_micro", "litert": "ai_edge_litert"}[runtime]
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"no wheel of {module}")
    whole, why = arrays_of("run_tflite.py", runtime, model, tmp_path / "whole.npz")
    if whole is None:
        pytest.skip(f"{runtime} refuses the original: {why}")
    report = split(neap, model, stages, tmp_path / "stages")
    saved = tmp_path / "report.json"
    saved.write_text(json.dumps(report))
    chain, why = arrays_of("run_chain.py", runtime, saved, tmp_path / "chain.npz")
    if why.endswith("has another shape than the file says"):
        table("split .tflite whose tensors between stages get their shape when they run", f"{model}: {why}")
        pytest.skip(why)
    assert chain is not None, why
    compare(of_seeds(whole, chain), of_seeds(chain, chain), must_vary)
    return report


@pytest.mark.parametrize("runtime", ["litert", "tflm"])
@pytest.mark.parametrize("network,stages", TFLITE_ZOO)
def test_tflite_zoo(neap, network, stages, runtime, table, tmp_path):
    model = tmp_path / "model.tflite"
    assert neap.run("zoo", network, "--int8", "-o", model).returncode == 0
    report = check_tflite(neap, model, stages, runtime, tmp_path, True, table)
    assert len(report["stages"]) == stages
    # Every constant went to the stages that need it.
    sizes = [pathlib.Path(stage["file"]).stat().st_size for stage in report["stages"]]
    assert max(sizes) < model.stat().st_size
    assert sum(sizes) < 1.5 * model.stat().st_size + 4096 * stages


@pytest.mark.parametrize("runtime", ["litert", "tflm"])
def test_tflite_file(neap, tflite_file, runtime, table, tmp_path):
    check_tflite(neap, SHARED / "models" / tflite_file, 3, runtime, tmp_path, False, table)


def sessions(report):
    from test_onnx_runtime import Session

    return [Session(stage["file"]).session for stage in report["stages"]]


def check_onnx(neap, model, stages, tmp_path, must_vary, table):
    pytest.importorskip("onnxruntime", reason="no wheel of onnxruntime")
    from test_onnx_runtime import ELEMENT_TYPES, Session, dims_of
    from tensors import random_tensor

    try:
        original = Session(model)
        whole = {seed: original.run(int(seed)) for seed in SEEDS}
    except Exception as error:  # ONNX Runtime has a class of its own for each refusal
        pytest.skip(f"ONNX Runtime refuses the original: {str(error).splitlines()[0]}")
    report = split(neap, model, stages, tmp_path / "stages", *dims_of(original))
    stages = sessions(report)
    chain = {}
    for seed in SEEDS:
        host = {}
        for index, tensor in enumerate(original.session.get_inputs()):
            shape = [size if isinstance(size, int) else 1 for size in tensor.shape]
            host[tensor.name] = random_tensor(shape, ELEMENT_TYPES[tensor.type], int(seed), index)
        for session in stages:
            feeds = {tensor.name: host[tensor.name] for tensor in session.get_inputs()}
            names = [tensor.name for tensor in session.get_outputs()]
            host.update(zip(names, session.run(names, feeds)))
        chain[seed] = [numpy.asarray(host[tensor.name]) for tensor in original.session.get_outputs()]
    # ONNX Runtime computes float16 in float32 and rounds only at the ends of a model: every stage has
    # two of them more.
    halves = any(tensor.type == "tensor(float16)" for session in stages for tensor in session.get_inputs())
    compare(whole, chain, must_vary, halves)
    if halves:
        table("split .onnx with float16 between stages: ONNX Runtime rounds there, compared to 2 %", str(model))
    return report


@pytest.mark.parametrize("network,stages", ONNX_ZOO)
def test_onnx_zoo(neap, network, stages, table, tmp_path):
    model = tmp_path / "model.onnx"
    assert neap.run("zoo", network, "-o", model).returncode == 0
    report = check_onnx(neap, model, stages, tmp_path, True, table)
    onnx = pytest.importorskip("onnx", reason="no wheel of onnx")
    for stage in report["stages"]:
        onnx.checker.check_model(stage["file"], full_check=True)


def test_onnx_file(neap, onnx_file, table, tmp_path):
    check_onnx(neap, SHARED / "models" / onnx_file, 3, tmp_path, False, table)


def test_assignment_of_the_exact_method_chains(neap, tmp_path):
    """The same with the optimum, and with a network by its name."""
    pytest.importorskip("onnxruntime", reason="no wheel of onnxruntime")
    model = tmp_path / "model.onnx"
    assert neap.run("zoo", "randwire-cell-ws", "-o", model).returncode == 0
    by_name = neap.run("pipeline", "randwire-cell-ws", "--stages", 3, "-o", tmp_path / "by-name", "--json")
    by_file = neap.run("pipeline", model, "--stages", 3, "-o", tmp_path / "by-file", "--json")
    left, right = json.loads(by_name.stdout), json.loads(by_file.stdout)
    assert [stage["operators"] for stage in left["stages"]] == [stage["operators"] for stage in right["stages"]]
    for a, b in zip(left["stages"], right["stages"]):
        assert pathlib.Path(a["file"]).read_bytes() == pathlib.Path(b["file"]).read_bytes()


def test_edgetpu_segments(request):
    """The table of docs/results equals its script's output. The boundaries have a separate test."""
    segments = SHARED / "research/edgetpu-segments.tsv"
    if not request.config.getoption("--long") or not segments.is_file():
        pytest.skip("only with --long" if segments.is_file() else f"no {segments}")
    done = subprocess.run([sys.executable, SOURCE / "lab/tables/edgetpu_segments.py",
                           request.config.getoption("--neap"), segments], stdout=subprocess.PIPE, check=True)
    assert done.stdout.decode() == (SOURCE / "docs/results/edgetpu-segments.md").read_text()
