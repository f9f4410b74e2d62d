// SPDX-License-Identifier: Apache-2.0
//
// Operators whose minimum cut cannot raise a bound, found without computing it. Private to
// neap/schedule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "neap/solve/schedule/instance.h"

namespace neap::schedule {

// The downsets of the last cuts. Cuts of operators that run near each other are similar: with its
// own ancestors and without its own descendants, the downset of another operator often shows that
// the least hill of this one does not exceed the bound.
class KnownCuts {
 public:
  explicit KnownCuts(const Instance& instance);  // keeps a reference

  // A downset: words() words.
  void Add(const std::vector<Word>& executed);
  // One of them shows that the least hill of `op` is at most `bytes`. False: none does.
  bool Exclude(OpIndex op, std::int64_t bytes);

 private:
  struct Known {
    std::vector<Word> executed;
    std::int64_t live = 0;
  };
  std::int64_t HillBeside(const Known& known, OpIndex op);
  bool IsLive(BufferIndex index, const Word* executed) const;

  const Instance& instance_;
  std::vector<Known> known_;  // at most kMost
  std::size_t last_ = 0;      // of known_, the one added last
  std::vector<Word> changed_;
  std::vector<std::uint32_t> seen_;  // per buffer: the last pass that looked at it
  std::uint32_t pass_ = 0;
};

}  // namespace neap::schedule
