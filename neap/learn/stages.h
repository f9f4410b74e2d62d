// SPDX-License-Identifier: Apache-2.0
//
// The network on stage assignment: a sequence in one run, then repair and the best cut of it; with
// groups that must be in one stage also the document's rule for them.
#pragma once

#include <optional>

#include "neap/base/random.h"
#include "neap/learn/dag.h"
#include "neap/learn/network.h"
#include "neap/solve/partition/problem.h"

namespace neap::learn {

// The features of a problem. Channel 0: bytes of parameters (shared ones at the first user); 1:
// cost of computing; 2: bytes of the outputs. Neither the machine nor the number of stages.
// `problem` passes partition::Validate().
Dag DagOfStages(const partition::Problem& problem);

// A training problem: parameters and tensors are the squared channels, so that few operators have
// most of the bytes; a cache of 0.1 to 0.4 of all parameters.
partition::Problem StagesOfDag(const Dag& dag, partition::Stage stages, Random* random);

struct LearnedStages {
  // The faster one of `document` and `grouped`; nullopt: neither is within the limits.
  std::optional<partition::Assignment> best;
  // The document's post-inference processing. The sequence, repaired, is cut as if there were no
  // groups, which predicts a stage for every operator; then a group goes to the earliest stage
  // predicted for its members, and an operator before its predecessor's stage is pushed forward
  // (partition::RepairStages). Without groups: the best cut. nullopt: it does not keep the limits.
  std::optional<partition::Assignment> document;
  // The best cut of the repaired sequence in which a group counts as one operator.
  std::optional<partition::Assignment> grouped;
  std::int32_t violations = 0;  // operators before one they depend on, before repair
};

// At most kMaxLearnedNodes (peak.h) operators. Of equally fast results `best` is `document`.
LearnedStages AssignStages(const Network& network, const partition::Problem& problem);

}  // namespace neap::learn
