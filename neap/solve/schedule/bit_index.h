// SPDX-License-Identifier: Apache-2.0
//
// Numbers sets of operators in the order in which they are first met. Keys are compared in full: a
// hash collision never merges two states. Private to neap/schedule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "neap/solve/schedule/bits.h"

namespace neap::schedule {

inline std::uint64_t HashRow(const Word* row, std::size_t words, std::uint64_t hash) {
  for (std::size_t w = 0; w < words; ++w) {
    hash = (hash ^ row[w]) * 0xff51afd7ed558ccdU;
    hash ^= hash >> 32U;
  }
  return hash;
}

class BitIndex {
 public:
  explicit BitIndex(std::size_t words) : words_(words), slots_(kFirstSlots, kEmpty) {}

  std::size_t size() const { return size_; }
  const Word* Row(std::size_t index) const { return &keys_[index * words_]; }
  // The maximum bytes per key, including the unused capacity of vectors that double.
  static std::int64_t BytesPerKey(std::size_t words) {
    return static_cast<std::int64_t>(2 * words * sizeof(Word) + 4 * sizeof(std::uint32_t));
  }

  // The number of `row`; size() before the call when it is new.
  std::size_t Insert(const Word* row) {
    if ((size_ + 1) * 2 > slots_.size()) Grow();
    const std::size_t slot = Find(row);
    if (slots_[slot] != kEmpty) return slots_[slot];
    slots_[slot] = static_cast<std::uint32_t>(size_);
    keys_.insert(keys_.end(), row, row + words_);
    return size_++;
  }

  // Forgets everything; gives the memory of a large table back.
  void Clear() {
    size_ = 0;
    keys_.clear();
    if (slots_.size() > kFirstSlots) keys_.shrink_to_fit();
    slots_.assign(kFirstSlots, kEmpty);
    slots_.shrink_to_fit();
  }

  static constexpr std::size_t kMaxKeys = std::numeric_limits<std::uint32_t>::max() / 2;

 private:
  static constexpr std::uint32_t kEmpty = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::size_t kFirstSlots = 64;

  std::size_t Find(const Word* row) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t slot = static_cast<std::size_t>(HashRow(row, words_, kSeed)) & mask;
    while (slots_[slot] != kEmpty &&
           std::memcmp(&keys_[slots_[slot] * words_], row, words_ * sizeof(Word)) != 0) {
      slot = (slot + 1) & mask;
    }
    return slot;
  }
  void Grow() {
    const std::size_t slots = slots_.size() * 2;
    slots_.assign(slots, kEmpty);
    for (std::size_t key = 0; key < size_; ++key) {
      std::size_t slot =
          static_cast<std::size_t>(HashRow(&keys_[key * words_], words_, kSeed)) & (slots - 1);
      while (slots_[slot] != kEmpty) slot = (slot + 1) & (slots - 1);
      slots_[slot] = static_cast<std::uint32_t>(key);
    }
  }

  static constexpr std::uint64_t kSeed = 0x9e3779b97f4a7c15U;
  std::size_t words_;
  std::size_t size_ = 0;
  std::vector<std::uint32_t> slots_;
  std::vector<Word> keys_;
};

}  // namespace neap::schedule
