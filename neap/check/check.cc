// SPDX-License-Identifier: Apache-2.0
#include "neap/check/check.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "neap/base/bytes.h"
#include "neap/check/address_check.h"
#include "neap/check/bound_check.h"
#include "neap/check/kernel_simulation.h"
#include "neap/check/overlap_bound.h"
#include "neap/check/replay.h"
#include "neap/check/runtime_view.h"
#include "neap/check/stream_check.h"

namespace neap::check {
namespace {

using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;
using graph::TensorId;

// Verifies claims of the kind "operator v alone needs that many bytes": while v runs, in every
// order, its inputs, outputs and scratch are live. Where the profile works in place, the output
// counts only if the input cannot be freed at v.
class SingleOperatorBound {
 public:
  SingleOperatorBound(const Subgraph& subgraph, const SubgraphReplay& replay,
                      const plan::Profile& profile)
      : subgraph_(subgraph), replay_(replay), profile_(profile) {}

  bool Proves(OpId op, std::int64_t bytes) {
    const std::int64_t all = AllBytes(subgraph_.ops[op]);
    if (all < bytes) return false;
    if (!profile_.in_place || !MayOverwrite(subgraph_, subgraph_.ops[op], replay_)) return true;
    const std::int64_t saved = replay_.Find(subgraph_.ops[op].outputs[0])->live_bytes;
    return all - saved >= bytes || InputOutlives(op);
  }

 private:
  std::int64_t AllBytes(const Op& op) const {
    std::vector<TensorId> tensors = op.inputs;
    tensors.insert(tensors.end(), op.outputs.begin(), op.outputs.end());
    tensors.insert(tensors.end(), op.captures.begin(), op.captures.end());
    std::sort(tensors.begin(), tensors.end());
    tensors.erase(std::unique(tensors.begin(), tensors.end()), tensors.end());
    std::int64_t bytes = AlignUp(op.scratch_bytes, profile_.alignment);
    for (const TensorId tensor : tensors) {
      const Lifetime* lifetime = replay_.Find(tensor);
      if (lifetime != nullptr) bytes += lifetime->live_bytes;
    }
    return bytes;
  }

  // True if another reader of the first input of `op` has to run after `op` in every order.
  bool InputOutlives(OpId op) {
    const TensorId input = subgraph_.ops[op].inputs[0];
    // In this order it is freed at `op`, or a consumer runs later; only the latter may be forced.
    if (replay_.Find(input)->range.last == replay_.ops[op].last) return false;
    BuildSuccessors();
    IdVector<OpId, char> met(subgraph_.ops.size(), 0);
    std::vector<OpId> open = {op};
    met[op] = 1;
    while (!open.empty()) {
      const OpId from = open.back();
      open.pop_back();
      for (const OpId next : successors_[from]) {
        if (met[next] != 0) continue;
        met[next] = 1;
        const Op& reader = subgraph_.ops[next];
        const auto reads = [&](const std::vector<TensorId>& list) {
          return std::find(list.begin(), list.end(), input) != list.end();
        };
        if (!reader.folded && (reads(reader.inputs) || reads(reader.captures))) return true;
        open.push_back(next);
      }
    }
    return false;
  }

  void BuildSuccessors() {
    if (!successors_.empty()) return;
    successors_.resize(subgraph_.ops.size());
    for (const auto& [before, after] : Dependencies(subgraph_)) {
      successors_[before].push_back(after);
    }
  }

  const Subgraph& subgraph_;
  const SubgraphReplay& replay_;
  const plan::Profile& profile_;
  IdVector<OpId, std::vector<OpId>> successors_;
};

// `what` is a lower bound of `value`.
void CheckBound(const plan::EntryPlan& entry, const char* what, std::int64_t bound, const char* of,
                std::int64_t value, Findings& findings) {
  if (bound >= 0 && bound <= value) return;
  findings.Add(entry.subgraph, std::string(what) + " is " + std::to_string(bound) +
                                   ", expected 0 to " + of + ", " + std::to_string(value));
}

void CheckStatus(const plan::EntryPlan& entry, const char* what, plan::BoundStatus status,
                 std::int64_t bound, std::int64_t value, Findings& findings) {
  if ((status == plan::BoundStatus::kOptimal) == (bound == value)) return;
  findings.Add(entry.subgraph, std::string(what) + " is " + std::string(NameOf(status)) +
                                   ", but the bound is " + std::to_string(bound) +
                                   " and the plan has " + std::to_string(value));
}

void CheckPeak(const EntryContext& c, const std::vector<plan::Overlap>& allowed) {
  std::vector<std::int64_t> live = c.replay.live_bytes;
  for (const plan::Overlap& overlap : allowed) {
    if (overlap.kind != plan::OverlapKind::kInPlace) continue;
    live[static_cast<std::size_t>(overlap.slot)] -=
        c.replayer.ReplayOf(overlap.subgraph).Find(overlap.output)->live_bytes;
  }
  const auto peak = std::max_element(live.begin(), live.end());
  const std::int64_t bytes = peak == live.end() ? 0 : *peak;
  if (c.entry.peak_bytes == bytes) return;
  c.findings.Add(c.entry.subgraph, Differs("peak_bytes", c.entry.peak_bytes, bytes) + " (slot " +
                                       std::to_string(peak - live.begin()) + ")");
}

void CheckCertificate(const EntryContext& c) {
  const plan::Certificate& certificate = c.entry.certificate;
  const SubgraphId id = c.entry.subgraph;
  const Subgraph& subgraph = c.graph.subgraphs[id];
  const std::int64_t bound = c.entry.peak_lower_bound_bytes;
  SingleOperatorBound single(subgraph, c.replayer.ReplayOf(id), c.profile);
  if (certificate.states < 0) {
    c.findings.Add(
        id, "certificate.states is " + std::to_string(certificate.states) + ", expected 0 or more");
  }
  if (certificate.kind ==
      plan::CertificateKind::kSearch) {  // its claim is verified by searching again
    const bool runs = subgraph.ops.Has(certificate.op) && !subgraph.ops[certificate.op].folded;
    if (!runs && bound > 0) {
      c.findings.Add(c.graph, id, certificate.op, TensorId(),
                     "is the certificate's, expected an operator that runs in this subgraph");
    }
    return;
  }
  if (certificate.kind == plan::CertificateKind::kSingleOperator) {
    if (!subgraph.ops.Has(certificate.op) || subgraph.ops[certificate.op].folded) {
      c.findings.Add(c.graph, id, certificate.op, TensorId(),
                     "is the certificate's, expected an operator that runs in this subgraph");
    } else if (!single.Proves(certificate.op, bound)) {
      c.findings.Add(c.graph, id, certificate.op, TensorId(),
                     "does not prove peak_lower_bound_bytes: alone it needs less than " +
                         std::to_string(bound));
    }
    return;
  }
  if (certificate.kind == plan::CertificateKind::kCut) {
    const auto wrong = RefuteCut(subgraph, c.profile, certificate, bound);
    if (wrong)
      c.findings.Add(id, "the certificate does not prove peak_lower_bound_bytes: " + *wrong);
    return;
  }
  if (bound <= 0) return;
  bool any = false;
  for (const OpId op : subgraph.ops.Ids()) {
    if (subgraph.ops[op].folded) continue;
    if (single.Proves(op, bound)) return;
    any = true;
  }
  if (!any) return;  // there is one order: its peak is the bound
  c.findings.Add(id, "peak_lower_bound_bytes is " + std::to_string(bound) +
                         " without a certificate, expected at most what one operator needs");
}

void CheckArenaCertificate(const EntryContext& c) {
  const plan::Certificate& certificate = c.entry.arena_certificate;
  if (certificate.kind == plan::CertificateKind::kNone) return;
  const Subgraph& subgraph = c.graph.subgraphs[c.entry.subgraph];
  const bool runs = subgraph.ops.Has(certificate.op) && !subgraph.ops[certificate.op].folded;
  if (certificate.kind == plan::CertificateKind::kSearch && runs && certificate.states >= 0) return;
  c.findings.Add(c.entry.subgraph,
                 "arena_certificate is of kind '" + std::string(NameOf(certificate.kind)) +
                     "', expected none, or search with an operator that runs in this subgraph");
}

void CheckSignature(const graph::Graph& graph, const plan::EntryPlan& entry, Findings& findings) {
  bool any = false;
  for (const graph::Signature& signature : graph.signatures) {
    if (signature.subgraph != entry.subgraph) continue;
    if (signature.key == entry.signature) return;
    any = true;
  }
  if (!any && entry.signature.empty()) return;
  findings.Add(entry.subgraph, "signature is '" + entry.signature + "', expected " +
                                   (any ? "one of the model for this subgraph" : "none"));
}

// An order alone: nothing has a place.
bool IsOrderOnly(const plan::Plan& plan) {
  return std::all_of(plan.entries.begin(), plan.entries.end(), [](const plan::EntryPlan& entry) {
    return entry.tensors.empty() && entry.scratch.empty() && entry.arena_bytes == 0 &&
           !entry.stream;
  });
}

bool HasDeadParts(const Subgraph& subgraph) {
  for (const Op& op : subgraph.ops) {
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (op.inputs[i].valid() && LowestRead(subgraph, op, i) > 0) return true;
    }
  }
  return false;
}

// Two things bound the arena over all orders: the peak's own bound, and the largest tensor. Where
// kernels let tensors overlap, the bound of the peak is none of the arena.
void CheckArenaBound(const EntryContext& c) {
  const plan::EntryPlan& entry = c.entry;
  const bool overlap = c.kernels != ops::KernelLibrary::kNone;
  std::int64_t proven = overlap ? 0 : entry.peak_lower_bound_bytes;
  for (const plan::TensorPlacement& placement : entry.tensors) {
    proven = std::max(proven, AlignUp(placement.bytes, c.profile.alignment));
  }
  if (entry.arena_lower_bound_bytes <= proven) return;
  if (overlap && ProvesArenaBound(c, entry.arena_lower_bound_bytes)) return;
  // Verified by searching again. Where slices free bytes of a live tensor, live bytes are no bound.
  if (overlap && entry.arena_certificate.kind == plan::CertificateKind::kSearch &&
      !HasDeadParts(c.graph.subgraphs[entry.subgraph])) {
    return;
  }
  c.findings.Add(
      entry.subgraph,
      "arena_lower_bound_bytes is " + std::to_string(entry.arena_lower_bound_bytes) +
          ", expected at most " +
          (overlap ? "what one operator needs with every overlap that its kernel allows"
                   : std::to_string(proven) + ": the bound of the peak, or the largest tensor"));
}

void CheckEntry(const EntryContext& c, bool order_only) {
  const plan::EntryPlan& entry = c.entry;
  CheckSignature(c.graph, entry, c.findings);
  const std::vector<plan::Overlap> allowed = CheckOverlaps(c);
  CheckPeak(c, allowed);
  CheckBound(entry, "peak_lower_bound_bytes", entry.peak_lower_bound_bytes, "peak_bytes",
             entry.peak_bytes, c.findings);
  CheckStatus(entry, "order_status", entry.order_status, entry.peak_lower_bound_bytes,
              entry.peak_bytes, c.findings);
  CheckCertificate(c);
  if (entry.states < 0) {
    c.findings.Add(entry.subgraph, Differs("states", entry.states, 0) + " or more");
  }
  if (order_only) return;
  CheckAddresses(c, allowed);
  CheckBound(entry, "arena_given_order_lower_bound_bytes",
             entry.arena_given_order_lower_bound_bytes, "arena_bytes", entry.arena_bytes,
             c.findings);
  CheckBound(entry, "arena_lower_bound_bytes", entry.arena_lower_bound_bytes, "arena_bytes",
             entry.arena_bytes, c.findings);
  CheckStatus(entry, "arena_status", entry.arena_status, entry.arena_lower_bound_bytes,
              entry.arena_bytes, c.findings);
  CheckArenaCertificate(c);
  CheckArenaBound(c);
}

}  // namespace

std::vector<std::string> CheckPlan(const graph::Graph& graph, const plan::Plan& plan) {
  Findings findings;
  const auto verified = graph::Verify(graph);
  if (!verified) return {"the graph is not well-formed: " + verified.error().ToString()};
  const std::vector<SubgraphId> due =
      graph.subgraphs.empty() ? std::vector<SubgraphId>() : graph::EntrySubgraphs(graph);
  const plan::Profile profile = ProfileOf(plan.runtime, *plan.target);
  const bool order_only = IsOrderOnly(plan);
  const RuntimeView view(graph, profile);
  std::deque<plan::EntryPlan> merged;  // plans of the merged graph; the replayer refers to them
  Replayer replayer(view.Merged(), profile, &findings);
  for (std::size_t i = 0; i < plan.entries.size() && !findings.Full(); ++i) {
    const plan::EntryPlan& entry = plan.entries[i];
    if (i >= due.size() || entry.subgraph != due[i]) {
      findings.Add(entry.subgraph,
                   "is planned as entry " + std::to_string(i) + ", expected " +
                       (i < due.size() ? "subgraph " + std::to_string(due[i].value())
                                       : "only " + std::to_string(due.size()) + " entries"));
      return findings.Take();
    }
    const plan::EntryPlan* checked = &entry;
    if (!view.shares().empty()) {
      checked = &merged.emplace_back(
          CheckSharedOutputs(graph, view, profile, entry, order_only, &findings));
    }
    const auto replay = replayer.Replay(*checked);
    if (!replay) continue;  // what follows from the steps would be noise
    if (entry.stream) {
      CheckSignature(graph, entry, findings);
      if (plan.runtime != plan::Runtime::kNeap) {
        findings.Add(entry.subgraph, "is streamed, which only the profile neap executes");
      }
      CheckStream(graph, entry, &findings);
      continue;
    }
    CheckEntry({view.Merged(), profile, plan.kernels, plan.memories, *checked, replayer, *replay,
                findings},
               order_only);
  }
  if (plan.entries.size() < due.size() && !findings.Full()) {
    findings.Add(due[plan.entries.size()], "has no plan, expected one: it runs on its own");
  }
  return findings.Take();
}

namespace {

// One bound and the result of its check.
void Count(ReplayVerdict verdict, const std::string& what, std::int64_t max_states,
           ReplayedBounds* result) {
  switch (verdict) {
    case ReplayVerdict::kNotASearch:
      ++result->not_searches;
      break;
    case ReplayVerdict::kProven:
      ++result->replayed;
      break;
    case ReplayVerdict::kRefuted:
      result->refuted.push_back(what + " is wrong: there is an order that needs less");
      break;
    case ReplayVerdict::kOutOfReach:
      result->unfinished.push_back(
          what + " is out of reach of a replay: more than 20000 operators, or control flow");
      break;
    case ReplayVerdict::kGaveUp:
      result->unfinished.push_back(what + " could not be confirmed within " +
                                   std::to_string(max_states) + " states");
      break;
  }
}

}  // namespace

ReplayedBounds ReplayBounds(const graph::Graph& graph, const plan::Plan& plan,
                            std::int64_t max_states) {
  ReplayedBounds result;
  const plan::Profile profile = ProfileOf(plan.runtime, *plan.target);
  const RuntimeView view(graph, profile);
  for (const plan::EntryPlan& entry : plan.entries) {
    const graph::Subgraph& subgraph = view.Merged().subgraphs[entry.subgraph];
    const std::string where = "subgraph " + std::to_string(entry.subgraph.value()) + ": the bound ";
    BoundModel model(subgraph, profile);
    std::int64_t states = 0;
    Count(ReplaySearch(model, entry.certificate, entry.peak_lower_bound_bytes, max_states, &states),
          where + std::to_string(entry.peak_lower_bound_bytes), max_states, &result);
    result.states += states;
    if (entry.arena_certificate.kind != plan::CertificateKind::kSearch) continue;
    GrantOverlaps(subgraph, profile, plan.kernels, &model);
    Count(ReplaySearch(model, entry.arena_certificate, entry.arena_lower_bound_bytes, max_states,
                       &states),
          where + std::to_string(entry.arena_lower_bound_bytes) + " of the arena", max_states,
          &result);
    result.states += states;
  }
  return result;
}

}  // namespace neap::check
