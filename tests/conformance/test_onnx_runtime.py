# SPDX-License-Identifier: Apache-2.0
"""Reordered .onnx files in ONNX Runtime, configured to keep the order: identical outputs."""

import pytest

numpy = pytest.importorskip("numpy", reason="no wheel of numpy")
onnx = pytest.importorskip("onnx", reason="no wheel of onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="no wheel of onnxruntime")

from conftest import SHARED, one_in, shared_files  # noqa: E402
from tensors import random_tensor, same_bytes  # noqa: E402

SEEDS = (1, 2)
ELEMENT_TYPES = {"tensor(float)": numpy.float32, "tensor(double)": numpy.float64,
                 "tensor(float16)": numpy.float16, "tensor(int64)": numpy.int64,
                 "tensor(int32)": numpy.int32, "tensor(int16)": numpy.int16,
                 "tensor(int8)": numpy.int8, "tensor(uint8)": numpy.uint8,
                 "tensor(uint16)": numpy.uint16, "tensor(uint32)": numpy.uint32,
                 "tensor(uint64)": numpy.uint64, "tensor(bool)": numpy.bool_}
ZOO = ["randwire-ws", "randwire-cell-ws", "darts-cifar"]

MODELS = [file for file in shared_files("models", ".onnx") if not file.startswith("bad/")]


def pytest_generate_tests(metafunc):
    long = metafunc.config.getoption("--long")
    for name, files, share in (("model", MODELS, 4), ("network", ZOO, 1)):
        if name in metafunc.fixturenames:
            files = files if long else one_in(share, files)
            metafunc.parametrize(name, files or [
                pytest.param("", marks=pytest.mark.skip(f"no files in {SHARED}"))])


class Session:
    """A model in ONNX Runtime: in the order of the file, nothing optimised, one thread."""

    def __init__(self, path):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.execution_order = onnxruntime.ExecutionOrder.PRIORITY_BASED
        options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
        options.intra_op_num_threads = 1
        options.log_severity_level = 4
        self.session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    def run(self, seed):
        feeds = {}
        for index, tensor in enumerate(self.session.get_inputs()):
            shape = [size if isinstance(size, int) else 1 for size in tensor.shape]
            feeds[tensor.name] = random_tensor(shape, ELEMENT_TYPES[tensor.type], seed, index)
        return [numpy.asarray(array) for array in self.session.run(None, feeds)]

    def symbols(self):
        return sorted({size for tensor in self.session.get_inputs() for size in tensor.shape
                       if isinstance(size, str)})


def dims_of(session):
    return [word for symbol in session.symbols() for word in ("--dim", f"{symbol}=1")]


def compare(neap, original, session, before, tmp_path, *words):
    """Plans, writes, runs again; the negative control: outputs of another seed are different."""
    planned = tmp_path / "planned.onnx"
    report = neap.plan(original, "-o", planned, *words)
    again = Session(planned)
    after = {seed: again.run(seed) for seed in SEEDS}
    for seed in SEEDS:
        assert before[seed] and same_bytes(before[seed], after[seed]), f"outputs differ, seed {seed}"
    assert report["plan"]["peak_bytes"] <= report["file_order"]["peak_bytes"]
    return report, not same_bytes(before[SEEDS[0]], after[SEEDS[1]])


def test_model(neap, model, table, tmp_path):
    original = SHARED / "models" / model
    try:
        session = Session(original)
        before = {seed: session.run(seed) for seed in SEEDS}
    except Exception as error:  # ONNX Runtime has a class of its own for each refusal
        pytest.skip(f"ONNX Runtime refuses the original: {str(error).splitlines()[0]}")
    words = dims_of(session)
    result = neap.run("plan", original, *words)
    if result.returncode == 1:
        message = result.stderr.decode(errors="replace").strip()
        table(".onnx models that ONNX Runtime runs and neap cannot size", f"{model}: {message}")
        pytest.skip(message)
    _, varies = compare(neap, original, session, before, tmp_path, *words)
    if not varies:
        table("onnx models whose outputs do not depend on the seed", model)


def test_zoo_network(neap, network, tmp_path):
    original = tmp_path / "zoo.onnx"
    assert neap.run("zoo", network, "--seed", "1", "-o", original).returncode == 0
    onnx.checker.check_model(str(original), full_check=True)
    session = Session(original)
    before = {seed: session.run(seed) for seed in SEEDS}
    report, varies = compare(neap, original, session, before, tmp_path)
    assert varies
    assert report["plan"]["peak_bytes"] < report["file_order"]["peak_bytes"]
