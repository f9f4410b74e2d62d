// SPDX-License-Identifier: Apache-2.0
//
// All suites. A new one is a function in a file of its own, a line in suites.h and a line here.
#include "lab/bench/suites.h"

namespace neap::bench {
namespace {

constexpr Suite kSuites[] = {
    {"serenity", "the tables and figures of SERENITY's evaluation, compared with the paper",
     RunSerenity},
    {"order", "orders of the zoo's networks by every strategy: peaks, bounds, states, seconds",
     RunOrder},
    {"place", "placements of the zoo's networks, compared with the planners of stock runtimes",
     RunPlace},
    {"rewrite", "peaks of the zoo's networks before and after rewriting, with bounds", RunRewrite},
    {"cascade", "arenas of the zoo's networks with operators in tiles", RunCascade},
    {"stream", "arenas of the zoo's networks computed block by block", RunStream},
    {"pipeline", "the zoo's networks in stages for several accelerators, by Neap and by others",
     RunPipeline},
};

}  // namespace

std::span<const Suite> Suites() { return kSuites; }

}  // namespace neap::bench
