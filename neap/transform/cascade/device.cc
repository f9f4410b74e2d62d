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

// Units at a rate of so many in a thousand cycles.
std::int64_t AtRate(std::int64_t units, std::int64_t per_kilocycle) {
  if (per_kilocycle <= 0 || units <= 0) return 0;
  // Sums over all operands of an operator stay in 64 bits.
  constexpr std::int64_t kMax = kMaxBytes / 1000 / 1024;
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

// Member `index` of an attribute of ONNX, 1 where it has none.
std::int64_t ListedSize(const Op& op, const char* name, std::size_t index) {
  const auto found = op.attributes.find(name);
  if (found == op.attributes.end()) return 1;
  const auto* const list = std::get_if<std::vector<std::int64_t>>(&found->second);
  return list == nullptr || index >= list->size() ? 1 : (*list)[index];
}

// As sizes of a window operator. Of others, the last dimension is the depth, and all before it are
// rows.
EngineLayer SizesOf(const Subgraph& subgraph, const Op& op) {
  EngineLayer layer;
  const auto& out = subgraph.tensors[op.outputs[0]].shape;
  if (!out || out->empty()) return layer;
  if (const auto window = ops::WindowOf(subgraph, op)) {
    layer.height = window->out_height;
    layer.width = window->out_width;
    layer.depth = window->out_channels;
    layer.in_height = window->in_height;
    layer.in_width = window->in_width;
    layer.in_depth = window->in_channels;
    layer.kernel_height = window->kernel_height;
    layer.kernel_width = window->kernel_width;
    layer.stride_height = window->stride_height;
    layer.stride_width = window->stride_width;
    layer.dilation_height = window->dilation_height;
    layer.dilation_width = window->dilation_width;
    return layer;
  }
  const bool onnx = op.domain != "tflite";
  if (out->size() == 4) {
    layer.height = (*out)[onnx ? 2 : 1];
    layer.width = (*out)[onnx ? 3 : 2];
    layer.depth = (*out)[onnx ? 1 : 3];
  } else {
    layer.depth = out->back();
    for (std::size_t d = 0; d + 1 < out->size(); ++d) {
      layer.height *= std::max<std::int64_t>((*out)[d], 1);
    }
  }
  layer.in_height = layer.height;
  layer.in_width = layer.width;
  const bool quantised = ops::KindOfName(op) == OpKind::kOnnxQLinearConv;
  const graph::Tensor* const weights =
      graph::Operand(subgraph, op.inputs, quantised ? std::size_t{3} : std::size_t{1});
  if (weights == nullptr || !weights->shape) return layer;
  const Shape& shape = *weights->shape;
  if (shape.size() == 4 && onnx) {
    layer.in_depth = shape[1];
    layer.kernel_height = shape[2];
    layer.kernel_width = shape[3];
    layer.stride_height = ListedSize(op, "strides", 0);
    layer.stride_width = ListedSize(op, "strides", 1);
    layer.dilation_height = ListedSize(op, "dilations", 0);
    layer.dilation_width = ListedSize(op, "dilations", 1);
    const graph::Tensor* const in = graph::Operand(subgraph, op.inputs, 0);
    if (in != nullptr && in->shape && in->shape->size() == 4) {
      layer.in_height = (*in->shape)[2];
      layer.in_width = (*in->shape)[3];
    }
  } else if (shape.size() == 2) {
    layer.in_depth = shape[1];
  }
  return layer;
}

EngineLayer LayerOf(const Subgraph& subgraph, const Op& op, OpClass op_class,
                    const BlockEngine& engine) {
  EngineLayer layer = SizesOf(subgraph, op);
  for (std::int64_t* const size :
       {&layer.height, &layer.width, &layer.depth, &layer.in_height, &layer.in_width,
        &layer.in_depth, &layer.kernel_height, &layer.kernel_width, &layer.stride_height,
        &layer.stride_width, &layer.dilation_height, &layer.dilation_width}) {
    *size = std::max<std::int64_t>(*size, 1);
  }
  layer.multiplies = op_class != OpClass::kElementwise;
  layer.per_channel = op_class == OpClass::kDepthwise;
  layer.has_weights = op.inputs.size() > 1;
  layer.output_millicycles = OutputMillicycles(subgraph, op, engine);
  if (const graph::Tensor* const in = graph::Operand(subgraph, op.inputs, 0)) {
    layer.input_element_bytes = std::max(graph::BitsOf(in->type) / 8, 1);
  }
  return layer;
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

std::int64_t StoredBytes(std::int64_t bytes, const Device& device) {
  constexpr std::int64_t kPerMille = 1000;
  const auto scaled = CheckedMultiply(bytes, device.weights_per_mille);
  return scaled ? CeilDiv(*scaled, kPerMille) : kMaxBytes;
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
    const EngineLayer g = SizesOf(subgraph, op);
    const std::int64_t groups = ops::IntegerAttribute(op, "group", 1);
    if (groups > 1 && groups == g.depth) return OpClass::kDepthwise;
    return g.kernel_height == 1 && g.kernel_width == 1 ? OpClass::kPointwise : OpClass::kConv;
  }
  return ops::IsElementwise(op) ? OpClass::kElementwise : OpClass::kMove;
}

namespace {

// Of all operands, or with the bytes of `work` for the first input and its reads of weights.
std::int64_t TransferOf(const Subgraph& subgraph, const Op& op, const Device& device,
                        bool weights_copied, const EngineWork* work) {
  std::int64_t cycles = 0;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    const TensorId id = op.inputs[i];
    if (!id.valid()) continue;
    const bool weights = subgraph.tensors[id].constant;
    const DeviceMemory* const memory = MemoryFor(device, weights && !weights_copied);
    if (memory == nullptr) continue;
    std::int64_t bytes = BytesOf(subgraph, id);
    if (weights) {
      bytes = StoredBytes(bytes, device);
      if (work != nullptr) bytes = CheckedMultiply(bytes, work->weight_reads).value_or(kMaxBytes);
    } else if (work != nullptr && i == 0) {
      bytes = work->input_bytes;
    }
    const std::int64_t run = weights ? bytes : RunOf(subgraph, id);
    cycles += TransferCycles(bytes, run, memory->read_per_kilocycle, *memory);
  }
  if (const DeviceMemory* const memory = MemoryFor(device, false)) {
    cycles += TransferCycles(BytesOf(subgraph, op.outputs[0]), RunOf(subgraph, op.outputs[0]),
                             memory->write_per_kilocycle, *memory);
  }
  return cycles;
}

std::int64_t TotalOf(const OpCycles& cycles, const Device& device) {
  return (device.overlaps_transfers ? std::max(cycles.compute, cycles.transfer)
                                    : cycles.compute + cycles.transfer) +
         device.launch_cycles;
}

OpCycles OnEngine(const Subgraph& subgraph, const Op& op, OpClass op_class, const Device& device,
                  bool weights_copied) {
  const EngineLayer layer = LayerOf(subgraph, op, op_class, device.engine);
  OpCycles best;
  if (layer.multiplies && device.engine.buffer_bytes > 0) {
    for (const EngineBlock& block : BlocksOf(layer, device.engine)) {
      const auto work = WorkOf(layer, device.engine, block);
      if (!work) continue;
      OpCycles cycles{work->cycles, TransferOf(subgraph, op, device, weights_copied, &*work), 0,
                      block};
      cycles.total = TotalOf(cycles, device);
      if (best.block == EngineBlock{} ||
          std::pair(cycles.total, cycles.transfer) < std::pair(best.total, best.transfer)) {
        best = cycles;
      }
    }
    if (best.block != EngineBlock{}) return best;
  }
  // Also where no block fits, as in an engine with less memory than its unit block takes.
  best.compute = WorkInOneBlock(layer, device.engine).cycles;
  best.transfer = TransferOf(subgraph, op, device, weights_copied, nullptr);
  best.total = TotalOf(best, device);
  return best;
}

}  // namespace

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
    return OnEngine(subgraph, op, op_class, device, weights_copied);
  }
  if (op_class == OpClass::kMove) {
    cycles.compute = AtRate(out_bytes, rate);
  } else {
    const std::int64_t macs = MacsOf(subgraph, op);
    cycles.compute = AtRate(macs > 0 ? macs : elements, rate);
  }
  cycles.transfer = TransferOf(subgraph, op, device, weights_copied, nullptr);
  cycles.total = TotalOf(cycles, device);
  return cycles;
}

std::int64_t CyclesOf(const Subgraph& subgraph, const Device& device) {
  std::int64_t sum = 0;
  for (const Op& op : subgraph.ops) {
    sum = std::min(CheckedAdd(sum, CyclesOf(subgraph, op, device).total).value_or(kMaxBytes),
                   kMaxBytes);
  }
  return sum;
}

}  // namespace neap::cascade
