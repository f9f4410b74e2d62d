// SPDX-License-Identifier: Apache-2.0
//
// The description of the interface, schemas/server.openapi.json, as data of the program. Private to
// neap/serve.
#pragma once

#include <string>

namespace neap::serve {

std::string OpenApiText();

}  // namespace neap::serve
