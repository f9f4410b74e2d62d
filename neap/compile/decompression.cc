// SPDX-License-Identifier: Apache-2.0
#include "neap/compile/decompression.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "neap/base/bytes.h"
#include "neap/base/check.h"
#include "neap/compile/measured.h"
#include "neap/compile/moved_model.h"
#include "neap/compile/stock_runtime.h"
#include "neap/compile/tflm_memory.h"
#include "neap/compile/timeline.h"
#include "neap/ops/op_table.h"
#include "neap/plan/profile.h"

namespace neap::compile {
namespace {

using graph::Graph;
using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;
using graph::TensorId;

constexpr std::int64_t kRegionAlignment = 16;

bool IsDecoder(const Op& op) { return ops::Is(op, ops::OpKind::kTflmDecode); }

bool Contains(const std::vector<TensorId>& list, TensorId id) {
  return std::find(list.begin(), list.end(), id) != list.end();
}

// Whether `output` of the operator at `at` of the order is overwritten before its last consumer has
// read it: "" or the reason.
std::string WhyOverwritten(const Subgraph& subgraph, const std::vector<OpId>& order, std::size_t at,
                           TensorId output) {
  const std::string decoder = graph::Describe(order[at], subgraph.ops[order[at]]);
  for (std::size_t later = at + 1; later < order.size(); ++later) {
    const Op& op = subgraph.ops[order[later]];
    const bool reads = Contains(op.inputs, output) || Contains(op.captures, output);
    const bool is_next = later == at + 1 && op.bodies.empty();
    if (reads && !is_next) {
      return "operator " + graph::Describe(order[later], op) + " reads an output of operator " +
             decoder + ", but is not the next one";
    }
  }
  if (Contains(subgraph.outputs, output) && at + 1 != order.size()) {
    return "operator " + decoder + " writes an output of the model, but is not the last one";
  }
  return "";
}

}  // namespace

std::optional<DecompressionMemory> DecompressionMemoryOf(const Graph& graph,
                                                         const Compiled& compiled) {
  const auto decodes = [](const Subgraph& subgraph) {
    return std::any_of(subgraph.ops.begin(), subgraph.ops.end(), IsDecoder);
  };
  if (std::none_of(graph.subgraphs.begin(), graph.subgraphs.end(), decodes)) return std::nullopt;
  if (compiled.totals.empty() || compiled.delivered_arena_bytes < 0) return std::nullopt;
  const target::Target& target = *compiled.totals.front().target;
  const Graph& written = compiled.edited ? *compiled.edited : graph;
  const auto measured = Measure(written, plan::ProfileOf(plan::Runtime::kTflm, target));
  NEAP_CHECK(measured.has_value(), "a planned graph was measured before");
  const Orders& orders = compiled.edited ? measured->file_orders : compiled.order;
  const Graph& merged = measured->merged();
  const auto timeline = BuildTimeline(merged, SubgraphId(0), orders, measured->profile);
  NEAP_CHECK(timeline.has_value(), "a planned order has a timeline");
  AllSizes sizes = SizesOfEverything(merged, measured->sizes, measured->profile);
  DecompressionMemory memory;
  std::int64_t outside = 0;
  for (const SubgraphId s : merged.subgraphs.Ids()) {
    const Subgraph& subgraph = merged.subgraphs[s];
    for (std::size_t at = 0; at < orders[s].size(); ++at) {
      const Op& op = subgraph.ops[orders[s][at]];
      if (!IsDecoder(op)) continue;
      std::int64_t bytes = 0;
      for (const TensorId output : op.outputs) {
        if (!output.valid() || sizes[s].exact[output] == 0) continue;
        bytes = AlignUp(bytes, kRegionAlignment) + sizes[s].exact[output];
        sizes[s].counted[output] = 0;
        ++outside;
        if (memory.missing.empty()) {
          memory.missing = WhyOverwritten(subgraph, orders[s], at, output);
        }
      }
      memory.bytes = std::max(memory.bytes, bytes);
    }
  }
  if (!memory.missing.empty()) return memory;
  const std::int64_t arena_bytes =
      PlaceInTflm(merged, *timeline, sizes, target, compiled.offsets).height_bytes;
  TflmTotal total = TflmTotalOf(merged, orders, arena_bytes, target, outside);
  memory.missing = std::move(total.missing);
  memory.total_arena_bytes = total.total_arena_bytes;
  return memory;
}

}  // namespace neap::compile
