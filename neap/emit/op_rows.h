// SPDX-License-Identifier: Apache-2.0
//
// The table of operators of a network: rows that are repeated are stored once. Bodies that run
// several times, such as shared bodies of tiles at the same addresses, are segments that begin at
// the same row. Private to neap/emit.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace neap::emit {

struct OpRow {
  std::string text;
  std::string comment;  // of the first operator with these numbers
};

// Rows [first, first + count) of the table.
struct OpStretch {
  std::size_t first = 0;
  std::size_t count = 0;
};

class OpRows {
 public:
  // In one stretch, after the existing ones.
  OpStretch Append(const std::vector<OpRow>& rows);

  // In the order of the rows. Each stretch is a segment of its own: rows are found again where that
  // saves more than the further segments need. O(rows * equal rows in the table * length found).
  std::vector<OpStretch> Add(const std::vector<OpRow>& rows);

  bool empty() const { return rows_.empty(); }
  std::size_t size() const { return rows_.size(); }
  std::string Text() const;

 private:
  // Rows in the table that equal the longest beginning of rows [at, end).
  OpStretch FindLongest(const std::vector<OpRow>& rows, std::size_t at) const;
  void Append(const OpRow& row);

  std::vector<OpRow> rows_;
  std::map<std::string, std::vector<std::size_t>> places_;  // of each text
};

}  // namespace neap::emit
