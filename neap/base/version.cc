// SPDX-License-Identifier: Apache-2.0
#include "neap/base/version.h"

namespace neap {

std::string_view Version() { return NEAP_VERSION; }

}  // namespace neap
