// SPDX-License-Identifier: Apache-2.0
//
// Why no assignment is cheaper than a bound, in a form that is checked without a search.
//
// The argument: operators of a class are in one stage in some best assignment (they have to be, or
// a merge proves it). Call a stage cheap when it costs less than the bound. layers[s] lists every
// downset of classes that s cheap stages can have computed (layers[0] is the empty one), except
// those after which the rest is too much for the remaining stages: its fixed and computing costs
// and its parameters, spread over them perfectly. If every cheap stage after a listed downset leads
// to a listed downset, or to one with too much left, and none to the whole, there is no assignment
// with cheap stages alone.
//
// With a shared link a listed downset has the lowest cost of the link with which cheap stages reach
// it. A cheap stage adds its own part to this cost. If the sum reaches the bound, the stage does
// not lead to an assignment below the bound; otherwise it has to lead to a listed downset whose
// cost is not higher.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "neap/solve/partition/problem.h"

namespace neap::partition {

// Bit c: class c is in the downset.
using Downset = std::vector<std::uint64_t>;

// The downsets that this many cheap stages can have computed.
struct Listed {
  Downset set;
  std::int64_t link_cost = 0;  // of a shared link, at least; else 0
  friend bool operator==(const Listed&, const Listed&) = default;
};
using Layers = std::vector<std::vector<Listed>>;

// Of classes; see dominance.h.
struct Merge {
  OpIndex op = 0;
  OpIndex into = 0;
};

struct Certificate {
  std::int64_t bound = 0;
  std::vector<OpIndex> group_of;  // operators that the rules of the problem force into one stage
  OpIndex num_groups = 0;
  std::vector<Merge> merges;      // of groups, one after the other
  std::vector<OpIndex> class_of;  // of a group, after all merges
  OpIndex num_classes = 0;
  Layers layers;  // [s], 0 <= s < num_stages
};

// The error of a certificate, in one line; nullopt: no assignment of the problem has a bottleneck
// below certificate.bound. Shares no code with the search. Takes a step for every cheap stage that
// follows a listed downset; more than `max_steps` of them are "too many to check" (0: no limit).
std::optional<std::string> FindFlaw(const Problem& problem, const Certificate& certificate,
                                    std::int64_t max_steps);

}  // namespace neap::partition
