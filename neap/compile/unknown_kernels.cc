// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include "neap/compile/compile.h"
#include "neap/ops/tflm_scratch.h"

namespace neap::compile {

std::vector<UnknownKernel> UnknownKernelsOf(const graph::Graph& graph, plan::Runtime runtime,
                                            const target::Target& target) {
  std::vector<UnknownKernel> unknown;
  if (runtime != plan::Runtime::kTflm) return unknown;
  for (const graph::Subgraph& subgraph : graph.subgraphs) {
    for (const graph::OpId id : subgraph.ops.Ids()) {
      const graph::Op& op = subgraph.ops[id];
      if (op.scratch_bytes > 0 || ops::TflmScratchBytes(subgraph, op, target)) continue;
      unknown.push_back({graph::Describe(id, op), ops::WhyScratchUnknown(subgraph, op, target)});
    }
  }
  return unknown;
}

std::string UnknownScratchText(const std::vector<UnknownKernel>& unknown) {
  if (unknown.empty()) return "";
  std::string text = "the scratch of operator " + unknown.front().op;
  if (unknown.size() > 1) text += " and of " + std::to_string(unknown.size() - 1) + " more";
  text += " is not modelled";
  const std::string& reason = unknown.front().reason;
  return reason.empty() ? text : text + ": " + reason;
}

}  // namespace neap::compile
