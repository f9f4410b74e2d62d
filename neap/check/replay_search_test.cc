// SPDX-License-Identifier: Apache-2.0
//
// The checker's search against all orders of small graphs, and how many states it needs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "neap/base/random.h"
#include "neap/check/bound_check.h"
#include "neap/check/bound_model.h"
#include "testing/cases.h"
#include "testing/plans.h"

namespace neap::check {
namespace {

using graph::OpId;
using graph::Subgraph;
using plan::test::AddOp;
using plan::test::AddTensor;
using plan::test::Tensors;

// Operators that read up to three earlier tensors and write up to two.
Subgraph RandomSubgraph(int ops, Random* random) {
  Subgraph subgraph;
  const auto bytes = [&] { return static_cast<int>(1 + random->Below(9)); };
  std::vector<int> tensors = {0};
  AddTensor(subgraph, bytes());
  subgraph.inputs = Tensors({0});
  std::vector<int> outputs;
  for (int op = 0; op < ops; ++op) {
    std::vector<int> inputs;
    const std::uint64_t reads = 1 + random->Below(3);
    for (std::uint64_t i = 0; i < reads; ++i) {
      const std::size_t near = std::min<std::size_t>(tensors.size(), 6);
      inputs.push_back(tensors[tensors.size() - 1 - random->Below(near)]);
    }
    std::vector<int> written;
    const std::uint64_t writes = 1 + (random->Below(4) == 0 ? 1 : 0);
    for (std::uint64_t i = 0; i < writes; ++i) {
      written.push_back(static_cast<int>(subgraph.tensors.size()));
      AddTensor(subgraph, bytes());
      if (random->Below(8) == 0) outputs.push_back(written.back());
    }
    AddOp(subgraph, random->Below(4) == 0 ? "Relu" : "Conv", inputs, written);
    tensors.insert(tensors.end(), written.begin(), written.end());
  }
  outputs.push_back(tensors.back());
  std::sort(outputs.begin(), outputs.end());
  outputs.erase(std::unique(outputs.begin(), outputs.end()), outputs.end());
  subgraph.outputs = Tensors(outputs);
  return subgraph;
}

// By all sets of operators that have run.
class EveryOrder {
 public:
  explicit EveryOrder(const BoundModel& model) : model_(model) {}

  std::int64_t LeastPeak() const {
    const std::size_t ops = model_.values_of.size();
    constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
    std::vector<std::int64_t> peak(std::size_t{1} << ops, kNone);
    peak[0] = 0;
    for (std::size_t done = 0; done + 1 < peak.size(); ++done) {
      if (peak[done] == kNone) continue;
      for (std::size_t op = 0; op < ops; ++op) {
        const auto& before = model_.predecessors[op];
        const bool ready = !In(done, op) && std::all_of(before.begin(), before.end(), [&](auto p) {
          return In(done, static_cast<std::size_t>(p));
        });
        if (!ready) continue;
        std::int64_t& next = peak[done | std::size_t{1} << op];
        next = std::min(next, std::max(peak[done], Hill(done, op)));
      }
    }
    return peak.back();
  }

 private:
  static bool In(std::size_t set, std::size_t op) { return ((set >> op) & 1U) != 0; }

  std::int64_t Hill(std::size_t done, std::size_t op) const {
    const std::size_t after = done | std::size_t{1} << op;
    std::int64_t live = 0;
    const auto [input, output] = model_.in_place[op];
    bool input_ends = false;
    for (std::size_t t = 0; t < model_.values.size(); ++t) {
      const BoundModel::Value& value = model_.values[t];
      const auto ran = [&](std::size_t set) {
        return static_cast<std::size_t>(
            std::count_if(value.users.begin(), value.users.end(),
                          [&](auto user) { return In(set, static_cast<std::size_t>(user)); }));
      };
      if (!value.at_start && ran(after) == 0) continue;
      if (!value.at_end && ran(done) == value.users.size()) continue;
      live += value.bytes;
      const bool ends = !value.at_end && ran(after) == value.users.size();
      if (static_cast<std::int32_t>(t) == input) input_ends = ends;
    }
    if (input_ends) live -= model_.values[static_cast<std::size_t>(output)].bytes;
    return live;
  }

  const BoundModel& model_;
};

ReplayVerdict Replay(const BoundModel& model, bool reversed, std::int64_t bound,
                     std::int64_t max_states, std::int64_t* states) {
  plan::Certificate certificate;
  certificate.kind = plan::CertificateKind::kSearch;
  certificate.op = OpId(0);
  certificate.reversed = reversed;
  return ReplaySearch(model, certificate, bound, max_states, states);
}

// The minimum peak of all orders is confirmed and a byte more is refuted.
TEST(ReplaySearch, AgreesWithAllOrders) {
  Random random(24);
  std::int64_t states = 0;
  std::int64_t all = 0;
  for (int i = 0; i < Cases(4000); ++i) {
    const Subgraph subgraph = RandomSubgraph(4 + i % 7, &random);
    const plan::Runtime runtime = i % 3 == 0 ? plan::Runtime::kIdealInPlace : plan::Runtime::kIdeal;
    const BoundModel model(subgraph, plan::ProfileOf(runtime));
    const std::int64_t least = EveryOrder(model).LeastPeak();
    for (const bool reversed : {false, true}) {
      EXPECT_EQ(Replay(model, reversed, least, 100'000, &states), ReplayVerdict::kProven) << i;
      all += states;
      EXPECT_EQ(Replay(model, reversed, least + 1, 100'000, &states), ReplayVerdict::kRefuted) << i;
    }
  }
  EXPECT_GT(all, Cases(4000));
}

// Branches that grow and end smaller than they began: each is finished before the next begins, so
// that the combinations of finished ones are not searched. The last one is the highest.
TEST(ReplaySearch, CommitsToFinishedBranches) {
  constexpr int kBranches = 40;
  Subgraph subgraph;
  std::vector<int> starts;
  std::vector<int> ends;
  for (int branch = 0; branch < kBranches; ++branch) {
    const int high = branch + 1 < kBranches ? 30 + branch % 3 : 200;
    starts.push_back(static_cast<int>(subgraph.tensors.size()));
    for (const int bytes : {4, 20, high, high, 1}) AddTensor(subgraph, bytes);
    for (int step = 0; step < 4; ++step) {
      AddOp(subgraph, "Conv", {starts.back() + step}, {starts.back() + step + 1});
    }
    ends.push_back(starts.back() + 4);
  }
  subgraph.inputs = Tensors(starts);
  AddTensor(subgraph, 1);
  const int last = static_cast<int>(subgraph.tensors.size()) - 1;
  AddOp(subgraph, "Concat", ends, {last});
  subgraph.outputs = Tensors({last});
  const BoundModel model(subgraph, plan::ProfileOf(plan::Runtime::kIdeal));
  constexpr std::int64_t kLeast = (kBranches - 1) + 2 * 200;
  std::int64_t states = 0;
  EXPECT_EQ(Replay(model, false, kLeast + 1, 1'000, &states), ReplayVerdict::kRefuted);
  EXPECT_EQ(Replay(model, false, kLeast, 1'000, &states), ReplayVerdict::kProven);
}

}  // namespace
}  // namespace neap::check
