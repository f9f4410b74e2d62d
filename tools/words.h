// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "neap/deliver/options.h"

namespace CLI {  // NOLINT(readability-identifier-naming): theirs
class App;
}  // namespace CLI

namespace neap::tools {

// Options of the library's table by name (neap/deliver/options.h), in that order. `words` outlives
// the parsing of `app`; its values are the defaults.
void AddWords(CLI::App* app, deliver::Words* words, const std::vector<std::string_view>& names);

}  // namespace neap::tools
