# SPDX-License-Identifier: Apache-2.0
"""TensorFlow and Keras models, converted to .tflite and planned in one call; LiteRT interpreters of plans."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from neap._errors import MissingPackageError, UsageError, required
from neap._plan import Plan
from neap._plan import plan as plan_model

if TYPE_CHECKING:
    from typing import TypeAlias

    import numpy as np
    from numpy.typing import NDArray

    Sample: TypeAlias = "NDArray[np.generic] | tuple[NDArray[np.generic], ...] | list[NDArray[np.generic]]"


def convert(model: Any, *, representative: Iterable[Sample] | None = None) -> bytes:
    """The bytes of a .tflite file, made by TensorFlow's converter.

    :param model: a Keras model, or the path of the folder of a SavedModel.
    :param representative: inputs of the model: arrays with the batch dimension, or a tuple of them for a
        model of several inputs. The converter measures ranges with them and quantises to int8, inputs
        and outputs included. Default: the model stays as it is.

    Needs the package tensorflow (or tensorflow-cpu), which writes its own messages to stderr.
    """
    tf: Any = required("tensorflow", "neap.tflite.convert")
    converter: Any
    if isinstance(model, (str, os.PathLike)):
        path = os.fspath(model)
        if not os.path.isdir(path):
            raise UsageError(f"{path}: expected the folder of a SavedModel")
        try:
            converter = tf.lite.TFLiteConverter.from_saved_model(path)
        except (OSError, ValueError) as error:
            raise UsageError(f"{path}: TensorFlow cannot read this SavedModel: {_first_line(error)}") from error
    elif isinstance(model, tf.keras.Model):
        converter = tf.lite.TFLiteConverter.from_keras_model(model)
    else:
        raise UsageError(f"a model is {type(model).__name__}, expected a Keras model or the path of a SavedModel")
    if representative is not None:
        samples = [list(sample) if isinstance(sample, (tuple, list)) else [sample] for sample in representative]
        if not samples:
            raise UsageError("representative is empty, expected at least one input")
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.representative_dataset = lambda: iter(samples)
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        converter.inference_input_type = tf.int8
        converter.inference_output_type = tf.int8
    try:
        return bytes(converter.convert())
    except Exception as error:  # of many types, some of them private to TensorFlow
        raise UsageError(f"TensorFlow cannot convert the model: {_first_line(error)}") from error


def plan(
    model: Any,
    *,
    representative: Iterable[Sample] | None = None,
    name: str | None = None,
    **options: Any,
) -> Plan:
    """``neap.plan`` of the converted model.

    :param model: as for ``convert``.
    :param representative: as for ``convert``.
    :param name: the file name in messages and in the plan.
    :param options: as for ``neap.plan``.
    """
    return plan_model(convert(model, representative=representative), name=name or "model.tflite", **options)


def interpreter(model: Plan | bytes, **arguments: Any) -> Any:
    """An interpreter of LiteRT with its tensors allocated, for a plan of a .tflite model or its bytes.

    :param arguments: of the interpreter's class, such as ``num_threads``.

    Needs the package ai-edge-litert or tensorflow; the first is taken if both are installed. LiteRT runs
    the operators of a written model in their planned order. It places tensors by its own planner.
    """
    content = model.model_bytes() if isinstance(model, Plan) else bytes(model)
    if content[4:8] != b"TFL3":
        raise UsageError("the model is no .tflite file, which LiteRT expects")
    try:
        module: Any = required("ai_edge_litert.interpreter", "neap.tflite.interpreter", package="ai-edge-litert")
    except MissingPackageError:
        if importlib.util.find_spec("tensorflow") is None:
            raise
        module = required("tensorflow", "neap.tflite.interpreter").lite
    made = module.Interpreter(model_content=content, **arguments)
    made.allocate_tensors()
    return made


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
