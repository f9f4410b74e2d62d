// SPDX-License-Identifier: Apache-2.0
//
// Plans with two memories of small networks beside all plans that run one operator after the other
// as a whole: every order, every home of every tensor, all copies that these homes need. The best
// of them is written as a plan, which the checker has to accept with its traffic. The search must
// not move more, a bound must not be above, and a plan called optimal must not be beaten.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "neap/check/check.h"
#include "neap/transform/stream/spill.h"
#include "testing/cases.h"
#include "testing/streams.h"

namespace neap::stream {
namespace {

using graph::OpId;
using graph::TensorId;
using testing::IsEmpty;

constexpr graph::SubgraphId kSmall(0);
using Order = std::vector<OpId>;

// What the enumeration knows of a network: operators by position in the file.
struct Small {
  explicit Small(const graph::Graph& graph) : main(graph.subgraphs[kSmall]) {
    for (const OpId op : test::FileOrder(graph)) {
      std::set<TensorId> inputs;
      for (const TensorId tensor : main.ops[op].inputs) {
        if (tensor.valid() && !main.tensors[tensor].constant) inputs.insert(tensor);
      }
      ops.push_back(op);
      reads.emplace_back(inputs.begin(), inputs.end());
      writes.emplace_back(main.ops[op].outputs.begin(), main.ops[op].outputs.end());
    }
    for (const std::vector<TensorId>& outputs : writes) {
      for (const TensorId tensor : outputs) {
        if (!IsEnd(tensor) && IsRead(tensor)) inner.push_back(tensor);
      }
    }
  }

  std::int64_t Bytes(TensorId tensor) const { return *graph::TensorBytes(main.tensors[tensor]); }
  bool IsEnd(TensorId tensor) const {
    const auto in = [&](const std::vector<TensorId>& list) {
      return std::find(list.begin(), list.end(), tensor) != list.end();
    };
    return in(main.inputs) || in(main.outputs);
  }
  bool IsRead(TensorId tensor) const {
    return std::any_of(reads.begin(), reads.end(), [&](const auto& list) {
      return std::find(list.begin(), list.end(), tensor) != list.end();
    });
  }

  const graph::Subgraph& main;
  std::vector<OpId> ops;
  std::vector<std::vector<TensorId>> reads;  // each tensor once, no constants
  std::vector<std::vector<TensorId>> writes;
  std::vector<TensorId> inner;  // their homes are free: neither inputs nor outputs, and read
};

// All topological orders, as positions of operators.
void AllOrders(const Small& small, std::vector<std::size_t>* order, std::set<TensorId>* known,
               std::vector<std::vector<std::size_t>>* all) {
  if (order->size() == small.ops.size()) {
    all->push_back(*order);
    return;
  }
  for (std::size_t n = 0; n < small.ops.size(); ++n) {
    if (std::find(order->begin(), order->end(), n) != order->end()) continue;
    const bool ready = std::all_of(small.reads[n].begin(), small.reads[n].end(),
                                   [&](TensorId tensor) { return known->contains(tensor); });
    if (!ready) continue;
    order->push_back(n);
    known->insert(small.writes[n].begin(), small.writes[n].end());
    AllOrders(small, order, known, all);
    for (const TensorId tensor : small.writes[n]) known->erase(tensor);
    order->pop_back();
  }
}

// A plan that runs `order` one by one. Before each operator the tensors in fast memory move down
// until there is no gap; buffers and the output are above them.
struct OneByOne {
  std::vector<std::size_t> order;
  std::set<TensorId> fast;  // homes
  std::int64_t arena_bytes = 0;
  std::int64_t read_bytes = 0;
  std::int64_t written_bytes = 0;
  std::vector<plan::StreamSegment> segments;

  std::int64_t TrafficBytes() const { return read_bytes + written_bytes; }
};

OneByOne Lay(const Small& small, const std::vector<std::size_t>& order, std::set<TensorId> fast,
             bool with_segments) {
  OneByOne out;
  out.order = order;
  out.fast = std::move(fast);
  std::vector<std::pair<TensorId, std::int64_t>> held;  // by address
  for (std::size_t step = 0; step < order.size(); ++step) {
    const std::size_t n = order[step];
    plan::StreamSegment segment;
    segment.whole = true;
    segment.ops.push_back({small.ops[n], {}, false, {}, {}});
    const auto put = [&](TensorId tensor, std::int64_t offset) {
      const plan::StreamImage image =
          plan::ImageOf(small.main.tensors[tensor], plan::HasChannelsFirst(small.main));
      segment.areas.push_back({tensor, {{offset, image.height * image.width}}});
    };
    std::int64_t top = 0;
    for (auto& [tensor, offset] : held) {
      if (offset != top) segment.moves.push_back({tensor, offset, top});
      offset = top;
      if (with_segments) put(tensor, top);
      top += small.Bytes(tensor);
    }
    for (const TensorId tensor : small.reads[n]) {
      if (out.fast.contains(tensor)) continue;
      if (with_segments) put(tensor, top);
      top += small.Bytes(tensor);
      out.read_bytes += small.Bytes(tensor);
    }
    for (const TensorId tensor : small.writes[n]) {
      if (with_segments) put(tensor, top);
      if (out.fast.contains(tensor)) held.emplace_back(tensor, top);
      if (small.IsEnd(tensor) || (small.IsRead(tensor) && !out.fast.contains(tensor))) {
        out.written_bytes += small.Bytes(tensor);
      }
      top += small.Bytes(tensor);
    }
    out.arena_bytes = std::max(out.arena_bytes, top);
    std::erase_if(held, [&](const auto& one) {
      return std::none_of(order.begin() + static_cast<std::ptrdiff_t>(step) + 1, order.end(),
                          [&](std::size_t later) {
                            const auto& list = small.reads[later];
                            return std::find(list.begin(), list.end(), one.first) != list.end();
                          });
    });
    if (with_segments) out.segments.push_back(std::move(segment));
  }
  return out;
}

// The least traffic in `limit` bytes, over all homes.
OneByOne Best(const Small& small, const std::vector<std::size_t>& order, std::int64_t limit) {
  OneByOne best;
  best.read_bytes = std::numeric_limits<std::int64_t>::max() / 4;
  for (std::uint32_t bits = 0; bits < (std::uint32_t{1} << small.inner.size()); ++bits) {
    std::set<TensorId> fast;
    for (std::size_t i = 0; i < small.inner.size(); ++i) {
      if ((bits >> i & 1) != 0) fast.insert(small.inner[i]);
    }
    OneByOne found = Lay(small, order, std::move(fast), false);
    if (found.arena_bytes > limit || found.TrafficBytes() >= best.TrafficBytes()) continue;
    best = std::move(found);
  }
  return best;
}

plan::EntryPlan Written(const graph::Graph& graph, const Small& small, const OneByOne& one,
                        std::int64_t limit, const plan::SlowMemory& searched) {
  const OneByOne laid = Lay(small, one.order, one.fast, true);
  plan::EntryPlan entry = test::EntryWith(graph, laid.segments, laid.arena_bytes);
  entry.steps.clear();
  for (const std::size_t n : one.order) entry.steps.push_back({kSmall, small.ops[n], {}});
  plan::Stream& stream = *entry.stream;
  stream.input = plan::StreamInput::kSlow;
  plan::SlowMemory& slow = stream.slow.emplace();
  slow.fast_bytes = limit;
  slow.read_bytes = laid.read_bytes;
  slow.written_bytes = laid.written_bytes;
  slow.traffic_lower_bound_bytes = searched.traffic_lower_bound_bytes;
  slow.moments = searched.moments;
  std::set<TensorId> placed;
  for (const auto* list : {&small.main.inputs, &small.main.outputs, &small.inner}) {
    for (const TensorId tensor : *list) {
      if (!laid.fast.contains(tensor)) placed.insert(tensor);
    }
  }
  for (const TensorId tensor : placed) {
    slow.tensors.push_back({tensor, slow.bytes});
    slow.bytes += small.Bytes(tensor);
  }
  return entry;
}

// Some operators run at once here and in blocks there, so the search may move less.
TEST(SpillBrute, NoPlanOneByOneMovesLess) {
  Random random(36);
  const int rounds = Cases(500);
  int fit = 0;
  int equal = 0;
  int less = 0;     // the search moves less: it streams
  int spilled = 0;  // the best has tensors of both homes between operators
  int optimal = 0;  // and the search reports it
  int with_moments = 0;
  int orders_of = 0;  // networks of several orders
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE("network " + std::to_string(round));
    const int operators = static_cast<int>(random.Between(1, 5));
    const graph::Graph graph = round % 2 == 0 ? test::RandomNetwork(&random, operators)
                                              : test::RandomNetworkOfMoves(&random, operators);
    const Small small(graph);
    std::vector<std::vector<std::size_t>> orders;
    std::vector<std::size_t> order;
    std::set<TensorId> known(small.main.inputs.begin(), small.main.inputs.end());
    AllOrders(small, &order, &known, &orders);
    ASSERT_FALSE(orders.empty());
    if (small.inner.size() > 8 || orders.size() > 30) continue;
    // Between what the largest operator needs and all tensors.
    const std::int64_t least = Lay(small, orders[0], {}, false).arena_bytes;
    std::int64_t all = 0;
    for (const TensorId tensor : small.inner) all += small.Bytes(tensor);
    const std::int64_t limit = random.Between(least * 3 / 4, least + all / 2 + 1);
    for (const std::vector<std::size_t>& positions : orders) {
      Order given;
      for (const std::size_t n : positions) given.push_back(small.ops[n]);
      SearchOptions options;
      options.input = plan::StreamInput::kSlow;
      bool cut_short = false;
      const auto found = PlanSpilled(graph, kSmall, given, options, limit, &cut_short);
      ASSERT_TRUE(found) << found.error().ToString();
      const plan::EntryPlan searched = EntryOf(graph, kSmall, *found);
      ASSERT_THAT(check::CheckPlan(graph, test::PlanOf(searched)), IsEmpty());
      const plan::SlowMemory& slow = *searched.stream->slow;
      const OneByOne best = Best(small, positions, limit);
      if (best.order.empty()) continue;
      ++fit;
      const plan::EntryPlan written = Written(graph, small, best, limit, slow);
      ASSERT_THAT(check::CheckPlan(graph, test::PlanOf(written)), IsEmpty());
      EXPECT_LE(searched.arena_bytes, limit);
      EXPECT_LE(slow.TrafficBytes(), best.TrafficBytes());
      EXPECT_LE(slow.traffic_lower_bound_bytes, best.TrafficBytes());
      if (HasFailure()) return;
      equal += slow.TrafficBytes() == best.TrafficBytes() ? 1 : 0;
      less += slow.TrafficBytes() < best.TrafficBytes() ? 1 : 0;
      spilled += !best.fast.empty() && best.fast.size() < small.inner.size() ? 1 : 0;
      optimal += slow.TrafficBytes() == slow.traffic_lower_bound_bytes ? 1 : 0;
      with_moments += slow.moments.empty() ? 0 : 1;
    }
    orders_of += orders.size() > 1 ? 1 : 0;
  }
  EXPECT_GT(fit, rounds / 3);
  EXPECT_GT(equal, rounds / 10);
  EXPECT_GT(less, rounds / 50);
  EXPECT_GT(spilled, rounds / 50);
  EXPECT_GT(optimal, rounds / 10);
  EXPECT_GT(orders_of, rounds / 50);
  RecordProperty("plans", fit);
  RecordProperty("equal", equal);
  RecordProperty("less", less);
  RecordProperty("optimal", optimal);
  RecordProperty("with_moments", with_moments);
}

}  // namespace
}  // namespace neap::stream
