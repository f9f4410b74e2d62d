# SPDX-License-Identifier: Apache-2.0
"""Sessions follow the plan, and compute the same outputs as the given model."""

import numpy as np
import pytest

import neap

ort = pytest.importorskip("onnxruntime")


@pytest.mark.parametrize("name", ["swiftnet-cell-a", "randwire-ws"])
def test_a_session_follows_the_plan(name):
    from neap.onnxruntime import executed_order, optimised, session

    model = neap.zoo(name)
    plan = neap.plan(optimised(model), runtime="onnxruntime", name="model.onnx")
    used = session(plan, profile=True)
    given = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
    outputs = []
    for seed in range(2):
        inputs = {one.name: np.random.default_rng(seed).random(one.shape, np.float32) for one in given.get_inputs()}
        (here,), (there,) = used.run(None, inputs), given.run(None, inputs)
        np.testing.assert_allclose(here, there, rtol=1e-3, atol=1e-4)
        outputs.append(here.tobytes())
    assert outputs[0] != outputs[1]
    # The written model has its nodes in the planned order: ONNX Runtime runs them one after the other.
    order = executed_order(used)
    assert len(order) == len(plan.order) and order == sorted(order)


def test_a_session_of_a_model(swiftnet, vww):
    from neap.onnxruntime import session

    assert session(swiftnet).get_inputs()
    for wrong in (vww, {"tensors": [], "inputs": [], "outputs": [], "ops": []}):
        with pytest.raises(neap.UsageError):
            session(wrong)
