# SPDX-License-Identifier: Apache-2.0
"""Progress of a search, as calls or as a bar."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from neap._sizes import bytes_text

if TYPE_CHECKING:
    from typing import TypeAlias


class Progress(NamedTuple):
    """The state of a running search. A number that is not known is 0."""

    best_bytes: int
    """The best result so far."""
    lower_bound_bytes: int
    """No result is smaller."""
    states: int
    """States that the search has expanded."""
    phase: str
    """Of the search for tiles: "regions" or "proposals"; else ""."""
    done: int
    """Parts of the phase that are done."""
    of: int
    """Parts of the phase."""


ProgressLike: TypeAlias = "bool | Callable[[Progress], object] | None"
_Call: TypeAlias = "Callable[[int, int, int, str, int, int], object] | None"


class _Line:
    """One line on standard error, for a terminal without tqdm."""

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._shown = False

    def show(self, seen: Progress) -> None:
        if not sys.stderr.isatty():
            return
        self._shown = True
        print(f"\r\x1b[K{_text(seen)}  {time.monotonic() - self._begin:.0f} s", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        if self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


class _Bar:
    """A bar of tqdm: the part of the gap that is closed, or of the search for tiles."""

    def __init__(self, tqdm: Any) -> None:
        self._bar = tqdm(total=100, desc="neap", unit="%", leave=False, bar_format="{desc} {bar} {elapsed}")

    def show(self, seen: Progress) -> None:
        if seen.of:
            self._bar.n = 100 * seen.done // seen.of
        elif seen.best_bytes:
            self._bar.n = 100 * seen.lower_bound_bytes // seen.best_bytes
        self._bar.set_description_str(f"neap {_text(seen)}")

    def close(self) -> None:
        self._bar.close()


def _text(seen: Progress) -> str:
    best = f"best {bytes_text(seen.best_bytes)}" if seen.best_bytes else "searching"
    if seen.of:
        return f"tiles: {seen.phase} {seen.done} of {seen.of}, {best}"
    return f"{best}, bound {seen.lower_bound_bytes:,} B" if seen.lower_bound_bytes else best


@contextmanager
def shown(progress: ProgressLike) -> Iterator[_Call]:
    """The function that the extension module calls: for ``True`` a bar of tqdm if that is installed,
    else a line on standard error."""
    if not progress:
        yield None
        return
    if progress is not True:
        call = progress
        yield lambda *seen: call(Progress(*seen))
        return
    view: _Line | _Bar
    try:
        from tqdm.auto import tqdm
    except ImportError:
        view = _Line()
    else:
        view = _Bar(tqdm)
    try:
        yield lambda *seen: view.show(Progress(*seen))
    finally:
        view.close()
