// SPDX-License-Identifier: Apache-2.0
//
// The reads inside a segment: how many pixels of a tensor have to be stored, and which part of the
// segment's inputs has been freed. Private to the placement.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "neap/transform/stream/placement.h"

namespace neap::stream {

inline constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max() / 4;

struct Use {
  std::size_t lane;  // of the reader
  AxisMap rows;
  AxisMap columns;
};

// The columns of a row that are in the same ring: every `apart`th one from `first` on.
struct ColumnsOfRing {
  std::int64_t apart = 1;
  std::int64_t first = 0;
  bool Has(std::int64_t column) const { return column % apart == first; }
  // Those among the columns [0, end): the place in the row of the first one behind them.
  std::int64_t Among(std::int64_t end) const { return (end + apart - 1 - first) / apart; }
  // Places of a row, equal for all rings.
  std::int64_t PerRow(std::int64_t width) const { return (width + apart - 1) / apart; }
};

// One partially stored tensor.
struct Kept {
  std::vector<plan::StreamRing> rings;
  std::int64_t columns = 1;    // plan::StreamArea::columns
  std::vector<bool> in_block;  // the ring is dead when the block ends
  std::size_t last_lane = 0;   // the last reader
};

// Of a shrinking image: the first pixel that is read in block (i, j) or later.
struct Dying {
  std::vector<std::int64_t> row;     // first row read in each row step
  std::vector<std::int64_t> future;  // in that step or later
  std::vector<std::int64_t> column;  // first column read in that column step or later
  std::int64_t width = 0;
  std::size_t last_lane = 0;
  std::int64_t At(std::size_t i, std::size_t j) const {
    if (i >= row.size()) return kNever;
    const std::int64_t now =
        row[i] >= kNever || column[j] >= kNever ? kNever : row[i] * width + column[j];
    const std::int64_t later = future[i + 1] >= kNever ? kNever : future[i + 1] * width;
    return std::min(now, later);
  }
  std::int64_t After(std::size_t i, std::size_t j) const {
    return j + 1 < column.size() ? At(i, j + 1) : At(i + 1, 0);
  }
};

// Keeps a shrinking image above what is written below it.
struct InputFloor {
  const Dying& dying;
  std::int64_t pixel_bytes;
  std::int64_t least;  // offset of the image
  std::int64_t Dead(std::size_t l, std::size_t i, std::size_t j) const {
    return l > dying.last_lane ? dying.After(i, j) : dying.At(i, j);
  }
  void Keep(std::int64_t end, std::int64_t from) {
    if (from < kNever) least = std::max(least, end - from * pixel_bytes);
  }
  // Whether some block of row step `i`, whose ends are at most `most`, may raise it. The dead
  // part grows from block to block, so most rows can be skipped as a whole.
  bool MayRise(std::size_t l, std::size_t i, std::int64_t most) const {
    const std::int64_t first_dead = Dead(l, i, 0);
    return first_dead < kNever && most - first_dead * pixel_bytes > least;
  }
  template <typename End>
  void KeepRow(std::size_t l, std::size_t i, std::size_t blocks, std::int64_t most,
               const End& end_of) {
    if (!MayRise(l, i, most)) return;
    for (std::size_t j = 0; j < blocks; ++j) Keep(end_of(j), Dead(l, i, j));
  }
};

class Readers {
 public:
  // Both outlive it.
  Readers(const Network& network, const BlockSchedule& schedule);

  // By lanes.
  const std::vector<Use>& Of(int image) const { return uses_[static_cast<std::size_t>(image)]; }
  // The rows of an image that each lane's box of row step `i` reads, in ascending order of their
  // first ones.
  std::vector<plan::StreamRange> ReadsOf(int image, std::size_t i) const {
    return ReadsOf(Of(image), image, i);
  }
  // The hull of the lanes' reads of an image in row step `i`.
  plan::StreamRange RowsRead(int image, std::int64_t height, std::size_t i) const;
  // How long the rings of lane `l` have to be in row steps [first, last); nothing is kept from
  // before. As many rings as a block has rows; where readers leave rows out between those that they
  // need (a skip of every other row), a few more, if these are shorter together. Where they leave
  // columns out, too, the columns have rings of their own.
  Kept Measure(std::size_t l, std::size_t first, std::size_t last) const;
  Dying DyingOf(int image) const;

 private:
  const Lane& lane(std::size_t l) const { return schedule_.lanes[l]; }
  const Image& ImageOf(std::size_t l) const { return network_.image(lane(l).image); }

  std::vector<plan::StreamRange> ReadsOf(const std::vector<Use>& uses, int image,
                                         std::size_t i) const;
  // The columns `of` of lane `l`: which step reads each of them last and how far its row has been
  // computed by then.
  struct ColumnUse {
    std::int64_t max_pixels = 1;  // from a column that is read yet to the last one computed
    std::int64_t first_read = kNever;
    bool in_block = true;  // every column is read last in the step that computes it
  };
  ColumnUse ColumnUseOf(std::size_t l, const ColumnsOfRing& of) const;
  // Those that read any of the columns.
  std::vector<Use> ReadersOf(std::size_t l, const ColumnsOfRing& of) const;
  Kept MeasureIn(std::int64_t count, std::size_t l, std::size_t first, std::size_t last,
                 std::int64_t apart) const;
  // The rings of rows y with the same y % `count`, and of the columns `of`.
  void AddRings(std::int64_t count, std::size_t l, std::size_t first, std::size_t last,
                const ColumnsOfRing& of, Kept* kept) const;
  // The distance of the columns that some reader reads, if others read those between; else 1.
  std::int64_t ColumnsApart(std::size_t l) const;
  // Some step reads rows of which none of its operators reads those between.
  bool LeavesRowsOut(int image, std::size_t first, std::size_t last) const;

  const Network& network_;
  const BlockSchedule& schedule_;
  std::vector<std::vector<Use>> uses_;  // of each image
};

}  // namespace neap::stream
