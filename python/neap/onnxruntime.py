# SPDX-License-Identifier: Apache-2.0
"""Sessions of ONNX Runtime that follow the planned order."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from neap._errors import UsageError, required
from neap._models import ModelLike, load
from neap._plan import Plan, plan

if TYPE_CHECKING:
    import onnxruntime


def optimised(model: ModelLike, *, name: str | None = None) -> bytes:
    """The model that ONNX Runtime would run: with its own fusions, before Neap orders it.

    :param model: an .onnx model as for ``neap.plan``.
    """
    ort = required("onnxruntime", "neap.onnxruntime")
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.log_severity_level = 3
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "optimised.onnx")
        options.optimized_model_filepath = path
        ort.InferenceSession(_source(model, name), options, providers=["CPUExecutionProvider"])
        with open(path, "rb") as file:
            return file.read()


def session(
    model: ModelLike | Plan,
    *,
    dims: Mapping[str, int] | None = None,
    name: str | None = None,
    profile: bool = False,
    **options: Any,
) -> onnxruntime.InferenceSession:
    """An ``onnxruntime.InferenceSession`` on the CPU that runs the operators in the planned order.

    :param model: an .onnx model as for ``neap.plan``, which is optimised by ONNX Runtime and planned;
        or a plan of an .onnx model.
    :param profile: with ONNX Runtime's profile, which ``executed_order`` reads.
    :param options: as for ``neap.plan``.

    ONNX Runtime runs `Shape` and `Size` as soon as they are ready, regardless of the plan.
    """
    ort = required("onnxruntime", "neap.onnxruntime")
    if not isinstance(model, Plan):
        model = plan(optimised(model, name=name), runtime="onnxruntime", dims=dims, name=name or "model.onnx", **options)
    settings = ort.SessionOptions()
    settings.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    settings.execution_order = ort.ExecutionOrder.PRIORITY_BASED
    settings.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
    settings.log_severity_level = 3
    if profile:
        settings.enable_profiling = True
        settings.profile_file_prefix = os.path.join(tempfile.gettempdir(), f"neap-{os.getpid()}")
    return ort.InferenceSession(model.model_bytes(), settings, providers=["CPUExecutionProvider"])


def executed_order(used: onnxruntime.InferenceSession) -> list[int]:
    """The node indices of the session's model in the order in which they ran, of a session with
    ``profile=True`` after its first run. Ends the profile and removes its file."""
    import json

    path = used.end_profiling()
    with open(path, encoding="utf-8") as file:
        events = json.load(file)
    os.remove(path)
    runs = [event for event in events if event.get("name", "").endswith("_kernel_time") and "args" in event]
    order: list[int] = []
    for event in sorted(runs, key=lambda event: int(event["ts"])):
        index = int(event["args"]["node_index"])
        if index in order:
            break  # of the second run
        order.append(index)
    return order


def _source(model: ModelLike, name: str | None) -> Any:
    if isinstance(model, (str, os.PathLike)):
        return os.fspath(model)
    if isinstance(model, Mapping):
        raise UsageError("graph JSON is not a model of ONNX Runtime")
    read = load(model, None, name)
    if read.format != "onnx":
        raise UsageError(f"the model is {read.format}, expected onnx")
    return model if isinstance(model, bytes) else bytes(model) if isinstance(model, (bytearray, memoryview)) \
        else model.SerializeToString()
