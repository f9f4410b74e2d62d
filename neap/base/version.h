// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace neap {

std::string_view Version();  // "0.1.0"; see CHANGELOG.md

}  // namespace neap
