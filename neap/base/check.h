// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace neap {

// A defect of Neap itself. Only main() and language bindings catch it.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] inline void ThrowInternalError(const char* file, int line, const char* condition,
                                            const std::string& why) {
  throw InternalError(std::string(file) + ":" + std::to_string(line) + ": " + condition + ": " +
                      why);
}

}  // namespace neap

// Always on. For invariants that no input can break; never reachable by a bad file.
#define NEAP_CHECK(condition, why)    \
  ((condition) ? static_cast<void>(0) \
               : ::neap::ThrowInternalError(__FILE__, __LINE__, #condition, (why)))
