# SPDX-License-Identifier: Apache-2.0
"""Models with state, original against planned: same bytes out in consecutive invocations of one interpreter."""

import pathlib
import subprocess
import sys

import pytest

numpy = pytest.importorskip("numpy", reason="no wheel of numpy")
pytest.importorskip("tflite_micro", reason="no wheel of tflite-micro")

from conftest import SHARED  # noqa: E402
from made_models import Maker, schema  # noqa: E402
from tensors import same_bytes  # noqa: E402

SEEDS = (1, 2, 3, 4, 5)  # one invocation each
# Activation arena in TFLM of the best order; None: not compared.
KNOWN = {
    "esphome+micro-wake-word-models/mww_v2_okay_nabu.tflite": 2944,
    "esphome+micro-wake-word-models/mww_v2_vad.tflite": 1248,
    "google-ai-edge+LiteRT/resource_vars_calibrated.tflite": None,
    "tensorflow+tflite-micro/trained_lstm.tflite": None,
    "tensorflow+tflite-micro/trained_lstm_int8.tflite": None,
}


class StateMaker(Maker):
    """Variables that are read, added to and written, in a random order of the file."""

    def handle(self, name):
        target = self.tensor([])
        self.main.tensors[target].type = schema.TensorType.RESOURCE
        options = schema.VarHandleOptionsT()
        options.container, options.sharedName = "", name
        self.operator(schema.BuiltinOperator.VAR_HANDLE, [], [target],
                      schema.BuiltinOptions.VarHandleOptions, options)
        return target

    def read(self, handle, width):
        target = self.tensor([1, width])
        self.operator(schema.BuiltinOperator.READ_VARIABLE, [handle], [target],
                      schema.BuiltinOptions.ReadVariableOptions, schema.ReadVariableOptionsT())
        return target

    def assign(self, handle, value):
        self.operator(schema.BuiltinOperator.ASSIGN_VARIABLE, [handle, value], [],
                      schema.BuiltinOptions.AssignVariableOptions, schema.AssignVariableOptionsT())


def random_model(seed, late_reads=False):
    """Three variables of different widths, each read and written twice. `late_reads`: the first read
    of each comes behind its first write, which is another model."""
    draw = numpy.random.default_rng(seed)
    maker = StateMaker()
    widths = {name: int(draw.integers(2, 40)) for name in "abc"}
    source = maker.tensor([1, 8])

    init = schema.SubGraphT()
    init.tensors, init.operators, init.inputs, init.outputs = [], [], [], []
    options = schema.CallOnceOptionsT()
    options.initSubgraphIndex = 1
    maker.operator(schema.BuiltinOperator.CALL_ONCE, [], [], schema.BuiltinOptions.CallOnceOptions, options)
    main, maker.main = maker.main, init
    for name, width in widths.items():
        maker.assign(maker.handle(name), maker.tensor([1, width], draw.normal(size=(1, width))))
    maker.main = main
    maker.model.subgraphs.append(init)

    values = [source]
    for turn in range(2):
        for name in draw.permutation(list("abc")):
            width, handle = widths[name], maker.handle(name)
            value = maker.fully_connected(values[int(draw.integers(len(values)))], width, draw)
            if late_reads and turn == 0:
                maker.assign(handle, value)
                values.append(maker.read(handle, width))
                continue
            old = maker.read(handle, width)
            values.append(maker.add(old, value))
            maker.assign(handle, values[-1])
    total = maker.fully_connected(values[0], 4, draw)
    for value in values[1:]:
        total = maker.add(total, maker.fully_connected(value, 4, draw))
    main.inputs, main.outputs = [source], [total]
    return maker.bytes()


def outputs_of(runtime, model, folder):
    """One interpreter for all seeds; None with the reason if the runtime refuses the model."""
    output = folder / "outputs.npz"
    program = pathlib.Path(__file__).with_name("run_tflite.py")
    run = subprocess.run([sys.executable, "-B", program, "--consecutive", runtime, model, output, *map(str, SEEDS)],
                         capture_output=True, timeout=120, check=False, stdin=subprocess.DEVNULL)
    if run.returncode != 0:
        return None, run.stderr.decode(errors="replace").strip()[-300:]
    with numpy.load(output) as arrays:
        return [[arrays[name] for name in sorted(arrays.files) if name.startswith(f"{seed}_")]
                for seed in SEEDS], ""


def compare(neap, model, folder, runtimes, *options):
    """The report of `neap plan`; asserts equal bytes in every runtime that runs the model."""
    planned = folder / "planned.tflite"
    report = neap.plan(model, "--runtime", "tflm", "-o", planned, *options)
    ran = 0
    for runtime in runtimes:
        before, why = outputs_of(runtime, model, folder)
        if before is None:
            continue
        ran += 1
        after, why = outputs_of(runtime, planned, folder)
        assert after is not None, f"{runtime}: {why}"
        for call, (left, right) in enumerate(zip(before, after)):
            assert left and same_bytes(left, right), f"{runtime}: outputs of invocation {call} differ"
        assert any(not same_bytes(before[0], other) for other in before), "outputs never vary"
    assert ran, why
    return report


@pytest.mark.parametrize("model", KNOWN)
def test_known_models(neap, model, tmp_path):
    if not (SHARED / "models" / model).exists():
        pytest.skip(f"no {model} in {SHARED}")
    report = compare(neap, SHARED / "models" / model, tmp_path, ("tflm", "litert"))
    if KNOWN[model] is not None:
        assert report["delivered"]["arena_bytes"] == KNOWN[model]
        assert report["plan"]["order_status"] == "optimal"


@pytest.mark.parametrize("seed", range(4))
def test_made_models(neap, seed, tmp_path):
    model = tmp_path / "model.tflite"
    model.write_bytes(random_model(seed))
    compare(neap, model, tmp_path, ("tflm", "litert"))
    compare(neap, model, tmp_path, ("tflm",), "--force", "--overlap", "tflm-reference")


def test_state_shows(tmp_path):
    """The negative control: reads behind the writes of their variables give other outputs."""
    outputs = []
    for late in (False, True):
        model = tmp_path / f"model{late}.tflite"
        model.write_bytes(random_model(0, late))
        outputs.append(outputs_of("tflm", model, tmp_path)[0])
    assert outputs[0] and outputs[1]
    assert not any(same_bytes(left, right) for left, right in zip(*outputs))
