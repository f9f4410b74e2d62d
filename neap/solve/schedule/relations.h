// SPDX-License-Identifier: Apache-2.0
//
// The precedences between operators, with all that follow from them; more can be added, and taken
// back. Private to neap/schedule.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "neap/solve/schedule/instance.h"

namespace neap::schedule {

class Relations {
 public:
  explicit Relations(const Instance& instance);

  const Word* Ancestors(OpIndex op) const { return ancestors_.Row(op); }
  const Word* Descendants(OpIndex op) const { return descendants_.Row(op); }
  // Those that are given or were added: all ancestors follow from them.
  const std::vector<OpIndex>& Predecessors(OpIndex op) const {
    return predecessors_[static_cast<std::size_t>(op)];
  }
  bool AreOrdered(OpIndex one, OpIndex other) const {
    return TestBit(Ancestors(one), other) || TestBit(Descendants(one), other);
  }

  // `after` is neither `before` nor an ancestor of it. Adds nothing where it follows from others.
  void Add(OpIndex before, OpIndex after);
  // (before, after), in the order in which they were added.
  const std::vector<std::pair<OpIndex, OpIndex>>& added() const { return added_; }

  // The state of now, to which TakeBack() returns. One at a time.
  void Remember();
  void TakeBack();

 private:
  std::size_t words_;
  BitRows ancestors_;
  BitRows descendants_;
  std::vector<std::vector<OpIndex>> predecessors_;
  std::vector<std::pair<OpIndex, OpIndex>> added_;
  BitRows remembered_ancestors_;
  BitRows remembered_descendants_;
  std::size_t remembered_ = 0;  // of added_
};

}  // namespace neap::schedule
