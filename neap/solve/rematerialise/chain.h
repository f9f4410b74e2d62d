// SPDX-License-Identifier: Apache-2.0
//
// Chains: operators that each read only the one before, followed by operators that read the values
// of the chain in reverse, as in training. Sequences that keep the best values of a chain by
// dynamic programming (Revolve, Griewank and Walther 2000, for any sizes and costs). Private to
// neap/rematerialise.
#pragma once

#include <span>
#include <vector>

#include "neap/solve/rematerialise/problem.h"
#include "neap/solve/rematerialise/trace.h"

namespace neap::rematerialise {

// For limits of live bytes from that of `start` down to the lowest: the cheapest sequence that
// keeps values of the chain, if the problem is a chain in the order `start`; else none. Exact where
// the sizes have a large common divisor, otherwise sizes are rounded up. Work is limited.
std::vector<std::vector<OpIndex>> ChainSequences(const Access& access,
                                                 std::span<const OpIndex> start);

}  // namespace neap::rematerialise
