// SPDX-License-Identifier: Apache-2.0
//
// Diagnostics as exceptions of the package (python/neap/_errors.py).
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <utility>

#include "neap/base/diagnostic.h"
#include "neap/base/result.h"

namespace neap::python {

// Throws the Python exception for the diagnostic. Needs the interpreter's lock.
[[noreturn]] void Raise(const Diagnostic& diagnostic);

template <typename T>
T ValueOrRaise(Result<T> result) {
  if (!result) Raise(result.error());
  return *std::move(result);
}
inline void CheckOrRaise(const Status& status) {
  if (!status) Raise(status.error());
}

// Defects of Neap become neap.InternalError.
void RegisterErrors();

}  // namespace neap::python
