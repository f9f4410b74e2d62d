# SPDX-License-Identifier: Apache-2.0
"""Exceptions with the parts of a diagnostic."""

from __future__ import annotations

import contextlib
import errno
import importlib
from collections.abc import Iterator
from typing import Any


class NeapError(Exception):
    """Why an operation failed. ``str()`` is one line: where, what was found, what was expected.

    The parts are separate attributes; a part that does not apply is ``""``.
    """

    message: str
    """What was found and what was expected, without the place."""
    file: str
    """The model, plan or other file."""
    operator: str
    """The operator, such as ``"#12 'CONV_2D'"``."""
    tensor: str
    """The tensor, such as ``"#7 'conv1/out'"``."""
    hint: str
    """The next step for the user."""

    def __init__(self, text: str, *, message: str = "", file: str = "", operator: str = "", tensor: str = "",
                 hint: str = "") -> None:
        super().__init__(text)
        self.message = message or text
        self.file = file
        self.operator = operator
        self.tensor = tensor
        self.hint = hint

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), str(self), self.message, self.file, self.operator, self.tensor, self.hint)


class UsageError(NeapError, ValueError):
    """There is no such option or value, or it contradicts another one."""


class BadInputError(NeapError, ValueError):
    """A file or value is malformed."""


class MissingSizeError(BadInputError):
    """The size of a tensor is unknown: a symbolic dimension has no value (argument ``dims``)."""


class FileError(NeapError, OSError):
    """The operating system reported an error, or a file exists that a call would replace. ``errno``
    has the number of the error; None: it is not known."""


class MissingPackageError(NeapError, ImportError):
    """The call needs a Python package that is not installed."""


class OverBudgetError(NeapError):
    """The result exceeds the given memory: no model and no C is written."""


class WrongPlanError(NeapError):
    """The plan is not valid for this model. ``violations`` has all findings."""

    violations: list[str]

    def __init__(self, text: str, *, message: str = "", file: str = "", operator: str = "", tensor: str = "",
                 hint: str = "") -> None:
        super().__init__(text, message=message, file=file, operator=operator, tensor=tensor, hint=hint)
        self.violations = [self.message]


class InternalError(NeapError, RuntimeError):
    """A defect of Neap. Please report it with the model."""


_KINDS: dict[str, type[NeapError]] = {
    "usage": UsageError,
    "bad input": BadInputError,
    "missing size": MissingSizeError,
    "io": FileError,
    "over budget": OverBudgetError,
}


def _rebuild(kind: type[NeapError], text: str, message: str, file: str, operator: str, tensor: str,
             hint: str) -> NeapError:
    return kind(text, message=message, file=file, operator=operator, tensor=tensor, hint=hint)


def error_of(code: str, message: str, file: str, operator: str, tensor: str, hint: str, text: str) -> NeapError:
    """The exception for a diagnostic; called by the extension module."""
    return _rebuild(_KINDS.get(code, InternalError), text, message, file, operator, tensor, hint)


@contextlib.contextmanager
def file_errors(path: str) -> Iterator[None]:
    """Reports errors of the operating system about ``path`` as FileError."""
    try:
        yield
    except NeapError:
        raise
    except OSError as error:
        raise _file_error(path, error.strerror or str(error), error.errno) from None


def file_exists(path: str) -> FileError:
    """The exception for a file that is not replaced."""
    return _file_error(path, "exists already", errno.EEXIST, "force=True replaces it")


def _file_error(path: str, message: str, number: int | None, hint: str = "") -> FileError:
    text = f"{path}: {message}" + (f" ({hint})" if hint else "")
    error = FileError(text, message=message, file=path, hint=hint)
    error.errno = number
    return error


def required(module: str, what: str, package: str = "") -> Any:
    """The module of another package that ``what`` needs; raises MissingPackageError.

    :param package: its distribution, if that has another name than the module.
    """
    package = package or module
    try:
        return importlib.import_module(module)
    except ImportError as error:
        if error.name is not None and error.name.split(".")[0] != module.split(".")[0]:
            raise  # a defect of that package's installation
        message = f"{what} needs the package {package}, which is not installed"
        hint = f"pip install {package}"
        raise MissingPackageError(f"{message} ({hint})", message=message, hint=hint) from None


def wrong_plan(violations: list[str], file: str) -> WrongPlanError:
    """The exception for a plan that its check refused."""
    error = WrongPlanError(f"{file}: {violations[0]}" if file else violations[0], message=violations[0], file=file)
    error.violations = violations
    return error
