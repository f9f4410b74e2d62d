// SPDX-License-Identifier: Apache-2.0
//
// The member "stream" of an entry of plan.json. Private to neap/plan.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "neap/base/result.h"
#include "neap/plan/stream.h"

namespace neap::plan {

// The member and its value on lines of their own, one for each operator, area and move.
std::string StreamText(const Stream& stream);
// Refuses what StreamText() would not write: members that are missing or unknown, numbers that are
// no indices or sizes.
Result<Stream> ReadStream(const nlohmann::ordered_json& json);

}  // namespace neap::plan
