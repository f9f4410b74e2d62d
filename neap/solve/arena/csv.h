// SPDX-License-Identifier: Apache-2.0
//
// Placement problems as MiniMalloc's CSV: one buffer a line.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "neap/base/result.h"
#include "neap/solve/arena/problem.h"

namespace neap::arena {

struct CsvProblem {
  Problem problem;
  std::string header;             // as read
  std::vector<std::string> rows;  // as read, one per buffer
  int offset_column = -1;         // -1: none
};

// The first line names the columns, in any order: `id` (or `buffer`, `buffer_id`), `lower`
// (`start`, `begin`), `upper`, the first step in which the buffer is no longer live (or `end`, the
// last one in which it is), `size`; and, where wanted, `alignment`, `offset` (fixed there; empty:
// free), `gaps` ("10-20 30-35": not live in these half-open ranges) and `hint` (not used). Fields
// are separated by commas, without quotes; an empty line ends the table. Steps that do not fit into
// 32 bits are renumbered, keeping their order. A pair of which one is never live outside the gaps
// of the other gets a rule that lets it share (problem.h).
//
// Errors name the line (from 1 on), the column, and the value found. Never reads more than the
// text; memory O(text + pairs with gaps), of which there may be at most a few millions.
Result<CsvProblem> ParseCsv(std::string_view text);

// The same table with the column `offset`, as last column unless it was there before.
std::string FormatCsv(const CsvProblem& csv, std::span<const std::int64_t> offsets);

}  // namespace neap::arena
