// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/cascade/device.h"

#include <algorithm>
#include <array>
#include <utility>

#include "neap/base/bytes.h"
#include "neap/ops/op_table.h"
#include "neap/ops/traits.h"
#include "neap/ops/window.h"
#include "neap/transform/cascade/cost.h"

namespace neap::cascade {
namespace {

using graph::Op;
using graph::Shape;
using graph::Subgraph;
using graph::TensorId;
using ops::OpKind;

std::int64_t CeilDiv(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Units at a rate of so many in a thousand cycles.
std::int64_t AtRate(std::int64_t units, std::int64_t per_kilocycle) {
  if (per_kilocycle <= 0 || units <= 0) return 0;
  constexpr std::int64_t kMax = kMaxBytes / 1000;
  return CeilDiv(std::min(units, kMax) * 1000, per_kilocycle);
}

// Bytes that are read in runs of `run`: a burst that is not filled takes as long.
std::int64_t TransferCycles(std::int64_t bytes, std::int64_t run, std::int64_t per_kilocycle,
                            const DeviceMemory& memory) {
  if (bytes <= 0) return 0;
  const std::int64_t burst = std::max<std::int64_t>(memory.burst_bytes, 1);
  const std::int64_t filled = std::clamp<std::int64_t>(run, 1, burst);
  const std::int64_t moved = CheckedMultiply(bytes, burst).value_or(kMaxBytes) / filled;
  return AtRate(moved, per_kilocycle) + memory.latency_cycles;
}

struct Geometry {
  std::int64_t height = 1;  // of the output
  std::int64_t width = 1;
  std::int64_t depth = 1;
  std::int64_t kernel_height = 1;
  std::int64_t kernel_width = 1;
  std::int64_t in_depth = 1;
};

Geometry GeometryOf(const Subgraph& subgraph, const Op& op) {
  Geometry g;
  const auto& out = subgraph.tensors[op.outputs[0]].shape;
  if (!out || out->empty()) return g;
  if (const auto window = ops::WindowOf(subgraph, op)) {
    return {window->out_height,    window->out_width,    window->out_channels,
            window->kernel_height, window->kernel_width, window->in_channels};
  }
  const bool onnx = op.domain != "tflite";
  if (out->size() == 4) {
    g.height = (*out)[onnx ? 2 : 1];
    g.width = (*out)[onnx ? 3 : 2];
    g.depth = (*out)[onnx ? 1 : 3];
  } else {
    g.depth = out->back();
    for (std::size_t d = 0; d + 1 < out->size(); ++d)
      g.height *= std::max<std::int64_t>((*out)[d], 1);
  }
  const std::size_t weights = ops::KindOfName(op) == OpKind::kOnnxQLinearConv ? 3 : 1;
  if (weights < op.inputs.size() && op.inputs[weights].valid()) {
    const auto& shape = subgraph.tensors[op.inputs[weights]].shape;
    if (shape && shape->size() == 4 && onnx) {
      g.in_depth = (*shape)[1];
      g.kernel_height = (*shape)[2];
      g.kernel_width = (*shape)[3];
    } else if (shape && shape->size() == 2) {
      g.in_depth = (*shape)[1];
    }
  }
  return g;
}

// The multiplier array of Ethos-U55: for every unit block, channel block and tap of the kernel a
// few cycles; taps four at a time where channels are few (part-kernel) or are not summed
// (depthwise).
std::int64_t EngineCycles(const Geometry& g, OpClass op_class, const BlockEngine& e) {
  const std::int64_t blocks = CeilDiv(g.height, e.block_height) * CeilDiv(g.width, e.block_width) *
                              CeilDiv(g.depth, e.block_depth);
  const std::int64_t taps = g.kernel_height * g.kernel_width;
  std::int64_t steps = 1;
  if (op_class == OpClass::kDepthwise) {
    steps = CeilDiv(taps, 4);
  } else if (op_class != OpClass::kElementwise && op_class != OpClass::kMove) {
    const std::int64_t depth_first = taps * CeilDiv(g.in_depth, 32);
    const std::int64_t part_kernel = CeilDiv(taps, 4) * CeilDiv(g.in_depth, 8);
    steps = std::min(depth_first, part_kernel);
  } else {
    return 0;
  }
  return blocks * e.step_cycles * steps;
}

std::int64_t BytesOf(const Subgraph& subgraph, TensorId id) {
  return id.valid() ? graph::TensorBytes(subgraph.tensors[id]).value_or(0) : 0;
}

// Bytes of one row of pixels: the contiguous part.
std::int64_t RunOf(const Subgraph& subgraph, TensorId id) {
  const auto& shape = subgraph.tensors[id].shape;
  const int bits = graph::BitsOf(subgraph.tensors[id].type);
  if (!shape || shape->size() < 2 || bits < 8) return BytesOf(subgraph, id);
  std::int64_t run = bits / 8;
  for (std::size_t d = shape->size() - 2; d < shape->size(); ++d) run *= (*shape)[d];
  return run;
}

}  // namespace

const DeviceMemory* MemoryFor(const Device& device, bool weights) {
  for (const DeviceMemory& memory : device.memories) {
    if (weights ? memory.holds_weights : memory.holds_activations) return &memory;
  }
  return nullptr;
}

std::int64_t CopyCycles(std::int64_t bytes, const DeviceMemory& from, const DeviceMemory& to) {
  return TransferCycles(bytes, bytes, from.read_per_kilocycle, from) +
         TransferCycles(bytes, bytes, to.write_per_kilocycle, to);
}

std::string_view NameOf(OpClass op_class) {
  constexpr std::array<std::string_view, kOpClasses> kNames = {"conv",  "pointwise",   "depthwise",
                                                               "dense", "elementwise", "move"};
  return kNames[static_cast<std::size_t>(op_class)];
}

std::string_view NameOf(OutputClass output_class) {
  constexpr std::array<std::string_view, kOutputClasses + 1> kNames = {
      "lookup", "max_pool", "add", "multiply", "multiply_wide", "other"};
  return kNames[static_cast<std::size_t>(output_class)];
}

OutputClass OutputClassOf(const Subgraph& subgraph, const Op& op) {
  const OpKind kind = ops::KindOfName(op);
  constexpr auto kLookups = std::to_array<OpKind>(
      {OpKind::kElu, OpKind::kOnnxElu, OpKind::kGelu, OpKind::kHardSwish, OpKind::kOnnxHardSigmoid,
       OpKind::kOnnxHardSwish, OpKind::kLeakyRelu, OpKind::kLogistic, OpKind::kOnnxLeakyRelu,
       OpKind::kOnnxSigmoid, OpKind::kTanh, OpKind::kOnnxTanh});
  constexpr std::int64_t kFusedTanh = 4;
  if (std::find(kLookups.begin(), kLookups.end(), kind) != kLookups.end() ||
      ops::IntegerAttribute(op, "fused_activation_function", 0) == kFusedTanh) {
    return OutputClass::kLookup;
  }
  if (ops::IsAnyOf(kind, OpKind::kMaxPool2d, OpKind::kOnnxMaxPool)) return OutputClass::kMaxPool;
  if (ops::IsAnyOf(kind, OpKind::kAdd, OpKind::kOnnxAdd, OpKind::kSub, OpKind::kOnnxSub)) {
    return OutputClass::kAdd;
  }
  if (!ops::IsAnyOf(kind, OpKind::kMul, OpKind::kOnnxMul)) return OutputClass::kOther;
  const bool wide = subgraph.tensors[op.outputs[0]].type == graph::ElementType::kInt32;
  return wide ? OutputClass::kMultiplyWide : OutputClass::kMultiply;
}

std::int64_t OutputMillicycles(const Subgraph& subgraph, const Op& op, const BlockEngine& engine) {
  const auto output_class = static_cast<std::size_t>(OutputClassOf(subgraph, op));
  if (output_class >= kOutputClasses) return engine.output_millicycles;
  const std::int64_t own = engine.output_millicycles_of[output_class];
  return own > 0 ? own : engine.output_millicycles;
}

OpClass ClassOf(const Subgraph& subgraph, const Op& op) {
  const OpKind kind = ops::KindOfName(op);
  if (kind == OpKind::kDepthwiseConv2d || (ops::RowOf(kind).traits & ops::trait::kPools) != 0) {
    return OpClass::kDepthwise;
  }
  if (ops::IsAnyOf(kind, OpKind::kFullyConnected, OpKind::kOnnxGemm, OpKind::kOnnxMatMul)) {
    return OpClass::kDense;
  }
  if (ops::IsAnyOf(kind, OpKind::kConv2d, OpKind::kOnnxConv, OpKind::kOnnxQLinearConv,
                   OpKind::kOnnxConvInteger)) {
    const Geometry g = GeometryOf(subgraph, op);
    const std::int64_t groups = ops::IntegerAttribute(op, "group", 1);
    if (groups > 1 && groups == g.depth) return OpClass::kDepthwise;
    return g.kernel_height == 1 && g.kernel_width == 1 ? OpClass::kPointwise : OpClass::kConv;
  }
  return ops::IsElementwise(op) ? OpClass::kElementwise : OpClass::kMove;
}

OpCycles CyclesOf(const Subgraph& subgraph, const Op& op, const Device& device) {
  return CyclesOf(subgraph, op, device, false);
}

OpCycles CyclesOf(const Subgraph& subgraph, const Op& op, const Device& device,
                  bool weights_copied) {
  OpCycles cycles;
  if (op.folded || op.outputs.empty() || !op.outputs[0].valid()) return cycles;
  const OpClass op_class = ClassOf(subgraph, op);
  const auto rate = device.per_kilocycle[static_cast<std::size_t>(op_class)];
  const std::int64_t out_bytes = BytesOf(subgraph, op.outputs[0]);
  std::int64_t elements = 1;
  const auto& shape = subgraph.tensors[op.outputs[0]].shape;
  if (shape) {
    for (const std::int64_t d : *shape) {
      elements = CheckedMultiply(elements, std::max<std::int64_t>(d, 0)).value_or(0);
    }
  }
  if (device.engine.macs_per_cycle > 0 && op_class != OpClass::kMove) {
    const std::int64_t multiply = EngineCycles(GeometryOf(subgraph, op), op_class, device.engine);
    const std::int64_t write =
        CeilDiv(CheckedMultiply(elements, OutputMillicycles(subgraph, op, device.engine))
                    .value_or(kMaxBytes),
                1000);
    cycles.compute = std::max(multiply, write);
  } else if (op_class == OpClass::kMove) {
    cycles.compute = AtRate(out_bytes, rate);
  } else {
    const std::int64_t macs = MacsOf(subgraph, op);
    cycles.compute = AtRate(macs > 0 ? macs : elements, rate);
  }
  for (const TensorId id : op.inputs) {
    if (!id.valid()) continue;
    const bool weights = subgraph.tensors[id].constant;
    const DeviceMemory* const memory = MemoryFor(device, weights && !weights_copied);
    if (memory == nullptr) continue;
    const std::int64_t run = weights ? BytesOf(subgraph, id) : RunOf(subgraph, id);
    cycles.transfer +=
        TransferCycles(BytesOf(subgraph, id), run, memory->read_per_kilocycle, *memory);
  }
  if (const DeviceMemory* const memory = MemoryFor(device, false)) {
    cycles.transfer += TransferCycles(out_bytes, RunOf(subgraph, op.outputs[0]),
                                      memory->write_per_kilocycle, *memory);
  }
  cycles.total = (device.overlaps_transfers ? std::max(cycles.compute, cycles.transfer)
                                            : cycles.compute + cycles.transfer) +
                 device.launch_cycles;
  return cycles;
}

std::int64_t CyclesOf(const Subgraph& subgraph, const Device& device) {
  std::int64_t sum = 0;
  for (const Op& op : subgraph.ops) sum += CyclesOf(subgraph, op, device).total;
  return sum;
}

}  // namespace neap::cascade
