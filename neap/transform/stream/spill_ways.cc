// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/stream/spill_ways.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "neap/base/work.h"
#include "neap/transform/stream/placement.h"

namespace neap::stream {
namespace {

using plan::StreamInput;

constexpr std::size_t kMaxFreeHomes = 5;  // all combinations of so many homes
constexpr int kMaxReloading = 4;          // nodes of a stretch that reads rows again
constexpr std::int64_t kNodeWork = 2'500;
constexpr std::int64_t kNoBytes = std::numeric_limits<std::int64_t>::max() / 4;

}  // namespace

Ways::Ways(Network network, const SearchOptions& options, std::int64_t fast_bytes,
           const SlowWeights* weights)
    : network_(std::move(network)), options_(options), fast_bytes_(fast_bytes), weights_(weights) {
  by_first_.resize(network_.nodes.size());
}

bool Ways::Reads(int image, int first, int last) const {
  const std::vector<int>& readers = network_.image(image).readers;
  const auto at = std::lower_bound(readers.begin(), readers.end(), first);
  return at != readers.end() && *at < last;
}

bool Ways::Stopped() {
  const bool over = placements_ >= options_.max_placements || IsOver(options_.limits);
  cut_short_ = cut_short_ || over;
  return over;
}

Ways::Ends Ways::EndsOf(int first, int last) const {
  Ends ends;
  for (std::size_t i = 0; i < network_.images.size(); ++i) {
    const Image& image = network_.images[i];
    const int index = static_cast<int>(i);
    if (image.producer < first && Reads(index, first, last)) {
      (image.is_input || image.is_output ? ends.inputs : ends.in).push_back(index);
    }
    const bool leaves = image.producer >= first && image.producer < last && image.last_use >= last;
    if (leaves && !image.is_output) ends.out.push_back(index);
  }
  return ends;
}

bool Ways::Streams(int first, int last) const {
  for (int n = first; n < last; ++n) {
    if (!network_.node(n).streams) return false;
  }
  return true;
}

// Single nodes first, so that there is a plan in any case. A longer stretch is tried where a part
// of it is not far from fitting.
void Ways::Find() {
  const auto size = static_cast<int>(network_.nodes.size());
  std::vector<bool> near(static_cast<std::size_t>(size), true);  // of stretches from each node on
  for (int span = 1; span <= size; ++span) {
    std::vector<bool> now(static_cast<std::size_t>(size), false);
    for (int first = 0; first + span <= size; ++first) {
      const auto at = static_cast<std::size_t>(first);
      if (span > 1 && (Stopped() || !Streams(first, first + span))) continue;
      const bool part = near[at] || (at + 1 < near.size() && near[at + 1]);
      if (span == 1 || part) now[at] = FindStretch(first, first + span);
    }
    near = std::move(now);
    if (span > 1) continue;
    FindLongest(false);
    FindLongest(true);
  }
}

// One stretch behind the other, each the longest that fits with everything in slow memory: of a
// large network, placements end before stretches of many nodes are reached. `cheap`: each ends
// where the fewest bytes live, in the second half of its nodes.
void Ways::FindLongest(bool cheap) {
  const auto size = static_cast<int>(network_.nodes.size());
  const auto fits = [&](int first, int last) {
    Way way;
    way.choice.first = first;
    way.choice.last = last;
    return Blocks(way) <= fast_bytes_;
  };
  for (int first = 0; first < size && !Stopped();) {
    int end = first;
    while (end < size && network_.node(end).streams) ++end;
    int last = first + 1;  // fits, or is the only one
    if (end > last) {
      int beyond = end + 1;
      for (int next = end; beyond - last > 1 && !Stopped(); next = (last + beyond) / 2) {
        (fits(first, next) ? last : beyond) = next;
      }
    }
    if (cheap && last - first > 2 && last < size) {
      const int longest = last;
      std::int64_t least = kNoBytes;
      for (int at = longest; at > first + (longest - first) / 2; --at) {
        std::int64_t live = 0;
        for (const int image : EndsOf(0, at).out) live += BytesOf(image);
        if (live >= least) continue;
        least = live;
        last = at;
      }
      if (last != longest) (void)fits(first, last);
    }
    first = last;
  }
}

void Ways::SetHomes(const Way& way, bool slow) {
  for (const auto* list : {&way.fast_in, &way.fast_out}) {
    for (const int image : *list) network_.images[static_cast<std::size_t>(image)].slow = slow;
  }
}

// True: it is near to fitting, with everything in slow memory.
bool Ways::FindStretch(int first, int last) {
  const Ends ends = EndsOf(first, last);
  const std::size_t homes = ends.in.size() + ends.out.size();
  std::vector<std::uint32_t> chosen;  // bits: images in fast memory
  if (homes <= kMaxFreeHomes) {
    for (std::uint32_t bits = 0; bits < (std::uint32_t{1} << homes); ++bits) chosen.push_back(bits);
  } else if (homes < 32) {
    const std::uint32_t in = (std::uint32_t{1} << ends.in.size()) - 1;
    const std::uint32_t all = static_cast<std::uint32_t>((std::uint64_t{1} << homes) - 1);
    chosen = {0, in, all & ~in, all};
    for (std::size_t i = 0; i < homes; ++i) chosen.push_back(std::uint32_t{1} << i);
    std::sort(chosen.begin(), chosen.end());
    chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  } else {
    chosen = {0};
  }
  const bool single = last - first == 1;
  bool near = false;
  for (const std::uint32_t bits : chosen) {
    Way way;
    way.choice.first = first;
    way.choice.last = last;
    std::vector<int> loads = ends.inputs;
    std::int64_t before = 0;
    std::int64_t after = 0;
    for (std::size_t i = 0; i < homes; ++i) {
      const bool is_in = i < ends.in.size();
      const int image = is_in ? ends.in[i] : ends.out[i - ends.in.size()];
      if ((bits >> i & 1) == 0) {
        if (is_in) loads.push_back(image);
        continue;
      }
      (is_in ? way.fast_in : way.fast_out).push_back(image);
      (is_in ? before : after) += BytesOf(image);
      if (is_in && network_.image(image).last_use >= last) after += BytesOf(image);
    }
    if (before > fast_bytes_ || after > fast_bytes_) continue;
    SetHomes(way, false);
    if (single) PriceWhole(way);
    std::int64_t least = network_.node(last - 1).streams ? Blocks(way) : kNoBytes;
    if (bits == 0) near = least < kNoBytes && least / 2 <= fast_bytes_;
    const bool reloads = least < kNoBytes && last - first <= kMaxReloading && !loads.empty();
    if (reloads && (least > fast_bytes_ || homes > 1)) {
      std::int64_t fits = Reload(way, loads);
      if (loads.size() > 1) {
        for (const int load : loads) fits = std::min(fits, Reload(way, {load}));
      }
      if (bits == 0) near = near || fits <= fast_bytes_;
    }
    SetHomes(way, true);
    if (bits == 0 && !near && !single) break;
    if (!single && Stopped()) break;
  }
  return near;
}

// Rows that several blocks read are read from slow memory again, in blocks of falling height.
// Returns the fewest bytes.
std::int64_t Ways::Reload(const Way& way, const std::vector<int>& loads) {
  const Node& last = network_.node(way.choice.last - 1);
  const std::int64_t height = BoxesOf(network_, last).height;
  std::int64_t least = kNoBytes;
  std::int64_t rows = 1;
  while (rows < height) rows *= 2;
  bool fits = false;
  for (; rows > 0; rows = fits || rows == 1 ? rows / 2 : std::max<std::int64_t>(rows / 2, 1)) {
    Way again = way;
    again.choice.row_block = std::min(rows, height);
    again.choice.recomputed = loads;
    std::sort(again.choice.recomputed.begin(), again.choice.recomputed.end());
    if (weights_ != nullptr) {
      Way wide = again;
      wide.choice.column_block = BoxesOf(network_, last).width;
      Price(std::move(wide));
    }
    if (!Price(std::move(again))) return least;
    least = std::min(least, last_bytes_);
    fits = last_bytes_ <= fast_bytes_;
  }
  return least;
}

// In several shapes of blocks, of which the reads do not depend. Returns the fewest bytes.
std::int64_t Ways::Blocks(const Way& way) {
  const plan::StreamImage& driver = BoxesOf(network_, network_.node(way.choice.last - 1));
  std::int64_t least = kNoBytes;
  struct Shape {
    std::int64_t columns;
    std::int64_t rows;
    std::int64_t row_parts;
  };
  const Shape shapes[] = {{1, 1, 1}, {4, 1, 1}, {driver.width, 1, 1}, {1, 2, 1}, {1, 1, 2}};
  for (const Shape& shape : shapes) {
    if (shape.columns > driver.width || (shape.rows * shape.row_parts > 1 && driver.height == 1)) {
      continue;
    }
    Way in_blocks = way;
    in_blocks.choice.column_block = shape.columns;
    in_blocks.choice.row_block = shape.rows;
    in_blocks.choice.row_parts = shape.row_parts;
    const bool whole_columns = &shape != &shapes[0] && shape.columns == driver.width;
    if (!Price(std::move(in_blocks))) continue;
    least = std::min(least, last_bytes_);
    if (least / 2 > fast_bytes_ && !whole_columns) break;
  }
  // Higher blocks of whole rows read weights fewer times.
  for (std::int64_t rows = 2; weights_ != nullptr && rows < 2 * driver.height; rows *= 2) {
    Way in_blocks = way;
    in_blocks.choice.column_block = driver.width;
    in_blocks.choice.row_block = std::min(rows, driver.height);
    if (!Price(std::move(in_blocks))) break;
    least = std::min(least, last_bytes_);
    if (last_bytes_ > fast_bytes_) break;
  }
  return least;
}

// False: it cannot be streamed in these blocks.
bool Ways::Price(Way way) {
  ++placements_;
  ChargeWork((way.choice.last - way.choice.first + 1) * kNodeWork);
  const BlockSchedule schedule = MakeBlockSchedule(network_, way.choice, StreamInput::kSlow);
  if (!schedule.valid) return false;
  way.bytes = PlaceSegment(network_, schedule).bytes;
  way.traffic = schedule.read_bytes + schedule.written_bytes;
  way.cycles = schedule.cycles;
  AddWeights(&schedule, &way);
  last_bytes_ = way.MinBytes();
  Keep(std::move(way));
  return true;
}

bool Ways::PriceWhole(Way way) {
  const int n = way.choice.first;
  const Node& node = network_.node(n);
  const auto keep = [&](const SegmentPlacement& placement, std::int64_t extra_cycles) {
    Way whole = way;
    whole.bytes = placement.bytes;
    whole.cycles = WholeCycles(network_, node) + extra_cycles + CopyCycles(network_, whole.traffic);
    AddWeights(nullptr, &whole);
    Keep(std::move(whole));
  };
  way.choice.whole = true;
  for (const Read& read : node.reads) {
    if (network_.image(read.image).slow) way.traffic += BytesOf(read.image);
  }
  for (const int image : node.outputs) {
    if (network_.image(image).slow) way.traffic += BytesOf(image);
  }
  keep(PlaceWhole(network_, n, StreamInput::kSlow), 0);
  const SegmentPlacement by_channel = PlaceChannels(network_, n, StreamInput::kSlow);
  if (by_channel.bytes == 0) return true;
  way.choice.by_channel = true;
  keep(by_channel, node.outputs.empty() ? 0 : ChannelCycles(network_, node));
  return true;
}

// `schedule`: nullptr where it runs as a whole.
void Ways::AddWeights(const BlockSchedule* schedule, Way* way) const {
  if (weights_ == nullptr) return;
  if (schedule == nullptr) way->runs = {{way->choice.first, 1}};
  for (std::size_t l = 0; schedule != nullptr && l < schedule->lanes.size(); ++l) {
    const Lane& lane = schedule->lanes[l];
    if (lane.node < 0) continue;
    const auto some = [](const std::vector<plan::StreamRange>& ranges) {
      return std::count_if(ranges.begin(), ranges.end(),
                           [](const plan::StreamRange& range) { return !range.empty(); });
    };
    way->runs.push_back({lane.node, some(lane.rows) * some(lane.columns)});
  }
  way->weights = weights_->FrontOf(way->runs);
}

// Single nodes of any size are kept.
void Ways::Keep(Way way) {
  const bool single = way.choice.last - way.choice.first == 1;
  if (way.MinBytes() > fast_bytes_ && !single) return;
  auto& list = by_first_[static_cast<std::size_t>(way.choice.first)];
  const auto same = [&](const Way& other) {
    return other.choice.last == way.choice.last && other.fast_in == way.fast_in &&
           other.fast_out == way.fast_out;
  };
  const auto beats = [](const Way& a, const Way& b) {
    for (std::size_t r = 0; r < a.runs.size(); ++r) {
      if (a.runs[r].boxes > b.runs[r].boxes) return false;
    }
    return a.bytes <= b.bytes && a.traffic <= b.traffic && a.cycles <= b.cycles;
  };
  for (const Way& other : list) {
    if (same(other) && beats(other, way)) return;
  }
  std::erase_if(list, [&](const Way& other) { return same(other) && beats(way, other); });
  list.push_back(std::move(way));
}

}  // namespace neap::stream
