// SPDX-License-Identifier: Apache-2.0
//
// How cells are shown: the same text in Markdown and on the page. Private to neap/bench.
#pragma once

#include <string>

#include "lab/bench/bench.h"

namespace neap::bench {

std::string Shown(const Value& value);  // "-" for an empty value
bool IsNumber(const Value& value);

}  // namespace neap::bench
