# SPDX-License-Identifier: Apache-2.0
"""Reports on models, and networks of the zoo."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from neap import _neap, _progress
from neap._errors import UsageError
from neap._models import ModelLike, Option, load, words


@dataclass(frozen=True)
class Explanation:
    """Why a model needs its memory, and how far each feature lowers it: ``str()`` is the text of
    ``neap explain``."""

    text: str
    data: dict[str, Any]
    """As schemas/explain-report.schema.json."""
    interrupted: bool

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"


def explain(
    model: ModelLike,
    *,
    runtime: str | None = None,
    dims: Mapping[str, int] | None = None,
    time_limit: float = 0,
    progress: _progress.ProgressLike = None,
    name: str | None = None,
) -> Explanation:
    """Plans the model with a fixed table of features and reports what each saves.

    :param time_limit: seconds of all searches together. 0: counted work, at most about 20 s of one
        core. Other parameters: as for ``neap.plan``.
    """
    read = load(model, dims, name)
    with _progress.shown(progress) as call:
        text, data, interrupted = _neap.explain(read, runtime or "", float(time_limit), call)
    return Explanation(text, json.loads(data), interrupted)


@dataclass(frozen=True)
class ParetoPoint:
    """A plan that no other one beats in memory and time."""

    kind: str
    """"as given", "rewritten", "tiles", "rewritten and tiles" or "streamed"."""
    requires: str | None
    """What the plan requires of the user, such as "TFLM reference kernels"; None: nothing."""
    arena_bytes: int
    total_arena_bytes: int | None
    macs_ratio: float
    """Multiply-accumulates, relative to the model as given."""
    cycles: int
    """Modelled for the device."""
    data: dict[str, Any]
    """As schemas/pareto-report.schema.json."""


def pareto(
    model: ModelLike,
    *,
    runtime: str | None = None,
    dims: Mapping[str, int] | None = None,
    criteria: str = "",
    features: str = "all",
    input: str = "resident",
    time_limit: float = 0,
    name: str | None = None,
    **options: Option,
) -> list[ParetoPoint]:
    """The plans that no other plan beats without more requirements, in the order of ``neap pareto``.

    :param criteria: some of "arena,total,cycles,macs". Default: as ``neap pareto``.
    :param features: "all": rewriting, overlaps, tiles and streams; "tiles": the model as given, in tiles.
    :param input: with ``runtime="neap"``: "resident", "external" or "rows".
    :param options: "device", "overlap", "integer_io", ... as ``neap pareto``.

    Ctrl-C ends the search; the points found until then are returned.
    """
    given = words({"runtime": runtime, **options})
    _, data, _ = _neap.pareto(load(model, dims, name), given, criteria, features, input, float(time_limit))
    return [ParetoPoint(point["kind"], point["requires"], point["arena_bytes"], point["total_arena_bytes"], point["macs_ratio"], point["cycles"], point)
            for point in json.loads(data)["points"]]


def zoo_names() -> dict[str, str]:
    """The networks of the zoo: name to a line with its source."""
    return dict(_neap.zoo_names())


def zoo(
    name: str,
    *,
    format: str | None = None,
    int8: bool = False,
    seed: int = 0,
    width_multiplier: float = 0,
    resolution: int = 0,
    width: int = 0,
    nodes: int = 0,
) -> bytes:
    """A published network with seeded random weights, as the bytes of a model file.

    :param name: one of ``zoo_names()``.
    :param format: "onnx" or "tflite". Default: "tflite" with ``int8``, else "onnx".
    :param int8: 8-bit weights and activations, inputs and outputs included.
    :param seed: of random wiring and weights.
    :param width_multiplier: mobilenet-v1 and -v2: channels relative to the published ones, with at
        most three decimals.
    :param resolution: mobilenet-v1 and -v2: height and width of the input.
    :param width: channels of the first cell. 0: as published.
    :param nodes: nodes of a random cell. 0: as published.

    The same bytes for the same arguments on every machine.
    """
    thousandths = round(width_multiplier * 1000)
    if abs(thousandths - width_multiplier * 1000) > 1e-6 or thousandths < 0:
        raise UsageError(f"width_multiplier is {width_multiplier}, expected a number with at most three decimals")
    return _neap.zoo(name, format or ("tflite" if int8 else "onnx"), int8, seed, thousandths, resolution, width, nodes)
