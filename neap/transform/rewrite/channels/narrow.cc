// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/rewrite/channels/narrow.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "neap/ops/op_table.h"
#include "neap/transform/rewrite/rules/common.h"

namespace neap::rewrite {

using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::Tensor;
using graph::TensorId;
using ops::OpKind;

namespace {

template <typename T>
graph::ConstantData DataOf(const std::vector<T>& values) {
  auto owner = std::make_shared<std::vector<std::byte>>(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(owner->data(), values.data(), owner->size());
  const std::span<const std::byte> view(*owner);
  return {std::move(owner), view};
}

std::vector<std::int64_t> KeptOf(std::int64_t channels, const std::vector<char>& removed) {
  std::vector<std::int64_t> kept;
  for (std::int64_t c = 0; c < channels; ++c) {
    if (removed.empty() || removed[static_cast<std::size_t>(c)] == 0) kept.push_back(c);
  }
  return kept;
}

// Scales by output channel, for the channels that are kept.
void KeepScales(const std::vector<std::int64_t>& kept, std::int64_t channels, Tensor* tensor) {
  if (!tensor->quantization) return;
  graph::Quantization& q = *tensor->quantization;
  const auto all = static_cast<std::size_t>(channels);
  if (q.scales.size() == all && all > 1) {
    std::vector<float> scales;
    scales.reserve(kept.size());
    for (const std::int64_t c : kept) scales.push_back(q.scales[static_cast<std::size_t>(c)]);
    q.scales = std::move(scales);
  }
  if (q.zero_points.size() == all && all > 1) {
    std::vector<std::int64_t> zeros;
    zeros.reserve(kept.size());
    for (const std::int64_t c : kept) zeros.push_back(q.zero_points[static_cast<std::size_t>(c)]);
    q.zero_points = std::move(zeros);
  }
}

class Narrower {
 public:
  Narrower(const graph::Graph& graph, const Removal& removal,
           const IdVector<OpId, std::optional<WeightedOp>>& weighted,
           const IdVector<TensorId, Ranges>& ranges)
      : given_(graph.subgraphs[graph::SubgraphId(0)]),
        removal_(removal),
        weighted_(weighted),
        ranges_(ranges),
        out_(graph) {
    for (const Subgraph& subgraph : graph.subgraphs) {
      for (const Tensor& tensor : subgraph.tensors) names_.insert(tensor.name);
    }
  }

  graph::Graph Run() {
    for (const TensorId id : given_.tensors.Ids()) new_id_.push_back(Narrowed(id));
    for (const OpId id : given_.ops.Ids()) {
      if (weighted_[id]) {
        Weights(id);
      } else if (ops::Is(given_.ops[id], OpKind::kReshape) && Loses(given_.ops[id].outputs[0])) {
        Reshape(id);
      }
      for (auto* list : {&OpOf(id).inputs, &OpOf(id).outputs}) {
        for (TensorId& tensor : *list) {
          if (given_.tensors.Has(tensor)) tensor = new_id_[tensor];
        }
      }
    }
    return std::move(out_);
  }

 private:
  Subgraph& to() { return out_.subgraphs[graph::SubgraphId(0)]; }
  Op& OpOf(OpId id) { return to().ops[id]; }

  bool Loses(TensorId id) const {
    const std::vector<char>& removed = removal_.removed[id];
    return std::any_of(removed.begin(), removed.end(), [](char flag) { return flag != 0; });
  }

  TensorId Add(Tensor tensor) {
    const std::string name = tensor.name + "/live";
    tensor.name = name;
    for (int i = 2; !names_.insert(tensor.name).second; ++i) {
      tensor.name = name + "_" + std::to_string(i);
    }
    tensor.symbols.clear();
    return to().tensors.push_back(std::move(tensor));
  }

  TensorId Narrowed(TensorId id) {
    if (!Loses(id)) return id;
    Tensor tensor = given_.tensors[id];
    const auto kept = KeptOf(tensor.shape->back(), removal_.removed[id]);
    tensor.shape->back() = static_cast<std::int64_t>(kept.size());
    return Add(std::move(tensor));
  }

  void Weights(OpId id) {
    const Op& op = given_.ops[id];
    const WeightedOp& weighted = *weighted_[id];
    if (!Loses(op.inputs[0]) && !Loses(op.outputs[0])) return;
    const auto outs = KeptOf(weighted.out_channels, removal_.removed[op.outputs[0]]);
    const auto ins = weighted.per_channel
                         ? std::vector<std::int64_t>{0}
                         : KeptOf(weighted.in_channels, removal_.removed[op.inputs[0]]);
    OpOf(id).inputs[1] = Filter(weighted, given_.tensors[op.inputs[1]], outs, ins);
    if (!weighted.bias.empty()) OpOf(id).inputs[2] = Bias(id, outs);
  }

  TensorId Filter(const WeightedOp& op, Tensor tensor, const std::vector<std::int64_t>& outs,
                  const std::vector<std::int64_t>& ins) {
    const auto count = [](const auto& list) { return static_cast<std::int64_t>(list.size()); };
    std::vector<std::int8_t> values;
    if (op.per_channel) {
      for (std::size_t tap = 0; tap < op.taps.size(); ++tap) {
        for (const std::int64_t out : outs) {
          values.push_back(static_cast<std::int8_t>(op.Weight(out, tap, 0)));
        }
      }
      tensor.shape->back() = count(outs);
    } else {
      for (const std::int64_t out : outs) {
        for (std::size_t tap = 0; tap < op.taps.size(); ++tap) {
          for (const std::int64_t in : ins) {
            values.push_back(static_cast<std::int8_t>(op.Weight(out, tap, in)));
          }
        }
      }
      tensor.shape->front() = count(outs);
      tensor.shape->back() = count(ins);
    }
    KeepScales(outs, op.out_channels, &tensor);
    tensor.data = DataOf(values);
    return Add(std::move(tensor));
  }

  TensorId Bias(OpId id, const std::vector<std::int64_t>& outs) {
    const WeightedOp& op = *weighted_[id];
    const TensorId input = given_.ops[id].inputs[0];
    std::vector<std::int32_t> values;
    for (const std::int64_t out : outs) {
      std::int64_t sum = op.BiasOf(out);
      if (!op.per_channel) sum += RemovedSum(op, out, input);
      values.push_back(static_cast<std::int32_t>(sum));
    }
    Tensor tensor = given_.tensors[given_.ops[id].inputs[2]];
    tensor.shape->back() = static_cast<std::int64_t>(outs.size());
    KeepScales(outs, op.out_channels, &tensor);
    tensor.data = DataOf(values);
    return Add(std::move(tensor));
  }

  // What the removed channels of the input contribute. Where the weight is not 0, the channel has
  // one value, and it is the zero point or no position reads padding.
  std::int64_t RemovedSum(const WeightedOp& op, std::int64_t out, TensorId input) const {
    const std::vector<char>& removed = removal_.removed[input];
    std::int64_t sum = 0;
    for (std::size_t c = 0; c < removed.size(); ++c) {
      if (removed[c] == 0) continue;
      const std::int64_t value = ranges_[input][c].low - op.in_zero;
      for (std::size_t tap = 0; tap < op.taps.size() && value != 0; ++tap) {
        if (op.taps[tap] == Tap::kPadding) continue;
        sum += value * op.Weight(out, tap, static_cast<std::int64_t>(c));
      }
    }
    return sum;
  }

  // An attribute of a kept operator cannot change: a new one, unless the last size is -1.
  void Reshape(OpId id) {
    const Op& given = given_.ops[id];
    const std::int64_t channels = to().tensors[new_id_[given.outputs[0]]].shape->back();
    Op& op = OpOf(id);
    const auto replace = [&](auto* sizes) {
      if (sizes->empty() || sizes->back() == -1) return false;
      sizes->back() = static_cast<std::decay_t<decltype(sizes->back())>>(channels);
      return true;
    };
    auto attribute = IntsOr(given, "new_shape");
    if (replace(&attribute)) {
      op.attributes["new_shape"] = std::move(attribute);
      op.source_index = -1;
    }
    const TensorId second = InputOf(given, 1);
    if (!second.valid()) return;
    Tensor tensor = given_.tensors[second];
    const auto given_sizes = IntegersOf(tensor);
    std::vector<std::int32_t> sizes;
    for (std::size_t i = 0; given_sizes && i < given_sizes->size(); ++i) {
      sizes.push_back(static_cast<std::int32_t>((*given_sizes)[i]));
    }
    if (!replace(&sizes)) return;
    tensor.data = DataOf(sizes);
    op.inputs[1] = Add(std::move(tensor));
  }

  const Subgraph& given_;
  const Removal& removal_;
  const IdVector<OpId, std::optional<WeightedOp>>& weighted_;
  const IdVector<TensorId, Ranges>& ranges_;
  graph::Graph out_;
  IdVector<TensorId, TensorId> new_id_;
  std::set<std::string> names_;
};

}  // namespace

graph::Graph Narrow(const graph::Graph& graph, const Removal& removal,
                    const IdVector<OpId, std::optional<WeightedOp>>& weighted,
                    const IdVector<TensorId, Ranges>& ranges) {
  return Narrower(graph, removal, weighted, ranges).Run();
}

}  // namespace neap::rewrite
