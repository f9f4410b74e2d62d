# SPDX-License-Identifier: Apache-2.0
"""Many items on every engine: equal answers in order, errors as answers, killed workers, resuming."""

import concurrent.futures
import os
import random
import signal
import threading
import time
from concurrent.futures.process import BrokenProcessPool

import pytest

import neap
from neap.distributed import Answer, plan_many
from neap.store import Store


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
    from neap import distributed

    sizes = []

    def in_this_process(chunks, options, workers, retries):
        sizes.append([len(chunk) for chunk in chunks])
        for at, chunk in enumerate(chunks):
            yield at, distributed._answers(chunk, options)

    monkeypatch.setattr(distributed, "_local", in_this_process)
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
        patch.setattr(neap.distributed, "_local", computes)
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


def test_dask(items, expected, tmp_path):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, \
            distributed.Client(cluster) as client:
        many = graphs(400, 60, 2)
        direct = [neap.peak(*graph).bytes for graph in many]
        thread, killed = kill_one_of(lambda: [worker.process.pid for worker in cluster.workers.values()
                                              if worker.process and worker.process.pid], 0.1)
        answers = plan_many(many, engine="dask", store=tmp_path / "plans.db")
        thread.join()
        assert killed and [answer.peak_bytes for answer in answers] == direct
        assert len(Store(tmp_path / "plans.db")) == 400
        check(plan_many(items, engine="dask", client=client), items, expected)


def test_ray(items, expected, tmp_path):
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=100 << 20)
    try:
        @ray.remote
        def pid():
            return os.getpid()

        many = graphs(400, 60, 2)
        direct = [neap.peak(*graph).bytes for graph in many]
        workers = ray.get([pid.remote() for _ in range(2)])
        thread, killed = kill_one_of(lambda: workers, 0.1)
        answers = plan_many(many, engine="ray", store=tmp_path / "plans.db")
        thread.join()
        assert killed and [answer.peak_bytes for answer in answers] == direct
        assert len(Store(tmp_path / "plans.db")) == 400
        check(plan_many(items, engine="ray"), items, expected)
    finally:
        ray.shutdown()
