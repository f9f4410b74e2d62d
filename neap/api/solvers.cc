// SPDX-License-Identifier: Apache-2.0
//
// The solvers for C.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "neap/api/handles.h"
#include "neap/api/neap_c.h"
#include "neap/base/limits.h"
#include "neap/base/work.h"
#include "neap/solve/arena/arena.h"
#include "neap/solve/arena/memories.h"
#include "neap/solve/arena/problem.h"
#include "neap/solve/schedule/problem.h"
#include "neap/solve/schedule/schedule.h"

namespace neap::api {
namespace {

// About the default limit of a plan.
constexpr std::int64_t kSolverWork = 30'000'000'000;

Limits LimitsOf(std::int64_t max_states) {
  Limits limits;
  limits.max_states = max_states > 0 ? max_states : kStatesForAFewSeconds;
  return limits;
}

neap_code Malformed(const std::string& why, neap_error** error) {
  return Refuse(UsageError("the problem is malformed: " + why), error);
}

std::optional<std::string> ReadProblem(const neap_order_problem& in, schedule::Problem* out) {
  constexpr std::size_t kMax = 1U << 30U;
  if (in.num_operators > kMax || in.num_buffers > kMax || in.num_precedences > kMax) {
    return "more than 2^30 elements";
  }
  out->num_ops = static_cast<schedule::OpIndex>(in.num_operators);
  out->buffers.resize(in.num_buffers);
  for (std::size_t b = 0; b < in.num_buffers; ++b) {
    schedule::Buffer& buffer = out->buffers[b];
    buffer.bytes = in.buffer_bytes[b];
    buffer.live_at_start = in.live_at_start != nullptr && in.live_at_start[b] != 0;
    buffer.live_at_end = in.live_at_end != nullptr && in.live_at_end[b] != 0;
  }
  for (std::size_t v = 0; v < in.num_operators; ++v) {
    if (in.use_begin[v] > in.use_begin[v + 1]) return "use_begin decreases";
    for (std::size_t k = in.use_begin[v]; k < in.use_begin[v + 1]; ++k) {
      const std::int32_t b = in.uses[k];
      if (b < 0 || static_cast<std::size_t>(b) >= in.num_buffers) {
        return "operator " + std::to_string(v) + " uses buffer " + std::to_string(b);
      }
      auto& users = out->buffers[static_cast<std::size_t>(b)].users;
      const auto op = static_cast<schedule::OpIndex>(v);
      if (users.empty() || users.back() != op) users.push_back(op);
    }
  }
  if (in.scratch_bytes != nullptr) {
    out->scratch_bytes.assign(in.scratch_bytes, in.scratch_bytes + in.num_operators);
  }
  for (std::size_t k = 0; k < in.num_precedences; ++k) {
    out->precedences.emplace_back(in.before[k], in.after[k]);
  }
  return schedule::Validate(*out);
}

neap_code Order(const neap_order_problem& in, std::int64_t max_states, std::int32_t* order,
                neap_bounds* bounds, neap_error** error) {
  schedule::Problem problem;
  if (const auto why = ReadProblem(in, &problem)) return Malformed(*why, error);
  std::optional<WorkScope> work;
  if (max_states <= 0) work.emplace(kSolverWork);
  const schedule::Outcome outcome = schedule::Solve(problem, LimitsOf(max_states));
  std::copy(outcome.order.begin(), outcome.order.end(), order);
  *bounds = {outcome.peak_bytes, outcome.lower_bound_bytes};
  return NEAP_OK;
}

struct Buffers {
  const neap_buffer* buffers;
  std::size_t num_buffers;
  const neap_pair_rule* rules;
  std::size_t num_rules;
};

std::optional<std::string> ReadProblem(const Buffers& in, arena::Problem* out) {
  for (std::size_t i = 0; i < in.num_buffers; ++i) {
    const neap_buffer& given = in.buffers[i];
    if (given.alignment < 0) return "an alignment below 0";
    arena::Buffer buffer{
        given.bytes, given.first, given.last, std::max<std::int64_t>(given.alignment, 1), {}};
    if (given.fixed_offset >= 0) buffer.fixed_offset = given.fixed_offset;
    out->buffers.push_back(buffer);
  }
  for (std::size_t i = 0; i < in.num_rules; ++i) {
    const neap_pair_rule& rule = in.rules[i];
    out->pairs.push_back({rule.a, rule.b, rule.low, rule.high});
  }
  return arena::Validate(*out);
}

neap_code Place(const Buffers& in, std::int64_t max_states, std::int64_t* offsets,
                neap_bounds* bounds, neap_error** error) {
  arena::Problem problem;
  if (const auto why = ReadProblem(in, &problem)) return Malformed(*why, error);
  std::optional<WorkScope> work;
  if (max_states <= 0) work.emplace(kSolverWork);
  const arena::Outcome outcome = arena::Solve(problem, LimitsOf(max_states));
  std::copy(outcome.placement.offsets.begin(), outcome.placement.offsets.end(), offsets);
  *bounds = {outcome.placement.height_bytes, outcome.lower_bound_bytes};
  return NEAP_OK;
}

struct Memories {
  const std::int64_t* capacities_bytes;
  std::size_t num_memories;
  const std::int64_t* costs;
};

neap_code PlaceInMemories(const Buffers& in, const Memories& given, std::int64_t max_states,
                          std::int32_t* memories, std::int64_t* offsets, neap_cost_bounds* bounds,
                          neap_error** error) {
  arena::MemoryProblem problem;
  if (const auto why = ReadProblem(in, &problem.problem)) return Malformed(*why, error);
  problem.capacities_bytes.assign(given.capacities_bytes,
                                  given.capacities_bytes + given.num_memories);
  problem.costs.assign(given.costs, given.costs + in.num_buffers * given.num_memories);
  if (const auto why = arena::Validate(problem)) return Malformed(*why, error);
  std::optional<WorkScope> work;
  if (max_states <= 0) work.emplace(kSolverWork);
  const arena::MemoryOutcome outcome = arena::SolveMemories(problem, LimitsOf(max_states));
  if (!outcome.best) {
    Diagnostic diagnostic;
    diagnostic.code = ErrorCode::kOverBudget;
    diagnostic.message = outcome.impossible ? "no placement fits into the memories"
                                            : "the limits ended the search before a placement was "
                                              "found that fits into the memories";
    return Refuse(diagnostic, error);
  }
  std::copy(outcome.best->memories.begin(), outcome.best->memories.end(), memories);
  std::copy(outcome.best->offsets.begin(), outcome.best->offsets.end(), offsets);
  *bounds = {outcome.best->cost, outcome.lower_bound_cost};
  return NEAP_OK;
}

}  // namespace
}  // namespace neap::api

// NOLINTBEGIN(readability-identifier-naming,modernize-redundant-void-arg): the names of C
extern "C" {

neap_code neap_order(const neap_order_problem* problem, int64_t max_states, int32_t* order,
                     neap_bounds* bounds, neap_error** error) {
  return neap::api::Guarded(
      error, [&] { return neap::api::Order(*problem, max_states, order, bounds, error); });
}

neap_code neap_place(const neap_buffer* buffers, size_t num_buffers, const neap_pair_rule* rules,
                     size_t num_rules, int64_t max_states, int64_t* offsets, neap_bounds* bounds,
                     neap_error** error) {
  return neap::api::Guarded(error, [&] {
    return neap::api::Place({buffers, num_buffers, rules, num_rules}, max_states, offsets, bounds,
                            error);
  });
}

neap_code neap_place_in_memories(const neap_buffer* buffers, size_t num_buffers,
                                 const neap_pair_rule* rules, size_t num_rules,
                                 const int64_t* capacities_bytes, size_t num_memories,
                                 const int64_t* costs, int64_t max_states, int32_t* memories,
                                 int64_t* offsets, neap_cost_bounds* bounds, neap_error** error) {
  return neap::api::Guarded(error, [&] {
    return neap::api::PlaceInMemories({buffers, num_buffers, rules, num_rules},
                                      {capacities_bytes, num_memories, costs}, max_states, memories,
                                      offsets, bounds, error);
  });
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming,modernize-redundant-void-arg)
