// SPDX-License-Identifier: Apache-2.0
//
// Placement tables: any text is refused in one line, or read as a valid problem whose placement can
// be written and read again.
#include <string>
#include <string_view>

#include "neap/solve/arena/arena.h"
#include "neap/solve/arena/check.h"
#include "neap/solve/arena/csv.h"
#include "tests/fuzz/require.h"

using neap::fuzz::Require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto csv = neap::arena::ParseCsv(text);
  if (!csv) {
    const std::string message = csv.error().ToString();
    Require(!message.empty() && message.find('\n') == std::string::npos, "one line of error");
    return 0;
  }
  Require(!neap::arena::Validate(csv->problem), "what was read is valid");
  if (csv->problem.buffers.size() > 200) return 0;
  neap::Limits limits;
  limits.max_states = 500;
  const auto outcome = neap::arena::Solve(csv->problem, limits);
  Require(!neap::arena::FindViolation(csv->problem, outcome.placement), "the placement is right");
  Require(outcome.lower_bound_bytes <= outcome.placement.height_bytes, "the bound is one");
  // Where all together are nearly too large, they are when they are fixed.
  double total = 0;
  for (const auto& buffer : csv->problem.buffers) {
    total += static_cast<double>(buffer.bytes) + static_cast<double>(buffer.alignment);
  }
  if (total > 0x1p60) return 0;
  const std::string written = neap::arena::FormatCsv(*csv, outcome.placement.offsets);
  const auto again = neap::arena::ParseCsv(written);
  Require(again.has_value(), "what was written can be read");
  for (std::size_t i = 0; i < csv->problem.buffers.size(); ++i) {
    Require(again->problem.buffers[i].fixed_offset == outcome.placement.offsets[i],
            "the offsets are those that were written");
  }
  return 0;
}
