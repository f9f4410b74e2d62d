# SPDX-License-Identifier: Apache-2.0
"""Models of TensorFlow and Keras, converted, planned and run; skipped where TensorFlow is not installed."""

import builtins
import sys

import numpy as np
import pytest

import neap
import neap.tflite


@pytest.fixture(scope="module")
def tf():
    return pytest.importorskip("tensorflow", reason="tensorflow is not installed: conversions were not tested")


@pytest.fixture(scope="module")
def two_branches(tf):
    """Two branches that an addition joins."""
    tf.keras.utils.set_random_seed(1)
    given = tf.keras.Input((16, 16, 3))
    wide = tf.keras.layers.Conv2D(32, 3, padding="same", activation="relu")(given)
    wide = tf.keras.layers.Conv2D(4, 1)(wide)
    thin = tf.keras.layers.Conv2D(16, 3, padding="same", activation="relu")(given)
    thin = tf.keras.layers.Conv2D(4, 1)(thin)
    out = tf.keras.layers.GlobalAveragePooling2D()(tf.keras.layers.Add()([wide, thin]))
    return tf.keras.Model(given, tf.keras.layers.Dense(3)(out))


@pytest.fixture(scope="module")
def images():
    return np.random.default_rng(1).random((8, 16, 16, 3), np.float32)


def run(interpreter, values):
    (given,), (result,) = interpreter.get_input_details(), interpreter.get_output_details()
    interpreter.set_tensor(given["index"], values)
    interpreter.invoke()
    return interpreter.get_tensor(result["index"])


def test_a_keras_model_in_one_call(two_branches, images):
    import neap.keras

    plan = neap.keras.plan(two_branches, representative=[image[None] for image in images], budget="64KiB", name="two.tflite")
    assert plan.fits and plan.optimal
    plan.check()
    (given,) = plan.inputs
    assert given.dtype == "int8" and tuple(given.shape) == (1, 16, 16, 3)
    values = np.random.default_rng(2).integers(-128, 128, given.shape, np.int8)
    (here,) = plan.run({given.name: values}).values()
    original = neap.keras.convert(two_branches, representative=[image[None] for image in images])
    reference = run(neap.tflite.interpreter(original, experimental_op_resolver_type=_reference()), values)
    assert here.tobytes() == reference.tobytes()
    planned = run(neap.tflite.interpreter(plan, experimental_op_resolver_type=_reference()), values)
    assert planned.tobytes() == reference.tobytes()
    assert len(set(here.ravel().tolist())) > 1


def _reference():
    """The kernels of the references, on which bytes are compared."""
    try:
        from ai_edge_litert.interpreter import OpResolverType
    except ImportError:
        from tensorflow.lite import experimental
        return experimental.OpResolverType.BUILTIN_REF
    return OpResolverType.BUILTIN_REF


def test_a_saved_model(tf, two_branches, tmp_path):
    two_branches.export(str(tmp_path / "saved"), verbose=False)
    plan = neap.tflite.plan(tmp_path / "saved")
    assert plan.inputs[0].dtype == "float32" and plan.arena_bytes > 0


def test_what_is_no_model(tf, two_branches, tmp_path):
    for wrong, text in ((3, "a model is int"), (tmp_path / "absent", "expected the folder"), (tmp_path, "cannot read")):
        with pytest.raises(neap.UsageError, match=text):
            neap.tflite.convert(wrong)
    with pytest.raises(neap.UsageError, match="representative is empty"):
        neap.tflite.convert(two_branches, representative=[])
    with pytest.raises(neap.UsageError, match="cannot convert"):
        neap.tflite.convert(two_branches, representative=[np.zeros((1, 5), np.float32)])


def test_an_interpreter_of_another_format(swiftnet):
    with pytest.raises(neap.UsageError, match="no .tflite"):
        neap.tflite.interpreter(swiftnet)


def test_without_the_packages(monkeypatch, vww):
    original = builtins.__import__

    def absent(name, *others, **more):
        if name.split(".")[0] in ("tensorflow", "ai_edge_litert"):
            raise ModuleNotFoundError(f"No module named '{name}'", name=name.split(".")[0])
        return original(name, *others, **more)

    for name in [name for name in sys.modules if name.split(".")[0] in ("tensorflow", "ai_edge_litert")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", absent)
    monkeypatch.setattr("importlib.import_module", lambda name: absent(name) and sys.modules[name])
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(neap.MissingPackageError, match=r"needs the package tensorflow.*pip install tensorflow"):
        neap.tflite.convert(None)
    with pytest.raises(neap.MissingPackageError, match="needs the package ai-edge-litert"):
        neap.tflite.interpreter(vww)
