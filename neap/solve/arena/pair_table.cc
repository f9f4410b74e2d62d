// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/arena/pair_table.h"

#include <algorithm>
#include <tuple>

namespace neap::arena {
namespace {

bool LiveTogether(const Buffer& a, const Buffer& b) {
  return a.occupies() && b.occupies() && a.first < b.last && b.first < a.last;
}

// Whether an offset is inside.
bool ForbidsAny(const PairTable::Entry& entry) { return entry.high - entry.low > 1; }

struct SidedRule {
  BufferIndex self;
  PairTable::Entry entry;
  auto Key() const { return std::tie(self, entry.other, entry.low, entry.high); }
};

}  // namespace

PairTable::PairTable(const Problem& problem) {
  std::vector<SidedRule> rows;
  for (const PairRule& rule : problem.pairs) {
    if (!LiveTogether(problem.buffers[static_cast<std::size_t>(rule.a)],
                      problem.buffers[static_cast<std::size_t>(rule.b)])) {
      continue;
    }
    rows.push_back({rule.b, {rule.a, rule.low, rule.high}});
    rows.push_back({rule.a, {rule.b, -rule.high, -rule.low}});
  }
  if (rows.empty()) return;
  std::sort(rows.begin(), rows.end(),
            [](const SidedRule& a, const SidedRule& b) { return a.Key() < b.Key(); });
  begins_.assign(problem.buffers.size() + 1, 0);
  BufferIndex self = -1;
  for (const auto& [owner, entry] : rows) {
    const bool same_pair = owner == self && entries_.back().other == entry.other;
    Entry* const last = same_pair ? &entries_.back() : nullptr;
    self = owner;
    if (last != nullptr && !ForbidsAny(*last)) {
      *last = entry;
    } else if (last == nullptr || (ForbidsAny(entry) && entry.low >= last->high)) {
      entries_.push_back(entry);
    } else if (ForbidsAny(entry)) {
      last->high = std::max(last->high, entry.high);
    }
    begins_[static_cast<std::size_t>(owner) + 1] = entries_.size();
  }
  for (std::size_t i = 1; i < begins_.size(); ++i)
    begins_[i] = std::max(begins_[i], begins_[i - 1]);
}

std::span<const PairTable::Entry> PairTable::Between(BufferIndex self, BufferIndex other) const {
  const auto row = Of(self);
  const auto begin =
      std::lower_bound(row.begin(), row.end(), other,
                       [](const Entry& entry, BufferIndex wanted) { return entry.other < wanted; });
  auto end = begin;
  while (end != row.end() && end->other == other) ++end;
  return {begin, end};
}

// The shared bytes rise with the distance, stay and fall, so the maximum is at one end of the
// allowed range or at one end of the plateau.
std::int64_t PairTable::MostShared(BufferIndex self, std::int64_t self_bytes, BufferIndex other,
                                   std::int64_t other_bytes) const {
  const auto entries = Between(self, other);
  if (entries.empty()) return 0;
  std::int64_t most = 0;
  const auto consider = [&](std::int64_t apart) {
    for (const Entry& entry : entries) {
      if (entry.low < apart && apart < entry.high) return;
    }
    const std::int64_t top = apart > other_bytes - self_bytes ? other_bytes : apart + self_bytes;
    most = std::max(most, top - std::max<std::int64_t>(apart, 0));
  };
  consider(0);
  consider(other_bytes - self_bytes);
  for (const Entry& entry : entries) {
    consider(entry.low);
    consider(entry.high);
  }
  return most;
}

bool PairTable::Forbids(const Problem& problem, BufferIndex self, BufferIndex other,
                        std::int64_t apart) const {
  const auto entries = Between(self, other);
  if (entries.empty()) {
    return -problem.buffers[static_cast<std::size_t>(self)].bytes < apart &&
           apart < problem.buffers[static_cast<std::size_t>(other)].bytes;
  }
  return std::any_of(entries.begin(), entries.end(), [apart](const Entry& entry) {
    return entry.low < apart && apart < entry.high;
  });
}

}  // namespace neap::arena
