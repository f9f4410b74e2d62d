// SPDX-License-Identifier: Apache-2.0
//
// What a request searches beside the features that its options name. Private to neap/deliver.
#pragma once

#include "neap/deliver/options.h"

namespace neap::deliver {

// Budgets of the options, without the memory of a device.
bool HasBudget(const Words& words);

// Whether streams, or tiles, go with the other options at all.
bool MayStream(const Words& words);
bool MayCut(const Words& words);

// Sets the features that no option decides on: tried in the order of their price while no plan is
// within the budgets; without budgets, where an effort was stated, all of them. Last of all, when
// the rest of *request is known.
void SetEffort(const Words& words, const graph::Graph& graph, Request* request);

}  // namespace neap::deliver
