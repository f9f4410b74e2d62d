// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tl/expected.hpp>
#include <utility>

#include "neap/base/diagnostic.h"

namespace neap {

// Bad input and refused I/O are values, not exceptions. The end of a search is never an error (the
// solvers return the best they found with its bound), and a defect of ours is an InternalError.
template <typename T>
using Result = tl::expected<T, Diagnostic>;
using Status = tl::expected<void, Diagnostic>;

inline tl::unexpected<Diagnostic> Fail(Diagnostic diagnostic) {
  return tl::unexpected<Diagnostic>(std::move(diagnostic));
}

}  // namespace neap

#define NEAP_CONCAT_INNER(a, b) a##b
#define NEAP_CONCAT(a, b) NEAP_CONCAT_INNER(a, b)
// NOLINTBEGIN(bugprone-macro-parentheses): names and a declaration, no expressions
#define NEAP_TRY_INNER(temporary, declaration, expression)           \
  auto temporary = (expression);                                     \
  if (!temporary) return ::neap::Fail(std::move(temporary).error()); \
  declaration = std::move(*temporary)
// NOLINTEND(bugprone-macro-parentheses)
// NEAP_TRY(auto x, F()): x = the value of F(), or return F()'s error.
#define NEAP_TRY(declaration, expression) \
  NEAP_TRY_INNER(NEAP_CONCAT(neap_result_, __LINE__), declaration, expression)
// NEAP_CHECK_OK(F()): return F()'s error if there is one.
#define NEAP_CHECK_OK(expression)                                          \
  do {                                                                     \
    auto neap_status = (expression);                                       \
    if (!neap_status) return ::neap::Fail(std::move(neap_status).error()); \
  } while (false)
