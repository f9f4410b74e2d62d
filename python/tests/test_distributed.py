# SPDX-License-Identifier: Apache-2.0
"""Many items on every engine: equal answers in order, errors as answers, killed workers, resuming."""

import concurrent.futures
import os
import pickle
import random
import signal
import sqlite3
import threading
import time
import types
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing

import pytest

import neap
from neap import distributed
from neap.distributed import Answer, plan_many
from neap.store import Store

TIMEOUT = 600  # of anything, on a slow machine


def graphs(count, nodes=30, seed=1):
    draw = random.Random(seed)
    return [([draw.randint(1, 99) * 64 for _ in range(nodes)],
             sorted({(draw.randint(max(0, node - 5), node - 1), node) for node in range(1, nodes) for _ in range(2)}))
            for _ in range(count)]


@pytest.fixture
def items(ds_cnn, tmp_path):
    path = tmp_path / "kws.tflite"
    path.write_bytes(ds_cnn)
    (tmp_path / "bad.onnx").write_bytes(b"nonsense")
    made = graphs(60)
    return [*made, path, ds_cnn, tmp_path / "no.tflite", tmp_path / "bad.onnx", made[0], ([1], [(0, 5)])]


@pytest.fixture
def expected(items):
    return [Answer(p.bytes, p.lower_bound_bytes, None, p.optimal, None) for p in
            (neap.peak(*item) for item in items[:60])]


def check(answers, items, expected):
    assert answers[:60] == expected and answers[64] == expected[0] and len(answers) == len(items)
    assert answers[60] == answers[61] and answers[60].arena_bytes == 16000 and answers[60].error is None
    for at, text in ((62, "no.tflite"), (63, "bad.onnx"), (65, "node 5")):
        assert text in answers[at].error and answers[at].peak_bytes is None and "\n" not in answers[at].error


def test_few_items_are_more_than_one_chunk(monkeypatch):
    """Sixteen large models are work for several workers."""
    sizes = []

    def of_sizes(chunks, options, workers, retries):
        sizes.append([len(chunk) for chunk in chunks])
        return in_this_process([])(chunks, options, workers, retries)

    monkeypatch.setattr(distributed, "_local", of_sizes)
    for count, expected_sizes in ((1, [1]), (16, [1] * 16), (100, [3] * 33 + [1]), (1000, [16] * 62 + [8])):
        assert len(plan_many(graphs(count, nodes=12))) == count
        assert sizes[-1] == expected_sizes


def kill_one_of(pids, when):
    """Kills a process of `pids()` after `when` seconds, as soon as there is one."""
    killed = []

    def run():
        time.sleep(when)
        for _ in range(800):
            found = list(pids())
            if found:
                os.kill(found[0], signal.SIGKILL)
                killed.append(found[0])
                return
            time.sleep(0.005)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, killed


def computes(*_):
    pytest.fail("is in the store")
    yield


def test_local(items, expected, tmp_path, monkeypatch):
    seen = []
    answers = plan_many(items, workers=2, store=tmp_path / "plans.db", progress=lambda *p: seen.append(p))
    check(answers, items, expected)
    assert seen[-1] == (len(items), len(items))
    # Everything but the missing file, which may be there the next time, comes from the store.
    assert len(Store(tmp_path / "plans.db")) == 64
    with monkeypatch.context() as patch:
        patch.setattr(distributed, "_local", computes)
        assert plan_many(items, store=tmp_path / "plans.db") == answers
    assert plan_many([]) == []
    with pytest.raises(neap.UsageError):
        plan_many(items, engine="slurm")


def test_local_with_a_killed_worker(items, expected):
    import multiprocessing

    # A run may end before one of its processes is seen.
    for _ in range(20):
        thread, killed = kill_one_of(lambda: [child.pid for child in multiprocessing.active_children()], 0)
        answers = plan_many(items, workers=2)
        thread.join()
        check(answers, items, expected)
        if killed:
            break
    assert killed


def test_local_whose_pool_breaks_while_it_is_filled(items, expected, monkeypatch):
    broken = []

    class Pool(concurrent.futures.ProcessPoolExecutor):
        def submit(self, *given, **named):
            if not broken:
                broken.append(True)
                raise BrokenProcessPool("a worker was killed")
            return super().submit(*given, **named)

    monkeypatch.setattr(concurrent.futures, "ProcessPoolExecutor", Pool)
    check(plan_many(items, workers=2), items, expected)
    assert broken
    broken.clear()
    with pytest.raises(BrokenProcessPool):
        plan_many(items, workers=2, retries=0)


def test_a_planner_remembers(monkeypatch):
    computed = []
    answer = distributed._answer
    monkeypatch.setattr(distributed, "_answer", lambda work, options: computed.append(work.key) or answer(work, options))
    works = [distributed._work_of(graph, {}) for graph in graphs(3)]
    planner = distributed.Planner({})
    batch = {"chunk": [0, 1], "works": [pickle.dumps(works[:2]), pickle.dumps(works)]}
    answered = planner(batch)
    assert answered["chunk"] == [0, 1] and computed == [work.key for work in works]
    first, second = (pickle.loads(answers) for answers in answered["answers"])
    assert second[:2] == first and [key for key, _ in second] == computed
    # As many as it may; the oldest is forgotten.
    monkeypatch.setattr(distributed, "_MAX_MEMO", 2)
    planner = distributed.Planner({})
    planner.answers([works[0], works[1], works[2], works[1], works[0]])
    assert computed[3:] == [works[at].key for at in (0, 1, 2, 0)]


def in_this_process(computed, before=lambda: None):
    """Of the engine "local"."""
    def run(chunks, options, workers, retries):
        for at, chunk in enumerate(chunks):
            before()
            computed.extend(work.key for work in chunk)
            yield at, distributed._answers(chunk, options)
    return run


def test_two_runs_on_one_store_compute_each_item_once(tmp_path, monkeypatch):
    items, computed, arrived, goes_on = graphs(64), [], threading.Semaphore(0), threading.Event()

    def before():
        arrived.release()
        assert goes_on.wait(TIMEOUT)

    monkeypatch.setattr(distributed, "_local", in_this_process(computed, before))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        runs = []
        for part in (items[:48], items[16:]):
            runs.append(pool.submit(plan_many, part, store=tmp_path / "plans.db"))
            assert arrived.acquire(timeout=TIMEOUT)
        goes_on.set()
        first, second = (run.result() for run in runs)
    assert first[16:] == second[:32] and len(computed) == len(set(computed)) == 64
    with closing(sqlite3.connect(tmp_path / "plans.db")) as database:
        assert database.execute("SELECT count(*) FROM leases").fetchone() == (0,)


def test_a_run_waits_for_the_lease_of_another_process_to_expire(tmp_path, monkeypatch):
    items, computed = graphs(3), []
    other = Store(tmp_path / "plans.db", lease_seconds=3600)
    keys = [distributed._work_of(item, {}).key for item in items]
    assert other.acquire(keys[1])
    monkeypatch.setattr(distributed, "_local", in_this_process(computed))

    def sleep(seconds):
        assert computed == [keys[0], keys[2]]
        with closing(sqlite3.connect(tmp_path / "plans.db")) as database, database:
            database.execute("UPDATE leases SET until = 0 WHERE key = ?", (keys[1],))

    monkeypatch.setattr(distributed, "time", types.SimpleNamespace(sleep=sleep))
    assert [answer.error for answer in plan_many(items, store=tmp_path / "plans.db")] == [None] * 3
    assert computed == [keys[0], keys[2], keys[1]]


class Deaths:
    """Kills the process that would answer the item, at most `count` times."""

    def __init__(self, folder, item, count=1):
        self.folder, self.key, self.count = str(folder), distributed._work_of(item, {}).key, count

    def function(self):
        """For `works`, before they are answered. It is pickled with its code: workers do not have this file."""
        folder, key, count = self.folder, self.key, self.count

        def die(works):
            import os
            import signal
            deaths = len(os.listdir(folder))
            if deaths < count and any(work.key == key for work in works):
                os.mkdir(f"{folder}/{deaths}")
                os.kill(os.getpid(), signal.SIGKILL)
        return die

    @property
    def counted(self):
        return len(os.listdir(self.folder))


@pytest.fixture
def many(tmp_path):
    made = graphs(400, 60, 2)
    (tmp_path / "deaths").mkdir()
    return made, [neap.peak(*graph).bytes for graph in made], Deaths(tmp_path / "deaths", made[200])


def check_many(answers, many, path):
    assert [answer.peak_bytes for answer in answers] == many[1]
    assert many[2].counted == many[2].count
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT (SELECT count(*) FROM answers), count(*) FROM leases").fetchone() == (400, 0)


@pytest.mark.parametrize("allowed_failures", (3, 0))
def test_dask(items, expected, many, tmp_path, monkeypatch, allowed_failures):
    """A worker is killed. Where the scheduler gives up at once, the partition is sent again."""
    of_dask = pytest.importorskip("distributed")
    import dask

    die, answers_of = many[2].function(), distributed._answers

    def dying(works, options):
        works = list(works)
        die(works)
        return answers_of(works, options)

    with dask.config.set({"distributed.scheduler.allowed-failures": allowed_failures}), \
            of_dask.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, \
            of_dask.Client(cluster) as client:
        with monkeypatch.context() as patch:
            patch.setattr(distributed, "_answers", dying)
            check_many(plan_many(many[0], engine="dask", store=tmp_path / "plans.db"), many, tmp_path / "plans.db")
        if allowed_failures:
            check(plan_many(items, engine="dask", client=client), items, expected)
            return
        many[2].count = 2
        with monkeypatch.context() as patch, pytest.raises(of_dask.scheduler.KilledWorker):
            die = many[2].function()
            patch.setattr(distributed, "_answers", dying)
            plan_many(many[0][200:201], engine="dask", retries=0)


def start_ray(ray):
    for tries_left in range(9, -1, -1):
        try:
            ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=100 << 20)
            return
        except Exception as error:
            # Ray waits 30 s for its own processes, which is not enough on a machine with much other work.
            ray.shutdown()
            if "timed out during startup" not in str(error) or not tries_left:
                raise


def test_ray(items, expected, many, tmp_path, monkeypatch):
    ray = pytest.importorskip("ray")
    pytest.importorskip("pyarrow")
    die = many[2].function()

    class Dying(distributed.Planner):
        def answers(self, works):
            die(works)
            return distributed.Planner.answers(self, works)

    start_ray(ray)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(distributed, "Planner", Dying)
            check_many(plan_many(many[0], engine="ray", store=tmp_path / "plans.db"), many, tmp_path / "plans.db")
        check(plan_many(items, engine="ray"), items, expected)
    finally:
        ray.shutdown()
