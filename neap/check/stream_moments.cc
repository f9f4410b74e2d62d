// SPDX-License-Identifier: Apache-2.0
#include "neap/check/stream_moments.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "neap/ops/dependence.h"
#include "neap/plan/stream.h"

namespace neap::check {
namespace {

using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::TensorId;

constexpr std::size_t kMaxOperators = 4000;

// One input of an operator, as far as its only output needs it.
struct Reading {
  TensorId tensor;
  bool whole = false;       // the whole output needs all of it
  bool each_pixel = false;  // every pixel of the output needs all of it
  bool some = false;        // every row and column of the output needs some of it
};

class Gates {
 public:
  Gates(const Subgraph& subgraph, const std::vector<OpId>& order,
        const std::vector<TensorId>& outside)
      : subgraph_(subgraph), order_(order), outside_(outside), images_(plan::ImagesOf(subgraph)) {
    for (const OpId id : order) readings_.push_back(ReadingsOf(subgraph.ops[id]));
  }

  std::int64_t Bytes() const {
    std::int64_t bytes = 0;
    for (std::size_t n = 0; n < order_.size(); ++n) {
      for (const Reading& gate : readings_[n]) {
        if (gate.each_pixel && readings_[n].size() > 1) bytes = std::max(bytes, At(n, gate.tensor));
      }
    }
    return bytes;
  }

 private:
  std::vector<Reading> ReadingsOf(const Op& op) const {
    std::vector<Reading> readings;
    if (op.outputs.size() != 1 || !op.outputs[0].valid()) return readings;
    const graph::Tensor& output = subgraph_.tensors[op.outputs[0]];
    if (!output.shape || output.shape->empty()) return readings;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      const TensorId tensor = op.inputs[i];
      if (!tensor.valid()) continue;
      const graph::Tensor& input = subgraph_.tensors[tensor];
      if (input.constant || !input.shape) continue;
      const ops::Box all = ops::WholeBox(*input.shape);
      const auto need = ops::NeedOf(subgraph_, op, i, ops::WholeBox(*output.shape));
      Reading reading{tensor, need && need->box == all, false, false};
      const plan::StreamImage& image = images_[op.outputs[0]];
      if (image.height * image.width == 1) {
        reading.each_pixel = reading.whole;
        reading.some = need && !ops::IsEmpty(need->box);
      } else {
        reading.some =
            EveryLine(op, i, output, [](const ops::Box& box) { return !ops::IsEmpty(box); });
        reading.each_pixel =
            ops::ElementsOf(all) * 4 <= ops::ElementsOf(ops::WholeBox(*output.shape)) &&
            IsEachPixel(op, i, output, all);
      }
      readings.push_back(reading);
    }
    return readings;
  }

  template <typename Holds>
  bool EveryLine(const Op& op, std::size_t input, const graph::Tensor& output,
                 const Holds& holds) const {
    const plan::StreamImage& image = images_[op.outputs[0]];
    for (const auto& axis : {image.row_axis, image.column_axis}) {
      for (std::int64_t at = 0; axis && at < (*output.shape)[*axis]; ++at) {
        ops::Box box = ops::WholeBox(*output.shape);
        box[*axis] = {at, at + 1};
        const auto need = ops::NeedOf(subgraph_, op, input, box);
        if (!need || !holds(need->box)) return false;
      }
    }
    return true;
  }

  // A broadcast operand has one row and one column.
  bool IsEachPixel(const Op& op, std::size_t input, const graph::Tensor& output,
                   const ops::Box& all) const {
    const plan::StreamImage& image = images_[op.inputs[input]];
    const bool point = image.height * image.width == 1;
    return point && EveryLine(op, input, output, [&](const ops::Box& box) { return box == all; });
  }

  // When `gate` is complete and operator `n` has not begun.
  std::int64_t At(std::size_t n, TensorId gate) const {
    IdVector<TensorId, char> complete(subgraph_.tensors.size(), 0);
    complete[gate] = 1;
    for (std::size_t p = n; p-- > 0;) {
      if (complete[subgraph_.ops[order_[p]].outputs[0]] == 0) continue;
      for (const Reading& reading : readings_[p]) {
        if (reading.whole) complete[reading.tensor] = 1;
      }
    }
    IdVector<TensorId, char> waits(subgraph_.tensors.size(), 0);  // not begun either
    IdVector<TensorId, char> live(subgraph_.tensors.size(), 0);
    for (std::size_t p = n; p < order_.size(); ++p) {
      const auto& readings = readings_[p];
      const bool behind =
          p == n || std::any_of(readings.begin(), readings.end(),
                                [&](const Reading& r) { return r.some && waits[r.tensor] != 0; });
      if (!behind) continue;
      waits[subgraph_.ops[order_[p]].outputs[0]] = 1;
      for (const Reading& reading : readings) {
        if (reading.whole && complete[reading.tensor] != 0) live[reading.tensor] = 1;
      }
    }
    std::int64_t bytes = 0;
    for (const TensorId id : subgraph_.tensors.Ids()) {
      if (live[id] == 0 || Contains(outside_, id)) continue;
      bytes += graph::TensorBytes(subgraph_.tensors[id]).value_or(0);
    }
    return bytes;
  }

  const Subgraph& subgraph_;
  const std::vector<OpId>& order_;
  const std::vector<TensorId>& outside_;
  const plan::StreamImages images_;             // images have their channels first
  std::vector<std::vector<Reading>> readings_;  // by position in the order
};

}  // namespace

std::int64_t BytesAtGates(const Subgraph& subgraph, const std::vector<OpId>& order,
                          const std::vector<TensorId>& outside) {
  if (order.size() > kMaxOperators) return 0;
  // Operators with several outputs are not considered.
  const bool plain = std::all_of(order.begin(), order.end(), [&](OpId id) {
    return !subgraph.ops[id].outputs.empty() && subgraph.ops[id].outputs[0].valid();
  });
  return plain ? Gates(subgraph, order, outside).Bytes() : 0;
}

}  // namespace neap::check
