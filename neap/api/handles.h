// SPDX-License-Identifier: Apache-2.0
//
// The objects behind the handles of the C interface, and the conversion of exceptions to error
// codes.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <utility>

#include "neap/api/neap_c.h"
#include "neap/base/result.h"

struct neap_error {  // NOLINT(readability-identifier-naming): C's
  neap_code code = NEAP_OK;
  std::string message;
};

struct neap_bytes {  // NOLINT(readability-identifier-naming): C's
  std::string data;
};

namespace neap::api {

inline neap_code CodeOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUsage:
      return NEAP_USAGE;
    case ErrorCode::kBadInput:
      return NEAP_BAD_INPUT;
    case ErrorCode::kMissingSize:
      return NEAP_MISSING_SIZE;
    case ErrorCode::kIo:
      return NEAP_IO;
    case ErrorCode::kOverBudget:
      return NEAP_OVER_BUDGET;
  }
  return NEAP_INTERNAL;
}

// Hands an error to the caller; returns its code.
inline neap_code Refuse(neap_code code, std::string message, neap_error** error) noexcept {
  if (error == nullptr) return code;
  // Without memory for the error its code is all there is.
  *error = new (std::nothrow) neap_error{code, std::move(message)};
  return code;
}
inline neap_code Refuse(const Diagnostic& diagnostic, neap_error** error) {
  return Refuse(CodeOf(diagnostic.code), diagnostic.ToString(), error);
}

// Runs `body`, a function of no arguments that returns a code; its exceptions become errors.
template <typename Body>
neap_code Guarded(neap_error** error, const Body& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return Refuse(NEAP_OUT_OF_MEMORY, "out of memory", error);
  } catch (const std::exception& defect) {
    return Refuse(NEAP_INTERNAL, std::string("internal error, please report it: ") + defect.what(),
                  error);
  }
}

}  // namespace neap::api
