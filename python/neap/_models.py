# SPDX-License-Identifier: Apache-2.0
"""Models as callers pass them, and options by name."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from neap import _neap
from neap._errors import UsageError

if TYPE_CHECKING:
    from typing import TypeAlias


@runtime_checkable
class ModelProto(Protocol):
    """An ``onnx.ModelProto``, or another message with its bytes."""

    def SerializeToString(self) -> bytes:  # noqa: N802 - protobuf's name
        """The bytes of a file."""
        ...


ModelLike: TypeAlias = "str | os.PathLike[str] | bytes | bytearray | memoryview | Mapping[str, Any] | ModelProto"
"""A path, the bytes of a .tflite or .onnx file, an ``onnx.ModelProto``, or graph JSON as a dict."""

Option: TypeAlias = "bool | int | float | str | list[str] | tuple[str, ...] | None"


def load(model: ModelLike, dims: Mapping[str, int] | None = None, name: str | None = None) -> _neap.Model:
    """Reads a model. ``name`` appears in messages and plans; its ending decides the format if the
    first bytes do not."""
    bindings = [f"{key}={value}" for key, value in (dims or {}).items()]
    if isinstance(model, (str, os.PathLike)):
        path = os.fspath(model)
        # "-" is standard input for the command line; here it is a file.
        return _neap.read_model("./-" if path == "-" else path, bindings)
    if isinstance(model, (bytes, bytearray, memoryview)):
        data = bytes(model)
        ending = "model.tflite" if data[4:8] == b"TFL3" else "graph.json" if data[:1] == b"{" else "model.onnx"
        return _neap.parse_model(data, name or ending, bindings)
    if isinstance(model, Mapping):
        return _neap.parse_model(json.dumps(model).encode(), name or "graph.json", bindings)
    if isinstance(model, ModelProto):
        return _neap.parse_model(model.SerializeToString(), name or "model.onnx", bindings)
    raise UsageError(f"a model is {type(model).__name__}, expected a path, bytes, an onnx.ModelProto or a dict")


def words(options: Mapping[str, Option]) -> list[tuple[str, str]]:
    """Keyword arguments as options of the library: ``time_limit=5`` is "time-limit", "5"; True is
    a flag; None and False are left out; a list sets its option once for each element."""
    out: list[tuple[str, str]] = []
    for key, value in options.items():
        if value is None or value is False:
            continue
        name = key.replace("_", "-")
        if isinstance(value, (list, tuple)):
            out += [(name, str(element)) for element in value]
        else:
            out.append((name, "" if value is True else str(value)))
    return out
