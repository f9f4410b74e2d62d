// SPDX-License-Identifier: Apache-2.0
//
// Results of neap check-budget: text, JSON (which is the baseline of later runs) and SARIF 2.1.0.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "neap/base/result.h"
#include "neap/deliver/boards.h"

namespace neap::tools {

// The earlier need of a model.
struct BaselineEntry {
  std::optional<std::int64_t> arena_bytes;  // nullopt: it was unknown
  std::int64_t flash_bytes = 0;
  std::int64_t macs = 0;
};

struct Baseline {
  std::string board;
  std::map<std::string, BaselineEntry> models;  // by the path as given
};

struct CheckedModel {
  std::string path;  // as given
  std::string sha256;
  deliver::BoardAnswer answer;
  std::optional<BaselineEntry> base;
};

struct BudgetCheck {
  std::int64_t reserve_bytes = 0;
  std::optional<std::int64_t> max_growth_bytes;  // of arena or flash over the baseline
  std::vector<CheckedModel> models;
};

// Everything that is wrong with a model: rule identifier and message; empty: it passes.
struct Finding {
  std::string rule;  // of kRules
  std::string message;
};
std::vector<Finding> FindingsOf(const BudgetCheck& check, const CheckedModel& model);

// Fails, naming `path`, where the text is no report of `neap check-budget --json`.
Result<Baseline> ReadBaseline(const std::string& path);

std::string CheckText(const BudgetCheck& check);
std::string CheckJson(const BudgetCheck& check);
std::string CheckSarif(const BudgetCheck& check);

}  // namespace neap::tools
