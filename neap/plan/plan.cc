// SPDX-License-Identifier: Apache-2.0
#include "neap/plan/plan.h"

#include "neap/base/check.h"

namespace neap::plan {

std::string_view NameOf(BoundStatus status) {
  return status == BoundStatus::kOptimal ? "optimal" : "bounded";
}

std::string_view NameOf(Exactness exactness) {
  return exactness == Exactness::kBitwise ? "bitwise" : "reassociates";
}

const EntryPlan& LargestEntry(const Plan& plan) {
  NEAP_CHECK(!plan.entries.empty(), "a plan has at least one entry");
  const EntryPlan* largest = &plan.entries.front();
  for (const EntryPlan& entry : plan.entries) {
    if (entry.arena_bytes > largest->arena_bytes ||
        (entry.arena_bytes == largest->arena_bytes && entry.peak_bytes > largest->peak_bytes)) {
      largest = &entry;
    }
  }
  return *largest;
}

std::string_view NameOf(CertificateKind kind) {
  switch (kind) {
    case CertificateKind::kNone:
      return "none";
    case CertificateKind::kSingleOperator:
      return "single-operator";
    case CertificateKind::kCut:
      return "cut";
    case CertificateKind::kSearch:
      return "search";
  }
  return "";
}

std::string_view NameOf(OverlapKind kind) {
  switch (kind) {
    case OverlapKind::kInPlace:
      return "in-place";
    case OverlapKind::kStartsBelow:
      return "starts-below";
    case OverlapKind::kHoldsInput:
      return "holds-input";
    case OverlapKind::kDeadPart:
      return "dead-part";
    case OverlapKind::kCopiedIn:
      return "copied-in";
    case OverlapKind::kHoldsOutput:
      return "holds-output";
  }
  return "";
}

bool HasEdits(const Plan& plan) {
  return !plan.rewrites.empty() || !plan.tiled_regions.empty() || !plan.caller_ops.empty() ||
         !plan.repeated_order.empty();
}

}  // namespace neap::plan
