// SPDX-License-Identifier: Apache-2.0
#include "neap/emit/op_rows.h"

namespace neap::emit {
namespace {

// A part in the middle of a segment makes two segments more. On processors of 32 bits they have 16
// bytes each, a row has 36.
constexpr std::size_t kShortestPart = 2;

}  // namespace

void OpRows::Append(const OpRow& row) {
  places_[row.text].push_back(rows_.size());
  rows_.push_back(row);
}

OpStretch OpRows::Append(const std::vector<OpRow>& rows) {
  const OpStretch stretch{rows_.size(), rows.size()};
  for (const OpRow& row : rows) Append(row);
  return stretch;
}

OpStretch OpRows::FindLongest(const std::vector<OpRow>& rows, std::size_t at) const {
  OpStretch longest;
  const auto found = places_.find(rows[at].text);
  if (found == places_.end()) return longest;
  for (const std::size_t first : found->second) {
    std::size_t count = 1;
    while (at + count < rows.size() && first + count < rows_.size() &&
           rows_[first + count].text == rows[at + count].text) {
      ++count;
    }
    if (count > longest.count) longest = {first, count};
  }
  return longest;
}

std::vector<OpStretch> OpRows::Add(const std::vector<OpRow>& rows) {
  std::vector<OpStretch> stretches;
  bool appends = false;  // to the last stretch
  for (std::size_t at = 0; at < rows.size();) {
    const OpStretch found = FindLongest(rows, at);
    if (found.count >= kShortestPart || found.count == rows.size()) {
      stretches.push_back(found);
      at += found.count;
      appends = false;
      continue;
    }
    if (!appends) stretches.push_back({rows_.size(), 0});
    Append(rows[at++]);
    ++stretches.back().count;
    appends = true;
  }
  return stretches;
}

std::string OpRows::Text() const {
  std::string text;
  for (const OpRow& row : rows_) text += "    /* " + row.comment + " */\n    " + row.text + ",\n";
  return text;
}

}  // namespace neap::emit
