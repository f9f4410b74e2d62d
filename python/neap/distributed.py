# SPDX-License-Identifier: Apache-2.0
"""Many models or graphs, planned on this machine's processes, or on a Ray or Dask cluster."""

from __future__ import annotations

import concurrent.futures
import inspect
import os
import pathlib
import pickle
import time
import warnings
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
# Between two looks at the answers of another process.
_POLL_SECONDS = 0.05
# Answers that a worker remembers: some 30 MB.
_MAX_MEMO = 1 << 16


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


class Planner:
    """Answers chunks of items; equal items are computed once. Ray keeps one in each of its actors."""

    def __init__(self, options: dict[str, Option]) -> None:
        self._options = options
        self._memo: dict[str, dict[str, Any]] = {}

    def answers(self, works: list[_Work]) -> list[tuple[str, dict[str, Any]]]:
        """The key and the answer of each item, in their order."""
        return [(work.key, self._answer_of(work)) for work in works]

    def _answer_of(self, work: _Work) -> dict[str, Any]:
        answer = self._memo.get(work.key) if work.key else None
        if answer is None:
            answer = _answer(work, self._options)
            if work.key:
                if len(self._memo) >= _MAX_MEMO:
                    del self._memo[next(iter(self._memo))]
                self._memo[work.key] = answer
        return answer

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[Any]]:
        """For ``ray.data.Dataset.map_batches``: rows of "chunk", its number, and "works", its pickled items."""
        return {"chunk": list(batch["chunk"]),
                "answers": [pickle.dumps(self.answers(pickle.loads(works))) for works in batch["works"]]}


def _answers(works: Iterable[_Work], options: dict[str, Option]) -> list[tuple[str, dict[str, Any]]]:
    """The answers of a chunk, by a process that keeps nothing."""
    return Planner(options).answers(list(works))


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
    """A partition of a bag for each chunk. The scheduler gives the partitions of a killed worker to others; where
    several workers were killed by one, it gives up, and this process sends that partition again."""
    distributed: Any = required("distributed", "engine='dask'")
    dask: Any = required("dask", "engine='dask'", "distributed")
    bag: Any = required("dask.bag", "engine='dask'", "distributed")
    client = client or distributed.get_client()
    left = dict.fromkeys(range(len(chunks)), retries)
    at: dict[Any, int] = {}

    def send(numbers: list[int]) -> list[Any]:
        # With the items inside of the tasks: data that was sent before the tasks would be lost with its worker.
        parts = [dask.delayed(chunks[number], pure=False, traverse=False) for number in numbers]
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph")
            futures: list[Any] = client.compute(bag.from_delayed(parts).map_partitions(_answers, options).to_delayed())
        at.update((future.key, number) for future, number in zip(futures, numbers))
        return futures

    done = distributed.as_completed(send(list(left)))
    for future in done:
        number = at[future.key]
        if isinstance(future.exception(), distributed.scheduler.KilledWorker) and left[number]:
            left[number] -= 1
            done.update(send([number]))
        else:
            yield number, future.result()


def _ray(chunks: _Chunks, options: dict[str, Option], retries: int) -> _Results:
    """A block of a dataset for each chunk, which actors answer. Ray starts a killed actor again and repeats what
    it had not answered."""
    ray: Any = required("ray", "engine='ray'")
    required("pyarrow", "engine='ray'", "ray[data]")
    data: Any = required("ray.data", "engine='ray'")
    rows = [{"chunk": at, "works": pickle.dumps(chunk)} for at, chunk in enumerate(chunks)]
    actors = max(1, min(len(chunks), int(ray.cluster_resources().get("CPU", 1))))
    planned = data.from_items(rows, override_num_blocks=len(rows))
    # One actor is enough to begin; other work may hold processors.
    pool = data.ActorPoolStrategy(min_size=1, max_size=actors, initial_size=actors)
    named = {"fn_constructor_args": (options,), "batch_size": None, "batch_format": "numpy", "compute": pool}
    # Without this argument, which Ray means to remove in 2.64, Ray repeats without a limit.
    if "ray_remote_args_fn" in inspect.signature(planned.map_batches).parameters:
        named["ray_remote_args_fn"] = lambda: {"max_restarts": -1, "max_task_retries": retries}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        answers = planned.map_batches(Planner, **named)
    answers.context.enable_progress_bars = False
    for row in answers.iter_rows():
        yield row["chunk"], pickle.loads(row["answers"])


def _stored(todo: list[_Work], store: Store | str | os.PathLike[str] | None,
            compute: Callable[[list[_Work]], Iterator[dict[str, dict[str, Any]]]]) -> Iterator[dict[str, dict[str, Any]]]:
    """The answers of a store, then those of ``compute``, which are added to it. If another process computes
    an answer meanwhile, it is waited for; if its lease expires, it is computed here."""
    if store is None or not todo:
        return
    # A lease is of this call: another one of this process waits for it as one of another process does.
    kept = Store(store.path, lease_seconds=store.lease_seconds) if isinstance(store, Store) else Store(store)
    left = {work.key: work for work in todo}

    def read() -> dict[str, dict[str, Any]]:
        answers = kept.get_many(list(left))
        for key in answers:
            del left[key]
        return answers

    if answers := read():
        yield answers
    with kept.leases() as acquire:
        while left:
            mine = acquire(list(left))
            # They may have been stored between the two.
            if answers := read():
                yield answers
            if not (work := [left[key] for key in left if key in mine]):
                time.sleep(_POLL_SECONDS)
                continue
            for answers in compute(work):
                kept.put_many(answers)
                for key in answers:
                    left.pop(key, None)
                yield answers


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
    :param engine: "local": processes of this machine; "ray": actors of the Ray cluster that
        ``ray.init`` connected to (``ray.data``); "dask": ``client``, or the current client of ``distributed``.
    :param store: answers that it contains are not computed, others are added as they arrive: a run
        that was interrupted resumes. This process alone reads and writes it, not the workers. If another
        process with this store computes an answer, this one waits for it.
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
    found: dict[str, dict[str, Any]] = {}

    def compute(todo: list[_Work]) -> Iterator[dict[str, dict[str, Any]]]:
        size = max(1, min(_MAX_CHUNK, len(todo) // _MIN_CHUNKS))
        chunks = [todo[at:at + size] for at in range(0, len(todo), size)]
        results = (_local(chunks, options, workers, retries) if engine == "local"
                   else _ray(chunks, options, retries) if engine == "ray" else _dask(chunks, options, client, retries))
        for _, answers in results:
            yield dict(answers)

    # Each key once; items without one are errors.
    todo = list({work.key: work for work in works if work.key}.values())
    for answers in compute(todo) if store is None and todo else _stored(todo, store, compute):
        found.update(answers)
        if progress:
            progress(sum(work.key in found or not work.key for work in works), len(works))
    return [Answer(**(found[work.key] if work.key else _answer(work, options))) for work in works]
