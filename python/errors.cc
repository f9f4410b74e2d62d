// SPDX-License-Identifier: Apache-2.0
#include "python/errors.h"

#include <nanobind/stl/string.h>

#include "neap/base/check.h"

namespace neap::python {
namespace {

namespace nb = nanobind;

const char* NameOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUsage:
      return "usage";
    case ErrorCode::kBadInput:
      return "bad input";
    case ErrorCode::kMissingSize:
      return "missing size";
    case ErrorCode::kIo:
      return "io";
    case ErrorCode::kOverBudget:
      return "over budget";
  }
  return "internal";
}

void SetError(const char* code, const Diagnostic& diagnostic) {
  const nb::object error =
      nb::module_::import_("neap._errors")
          .attr("error_of")(code, diagnostic.message, diagnostic.file, diagnostic.op,
                            diagnostic.tensor, diagnostic.hint, diagnostic.ToString());
  PyErr_SetObject(error.type().ptr(), error.ptr());
}

}  // namespace

void Raise(const Diagnostic& diagnostic) {
  SetError(NameOf(diagnostic.code), diagnostic);
  throw nb::python_error();
}

void RegisterErrors() {
  nb::register_exception_translator([](const std::exception_ptr& pointer, void* /*payload*/) {
    try {
      std::rethrow_exception(pointer);
    } catch (const InternalError& defect) {
      Diagnostic diagnostic;
      diagnostic.message = std::string("internal error, please report it: ") + defect.what();
      SetError("internal", diagnostic);
    }
  });
}

}  // namespace neap::python
