// SPDX-License-Identifier: Apache-2.0
//
// The checks of a planned run.
#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "neap/execute/machine.h"

namespace neap::execute {

using graph::TensorId;

void Machine::Report(std::int32_t slot, TensorId tensor, const std::string& what) {
  if (violations_.size() >= kMaxViolations) return;
  std::string line = slot < 0 ? "" : "slot " + std::to_string(slot) + ": ";
  if (tensor.valid()) line += graph::Describe(tensor, subgraph_.tensors[tensor]) + " ";
  violations_.push_back(line + what);
}

namespace {

// Which pairs share bytes on purpose. Whether they may is decided by comparing output bytes. Copies
// at the address of their original form one group with it, over any number of copies; a tensor that
// overwrites another may share bytes with that one's group, and with those of all that are in place
// of it: a plan names one of them.
class PurposeOfSharing {
 public:
  PurposeOfSharing(const graph::Subgraph& subgraph, const plan::EntryPlan& entry)
      : group_(subgraph.tensors.size()) {
    std::iota(group_.begin(), group_.end(), std::size_t{0});
    const auto each = [&](const auto& applies, const auto& visit) {
      for (const plan::Overlap& overlap : entry.overlaps) {
        if (overlap.subgraph != entry.subgraph || !subgraph.tensors.Has(overlap.input) ||
            !subgraph.tensors.Has(overlap.output)) {
          continue;
        }
        if (applies(overlap.kind)) visit(Root(overlap.input), Root(overlap.output));
      }
    };
    const auto copies = [](plan::OverlapKind kind) {
      return kind == plan::OverlapKind::kHoldsInput || kind == plan::OverlapKind::kHoldsOutput;
    };
    each(copies, [&](std::size_t input, std::size_t output) { group_[input] = output; });
    // Groups in place of one another, each with all of them.
    std::map<std::size_t, std::shared_ptr<std::set<std::size_t>>> in_place;
    const auto of = [&](std::size_t group) {
      auto& found = in_place[group];
      if (!found) found = std::make_shared<std::set<std::size_t>>(std::set{group});
      return found;
    };
    each([](plan::OverlapKind kind) { return kind == plan::OverlapKind::kInPlace; },
         [&](std::size_t input, std::size_t output) {
           const auto all = of(input);
           const auto others = of(output);
           if (all == others) return;
           all->insert(others->begin(), others->end());
           for (const std::size_t group : *others) in_place[group] = all;
         });
    each([&](plan::OverlapKind kind) { return !copies(kind); },
         [&](std::size_t input, std::size_t output) {
           for (const std::size_t group : *of(input)) {
             written_over_.insert({group, output});
             written_over_.insert({output, group});
           }
         });
  }

  bool Joins(TensorId a, TensorId b) {
    const std::size_t of_a = Root(a);
    const std::size_t of_b = Root(b);
    return of_a == of_b || written_over_.contains({of_a, of_b});
  }

 private:
  std::size_t Root(TensorId tensor) {
    std::size_t at = tensor.index();
    while (group_[at] != at) at = group_[at] = group_[group_[at]];
    return at;
  }

  std::vector<std::size_t> group_;
  std::set<std::pair<std::size_t, std::size_t>> written_over_;  // groups, both ways round
};

}  // namespace

// Pairs that are live in one slot and share bytes: by address, the later one against all that begin
// before its predecessors end.
void Machine::CheckSharing() {
  PurposeOfSharing purpose(subgraph_, entry_);
  std::vector<const plan::TensorPlacement*> places;
  for (const plan::TensorPlacement& place : entry_.tensors) {
    if (place.bytes > 0 && place.first < place.last) places.push_back(&place);
  }
  std::sort(places.begin(), places.end(), [](const auto* a, const auto* b) {
    return a->offset != b->offset ? a->offset < b->offset : a->tensor < b->tensor;
  });
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto& a = *places[i];
    for (std::size_t j = i + 1; j < places.size() && places[j]->offset < a.offset + a.bytes; ++j) {
      const auto& b = *places[j];
      const std::int32_t first = std::max(a.first, b.first);
      const std::int32_t last = std::min(a.last, b.last);
      if (first >= last || a.memory != b.memory || a.tensor == b.tensor) continue;
      if (purpose.Joins(a.tensor, b.tensor)) continue;
      Report(first, a.tensor,
             "shares bytes with " + graph::Describe(b.tensor, subgraph_.tensors[b.tensor]));
    }
    for (const plan::ScratchPlacement& scratch : entry_.scratch) {
      if (scratch.slot >= a.first && scratch.slot < a.last &&
          Shares(RangeOf(a), {TensorId(), scratch.offset, scratch.bytes, scratch.memory})) {
        Report(scratch.slot, a.tensor, "shares bytes with the scratch of the step");
      }
    }
  }
}

void Machine::CheckRead(std::int32_t slot, TensorId tensor) {
  const Held& held = held_[tensor];
  if (!held.written) return Report(slot, tensor, "is read before it is written");
  if (held.place() == nullptr) return;
  if (slot < held.place()->first || slot >= held.place()->last) {
    return Report(slot, tensor, "is read outside of its lifetime");
  }
  if (!IsIntact(tensor, slot)) {
    Report(slot, tensor, "is read and its bytes differ from those that were written");
  }
}

bool Machine::IsIntact(TensorId tensor, std::int32_t slot) {
  const Held& held = held_[tensor];
  const auto now = At(*held.place());
  const std::int64_t dead = std::min(dead_.Of(tensor, slot), held.place()->bytes);
  return now.size() == held.copy.size() &&
         std::equal(now.begin() + dead, now.end(), held.copy.begin() + dead);
}

bool Machine::OutputsShareInputs() const {
  return std::any_of(event_.writes.begin(), event_.writes.end(), [&](const ArenaRange& write) {
    return std::any_of(event_.reads.begin(), event_.reads.end(),
                       [&](const ArenaRange& read) { return Shares(write, read); });
  });
}

void Machine::CheckElsewhere(std::int32_t slot, const std::string& what) {
  for (std::size_t memory = 0; memory < arenas_.size(); ++memory) {
    std::vector<ArenaRange> here;
    for (const ArenaRange& range : event_.writes) {
      if (static_cast<std::size_t>(range.memory) == memory) here.push_back(range);
    }
    if (arenas_[memory].ChangedOutside(here)) {
      Report(slot, TensorId(), what + " writes outside of its outputs");
    }
  }
}

// Tensors that stay live after this step are unchanged.
void Machine::CheckLive(std::int32_t slot, const std::string& what) {
  for (const TensorId tensor : live_) {
    const plan::TensorPlacement& place = *held_[tensor].place();
    if (place.last <= slot + 1) continue;
    const bool touched =
        std::any_of(event_.writes.begin(), event_.writes.end(),
                    [&](const ArenaRange& range) { return Shares(range, RangeOf(place)); });
    if (touched && !IsIntact(tensor, slot + 1)) {
      Report(slot, tensor, "is still live and is overwritten by " + what);
    }
  }
}

}  // namespace neap::execute
