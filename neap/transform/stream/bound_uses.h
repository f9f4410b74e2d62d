// SPDX-License-Identifier: Apache-2.0
//
// What operators need of images and leave of them, pixel by pixel. Private to the bound.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "neap/transform/stream/network.h"

namespace neap::stream {

inline std::size_t Slot(std::int64_t index) { return static_cast<std::size_t>(index); }

constexpr std::int64_t kMaxBlockRows = 8;  // of higher blocks nothing is known inside

// Some rows and columns of an image: the pixels where both meet.
struct PixelSet {
  std::vector<std::int64_t> rows;     // [y]: those among the rows [0, y)
  std::vector<std::int64_t> columns;  // likewise

  // Pixels among the first `count` ones in row-major order.
  std::int64_t Among(std::int64_t count) const;
  // Pixels in rows before `low`, and in rows before `high` and columns before `column`.
  std::int64_t Before(std::int64_t low, std::int64_t high, std::int64_t column) const;
  std::int64_t All() const { return rows.back() * columns.back(); }
  bool Covers(const PixelSet& other) const;
};

// Pixels of an image that the same operators read: those of `set` that are not in `less`.
struct PixelLayer {
  PixelSet set;
  PixelSet less;                       // no rows: nothing
  std::vector<std::size_t> consumers;  // uses that read all of it

  // At least, of the first `count` pixels that are computed in blocks of at most `block_rows` rows.
  // Grows with `count`.
  std::int64_t Among(std::int64_t count, std::int64_t block_rows) const;
  std::int64_t Before(std::int64_t low, std::int64_t high, std::int64_t column) const {
    return set.Before(low, high, column) - less.Before(low, high, column);
  }
  std::int64_t All() const { return set.All() - (less.rows.empty() ? 0 : less.All()); }
};

// How an operator computes `to`, in blocks of at most `block_rows` rows, from `from`.
class PixelUse {
 public:
  PixelUse(const Network& network, const Node& node, const Read& read, std::int64_t block_rows,
           bool from_in_rows);

  int from = -1;
  int to = -1;
  PixelSet read;  // pixels of `from` that it reads at all
  // It may replace a pixel of `from` by one of `to`.
  bool in_place = false;
  // It adds pixels of `from` as they arrive and needs none of them again.
  bool sums = false;

  // Pixels of `from` that have been computed at least when `count` pixels of `to` have, within a
  // box that reaches beyond `count` or (`reached` false) not.
  std::int64_t Needed(std::int64_t count, bool reached = false) const;
  // Pixels of `layer`, all of which the operator reads, that it needs no more at most when `count`
  // pixels of `to` have been computed, within a box that begins before or (`begun` false) not.
  std::int64_t Dead(const PixelLayer& layer, std::int64_t count, bool begun = false) const;
  std::int64_t ToPixels() const { return to_height_ * to_width_; }

 private:
  template <typename At>
  void ForBlocks(std::int64_t y, const At& at) const;
  std::int64_t NeededBy(std::int64_t first, std::int64_t last, std::int64_t column) const;

  std::int64_t to_height_ = 0;
  std::int64_t to_width_ = 0;
  std::int64_t from_height_ = 0;
  std::int64_t from_width_ = 0;
  std::int64_t block_rows_ = 1;
  bool from_in_rows_ = false;        // `from` is computed row by row
  bool at_once_ = false;             // `to` exists as a whole or not at all
  bool vague_ = false;               // nothing is known between the two
  std::vector<std::int64_t> high_;   // [y]: rows of `from` that the rows [0, y) need
  std::vector<std::int64_t> low_;    // [y]: the rows [y, ...) need nothing before
  std::vector<std::int64_t> right_;  // likewise columns
  std::vector<std::int64_t> left_;
};

}  // namespace neap::stream
