# SPDX-License-Identifier: Apache-2.0
"""Emitted C beside the stock runtimes, byte by byte: TFLM's reference kernels for int8, LiteRT's for uint8."""

import pathlib
import shutil
import sys

import numpy
import pytest

from conftest import SHARED
from test_execute import stock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "emit"))
import emitted  # noqa: E402

# Models whose operators all have kernels, and the runtime whose bytes count.
MODELS = {
    "Efinix-Inc+tinyml/yolo_person_detect.tflite": "tflm",
    "Efinix-Inc+tinyml/mediapipe_face_landmark.tflite": "tflm",
    "SiliconLabs+mltk/keyword_spotting_on_off_v3.tflite": "tflm",
    "anilsathyan7+Portrait-Segmentation/prisma_quant.tflite": "tflm",
    "emza-vs+ModelZoo/ssd_slim_120x160x1_v1_int8.tflite": "tflm",
    "google-coral+edgetpu/mobilenet_edgetpu_0.75_224_post_training_quant.tflite": "litert",
    "google-coral+test_data/mobilenet_v1_0.75_192_quant.tflite": "litert",
    "google-coral+test_data/mobilenet_v1_1.0_224_quant_embedding_extractor.tflite": "litert",
    "google-coral+test_data/mobilenet_v2_1.0_224_quant.tflite": "litert",
    "google-coral+test_data/split_concat.tflite": "litert",
    "mit-han-lab+proxylessnas/proxyless_gaze_quantized.tflite": "litert",  # TFLM fails to allocate
    "mlcommons+tiny/ad01_int8.tflite": "tflm",
    "mlcommons+tiny/kws_ref_model.tflite": "tflm",
    "mlcommons+tiny/pretrainedResnet_quant.tflite": "tflm",
    "mlcommons+tiny/str_ww_ref_model.tflite": "tflm",
    "mlcommons+tiny/vww_96_int8.tflite": "tflm",
    "newwhitecheng+vwwc19-submission/swiftnet-vww-224-uint8.tflite": "litert",
    "sipeed+TinyMaix/mnist_resnet_q.tflite": "tflm",
    "tensorflow+tflite-micro/micro_speech_quantized.tflite": "tflm",
    "tensorflow+tflite-micro/person_detect.tflite": "tflm",
}
# Float inputs and outputs behind QUANTIZE and DEQUANTIZE: without those (--integer-io both).
FLOAT_INTERFACE = {
    "mit-han-lab+tinyengine/mcunet_detection.tflite": "tflm",
    "terryky+tflite_gles_app/face_detection_front_128_full_integer_quant.tflite": "litert",
    "terryky+tflite_gles_app/face_landmark_192_full_integer_quant.tflite": "litert",
    "terryky+tflite_gles_app/object_detection_3d_chair_640x480_integer_quant.tflite": "litert",
    "terryky+tflite_gles_app/pose_detection_128x128_integer_quant.tflite": "litert",
}
RUNTIMES = {**MODELS, **FLOAT_INTERFACE}
SHORT = [name for name in MODELS if name.startswith(("mlcommons", "newwhite", "tensorflow", "sipeed"))]
# Plans of all kinds. None of them may be refused; streams need a first operator that reads in parts.
WAYS = {
    "whole": ("--stream", "off"),
    "tflm-overlap": ("--runtime", "tflm", "--overlap", "tflm-reference"),
    "tiles": ("--runtime", "tflm", "--cascade", "auto"),
    "shared": ("--runtime", "tflm", "--cascade", "auto", "--cascade-bodies", "shared"),
    "resident": (),
    "external": ("--input", "external"),
    "rows": ("--input", "rows"),
}
SEEDS = {False: range(1, 3), True: range(1, 6)}


def pytest_generate_tests(metafunc):
    if "model" in metafunc.fixturenames:
        models = list(RUNTIMES) if metafunc.config.getoption("--long") else SHORT
        found = [name for name in models if (SHARED / "models" / name).exists()]
        metafunc.parametrize("model", found or [pytest.param("", marks=pytest.mark.skip(f"no models in {SHARED}"))])


@pytest.fixture(scope="module")
def runs(request):
    """Inputs and outputs of the stock runtime by model, computed once."""
    return {}


@pytest.mark.parametrize("way", WAYS)
def test_emitted(neap, model, way, runs, table, tmp_path, request):
    if shutil.which("gcc") is None:
        pytest.skip("there is no gcc")
    runtime = RUNTIMES[model]
    pytest.importorskip("ai_edge_litert" if runtime == "litert" else "tflite_micro")
    seeds = SEEDS[request.config.getoption("--long")]
    path = SHARED / "models" / model
    if model in FLOAT_INTERFACE:
        path = tmp_path / "integer.tflite"
        written = neap.run("plan", SHARED / "models" / model, "--integer-io", "both", "--order", "file", "--rewrite", "none",
                           "--runtime", "ideal", "-o", path)
        assert written.returncode == 0, written.stderr.decode()
    if model not in runs:
        runs[model] = stock(runtime, path, tmp_path, seeds)
    if runs[model] is None:
        pytest.skip(f"{runtime} does not run it")
    limit = ("--max-states", "50000") if model in SHORT else ("--effort", "quick")  # large images take minutes
    result = neap.run("emit", path, "-o", tmp_path / "out", "--prefix", "net", *limit, *WAYS[way], timeout=600)
    errors = result.stderr.decode(errors="replace").strip()
    if "cannot be streamed" in errors:
        pytest.skip(errors)
    assert result.returncode == 0, errors
    network = emitted.Network(tmp_path / "out", "net")
    if way == "external" and "net_input" in network.header:
        pytest.skip("no part of it is streamed")
    for seed, (inputs, outputs) in runs[model].items():
        network.write_seed(seed, [numpy.ascontiguousarray(array).tobytes() for array in inputs],
                           [numpy.ascontiguousarray(array).tobytes() for array in outputs])
    assert network.compile("gcc") == ""
    assert network.run(seeds) == ""
    table("emitted C: arena in bytes", f"{model}, {way}: {network.arena_bytes}")
