// SPDX-License-Identifier: Apache-2.0
//
// In place of http.cc where the HTTP library is absent.
#include "neap/serve/serve.h"

namespace neap::serve {

bool IsAvailable() { return false; }

Status Serve(const Settings& settings) {
  (void)settings;
  Diagnostic error = UsageError("this program was built without its server");
  error.hint = "install Boost (Debian: libboost-dev) and build it again";
  return Fail(std::move(error));
}

}  // namespace neap::serve
