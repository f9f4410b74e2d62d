// SPDX-License-Identifier: Apache-2.0
//
// The network on stage assignment: a sequence in one run, then repair and the best cut of it.
#pragma once

#include <optional>

#include "neap/base/random.h"
#include "neap/learn/dag.h"
#include "neap/learn/network.h"
#include "neap/pipeline/problem.h"

namespace neap::learn {

// What the network sees of a problem. Channel 0: bytes of parameters (shared ones at the first
// user); 1: cost of computing; 2: bytes of the tensors made. Neither the machine nor the number of
// stages. `problem` passes pipeline::Validate().
Dag DagOfStages(const pipeline::Problem& problem);

// A problem to learn from: parameters and tensors as the channels say, squared, so that few
// operators have most of them; a cache of 0.1 to 0.4 of all parameters.
pipeline::Problem StagesOfDag(const Dag& dag, pipeline::Stage stages, Random* random);

struct LearnedStages {
  std::optional<pipeline::Assignment> best;  // nullopt: the limit of parameters cannot be kept
  std::int32_t violations = 0;               // operators before one they depend on, before repair
};

// At most kMostLearnedNodes (peak.h) operators.
LearnedStages AssignStages(const Network& network, const pipeline::Problem& problem);

}  // namespace neap::learn
