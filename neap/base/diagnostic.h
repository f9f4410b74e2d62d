// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

namespace neap {

// The kind of an error. The command line turns it into an exit code.
enum class ErrorCode {
  kUsage,        // an option or a value that does not exist; exit 2
  kBadInput,     // a file or value is malformed; exit 1
  kMissingSize,  // the input is well-formed but the bytes of a tensor cannot be known; exit 1
  kIo,           // the operating system refused; exit 1
  kOverBudget,   // the result exceeds a given limit; exit 3
};

// One error, printed as one line: location, finding, expectation and, if there is one, the next
// step. Parts that do not apply are empty.
struct Diagnostic {
  ErrorCode code = ErrorCode::kBadInput;
  std::string message;  // lower case, no full stop: finding and expectation
  std::string file;
  std::string op;      // e.g. "#12 'CONV_2D'"
  std::string tensor;  // e.g. "#7 'conv1/out'"
  std::string hint;    // the next step for the user

  // "file: operator ...: tensor ...: message (hint)". Control characters that a hostile file may
  // have put into a name are escaped, so that the result is one line.
  std::string ToString() const;
};

inline Diagnostic BadInput(std::string message) {
  return Diagnostic{ErrorCode::kBadInput, std::move(message), {}, {}, {}, {}};
}
inline Diagnostic MissingSize(std::string message) {
  return Diagnostic{ErrorCode::kMissingSize, std::move(message), {}, {}, {}, {}};
}
inline Diagnostic UsageError(std::string message) {
  return Diagnostic{ErrorCode::kUsage, std::move(message), {}, {}, {}, {}};
}
inline Diagnostic OverBudget(std::string message) {
  return Diagnostic{ErrorCode::kOverBudget, std::move(message), {}, {}, {}, {}};
}
inline Diagnostic IoError(std::string message) {
  return Diagnostic{ErrorCode::kIo, std::move(message), {}, {}, {}, {}};
}

}  // namespace neap
