// SPDX-License-Identifier: Apache-2.0
#include "neap/deliver/option_values.h"

#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "neap/base/nearest.h"
#include "neap/ops/overlap.h"
#include "neap/plan/profile.h"
#include "neap/target/board.h"
#include "neap/target/target.h"
#include "neap/transform/rewrite/rewrite.h"
#include "neap/transform/stream/options.h"

namespace neap::deliver {
namespace {

// "1.02" as 1020: at most `max_digits` before the point and three after it; nullopt: not a number.
std::optional<std::int64_t> Thousandths(std::string_view text, std::size_t max_digits) {
  const std::size_t point = text.find('.');
  const std::string whole(text.substr(0, point));
  std::string decimals(point == std::string_view::npos ? "" : text.substr(point + 1));
  decimals.resize(std::max<std::size_t>(decimals.size(), 3), '0');
  const std::string digits = whole + decimals;
  if (whole.empty() || whole.size() > max_digits || decimals.size() > 3 ||
      digits.find_first_not_of("0123456789") != std::string::npos) {
    return std::nullopt;
  }
  return std::stoll(digits);
}

}  // namespace

std::vector<std::string> SplitAtCommas(std::string_view text) {
  std::vector<std::string> items;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    items.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return items;
}

Status NotOneOf(std::string_view text, const std::string& names) {
  return Fail(UsageError("'" + std::string(text) + "' is not one of " + names));
}

Status SetRuntime(std::string_view text, Words* words) {
  if (!plan::RuntimeNamed(std::string(text))) {
    Diagnostic diagnostic = UsageError("'" + std::string(text) + "' is not a runtime");
    diagnostic.hint = "expected one of";
    for (const plan::Profile& profile : plan::Profiles()) {
      diagnostic.hint +=
          (&profile == &plan::Profiles().front() ? " " : ", ") + std::string(profile.name);
    }
    return Fail(std::move(diagnostic));
  }
  words->runtime = text;
  return {};
}

Status SetTarget(std::string_view text, Words* words) {
  if (target::TargetNamed(text) == nullptr) {
    Diagnostic diagnostic = UsageError("'" + std::string(text) + "' is not a target");
    diagnostic.hint = "expected one of";
    for (const target::Target& target : target::Targets()) {
      diagnostic.hint += (&target == &target::Targets().front() ? " " : ", ");
      diagnostic.hint += target.name;
    }
    return Fail(std::move(diagnostic));
  }
  words->target = text;
  return {};
}

Status SetBoard(std::string_view text, Words* words) {
  if (target::BoardNamed(text) == nullptr) {
    Diagnostic diagnostic = UsageError("'" + std::string(text) + "' is not a board");
    std::vector<std::string_view> names;
    for (const auto table : {target::Boards(), target::MemorySystems()}) {
      for (const target::Board& board : table) names.push_back(board.name);
    }
    diagnostic.hint = DidYouMean(text, names);
    diagnostic.hint += diagnostic.hint.empty() ? "" : " ";
    diagnostic.hint += "neap boards prints all boards";
    return Fail(std::move(diagnostic));
  }
  words->board = text;
  return {};
}

Status SetOverlap(std::string_view text, Words* words) {
  if (!ops::KernelLibraryNamed(text)) {
    Diagnostic diagnostic = UsageError("'" + std::string(text) + "' is not a library of kernels");
    diagnostic.hint = "expected one or, joined by commas, several of";
    for (const ops::KernelLibraryInfo& info : ops::KernelLibraries()) {
      diagnostic.hint +=
          (&info == &ops::KernelLibraries().front() ? " " : ", ") + std::string(info.name);
    }
    return Fail(std::move(diagnostic));
  }
  words->overlap = text;
  return {};
}

Status SetSoftBudget(std::string_view text, Words* words) {
  NEAP_CHECK_OK(SetBytes(text, &words->soft_budget_bytes));
  if (words->soft_budget_bytes >= 1) return {};
  return Fail(UsageError("is 0, expected at least 1 byte"));
}

// "sram=256KiB,bw=8" or "psram=8MiB,bw=0.5": bytes per cycle with at most three decimals.
Status AddMemory(std::string_view text, Words* words) {
  const auto refuse = [&](const char* why) {
    return Fail(UsageError("'" + std::string(text) + "' " + why + ", expected NAME=SIZE,bw=N"));
  };
  const std::size_t equals = text.find('=');
  const std::size_t comma = text.find(",bw=");
  if (equals == 0 || equals == std::string_view::npos || comma == std::string_view::npos ||
      comma < equals) {
    return refuse("is malformed");
  }
  plan::Memory memory;
  memory.name = text.substr(0, equals);
  NEAP_CHECK_OK(SetBytes(text.substr(equals + 1, comma - equals - 1), &memory.capacity_bytes));
  constexpr std::size_t kMaxDigits = 6;
  const auto rate = Thousandths(text.substr(comma + 4), kMaxDigits);
  if (!rate) return refuse("has no bandwidth in bytes per cycle");
  if (*rate == 0) return refuse("has a bandwidth of 0");
  memory.bytes_per_kilocycle = *rate;
  for (const plan::Memory& other : words->memories) {
    if (other.name == memory.name) {
      return Fail(UsageError("names '" + memory.name + "' twice"));
    }
  }
  words->memories.push_back(std::move(memory));
  if (words->memories.size() <= plan::kMaxMemories) return {};
  return Fail(UsageError("is given " + std::to_string(words->memories.size()) +
                         " times, expected at most " + std::to_string(plan::kMaxMemories)));
}

Status SetSkippedSteps(std::string_view text, Words* words) {
  words->skipped_steps = SplitAtCommas(text);
  std::vector<std::string_view> names;
  for (const OptionalStep& step : OptionalSteps()) names.push_back(step.name);
  for (const std::string& item : words->skipped_steps) {
    if (std::find(names.begin(), names.end(), item) != names.end()) continue;
    Diagnostic error = UsageError("there is no optional step '" + item + "'");
    error.hint = "expected some of " + JoinedBy(names, ", ");
    return Fail(std::move(error));
  }
  return {};
}

Status SetRules(std::string_view text, Words* words) {
  words->rules = SplitAtCommas(text);
  bool on = false;
  bool off = false;
  const auto known = rewrite::Rules();
  for (const std::string& item : words->rules) {
    const bool without = item.starts_with("-");
    (without ? off : on) = true;
    const std::string name = without ? item.substr(1) : item;
    const bool is_rule = std::any_of(known.begin(), known.end(),
                                     [&](const auto& rule) { return rule.name == name; });
    if (is_rule) continue;
    Diagnostic error = UsageError("there is no rule '" + name + "'");
    error.hint = "expected some of ";
    for (const rewrite::RuleInfo& rule : known) {
      error.hint += (&rule == &known.front() ? "" : ", ") + std::string(rule.name);
    }
    return Fail(std::move(error));
  }
  if (!on || !off) return {};
  return Fail(
      UsageError("names rules to apply and rules to leave out (-NAME), expected only one kind"));
}

Status SetMaxMacs(std::string_view text, Words* words) {
  constexpr std::size_t kMaxDigits = 3;
  const auto permille = Thousandths(text, kMaxDigits);
  if (!permille || *permille < 1000) {
    return Fail(
        UsageError("'" + std::string(text) + "' is not a ratio of at least 1 such as 1.02"));
  }
  words->max_macs_permille = *permille;
  return {};
}

Status SetRecompute(std::string_view text, Words* words) {
  constexpr std::size_t kMaxDigits = 2;
  const auto permille = Thousandths(text, kMaxDigits);
  if (!permille || *permille <= 1000) {
    return Fail(UsageError("'" + std::string(text) + "' is not a ratio above 1 such as 1.2"));
  }
  words->max_cost_permille = *permille;
  return {};
}

Status SetBlockColumns(std::string_view text, Words* words) {
  constexpr std::int64_t kMax = 999'999;
  if (text == "row") {
    words->block_columns = stream::kFullRow;
    return {};
  }
  if (SetNumber(text, std::int64_t{1}, kMax, &words->block_columns)) return {};
  return Fail(UsageError("'" + std::string(text) + "' is not a positive number or 'row'"));
}

namespace {

// All of `text` as a decimal number; nullopt: it is not one.
std::optional<double> NumberOf(std::string_view text) {
#ifdef __EMSCRIPTEN__
  // Its C++ library has std::from_chars for integers alone.
  if (text.empty() || text.find_first_not_of("0123456789.eE+-") != std::string_view::npos ||
      text.front() == '+') {
    return std::nullopt;
  }
  const std::string copy(text);
  char* rest = nullptr;
  const double number = std::strtod(copy.c_str(), &rest);
  return rest == copy.c_str() + copy.size() ? std::optional(number) : std::nullopt;
#else
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && rest == end ? std::optional(number) : std::nullopt;
#endif
}

}  // namespace

Status SetTimeLimit(std::string_view text, Words* words) {
  const std::optional<double> seconds = NumberOf(text);
  if (!seconds || !std::isfinite(*seconds) || *seconds < 0) {
    return Fail(UsageError("is not a number of seconds of at least 0"));
  }
  words->time_limit_seconds = *seconds;
  return {};
}

Status SetTileGrids(std::string_view text, Words* words) {
  std::string which;
  NEAP_CHECK_OK(SetName(text, {"auto", "all"}, &which));
  words->grids.all = which == "all";
  return {};
}

}  // namespace neap::deliver
