// SPDX-License-Identifier: Apache-2.0
#include "neap/compile/litert.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "neap/base/bytes.h"
#include "neap/base/random.h"
#include "neap/check/check.h"
#include "neap/compile/compile.h"
#include "neap/compile/lower.h"
#include "neap/compile/runtime_graph.h"
#include "testing/plans.h"

namespace neap::compile {
namespace {

using graph::Graph;
using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;
using graph::TensorId;
using plan::test::AddTensor;

constexpr SubgraphId kMain(0);

TensorId AddOp(Subgraph* subgraph, const std::string& type, std::vector<TensorId> inputs,
               std::int64_t bytes) {
  const TensorId output = AddTensor(*subgraph, bytes);
  Op op;
  op.domain = "tflite";
  op.type = type;
  op.inputs = std::move(inputs);
  op.outputs = {output};
  subgraph->ops.push_back(op);
  return output;
}

Graph GraphOf(const Subgraph& subgraph) {
  Graph graph;
  graph.subgraphs.push_back(subgraph);
  EXPECT_TRUE(graph::Verify(graph).has_value());
  return graph;
}

Compiled MustCompile(const Graph& graph) {
  Options options;
  options.runtime = plan::Runtime::kLitert;
  auto compiled = Compile(graph, options);
  EXPECT_TRUE(compiled.has_value()) << compiled.error().ToString();
  EXPECT_EQ(check::CheckPlan(graph, compiled->plan), std::vector<std::string>{});
  return std::move(*compiled);
}

const plan::TensorPlacement& PlaceOf(const Compiled& compiled, TensorId tensor) {
  for (const plan::TensorPlacement& placement : compiled.plan.entries.front().tensors) {
    if (placement.tensor == tensor) return placement;
  }
  ADD_FAILURE() << "no place";
  return compiled.plan.entries.front().tensors.front();
}

TEST(Litert, KeepsInputsOutputsUnreadTensorsAndVariables) {
  Subgraph s;
  const TensorId in = AddTensor(s, 100);
  const TensorId ignored = AddTensor(s, 64);
  s.inputs = {in, ignored};
  const TensorId state = AddTensor(s, 70);
  s.tensors[state].variable = true;
  TensorId at = AddOp(&s, "CONV_2D", {in}, 64);
  const TensorId unread = AddOp(&s, "CONV_2D", {at}, 30);
  at = AddOp(&s, "CONV_2D", {at, state}, 64);
  s.outputs = {AddOp(&s, "CONV_2D", {at}, 1)};
  const Graph graph = GraphOf(s);
  const Compiled compiled = MustCompile(graph);
  for (const TensorId id : {in, ignored, state}) {
    EXPECT_EQ(PlaceOf(compiled, id).first, 0);
    EXPECT_EQ(PlaceOf(compiled, id).last, 4);
  }
  EXPECT_EQ(PlaceOf(compiled, unread).last, 4);
  // Inputs, the variable, the unread one, and two links of the chain.
  EXPECT_EQ(compiled.plan.entries.front().peak_bytes, 128 + 64 + 128 + 64 + 64 + 64);
  EXPECT_EQ(compiled.plan.entries.front().arena_bytes, 512);
  EXPECT_EQ(compiled.delivered_arena_bytes, 512);
}

TEST(Litert, KeepsWeightsThatAreUnpackedOnce) {
  Subgraph s;
  s.inputs = {AddTensor(s, 64)};
  const TensorId weights = AddTensor(s, 32);
  s.tensors[weights].constant = true;
  const TensorId first = AddOp(&s, "CONV_2D", {s.inputs[0]}, 64);
  const TensorId unpacked = AddOp(&s, "DEQUANTIZE", {weights}, 128);
  const TensorId next = AddOp(&s, "CONV_2D", {first, unpacked}, 64);
  s.outputs = {AddOp(&s, "CONV_2D", {next}, 64)};
  const Compiled compiled = MustCompile(GraphOf(s));
  EXPECT_EQ(PlaceOf(compiled, unpacked).first, 0);
  EXPECT_EQ(PlaceOf(compiled, unpacked).last, 4);
  EXPECT_EQ(compiled.plan.entries.front().peak_bytes, 64 + 128 + 128);
  EXPECT_EQ(compiled.delivered_arena_bytes, 320);
}

TEST(Litert, SharesAsItsKernelsAllow) {
  Subgraph s;
  s.inputs = {AddTensor(s, 64)};
  const TensorId a = AddOp(&s, "CONV_2D", {s.inputs[0]}, 64);
  const TensorId view = AddOp(&s, "RESHAPE", {a}, 64);
  const TensorId over = AddOp(&s, "MUL", {view, s.inputs[0]}, 64);    // over its first input
  const TensorId second = AddOp(&s, "SUB", {s.inputs[0], over}, 64);  // over its second
  const TensorId softmax = AddOp(&s, "SOFTMAX", {second}, 64);
  const TensorId relu = AddOp(&s, "RELU", {softmax}, 64);   // RELU never does
  s.outputs = {AddOp(&s, "ADD", {relu, s.inputs[0]}, 64)};  // nor is an output shared
  const Compiled compiled = MustCompile(GraphOf(s));
  for (const TensorId id : {view, over, second, softmax}) {
    EXPECT_EQ(PlaceOf(compiled, id).offset, PlaceOf(compiled, a).offset) << id.value();
  }
  EXPECT_NE(PlaceOf(compiled, relu).offset, PlaceOf(compiled, a).offset);
  const auto& overlaps = compiled.plan.entries.front().overlaps;
  ASSERT_EQ(overlaps.size(), 4U);
  EXPECT_EQ(overlaps[0].kind, plan::OverlapKind::kHoldsInput);
  EXPECT_EQ(overlaps[1].kind, plan::OverlapKind::kInPlace);
  EXPECT_EQ(compiled.plan.entries.front().peak_bytes, 3 * 64);
  EXPECT_EQ(compiled.delivered_arena_bytes, 3 * 64);
}

TEST(Litert, DoesNotShareScalarsReadTwiceOrOfOtherSizes) {
  Subgraph s;
  s.inputs = {AddTensor(s, 64)};
  const TensorId scalar = AddOp(&s, "CONV_2D", {s.inputs[0]}, 4);
  const TensorId twice = AddOp(&s, "CONV_2D", {s.inputs[0]}, 64);
  s.outputs = {AddOp(&s, "CONV_2D", {AddOp(&s, "ADD", {scalar, scalar}, 4)}, 4),
               AddOp(&s, "CONV_2D", {AddOp(&s, "ADD", {twice, twice}, 64)}, 4),
               AddOp(&s, "CONV_2D", {AddOp(&s, "ADD", {twice, scalar}, 128)}, 4)};
  EXPECT_TRUE(LitertLinks(s).empty());
  s.ops[OpId(0)].domain = "";
  EXPECT_TRUE(MustCompile(GraphOf(s)).plan.entries.front().overlaps.empty());
}

// sum has a view that is overwritten; `wide` must read it before, though later would cost less.
Subgraph Risky() {
  Subgraph s;
  s.inputs = {AddTensor(s, 64)};
  const TensorId positive = AddOp(&s, "RELU", {s.inputs[0]}, 64);
  const TensorId sum = AddOp(&s, "ADD", {positive, s.inputs[0]}, 64);
  const TensorId column = AddOp(&s, "RESHAPE", {sum}, 64);
  const TensorId wide = AddOp(&s, "CONV_2D", {sum}, 1024);
  const TensorId product = AddOp(&s, "MUL", {column, s.inputs[0]}, 64);
  s.outputs = {wide, AddOp(&s, "CONV_2D", {product}, 4)};
  return s;
}

TEST(Litert, ReadsAValueBeforeItIsWrittenOver) {
  const Compiled compiled = MustCompile(GraphOf(Risky()));
  const auto& order = compiled.order[kMain];
  EXPECT_LT(std::find(order.begin(), order.end(), OpId(3)),
            std::find(order.begin(), order.end(), OpId(4)));
  // The checker insists on it.
  plan::Plan plan = compiled.plan;
  auto& steps = plan.entries.front().steps;
  const auto at = [&](int op) {
    return std::find_if(steps.begin(), steps.end(),
                        [&](const plan::Step& step) { return step.op == OpId(op); });
  };
  std::iter_swap(at(3), at(4));
  EXPECT_FALSE(check::CheckPlan(GraphOf(Risky()), plan).empty());
}

TEST(Litert, DoesNotShareWhatWouldBeLostInAnyOrder) {
  Subgraph s = Risky();
  // Consumers of the sum need the product first.
  s.ops[OpId(3)].inputs.push_back(s.ops[OpId(4)].outputs[0]);
  const Compiled compiled = MustCompile(GraphOf(s));
  for (const plan::Overlap& overlap : compiled.plan.entries.front().overlaps) {
    EXPECT_NE(overlap.output, s.ops[OpId(4)].outputs[0]);
  }
  EXPECT_EQ(LitertLinks(s).size(), 3U);  // LiteRT does it all the same
}

TEST(Litert, DoesNotKnowArenasOfControlFlow) {
  Subgraph body;
  body.inputs = {AddTensor(body, 10)};
  const TensorId state = AddTensor(body, 5);
  body.tensors[state].variable = true;
  body.outputs = {AddOp(&body, "CONV_2D", {body.inputs[0], state}, 10)};
  Subgraph s;
  s.inputs = {AddTensor(s, 10)};
  s.outputs = {AddOp(&s, "WHILE", {s.inputs[0]}, 10)};
  s.ops[OpId(0)].bodies = {SubgraphId(1)};
  Graph graph;
  graph.subgraphs.push_back(s);
  graph.subgraphs.push_back(body);
  const Compiled compiled = MustCompile(graph);
  EXPECT_EQ(compiled.delivered_arena_bytes, -1);
  EXPECT_EQ(compiled.plan.entries.front().peak_bytes, 4 * 64);  // not the body's variable
}

// All cases together in small graphs: types that share, views of views, several consumers,
// variables, tensors without consumers, kept outputs.
Graph RandomGraph(Random& random, int max_ops) {
  static constexpr const char* kTypes[] = {"ADD",     "MUL",        "RESHAPE", "RESHAPE",
                                           "SOFTMAX", "DEQUANTIZE", "CONV_2D"};
  Subgraph s;
  for (int i = 0; i < 2; ++i) s.inputs.push_back(AddTensor(s, random.Between(1, 3) * 64));
  const TensorId extra = AddTensor(s, 64);
  s.tensors[extra].variable = random.Chance(1, 2);
  s.tensors[extra].constant = !s.tensors[extra].variable;
  if (random.Chance(1, 2)) {  // a value with an address of somebody else, and a view of it
    const TensorId positive = AddOp(&s, "RELU", {s.inputs[0]}, 64);
    const TensorId sum = AddOp(&s, "ADD", {positive, s.inputs[1]}, 64);
    AddOp(&s, "RESHAPE", {sum}, 64);
  }
  for (int i = static_cast<int>(random.Between(1, max_ops)); i > 0; --i) {
    const auto some = [&] {
      const std::size_t known = s.tensors.size();
      return TensorId(known - 1 - random.Below(std::min<std::size_t>(known, 4)));
    };
    const TensorId first = random.Chance(1, 8) ? extra : some();
    std::vector<TensorId> inputs = {first};
    if (random.Chance(1, 3)) inputs.push_back(some());
    const bool same = random.Chance(3, 4);
    const std::int64_t bytes =
        same ? s.tensors[inputs.back()].shape->front() : random.Between(1, 9) * 64;
    AddOp(&s, kTypes[random.Below(std::size(kTypes))], inputs, bytes);
    // Not for a variable's sake: of any state.
    s.ops.back().stateful = random.Chance(1, 10) && !Contains(inputs, extra);
    if (random.Chance(1, 8)) s.ops.back().scratch_bytes = random.Between(1, 64);
  }
  s.outputs = {TensorId(s.tensors.size() - 1)};
  if (random.Chance(1, 4)) s.outputs.emplace_back(3 + random.Below(s.ops.size()));
  if (s.outputs.size() == 2 && s.outputs[0] == s.outputs[1]) s.outputs.pop_back();
  return GraphOf(s);
}

// The bytes of an order, and whether every consumer reads its value, by the definitions alone;
// which outputs share an address is taken from a plan.
class Paper {
 public:
  Paper(const Graph& graph, const std::vector<plan::Overlap>& overlaps)
      : s_(graph.subgraphs[kMain]) {
    for (const plan::Overlap& overlap : overlaps) {
      over_[overlap.output] = overlap.input;
      if (overlap.kind == plan::OverlapKind::kHoldsInput) views_.insert(overlap.output);
    }
  }

  // The minimum peak of all orders in which no value is lost.
  std::int64_t LeastPeak() {
    min_peak_ = std::numeric_limits<std::int64_t>::max();
    done_.assign(s_.ops.size(), false);
    Extend();
    return min_peak_;
  }

  int orders = 0;
  int lossless = 0;

 private:
  TensorId Owner(TensorId tensor) const {
    while (over_.contains(tensor)) tensor = over_.at(tensor);
    return tensor;
  }
  TensorId Value(TensorId tensor) const {
    while (views_.contains(tensor)) tensor = over_.at(tensor);
    return tensor;
  }
  // One of the two has state that is not known, the other has that or reads a variable.
  bool ShareState(const Op& a, const Op& b) const {
    const auto touches = [&](const Op& op) {
      return op.stateful || std::any_of(op.inputs.begin(), op.inputs.end(),
                                        [&](TensorId input) { return s_.tensors[input].variable; });
    };
    return (a.stateful && touches(b)) || (b.stateful && touches(a));
  }
  bool IsReady(OpId id) const {
    const auto& op = s_.ops[id];
    for (const OpId other : s_.ops.Ids()) {
      if (done_[other.index()]) continue;
      if (other < id && ShareState(op, s_.ops[other])) return false;
      for (const TensorId input : op.inputs) {
        if (s_.ops[other].outputs[0] == input) return false;
      }
    }
    return true;
  }
  void Extend() {
    if (order_.size() == s_.ops.size()) {
      ++orders;
      if (!NothingIsLost()) return;
      ++lossless;
      min_peak_ = std::min(min_peak_, Peak());
      return;
    }
    for (const OpId id : s_.ops.Ids()) {
      if (done_[id.index()] || !IsReady(id)) continue;
      done_[id.index()] = true;
      order_.push_back(id);
      Extend();
      order_.pop_back();
      done_[id.index()] = false;
    }
  }

  bool NothingIsLost() const {
    std::map<TensorId, TensorId> holds;  // owner -> whose value it contains
    const auto there = [&](TensorId tensor) {
      const auto at = holds.find(Owner(tensor));
      return at == holds.end() || at->second == Value(tensor);
    };
    for (const OpId id : order_) {
      const TensorId output = s_.ops[id].outputs[0];
      if (views_.contains(output)) continue;  // moves nothing
      for (const TensorId input : s_.ops[id].inputs) {
        if (!there(input)) return false;
      }
      holds[Owner(output)] = Value(output);
    }
    return std::all_of(s_.outputs.begin(), s_.outputs.end(), there);
  }

  std::int64_t Peak() const {
    const std::size_t end = order_.size();
    std::map<TensorId, std::pair<std::size_t, std::size_t>> live;  // by owner
    std::set<TensorId> read;
    std::set<TensorId> shared;
    for (const Op& op : s_.ops) read.insert(op.inputs.begin(), op.inputs.end());
    for (const auto& [output, input] : over_) shared.insert(Owner(output));
    for (std::size_t at = 0; at < end; ++at) {
      const Op& op = s_.ops[order_[at]];
      std::vector<TensorId> touched = op.inputs;
      touched.push_back(op.outputs[0]);
      for (const TensorId tensor : touched) {
        if (s_.tensors[tensor].constant) continue;
        auto& range = live.try_emplace(Owner(tensor), at, 0).first->second;
        range.second = at + 1;
      }
      const bool kept = op.type == "DEQUANTIZE" && s_.tensors[op.inputs[0]].constant;
      if (kept) live[op.outputs[0]] = {0, end};
    }
    for (const TensorId input : s_.inputs) live[input] = {0, end};
    for (const TensorId output : s_.outputs) live.at(Owner(output)).second = end;
    std::int64_t peak = 0;
    for (auto& [owner, range] : live) {
      const bool variable = s_.tensors[owner].variable;
      if (variable) range.first = 0;
      if (variable || (!read.contains(owner) && !shared.contains(owner))) range.second = end;
      // A kept output has its bytes after its own operator as well.
      for (const Op& op : s_.ops) {
        const bool kept = op.type == "DEQUANTIZE" && s_.tensors[op.inputs[0]].constant;
        if (kept && op.outputs[0] == owner) range = {0, end};
      }
    }
    for (std::size_t at = 0; at < end; ++at) {
      std::int64_t bytes = AlignUp(s_.ops[order_[at]].scratch_bytes, 64);
      for (const auto& [owner, range] : live) {
        if (range.first <= at && at < range.second) {
          bytes += AlignUp(s_.tensors[owner].shape->front(), 64);
        }
      }
      peak = std::max(peak, bytes);
    }
    return peak;
  }

  const Subgraph& s_;
  std::map<TensorId, TensorId> over_;
  std::set<TensorId> views_;
  std::vector<bool> done_;
  std::vector<OpId> order_;
  std::int64_t min_peak_ = 0;
};

int OrdersOf(const Graph& graph) {
  const auto waits = PrecedencesOf(graph.subgraphs[kMain]);
  std::vector<OpId> order;
  for (const OpId id : graph.subgraphs[kMain].ops.Ids()) order.push_back(id);
  int count = 0;
  do {
    IdVector<OpId, std::size_t> at(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) at[order[i]] = i;
    count += std::all_of(waits.begin(), waits.end(),
                         [&](const auto& pair) { return at[pair.first] < at[pair.second]; });
  } while (std::next_permutation(order.begin(), order.end()));
  return count;
}

TEST(Litert, AgreesWithAllOrdersOfSmallGraphs) {
  Random random(11);
  int shared = 0;
  int risky = 0;  // an order could lose a value
  int refused = 0;
  for (int i = 0; i < 6000; ++i) {
    const Graph graph = RandomGraph(random, 4);
    const Compiled compiled = MustCompile(graph);
    const plan::EntryPlan& entry = compiled.plan.entries.front();
    const auto links = LitertLinks(graph.subgraphs[kMain]);
    Paper paper(graph, entry.overlaps);
    ASSERT_EQ(paper.LeastPeak(), entry.peak_lower_bound_bytes) << "graph " << i;
    ASSERT_EQ(OrdersOf(RuntimeGraph(graph, plan::ProfileOf(plan::Runtime::kLitert)).merged()),
              paper.lossless)
        << "graph " << i;
    risky += paper.lossless < paper.orders;
    if (!compiled.kept_file_order) {
      ASSERT_EQ(entry.order_status, plan::BoundStatus::kOptimal);
    }
    shared += static_cast<int>(entry.overlaps.size());
    refused += links.size() > entry.overlaps.size();
    if (links.size() == entry.overlaps.size()) {
      EXPECT_GE(compiled.delivered_arena_bytes, entry.arena_lower_bound_bytes) << "graph " << i;
    }
    EXPECT_LE(compiled.delivered_arena_bytes, compiled.file_order.arena_bytes) << "graph " << i;
  }
  EXPECT_GT(shared, 1000);
  EXPECT_GT(refused, 20);
  EXPECT_GT(risky, 20);
}

// Plans of larger graphs pass the checker; damaged ones do not.
TEST(Litert, TheCheckerFindsDamage) {
  Random random(12);
  int damaged = 0;
  for (int i = 0; i < 1500; ++i) {
    const Graph graph = RandomGraph(random, 14);
    plan::Plan plan = MustCompile(graph).plan;
    plan::EntryPlan& entry = plan.entries.front();
    ASSERT_TRUE(check::ReplayBounds(graph, plan, 100'000).refuted.empty());
    if (entry.overlaps.empty()) continue;
    plan::Overlap& overlap = entry.overlaps[random.Below(entry.overlaps.size())];
    const auto place = std::find_if(entry.tensors.begin(), entry.tensors.end(),
                                    [&](const auto& at) { return at.tensor == overlap.output; });
    switch (random.Below(7)) {
      case 0:
        entry.overlaps.pop_back();
        break;
      case 1:
        entry.overlaps.push_back(overlap);
        break;
      case 2:
        overlap.kind = overlap.kind == plan::OverlapKind::kInPlace ? plan::OverlapKind::kHoldsInput
                                                                   : plan::OverlapKind::kInPlace;
        break;
      case 3:
        overlap.bytes = 64;
        break;
      case 4:
        place->offset += 64;
        break;
      case 5:
        place->last += 1;
        break;
      default:
        entry.tensors.erase(place);
        break;
    }
    EXPECT_FALSE(check::CheckPlan(graph, plan).empty()) << "graph " << i;
    ++damaged;
  }
  EXPECT_GT(damaged, 700);
}

// Ids and numbers of any value: the prediction answers each.
TEST(Litert, TheCheckerSurvivesNonsense) {
  Random random(14);
  for (int i = 0; i < 600; ++i) {
    const Graph graph = RandomGraph(random, 8);
    plan::Plan plan = MustCompile(graph).plan;
    plan::EntryPlan& entry = plan.entries.front();
    for (int j = 0; j < 3; ++j) {
      const auto id = static_cast<std::int32_t>(random.Next());
      const auto number = static_cast<std::int64_t>(random.Next());
      plan::TensorPlacement& tensor = entry.tensors[random.Below(entry.tensors.size())];
      switch (random.Below(7)) {
        case 0:
          tensor = {SubgraphId(id), TensorId(id), number, number, id, id};
          break;
        case 1:
          tensor.tensor = TensorId(id);
          break;
        case 2:
          tensor.offset = number;
          break;
        case 3:
          tensor.last = id;
          break;
        case 4:
          entry.steps[random.Below(entry.steps.size())] = {SubgraphId(id), OpId(id)};
          break;
        case 5:
          entry.steps.push_back({kMain, OpId(), TensorId(id)});
          break;
        default:
          entry.overlaps.push_back({id, kMain, TensorId(id), TensorId(id)});
          break;
      }
    }
    EXPECT_FALSE(check::CheckPlan(graph, plan).empty());
  }
}

TEST(OnnxRuntime, IsCountedAsIdealInPlace) {
  Random random(13);
  for (int i = 0; i < 200; ++i) {
    Graph graph = RandomGraph(random, 8);
    for (Op& op : graph.subgraphs[kMain].ops) {
      op.domain = "";
      op.type = op.type == "ADD" ? "Add" : op.type == "RESHAPE" ? "Reshape" : "Conv";
    }
    Options options;
    options.runtime = plan::Runtime::kOnnxRuntime;
    const auto runtime = Compile(graph, options);
    options.runtime = plan::Runtime::kIdealInPlace;
    const auto ideal = Compile(graph, options);
    ASSERT_TRUE(runtime && ideal);
    EXPECT_EQ(runtime->delivered_arena_bytes, -1);
    EXPECT_EQ(runtime->plan.entries.front().peak_bytes, ideal->plan.entries.front().peak_bytes);
    EXPECT_EQ(runtime->plan.entries.front().arena_bytes, ideal->plan.entries.front().arena_bytes);
    EXPECT_EQ(runtime->order[kMain], ideal->order[kMain]);
  }
}

}  // namespace
}  // namespace neap::compile
