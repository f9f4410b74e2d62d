// SPDX-License-Identifier: Apache-2.0
#include "lab/zoo/zoo.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "lab/zoo/family.h"

namespace neap::zoo {
namespace {

// One line a family; --help lists them in this order.
const std::vector<Entry>& Registry() {
  static const std::vector<Entry> kRegistry = [] {
    std::vector<Entry> entries;
    for (const auto family :
         {RandwireEntries(), DartsEntries(), NasEntries(), NasnetMobileEntries(), SwiftnetEntries(),
          MobilenetEntries(), SsdEntries(), ResnetEntries(), DensenetEntries(), InceptionEntries(),
          XceptionEntries(), UnetEntries(), TinyEntries(), TransformerEntries()}) {
      entries.insert(entries.end(), family.begin(), family.end());
    }
    return entries;
  }();
  return kRegistry;
}

}  // namespace

std::span<const Recipe> Recipes() {
  static const std::vector<Recipe> kRecipes = [] {
    std::vector<Recipe> list;
    for (const Entry& entry : Registry()) list.push_back(entry.recipe);
    return list;
  }();
  return kRecipes;
}

Result<Network> BuildNetwork(std::string_view name, const ZooOptions& options) {
  const auto& registry = Registry();
  const auto entry = std::find_if(registry.begin(), registry.end(),
                                  [&](const Entry& e) { return e.recipe.name == name; });
  if (entry == registry.end()) {
    Diagnostic unknown = UsageError("no network is called '" + std::string(name) + "'");
    for (const Recipe& recipe : Recipes()) {
      unknown.hint += (unknown.hint.empty() ? "there are " : ", ") + std::string(recipe.name);
    }
    return Fail(std::move(unknown));
  }
  if (!entry->recipe.scales && (options.width_thousandths != 0 || options.resolution != 0)) {
    return Fail(UsageError("'" + std::string(name) +
                           "' has no width multiplier and no other resolution than its own"));
  }
  return entry->build(options);
}

Result<graph::Graph> Build(std::string_view name, const ZooOptions& options) {
  NEAP_TRY(Network network, BuildNetwork(name, options));
  return std::move(network.graph);
}

Result<std::int64_t> PickOption(std::string_view option, std::int64_t given, const Range& range) {
  if (given == 0) return range.published;
  if (given >= range.low && given <= range.high && given % range.step == 0) return given;
  std::string expected = "expected ";
  if (range.step != 1) expected += "a multiple of " + std::to_string(range.step) + " ";
  expected += "from " + std::to_string(range.low) + " to " + std::to_string(range.high);
  return Fail(UsageError(std::string(option) + " is " + std::to_string(given) + ", " + expected));
}

Status RefuseNodes(const ZooOptions& options) {
  if (options.nodes == 0) return {};
  return Fail(UsageError("nodes is " + std::to_string(options.nodes) +
                         ", but this network has fixed cells"));
}

Status RefuseSizes(const ZooOptions& options) {
  NEAP_CHECK_OK(RefuseNodes(options));
  if (options.width == 0) return {};
  return Fail(UsageError("width is " + std::to_string(options.width) +
                         ", but this network has one published width"));
}

}  // namespace neap::zoo
