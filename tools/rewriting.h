// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "neap/base/result.h"
#include "neap/deliver/rewriting.h"

namespace CLI {  // NOLINT(readability-identifier-naming): theirs
class App;
}  // namespace CLI

namespace neap::tools {

// --rewrite and what belongs to it, as given.
struct RewriteWords {
  std::string rewrite;
  std::string rules;          // "": all
  int accumulator_bytes = 0;  // 0: not given
  std::int64_t work = 0;      // 0: not given
  bool asked = false;         // any of them was given, and not that the graph stays
};
// `words->rewrite` is the default.
void AddRewriteOptions(CLI::App* app, RewriteWords* words);

// The same, understood.
Result<deliver::RewriteSettings> ParseRewriting(const RewriteWords& words);

}  // namespace neap::tools
