// SPDX-License-Identifier: Apache-2.0
//
// Operators that some best order runs one right after the other become one operator. Private to
// neap/schedule.
#pragma once

#include <vector>

#include "neap/solve/schedule/instance.h"
#include "neap/solve/schedule/problem.h"

namespace neap::schedule {

struct Fusion {
  // Fused operators in stages over the remaining buffers: those of two operators or more, and those
  // live at the start or the end. No bytes are lost: the others are in the stages' peaks.
  Problem problem;
  Instance::Stages stages;                // in bytes
  std::vector<std::vector<OpIndex>> ops;  // of the given problem, in the order in which they run
};

// Rules (exact-ordering R7; proofs: docs/algorithms/order.md, "Fusion"). Q runs directly after P
// when every predecessor of Q is P or before P, Q does not increase the live bytes, and no step of
// Q is higher than the highest of P, both in the worst case: the fewest buffers freed meanwhile and
// the most touched. The same with time reversed: P runs directly before Q when every successor of P
// is Q or after Q, and so on. For every budget, an order of `problem` within it exists exactly when
// one of the fused problem does. `forward` is the instance of `problem` in `unit`, in stages or
// not. O(passes x ops x operators of a group); groups have at most kMaxFused operators. `slack`:
// bytes by which the second one may be worse than the rule allows; only tests, which show that a
// weaker rule is wrong, pass others than 0.
struct FusionSlack {
  std::int64_t live_bytes = 0;
  std::int64_t hill_bytes = 0;
};
Fusion Fuse(const Problem& problem, const Instance& forward, std::int64_t unit,
            const FusionSlack& slack = {});

inline constexpr std::size_t kMaxFused = 64;

}  // namespace neap::schedule
