// SPDX-License-Identifier: Apache-2.0
//
// Operators that no best assignment needs in another stage than a neighbour. Private to
// neap/pipeline.
#pragma once

#include <vector>

#include "neap/solve/partition/certificate.h"
#include "neap/solve/partition/problem.h"

namespace neap::partition {

// Merge: `op` may be in the stage of `into`, its only predecessor or its only successor, in some
// best assignment: it has no computing cost, there is exactly one tensor between the two, and
// moving `op` over costs no more than that tensor: the tensors that replace it on the link, and its
// parameters (there are none where they are limited), if they have to be streamed. Both are
// operators of the problem in which all merges before have been made; a merged one keeps the name
// of `into`.
//
// As many merges as there are, one after the other, of a problem whose `together` is empty.
// `class_of` is the operator that each one is finally merged into.
struct Dominance {
  std::vector<Merge> merges;
  std::vector<OpIndex> class_of;
  OpIndex count = 0;
};
Dominance FindDominance(const Problem& problem);

}  // namespace neap::partition
