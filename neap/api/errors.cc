// SPDX-License-Identifier: Apache-2.0
//
// Errors and the version, which both libraries have.
#include "neap/api/handles.h"
#include "neap/base/version.h"

// NOLINTBEGIN(readability-identifier-naming,modernize-redundant-void-arg): the names of C
extern "C" {

const char* neap_version(void) { return neap::Version().data(); }

neap_code neap_error_code(const neap_error* error) {
  return error == nullptr ? NEAP_OUT_OF_MEMORY : error->code;
}
const char* neap_error_message(const neap_error* error) {
  return error == nullptr ? "out of memory" : error->message.c_str();
}
void neap_error_free(neap_error* error) { delete error; }

}  // extern "C"
// NOLINTEND(readability-identifier-naming,modernize-redundant-void-arg)
