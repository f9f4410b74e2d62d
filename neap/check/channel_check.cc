// SPDX-License-Identifier: Apache-2.0
#include "neap/check/channel_check.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <vector>

#include "neap/check/channel_values.h"
#include "neap/ops/op_table.h"

namespace neap::check {

using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::Tensor;
using graph::TensorId;

namespace {

constexpr graph::SubgraphId kMain(0);

using Channels = std::vector<std::int64_t>;  // ascending

// A tensor of the given graph in the narrowed one.
struct Image {
  TensorId tensor;
  Channels kept;
};

bool SameQuantization(const Tensor& a, const Tensor& b) {
  if (a.quantization.has_value() != b.quantization.has_value()) return false;
  return !a.quantization || (a.quantization->scales == b.quantization->scales &&
                             a.quantization->zero_points == b.quantization->zero_points &&
                             a.quantization->axis == b.quantization->axis);
}

bool SameTensor(const Tensor& a, const Tensor& b) {
  return a.type == b.type && a.shape == b.shape && a.constant == b.constant &&
         a.variable == b.variable && SameQuantization(a, b) &&
         a.data.has_value() == b.data.has_value() &&
         (!a.data || std::equal(a.data->bytes.begin(), a.data->bytes.end(), b.data->bytes.begin(),
                                b.data->bytes.end()));
}

bool SameAttribute(const graph::Attribute& a, const graph::Attribute& b) {
  if (a.index() != b.index()) return false;
  if (const auto* bytes = std::get_if<graph::ConstantData>(&a)) {
    const auto& other = std::get<graph::ConstantData>(b);
    return std::equal(bytes->bytes.begin(), bytes->bytes.end(), other.bytes.begin(),
                      other.bytes.end());
  }
  return std::visit(
      [&](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, graph::ConstantData>) {
          return true;
        } else {
          return value == std::get<T>(b);
        }
      },
      a);
}

bool SameAttributes(const Op& a, const Op& b) {
  return a.attributes.size() == b.attributes.size() &&
         std::all_of(a.attributes.begin(), a.attributes.end(), [&](const auto& entry) {
           const auto other = b.attributes.find(entry.first);
           return other != b.attributes.end() && SameAttribute(entry.second, other->second);
         });
}

// The list that RESHAPE is given, with the last size replaced where it is not to be computed.
Channels WithLast(Channels sizes, std::int64_t last) {
  if (!sizes.empty() && sizes.back() != -1) sizes.back() = last;
  return sizes;
}

class Comparison {
 public:
  Comparison(const graph::Graph& given, const graph::Graph& narrowed,
             std::span<const plan::Rewrite> removed)
      : given_(given.subgraphs[kMain]), narrowed_(narrowed.subgraphs[kMain]) {
    for (const plan::Rewrite& rewrite : removed) removed_[rewrite.op] = rewrite.parameters;
  }

  std::string Run() {
    if (given_.ops.size() != narrowed_.ops.size() || given_.inputs != narrowed_.inputs ||
        given_.outputs != narrowed_.outputs || given_.tensors.size() > narrowed_.tensors.size()) {
      return "the narrowed graph has other operators, inputs or outputs";
    }
    for (const TensorId id : given_.tensors.Ids()) {
      const Tensor& tensor = given_.tensors[id];
      if (!SameTensor(tensor, narrowed_.tensors[id])) {
        return "tensor " + graph::Describe(id, tensor) + " is another one in the narrowed graph";
      }
      const std::int64_t channels =
          tensor.shape && !tensor.shape->empty() ? tensor.shape->back() : 0;
      Image image{id, Channels(static_cast<std::size_t>(std::max<std::int64_t>(channels, 0)))};
      std::iota(image.kept.begin(), image.kept.end(), 0);
      images_.push_back(std::move(image));
      values_.push_back(IsInt8(tensor) ? Intervals(static_cast<std::size_t>(channels))
                                       : Intervals());
    }
    for (const OpId id : given_.ops.Ids()) {
      std::string wrong = Compare(id);
      if (!wrong.empty()) {
        return "operator " + graph::Describe(id, given_.ops[id]) + ": " + wrong;
      }
    }
    for (const TensorId output : given_.outputs) {
      if (images_[output].tensor != output) return "an output of the model has lost channels";
    }
    return "";
  }

 private:
  bool IsNarrowed(TensorId id) const { return id.valid() && images_[id].tensor != id; }

  std::string Compare(OpId id) {
    const Op& op = given_.ops[id];
    const Op& other = narrowed_.ops[id];
    const bool plain = op.bodies.empty() && op.captures.empty() && !op.stateful && !op.folded;
    if (op.type != other.type || op.domain != other.domain ||
        op.inputs.size() != other.inputs.size() || op.outputs.size() != other.outputs.size() ||
        op.bodies != other.bodies || op.captures != other.captures) {
      return "is another operator in the narrowed graph";
    }
    const auto product = plain ? ProductOf(given_, op) : std::nullopt;
    const bool keeps = plain && !product && KeepsChannels(given_, op);
    std::string wrong;
    if (op.inputs == other.inputs && op.outputs == other.outputs) {
      wrong = CompareUnchanged(op, other);
    } else if (product) {
      wrong = CompareProduct(id, *product);
    } else if (keeps) {
      wrong = CompareChannelWise(op, other);
    } else {
      wrong = "channels of an operator like this cannot be removed";
    }
    if (wrong.empty() && product) {
      values_[op.outputs[0]] = ValuesOf(*product, values_[op.inputs[0]]);
    } else if (wrong.empty() && keeps) {
      std::vector<const Intervals*> inputs = {&values_[op.inputs[0]]};
      if (ops::Is(op, ops::OpKind::kAdd)) inputs.push_back(&values_[op.inputs[1]]);
      values_[op.outputs[0]] = ValuesOf(given_, op, inputs);
    }
    return wrong;
  }

  std::string CompareUnchanged(const Op& op, const Op& other) const {
    for (const auto* list : {&op.inputs, &op.captures}) {
      if (std::any_of(list->begin(), list->end(), [&](TensorId id) { return IsNarrowed(id); })) {
        return "reads a tensor that has lost channels";
      }
    }
    return SameAttributes(op, other) ? "" : "has other attributes";
  }

  // The tensor with some of the channels of another one.
  bool IsNarrowedBy(TensorId narrow, TensorId wide, const Channels& kept) const {
    if (!narrowed_.tensors.Has(narrow)) return false;
    Tensor expected = given_.tensors[wide];
    expected.shape->back() = static_cast<std::int64_t>(kept.size());
    return !kept.empty() && SameTensor(expected, narrowed_.tensors[narrow]);
  }

  std::string SetOutput(TensorId wide, TensorId narrow, Channels kept) {
    if (!IsNarrowedBy(narrow, wide, kept)) return "its output has another shape or type";
    images_[wide] = {narrow, std::move(kept)};
    return "";
  }

  std::string CompareChannelWise(const Op& op, const Op& other) {
    const Channels kept = images_[op.inputs[0]].kept;
    const bool add = ops::Is(op, ops::OpKind::kAdd);
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      const bool data = i == 0 || add;
      if (data &&
          (other.inputs[i] != images_[op.inputs[i]].tensor || images_[op.inputs[i]].kept != kept)) {
        return "its inputs have other channels";
      }
      if (!data && other.inputs[i] != op.inputs[i] && !ops::Is(op, ops::OpKind::kReshape)) {
        return "has another constant";
      }
    }
    const auto last = static_cast<std::int64_t>(kept.size());
    if (ops::Is(op, ops::OpKind::kReshape)) {
      if (!HasSizes(op, other, last)) return "has other sizes";
    } else if (!SameAttributes(op, other)) {
      return "has other attributes";
    }
    return SetOutput(op.outputs[0], other.outputs[0], kept);
  }

  bool HasSizes(const Op& op, const Op& other, std::int64_t last) const {
    if (op.attributes.size() != other.attributes.size()) return false;
    for (const auto& [name, value] : op.attributes) {
      const auto found = other.attributes.find(name);
      if (found == other.attributes.end()) return false;
      const auto* sizes = std::get_if<Channels>(&value);
      const bool same = sizes == nullptr ? SameAttribute(value, found->second)
                                         : SameAttribute(WithLast(*sizes, last), found->second);
      if (!same) return false;
    }
    if (op.inputs.size() < 2 || !op.inputs[1].valid()) return true;
    return IntegersOf(narrowed_.tensors[other.inputs[1]]) ==
           WithLast(IntegersOf(given_.tensors[op.inputs[1]]), last);
  }

  Channels KeptOutputs(OpId id, const Product& product) const {
    if (product.depthwise) return images_[given_.ops[id].inputs[0]].kept;
    const auto removed = removed_.find(id);
    Channels kept;
    for (std::int64_t c = 0; c < product.outputs; ++c) {
      const bool gone =
          removed != removed_.end() &&
          std::find(removed->second.begin(), removed->second.end(), c) != removed->second.end();
      if (!gone) kept.push_back(c);
    }
    return kept;
  }

  std::string CompareProduct(OpId id, const Product& product) {
    const Op& op = given_.ops[id];
    const Op& other = narrowed_.ops[id];
    if (!SameAttributes(op, other)) return "has other attributes";
    const Image& input = images_[op.inputs[0]];
    if (other.inputs[0] != input.tensor) return "reads another tensor";
    if (product.depthwise && product.multiplier != 1) return "has several outputs for a channel";
    Channels kept = KeptOutputs(id, product);
    const bool whole = static_cast<std::int64_t>(kept.size()) == product.outputs;
    if (whole != (op.outputs[0] == other.outputs[0])) return "writes another tensor";
    if (!whole) {
      std::string wrong = SetOutput(op.outputs[0], other.outputs[0], kept);
      if (!wrong.empty()) return wrong;
    }
    const auto narrow = ProductOf(narrowed_, other);
    if (!narrow || narrow->depthwise != product.depthwise || narrow->masks != product.masks ||
        narrow->HasBias() != product.HasBias() ||
        narrow->outputs != static_cast<std::int64_t>(kept.size()) ||
        narrow->inputs != static_cast<std::int64_t>(input.kept.size())) {
      return "has weights of another shape";
    }
    if (!HasScales(product, *narrow, kept)) return "has other scales";
    return CompareSums(product, *narrow, kept, input.kept);
  }

  static bool HasScales(const Product& product, const Product& narrow, const Channels& kept) {
    const std::vector<float>& all = product.Operand(1).quantization->scales;
    const std::vector<float>& some = narrow.Operand(1).quantization->scales;
    if (all.size() == 1) return some == all;
    if (some.size() != kept.size()) return false;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      if (some[i] != all[static_cast<std::size_t>(kept[i])]) return false;
    }
    return true;
  }

  // Kept weights are the same, and the bias has grown by the contribution of the removed channels,
  // at every position of the kernel.
  std::string CompareSums(const Product& product, const Product& narrow, const Channels& outputs,
                          const Channels& inputs) const {
    std::vector<char> is_kept(static_cast<std::size_t>(product.inputs), 0);
    for (const std::int64_t i : inputs) is_kept[static_cast<std::size_t>(i)] = 1;
    for (std::size_t n = 0; n < outputs.size(); ++n) {
      const auto own = static_cast<std::int64_t>(n);
      if (!SameWeights(product, narrow, outputs[n], own, inputs)) return "has other weights";
      const std::int64_t grown = narrow.Bias(own) - product.Bias(outputs[n]);
      for (const Mask& mask : product.masks) {
        const auto lost = product.depthwise ? std::optional<std::int64_t>(0)
                                            : Lost(product, outputs[n], mask, is_kept);
        if (!lost) return "reads a removed channel whose value is not constant";
        if (*lost != grown) {
          return "the bias of channel " + std::to_string(outputs[n]) + " grows by " +
                 std::to_string(grown) + ", the removed channels contribute " +
                 std::to_string(*lost);
        }
      }
    }
    return "";
  }

  static bool SameWeights(const Product& product, const Product& narrow, std::int64_t output,
                          std::int64_t own, const Channels& inputs) {
    const std::size_t count = product.depthwise ? 1 : inputs.size();
    for (std::int64_t p = 0; p < product.positions; ++p) {
      for (std::size_t i = 0; i < count; ++i) {
        if (product.Weight(output, p, inputs[i]) !=
            narrow.Weight(own, p, static_cast<std::int64_t>(i))) {
          return false;
        }
      }
    }
    return true;
  }

  std::optional<std::int64_t> Lost(const Product& product, std::int64_t output, const Mask& mask,
                                   const std::vector<char>& is_kept) const {
    const Intervals& values = values_[product.op->inputs[0]];
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < is_kept.size(); ++i) {
      if (is_kept[i] != 0) continue;
      for (std::int64_t p = 0; p < product.positions; ++p) {
        const std::int64_t weight = product.Weight(output, p, static_cast<std::int64_t>(i));
        if (weight == 0 || mask[static_cast<std::size_t>(p)] == 0) continue;
        if (values[i].low != values[i].high) return std::nullopt;
        sum += weight * (values[i].low - product.InputZero());
      }
    }
    return sum;
  }

  const Subgraph& given_;
  const Subgraph& narrowed_;
  std::map<OpId, Channels> removed_;
  IdVector<TensorId, Image> images_;
  IdVector<TensorId, Intervals> values_;
};

}  // namespace

std::string FindWrongChannels(const graph::Graph& given, const graph::Graph& narrowed,
                              std::span<const plan::Rewrite> removed) {
  if (given.subgraphs.empty() || narrowed.subgraphs.size() != given.subgraphs.size()) {
    return "the narrowed graph has other subgraphs";
  }
  return Comparison(given, narrowed, removed).Run();
}

}  // namespace neap::check
