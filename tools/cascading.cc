// SPDX-License-Identifier: Apache-2.0
#include "tools/cascading.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstddef>
#include <utility>

#include "neap/base/bytes.h"
#include "neap/io/file.h"

namespace neap::tools {
namespace {

std::string PresetList() {
  std::string list;
  for (const std::string_view name : cascade::DevicePresets()) {
    list += (list.empty() ? "" : ", ") + std::string(name);
  }
  return list;
}

}  // namespace

void AddDeviceOption(CLI::App* app, std::string* device) {
  app->add_option(
         "--device", *device,
         "what cycles are counted on: a description in a file ending in .json, or one of " +
             PresetList() + "; default: " + std::string(cascade::DevicePresets().front()))
      ->option_text("NAME or FILE");
}

void AddGridOptions(CLI::App* app, GridOptions* options) {
  const auto add = [&](const char* name, std::int64_t low, std::int64_t high, const char* text,
                       const auto& set) {
    app->add_option_function<std::int64_t>(
           name,
           [options, name, set](const std::int64_t& value) {
             options->given.emplace_back(name);
             set(&options->grids, value);
           },
           text)
        ->option_text("N")
        ->check(CLI::Range(low, high));
  };
  add("--max-region-operators", 1, 1000, "operators in one region of tiles, at most; default: 24",
      [](cascade::Grids* grids, std::int64_t value) {
        grids->most_operators = static_cast<std::size_t>(value);
      });
  add("--max-region-tiles", 2, 4096, "tiles of one region, at most; default: 64",
      [](cascade::Grids* grids, std::int64_t value) { grids->most_tiles = value; });
  add("--max-tile-aspect", 1, 4096,
      "where height and width are both cut, parts along the one for each part along the other, at "
      "most; default: 2",
      [](cascade::Grids* grids, std::int64_t value) { grids->most_aspect = value; });
  app->add_option_function<std::string>(
         "--tile-grids",
         [options](const std::string& which) {
           options->given.emplace_back("--tile-grids");
           options->grids.all = which == "all";
         },
         "grids that are tried: all, or (auto, the default) those that promise most: where slices "
         "of rows are free (--runtime tflm) no cuts of the width alone, and at most 16 tiles where "
         "both axes are cut")
      ->option_text("auto|all")
      ->check(CLI::IsMember({"auto", "all"}));
}

Status RefuseGrids(const GridOptions& options, const std::string& belong_to) {
  if (options.given.empty()) return {};
  return Fail(UsageError(options.given.front() + " belongs to " + belong_to));
}

Result<cascade::Device> DeviceFor(const std::string& name) {
  const std::string wanted = name.empty() ? std::string(cascade::DevicePresets().front()) : name;
  if (auto preset = cascade::DeviceNamed(wanted)) return *preset;
  if (!wanted.ends_with(".json")) {
    Diagnostic diagnostic = UsageError("--device '" + wanted + "' is no preset");
    diagnostic.hint = "one of " + PresetList() + ", or a file ending in .json";
    return Fail(std::move(diagnostic));
  }
  NEAP_TRY(const auto bytes, io::ReadFile(wanted));
  const std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  return cascade::ParseDevice(text, wanted);
}

void CascadeProgressLine::Show(const cascade::PlanProgress& progress) {
  if (!enabled_) return;
  const double now = watch_.Seconds();
  if (now < 1 || now - last_seconds_ < 0.2) return;
  last_seconds_ = now;
  shown_ = true;
  fmt::print(stderr, "\r\x1b[Kcascade: {} {} of {}, best {} B, {:.0f} s", progress.phase,
             progress.done, progress.of, FormatCount(progress.best_bytes), now);
  std::fflush(stderr);
}

void CascadeProgressLine::Erase() {
  if (!shown_) return;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
  shown_ = false;
}

std::vector<std::string> RegionsText(const cascade::Proposal& proposal) {
  std::vector<std::string> lines;
  for (const cascade::RegionPlan& region : proposal.regions) {
    std::string line = fmt::format("{} operators, #{} to #{}, in ", region.ops.size(),
                                   region.ops.front().value(), region.ops.back().value());
    for (std::size_t i = 0; i < region.splits.size(); ++i) {
      line += fmt::format("{}{} parts along axis {}", i == 0 ? "" : " by ",
                          region.splits[i].cuts.size() + 1, region.splits[i].axis);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace neap::tools
