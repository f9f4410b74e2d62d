// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/arena/window_repair.h"

#include <algorithm>

#include "neap/solve/arena/decision_search.h"
#include "neap/solve/arena/sections.h"

namespace neap::arena {
namespace {

constexpr int kRestarts = 4;
constexpr std::int64_t kNodesPerBuffer = 4;
constexpr std::int64_t kExcerptWork = 2'000;  // of an excerpt, in about nanoseconds

}  // namespace

WindowRepair::WindowRepair(const Problem& problem, const Neighbours& neighbours, std::uint64_t seed)
    : problem_(problem),
      neighbours_(neighbours),
      random_(seed),
      marks_(problem.buffers.size(), 0) {}

void WindowRepair::Run(std::int64_t capacity_bytes, std::size_t window,
                       std::vector<std::int64_t>& offsets, Budget& budget) {
  for (std::size_t i = 0; i < offsets.size() && !budget.Ended(); ++i) {
    const Buffer& buffer = problem_.buffers[i];
    if (buffer.fixed_offset || offsets[i] + buffer.bytes <= capacity_bytes) continue;
    if (buffer.bytes > capacity_bytes || buffer.first == buffer.last) continue;
    Collect(static_cast<BufferIndex>(i), window);
    PlaceAnew(capacity_bytes, offsets, budget);
  }
}

bool WindowRepair::Mark(BufferIndex buffer) {
  std::int32_t& mark = marks_[static_cast<std::size_t>(buffer)];
  if (mark == now_) return false;
  mark = now_;
  return true;
}

// Neighbours first, then theirs, each list in random order.
void WindowRepair::Collect(BufferIndex center, std::size_t window) {
  ++now_;
  window_.assign(1, center);
  Mark(center);
  for (std::size_t next = 0; next < window_.size(); ++next) {
    const auto around = neighbours_.Of(window_[next]);
    std::vector<BufferIndex> shuffled(around.begin(), around.end());
    random_.Shuffle(shuffled);
    for (const BufferIndex other : shuffled) {
      if (window_.size() > window) return;
      if (problem_.buffers[static_cast<std::size_t>(other)].fixed_offset) continue;
      if (Mark(other)) window_.push_back(other);
    }
  }
}

// The window, and the fixed buffers around it, as far as they are below the capacity.
Problem WindowRepair::Excerpt(std::int64_t capacity_bytes,
                              const std::vector<std::int64_t>& offsets) {
  ++now_;
  Problem excerpt;
  for (const BufferIndex i : window_) {
    Mark(i);
    excerpt.buffers.push_back(problem_.buffers[static_cast<std::size_t>(i)]);
  }
  for (const BufferIndex i : window_) {
    for (const BufferIndex other : neighbours_.Of(i)) {
      const std::int64_t offset = offsets[static_cast<std::size_t>(other)];
      if (!Mark(other) || offset >= capacity_bytes) continue;
      Buffer stays = problem_.buffers[static_cast<std::size_t>(other)];
      stays.fixed_offset = offset;
      stays.bytes = std::min(stays.bytes, capacity_bytes - offset);
      excerpt.buffers.push_back(stays);
    }
  }
  return excerpt;
}

bool WindowRepair::PlaceAnew(std::int64_t capacity_bytes, std::vector<std::int64_t>& offsets,
                             Budget& budget) {
  const Problem excerpt = Excerpt(capacity_bytes, offsets);
  budget.Work(static_cast<std::int64_t>(excerpt.buffers.size()) * kExcerptWork);
  std::vector<BufferIndex> all(excerpt.buffers.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<BufferIndex>(i);
  const auto sections = Sections::Build(excerpt, PairTable(excerpt), all);
  if (!sections) return false;
  DecisionSearch search(*sections);
  for (int restart = 0; restart < kRestarts; ++restart) {
    Rules rules;
    rules.length_exponent = static_cast<std::int32_t>(random_.Between(0, 1000));
    rules.size_exponent = static_cast<std::int32_t>(random_.Between(0, 1000));
    rules.noise = 100;
    rules.raises = restart % 2 == 0 ? 64 : 0;
    const Verdict verdict =
        search.Run(capacity_bytes, rules, random_,
                   kNodesPerBuffer * static_cast<std::int64_t>(all.size()), budget);
    if (verdict == Verdict::kImpossible) return false;
    if (verdict == Verdict::kUndecided) continue;
    for (std::size_t i = 0; i < window_.size(); ++i) {
      offsets[static_cast<std::size_t>(window_[i])] = search.OffsetOf(i) * sections->unit;
    }
    return true;
  }
  return false;
}

}  // namespace neap::arena
