// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/rematerialise/problem.h"

#include <cstddef>

#include "neap/base/index.h"
#include "neap/base/topological_order.h"

namespace neap::rematerialise {
namespace {

// Sums of sizes and of costs stay far inside 63 bits.
constexpr std::int64_t kMaxTotal = std::int64_t{1} << 60;

// Adds `amount`, which is not negative, as long as the sum is in range.
bool Add(std::int64_t amount, std::int64_t* total) {
  if (amount < 0 || amount > kMaxTotal - *total) return false;
  *total += amount;
  return true;
}

}  // namespace

std::int64_t BaseCost(const Problem& problem) {
  std::int64_t cost = 0;
  for (const Op& op : problem.ops) cost += op.cost;
  return cost;
}

std::optional<std::string> Validate(const Problem& problem) {
  const auto num_ops = static_cast<OpIndex>(problem.ops.size());
  const auto in_range = [&](OpIndex op) { return op >= 0 && op < num_ops; };
  std::int64_t bytes = 0;
  std::int64_t cost = 0;
  for (std::size_t op = 0; op < problem.ops.size(); ++op) {
    if (Add(problem.ops[op].scratch_bytes, &bytes) && Add(problem.ops[op].cost, &cost)) continue;
    return "scratch or cost of operator " + std::to_string(op) + " is out of range";
  }
  std::vector<std::vector<OpIndex>> successors(problem.ops.size());
  for (std::size_t at = 0; at < problem.values.size(); ++at) {
    const Value& value = problem.values[at];
    const std::string name = "value " + std::to_string(at);
    if (!Add(value.bytes, &bytes)) return name + ": its bytes are out of range";
    if (value.writer != kNoWriter && !in_range(value.writer)) {
      return name + ": its writer is not an operator";
    }
    OpIndex last = -1;
    for (const OpIndex reader : value.readers) {
      if (!in_range(reader)) return name + ": a reader is not an operator";
      if (reader <= last) return name + ": its readers are not strictly increasing";
      last = reader;
      if (value.writer != kNoWriter) successors[At(value.writer)].push_back(reader);
    }
  }
  for (const auto& [before, after] : problem.precedences) {
    if (!in_range(before) || !in_range(after)) return "a precedence names no operator";
    successors[At(before)].push_back(after);
  }
  if (TopologicalOrder(successors).size() != problem.ops.size()) return "there is a cycle";
  return std::nullopt;
}

}  // namespace neap::rematerialise
