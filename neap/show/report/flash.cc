// SPDX-License-Identifier: Apache-2.0
#include "neap/show/report/flash_text.h"

#include <fmt/format.h>

#include <cstddef>
#include <set>

#include "neap/base/bytes.h"
#include "neap/ops/op_table.h"
#include "neap/plan/stream_weights.h"

namespace neap::report {
namespace {

// Of every constant that is copied from slow memory before it is used.
std::set<const std::byte*> CopiedBy(const graph::Graph& graph, const plan::Plan& plan) {
  std::set<const std::byte*> copied;
  for (const plan::EntryPlan& entry : plan.entries) {
    if (!entry.stream) continue;
    const graph::Subgraph& subgraph = graph.subgraphs[entry.subgraph];
    for (const plan::StreamSegment& segment : entry.stream->segments) {
      for (const plan::StreamWeights& weights : segment.weights) {
        const graph::Op& op = subgraph.ops[weights.op];
        for (std::size_t i = 0; i < op.inputs.size(); ++i) {
          if (!plan::IsWeight(subgraph, op, i)) continue;
          const graph::Tensor& tensor = subgraph.tensors[op.inputs[i]];
          if (tensor.data) copied.insert(tensor.data->bytes.data());
        }
      }
    }
  }
  return copied;
}

}  // namespace

FlashReport FlashOf(const graph::Graph& graph, std::int64_t file_bytes, const plan::Plan* plan) {
  FlashReport flash;
  flash.file_bytes = file_bytes;
  const std::set<const std::byte*> copied =
      plan == nullptr ? std::set<const std::byte*>() : CopiedBy(graph, *plan);
  std::set<const std::byte*> counted;
  for (const graph::Subgraph& subgraph : graph.subgraphs) {
    std::set<graph::TensorId> decoded;
    for (const graph::Op& op : subgraph.ops) {
      if (ops::Is(op, ops::OpKind::kTflmDecode)) {
        decoded.insert(op.inputs.begin(), op.inputs.end());
      }
    }
    for (const graph::TensorId id : subgraph.tensors.Ids()) {
      const graph::Tensor& tensor = subgraph.tensors[id];
      if (!tensor.constant || !tensor.data || tensor.data->bytes.empty()) continue;
      if (!counted.insert(tensor.data->bytes.data()).second) continue;
      const auto bytes = static_cast<std::int64_t>(tensor.data->bytes.size());
      const int bits = graph::BitsOf(tensor.type);
      if (copied.contains(tensor.data->bytes.data())) flash.copied_bytes += bytes;
      if (tensor.compressed || decoded.contains(id)) {
        flash.compressed_bytes += bytes;
      } else if (bits > 0 && bits <= 8) {
        flash.weights_bytes += bytes;
      } else {
        flash.constants_bytes += bytes;
      }
    }
  }
  flash.structure_bytes =
      file_bytes - flash.weights_bytes - flash.constants_bytes - flash.compressed_bytes;
  return flash;
}

std::string FlashText(const PlanReport& report) {
  const FlashReport& flash = report.flash;
  if (flash.file_bytes <= 0 || flash.structure_bytes < 0) return "";
  std::string out =
      fmt::format("  flash: model {}: weights {} B, other constants {} B, structure {} B",
                  FormatBytes(flash.file_bytes), FormatCount(flash.weights_bytes),
                  FormatCount(flash.constants_bytes), FormatCount(flash.structure_bytes));
  if (flash.compressed_bytes > 0) {
    return out + fmt::format(
                     "; compressed constants {} B, which kernels unpack; the others are "
                     "read in place\n",
                     FormatCount(flash.compressed_bytes));
  }
  if (flash.copied_bytes > 0) {
    return out + fmt::format("; {} B are copied before use, the others are read in place\n",
                             FormatCount(flash.copied_bytes));
  }
  return out + "; all read in place\n";
}

std::optional<compile::DecompressionMemory> DecompressionOf(const PlanReport& report) {
  if (report.refused || report.compiled->plan.runtime != plan::Runtime::kTflm) return std::nullopt;
  return compile::DecompressionMemoryOf(*report.graph, *report.compiled);
}

std::string DecompressionText(const PlanReport& report) {
  const auto memory = DecompressionOf(report);
  if (!memory) return "";
  if (!memory->missing.empty()) {
    return fmt::format("  decompression memory cannot be used: {}\n", memory->missing);
  }
  return fmt::format(
      "  decompression memory: with {} for SetDecompressionMemory the total arena is {}\n",
      FormatBytes(memory->bytes), FormatBytes(memory->total_arena_bytes));
}

}  // namespace neap::report
