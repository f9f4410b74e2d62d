// SPDX-License-Identifier: Apache-2.0
//
// A line of the manifest and a line of the answers, as JSON. Private to neap/batch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "neap/base/result.h"

namespace neap::batch {

struct Request {
  std::string id = "null";                // as JSON: a string or a whole number
  std::optional<std::string> path;        // either this
  std::optional<std::string_view> graph;  // or this: the text of a JSON object, a part of the line
};

// Reads {"id", "path" | "graph"}. The graph is not looked into: it is found by its brackets, so
// that it is parsed once, by its own reader. When a line is refused, *request keeps the id if that
// was read before the trouble. O(length), no recursion.
Status ParseRequest(std::string_view line, Request* request);

struct Answer {
  std::string id = "null";  // as JSON
  std::optional<std::int64_t> peak_bytes;
  std::optional<std::int64_t> peak_lower_bound_bytes;
  std::optional<std::int64_t> arena_bytes;
  std::optional<std::int64_t> delivered_arena_bytes;
  std::string error;  // "": none

  bool IsOptimal() const {
    return peak_bytes == peak_lower_bound_bytes;
  }  // where there is no error
};

// With its "\n". A long error text is cut.
std::string ToJson(const Answer& answer);

// The fields of an answer that resuming needs; nullopt: the line is not an answer.
struct KnownAnswer {
  std::string id;
  bool is_error = false;
};
std::optional<KnownAnswer> ParseAnswer(std::string_view line);

}  // namespace neap::batch
