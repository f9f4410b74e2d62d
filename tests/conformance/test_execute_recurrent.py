# SPDX-License-Identifier: Apache-2.0
"""neap run on recurrent operators beside the stock runtimes, which do not run all of them."""

import itertools

import pytest

pytest.importorskip("tflite_micro", reason="no wheel of tflite_micro")

from recurrent_models import lstm_float, lstm_int8, svdf_float, svdf_int8
from test_execute import FLOAT_BOUND, distance, outputs_of, stock

SEEDS = range(1, 6)
MODELS = {f"svdf-float-{activation}": lambda seed, a=activation: svdf_float(seed, activation=a)
          for activation in (0, 1, 3)}
MODELS["svdf-int8"] = svdf_int8
MODELS["lstm-float-projection"] = lambda seed: lstm_float(seed, outputs=3, projection_clip=0.3)
for time_major, coupled, peepholes, norms in itertools.product((False, True), repeat=4):
    words = [word for word, on in (("time", time_major), ("coupled", coupled),
                                   ("peepholes", peepholes), ("norms", norms)) if on]
    MODELS["-".join(["lstm-float", *words])] = \
        lambda seed, t=time_major, c=coupled, p=peepholes, n=norms: lstm_float(
            seed, time_major=t, coupled=c, peepholes=p, norms=n, cell_clip=0.5 * (seed % 2))
for power in (-9, -10, -11, -12, -13, -15):
    MODELS[f"lstm-int8-cell{power}"] = lambda seed, p=power: lstm_int8(
        seed, cell_power=p, cell_clip=0.7 if seed % 2 else 0.0)
MODELS["lstm-int8-time"] = lambda seed: lstm_int8(seed, batches=3, time_major=True)
MODELS["lstm-int8-batches"] = lambda seed: lstm_int8(seed, batches=3)
MODELS["lstm-int8-zero"] = lambda seed: lstm_int8(seed, state_zero=11, hidden_zero=11)
MODELS["lstm-int8-coupled"] = lambda seed: lstm_int8(seed, coupled=True)
MODELS["lstm-int8-large"] = lambda seed: lstm_int8(seed, size=0.1, steps=12)


@pytest.mark.parametrize("runtime", ["litert", "tflm"])
@pytest.mark.parametrize("name", MODELS)
def test_recurrent(neap, name, runtime, table, tmp_path):
    pytest.importorskip("ai_edge_litert" if runtime == "litert" else "tflite_micro")
    compared = 0
    for seed in SEEDS:
        path = tmp_path / f"{seed}.tflite"
        path.write_bytes(MODELS[name](seed))
        runs = stock(runtime, path, tmp_path, [seed])
        if runs is None:
            continue
        inputs, theirs = runs[seed]
        ours, why = outputs_of(neap, path, inputs, tmp_path, "--kernels", runtime)
        assert ours is not None, why
        far = distance(ours, theirs)
        assert far == 0 if theirs[0].dtype.kind == "i" else far <= FLOAT_BOUND
        compared += 1
    table(f"recurrent operators compared with {runtime}", f"{name}: {compared} models")
    if compared == 0:
        pytest.skip(f"{runtime} does not run it")
