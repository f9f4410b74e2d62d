# SPDX-License-Identifier: Apache-2.0
"""The store: keys, leases, several processes, a writer that is killed."""

import multiprocessing
import os
import pathlib
import signal
import sqlite3
import time
import types
from contextlib import closing

import pytest

import neap
from neap.store import Store, key_of

TIMEOUT = 600  # of anything, on a slow machine


def rows(path, statement):
    with closing(sqlite3.connect(path)) as database:
        return database.execute(statement).fetchall()


def test_keys_include_model_request_and_version():
    base = key_of(b"model", {"a": 1}, "1.0")
    assert base == key_of(b"model", {"a": 1}, "1.0")
    assert len({base, key_of(b"mode", {"a": 1}, "1.0"), key_of(b"model", {"a": 2}, "1.0"),
                key_of(b"model", {"a": 1}, "1.1"), key_of(b"model", {}, "1.0")}) == 5


def test_answers_stay(tmp_path):
    store = Store(tmp_path / "plans.db")
    assert store.get("k") is None and len(store) == 0
    store.put("k", {"arena_bytes": 5, "error": None})
    again = Store(tmp_path / "plans.db")
    assert again.get("k") == {"arena_bytes": 5, "error": None} and len(again) == 1
    assert again.get_many(["k", "x"]) == {"k": {"arena_bytes": 5, "error": None}}
    assert again.compute("k", lambda: pytest.fail("is stored")) == again.get("k")


def test_another_file_is_refused(tmp_path):
    (tmp_path / "other").write_bytes(b"no database" * 100)
    with pytest.raises(neap.FileError) as error:
        Store(tmp_path / "other")
    assert error.value.file == str(tmp_path / "other")
    assert (tmp_path / "other").read_bytes() == b"no database" * 100


def test_leases_are_renewed_and_released(tmp_path, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(neap.store, "time", types.SimpleNamespace(time=lambda: now[0]))
    one, other = Store(tmp_path / "plans.db", lease_seconds=0.03), Store(tmp_path / "plans.db")
    with one.leases() as acquire:
        assert acquire(["a", "b"]) == {"a", "b"} and other.acquire_many(["a", "b", "c"]) == {"c"}
        assert acquire(["c", "d"]) == {"d"}
        now[0] = 2000.0
        deadline = time.monotonic() + TIMEOUT
        while rows(tmp_path / "plans.db", "SELECT min(until) FROM leases WHERE key <> 'c'") != [(2000.03,)]:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert other.acquire_many(["a", "b"]) == set()
    assert rows(tmp_path / "plans.db", "SELECT key FROM leases") == [("c",)]
    assert other.acquire_many(["a", "b"]) == {"a", "b"}


def test_the_folder_of_a_server_is_its_database(tmp_path):
    # As a server makes it; tests/server has a real one.
    with closing(sqlite3.connect(tmp_path / "plans.sqlite")) as database, database:
        database.executescript("CREATE TABLE plans (id TEXT); PRAGMA user_version = 0x4e530002")
    store = Store(tmp_path)
    store.put("k", 1)
    assert Store(tmp_path / "plans.sqlite").get("k") == 1
    assert rows(tmp_path / "plans.sqlite", "PRAGMA user_version") == [(0x4E530002,)]


def test_leases(tmp_path, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(neap.store, "time", types.SimpleNamespace(time=lambda: now[0]))
    one, other = (Store(tmp_path / "plans.db", lease_seconds=5) for _ in range(2))
    assert one.acquire("k") and one.acquire("k") and not other.acquire("k") and other.acquire("x")
    one.release("k")
    now[0] += 4.9
    assert other.acquire("k") and not one.acquire("k")
    now[0] += 4.9
    assert not one.acquire("k")
    now[0] += 0.2
    assert one.acquire("k")  # the other's lease expired
    other.release("k")       # and is no longer the other's to end
    assert not other.acquire("k")


def test_an_error_of_the_work_ends_the_lease(tmp_path):
    one, other = (Store(tmp_path / "plans.db") for _ in range(2))
    with pytest.raises(RuntimeError):
        one.compute("k", lambda: (_ for _ in ()).throw(RuntimeError()))
    assert other.acquire("k")


def compute_slowly(path, log, barrier):
    def work():
        with open(log, "a", encoding="ascii") as file:
            file.write("computed\n")
        time.sleep(0.5)
        return 7

    barrier.wait()
    assert Store(path, lease_seconds=TIMEOUT).compute("k", work) == 7


def test_two_processes_never_compute_the_same_request_at_once(tmp_path):
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(3)
    arguments = (tmp_path / "plans.db", tmp_path / "log", barrier)
    processes = [context.Process(target=compute_slowly, args=arguments) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(TIMEOUT)
        assert process.exitcode == 0
    assert (tmp_path / "log").read_text() == "computed\n"


def die_with_a_lease(path):
    Store(path, lease_seconds=1.0).compute("k", lambda: os.kill(os.getpid(), signal.SIGKILL))


def test_the_lease_of_a_dead_process_expires(tmp_path):
    path = tmp_path / "plans.db"
    process = multiprocessing.get_context("spawn").Process(target=die_with_a_lease, args=(path,))
    process.start()
    process.join(TIMEOUT)
    assert process.exitcode == -signal.SIGKILL
    assert Store(path).compute("k", lambda: 3) == 3


def write_until_killed(path):
    store = Store(path)
    for number in range(1_000_000):
        store.put(f"key {number}", {"text": "x" * 5000, "number": number})


def test_a_store_whose_writer_was_killed_is_read_again(tmp_path):
    path = tmp_path / "plans.db"
    count = 0
    for _ in range(3):
        process = multiprocessing.get_context("spawn").Process(target=write_until_killed, args=(path,))
        process.start()
        end = time.monotonic() + TIMEOUT
        while not (path.exists() and pathlib.Path(path).stat().st_size > 50_000):
            assert time.monotonic() < end
            time.sleep(0.01)
        time.sleep(0.2)
        process.kill()
        process.join()
        store = Store(path)
        assert len(store) >= max(count, 1)
        count = len(store)
        for number in range(count):
            assert store.get(f"key {number}") == {"text": "x" * 5000, "number": number}
        store.put("new", 1)
        assert store.get("new") == 1
        count = 0
        path.unlink()


def test_a_database_of_another_program_stays_as_it_is(tmp_path):
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE places (name TEXT)")
    before = path.read_bytes()
    with pytest.raises(neap.FileError, match="is not a store of answers"):
        Store(path)
    assert path.read_bytes() == before
