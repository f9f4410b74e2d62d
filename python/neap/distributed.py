# SPDX-License-Identifier: Apache-2.0
"""Many models or graphs, planned on this machine's processes, or on a Ray or Dask cluster."""

from __future__ import annotations

import concurrent.futures
import os
import pathlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import neap
from neap._errors import NeapError, UsageError, required
from neap._models import Option
from neap.store import Store, key_of

if TYPE_CHECKING:
    from typing import TypeAlias

    Engine: TypeAlias = Literal["local", "ray", "dask"]

Item: TypeAlias = "str | os.PathLike[str] | bytes | tuple[Any, Any]"
"""A path, the bytes of a model, or a graph as a pair of arrays (sizes, edges)."""

# Items that are sent at once. With fewer items the chunks are smaller, so that several workers have some.
_MAX_CHUNK = 16
_MIN_CHUNKS = 32


@dataclass(frozen=True)
class Answer:
    """The numbers of one item, or its error. Bytes."""

    peak_bytes: int | None
    lower_bound_bytes: int | None
    """Of a graph: of the peak. Of a model: of the arena."""
    arena_bytes: int | None
    """None for graphs, which are not placed."""
    optimal: bool
    error: str | None
    """One line; None: there is none."""


@dataclass(frozen=True)
class _Work:
    """An item as it is sent to a worker: bytes alone, so that its key needs no file of the worker."""

    data: bytes | None
    name: str
    graph: tuple[bytes, bytes] | None
    error: str | None
    key: str


def _work_of(item: Item, request: dict[str, Any]) -> _Work:
    if isinstance(item, tuple):
        np = required("numpy", "a graph of plan_many")
        try:
            sizes, edges = (np.ascontiguousarray(np.asarray(part, dtype=np.int64)) for part in item)
        except (TypeError, ValueError) as error:
            return _Work(None, "graph", None, f"a graph is a pair of arrays (sizes, edges): {error}", "")
        graph = (sizes.tobytes(), edges.tobytes())
        prefix = len(graph[0]).to_bytes(8, "little")
        return _Work(None, "graph", graph, None, key_of(prefix + graph[0] + graph[1], {"kind": "graph", **request}))
    if isinstance(item, bytes):
        return _Work(item, "model", None, None, key_of(item, {"kind": "model", **request}))
    name = os.fspath(item)
    try:
        data = pathlib.Path(name).read_bytes()
    except OSError as error:
        return _Work(None, name, None, f"{name}: cannot be read: {error.strerror}", "")
    # The ending decides the format of a model that its first bytes do not name.
    return _Work(data, name, None, None, key_of(data, {"kind": "model", "ending": pathlib.Path(name).suffix, **request}))


def _answer(work: _Work, options: dict[str, Option]) -> dict[str, Any]:
    """The answer to one item. An error of the item is an answer; deterministic."""
    try:
        if work.error is not None:
            return asdict(Answer(None, None, None, False, work.error))
        if work.graph is not None:
            np = required("numpy", "a graph of plan_many")
            sizes, edges = (np.frombuffer(part, np.int64) for part in work.graph)
            peak = neap.peak(sizes, edges.reshape(-1, 2), max_states=int(str(options.get("max_states") or 0)))
            return asdict(Answer(peak.bytes, peak.lower_bound_bytes, None, peak.optimal, None))
        assert work.data is not None
        name = None if work.name == "model" else work.name
        given: dict[str, Any] = {"threads": 1, **options}
        plan = neap.plan(work.data, name=name, **given)
        if plan.interrupted:
            raise KeyboardInterrupt
        return asdict(Answer(plan.peak_bytes, plan.lower_bound_bytes, plan.arena_bytes, plan.optimal, None))
    except NeapError as error:
        return asdict(Answer(None, None, None, False, str(error)))


def _answers(works: list[_Work], options: dict[str, Option]) -> list[tuple[str, dict[str, Any]]]:
    """The answers of a chunk; equal items are computed once."""
    memo: dict[str, dict[str, Any]] = {}
    out: list[tuple[str, dict[str, Any]]] = []
    for work in works:
        answer = memo.get(work.key) if work.key else None
        if answer is None:
            answer = _answer(work, options)
            if work.key:
                memo[work.key] = answer
        out.append((work.key, answer))
    return out


_Chunks: TypeAlias = "list[list[_Work]]"
_Results: TypeAlias = "Iterator[tuple[int, list[tuple[str, dict[str, Any]]]]]"


def _local(chunks: _Chunks, options: dict[str, Option], workers: int | None, retries: int) -> _Results:
    """Processes of this machine. A worker that is killed breaks its pool: the chunks without an answer
    go to a new one."""
    import multiprocessing

    left = dict(enumerate(chunks))
    for attempt in range(retries + 1):
        context = multiprocessing.get_context("spawn")
        with concurrent.futures.ProcessPoolExecutor(workers, mp_context=context) as pool:
            try:
                # Submitting, too, finds the pool broken, when the worker is killed early.
                futures = {pool.submit(_answers, chunk, options): at for at, chunk in left.items()}
                for future in concurrent.futures.as_completed(futures):
                    result = future.result()
                    del left[futures[future]]
                    yield futures[future], result
            except concurrent.futures.process.BrokenProcessPool:
                if attempt == retries:
                    raise
        if not left:
            return


def _dask(chunks: _Chunks, options: dict[str, Option], client: Any, retries: int) -> _Results:
    distributed: Any = required("distributed", "engine='dask'")
    client = client or distributed.get_client()
    futures = client.map(_answers, chunks, options=options, retries=retries, pure=False)
    at = {future.key: index for index, future in enumerate(futures)}
    for future in distributed.as_completed(futures):
        yield at[future.key], future.result()


def _ray(chunks: _Chunks, options: dict[str, Option], retries: int) -> _Results:
    ray: Any = required("ray", "engine='ray'")
    remote = ray.remote(max_retries=retries)(_answers)
    waiting = {remote.remote(chunk, options): at for at, chunk in enumerate(chunks)}
    while waiting:
        (done,), _ = ray.wait(list(waiting), num_returns=1)
        yield waiting.pop(done), ray.get(done)


def plan_many(
    items: Iterable[Item],
    *,
    engine: Engine = "local",
    store: Store | str | os.PathLike[str] | None = None,
    workers: int | None = None,
    client: Any = None,
    retries: int = 3,
    progress: Callable[[int, int], object] | None = None,
    **options: Option,
) -> list[Answer]:
    """Plans every item and returns the answers in the order of the items.

    :param items: paths or bytes of models, or graphs as pairs of arrays ``(sizes, edges)``.
    :param engine: "local": processes of this machine; "ray": tasks of the Ray cluster that
        ``ray.init`` connected to; "dask": ``client``, or the current client of ``distributed``.
    :param store: answers that it contains are not computed, others are added as they arrive: a run
        that was interrupted resumes. This process alone reads and writes it.
    :param workers: of "local". Default: one for each processor.
    :param retries: how often a chunk of items is computed again after its worker was killed.
    :param progress: called with the number of answers and of items.
    :param options: as for ``neap.plan``, for all items. ``threads`` is 1 by default. For graphs:
        ``max_states``.

    An item that cannot be planned has its error in its answer. The answers depend on the items and
    the options alone, except with ``time_limit``.
    """
    if engine not in ("local", "ray", "dask"):
        raise UsageError(f"engine is '{engine}', expected local, ray or dask")
    request = {name: list(value) if isinstance(value, tuple) else value for name, value in sorted(options.items())}
    works = [_work_of(item, request) for item in items]
    kept = store if isinstance(store, Store) or store is None else Store(store)
    found: dict[str, dict[str, Any]] = kept.get_many([work.key for work in works if work.key]) if kept is not None else {}
    # Each key once; items without one are errors.
    todo = list({work.key: work for work in works if work.key and work.key not in found}.values())
    size = max(1, min(_MAX_CHUNK, len(todo) // _MIN_CHUNKS))
    chunks = [todo[at:at + size] for at in range(0, len(todo), size)]
    results = (_local(chunks, options, workers, retries) if engine == "local"
               else _ray(chunks, options, retries) if engine == "ray" else _dask(chunks, options, client, retries))
    if chunks:
        for _, answers in results:
            found.update(answers)
            if kept is not None:
                kept.put_many(dict(answers))
            if progress:
                progress(sum(work.key in found or not work.key for work in works), len(works))
    return [Answer(**(found[work.key] if work.key else _answer(work, options))) for work in works]
