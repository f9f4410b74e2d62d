// SPDX-License-Identifier: Apache-2.0
//
// What people read. Text for a terminal, and the JSON of --json. No file access here.
#pragma once

#include <cstdint>
#include <string>

#include "neap/graph/graph.h"
#include "neap/plan/plan.h"

namespace neap::report {}  // namespace neap::report
