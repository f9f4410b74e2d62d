// SPDX-License-Identifier: Apache-2.0
//
// A reordered file is the old file with a few words changed. The vector of operators contains
// unsigned distances, each from its own slot to the operator's table, so moving an operator from
// slot j to slot k changes its distance by 4 (j - k) and nothing else in the file. Only the
// metadata entry of control dependencies refers to operators by index; its numbers are rewritten in
// place. A memory plan for TFLM is for one order: it is blanked where operators move, and a new one
// replaces the old one or is written into a new front (splice.h).
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "neap/formats/tflite/memory_plan.h"
#include "neap/formats/tflite/model_view.h"
#include "neap/formats/tflite/splice.h"
#include "neap/formats/tflite/tflite.h"
#include "neap/ops/state.h"

namespace neap::formats::tflite {
namespace {

using graph::OpId;
using graph::SubgraphId;
using Order = std::vector<std::uint32_t>;  // by new position: the old index
using Operators = flatbuffers::Vector<flatbuffers::Offset<schema::Operator>>;

constexpr std::size_t kSlotBytes = sizeof(flatbuffers::uoffset_t);

// The operators' old indices in the new order; empty: as they are. Refuses all but an order of the
// subgraph.
Result<Order> CheckedOrder(const graph::Graph& graph, SubgraphId subgraph_id,
                           const std::vector<OpId>& order) {
  const graph::Subgraph& subgraph = graph.subgraphs[subgraph_id];
  if (order.size() != subgraph.ops.size()) {
    return Fail(UsageError("the new order has " + std::to_string(order.size()) +
                           " operators, expected " + std::to_string(subgraph.ops.size())));
  }
  IdVector<OpId, std::int32_t> position(subgraph.ops.size(), -1);
  Order old_indices;
  bool moved = false;
  for (std::size_t k = 0; k < order.size(); ++k) {
    const OpId id = order[k];
    if (!subgraph.ops.Has(id) || position[id] >= 0) {
      return Fail(UsageError("the new order is not a permutation: operator " +
                             std::to_string(id.value()) + " does not exist or comes twice"));
    }
    position[id] = static_cast<std::int32_t>(k);
    old_indices.push_back(static_cast<std::uint32_t>(id.value()));
    moved = moved || id.index() != k;
  }
  if (!moved) return Order();

  const auto producer = graph::Producers(subgraph);
  const auto out_of_order = [&](OpId id) {
    Diagnostic error = UsageError("the new order runs it before an operator that it depends on");
    error.op = graph::Describe(id, subgraph.ops[id]);
    return Fail(std::move(error));
  };
  for (const OpId id : subgraph.ops.Ids()) {
    for (const graph::TensorId input : subgraph.ops[id].inputs) {
      if (!input.valid() || !producer[input].valid()) continue;
      if (position[producer[input]] > position[id]) return out_of_order(id);
    }
  }
  std::vector<graph::ControlEdge> edges = ops::StateTrace(graph).EdgesOf(subgraph, subgraph_id);
  edges.insert(edges.end(), subgraph.control_edges.begin(), subgraph.control_edges.end());
  for (const graph::ControlEdge& edge : edges) {
    if (position[edge.before] > position[edge.after]) return out_of_order(edge.after);
  }
  return old_indices;
}

Status Permute(std::span<const std::byte> file, const Operators& operators, const Order& order,
               std::vector<std::byte>* out) {
  for (std::uint32_t k = 0; k < order.size(); ++k) {
    const std::size_t slot = PlaceOf(file, operators.Data()) + k * kSlotBytes;
    const std::size_t table = PlaceOf(file, operators.Get(order[k]));
    if (table <= slot) {
      return Fail(BadInput("operator " + std::to_string(order[k]) +
                           " lies among the list of operators: it cannot be moved in place"));
    }
    flatbuffers::WriteScalar(out->data() + slot, static_cast<flatbuffers::uoffset_t>(table - slot));
  }
  return {};
}

// The buffer must belong to the metadata entry alone: its bytes are about to change.
Status CheckOwned(const schema::Model& model, std::uint32_t buffer) {
  std::size_t users = 0;
  for (std::uint32_t i = 0; i < SizeOf(model.metadata()); ++i) {
    if (model.metadata()->Get(i)->buffer() == buffer) ++users;
  }
  for (std::uint32_t s = 0; s < SizeOf(model.subgraphs()); ++s) {
    const auto* tensors = model.subgraphs()->Get(s)->tensors();
    for (std::uint32_t i = 0; i < SizeOf(tensors); ++i) {
      if (tensors->Get(i)->buffer() == buffer) ++users;
    }
  }
  if (users == 1) return {};
  return Fail(BadInput("buffer " + std::to_string(buffer) +
                       " contains the control dependencies and other data: it cannot be changed"));
}

Status RenumberControlDependencies(std::span<const std::byte> file, const schema::Model& model,
                                   const std::vector<Order>& orders, std::vector<std::byte>* out) {
  NEAP_TRY(auto place, FindControlDependencies(file, model));
  if (!place.present) return {};
  bool changed = false;
  for (std::size_t s = 0; s < orders.size(); ++s) {
    if (orders[s].empty()) continue;
    std::vector<std::int32_t> new_index(orders[s].size());
    for (std::size_t k = 0; k < orders[s].size(); ++k) {
      new_index[orders[s][k]] = static_cast<std::int32_t>(k);
    }
    for (OperatorEdge& edge : place.dependencies[s]) {
      const OperatorEdge renumbered = {new_index[static_cast<std::size_t>(edge.from)],
                                       new_index[static_cast<std::size_t>(edge.to)]};
      changed = changed || !(renumbered == edge);
      edge = renumbered;
    }
  }
  if (!changed) return {};
  NEAP_CHECK_OK(CheckOwned(model, place.buffer));
  const auto bytes = SerializeControlDependencies(place.dependencies, place.bytes.size());
  if (!bytes) {
    return Fail(BadInput(
        "the control dependencies of the new order do not fit into the bytes of the old ones: "
        "indices above 63 take two bytes"));
  }
  std::copy(bytes->begin(), bytes->end(),
            out->begin() + static_cast<std::ptrdiff_t>(PlaceOf(file, place.bytes.data())));
  return {};
}

// Verifies the new bytes, for any overlapping parts in the old ones; all of the old file is `shift`
// bytes further back.
Status CheckResult(std::span<const std::byte> file, const schema::Model& model,
                   const std::vector<Order>& orders, const std::vector<std::byte>& out,
                   std::size_t shift) {
  NEAP_TRY(const schema::Model* written, OpenModel(out));
  bool same = SizeOf(written->subgraphs()) == orders.size();
  for (std::uint32_t s = 0; same && s < orders.size(); ++s) {
    const auto* before = model.subgraphs()->Get(s)->operators();
    const auto* after = written->subgraphs()->Get(s)->operators();
    same = SizeOf(before) == SizeOf(after);
    for (std::uint32_t k = 0; same && k < SizeOf(after); ++k) {
      const auto* expected = before->Get(orders[s].empty() ? k : orders[s][k]);
      same = PlaceOf(file, expected) + shift == PlaceOf(out, after->Get(k));
    }
  }
  if (same) return {};
  return Fail(BadInput("its lists of operators overlap: they cannot be changed in place"));
}

// TFLM would apply an existing memory plan of another order, with wrong results.
Status BlankMemoryPlan(std::span<const std::byte> file, const schema::Model& model,
                       std::vector<std::byte>* out) {
  const auto carried = ReadMemoryPlan(file, model);
  // TFLM refuses the file for a plan that cannot be read: it is no danger.
  if (!carried || !carried->problem.empty()) return {};
  graph::TensorOffsets blank = carried->offsets;
  for (auto& of_subgraph : blank) {
    for (std::int32_t& offset : of_subgraph) offset = graph::kNoOffset;
  }
  const std::span<const std::byte> place = OwnMemoryPlanBytes(model);
  const std::vector<std::byte> bytes = MemoryPlanBytes(blank);
  if (place.size() < bytes.size()) {
    return Fail(
        BadInput("carries an offline memory plan for the old order that cannot be blanked: its "
                 "bytes serve something else, too"));
  }
  std::copy(bytes.begin(), bytes.end(),
            out->begin() + static_cast<std::ptrdiff_t>(PlaceOf(file, place.data())));
  return {};
}

// The file with its operators in the new order, of the same length. Adds the moved orders to
// `orders`.
Result<std::vector<std::byte>> Reorder(const SourceModel& model, const schema::Model* root,
                                       const IdVector<SubgraphId, std::vector<OpId>>& order,
                                       std::vector<Order>* reordered) {
  const std::span<const std::byte> file = *model.bytes;
  std::vector<Order>& orders = *reordered;
  const std::uint32_t subgraphs = SizeOf(root->subgraphs());
  if (order.size() > subgraphs || model.graph.subgraphs.size() != subgraphs) {
    return Fail(UsageError("the new order is about another file"));
  }
  orders.assign(subgraphs, Order());
  std::vector<std::byte> out(file.begin(), file.end());
  std::map<const Operators*, std::uint32_t> owner;  // of a vector that subgraphs may share
  for (std::uint32_t s = 0; s < subgraphs; ++s) {
    const SubgraphId id(static_cast<std::int32_t>(s));
    const auto* operators = root->subgraphs()->Get(s)->operators();
    if (SizeOf(operators) != model.graph.subgraphs[id].ops.size()) {
      return Fail(UsageError("the new order is about another file"));
    }
    if (order.Has(id) && !order[id].empty()) {
      NEAP_TRY(orders[s], CheckedOrder(model.graph, id, order[id]));
    }
    const auto [entry, first] = owner.emplace(operators, s);
    if (operators != nullptr && !first && orders[entry->second] != orders[s]) {
      return Fail(BadInput("subgraphs " + std::to_string(entry->second) + " and " +
                           std::to_string(s) +
                           " share one list of operators: it cannot have two orders"));
    }
    if (!orders[s].empty()) NEAP_CHECK_OK(Permute(file, *operators, orders[s], &out));
  }
  NEAP_CHECK_OK(RenumberControlDependencies(file, *root, orders, &out));
  return out;
}

Result<std::vector<std::byte>> Write(const SourceModel& model,
                                     const IdVector<SubgraphId, std::vector<OpId>>& order) {
  const std::span<const std::byte> file = *model.bytes;
  NEAP_TRY(const schema::Model* root, OpenModel(file));
  std::vector<Order> orders;
  NEAP_TRY(std::vector<std::byte> out, Reorder(model, root, order, &orders));
  if (std::any_of(orders.begin(), orders.end(), [](const Order& one) { return !one.empty(); })) {
    NEAP_CHECK_OK(BlankMemoryPlan(file, *root, &out));
  }
  NEAP_CHECK_OK(CheckResult(file, *root, orders, out, 0));
  return out;
}

// Verifies that every buffer is unchanged, except for the plan and the control dependencies.
Status CheckBuffers(std::span<const std::byte> before, const schema::Model& old_model,
                    std::span<const std::byte> after, const std::vector<std::byte>& plan) {
  NEAP_TRY(const schema::Model* model, OpenModel(after));
  const auto entries = MemoryPlanEntries(*model);
  bool same = entries.size() == 1;
  const std::uint32_t plan_index = same ? model->metadata()->Get(entries.front())->buffer() : 0;
  const auto equal = [](std::span<const std::byte> a, std::span<const std::byte> b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  };
  for (std::uint32_t i = 0; same && i < SizeOf(old_model.buffers()); ++i) {
    if (i == plan_index) continue;
    const auto old_data = BufferData(before, old_model, i);
    if (!old_data) continue;  // unused, or the file would not have been read
    NEAP_TRY(const auto new_data, BufferData(after, *model, i));
    same = equal(*old_data, new_data);
  }
  NEAP_TRY(const auto new_plan, BufferData(after, *model, plan_index));
  if (same && equal(new_plan.first(std::min(new_plan.size(), plan.size())), plan)) return {};
  return Fail(BadInput("its parts overlap: no memory plan can be added"));
}

Status CheckOffsets(const SourceModel& model, const graph::TensorOffsets& offsets) {
  bool fits = offsets.size() == model.graph.subgraphs.size();
  for (const SubgraphId id : model.graph.subgraphs.Ids()) {
    fits = fits && offsets[id].size() == model.graph.subgraphs[id].tensors.size();
  }
  if (fits) return {};
  return Fail(UsageError("the memory plan is about another file"));
}

Result<std::vector<std::byte>> WriteWithPlan(const SourceModel& model,
                                             const IdVector<SubgraphId, std::vector<OpId>>& order,
                                             const graph::TensorOffsets& offsets,
                                             const std::string& kernels) {
  const std::span<const std::byte> file = *model.bytes;
  NEAP_CHECK_OK(CheckOffsets(model, offsets));
  NEAP_TRY(const schema::Model* root, OpenModel(file));
  std::vector<Order> orders;
  NEAP_TRY(std::vector<std::byte> reordered, Reorder(model, root, order, &orders));
  NEAP_CHECK_OK(CheckResult(file, *root, orders, reordered, 0));
  NEAP_TRY(const schema::Model* moved, OpenModel(reordered));
  const std::vector<std::byte> plan = MemoryPlanBytes(offsets);
  const std::span<const std::byte> place = OwnMemoryPlanBytes(*moved);
  if (place.size() == plan.size() && OverlapKernelsOf(reordered, *moved) == kernels) {
    std::vector<std::byte> out = reordered;
    std::copy(plan.begin(), plan.end(),
              out.begin() + static_cast<std::ptrdiff_t>(PlaceOf(reordered, place.data())));
    NEAP_CHECK_OK(CheckResult(file, *root, orders, out, 0));
    NEAP_CHECK_OK(CheckBuffers(reordered, *moved, out, plan));
    return out;
  }
  NEAP_TRY(std::vector<std::byte> out, SpliceMemoryPlan(reordered, *moved, plan, kernels));
  NEAP_CHECK_OK(CheckResult(file, *root, orders, out, out.size() - file.size()));
  NEAP_CHECK_OK(CheckBuffers(reordered, *moved, out, plan));
  return out;
}

}  // namespace

Result<std::vector<std::byte>> WriteReordered(
    const SourceModel& model, const IdVector<SubgraphId, std::vector<OpId>>& order) {
  auto out = Write(model, order);
  if (!out) out.error().file = model.path;
  return out;
}

Result<std::vector<std::byte>> WritePlanned(const SourceModel& model,
                                            const IdVector<SubgraphId, std::vector<OpId>>& order,
                                            const graph::TensorOffsets& offsets,
                                            const std::string& kernels) {
  auto out = WriteWithPlan(model, order, offsets, kernels);
  if (!out) out.error().file = model.path;
  return out;
}

}  // namespace neap::formats::tflite
