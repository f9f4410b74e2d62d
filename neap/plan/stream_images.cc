// SPDX-License-Identifier: Apache-2.0
//
// Which tensors of ONNX have their places (time steps, or rows and columns) last.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "neap/ops/op_table.h"
#include "neap/ops/traits.h"
#include "neap/plan/stream.h"

namespace neap::plan {
namespace {

using graph::Op;
using graph::Shape;
using graph::Subgraph;
using graph::TensorId;
using ops::Is;
using ops::OpKind;

constexpr std::size_t kSignalRank = 3;   // (1, channels, time)
constexpr std::size_t kImageRank = 4;    // (1, channels, height, width)
constexpr std::size_t kGroupedRank = 5;  // (1, groups, channels, height, width)

// Operators over channels and time.
bool IsOverTime(const Op& op) {
  return Is(op, OpKind::kOnnxAveragePool, OpKind::kOnnxBatchNormalization, OpKind::kOnnxConv,
            OpKind::kOnnxConvInteger, OpKind::kOnnxConvTranspose, OpKind::kOnnxGlobalAveragePool,
            OpKind::kOnnxMaxPool, OpKind::kOnnxQLinearConv);
}

// Operators whose output has the axes of their inputs.
bool KeepsAxes(const Op& op) {
  return ops::IsElementwise(op) || ops::Has(op, ops::trait::kSplits) ||
         Is(op, OpKind::kOnnxConcat, OpKind::kOnnxLogSoftmax, OpKind::kOnnxPad,
            OpKind::kOnnxReduceMean, OpKind::kOnnxReduceSum, OpKind::kOnnxSlice,
            OpKind::kOnnxSoftmax);
}

class Finder {
 public:
  explicit Finder(const Subgraph& subgraph)
      : subgraph_(subgraph), last_(subgraph.tensors.size(), false) {}

  IdVector<TensorId, bool> Find() {
    const auto& ops = subgraph_.ops.Items();
    // What operators over time read, back to its source; then what they compute.
    std::for_each(ops.rbegin(), ops.rend(), [&](const Op& op) { Read(op); });
    std::for_each(ops.begin(), ops.end(), [&](const Op& op) { Write(op); });
    return std::move(last_);
  }

 private:
  // nullptr: not known, or of another rank, or of a batch.
  const Shape* ShapeOf(TensorId tensor, std::size_t rank) const {
    if (!tensor.valid() || subgraph_.tensors[tensor].constant) return nullptr;
    const auto& shape = subgraph_.tensors[tensor].shape;
    const bool fits = shape && shape->size() == rank && (*shape)[0] == 1 &&
                      std::all_of(shape->begin(), shape->end(), [](auto d) { return d > 0; });
    return fits ? &*shape : nullptr;
  }
  bool IsSignal(TensorId tensor) const { return ShapeOf(tensor, kSignalRank) != nullptr; }
  bool IsMarked(TensorId tensor) const { return tensor.valid() && last_[tensor]; }
  void MarkSignals(const std::vector<TensorId>& tensors) {
    for (const TensorId tensor : tensors) {
      if (IsSignal(tensor)) last_[tensor] = true;
    }
  }
  static bool IsStandard(const Op& op) { return ops::IsDefaultOnnxDomain(op.domain); }

  void Read(const Op& op) {
    if (!IsStandard(op) || op.inputs.empty()) return;
    if (IsOverTime(op)) {
      MarkSignals({op.inputs[0]});
    } else if (KeepsAxes(op) && std::any_of(op.outputs.begin(), op.outputs.end(),
                                            [&](TensorId out) { return IsMarked(out); })) {
      MarkSignals(op.inputs);
    }
  }

  void Write(const Op& op) {
    if (!IsStandard(op) || op.inputs.empty() || op.outputs.empty()) return;
    const TensorId in = op.inputs[0];
    const TensorId out = op.outputs[0];
    if (IsOverTime(op)) {
      if (IsMarked(in)) MarkSignals({out});
    } else if (KeepsAxes(op)) {
      if (std::any_of(op.inputs.begin(), op.inputs.end(),
                      [&](TensorId tensor) { return IsMarked(tensor) && IsSignal(tensor); })) {
        MarkSignals(op.outputs);
      } else if (op.inputs.size() == 1 && ops::IsElementwise(op) && IsGrouped(in)) {
        last_[out] = true;
      }
    } else if (ops::IsReshapeLike(op)) {
      Reshape(in, out);
    } else if (Is(op, OpKind::kOnnxTranspose) && IsGrouped(in) && ShapeOf(out, kGroupedRank)) {
      const auto given = op.attributes.find("perm");
      const auto* const order = given == op.attributes.end()
                                    ? nullptr
                                    : std::get_if<std::vector<std::int64_t>>(&given->second);
      last_[out] = order != nullptr && order->size() == kGroupedRank && (*order)[0] == 0 &&
                   (*order)[3] == 3 && (*order)[4] == 4;
    }
  }

  bool IsGrouped(TensorId tensor) const {
    return IsMarked(tensor) && ShapeOf(tensor, kGroupedRank) != nullptr;
  }

  // An image whose channels become two dimensions, or whose rows and columns become one.
  void Reshape(TensorId in, TensorId out) {
    if (IsMarked(in) && subgraph_.tensors[in].shape == subgraph_.tensors[out].shape) {
      last_[out] = true;
      return;
    }
    const Shape* const from = ShapeOf(in, kImageRank);
    if (from == nullptr) return;
    if (const Shape* to = ShapeOf(out, kGroupedRank)) {
      last_[out] = (*to)[3] == (*from)[2] && (*to)[4] == (*from)[3];
    } else if (const Shape* line = ShapeOf(out, kSignalRank)) {
      last_[out] = last_[out] || (*line)[1] == (*from)[1];
    }
  }

  const Subgraph& subgraph_;
  IdVector<TensorId, bool> last_;
};

// The last dimension, or the last two of grouped images, are places.
StreamImage PlacesLast(const graph::Tensor& tensor) {
  const Shape& shape = *tensor.shape;
  const std::int64_t bytes = graph::TensorBytes(tensor).value_or(0);
  StreamImage image;
  image.channels_first = true;
  image.row_axis = 2;
  if (shape.size() == kGroupedRank) {
    image.row_axis = 3;
    image.column_axis = 4;
    image.width = shape[4];
  }
  image.height = shape[*image.row_axis];
  image.pixel_bytes = bytes / image.height / image.width;
  return image.pixel_bytes > 0 && image.bytes() == bytes ? image : StreamImage{1, 1, bytes};
}

}  // namespace

StreamImages ImagesOf(const Subgraph& subgraph) {
  StreamImages images;
  const bool channels_first = HasChannelsFirst(subgraph);
  images.reserve(subgraph.tensors.size());
  for (const graph::Tensor& tensor : subgraph.tensors) {
    images.push_back(ImageOf(tensor, channels_first));
  }
  if (!channels_first) return images;
  const IdVector<TensorId, bool> last = Finder(subgraph).Find();
  for (const TensorId tensor : subgraph.tensors.Ids()) {
    if (last[tensor]) images[tensor] = PlacesLast(subgraph.tensors[tensor]);
  }
  return images;
}

}  // namespace neap::plan
