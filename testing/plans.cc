// SPDX-License-Identifier: Apache-2.0
#include "testing/plans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "neap/base/bytes.h"
#include "neap/check/check.h"

namespace neap::plan::test {
namespace {

using graph::Graph;
using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;
using graph::TensorId;

using Key = std::pair<SubgraphId, TensorId>;

bool Contains(const std::vector<TensorId>& list, TensorId tensor) {
  return std::find(list.begin(), list.end(), tensor) != list.end();
}

// Runs the graph on paper: in each slot, which tensors of which call have to be there.
class PaperRun {
 public:
  PaperRun(const Graph& graph, Runtime runtime) : graph_(graph), profile_(ProfileOf(runtime)) {}

  EntryPlan Run(SubgraphId entry) {
    plan_.subgraph = entry;
    Call(entry, true);
    PlaceAll();
    for (const std::int64_t bytes : live_) plan_.peak_bytes = std::max(plan_.peak_bytes, bytes);
    plan_.peak_lower_bound_bytes = plan_.peak_bytes;
    plan_.order_status = BoundStatus::kOptimal;
    plan_.certificate.kind = plan::CertificateKind::kSearch;
    for (const Step& step : plan_.steps) {
      if (step.subgraph == entry && !plan_.certificate.op.valid()) plan_.certificate.op = step.op;
    }
    plan_.arena_lower_bound_bytes = plan_.peak_bytes;
    plan_.arena_given_order_lower_bound_bytes = plan_.peak_bytes;
    plan_.arena_status =
        plan_.arena_bytes == plan_.peak_bytes ? BoundStatus::kOptimal : BoundStatus::kBounded;
    return plan_;
  }

 private:
  struct Span {
    std::size_t first;
    std::size_t last;
  };

  void Call(SubgraphId id, bool entry) {
    const Subgraph& subgraph = graph_.subgraphs[id];
    const std::size_t begin = plan_.steps.size();
    std::map<OpId, Span> spans;
    for (const OpId op : subgraph.ops.Ids()) {
      if (subgraph.ops[op].folded) continue;
      const std::size_t own = plan_.steps.size();
      plan_.steps.push_back({id, op});
      for (const SubgraphId body : subgraph.ops[op].bodies) Call(body, false);
      spans[op] = {own, plan_.steps.size()};
    }
    if (spans.empty() && !entry) plan_.steps.push_back({id, OpId()});
    const std::size_t end = plan_.steps.size();
    live_.resize(std::max(live_.size(), end), 0);
    for (const TensorId tensor : subgraph.tensors.Ids()) {
      Live(id, tensor, spans, begin, end);
    }
    for (const auto& [op, span] : spans) {
      const std::int64_t bytes = subgraph.ops[op].scratch_bytes;
      if (bytes == 0) continue;
      for (std::size_t s = span.first; s < span.last; ++s) live_[s] += Rounded(bytes);
      plan_.scratch.push_back({static_cast<std::int32_t>(span.first), 0, bytes});
      scratch_spans_.push_back(span);
    }
    if (profile_.in_place) Overwrite(id, spans);
  }

  void Live(SubgraphId id, TensorId tensor, const std::map<OpId, Span>& spans, std::size_t begin,
            std::size_t end) {
    const Subgraph& subgraph = graph_.subgraphs[id];
    const graph::Tensor& what = subgraph.tensors[tensor];
    if (what.constant || what.variable) return;
    bool read = false;
    std::set<std::size_t> slots;
    bool produced = false;
    for (const auto& [op, span] : spans) {
      const Op& node = subgraph.ops[op];
      const bool makes = Contains(node.outputs, tensor);
      produced = produced || makes;
      read = read || Contains(node.inputs, tensor) || Contains(node.captures, tensor);
      if (!makes && !Contains(node.inputs, tensor) && !Contains(node.captures, tensor)) continue;
      for (std::size_t s = span.first; s < span.last; ++s) slots.insert(s);
    }
    const bool output = Contains(subgraph.outputs, tensor);
    const bool input = Contains(subgraph.inputs, tensor);
    if (slots.empty() && !output && !input) return;
    const bool stays = produced ? profile_.keeps_unread && !read : profile_.keeps_inputs;
    const bool counted = !slots.empty() || output || stays;
    std::size_t first = produced ? *slots.begin() : begin;
    std::size_t last = slots.empty() ? std::min(begin + 1, end) : *slots.rbegin() + 1;
    if (output || stays) last = end;
    const std::int64_t bytes = graph::TensorBytes(what).value();
    for (std::size_t s = first; s < last && counted; ++s) live_[s] += Rounded(bytes);
    ends_[{id, tensor}] = {first, last};
    const auto [at, fresh] = places_.emplace(Key{id, tensor}, TensorPlacement{});
    TensorPlacement& place = at->second;
    place.subgraph = id;
    place.tensor = tensor;
    place.bytes = bytes;
    const auto first_slot = static_cast<std::int32_t>(first);
    place.first = fresh ? first_slot : std::min(place.first, first_slot);
    place.last = std::max(place.last, static_cast<std::int32_t>(last));
  }

  void Overwrite(SubgraphId id, const std::map<OpId, Span>& spans) {
    const Subgraph& subgraph = graph_.subgraphs[id];
    for (const auto& [op, span] : spans) {
      const Op& node = subgraph.ops[op];
      if (node.type != "Relu" && node.type != "Add" && node.type != "Reshape") continue;
      const TensorId input = node.inputs[0];
      const auto in = ends_.find({id, input});
      const auto out = ends_.find({id, node.outputs[0]});
      if (in == ends_.end() || out == ends_.end() || in->second.last != span.last ||
          Contains(subgraph.outputs, input)) {
        continue;
      }
      const std::int64_t bytes = places_.at({id, input}).bytes;
      if (bytes != places_.at({id, node.outputs[0]}).bytes) continue;
      plan_.overlaps.push_back({static_cast<std::int32_t>(span.first), id, input, node.outputs[0]});
      live_[span.first] -= Rounded(bytes);
    }
  }

  // Chains of overwritten tensors are one block; blocks are placed first-fit.
  void PlaceAll() {
    std::map<Key, Key> heir;
    for (const Overlap& overlap : plan_.overlaps) {
      heir[{overlap.subgraph, overlap.input}] = {overlap.subgraph, overlap.output};
    }
    struct Block {
      std::int32_t first;
      std::int32_t last;
      std::int64_t bytes;
      std::vector<std::int64_t*> offsets;
    };
    std::map<Key, Block> chains;  // by last link
    for (auto& [key, place] : places_) {
      Key tail = key;
      while (heir.contains(tail)) tail = heir.at(tail);
      Block& block =
          chains.try_emplace(tail, Block{place.first, place.last, place.bytes, {}}).first->second;
      block.first = std::min(block.first, place.first);
      block.last = std::max(block.last, place.last);
      block.offsets.push_back(&place.offset);
    }
    std::vector<Block> blocks;
    for (auto& [key, block] : chains) blocks.push_back(block);
    for (std::size_t i = 0; i < plan_.scratch.size(); ++i) {
      blocks.push_back({static_cast<std::int32_t>(scratch_spans_[i].first),
                        static_cast<std::int32_t>(scratch_spans_[i].last),
                        plan_.scratch[i].bytes,
                        {&plan_.scratch[i].offset}});
    }
    std::stable_sort(blocks.begin(), blocks.end(),
                     [](const Block& a, const Block& b) { return a.first < b.first; });
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      std::int64_t offset = 0;
      for (bool moved = true; moved;) {
        moved = false;
        for (std::size_t j = 0; j < i; ++j) {
          const std::int64_t other = *blocks[j].offsets[0];
          if (blocks[j].first < blocks[i].last && blocks[i].first < blocks[j].last &&
              other < offset + Rounded(blocks[i].bytes) &&
              offset < other + Rounded(blocks[j].bytes)) {
            offset = other + Rounded(blocks[j].bytes);
            moved = true;
          }
        }
      }
      for (std::int64_t* where : blocks[i].offsets) *where = offset;
      plan_.arena_bytes = std::max(plan_.arena_bytes, offset + Rounded(blocks[i].bytes));
    }
    for (const auto& [key, place] : places_) plan_.tensors.push_back(place);
  }

  std::int64_t Rounded(std::int64_t bytes) const { return AlignUp(bytes, profile_.alignment); }

  const Graph& graph_;
  const Profile& profile_;
  EntryPlan plan_;
  std::vector<std::int64_t> live_;
  std::vector<Span> scratch_spans_;
  std::map<Key, TensorPlacement> places_;
  std::map<Key, Span> ends_;  // in the call that was run last
};

}  // namespace

TensorId AddTensor(Subgraph& subgraph, std::int64_t bytes) {
  graph::Tensor tensor;
  tensor.name = "t" + std::to_string(subgraph.tensors.size());
  tensor.type = graph::ElementType::kUint8;
  tensor.shape = graph::Shape{bytes};
  return subgraph.tensors.push_back(tensor);
}

std::vector<TensorId> Tensors(const std::vector<int>& numbers) {
  std::vector<TensorId> tensors;
  for (const int number : numbers) tensors.emplace_back(number);
  return tensors;
}

OpId AddOp(Subgraph& subgraph, const std::string& type, std::vector<int> inputs,
           std::vector<int> outputs) {
  Op op;
  op.type = type;
  op.inputs = Tensors(inputs);
  op.outputs = Tensors(outputs);
  op.source_index = static_cast<std::int32_t>(subgraph.ops.size());
  return subgraph.ops.push_back(op);
}

Graph GraphOf(std::vector<Subgraph> subgraphs) {
  Graph graph;
  for (Subgraph& subgraph : subgraphs) graph.subgraphs.push_back(std::move(subgraph));
  return graph;
}

EntryPlan Entry(std::vector<Step> steps, std::vector<TensorPlacement> tensors, std::int64_t peak,
                std::int64_t arena) {
  EntryPlan entry;
  entry.subgraph = kMain;
  entry.steps = std::move(steps);
  entry.tensors = std::move(tensors);
  entry.peak_bytes = peak;
  entry.peak_lower_bound_bytes = peak;
  entry.order_status = BoundStatus::kOptimal;
  entry.certificate.kind = plan::CertificateKind::kSearch;
  if (!entry.steps.empty()) entry.certificate.op = entry.steps.front().op;
  entry.arena_bytes = arena;
  entry.arena_lower_bound_bytes = peak;
  entry.arena_given_order_lower_bound_bytes = peak;
  entry.arena_status = peak == arena ? BoundStatus::kOptimal : BoundStatus::kBounded;
  return entry;
}

Plan PlanOf(Runtime runtime, EntryPlan entry) {
  Plan plan;
  plan.runtime = runtime;
  plan.entries.push_back(std::move(entry));
  return plan;
}

Step Do(int op, SubgraphId subgraph) { return {subgraph, OpId(op)}; }
Step Nothing(SubgraphId subgraph) { return {subgraph, OpId()}; }
TensorPlacement At(int tensor, std::int64_t offset, std::int64_t bytes, int first, int last,
                   SubgraphId subgraph) {
  return {subgraph, TensorId(tensor), offset, bytes, first, last};
}

void ExpectFinding(const Graph& graph, const Plan& plan, const std::string& what) {
  EXPECT_THAT(check::CheckPlan(graph, plan), ::testing::ElementsAre(::testing::HasSubstr(what)));
}

Plan NaivePlan(const Graph& graph, Runtime runtime) {
  Plan plan;
  plan.neap_version = "test";
  plan.runtime = runtime;
  plan.order_strategy = "file";
  for (const SubgraphId entry : graph::EntrySubgraphs(graph)) {
    plan.entries.push_back(PaperRun(graph, runtime).Run(entry));
    for (const graph::Signature& signature : graph.signatures) {
      if (signature.subgraph == entry) plan.entries.back().signature = signature.key;
    }
  }
  return plan;
}

namespace {

Subgraph RandomSubgraph(Random& random, int ops) {
  Subgraph subgraph;
  const auto below = [&](std::size_t bound) { return static_cast<int>(random.Below(bound)); };
  for (int i = 0; i < 2; ++i) subgraph.inputs.push_back(AddTensor(subgraph, 8 + below(60)));
  for (int i = 0; i < ops; ++i) {
    const auto known = subgraph.tensors.size();
    const int input = static_cast<int>(known) - 1 - below(std::min<std::size_t>(known, 4));
    const bool in_place = random.Chance(1, 3);
    const std::int64_t bytes =
        in_place ? (*subgraph.tensors[TensorId(input)].shape)[0] : 1 + below(64);
    const TensorId output = AddTensor(subgraph, bytes);
    const OpId op = AddOp(subgraph, in_place ? "Relu" : "Conv", {input}, {output.value()});
    if (random.Chance(1, 2)) subgraph.ops[op].inputs.emplace_back(below(known));
    if (random.Chance(1, 4)) subgraph.ops[op].scratch_bytes = 1 + below(40);
    subgraph.ops[op].stateful = random.Chance(1, 5);
  }
  subgraph.outputs.emplace_back(subgraph.tensors.size() - 1);
  return subgraph;
}

}  // namespace

Graph RandomGraph(Random& random, int ops, bool bodies) {
  Graph graph;
  graph.subgraphs.push_back(RandomSubgraph(random, ops));
  if (!bodies) return graph;
  const SubgraphId inner = graph.subgraphs.push_back(RandomSubgraph(random, 2));
  Subgraph outer = RandomSubgraph(random, 3);
  outer.ops[OpId(1)].type = "While";
  outer.ops[OpId(1)].bodies = {inner, inner};
  const SubgraphId middle = graph.subgraphs.push_back(outer);
  for (Op& op : graph.subgraphs[SubgraphId(0)].ops) {
    if (op.type != "Conv" || !random.Chance(1, 2)) continue;
    op.type = "If";
    op.bodies = {random.Chance(1, 2) ? inner : middle};
    if (random.Chance(1, 2)) op.bodies.push_back(inner);
  }
  if (graph::EntrySubgraphs(graph).size() > 1) {  // the outer one has no caller
    graph.signatures.push_back({"outer", middle});
  }
  return graph;
}

}  // namespace neap::plan::test
