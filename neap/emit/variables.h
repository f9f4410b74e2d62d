// SPDX-License-Identifier: Apache-2.0
//
// Variables: tensors of the arena that keep their values from run to run. Private to neap/emit.
#pragma once

#include <string>
#include <vector>

#include "neap/emit/segments.h"
#include "neap/emit/write.h"

namespace neap::emit {

// Those that operators of `entry` read, by tensor. One that the plan places, but not at one address
// for the whole run, is added to *refusals; one without an address is left to its operator.
std::vector<Variable> VariablesOf(const plan::EntryPlan& entry, const graph::Subgraph& subgraph,
                                  Refusals* refusals);

// Whether its tables need neap_lstm.h.
bool HasLstm(const Program& program);

// "" without variables.
std::string ResetDeclaration(const Program& program, const Origin& origin,
                             const std::string& prefix);
std::string ResetFunction(const Program& program, const Origin& origin, const std::string& prefix);

}  // namespace neap::emit
