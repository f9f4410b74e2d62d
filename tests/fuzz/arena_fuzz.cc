// SPDX-License-Identifier: Apache-2.0
//
// Placement problems from bytes, pair rules included: valid ones get a right placement, never below
// the lower bound and, where no rule forbids disjoint places, never above the greedy one.
#include "neap/solve/arena/arena.h"
#include "neap/solve/arena/check.h"
#include "tests/fuzz/byte_source.h"
#include "tests/fuzz/require.h"

namespace {

using neap::fuzz::Require;

neap::arena::Problem Decode(neap::fuzz::ByteSource* bytes) {
  neap::arena::Problem problem;
  const std::int32_t count = bytes->Below(24);
  for (std::int32_t i = 0; i < count; ++i) {
    neap::arena::Buffer buffer;
    buffer.bytes = bytes->Byte() - 2;
    buffer.first = bytes->Below(16);
    buffer.last = buffer.first + bytes->Below(8);
    const std::int32_t kind = bytes->Below(16);
    if (kind >= 12) buffer.alignment = std::int64_t{1} << (kind - 12);
    if (kind == 1) buffer.fixed_offset = bytes->Byte();
    problem.buffers.push_back(buffer);
  }
  if (count < 2) return problem;
  for (std::int32_t left = bytes->Below(12); left > 0; --left) {
    const std::int32_t a = bytes->Below(count);
    const std::int32_t b = bytes->Below(count);
    const std::int32_t kind = bytes->Below(4);
    const std::int64_t at = bytes->Byte() - 64;
    if (kind == 0) problem.pairs.push_back(StartsBelow(problem, a, b, at > 0 ? at : 0));
    if (kind == 1) AddExactlyAt(problem, a, b, at);
    if (kind == 2) problem.pairs.push_back(neap::arena::Unrelated(a, b));
    if (kind == 3) problem.pairs.push_back({a, b, at, at + bytes->Byte() - 8});
  }
  return problem;
}

bool AllowsDisjoint(const neap::arena::Problem& problem) {
  for (const neap::arena::PairRule& rule : problem.pairs) {
    const auto& a = problem.buffers[static_cast<std::size_t>(rule.a)];
    const auto& b = problem.buffers[static_cast<std::size_t>(rule.b)];
    if (rule.low < -b.bytes || rule.high > a.bytes) return false;
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  neap::fuzz::ByteSource bytes(data, size);
  const neap::arena::Problem problem = Decode(&bytes);
  if (neap::arena::Validate(problem)) return 0;
  neap::Limits limits;
  limits.max_states = 2000;
  const auto outcome = neap::arena::Solve(problem, limits);
  Require(!neap::arena::FindViolation(problem, outcome.placement), "the placement is right");
  Require(outcome.lower_bound_bytes <= outcome.placement.height_bytes, "the bound is one");
  Require(neap::arena::LoadLowerBound(problem) <= outcome.lower_bound_bytes,
          "the best bound is returned");
  if (!AllowsDisjoint(problem)) return 0;
  const auto greedy = neap::arena::PlaceLikeTflm(problem);
  Require(outcome.placement.height_bytes <= greedy.height_bytes, "never above the greedy planner");
  return 0;
}
