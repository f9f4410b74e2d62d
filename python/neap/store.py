# SPDX-License-Identifier: Apache-2.0
"""A store of answers on disk, for searches that are interrupted and for several processes.

An answer is found by its key: the SHA-256 of Neap's version, the request and the model. A process that computes an
answer takes a lease on its key, so that no other one computes it at the same time. The lease of a process that ended
expires.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from neap import _neap
from neap._errors import FileError

if TYPE_CHECKING:
    from types import TracebackType

_FORMAT = 1
# Of a file that has the plans of `neap serve` as well; the tables of answers are the same.
_SERVER_FORMAT = 0x4e530002


def key_of(model: bytes, request: dict[str, Any], version: str = _neap.version) -> str:
    """The key of an answer: it differs where the model's bytes, the request or Neap's version differ."""
    head = json.dumps({"neap": version, "request": request}, sort_keys=True, separators=(",", ":")).encode()
    digest = hashlib.sha256(len(head).to_bytes(8, "little") + head)
    digest.update(model)
    return digest.hexdigest()


class Store:
    """Answers by key in an SQLite file. Safe for several threads and processes of one machine.

    :param path: created if it does not exist; of a folder, the database of its ``neap serve``. Not on a
        network file system without locks.
    :param lease_seconds: how long a process may compute an answer before another one may start.
    """

    def __init__(self, path: str | os.PathLike[str], *, lease_seconds: float = 60.0) -> None:
        self.path = os.fspath(path)
        if os.path.isdir(self.path):
            self.path = os.path.join(self.path, "plans.sqlite")
        self.lease_seconds = lease_seconds
        self._owner = uuid.uuid4().hex
        try:
            with closing(self._connect()) as database, database:
                (version,) = database.execute("PRAGMA user_version").fetchone()
                if version not in (0, _FORMAT, _SERVER_FORMAT):
                    raise FileError(f"{self.path}: the store has format {version}, expected {_FORMAT}", file=self.path)
                # A new file has no tables; a database of another program stays as it is.
                (foreign,) = database.execute(
                    "SELECT count(*) FROM sqlite_master WHERE name NOT IN ('answers', 'leases') "
                    "AND name NOT LIKE 'sqlite_%'").fetchone()
                if version == 0 and foreign:
                    raise FileError(f"{self.path}: is not a store of answers", file=self.path)
                database.execute("CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, answer TEXT NOT NULL)")
                database.execute("CREATE TABLE IF NOT EXISTS leases (key TEXT PRIMARY KEY, owner TEXT NOT NULL, "
                                 "until REAL NOT NULL)")
                if version != _SERVER_FORMAT:
                    database.execute(f"PRAGMA user_version = {_FORMAT}")
        except sqlite3.DatabaseError as error:
            raise FileError(f"{self.path}: not a store: {error}", file=self.path) from None

    def _connect(self) -> sqlite3.Connection:
        # A connection for each operation: it is short beside a search, and no thread or forked process
        # inherits one.
        database = sqlite3.connect(self.path, timeout=60, isolation_level="IMMEDIATE")
        database.execute("PRAGMA synchronous = FULL")
        return database

    def get(self, key: str) -> Any | None:
        """The stored answer; None: there is none."""
        with closing(self._connect()) as database:
            row = database.execute("SELECT answer FROM answers WHERE key = ?", (key,)).fetchone()
        return None if row is None else json.loads(row[0])

    def get_many(self, keys: list[str]) -> dict[str, Any]:
        """The stored answers among ``keys``."""
        found: dict[str, Any] = {}
        with closing(self._connect()) as database:
            for key in keys:
                row = database.execute("SELECT answer FROM answers WHERE key = ?", (key,)).fetchone()
                if row is not None:
                    found[key] = json.loads(row[0])
        return found

    def put(self, key: str, answer: Any) -> None:
        """Stores an answer, which JSON can represent, and ends this store's lease on it."""
        self.put_many({key: answer})

    def put_many(self, answers: dict[str, Any]) -> None:
        """Stores answers by key, all or none of them, and ends this store's leases on them."""
        rows = [(key, json.dumps(answer)) for key, answer in answers.items()]
        with closing(self._connect()) as database, database:
            database.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?)", rows)
            database.executemany("DELETE FROM leases WHERE key = ? AND owner = ?", [(key, self._owner) for key in answers])

    def acquire(self, key: str) -> bool:
        """Takes the lease on a key, or renews it. False: another store's lease has not expired."""
        return key in self.acquire_many([key])

    def acquire_many(self, keys: list[str]) -> set[str]:
        """Takes the leases on keys, or renews them: those on which no other store has one that has not expired."""
        now = time.time()
        taken: set[str] = set()
        with closing(self._connect()) as database, database:
            database.execute("BEGIN IMMEDIATE")
            for key in keys:
                row = database.execute("SELECT owner, until FROM leases WHERE key = ?", (key,)).fetchone()
                if row is None or row[0] == self._owner or row[1] <= now:
                    taken.add(key)
            database.executemany("INSERT OR REPLACE INTO leases VALUES (?, ?, ?)",
                                 [(key, self._owner, now + self.lease_seconds) for key in taken])
        return taken

    @contextmanager
    def leases(self) -> Iterator[Callable[[list[str]], set[str]]]:
        """Gives ``acquire_many``. A thread renews this store's leases until the end, where they are released."""
        ended = threading.Event()

        def renew() -> None:
            while not ended.wait(self.lease_seconds / 3):
                # Where it fails, another process may compute the same: both answers are equal.
                with suppress(sqlite3.Error), closing(self._connect()) as database, database:
                    database.execute("UPDATE leases SET until = ? WHERE owner = ?",
                                     (time.time() + self.lease_seconds, self._owner))

        thread = threading.Thread(target=renew, daemon=True)
        thread.start()
        try:
            yield self.acquire_many
        finally:
            ended.set()
            thread.join()
            with closing(self._connect()) as database, database:
                database.execute("DELETE FROM leases WHERE owner = ?", (self._owner,))

    def release(self, key: str) -> None:
        """Ends this store's lease on a key."""
        with closing(self._connect()) as database, database:
            database.execute("DELETE FROM leases WHERE key = ? AND owner = ?", (key, self._owner))

    def compute(self, key: str, work: Callable[[], Any], *, poll_seconds: float = 0.05) -> Any:
        """The stored answer, else that of ``work``, which no other process computes while the lease is
        live. A search that takes longer than ``lease_seconds`` may be computed twice; both are equal."""
        while True:
            answer = self.get(key)
            if answer is not None:
                return answer
            if self.acquire(key):
                break
            time.sleep(poll_seconds)
        try:
            # It may have been stored between the two.
            answer = self.get(key)
            if answer is None:
                answer = work()
                self.put(key, answer)
            return answer
        finally:
            self.release(key)

    def __len__(self) -> int:
        with closing(self._connect()) as database:
            (count,) = database.execute("SELECT count(*) FROM answers").fetchone()
        return int(count)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        pass
