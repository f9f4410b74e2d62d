// SPDX-License-Identifier: Apache-2.0
//
// The solvers for C.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "neap/api/handles.h"
#include "neap/api/neap_c.h"
#include "neap/arena/arena.h"
#include "neap/arena/problem.h"
#include "neap/base/limits.h"
#include "neap/base/work.h"
#include "neap/schedule/problem.h"
#include "neap/schedule/schedule.h"

namespace neap::api {
namespace {

// About what a plan may take without a limit.
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
  constexpr std::size_t kMost = 1U << 30U;
  if (in.num_operators > kMost || in.num_buffers > kMost || in.num_precedences > kMost) {
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

neap_code Place(const neap_buffer* buffers, std::size_t num_buffers, const neap_pair_rule* rules,
                std::size_t num_rules, std::int64_t max_states, std::int64_t* offsets,
                neap_bounds* bounds, neap_error** error) {
  arena::Problem problem;
  for (std::size_t i = 0; i < num_buffers; ++i) {
    const neap_buffer& in = buffers[i];
    arena::Buffer buffer{in.bytes, in.first, in.last, std::max<std::int64_t>(in.alignment, 1), {}};
    if (in.alignment < 0) return Malformed("an alignment below 0", error);
    if (in.fixed_offset >= 0) buffer.fixed_offset = in.fixed_offset;
    problem.buffers.push_back(buffer);
  }
  for (std::size_t i = 0; i < num_rules; ++i) {
    problem.pairs.push_back({rules[i].a, rules[i].b, rules[i].low, rules[i].high});
  }
  if (const auto why = arena::Validate(problem)) return Malformed(*why, error);
  std::optional<WorkScope> work;
  if (max_states <= 0) work.emplace(kSolverWork);
  const arena::Outcome outcome = arena::Solve(problem, LimitsOf(max_states));
  std::copy(outcome.placement.offsets.begin(), outcome.placement.offsets.end(), offsets);
  *bounds = {outcome.placement.height_bytes, outcome.lower_bound_bytes};
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
    return neap::api::Place(buffers, num_buffers, rules, num_rules, max_states, offsets, bounds,
                            error);
  });
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming,modernize-redundant-void-arg)
