# SPDX-License-Identifier: Apache-2.0
"""Plans of models: members, files, runs, errors, interrupts, progress."""

import errno
import json
import os
import pathlib
import pickle
import signal
import sys
import threading
import time

import numpy as np
import pytest
from conftest import hard_model

import neap


def test_a_graph_as_a_dict(branches):
    plan = neap.plan(branches)
    assert (plan.arena_bytes, plan.peak_bytes, plan.lower_bound_bytes) == (220, 220, 220)
    assert plan.optimal and plan.fits and plan.kind == "as given" and plan.runtime == "ideal"
    assert plan.file_order_arena_bytes == 310 and plan.total_arena_bytes is None
    assert sorted(plan.order) == list(range(5)) and not plan.interrupted
    assert set(plan.offsets) == set(range(6))
    for one in plan.tensors:
        for other in plan.tensors:
            if one.index < other.index and one.first < other.last and other.first < one.last:
                assert one.offset + one.bytes <= other.offset or other.offset + other.bytes <= one.offset
    plan.check()
    with pytest.raises(neap.UsageError):
        plan.model_bytes()


def test_vww_in_every_way_of_reading(vww, tmp_path):
    path = tmp_path / "vww.tflite"
    path.write_bytes(vww)
    plans = [neap.plan(model) for model in (vww, bytearray(vww), memoryview(vww), path, str(path))]
    for plan in plans:
        assert (plan.arena_bytes, plan.file_order_arena_bytes, plan.optimal) == (46080, 73728, True)
        assert plan.total_arena_bytes > plan.arena_bytes
        assert plan.kind == "rewritten" and plan.runtime == "tflm"
    assert len({plan.model_bytes() for plan in plans}) == 1
    assert plans[0].operator_types.count("CONCATENATION") == 1
    assert "46,080 B (45.0 KiB)" in repr(plans[0])


def test_options(vww):
    assert neap.plan(vww, overlap="tflm-reference").arena_bytes == 36864
    assert neap.plan(vww, rewrite="none", cascade="off").arena_bytes == 55296
    assert neap.plan(vww, order_only=True, rewrite="none").arena_bytes == 55296
    assert neap.plan(vww, budget="72KiB").fits is True
    assert neap.plan(vww, budget=1024, cascade="off").fits is False
    with pytest.raises(neap.UsageError, match="no-such"):
        neap.plan(vww, no_such=1)
    with pytest.raises(neap.UsageError, match="budget"):
        neap.plan(vww, budget="many")


def test_the_command_line_makes_the_same_plan(vww, tmp_path):
    import subprocess

    path = tmp_path / "vww.tflite"
    path.write_bytes(vww)
    program = [sys.executable, "-m", "neap"]
    done = subprocess.run([*program, "plan", path, "--plan", tmp_path / "cli.json", "-o", tmp_path / "cli.tflite",
                           "--quiet"], check=False)
    assert done.returncode == 0
    plan = neap.plan(path)
    assert (tmp_path / "cli.tflite").read_bytes() == plan.model_bytes()
    cli, here = json.loads((tmp_path / "cli.json").read_text()), json.loads(plan.to_json())
    cli.pop("written_sha256"), here.pop("written_sha256")
    assert cli == here
    assert subprocess.run([*program, "no-such-verb"], capture_output=True, check=False).returncode == 2
    version = subprocess.run([pathlib.Path(sys.executable).parent / "neap", "--version"], capture_output=True, text=True,
                             check=True).stdout
    assert version == f"neap {neap.__version__}\n"
    piped = subprocess.run([*program, "zoo", "ds-cnn", "--int8", "--format", "tflite", "-o", "-"], capture_output=True,
                           check=True).stdout
    assert piped == neap.zoo("ds-cnn", int8=True)


def test_save_and_read(vww, branches, tmp_path):
    plan = neap.plan(vww)
    plan.save(tmp_path / "small.tflite")
    plan.save(tmp_path / "plan.json")
    assert (tmp_path / "small.tflite").read_bytes() == plan.model_bytes()
    assert (tmp_path / "plan.json").read_text() == plan.to_json()
    with pytest.raises(neap.FileError) as error:
        plan.save(tmp_path / "plan.json")
    assert error.value.errno == errno.EEXIST and "force=True replaces it" in str(error.value)
    with pytest.raises(neap.FileError, match="No such file"):
        plan.save(tmp_path / "absent" / "plan.json")
    with pytest.raises(neap.FileError):
        neap.read_plan(vww, tmp_path / "absent.json")
    plan.save(tmp_path / "plan.json", force=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["plan.json", "small.tflite"]
    for text in (tmp_path / "plan.json", plan.to_json()):
        read = neap.read_plan(vww, text)
        read.check()
        assert read.order == plan.order and read.offsets == plan.offsets
        assert read.kind == "" and read.file_order_arena_bytes is None
    with pytest.raises(neap.UsageError):
        read.model_bytes()
    with pytest.raises(neap.BadInputError):
        neap.read_plan(branches, plan.to_json())


def test_save_refuses_what_the_command_line_refuses(vww, swiftnet, tmp_path):
    over = neap.plan(vww, budget_activations="10KiB")
    assert over.fits is False
    for write in (lambda: over.save(tmp_path / "never.tflite"), lambda: over.to_c(tmp_path / "never")):
        with pytest.raises(neap.OverBudgetError, match="over budget: arena required .* available 10,240 B"):
            write()
    assert list(tmp_path.iterdir()) == []
    over.save(tmp_path / "never.json")
    over.save(tmp_path / "never.tflite", force=True)
    assert (tmp_path / "never.tflite").read_bytes() == over.model_bytes()
    for plan, names in ((neap.plan(vww), ("x.onnx", "x.txt", "x")), (neap.plan(swiftnet), ("x.tflite",))):
        for name in names:
            with pytest.raises(neap.UsageError, match="neap writes the format of the input, [.]"):
                plan.save(tmp_path / name, force=True)
            assert not (tmp_path / name).exists()


def test_a_missing_package_is_named(ds_cnn, monkeypatch):
    plan = neap.plan(ds_cnn)
    monkeypatch.setitem(sys.modules, "numpy", None)
    for call in (lambda: plan.run({}), lambda: neap.place([0], [1], [1])):
        with pytest.raises(neap.MissingPackageError, match="needs the package numpy.*pip install numpy") as error:
            call()
        assert isinstance(error.value, ImportError)


def test_a_wrong_plan_is_found(branches):
    text = neap.plan(branches).to_json().replace('"peak_bytes": 220', '"peak_bytes": 219')
    with pytest.raises(neap.WrongPlanError) as error:
        neap.read_plan(branches, text).check()
    assert "219" in str(error.value) and error.value.violations


def test_runs_compute_the_same_outputs(ds_cnn):
    draw = np.random.default_rng(1)
    planned, plain = neap.plan(ds_cnn), neap.plan(ds_cnn, rewrite="none", order="file", cascade="off")
    (given,) = planned.inputs
    assert given.dtype == "int8"
    seen = set()
    for _ in range(3):
        inputs = {given.name: draw.integers(-128, 128, given.shape, np.int8)}
        (here,), (there,) = planned.run(inputs).values(), plain.run(inputs).values()
        assert here.shape == planned.outputs[0].shape and here.dtype == np.int8
        np.testing.assert_array_equal(here, there)
        seen.add(here.tobytes())
    assert len(seen) > 1
    for wrong, text in (({}, "no array"), ({given.name: inputs[given.name], "x": 1}, "no input 'x'"),
                        ({given.name: np.zeros(given.shape)}, "float64"),
                        ({given.name: np.zeros((1, 2), np.int8)}, "shape")):
        with pytest.raises(neap.UsageError, match=text):
            planned.run(wrong)


def test_runs_of_onnx(swiftnet):
    plan = neap.plan(swiftnet, runtime="onnxruntime")
    (given,) = plan.inputs
    image = np.random.default_rng(1).random(given.shape, np.float32)
    (output,) = plan.run({given.name: image}).values()
    assert output.dtype == np.float32 and np.isfinite(output).all() and output.std() > 0


def test_onnx_model_proto(swiftnet):
    onnx = pytest.importorskip("onnx")
    model = onnx.load_from_string(swiftnet)
    plan = neap.plan(model, name="cell.onnx")
    assert plan.arena_bytes == neap.plan(swiftnet).arena_bytes
    assert onnx.load_from_string(plan.model_bytes()).graph.node
    assert "cell.onnx" in repr(plan)


def test_emitted_c(ds_cnn, tmp_path):
    plan = neap.plan(ds_cnn, runtime="neap", name="kws.tflite")
    written = plan.to_c(tmp_path / "kws", single_file=True)
    assert sorted(os.path.basename(path) for path in written) == ["kws.c", "kws.h"]
    with pytest.raises(neap.FileError, match="exists"):
        plan.to_c(tmp_path / "kws", single_file=True)
    with pytest.raises(neap.UsageError, match="prefix"):
        plan.to_c(tmp_path / "other", prefix="9 lives")
    assert not (tmp_path / "other").exists()


def test_emitting_floats_names_what_is_missing(swiftnet, tmp_path):
    with pytest.raises(neap.NeapError):
        neap.plan(swiftnet, runtime="neap").to_c(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_fits(vww):
    yes, no = neap.fits(vww, "54KiB"), neap.fits(vww, 55295)
    assert yes and yes.known and yes.peak_bytes <= 55296
    assert not no and no.known and no.lower_bound_bytes > 55295 and "at least" in no.proof
    assert not neap.fits(vww, -1)
    with pytest.raises(neap.UsageError):
        neap.fits(vww, 1, inputs=[1])
    with pytest.raises(neap.UsageError):
        neap.fits(([1], []), 1, runtime="tflm")


def test_errors_have_parts(tmp_path):
    with pytest.raises(neap.FileError) as error:
        neap.plan(tmp_path / "no.tflite")
    assert error.value.file == str(tmp_path / "no.tflite") and isinstance(error.value, OSError)
    with pytest.raises(neap.BadInputError) as error:
        neap.plan(b"no model", name="m.tflite")
    assert error.value.file == "m.tflite" and error.value.message in str(error.value)
    unknown = {"tensors": [{"name": "x", "shape": ["batch", 4], "dtype": "int8"}], "inputs": ["x"], "outputs": ["x"],
               "ops": []}
    with pytest.raises(neap.NeapError):
        neap.plan(unknown)
    for data in (b"", b"\x00" * 100, b"{", b"TFL3TFL3" * 10):
        with pytest.raises(neap.NeapError):
            neap.plan(data)
    with pytest.raises(neap.UsageError):
        neap.plan(3)
    copy = pickle.loads(pickle.dumps(error.value))
    assert type(copy) is type(error.value) and str(copy) == str(error.value) and copy.file == "m.tflite"


def test_a_missing_dimension_is_named():
    onnx = pytest.importorskip("onnx")
    from onnx import TensorProto, helper

    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 8])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 8])
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    assert onnx is not None
    with pytest.raises(neap.MissingSizeError) as error:
        neap.plan(model)
    assert "x" in error.value.tensor and "batch" in error.value.hint
    assert neap.plan(model, dims={"batch": 2}).arena_bytes > 0


def test_an_interrupt_returns_the_best_plan():
    model = hard_model(3000)
    timer = threading.Timer(0.7, lambda: signal.raise_signal(signal.SIGINT))
    timer.start()
    plan = neap.plan(model, max_states=10**12)  # would take days
    timer.join()
    assert plan.interrupted
    plan.check()


def test_a_second_interrupt_raises():
    model = hard_model(3000)

    def twice():
        signal.raise_signal(signal.SIGINT)
        time.sleep(0.06)
        signal.raise_signal(signal.SIGINT)

    timer = threading.Timer(0.5, twice)
    timer.start()
    try:
        plan = neap.plan(model, max_states=10**9)
    except KeyboardInterrupt:
        pass
    else:  # the search ended between the two
        assert plan.interrupted
        with pytest.raises(KeyboardInterrupt):
            timer.join()  # the signal may reach this thread after it
            time.sleep(0.01)
    timer.join()


def test_progress():
    seen = []
    model = hard_model(1000)
    caller = threading.get_ident()
    neap.plan(model, time_limit=2, progress=lambda p: seen.append((p, threading.get_ident())))
    assert seen and {thread for _, thread in seen} == {caller}
    assert all(p.best_bytes >= p.lower_bound_bytes for p, _ in seen)

    def stop(_):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        neap.plan(model, time_limit=20, progress=stop)
    neap.plan(model, time_limit=0.5, progress=True)


def test_pictures(vww, branches):
    plan = neap.plan(vww, name="<b>vww</b>")
    text = plan._repr_html_()
    assert "46,080 B" in text and "sandbox='allow-scripts'" in text and "<b>vww" not in text
    outside = text.split("<iframe")[0]
    assert "<script" not in outside and "http" not in outside
    assert "<svg" in plan.to_html()
    read = neap.read_plan(branches, neap.plan(branches).to_json())
    assert "220 B" in read._repr_html_() and "<iframe" not in read._repr_html_()


def test_equal_calls_give_equal_plans(ds_cnn):
    assert neap.plan(ds_cnn).to_json() == neap.plan(ds_cnn, threads=1).to_json()


def test_explain_and_pareto(ds_cnn):
    report = neap.explain(ds_cnn, name="kws.tflite")
    assert "kws.tflite needs an arena of" in str(report) and report.data["schema_version"]
    assert "<pre>" in report._repr_html_()
    points = neap.pareto(ds_cnn, time_limit=20)
    arenas = [point.arena_bytes for point in points]
    assert arenas == sorted(arenas, reverse=True)
    assert "as given" in {point.kind for point in points}
    assert {point.kind for point in points if point.requires == "neap run or neap emit"} <= {"streamed"}
    assert min(point.arena_bytes for point in points) <= neap.plan(ds_cnn).arena_bytes
    with pytest.raises(neap.UsageError) as error:
        neap.pareto(ds_cnn, criteria="beauty")
    with pytest.raises(neap.UsageError, match="there is no 'nowhere'"):
        neap.pareto(ds_cnn, runtime="neap", input="nowhere")
    assert "--" not in str(error.value)


def test_zoo():
    assert "ds-cnn" in neap.zoo_names()
    assert neap.zoo("randwire-ws", seed=1, nodes=8) != neap.zoo("randwire-ws", seed=2, nodes=8)
    small = neap.zoo("mobilenet-v1", width_multiplier=0.25, resolution=96, int8=True)
    assert len(small) < 1_000_000
    for wrong in ({"name": "no-such"}, {"name": "ds-cnn", "format": "pdf"}, {"name": "ds-cnn", "int8": True, "format": "onnx"},
                  {"name": "mobilenet-v1", "width_multiplier": 0.1234}):
        with pytest.raises(neap.UsageError):
            neap.zoo(**wrong)
