// SPDX-License-Identifier: Apache-2.0
//
// Private to this module: a capacity search that improves its own choices. The priorities of the
// items decide how far a short run of the exact search comes. A climb changes some of them at a
// time and keeps a change with which the run places at least as much.
#pragma once

#include <cstdint>
#include <vector>

#include "neap/base/random.h"
#include "neap/solve/arena/budget.h"
#include "neap/solve/arena/decision_search.h"
#include "neap/solve/arena/sections.h"

namespace neap::arena {

class Climb {
 public:
  explicit Climb(const Sections& sections) : search_(sections) {}  // keeps a reference

  // One run, of about two nodes an item: of several with other rules the one that places most is
  // the start, those after it climb. After some without a gain, or at another capacity, the next
  // climb begins.
  Verdict Run(std::int64_t capacity_bytes, std::int64_t max_nodes, Random& random, Budget& budget);

  const DecisionSearch& search() const { return search_; }

 private:
  void Begin(std::int64_t capacity_bytes);
  bool IsFruitless() const;
  static Rules DrawRules(Random& random);
  void ChangeSome(Random& random);

  DecisionSearch search_;
  std::int64_t capacity_bytes_ = -1;
  int starts_ = 0;
  int fruitless_ = 0;
  std::int64_t area_ = -1;  // of the best run; -1: none
  Rules rules_;             // of the best run, and its priorities
  std::vector<std::int64_t> priorities_;
};

}  // namespace neap::arena
