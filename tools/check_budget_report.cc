// SPDX-License-Identifier: Apache-2.0
#include "tools/check_budget_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "neap/base/bytes.h"
#include "neap/base/version.h"
#include "neap/io/file.h"
#include "neap/show/report/report.h"
#include "neap/show/report/text.h"

namespace neap::tools {
namespace {

using deliver::BoardAnswer;
using Json = nlohmann::ordered_json;

struct Rule {
  std::string_view id;
  std::string_view text;
};
constexpr Rule kRules[] = {
    {"arena-over-budget", "The total arena exceeds the board's RAM less the reserve."},
    {"flash-over-budget", "The model file exceeds the board's flash."},
    {"arena-unknown", "What TensorFlow Lite Micro allocates for the model is not known."},
    {"memory-grew", "Arena or flash grew by more than --max-growth over the baseline."},
};

bool IsKnown(const BoardAnswer& answer) { return answer.fit != BoardAnswer::Fit::kUnknown; }

// A path as a URI reference (RFC 3986): other bytes than letters, digits, -._~ and / are encoded.
std::string UriOf(std::string_view path) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char character : path) {
    const auto byte = static_cast<unsigned char>(character);
    const bool is_letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
    const bool is_digit = byte >= '0' && byte <= '9';
    if (is_letter || is_digit ||
        std::string_view("-._~/").find(character) != std::string_view::npos) {
      out += character;
      continue;
    }
    out += '%';
    out += kDigits[byte / 16];
    out += kDigits[byte % 16];
  }
  return out;
}

// "+1,024 B", "-16 B", "equal"
std::string Change(std::int64_t now, std::int64_t before) {
  if (now == before) return "equal";
  return fmt::format("{}{} B", now > before ? "+" : "-",
                     FormatCount(now > before ? now - before : before - now));
}

std::string AgainstBase(std::int64_t now, std::optional<std::int64_t> before) {
  return before ? fmt::format(" ({} against the baseline)", Change(now, *before)) : "";
}

Json OrNull(const std::optional<std::int64_t>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::optional<std::int64_t> NumberAt(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  const auto value = found->get<std::int64_t>();
  return value < 0 ? std::nullopt : std::optional(value);
}

std::optional<Baseline> BaselineOf(const Json& json) {
  if (!json.is_object()) return std::nullopt;
  const auto board = json.find("board");
  const auto models = json.find("models");
  if (NumberAt(json, "schema_version") != report::kReportVersion || board == json.end() ||
      !board->is_string() || models == json.end() || !models->is_array()) {
    return std::nullopt;
  }
  Baseline baseline;
  baseline.board = board->get<std::string>();
  for (const Json& model : *models) {
    if (!model.is_object()) return std::nullopt;
    const auto path = model.find("model");
    const auto flash = NumberAt(model, "model_bytes");
    const auto macs = NumberAt(model, "macs");
    if (path == model.end() || !path->is_string() || !flash || !macs) return std::nullopt;
    baseline.models[path->get<std::string>()] = {NumberAt(model, "total_arena_bytes"), *flash,
                                                 *macs};
  }
  return baseline;
}

Json ModelJson(const BudgetCheck& check, const CheckedModel& model) {
  const BoardAnswer& answer = model.answer;
  const bool known = IsKnown(answer);
  Json out = {{"model", model.path},
              {"model_sha256", model.sha256},
              {"fits", known ? Json(answer.IsYes()) : Json(nullptr)},
              {"total_arena_bytes", known ? Json(answer.arena_bytes) : Json(nullptr)},
              {"budget_bytes", answer.budget_bytes},
              {"model_bytes", answer.flash_bytes},
              {"flash_bytes", answer.board->flash_bytes},
              {"macs", answer.macs},
              {"model_macs", answer.model_macs},
              {"base", nullptr},
              {"findings", Json::array()}};
  if (model.base) {
    out["base"] = {{"total_arena_bytes", OrNull(model.base->arena_bytes)},
                   {"model_bytes", model.base->flash_bytes},
                   {"macs", model.base->macs}};
  }
  for (const Finding& finding : FindingsOf(check, model)) {
    out["findings"].push_back({{"rule", finding.rule}, {"message", finding.message}});
  }
  return out;
}

}  // namespace

std::vector<Finding> FindingsOf(const BudgetCheck& check, const CheckedModel& model) {
  std::vector<Finding> findings;
  const BoardAnswer& answer = model.answer;
  const bool known = IsKnown(answer);
  if (!known) {
    findings.push_back(
        {"arena-unknown", fmt::format("it is unknown whether the total arena fits: {}",
                                      report::Printable(answer.unknown, 400))});
  } else if (answer.fit == BoardAnswer::Fit::kDoesNotFit) {
    findings.push_back(
        {"arena-over-budget",
         fmt::format("the total arena needs {}, {} has {} less {} reserved: {} missing",
                     FormatBytes(answer.arena_bytes), answer.board->name,
                     FormatBytes(answer.board->ram_bytes), FormatBytes(check.reserve_bytes),
                     FormatBytes(answer.arena_bytes - answer.budget_bytes))});
  }
  if (!answer.fits_flash) {
    findings.push_back(
        {"flash-over-budget", fmt::format("the model file has {}, the flash of {} has {}",
                                          FormatBytes(answer.flash_bytes), answer.board->name,
                                          FormatBytes(answer.board->flash_bytes))});
  }
  if (!model.base || !check.max_growth_bytes) return findings;
  const auto grew = [&](std::string_view what, std::int64_t now, std::int64_t before) {
    if (now - before <= *check.max_growth_bytes) return;
    findings.push_back({"memory-grew", fmt::format("the {} grew from {} to {}, by more than {} B",
                                                   what, FormatBytes(before), FormatBytes(now),
                                                   FormatCount(*check.max_growth_bytes))});
  };
  if (known && model.base->arena_bytes) {
    grew("total arena", answer.arena_bytes, *model.base->arena_bytes);
  }
  grew("model file", answer.flash_bytes, model.base->flash_bytes);
  return findings;
}

Result<Baseline> ReadBaseline(const std::string& path) {
  NEAP_TRY(const auto bytes, io::ReadFile(path));
  const std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  const Json json = Json::parse(text, nullptr, false);
  auto baseline = json.is_discarded() ? std::nullopt : BaselineOf(json);
  if (baseline) return *std::move(baseline);
  Diagnostic diagnostic;
  diagnostic.code = ErrorCode::kBadInput;
  diagnostic.file = path;
  diagnostic.message = "this is not a report of neap check-budget --json";
  return Fail(std::move(diagnostic));
}

std::string CheckText(const BudgetCheck& check) {
  std::string out;
  for (const CheckedModel& model : check.models) {
    const BoardAnswer& answer = model.answer;
    const std::vector<Finding> findings = FindingsOf(check, model);
    out += fmt::format("{}: {} on {}\n", report::Printable(model.path, 4096),
                       findings.empty() ? "passes" : "fails", answer.board->name);
    const auto base = [&](std::int64_t BaselineEntry::*field) {
      return model.base ? std::optional((*model.base).*field) : std::nullopt;
    };
    if (IsKnown(answer)) {
      out += fmt::format(
          "  total arena {} of {} B{}\n", FormatBytes(answer.arena_bytes),
          FormatCount(answer.budget_bytes),
          AgainstBase(answer.arena_bytes, model.base ? model.base->arena_bytes : std::nullopt));
    }
    out += fmt::format("  flash {} of {} B{}\n", FormatBytes(answer.flash_bytes),
                       FormatCount(answer.board->flash_bytes),
                       AgainstBase(answer.flash_bytes, base(&BaselineEntry::flash_bytes)));
    out += fmt::format("  MACs {}", FormatCount(answer.macs));
    if (model.base && model.base->macs != answer.macs) {
      out += fmt::format(" (baseline: {})", FormatCount(model.base->macs));
    }
    out += "\n";
    for (const Finding& finding : findings) {
      out += report::Wrapped(fmt::format("  {}: {}\n", finding.rule, finding.message), 100);
    }
  }
  return out;
}

std::string CheckJson(const BudgetCheck& check) {
  const target::Board& board = *check.models.front().answer.board;
  Json out = {{"schema_version", report::kReportVersion},
              {"board", board.name},
              {"target", board.target},
              {"reserve_bytes", check.reserve_bytes},
              {"max_growth_bytes", OrNull(check.max_growth_bytes)},
              {"models", Json::array()}};
  for (const CheckedModel& model : check.models) out["models"].push_back(ModelJson(check, model));
  return out.dump(2) + "\n";
}

std::string CheckSarif(const BudgetCheck& check) {
  Json rules = Json::array();
  for (const Rule& rule : kRules) {
    rules.push_back({{"id", rule.id}, {"shortDescription", {{"text", rule.text}}}});
  }
  Json results = Json::array();
  for (const CheckedModel& model : check.models) {
    for (const Finding& finding : FindingsOf(check, model)) {
      const Json location = {
          {"physicalLocation", {{"artifactLocation", {{"uri", UriOf(model.path)}}}}}};
      results.push_back({{"ruleId", finding.rule},
                         {"level", "error"},
                         {"message", {{"text", model.path + ": " + finding.message}}},
                         {"locations", Json::array({location})}});
    }
  }
  const Json driver = {{"name", "neap"}, {"version", Version()}, {"rules", std::move(rules)}};
  const Json run = {{"tool", {{"driver", driver}}}, {"results", std::move(results)}};
  const Json out = {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                    {"version", "2.1.0"},
                    {"runs", Json::array({run})}};
  return out.dump(2, ' ', true) + "\n";
}

}  // namespace neap::tools
