// SPDX-License-Identifier: Apache-2.0
#include "neap/compile/litert.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "neap/base/bytes.h"
#include "neap/compile/lower.h"
#include "neap/ops/litert.h"
#include "neap/solve/arena/arena.h"

namespace neap::compile {
namespace {

using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::TensorId;

constexpr std::int64_t kAlignment = 64;
// Smaller ones are no candidates for writing over: they might be scalars that are broadcast.
constexpr std::int64_t kScalarBytes = 4;

std::int64_t BytesOf(const Subgraph& subgraph, TensorId id) {
  return graph::TensorBytes(subgraph.tensors[id]).value_or(0);
}

class Linker {
 public:
  explicit Linker(const Subgraph& subgraph)
      : subgraph_(subgraph),
        references_(subgraph.tensors.size(), 0),
        is_input_(subgraph.tensors.size(), 0),
        is_output_(subgraph.tensors.size(), 0),
        exists_(subgraph.tensors.size(), 0) {
    for (const TensorId id : subgraph.inputs) is_input_[id] = exists_[id] = 1;
    for (const TensorId id : subgraph.outputs) is_output_[id] = 1;
    for (const auto* list : {&subgraph.inputs, &subgraph.outputs}) {
      for (const TensorId id : *list) ++references_[id];
    }
    for (const TensorId id : subgraph.tensors.Ids()) {
      owner_.push_back(id);
      if (subgraph.tensors[id].variable) ++references_[id];
    }
    for (const Op& op : subgraph.ops) {
      if (op.folded) continue;
      for (const auto* list : {&op.inputs, &op.captures}) {
        for (const TensorId id : *list) {
          if (id.valid()) ++references_[id];
        }
      }
      for (const TensorId id : op.outputs) {
        if (id.valid()) exists_[id] = 1;
      }
    }
  }

  std::vector<LitertLink> Run() {
    std::vector<LitertLink> links;
    for (const OpId id : FileOrderOf(subgraph_)) {
      const Op& op = subgraph_.ops[id];
      const ops::LitertSharing sharing = ops::LitertSharingOf(op);
      if (sharing.inputs == 0 || op.outputs.empty()) continue;
      const TensorId output = op.outputs.front();
      if (!output.valid() || is_output_[output] != 0 || !IsPlanned(subgraph_.tensors[output])) {
        continue;
      }
      const TensorId input = InputFor(op, sharing, output);
      if (!input.valid()) continue;
      if (!sharing.keeps_data && references_[owner_[input]] > 1) continue;
      owner_[output] = owner_[input];
      links.push_back({id, input, output, !sharing.keeps_data});
    }
    return links;
  }

 private:
  // The first one that will do.
  TensorId InputFor(const Op& op, const ops::LitertSharing& sharing, TensorId output) const {
    for (std::size_t i = 0; i < op.inputs.size() && i < static_cast<std::size_t>(sharing.inputs);
         ++i) {
      const TensorId input = op.inputs[i];
      if (!input.valid() || is_input_[input] != 0 || exists_[input] == 0) continue;
      if (!IsPlanned(subgraph_.tensors[input])) continue;
      if (sharing.keeps_data) return input;
      const std::int64_t bytes = BytesOf(subgraph_, input);
      if (bytes == BytesOf(subgraph_, output) && bytes > kScalarBytes && references_[input] == 1) {
        return input;
      }
    }
    return {};
  }

  const Subgraph& subgraph_;
  IdVector<TensorId, int> references_;
  IdVector<TensorId, char> is_input_;
  IdVector<TensorId, char> is_output_;
  IdVector<TensorId, char> exists_;  // something writes it before it is read
  IdVector<TensorId, TensorId> owner_;
};

// One run of the planner: when each tensor is allocated and freed, then both arenas.
class Planner {
 public:
  Planner(const Subgraph& subgraph, const std::vector<OpId>& order)
      : subgraph_(subgraph),
        order_(order),
        never_(static_cast<std::int32_t>(std::max<std::size_t>(order.size(), 1)) + 1),
        first_(subgraph.tensors.size(), kNowhere),
        last_(subgraph.tensors.size(), never_),
        references_(subgraph.tensors.size(), 0),
        persistent_(subgraph.tensors.size(), 0),
        shares_(subgraph.tensors.size(), 0) {
    for (const TensorId id : subgraph.tensors.Ids()) owner_.push_back(id);
    for (const LitertLink& link : LitertLinks(subgraph)) {
      owner_[link.output] = owner_[link.input];
      shares_[link.output] = 1;
    }
    for (const TensorId id : subgraph.tensors.Ids()) {
      if (subgraph.tensors[id].variable) persistent_[id] = 1;
    }
    for (const OpId id : order) {
      const Op& op = subgraph.ops[id];
      if (ops::LitertKeepsOutput(subgraph, op)) persistent_[op.outputs.front()] = 1;
    }
  }

  std::int64_t Run() {
    Live();
    arena::Problem arena;
    arena::Problem persistent;
    for (const TensorId id : subgraph_.tensors.Ids()) {
      if (first_[id] == kNowhere || subgraph_.tensors[id].constant) continue;
      const std::int64_t bytes = BytesOf(subgraph_, id);
      const TensorId owner = owner_[id];
      // When the sizes are known for certain, a link may turn out to be none.
      if (shares_[id] != 0 && persistent_[owner] == 0 && BytesOf(subgraph_, owner) == bytes) {
        continue;
      }
      const bool kept = persistent_[id] != 0;
      (kept ? persistent : arena)
          .buffers.push_back({bytes, first_[id], kept ? never_ : last_[id], kAlignment, {}});
    }
    for (std::size_t at = 0; at < order_.size(); ++at) {
      const auto slot = static_cast<std::int32_t>(at);
      const std::int64_t bytes = subgraph_.ops[order_[at]].scratch_bytes;
      arena.buffers.push_back({bytes, slot, slot + 1, kAlignment, {}});
    }
    std::int64_t total = 0;
    for (const arena::Problem* problem : {&arena, &persistent}) {
      if (arena::Validate(*problem)) return -1;
      total += AlignUp(arena::PlaceLikeTflite(*problem, never_).height_bytes, kAlignment);
    }
    return total;
  }

 private:
  static constexpr std::int32_t kNowhere = -1;

  void Live() {
    for (const auto* list : {&subgraph_.inputs, &subgraph_.outputs}) {
      for (const TensorId id : *list) ++references_[id];
    }
    for (const TensorId id : subgraph_.inputs) first_[id] = 0;
    for (const TensorId id : subgraph_.tensors.Ids()) {
      if (!subgraph_.tensors[id].variable) continue;
      first_[id] = 0;
      ++references_[id];
    }
    for (const OpId id : order_) {
      for (const TensorId input : subgraph_.ops[id].inputs) {
        if (input.valid()) ++references_[owner_[input]];
      }
    }
    for (std::size_t at = 0; at < order_.size(); ++at) {
      const Op& op = subgraph_.ops[order_[at]];
      for (const TensorId output : op.outputs) {
        if (output.valid() && first_[output] == kNowhere) {
          first_[output] = static_cast<std::int32_t>(at);
        }
      }
      for (const TensorId input : op.inputs) {
        if (!input.valid()) continue;
        const TensorId owner = owner_[input];
        if (--references_[owner] == 0) last_[owner] = static_cast<std::int32_t>(at) + 1;
      }
    }
  }

  const Subgraph& subgraph_;
  const std::vector<OpId>& order_;
  std::int32_t never_;  // freed at: a slot that does not exist
  IdVector<TensorId, std::int32_t> first_;
  IdVector<TensorId, std::int32_t> last_;
  IdVector<TensorId, int> references_;
  IdVector<TensorId, char> persistent_;
  IdVector<TensorId, char> shares_;
  IdVector<TensorId, TensorId> owner_;
};

}  // namespace

std::vector<LitertLink> LitertLinks(const Subgraph& subgraph) { return Linker(subgraph).Run(); }

std::int64_t LitertArenaBytes(const graph::Graph& graph,
                              const IdVector<graph::SubgraphId, std::vector<graph::OpId>>& orders) {
  for (const Subgraph& subgraph : graph.subgraphs) {
    for (const Op& op : subgraph.ops) {
      if (!op.bodies.empty()) return -1;
    }
  }
  std::int64_t largest = 0;
  for (const graph::SubgraphId entry : graph::EntrySubgraphs(graph)) {
    const std::int64_t bytes = Planner(graph.subgraphs[entry], orders[entry]).Run();
    if (bytes < 0) return -1;
    largest = std::max(largest, bytes);
  }
  return largest;
}

}  // namespace neap::compile
