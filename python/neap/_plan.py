# SPDX-License-Identifier: Apache-2.0
"""Plans of models."""

from __future__ import annotations

import html
import json
import os
import pathlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from neap import _neap, _progress
from neap._errors import OverBudgetError, UsageError, file_errors, file_exists, required, wrong_plan
from neap._graphs import Fit, graph_fits
from neap._models import ModelLike, Option, load, words
from neap._sizes import bytes_of, bytes_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from typing import TypeAlias

    Arrays: TypeAlias = "Mapping[str, NDArray[Any]]"


class TensorInfo(NamedTuple):
    """An input or output of the planned model."""

    name: str
    dtype: str
    """As numpy names it where numpy has the type: "int8", "float32"."""
    shape: tuple[int, ...] | None
    """None: unknown; -1: a dimension without a value."""


@dataclass(frozen=True)
class PlacedTensor:
    """A tensor of the planned model in the arena."""

    index: int
    """In the planned model."""
    name: str
    offset: int
    """Bytes from the start of its memory."""
    bytes: int
    """Exact, before rounding to the alignment."""
    first: int
    """The first slot in which it is live."""
    last: int
    """The slot after the last one."""
    memory: int
    """0 where there is one."""


def _infos(infos: list[tuple[str, str, list[int] | None]]) -> list[TensorInfo]:
    return [TensorInfo(name, dtype, None if shape is None else tuple(shape)) for name, dtype, shape in infos]


class Plan:
    """An execution order, an offset for every tensor, proven bounds, and the edits of the graph.

    ``neap.plan`` makes it. Its numbers are bytes. Order and offsets refer to the planned model: the
    given one with the plan's rewrites, as ``model_bytes()`` returns it.
    """

    def __init__(self, plan: _neap.Plan, model: _neap.Model) -> None:
        self._plan = plan
        self._model = model

    @property
    def arena_bytes(self) -> int:
        """Bytes to reserve for activations: the arena that the stock runtime allocates, if that is
        known, else the arena of the plan; with ``order_only`` the peak."""
        return self._plan.arena_bytes

    @property
    def peak_bytes(self) -> int:
        """The largest sum of live bytes over all steps."""
        return self._plan.peak_bytes

    @property
    def lower_bound_bytes(self) -> int:
        """Proven: no order and no placement of the planned graph needs less."""
        return self._plan.lower_bound_bytes

    @property
    def optimal(self) -> bool:
        """Whether no order and no placement of the planned graph needs less."""
        return self._plan.optimal

    @property
    def file_order_arena_bytes(self) -> int | None:
        """The arena of the given model in file order; None: unknown."""
        return self._plan.file_order_arena_bytes

    @property
    def total_arena_bytes(self) -> int | None:
        """The total arena of TensorFlow Lite Micro on the target, activations and persistent
        bytes; None: unknown."""
        return self._plan.total_arena_bytes

    @property
    def fits(self) -> bool | None:
        """Whether the plan is within all budgets; None: its need is unknown."""
        return self._plan.fits

    @property
    def kind(self) -> str:
        """"as given", "rewritten", "streamed" or "tiles"; "" for a plan that was read."""
        return self._plan.kind

    @property
    def runtime(self) -> str:
        """The runtime profile: "tflm", "litert", ..."""
        return self._plan.runtime

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the search: the plan is the best one found until then."""
        return self._plan.interrupted

    @property
    def order(self) -> list[int]:
        """Operators of the planned model's main graph, by index, in the order in which they run."""
        return self._plan.order

    @property
    def operator_types(self) -> list[str]:
        """The type of each operator of the planned model's main graph, by index."""
        return self._plan.operator_types

    @property
    def offsets(self) -> dict[int, int]:
        """Tensor of the planned model, by index, to its offset in bytes. Of a tensor that moves, the
        first one. ``tensors`` has names, sizes and lifetimes."""
        offsets: dict[int, int] = {}
        for tensor in self.tensors:
            offsets.setdefault(tensor.index, tensor.offset)
        return offsets

    @property
    def tensors(self) -> list[PlacedTensor]:
        """Every tensor in the arena; one that moves comes once for every place."""
        return [PlacedTensor(*tensor) for tensor in self._plan.tensors]

    @property
    def inputs(self) -> list[TensorInfo]:
        """The inputs of the planned model, in its order."""
        return _infos(self._plan.inputs)

    @property
    def outputs(self) -> list[TensorInfo]:
        """The outputs of the planned model, in its order."""
        return _infos(self._plan.outputs)

    @property
    def notes(self) -> list[str]:
        """Remarks of the planner, a line each."""
        return self._plan.notes

    @property
    def model_name(self) -> str:
        """The given model: its path, or the name that it was given."""
        return self._model.name

    @property
    def model_sha256(self) -> str:
        """SHA-256 of the given model's bytes, in hexadecimal."""
        return self._model.sha256

    def model_bytes(self) -> bytes:
        """The planned model as the bytes of a file of the given format, read back and compared.

        Raises UsageError for plans that no file can represent: streams, several memories.
        """
        return self._plan.model_bytes()

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Writes ``model_bytes()``, or for a path that ends in ``.json`` the plan.

        :param path: of a model it has the ending of the given model's format.
        :param force: replaces an existing file, and writes the model of a plan that exceeds its budget.

        A file is written as a whole or not at all. Raises OverBudgetError where ``fits`` is not True,
        UsageError for the ending of another format, FileError.
        """
        text = os.fspath(path)
        if text.endswith(".json"):
            return _write(text, self.to_json().encode(), force)
        ending = f".{self._model.format}"
        # Graph JSON has no model file: model_bytes() explains it.
        if ending in (".tflite", ".onnx") and not text.endswith(ending):
            raise UsageError(f"{text}: neap writes the format of the input, {ending} (use a name that ends in {ending})",
                             message=f"neap writes the format of the input, {ending}", file=text,
                             hint=f"use a name that ends in {ending}")
        self._require_fit(force)
        _write(text, self.model_bytes(), force)

    def _require_fit(self, force: bool) -> None:
        if force:
            return
        try:
            self._plan.require_fit()
        except OverBudgetError as error:
            hint = "force=True writes it"
            raise OverBudgetError(f"{error} ({hint})", message=error.message, file=error.file, hint=hint) from None

    def to_json(self) -> str:
        """The plan as plan.json."""
        return self._plan.json()

    def to_c(self, folder: str | os.PathLike[str], *, prefix: str = "", single_file: bool = False,
             force: bool = False) -> list[str]:
        """Writes C99 that runs the model in the planned arena, as ``neap emit`` does.

        :param folder: created if it does not exist.
        :param prefix: of all names in C. Default: the name of the model.
        :param single_file: one .c file that contains the runtime.
        :param force: replaces existing files, and writes a plan that exceeds its budget.
        :returns: the paths that were written.

        The plan may be of any runtime; ``runtime="neap"`` counts as the runtime of emitted C does.
        Raises BadInputError with the types of all operators without a kernel, OverBudgetError where
        ``fits`` is not True, and FileError. Nothing is written then.
        """
        self._require_fit(force)
        files, _, _ = self._plan.emit_c(prefix, single_file)
        paths = {pathlib.Path(folder) / name: data for name, data in files.items()}
        for path in paths:
            _check_absent(os.fspath(path), force)
        for path, data in paths.items():
            with file_errors(os.fspath(path.parent)):
                path.parent.mkdir(parents=True, exist_ok=True)
            _write(os.fspath(path), data, force)
        return [os.fspath(path) for path in paths]

    def check(self) -> None:
        """Checks the plan with code that shares nothing with the planner. Raises WrongPlanError."""
        violations = self._plan.check()
        if violations:
            raise wrong_plan(violations, self._model.name)

    def run(self, inputs: Arrays) -> dict[str, NDArray[Any]]:
        """Executes the planned model with Neap's own kernels in an arena of exactly the planned size.

        :param inputs: an array for every input of the model, by name, of its type and shape.
        :returns: an array for every output, by name.

        Raises WrongPlanError if the plan reads a byte that does not contain its tensor. Types that
        numpy lacks (bfloat16, int4) are arrays of uint8 with the tensor's bytes.
        """
        np = required("numpy", "Plan.run")
        given = dict(inputs)
        data: list[bytes] = []
        for info in self.inputs:
            if info.name not in given:
                raise UsageError(f"input '{info.name}' has no array; the model's inputs are "
                                 f"{', '.join(repr(known.name) for known in self.inputs)}")
            data.append(_bytes_of_array(given.pop(info.name), info, np))
        if given:
            raise UsageError(f"there is no input '{next(iter(given))}'; the model's inputs are "
                             f"{', '.join(repr(known.name) for known in self.inputs)}")
        outputs, violations = self._plan.run(data)
        if violations:
            raise wrong_plan(violations, self._model.name)
        arrays: dict[str, NDArray[Any]] = {}
        for info, (dtype, shape, raw) in zip(self.outputs, outputs):
            kind = _numpy_type(dtype, np)
            array = np.frombuffer(raw, dtype=kind or np.uint8)
            arrays[info.name] = (array.reshape(shape) if kind else array).copy()
        return arrays

    def to_html(self) -> str:
        """A self-contained page: live bytes over the steps and the memory map, before and after."""
        return self._plan.page()

    def __repr__(self) -> str:
        proof = "optimal" if self.optimal else f"at least {bytes_text(self.lower_bound_bytes)}"
        what = "arena" if self._plan.placed else "peak"
        return f"<neap.Plan {self._model.name}: {what} {bytes_text(self.arena_bytes)} in {self.runtime}, {proof}>"

    def _repr_html_(self) -> str:
        rows = [("arena" if self._plan.placed else "peak", bytes_text(self.arena_bytes))]
        before = self.file_order_arena_bytes
        if before is not None:
            rows.append(("in file order", bytes_text(before)))
        if self.total_arena_bytes is not None:
            rows.append(("total arena", bytes_text(self.total_arena_bytes)))
        rows.append(("proof", "optimal" if self.optimal else f"at least {bytes_text(self.lower_bound_bytes)}"))
        if self.fits is not None and self.kind:
            rows.append(("within the budget", "yes" if self.fits else "no"))
        table = "".join(f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
                        f"<td style='text-align:right'>{html.escape(value)}</td></tr>" for name, value in rows)
        title = f"{html.escape(os.path.basename(self._model.name))}, {html.escape(self.runtime)}"
        text = f"<table><caption>{title}</caption>{table}</table>"
        if not self.kind:
            return text
        # The frame is a document of its own that can reach nothing of the notebook. A notebook that
        # is not trusted removes it, and the table stays.
        return (f"{text}<iframe title='memory map' sandbox='allow-scripts' style='width:100%;height:32em;border:0' "
                f"srcdoc=\"{html.escape(self.to_html(), quote=True)}\"></iframe>")


def _check_absent(path: str, force: bool) -> None:
    if not force and os.path.lexists(path):
        raise file_exists(path)


def _write(path: str, data: bytes, force: bool) -> None:
    _check_absent(path, force)
    part = f"{path}.{os.getpid()}.part"
    with file_errors(path):
        try:
            with open(part, "xb") as file:
                file.write(data)
            os.replace(part, path)
        except BaseException:
            if os.path.exists(part):
                os.remove(part)
            raise


def _numpy_type(dtype: str, np: Any) -> Any | None:
    """The type of numpy with this name; None: numpy has none."""
    known = {"bool", "int8", "uint8", "int16", "uint16", "float16", "int32", "uint32", "float32", "int64", "uint64",
             "float64", "complex64", "complex128"}
    return np.dtype(dtype) if dtype in known else None


def _bytes_of_array(array: NDArray[Any], info: TensorInfo, np: Any) -> bytes:
    kind = _numpy_type(info.dtype, np)
    given = np.asarray(array)
    wanted = kind if kind is not None else np.dtype(np.uint8)
    if given.dtype != wanted:
        raise UsageError(f"input '{info.name}' is {given.dtype}, expected {wanted}")
    if kind is not None and info.shape is not None and given.shape != info.shape:
        raise UsageError(f"input '{info.name}' has the shape {given.shape}, expected {info.shape}")
    return bytes(np.ascontiguousarray(given).tobytes())


def plan(
    model: ModelLike,
    *,
    runtime: str | None = None,
    budget: int | str | None = None,
    overlap: str | None = None,
    cascade: str | None = None,
    dims: Mapping[str, int] | None = None,
    time_limit: float | None = None,
    progress: _progress.ProgressLike = None,
    name: str | None = None,
    **options: Option,
) -> Plan:
    """Finds the plan with the smallest arena, within the limits of the options, and checks it.

    :param model: a path, the bytes of a .tflite or .onnx file, an ``onnx.ModelProto``, or graph JSON
        as a dict.
    :param runtime: "tflm", "litert", "onnxruntime", "neap", "ideal" or "ideal-inplace". Default:
        "tflm" for .tflite, else "ideal".
    :param budget: bytes, or a text such as "256KiB". ``Plan.fits`` compares with it; tiles and
        streams are searched where nothing else fits.
    :param overlap: kernels whose outputs may reuse the memory of inputs, such as "tflm-reference".
    :param cascade: "auto": search for tiles; "off".
    :param dims: values of symbolic dimensions.
    :param time_limit: seconds. Results may then differ between runs. Default: counted work, at most
        about half a minute of one core, with equal results on every machine.
    :param progress: True: a bar of tqdm, else a line on a terminal; or a function of ``Progress``,
        called on this thread a few times a second. An exception of it ends the search.
    :param name: of a model without a path; appears in messages and in the plan.
    :param options: further options of ``neap plan``: ``order_only=True``, ``max_states=10_000``,
        ``rewrite="none"``; ``-`` in a name is ``_``.

    Releases the interpreter's lock. Ctrl-C ends the search, and the best plan is returned with
    ``interrupted`` set; a second Ctrl-C raises KeyboardInterrupt.
    """
    read = load(model, dims, name)
    given = words({"runtime": runtime, "budget": budget, "overlap": overlap, "cascade": cascade,
                   "time_limit": time_limit, **options})
    with _progress.shown(progress) as call:
        return Plan(_neap.make_plan(read, given, call), read)


def _dims_of(plan_json: str) -> dict[str, int]:
    """The dimensions with which the plan was made; {}: the text is not a plan, which its reader reports."""
    try:
        return {key: int(value) for key, value in
                (binding.split("=", 1) for binding in json.loads(plan_json).get("dims", []))}
    except (AttributeError, TypeError, ValueError):
        return {}


def read_plan(model: ModelLike, plan_json: str | os.PathLike[str], *, dims: Mapping[str, int] | None = None,
              name: str | None = None) -> Plan:
    """The plan in ``plan_json``, a path or the text of a plan.json, for the model that it was made of.

    The plan has neither the numbers of its runtime nor those of the file order.
    """
    text = os.fspath(plan_json)
    if not text.lstrip().startswith("{"):
        with file_errors(text):
            data = pathlib.Path(text).read_bytes()
        text = data.decode("utf-8", "replace")  # what is not JSON is refused below
    if dims is None:
        dims = _dims_of(text)
    read = load(model, dims, name)
    return Plan(_neap.parse_plan(read, text), read)


def fits(
    model: ModelLike | tuple[Any, Any],
    budget: int | str,
    *,
    dims: Mapping[str, int] | None = None,
    name: str | None = None,
    inputs: Any = None,
    outputs: Any = None,
    scratch: Any = None,
    max_states: int = 0,
    **options: Option,
) -> Fit:
    """Whether some execution order has a peak of at most ``budget`` bytes, and the proof.

    :param model: a model as for ``neap.plan``, or a pair of arrays ``(sizes, edges)`` as for
        ``neap.peak``, with its ``inputs``, ``outputs`` and ``scratch``.
    :param budget: bytes, or a text such as "256KiB".
    :param max_states: limit of the search. 0: as many states as take a few seconds.

    The search ends as soon as the answer is known, and places nothing: for architecture searches
    over thousands of candidates. The graph stays as it is, without rewrites and tiles.
    ``neap.plan(model, budget=...).fits`` compares the arena of a placed plan.
    """
    if isinstance(model, tuple):
        if options or dims or name:
            unknown = next(iter([*options, *(["dims"] if dims else []), "name"]))
            raise UsageError(f"{unknown} is not applicable to a graph of arrays")
        return graph_fits(model, budget, inputs=inputs, outputs=outputs, scratch=scratch, max_states=max_states)
    if inputs is not None or outputs is not None or scratch is not None:
        raise UsageError("inputs, outputs and scratch are those of a graph of arrays")
    budget_bytes = bytes_of(budget)
    given = words({"max_states": max_states or None, **options})
    return Fit(budget_bytes, *_neap.peak_within(load(model, dims, name), budget_bytes, given))
