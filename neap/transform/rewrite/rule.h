// SPDX-License-Identifier: Apache-2.0
//
// The interface of rules. Private to neap/transform/rewrite. The rules are in
// neap/transform/rewrite/rules, one per file; the first comment of each file states pattern,
// conditions, effect on memory, exactness and derivation.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "neap/graph/graph.h"
#include "neap/transform/rewrite/draft.h"
#include "neap/transform/rewrite/rewrite.h"

namespace neap::rewrite {

using Parameters = std::vector<std::int64_t>;

struct Rule {
  RuleInfo info;
  // Whether the rule matches an operator of the source whose inputs have their values in the draft,
  // and its effect on the outputs.
  std::optional<plan::Exactness> (*match)(const Draft& draft, graph::OpId op) = nullptr;
  // Gives the outputs of the operator their values. Called after a match; the parameters are those
  // that the rule knows, or empty: its own choice. False: it knows none.
  bool (*apply)(Draft* draft, graph::OpId op, const Parameters& parameters) = nullptr;
  // A draft for a bound: costs at any step at most what the operator costs, rewritten or not.
  // nullptr: `apply` is that already.
  void (*relax)(Draft* draft, graph::OpId op) = nullptr;
  // Parameters worth trying, the finest last; nullptr: none.
  std::vector<Parameters> (*variants)(const Draft& draft, graph::OpId op) = nullptr;
};

// In the order of Rules().
std::span<const Rule> AllRules();
const Rule* RuleNamed(std::string_view name);

}  // namespace neap::rewrite
