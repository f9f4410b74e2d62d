// SPDX-License-Identifier: Apache-2.0
//
// Values of symbolic dimensions, as text.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "neap/base/result.h"
#include "neap/graph/graph.h"

namespace neap::deliver {

// "name=N" each, N from 1 on; a name may come once. kUsage; `prefix` is put before the name of the
// option in messages (Words::prefix).
Result<std::map<std::string, std::int64_t>> DimsOf(const std::vector<std::string>& dims,
                                                   const std::string& prefix);

// The hint of an error about a missing size: all symbols of the model's inputs that have no value,
// so that one more try is enough. Other errors stay as they are.
Diagnostic WithAllSymbols(Diagnostic diagnostic, const graph::Graph& graph,
                          const std::string& prefix);

}  // namespace neap::deliver
