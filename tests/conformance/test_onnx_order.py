# SPDX-License-Identifier: Apache-2.0
"""The profile `onnxruntime`: ONNX Runtime executes the planned order (docs/reference/onnxruntime.md).

Optimise and save, plan, load with optimisations off and the priority-based order: the order in
its profile of a run is that of the plan, and the outputs are those of the model before planning.
"""

import json

import pytest

numpy = pytest.importorskip("numpy", reason="no wheel of numpy")
onnx = pytest.importorskip("onnx", reason="no wheel of onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="no wheel of onnxruntime")

from conftest import SHARED, one_in, shared_files  # noqa: E402
from tensors import random_tensor, same_bytes  # noqa: E402
from test_onnx_runtime import ELEMENT_TYPES  # noqa: E402

SEEDS = (1, 2)
ZOO = ["randwire-ws", "darts-cifar"]
MODELS = [file for file in shared_files("models", ".onnx") if not file.startswith("bad/")]
HOISTED = {"Shape", "Size"}  # the priority-based order takes them as soon as it can


def pytest_generate_tests(metafunc):
    if "model" in metafunc.fixturenames:
        files = MODELS if metafunc.config.getoption("--long") else one_in(9, MODELS)
        metafunc.parametrize("model", files or [
            pytest.param("", marks=pytest.mark.skip(f"no files in {SHARED}"))])


def optimise(model, optimised):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(optimised)
    options.log_severity_level = 4
    onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


class Session:
    """A model as it is, in the order of its file or, with `planned` false, in the default order."""

    def __init__(self, model, planned, prefix):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        if planned:
            options.execution_order = onnxruntime.ExecutionOrder.PRIORITY_BASED
        options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
        options.intra_op_num_threads = 1
        options.enable_profiling = True
        options.profile_file_prefix = str(prefix)
        options.log_severity_level = 4
        self.session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        self.nodes = onnx.load(str(model), load_external_data=False).graph.node

    def dims(self):
        symbols = {size for tensor in self.session.get_inputs() for size in tensor.shape
                   if isinstance(size, str)}
        return [word for symbol in sorted(symbols) for word in ("--dim", f"{symbol}=1")]

    def run(self, seed):
        feeds = {}
        for index, tensor in enumerate(self.session.get_inputs()):
            shape = [size if isinstance(size, int) else 1 for size in tensor.shape]
            feeds[tensor.name] = random_tensor(shape, ELEMENT_TYPES[tensor.type], seed, index)
        return [numpy.asarray(array) for array in self.session.run(None, feeds)]

    def executed(self):
        """Outputs of the nodes of the main graph in the order in which the first run took them."""
        with open(self.session.end_profiling(), encoding="utf-8") as file:
            events = json.load(file)
        runs = [event for event in events if event.get("name") == "model_run"]
        end = runs[0]["ts"] + runs[0]["dur"]
        nodes = [event for event in events if event.get("cat") == "Node" and event["ts"] < end
                 and event["name"].endswith("_kernel_time")]
        nodes.sort(key=lambda event: event["ts"])
        return [tuple(self.nodes[int(event["args"]["node_index"])].output) for event in nodes]


def check(neap, original, tmp_path, table, name):
    optimised, planned, plan = (tmp_path / file for file in
                                ("optimised.onnx", "planned.onnx", "plan.json"))
    try:
        optimise(original, optimised)
        before = Session(optimised, False, tmp_path / "before")
        expected = {seed: before.run(seed) for seed in SEEDS}
    except Exception as error:  # ONNX Runtime has a class of its own for each refusal
        pytest.skip(f"ONNX Runtime refuses the original: {str(error).splitlines()[0]}")
    if any(attribute.type in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS)
           for node in before.nodes for attribute in node.attribute):
        pytest.skip("has control flow: its profile tells nodes of bodies by the same numbers")
    # Steps are identified by the nodes of the given file: without rewriting.
    result = neap.run("plan", optimised, "--runtime", "onnxruntime", "--json", "-o", planned,
                      "--plan", plan, "--rewrite", "none", *before.dims())
    if result.returncode == 1:
        pytest.skip(result.stderr.decode(errors="replace").strip())
    report = json.loads(result.stdout)
    assert report["delivered"]["arena_bytes"] is None
    after = Session(planned, True, tmp_path / "after")
    for seed in SEEDS:
        assert expected[seed] and same_bytes(expected[seed], after.run(seed))
    steps = [before.nodes[step["op"]] for step in json.loads(plan.read_text())["entries"][0]["steps"]]
    wanted = [tuple(node.output) for node in steps if node.op_type not in HOISTED]
    known = set(wanted)
    executed = [outputs for outputs in after.executed() if outputs in known]
    assert executed == wanted
    moved = sum(a != b for a, b in zip(wanted, [o for o in before.executed() if o in known]))
    table("nodes that ONNX Runtime executes in the planned order",
          f"{name}: {len(wanted)}, {moved} of them elsewhere in its default order")
    return report, same_bytes(expected[SEEDS[0]], expected[SEEDS[1]]), moved


def test_model(neap, model, tmp_path, table):
    check(neap, SHARED / "models" / model, tmp_path, table, model)


@pytest.mark.parametrize("network", ZOO)
def test_zoo_network(neap, network, tmp_path, table):
    original = tmp_path / "zoo.onnx"
    assert neap.run("zoo", network, "--seed", "1", "-o", original).returncode == 0
    report, constant, moved = check(neap, original, tmp_path, table, network)
    assert report["plan"]["peak_bytes"] < report["file_order"]["peak_bytes"]
    assert not constant
    # The negative control: left to itself, ONNX Runtime takes another order.
    assert moved > 0
