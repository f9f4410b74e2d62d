// SPDX-License-Identifier: Apache-2.0
//
// The dictionary from fingerprints to best states of the best-first search. Private to
// neap/schedule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "neap/solve/schedule/bit_index.h"
#include "neap/solve/schedule/bits.h"

namespace neap::schedule {

// A state is two sets of operators. Equal fingerprints are resolved by comparing the sets.
class FingerprintTable {
 public:
  using StateIndex = std::uint32_t;
  static constexpr StateIndex kNone = std::numeric_limits<StateIndex>::max();

  FingerprintTable(std::size_t words, int fingerprint_bits)
      : words_(words),
        mask_(fingerprint_bits >= 64
                  ? ~std::uint64_t{0}
                  : (std::uint64_t{1} << static_cast<unsigned>(fingerprint_bits)) - 1),
        slots_(256, kNone) {}

  std::size_t size() const { return fingerprints_.size(); }
  std::uint64_t Fingerprint(const Word* ready, const Word* needed) const {
    constexpr std::uint64_t kSeed = 0x9e3779b97f4a7c15U;
    return HashRow(needed, words_, HashRow(ready, words_, kSeed)) & mask_;
  }
  std::uint64_t FingerprintOf(StateIndex state) const { return fingerprints_[state]; }
  const Word* Ready(StateIndex state) const { return &rows_[std::size_t{state} * 2 * words_]; }
  const Word* Needed(StateIndex state) const {
    return &rows_[(std::size_t{state} * 2 + 1) * words_];
  }

  // The state with this fingerprint and these executable operators, which alone determine a state;
  // kNone: not met.
  StateIndex Find(std::uint64_t fingerprint, const Word* ready) const {
    return slots_[Slot(fingerprint, ready)];
  }
  // The number of a state; size() before the call when it is new.
  StateIndex Insert(const Word* ready, const Word* needed) {
    if ((size() + 1) * 2 > slots_.size()) Grow();
    const std::uint64_t fingerprint = Fingerprint(ready, needed);
    StateIndex& slot = slots_[Slot(fingerprint, ready)];
    if (slot != kNone) return slot;
    slot = static_cast<StateIndex>(size());
    fingerprints_.push_back(fingerprint);
    rows_.insert(rows_.end(), ready, ready + words_);
    rows_.insert(rows_.end(), needed, needed + words_);
    return slot;
  }
  // The maximum bytes per state, including the unused capacity of vectors that double.
  static std::int64_t BytesPerState(std::size_t words) {
    return static_cast<std::int64_t>(4 * words * sizeof(Word) + 2 * sizeof(std::uint64_t) +
                                     4 * sizeof(StateIndex));
  }

 private:
  std::size_t Slot(std::uint64_t fingerprint, const Word* ready) const {
    const std::size_t last = slots_.size() - 1;
    std::size_t slot = static_cast<std::size_t>(fingerprint) & last;
    for (; slots_[slot] != kNone; slot = (slot + 1) & last) {
      if (fingerprints_[slots_[slot]] == fingerprint &&
          std::memcmp(Ready(slots_[slot]), ready, words_ * sizeof(Word)) == 0) {
        break;
      }
    }
    return slot;
  }
  void Grow() {
    const std::size_t slots = slots_.size() * 2;
    slots_.assign(slots, kNone);
    for (std::size_t state = 0; state < size(); ++state) {
      std::size_t slot = static_cast<std::size_t>(fingerprints_[state]) & (slots - 1);
      while (slots_[slot] != kNone) slot = (slot + 1) & (slots - 1);
      slots_[slot] = static_cast<StateIndex>(state);
    }
  }

  std::size_t words_;
  std::uint64_t mask_;
  std::vector<StateIndex> slots_;
  std::vector<std::uint64_t> fingerprints_;
  std::vector<Word> rows_;  // per state: executable, then completed and still needed
};

}  // namespace neap::schedule
