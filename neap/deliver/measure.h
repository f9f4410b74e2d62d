// SPDX-License-Identifier: Apache-2.0
//
// The one rule by which plans of different models with the same outputs are compared.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

#include "neap/compile/compile.h"
#include "neap/graph/graph.h"

namespace neap::deliver {

// Maximum bytes; nullopt: no limit.
struct Budgets {
  std::optional<std::int64_t> arena_bytes;  // compile::HeadlineBytes()
  std::optional<std::int64_t> total_bytes;  // TFLM's total arena on compile::Options::target
  // A device's memory: of the total arena if that is known, otherwise of the arena.
  std::optional<std::int64_t> memory_bytes;
  // Of a plan with two memories: the slow one.
  std::optional<std::int64_t> slow_bytes = std::nullopt;
  // A device's memory for weights alone, and the weights that are in it.
  std::optional<std::int64_t> weight_memory_bytes = std::nullopt;
  std::int64_t weight_bytes = 0;

  bool Any() const { return arena_bytes || total_bytes || memory_bytes; }
  // Whether plans are compared by the total arena.
  bool CountsTotal() const { return total_bytes || (memory_bytes && !arena_bytes); }
};

// A plan compared with its budgets: the only place that decides what is compared.
struct Verdict {
  enum class Fit : std::uint8_t {
    kNoBudget,
    kFits,
    kExceeds,
    kUnknown,  // what would be compared is unknown, and no other budget is exceeded
  };
  Fit fit = Fit::kNoBudget;
  // The exceeded budget, otherwise the first one; 0 where `required_bytes` is unknown.
  std::int64_t required_bytes = 0;
  std::int64_t available_bytes = 0;
  bool of_total = false;     // of the total arena
  bool of_slow = false;      // of the slow memory
  bool of_weights = false;   // of the memory for weights
  std::string unknown = {};  // kUnknown: why
};
// `placed`: the plan has addresses.
Verdict VerdictOf(const compile::Compiled& compiled, bool placed, const Budgets& budgets);

struct Measure {
  bool fits = true;  // within all budgets; an unknown number fits none
  // With several memories what reading and writing takes; else 0.
  std::int64_t access_cycles = 0;
  // The headline, or the total arena if that has a budget and is known.
  std::int64_t bytes = 0;
  std::int64_t operators = 0;  // that run
  // False: the scratch of an operator is not modelled, and `bytes` counts none of it.
  bool known = true;
  // That the model as given does not need; below 0: that it needs and this one does not.
  std::int64_t extra_macs = 0;
  bool keeps_budget = false;  // there is one, which the plan is within
  // TFLM's total arena on the target; nullopt: unknown. Of equal `bytes` it decides.
  std::optional<std::int64_t> total_arena_bytes = std::nullopt;
  bool compares_total = false;  // Budgets::CountsTotal()

  bool operator==(const Measure&) const = default;
};

// `compiled` is a plan of `graph`; `placed`: with addresses.
Measure MeasureOf(const graph::Graph& graph, const compile::Compiled& compiled, bool placed,
                  const Budgets& budgets);

// A plan that fits, then one whose bytes are known, then less time of access, then, within a
// budget, fewer multiply-accumulates, then fewer bytes, then a smaller total arena (a known
// one is better than an unknown one), then fewer of both multiply-accumulates and operators.
// A strict weak order: more candidates never give a worse best one.
inline bool IsBetter(const Measure& a, const Measure& b) {
  const auto key = [](const Measure& m) {
    return std::tuple(!m.fits, !m.known, m.access_cycles, m.keeps_budget ? m.extra_macs : 0,
                      m.compares_total && !m.total_arena_bytes, m.bytes, !m.total_arena_bytes,
                      m.total_arena_bytes.value_or(0), m.extra_macs, m.operators);
  };
  return key(a) < key(b);
}

}  // namespace neap::deliver
