// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/schedule/relations.h"

#include <algorithm>

namespace neap::schedule {

Relations::Relations(const Instance& instance)
    : words_(instance.words()),
      ancestors_(static_cast<std::size_t>(instance.num_ops()), words_),
      descendants_(static_cast<std::size_t>(instance.num_ops()), words_) {
  for (OpIndex op = 0; op < instance.num_ops(); ++op) {
    std::copy_n(instance.Ancestors(op), words_, ancestors_.Row(op));
    std::copy_n(instance.Descendants(op), words_, descendants_.Row(op));
    predecessors_.push_back(instance.Predecessors(op));
  }
}

void Relations::Add(OpIndex before, OpIndex after) {
  if (TestBit(Ancestors(after), before)) return;
  added_.emplace_back(before, after);
  std::vector<Word> earlier(Ancestors(before), Ancestors(before) + words_);
  std::vector<Word> later(Descendants(after), Descendants(after) + words_);
  SetBit(earlier.data(), before);
  SetBit(later.data(), after);
  const auto join = [&](Word* row, const std::vector<Word>& more) {
    for (std::size_t w = 0; w < words_; ++w) row[w] |= more[w];
  };
  ForEachBit(later.data(), words_, [&](OpIndex op) { join(ancestors_.Row(op), earlier); });
  ForEachBit(earlier.data(), words_, [&](OpIndex op) { join(descendants_.Row(op), later); });
  predecessors_[static_cast<std::size_t>(after)].push_back(before);
}

void Relations::Remember() {
  remembered_ancestors_ = ancestors_;
  remembered_descendants_ = descendants_;
  remembered_ = added_.size();
}

void Relations::TakeBack() {
  for (; added_.size() > remembered_; added_.pop_back()) {
    predecessors_[static_cast<std::size_t>(added_.back().second)].pop_back();
  }
  ancestors_ = remembered_ancestors_;
  descendants_ = remembered_descendants_;
}

}  // namespace neap::schedule
