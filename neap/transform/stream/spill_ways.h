// SPDX-License-Identifier: Apache-2.0
//
// Ways to run a stretch of the order with given homes of the tensors at its ends. Private to the
// search for plans with two memories.
#pragma once

#include <cstdint>
#include <vector>

#include "neap/transform/stream/block_schedule.h"
#include "neap/transform/stream/options.h"
#include "neap/transform/stream/spill_weights.h"

namespace neap::stream {

struct Way {
  SegmentChoice choice;
  std::vector<int> fast_in;   // images of before that it reads in fast memory; ascending
  std::vector<int> fast_out;  // images that it leaves in fast memory; ascending
  std::int64_t bytes = 0;     // of the arena, without images that only pass through
  std::int64_t traffic = 0;
  std::int64_t cycles = 0;
  // With weights in slow memory, beside `bytes` and `traffic`: boxes of every node, and choices of
  // weights that stay in fast memory, fewest bytes first.
  std::vector<SlowWeights::Runs> runs;
  std::vector<WeightPoint> weights;

  std::int64_t MinBytes() const {
    return weights.empty() ? bytes : plan::AlignedToWeights(bytes) + weights[0].bytes;
  }
};

class Ways {
 public:
  // `network` has every image in slow memory, except results without readers.
  // `weights`: those that are in slow memory, too; nullptr: none. It outlives the ways.
  Ways(Network network, const SearchOptions& options, std::int64_t fast_bytes,
       const SlowWeights* weights);

  // Those with at most `fast_bytes`, and for single nodes the smallest in any case.
  void Find();

  const std::vector<std::vector<Way>>& by_first() const { return by_first_; }
  bool cut_short() const { return cut_short_; }
  // Whether nodes [first, last) read `image`.
  bool Reads(int image, int first, int last) const;

 private:
  struct Ends {
    std::vector<int> in;      // images of before, without inputs
    std::vector<int> out;     // without outputs
    std::vector<int> inputs;  // of the model
  };
  Ends EndsOf(int first, int last) const;
  bool Stopped();
  bool FindStretch(int first, int last);
  bool Streams(int first, int last) const;
  void FindLongest(bool cheap);
  bool Price(Way way);
  bool PriceWhole(Way way);
  std::int64_t Blocks(const Way& way);
  std::int64_t Reload(const Way& way, const std::vector<int>& loads);
  void AddWeights(const BlockSchedule* schedule, Way* way) const;
  void Keep(Way way);
  void SetHomes(const Way& way, bool slow);
  std::int64_t BytesOf(int image) const { return network_.image(image).shape.bytes(); }

  Network network_;
  const SearchOptions& options_;
  std::int64_t fast_bytes_;
  const SlowWeights* weights_;
  std::vector<std::vector<Way>> by_first_;
  std::int64_t placements_ = 0;
  std::int64_t last_bytes_ = 0;  // of the way that was priced last
  bool cut_short_ = false;
};

}  // namespace neap::stream
