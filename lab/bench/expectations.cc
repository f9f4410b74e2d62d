// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "lab/bench/bench.h"
#include "neap/base/bytes.h"

namespace neap::bench {
namespace {

using nlohmann::ordered_json;

std::string Line(const std::string& name, std::int64_t stored, std::int64_t now) {
  return fmt::format("{}: {} was {}", name, FormatCount(now), FormatCount(stored));
}

}  // namespace

std::string ExpectationsJson(const Report& report) {
  ordered_json out;
  out["suite"] = report.suite;
  out["qualities"] = ordered_json::object();
  for (const Quality& quality : report.qualities) out["qualities"][quality.name] = quality.value;
  return out.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

Result<Comparison> Compare(const Report& report, std::string_view json) {
  const ordered_json stored = ordered_json::parse(json, nullptr, false);
  const auto refuse = [](const char* why) { return Fail(BadInput(why)); };
  if (!stored.is_object() || !stored.contains("qualities") || !stored["qualities"].is_object() ||
      !stored.contains("suite") || !stored["suite"].is_string()) {
    return refuse("no file of expectations: it needs suite and qualities");
  }
  if (stored["suite"].get<std::string>() != report.suite) {
    return refuse("the expectations are of another suite");
  }
  Comparison comparison;
  std::set<std::string> seen;
  for (const Quality& quality : report.qualities) {
    seen.insert(quality.name);
    const auto found = stored["qualities"].find(quality.name);
    if (found == stored["qualities"].end()) {
      comparison.fresh.push_back(fmt::format("{}: {}", quality.name, FormatCount(quality.value)));
      continue;
    }
    if (!found->is_number_integer()) return refuse("a stored quality is not a whole number");
    const auto was = found->get<std::int64_t>();
    if (quality.value == was) continue;
    const bool worse = quality.more_is_better ? quality.value < was : quality.value > was;
    (worse ? comparison.worse : comparison.better)
        .push_back(Line(quality.name, was, quality.value));
  }
  for (const auto& item : stored["qualities"].items()) {
    if (!seen.contains(item.key()))
      comparison.worse.push_back(item.key() + ": not measured any more");
  }
  return comparison;
}

}  // namespace neap::bench
