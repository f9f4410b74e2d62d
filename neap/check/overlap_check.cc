// SPDX-License-Identifier: Apache-2.0
//
// The overlaps that profile, kernels and order allow, for any addresses.
#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <tuple>

#include "neap/check/address_check.h"
#include "neap/ops/traits.h"

namespace neap::check {
namespace {

using graph::Op;
using graph::OpId;
using graph::TensorId;

// The same for an overlap that depends on a kernel; the addresses are checked later.
std::string KernelRefusal(const EntryContext& c, const plan::Overlap& overlap,
                          const plan::Step& step) {
  const Op& op = c.graph.subgraphs[step.subgraph].ops[step.op];
  const SubgraphReplay& replay = c.replayer.ReplayOf(step.subgraph);
  if (c.kernels == ops::KernelLibrary::kNone) return "the plan names no kernels that allow it";
  const bool dead_part = overlap.kind == plan::OverlapKind::kDeadPart;
  if (dead_part && step.subgraph != c.entry.subgraph) return "its subgraph runs inside an operator";
  const bool copied_in = overlap.kind == plan::OverlapKind::kCopiedIn;
  const bool any_output = dead_part || copied_in || overlap.kind == plan::OverlapKind::kHoldsOutput;
  const auto which = std::find(op.outputs.begin(), op.outputs.end(), overlap.output);
  const bool reads =
      std::find(op.inputs.begin(), op.inputs.end(), overlap.input) != op.inputs.end();
  if (which == op.outputs.end() || (!any_output && which != op.outputs.begin()) ||
      (!dead_part && !reads)) {
    return "expected " + std::string(dead_part ? "" : "an input and ") +
           (any_output ? "an" : "the first") + " output of operator " +
           graph::Describe(step.op, op);
  }
  const Lifetime* input = replay.Find(overlap.input);
  if (input == nullptr || replay.Find(overlap.output) == nullptr) {
    return "one of them is not in the arena";
  }
  if (dead_part) {
    // A value that comes to be in this slot, or later, is none that could be dead.
    const bool is_output =
        std::find(op.outputs.begin(), op.outputs.end(), overlap.input) != op.outputs.end();
    if (is_output || input->range.first > replay.ops[step.op].first) {
      return "the input has no value yet";
    }
    return input->kept ? "the input is live to the end" : "";
  }
  if (overlap.kind != plan::OverlapKind::kStartsBelow && !copied_in) return "";
  if (input->kept || input->range.last != replay.ops[step.op].last) {
    return "the input is needed after operator " + graph::Describe(step.op, op);
  }
  return "";
}

// Why an overlap is not allowed; "" when it is.
std::string WhyNoOverlap(const EntryContext& c, const plan::Overlap& overlap) {
  if (overlap.kind == plan::OverlapKind::kInPlace && !c.profile.in_place) {
    return "profile " + std::string(c.profile.name) + " writes nothing in place";
  }
  if (overlap.slot < 0 || static_cast<std::size_t>(overlap.slot) >= c.entry.steps.size()) {
    return "there is no such slot";
  }
  const plan::Step& step = c.entry.steps[static_cast<std::size_t>(overlap.slot)];
  if (step.subgraph != overlap.subgraph || !step.op.valid()) {
    return "no operator of this subgraph runs there";
  }
  if (overlap.kind != plan::OverlapKind::kInPlace) return KernelRefusal(c, overlap, step);
  const Op& op = c.graph.subgraphs[step.subgraph].ops[step.op];
  const SubgraphReplay& replay = c.replayer.ReplayOf(step.subgraph);
  if (overlap.bytes != 0) return "an output in place has the address of its input";
  if (op.inputs.empty() || op.outputs.empty() || op.inputs[0] != overlap.input ||
      op.outputs[0] != overlap.output) {
    return "expected the first input and the first output of operator " +
           graph::Describe(step.op, op);
  }
  if (!MayOverwrite(c.graph.subgraphs[step.subgraph], op, replay)) {
    return "operator " + graph::Describe(step.op, op) + " may not overwrite this input";
  }
  if (replay.Find(overlap.input)->range.last != replay.ops[step.op].last) {
    return "the input is needed after operator " + graph::Describe(step.op, op);
  }
  return "";
}

}  // namespace

bool MayOverwrite(const graph::Subgraph& subgraph, const Op& op, const SubgraphReplay& replay) {
  if (!ops::WritesOverFirstInput(subgraph, op) || !op.bodies.empty()) return false;
  if (op.inputs.empty() || op.outputs.empty()) return false;
  const Lifetime* input = replay.Find(op.inputs[0]);
  const Lifetime* output = replay.Find(op.outputs[0]);
  return input != nullptr && output != nullptr && input->bytes == output->bytes && !input->kept;
}

std::vector<plan::Overlap> CheckOverlaps(const EntryContext& context) {
  std::vector<plan::Overlap> allowed;
  std::set<std::int32_t> seen;  // slots with an overlap in place
  std::set<std::tuple<std::int32_t, TensorId, TensorId>> seen_inputs;
  for (const plan::Overlap& overlap : context.entry.overlaps) {
    std::string why = WhyNoOverlap(context, overlap);
    const bool first =
        overlap.kind == plan::OverlapKind::kInPlace
            ? seen.insert(overlap.slot).second
            : seen_inputs.insert({overlap.slot, overlap.input, overlap.output}).second;
    if (why.empty() && !first) why = "the slot has one already";
    if (why.empty()) {
      allowed.push_back(overlap);
    } else {
      context.findings.Add(context.graph, overlap.subgraph, OpId(), overlap.output,
                           "slot " + std::to_string(overlap.slot) +
                               ": is listed as overlapping tensor " +
                               std::to_string(overlap.input.value()) + ", but " + why);
    }
  }
  return allowed;
}

}  // namespace neap::check
