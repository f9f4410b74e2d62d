// SPDX-License-Identifier: Apache-2.0
//
// Order problems from bytes: valid ones get a valid order with the peak of a replay, and no bound
// exceeds the peak of any strategy's order.
#include <algorithm>

#include "neap/solve/schedule/check.h"
#include "neap/solve/schedule/schedule.h"
#include "tests/fuzz/byte_source.h"
#include "tests/fuzz/require.h"

namespace {

using neap::fuzz::Require;

neap::schedule::Problem Decode(neap::fuzz::ByteSource* bytes) {
  neap::schedule::Problem problem;
  problem.num_ops = 1 + bytes->Below(12);
  const std::int32_t buffers = bytes->Below(20);
  for (std::int32_t i = 0; i < buffers; ++i) {
    neap::schedule::Buffer buffer;
    buffer.bytes = bytes->Byte();
    const std::int32_t kind = bytes->Below(16);
    buffer.live_at_start = kind == 1;
    buffer.live_at_end = kind == 2;
    for (std::int32_t user = 1 + bytes->Below(4); user > 0; --user) {
      buffer.users.push_back(bytes->Below(problem.num_ops));
    }
    std::sort(buffer.users.begin(), buffer.users.end());
    buffer.users.erase(std::unique(buffer.users.begin(), buffer.users.end()), buffer.users.end());
    for (std::size_t user = 1; user < buffer.users.size(); ++user) {
      problem.precedences.emplace_back(buffer.users[0], buffer.users[user]);
    }
    problem.buffers.push_back(buffer);
  }
  if (bytes->Below(4) == 1) {
    for (std::int32_t op = 0; op < problem.num_ops; ++op) {
      problem.scratch_bytes.push_back(bytes->Byte());
    }
  }
  while (!bytes->empty() && problem.precedences.size() < 100) {
    const std::int32_t before = bytes->Below(problem.num_ops);
    problem.precedences.emplace_back(before, bytes->Below(problem.num_ops));
  }
  return problem;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  neap::fuzz::ByteSource bytes(data, size);
  const neap::schedule::Problem problem = Decode(&bytes);
  if (neap::schedule::Validate(problem)) return 0;
  neap::Limits limits;
  limits.max_states = 20'000;
  const auto best = neap::schedule::Solve(problem, limits);
  neap::schedule::StrategyOptions options;
  options.file_order = best.order;  // a valid order; the exact strategy, too, is judged below
  for (const auto& strategy : neap::schedule::Strategies()) {
    const auto outcome = neap::schedule::Run(strategy.method, problem, limits, options);
    const auto replay = neap::schedule::ReplayOrder(problem, outcome.order);
    Require(replay.has_value(), "the order is valid");
    Require(replay->peak_bytes == outcome.peak_bytes, "the peak is what a replay finds");
    Require(best.lower_bound_bytes <= outcome.peak_bytes, "no order is below the proven bound");
    Require(outcome.lower_bound_bytes <= best.peak_bytes, "no bound is above the best order");
  }
  return 0;
}
