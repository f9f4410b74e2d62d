// SPDX-License-Identifier: Apache-2.0
#include "neap/emit/lowering.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "neap/ops/op_table.h"
#include "neap/ops/recurrence.h"

namespace neap::emit {

using graph::Op;
using graph::Tensor;
using graph::TensorId;

Lowering::Lowering(const graph::Subgraph& subgraph, std::string prefix, KernelSet kernels,
                   LibraryCalls library)
    : subgraph_(subgraph), prefix_(std::move(prefix)), kernels_(kernels), library_(library) {}

const Lowering::Place* Lowering::PlaceOf(TensorId tensor) const {
  const auto found = places_.find(tensor);
  return found == places_.end() ? nullptr : &found->second;
}

Result<View> Lowering::ImageOf(TensorId tensor) {
  const plan::StreamImage image = plan::ImageOf(Tensor(tensor));
  View view;
  view.height = image.height;
  view.width = image.width;
  view.pixel_bytes = image.pixel_bytes;
  view.name = Tensor(tensor).name;
  const Place* const place = PlaceOf(tensor);
  if (Tensor(tensor).constant && place == nullptr) {
    NEAP_TRY(view.constant, Bytes(tensor));
    return view;
  }
  NEAP_CHECK_OK(Require(place != nullptr, "has a tensor without an address in the plan"));
  NEAP_CHECK_OK(Require(place->columns == 1,
                        "has a tensor of which the plan keeps columns in rings of their own: plans "
                        "for the kernels neap-rt have none"));
  view.rings = place->rings;
  view.memory = place->memory;
  return view;
}

Result<View> Lowering::FormOf(TensorId tensor, const Form& form) {
  NEAP_TRY(View view, ImageOf(tensor));
  const std::int64_t all = view.bytes();
  const bool whole = view.rings.empty() ||
                     (view.rings.size() == 1 && view.rings[0].pixels == view.height * view.width);
  NEAP_CHECK_OK(Require(whole, "reads or writes whole a tensor that the plan stores in rings"));
  const std::int64_t bytes = form.height * form.width * form.pixel_bytes;
  NEAP_CHECK_OK(Require(form.skip + bytes <= all, "has a tensor of another size than its kernel"));
  view.height = form.height;
  view.width = form.width;
  view.pixel_bytes = form.pixel_bytes;
  if (!view.rings.empty()) {
    view.rings[0] = {view.rings[0].offset + form.skip, form.height * form.width};
  } else if (form.skip > 0) {
    view.constant += " + " + std::to_string(form.skip);
  }
  return view;
}

bool Lowering::IsSamePlace(TensorId a, TensorId b) const {
  const Place* const first = PlaceOf(a);
  const Place* const second = PlaceOf(b);
  if (first == nullptr || second == nullptr || first->memory != second->memory) return false;
  const auto whole = [&](TensorId tensor, const Place& place) {
    const plan::StreamImage image = plan::ImageOf(Tensor(tensor));
    return place.rings.size() == 1 && place.rings[0].pixels == image.height * image.width;
  };
  return whole(a, *first) && whole(b, *second) && first->rings[0].offset == second->rings[0].offset;
}

std::string Lowering::Add(const std::string& name, const std::string& type,
                          std::vector<std::int64_t> values, bool weights) {
  std::string& known = known_[{weights ? type + " of weights" : type, values}];
  if (known.empty()) {
    known = prefix_ + "_" + name;
    constants_.push_back({known, type, std::move(values), weights});
  }
  return known;
}

std::string Lowering::Filled(std::int64_t value, std::int64_t bytes) {
  std::int64_t& longest = filled_[value];
  longest = std::max(longest, bytes);
  return prefix_ + "_pixel_" + (value < 0 ? "m" + std::to_string(-value) : std::to_string(value));
}

std::vector<Constant> Lowering::TakeConstants() {
  for (const auto& [value, bytes] : filled_) {
    constants_.push_back({Filled(value, bytes), "int8_t",
                          std::vector<std::int64_t>(static_cast<std::size_t>(bytes), value),
                          false});
  }
  return std::move(constants_);
}

std::int64_t Lowering::MaxPixelsOf(graph::OpId op) const {
  constexpr std::int64_t kTogether = 2;
  const auto limit = limits_.find(op);
  return limit == limits_.end() ? kTogether : limit->second;
}

Result<std::string> Lowering::Bytes(TensorId tensor) {
  const graph::Tensor& constant = subgraph_.tensors[tensor];
  NEAP_CHECK_OK(Require(constant.data.has_value() && !constant.compressed,
                        "has a constant without known bytes"));
  std::vector<std::int64_t> values;
  for (const std::byte byte : constant.data->bytes) {
    values.push_back(SignedByte(byte));
  }
  return Add("t" + std::to_string(tensor.value()), "int8_t", std::move(values), true);
}

const Tensor& InputOf(const Lowering& lowering, const Op& op, std::size_t index) {
  return lowering.Tensor(op.inputs[index]);
}
const Tensor& OutputOf(const Lowering& lowering, const Op& op) {
  return lowering.Tensor(op.outputs[0]);
}
bool HasInput(const Op& op, std::size_t index) {
  return index < op.inputs.size() && op.inputs[index].valid();
}

Status Require(bool condition, const char* otherwise) {
  if (condition) return {};
  return Fail(BadInput(otherwise));
}

std::string KernelFor(const std::string& name, const Tensor& tensor) {
  return name + (tensor.type == graph::ElementType::kUint8 ? "_u8" : "_s8");
}

std::int64_t SignedByte(std::byte byte) {
  const auto value = std::to_integer<std::int64_t>(byte);
  return value > 127 ? value - 256 : value;
}

std::optional<std::vector<std::int64_t>> Int32sOf(const Tensor& tensor) {
  if (!tensor.constant || !tensor.data || tensor.type != graph::ElementType::kInt32 ||
      tensor.compressed) {
    return std::nullopt;
  }
  const auto bytes = tensor.data->bytes;
  std::vector<std::int64_t> values;
  for (std::size_t at = 0; at + 4 <= bytes.size(); at += 4) {
    std::uint32_t value = 0;
    for (std::size_t k = 4; k-- > 0;) {
      value = value << 8U | std::to_integer<std::uint32_t>(bytes[at + k]);
    }
    values.push_back(static_cast<std::int32_t>(value));
  }
  return values;
}

std::string Number(std::int64_t value) { return std::to_string(value); }

std::string InitialiserOf(std::initializer_list<std::string> members) {
  std::string text = "{";
  for (const std::string& member : members) {
    if (text.size() > 1) text += ", ";
    text += member;
  }
  return text + "}";
}

Result<std::vector<Call>> Lower(Lowering& lowering, const Subject& subject) {
  const Op& op = subject.op;
  const bool state = op.stateful && !ops::OwnsVariables(lowering.subgraph(), op);
  NEAP_CHECK_OK(
      Require(op.domain == "tflite" && op.bodies.empty() && !state, "has no kernel in neap_rt"));
  for (const auto& rows :
       {ConvRows(), PoolRows(), ElementwiseRows(), MoveRows(), SpreadRows(), RecurrentRows()}) {
    for (const LowerRow& row : rows) {
      if (row.kind != ops::KindOf(op)) continue;
      NEAP_CHECK_OK(Require(!op.inputs.empty() && op.inputs[0].valid() && !op.outputs.empty() &&
                                op.outputs[0].valid(),
                            "lacks an input or an output"));
      for (const auto* list : {&op.inputs, &op.outputs}) {
        for (const TensorId tensor : *list) {
          const bool known = !tensor.valid() || graph::TensorBytes(lowering.Tensor(tensor));
          NEAP_CHECK_OK(Require(known, "has a tensor of unknown size"));
        }
      }
      if (lowering.kernels() == KernelSet::kCmsisNn && !subject.boxed) {
        NEAP_TRY(auto calls, LowerCmsisNn(lowering, subject));
        if (calls) return *std::move(calls);
      }
      return row.lower(lowering, subject);
    }
  }
  return Fail(BadInput("has no kernel in neap_rt"));
}

}  // namespace neap::emit
