// SPDX-License-Identifier: Apache-2.0
//
// States (sets of executed operators) that were refuted, each with the largest budget it was
// refuted for. Keys are compared in full: a hash collision can never make a proof wrong. Private to
// neap/schedule.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "neap/solve/schedule/bits.h"

namespace neap::schedule {

class StateTable {
 public:
  // Uses at most `max_bytes`; entries that do not fit are dropped, which costs time but not
  // correctness.
  StateTable(std::size_t words, std::int64_t max_bytes)
      : words_(words), max_bytes_(max_bytes), slots_(kFirstSlots, kEmpty) {}

  bool IsRefuted(const Word* state, std::int64_t budget) const {
    const std::uint32_t entry = slots_[Find(state)];
    return entry != kEmpty && budgets_[entry] >= budget;
  }

  void Refute(const Word* state, std::int64_t budget) {
    std::size_t slot = Find(state);
    if (slots_[slot] != kEmpty) {
      std::int64_t& known = budgets_[slots_[slot]];
      known = std::max(known, budget);
      return;
    }
    if (full_) return;
    if ((budgets_.size() + 1) * 2 > slots_.size()) {
      Grow();
      if (full_) return;
      slot = Find(state);
    }
    slots_[slot] = static_cast<std::uint32_t>(budgets_.size());
    budgets_.push_back(budget);
    keys_.insert(keys_.end(), state, state + words_);
  }

  std::size_t size() const { return budgets_.size(); }

 private:
  static constexpr std::uint32_t kEmpty = 0xffffffffU;
  static constexpr std::size_t kFirstSlots = 256;

  std::uint64_t Hash(const Word* state) const {
    std::uint64_t hash = 0x9e3779b97f4a7c15U;
    for (std::size_t w = 0; w < words_; ++w) {
      hash = (hash ^ state[w]) * 0xff51afd7ed558ccdU;
      hash ^= hash >> 32U;
    }
    return hash;
  }
  std::size_t Find(const Word* state) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t slot = static_cast<std::size_t>(Hash(state)) & mask;
    while (slots_[slot] != kEmpty &&
           std::memcmp(&keys_[slots_[slot] * words_], state, words_ * sizeof(Word)) != 0) {
      slot = (slot + 1) & mask;
    }
    return slot;
  }
  void Grow() {
    const std::size_t slots = slots_.size() * 2;
    const std::size_t entry_bytes = words_ * sizeof(Word) + sizeof(std::int64_t);
    // Vectors double: count what a full table of the new size may occupy.
    if (static_cast<std::int64_t>(slots * (sizeof(std::uint32_t) + entry_bytes)) > max_bytes_ ||
        slots >= kEmpty) {
      full_ = true;
      return;
    }
    slots_.assign(slots, kEmpty);
    const std::size_t mask = slots - 1;
    for (std::size_t entry = 0; entry < budgets_.size(); ++entry) {
      std::size_t slot = static_cast<std::size_t>(Hash(&keys_[entry * words_])) & mask;
      while (slots_[slot] != kEmpty) slot = (slot + 1) & mask;
      slots_[slot] = static_cast<std::uint32_t>(entry);
    }
  }

  std::size_t words_;
  std::int64_t max_bytes_;
  bool full_ = false;
  std::vector<std::uint32_t> slots_;
  std::vector<Word> keys_;
  std::vector<std::int64_t> budgets_;
};

}  // namespace neap::schedule
