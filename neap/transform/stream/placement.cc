// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/stream/placement.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "neap/transform/stream/placement_reads.h"

namespace neap::stream {
namespace {

using plan::StreamRange;
using plan::StreamRing;

class SegmentPlacer {
 public:
  SegmentPlacer(const Network& network, const BlockSchedule& schedule, bool reversed)
      : network_(network), schedule_(schedule), reversed_(reversed), reads_(network, schedule) {
    for (const int image : schedule.drivers) {
      const int node = network.image(image).producer;
      const bool sums = node >= 0 && network.node(node).sums;
      if (!network.image(image).slow || sums) growing_.push_back(image);
    }
  }

  SegmentPlacement Make() {
    kept_.resize(Lanes());
    later_.resize(Lanes());
    alias_.assign(Lanes(), -1);
    for (std::size_t l = 0; l < Lanes(); ++l) {
      if (IsDriver(l)) continue;
      const bool changes = lane(l).recomputed && schedule_.switch_row > 0 &&
                           schedule_.switch_row < schedule_.row_steps;
      kept_[l] = reads_.Measure(l, 0, changes ? schedule_.switch_row : schedule_.row_steps);
      if (lane(l).node < 0 && ImageOf(l).slow) LeaveOutUnread(l);
      if (changes) later_[l] = reads_.Measure(l, schedule_.switch_row, schedule_.row_steps);
    }
    PlaceInBlock();
    FindRings();
    Place(0);
    // Tensors freed early may be where the drivers grow later on.
    std::size_t early = BestEarly();
    if (const std::int64_t without = placement_.bytes; early > 0) {
      Place(early);
      if (placement_.bytes >= without) Place(early = 0);
    }
    // Where a shrinking input is the highest, above sums that do not grow.
    if (!schedule_.dying.empty() && placement_.bytes > top_ && EndsInSums()) TryUnderInput(early);
    Collect();
    return std::move(placement_);
  }

 private:
  std::size_t Lanes() const { return schedule_.lanes.size(); }
  const Lane& lane(std::size_t l) const { return schedule_.lanes[l]; }
  const Image& ImageOf(std::size_t l) const { return network_.image(lane(l).image); }
  const std::vector<Use>& UsesOf(int image) const { return reads_.Of(image); }
  // Of those in slow memory a block is stored.
  bool IsDriver(std::size_t l) const {
    return std::find(growing_.begin(), growing_.end(), lane(l).image) != growing_.end();
  }

  // The last rows and columns of an image in slow memory may have no reader: a ring ends before
  // them, and its last pixel is used.
  void LeaveOutUnread(std::size_t l) {
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    for (const StreamRange& range : lane(l).rows) rows = std::max(rows, range.last);
    for (const StreamRange& range : lane(l).columns) columns = std::max(columns, range.last);
    const auto count = static_cast<std::int64_t>(kept_[l].rings.size());
    for (std::int64_t r = 0; r < count && r < rows; ++r) {
      StreamRing& ring = kept_[l].rings[static_cast<std::size_t>(r)];
      const std::int64_t all = (rows - 1 - r) / count * ImageOf(l).shape.width + columns;
      ring.pixels = std::clamp<std::int64_t>(ring.pixels, 1, all);
      while (ring.pixels < all && !IsLastPixelUsed(l, r, ring.pixels)) ++ring.pixels;
    }
  }

  bool IsLastPixelUsed(std::size_t l, std::int64_t r, std::int64_t pixels) const {
    const auto count = static_cast<std::int64_t>(kept_[l].rings.size());
    const std::int64_t width = ImageOf(l).shape.width;
    for (const StreamRange& rows : lane(l).rows) {
      for (std::int64_t y = rows.first; y < rows.last; ++y) {
        if (y % count != r) continue;
        for (const StreamRange& columns : lane(l).columns) {
          if (columns.empty()) continue;
          // From the first of these columns on, the distance to the last pixel.
          const std::int64_t at = (y / count * width + columns.first) % pixels;
          if (pixels - 1 - at < columns.size()) return true;
        }
      }
    }
    return false;
  }

  // An element-wise operator whose input is freed in the same block may overwrite it.
  void FindAlias(std::size_t l) {
    const Lane& to = lane(l);
    if (to.node < 0 || network_.node(to.node).in_place < 0) return;
    for (std::size_t m = 0; m < l; ++m) {
      if (lane(m).image != network_.node(to.node).in_place || IsDriver(m)) continue;
      const auto all = [](const std::vector<bool>& flags) {
        return std::find(flags.begin(), flags.end(), false) == flags.end();
      };
      const bool same =
          kept_[m].last_lane == l && all(kept_[m].in_block) && all(kept_[l].in_block) &&
          lane(m).rows == to.rows && lane(m).columns == to.columns &&
          kept_[m].rings.size() == kept_[l].rings.size() && kept_[m].columns == kept_[l].columns &&
          std::equal(kept_[m].rings.begin(), kept_[m].rings.end(), kept_[l].rings.begin(),
                     [](const auto& a, const auto& b) { return a.pixels == b.pixels; });
      if (same) alias_[l] = static_cast<int>(m);
    }
  }

  // First fit, larger ones first, of the tensors that are live from their operator to their last
  // consumer in the block.
  void PlaceInBlock() {
    struct Part {
      std::size_t lane;
      std::size_t ring;
      std::int64_t bytes;
      std::size_t first;
      std::size_t last;
      std::int64_t offset = 0;
    };
    std::vector<std::size_t> ends(Lanes());
    for (std::size_t l = 0; l < Lanes(); ++l) {
      if (IsDriver(l)) continue;
      ends[l] = kept_[l].last_lane;
      FindAlias(l);
    }
    for (std::size_t l = Lanes(); l-- > 0;) {
      if (alias_[l] >= 0) {
        auto& end = ends[static_cast<std::size_t>(alias_[l])];
        end = std::max(end, ends[l]);
      }
    }
    std::vector<Part> parts;
    for (std::size_t l = 0; l < Lanes(); ++l) {
      if (IsDriver(l) || alias_[l] >= 0) continue;
      for (std::size_t r = 0; r < kept_[l].rings.size(); ++r) {
        if (!kept_[l].in_block[r]) continue;
        parts.push_back(
            {l, r, kept_[l].rings[r].pixels * ImageOf(l).shape.pixel_bytes, l, ends[l]});
      }
    }
    std::stable_sort(parts.begin(), parts.end(),
                     [](const Part& a, const Part& b) { return a.bytes > b.bytes; });
    std::vector<Part> placed;  // by offset
    for (Part part : parts) {
      for (const Part& other : placed) {
        const bool meet = other.first <= part.last && part.first <= other.last;
        if (!meet) continue;
        if (part.offset + part.bytes <= other.offset) break;
        part.offset = std::max(part.offset, other.offset + other.bytes);
      }
      kept_[part.lane].rings[part.ring].offset = part.offset;
      placement_.block_bytes = std::max(placement_.block_bytes, part.offset + part.bytes);
      placed.insert(
          std::upper_bound(placed.begin(), placed.end(), part,
                           [](const Part& a, const Part& b) { return a.offset < b.offset; }),
          part);
    }
    for (std::size_t l = 0; l < Lanes(); ++l) {
      if (alias_[l] >= 0) kept_[l].rings = kept_[static_cast<std::size_t>(alias_[l])].rings;
    }
  }

  // How many pixels of a ring have been touched after the blocks of a row step: those of earlier
  // rows, and a row that grows with the columns.
  struct Touched {
    std::int64_t before = 0;
    std::int64_t row = -1;  // pixels in front of the row; -1: this step computes none of the ring
    std::int64_t most = 0;  // the length of the ring
    ColumnsOfRing of;
    // Behind the first `columns` columns of the row.
    std::int64_t After(std::int64_t columns) const {
      return std::min(row < 0 ? before : std::max(before, row + of.Among(columns)), most);
    }
  };
  Touched TouchedIn(std::size_t l, std::size_t r, std::size_t i) const {
    const std::int64_t most = kept_[l].rings[r].pixels;
    if (!later_[l].rings.empty() && i >= schedule_.switch_row) return {most, -1, most, {}};
    const std::int64_t apart = kept_[l].columns;
    const std::int64_t count = static_cast<std::int64_t>(kept_[l].rings.size()) / apart;
    const std::int64_t ring = static_cast<std::int64_t>(r) / apart;
    const ColumnsOfRing of{apart, static_cast<std::int64_t>(r) % apart};
    const std::int64_t width = of.PerRow(ImageOf(l).shape.width);
    const StreamRange& rows = lane(l).rows[i];
    Touched touched{0, -1, most, of};
    // The last row of the ring in front of `end`.
    const auto last_before = [&](std::int64_t end) {
      return end - 1 - (end - 1 - ring + count) % count;
    };
    const std::int64_t now = rows.empty() ? -1 : last_before(rows.last);
    if (now >= rows.first) touched.row = now / count * width;
    const std::int64_t past = rows.first > 0 ? last_before(rows.first) : -1;
    if (past >= 0) touched.before = past / count * width + width;
    return touched;
  }

  struct Ring {
    std::size_t lane;
    std::size_t ring;
    std::size_t full_at = 0;  // block in which it is full
    std::size_t dead_at = 0;  // last block in which its image is read or written
  };

  void FindRings() {
    for (std::size_t l = 0; l < Lanes(); ++l) {
      if (IsDriver(l)) continue;
      const std::size_t dead_at = LastBlockOf(l);
      for (std::size_t r = 0; r < kept_[l].rings.size(); ++r) {
        if (kept_[l].in_block[r]) continue;
        rings_.push_back({l, r, FullAt(l, r), dead_at});
      }
    }
    std::stable_sort(rings_.begin(), rings_.end(),
                     [](const Ring& a, const Ring& b) { return a.full_at < b.full_at; });
    by_death_.resize(rings_.size());
    std::iota(by_death_.begin(), by_death_.end(), std::size_t{0});
    std::stable_sort(by_death_.begin(), by_death_.end(), [&](std::size_t a, std::size_t b) {
      return rings_[a].dead_at < rings_[b].dead_at;
    });
  }

  // The block in which ring `r` of lane `l` is full; the last one where it never is. Within a row
  // step what is touched only grows.
  std::size_t FullAt(std::size_t l, std::size_t r) const {
    const std::vector<StreamRange>& columns = lane(l).columns;
    for (std::size_t i = 0; i < schedule_.row_steps; ++i) {
      const Touched touched = TouchedIn(l, r, i);
      if (touched.After(columns.back().last) < touched.most) continue;
      std::size_t j = 0;
      while (touched.After(columns[j].last) < touched.most) ++j;
      return i * schedule_.column_steps + j;
    }
    return schedule_.row_steps * schedule_.column_steps - 1;
  }

  // The last block in which somebody computes or reads pixels of lane `l`.
  std::size_t LastBlockOf(std::size_t l) const {
    std::size_t last = 0;
    const auto see = [&](const Lane& at) {
      for (std::size_t i = schedule_.row_steps; i-- > 0;) {
        if (at.rows[i].empty()) continue;
        for (std::size_t j = schedule_.column_steps; j-- > 0;) {
          if (at.columns[j].empty()) continue;
          last = std::max(last, i * schedule_.column_steps + j);
          return;
        }
      }
    };
    see(lane(l));
    for (const Use& use : UsesOf(lane(l).image)) see(lane(use.lane));
    return last;
  }

  std::int64_t BytesOf(const Ring& ring) const {
    return kept_[ring.lane].rings[ring.ring].pixels * ImageOf(ring.lane).shape.pixel_bytes;
  }

  bool IsSum(std::size_t l) const { return lane(l).node >= 0 && network_.node(lane(l).node).sums; }

  // The bytes of a driver at the end; of sums, all the time.
  std::int64_t DriverBytes(std::size_t l) const {
    const plan::StreamImage& shape = ImageOf(l).shape;
    return shape.bytes() * (IsSum(l) ? network_.node(lane(l).node).sum_bytes : 1);
  }

  // Bytes of the last driver that are stored after `block`.
  std::int64_t GrownAt(std::size_t block) const {
    if (IsSum(last_driver_)) return DriverBytes(last_driver_);
    const Lane& driver = lane(last_driver_);
    const plan::StreamImage& shape = ImageOf(last_driver_).shape;
    const std::size_t i = block / schedule_.column_steps;
    std::int64_t rows = 0;
    for (std::size_t k = 0; k < i; ++k) rows = std::max(rows, driver.rows[k].last);
    std::int64_t pixels = rows * shape.width;
    if (!driver.rows[i].empty()) {
      const StreamRange& columns = driver.columns[block % schedule_.column_steps];
      pixels = std::max(pixels, (driver.rows[i].last - 1) * shape.width + columns.last);
    }
    return pixels * shape.pixel_bytes;
  }

  // How many of the rings that are freed first should be above the drivers, where the last driver
  // grows into them when they are free, if only rings and drivers counted.
  std::size_t BestEarly() {
    const bool changes = std::any_of(later_.begin(), later_.end(),
                                     [](const Kept& kept) { return !kept.rings.empty(); });
    if (rings_.empty() || growing_.empty() || changes) return 0;
    std::int64_t drivers = 0;
    for (std::size_t l = 0; l < Lanes(); ++l) {
      if (!IsDriver(l)) continue;
      drivers += DriverBytes(l);
      if (lane(l).image == growing_.back()) last_driver_ = l;
    }
    std::int64_t below = placement_.block_bytes;
    for (const Ring& ring : rings_) below += BytesOf(ring);
    const std::int64_t others = drivers - DriverBytes(last_driver_);
    std::size_t best = 0;
    std::int64_t least = below + drivers;
    std::vector<std::int64_t> grown;
    for (std::size_t k = 1; k <= by_death_.size(); ++k) {
      const Ring& added = rings_[by_death_[k - 1]];
      below -= BytesOf(added);
      grown.push_back(GrownAt(added.dead_at));
      std::int64_t top = below + others;
      for (std::size_t e = 0; e < k; ++e) {
        top = std::max(top, below + others + grown[e]) + BytesOf(rings_[by_death_[e]]);
      }
      top = std::max(top, below + drivers);
      if (top >= least) continue;
      least = top;
      best = k;
    }
    return best;
  }

  bool EndsInSums() const {
    const int node = growing_.size() == 1 ? network_.image(growing_[0]).producer : -1;
    return node >= 0 && network_.node(node).sums;
  }

  void TryUnderInput(std::size_t early) {
    const std::int64_t without = placement_.bytes;
    std::vector<Ring> rings = rings_;
    OrderUnderInput();
    Place(0);
    if (placement_.bytes < without) return;
    rings_.swap(rings);
    sums_at_ = kNoSums;
    Place(early);
  }

  // `early`: this many of the rings that are freed first are above the drivers.
  void Place(std::size_t early) {
    placement_.planes.clear();
    std::vector<bool> above(rings_.size(), false);
    for (std::size_t e = 0; e < early; ++e) above[by_death_[e]] = true;
    PlaceRings(above);
    PlaceDrivers();
    const std::int64_t grows_from = top_ - (early > 0 ? DriverBytes(last_driver_) : 0);
    std::int64_t free_from = grows_from;
    for (std::size_t e = 0; e < early; ++e) {
      const Ring& ring = rings_[by_death_[e]];
      free_from = std::max(free_from, grows_from + GrownAt(ring.dead_at));
      kept_[ring.lane].rings[ring.ring].offset = free_from;
      free_from += BytesOf(ring);
    }
    top_ = std::max(top_, free_from);
    placement_.bytes = top_;
    PlacePlanes();
  }

  // Those that are full later are higher: by then more of the input has been freed.
  void PlaceRings(const std::vector<bool>& above) {
    top_ = placement_.block_bytes;
    for (std::size_t k = 0; k <= rings_.size(); ++k) {
      if (k == sums_at_) PlaceSums();
      if (k == rings_.size() || above[k]) continue;
      const Ring& ring = rings_[k];
      kept_[ring.lane].rings[ring.ring].offset = top_;
      top_ += BytesOf(ring);
    }
    drivers_from_ = top_;
    for (std::size_t l = 0; l < Lanes(); ++l) {
      for (StreamRing& place : later_[l].rings) {
        place.offset = top_;
        top_ += place.pixels * ImageOf(l).shape.pixel_bytes;
      }
    }
    placement_.kept_bytes = top_ - placement_.block_bytes;
  }

  void PlaceSums() {
    for (std::size_t l = 0; l < Lanes(); ++l) {
      if (!IsDriver(l)) continue;
      top_ = Aligned(top_);
      kept_[l].rings = {{top_, network_.Pixels(lane(l).image)}};
      top_ += DriverBytes(l);
    }
  }

  // Aligned like sums.
  static std::int64_t Aligned(std::int64_t offset) {
    return (offset + kSumAlignment - 1) / kSumAlignment * kSumAlignment;
  }

  void PlaceDrivers() {
    if (sums_at_ != kNoSums) return;
    for (const int image : growing_) {
      for (std::size_t l = 0; l < Lanes(); ++l) {
        if (lane(l).image != image) continue;
        // They move for rows that begin to be kept.
        const bool moves = top_ != drivers_from_;
        if (IsSum(l)) {
          drivers_from_ = Aligned(drivers_from_);
          top_ = Aligned(top_);
        }
        kept_[l].rings = {{drivers_from_, network_.Pixels(image)}};
        if (moves) later_[l].rings = {{top_, network_.Pixels(image)}};
        drivers_from_ += DriverBytes(l);
        top_ += DriverBytes(l);
      }
    }
  }

  // The least offset of `image` at which it stays above what is written below it.
  std::int64_t AboveOf(int image) const {
    const Dying dying = reads_.DyingOf(image);
    InputFloor floor{dying, network_.image(image).shape.pixel_bytes, placement_.block_bytes};
    for (const Ring& ring : rings_) {
      KeepAbove(ring, kept_[ring.lane].rings[ring.ring].offset, &floor);
    }
    for (std::size_t l = 0; l < Lanes(); ++l) {
      if (IsDriver(l)) continue;
      for (const StreamRing& place : later_[l].rings) {
        floor.Keep(place.offset + place.pixels * ImageOf(l).shape.pixel_bytes,
                   floor.Dead(0, schedule_.switch_row, 0));
      }
    }
    for (std::size_t l = 0; l < Lanes(); ++l) {
      if (!IsDriver(l)) continue;
      const std::int64_t offset = kept_[l].rings[0].offset;
      if (WritesInPlace(l, image)) {
        floor.least = std::max(floor.least, offset);
      } else {
        KeepAboveDriver(l, offset, &floor);
      }
    }
    return floor.least;
  }

  void KeepAbove(const Ring& ring, std::int64_t offset, InputFloor* floor) const {
    const std::int64_t bytes = ImageOf(ring.lane).shape.pixel_bytes;
    const std::vector<StreamRange>& columns = lane(ring.lane).columns;
    const std::size_t last_row = ring.full_at / schedule_.column_steps;
    const std::int64_t end = offset + BytesOf(ring);
    for (std::size_t i = 0; i <= last_row; ++i) {
      // What is dead only grows: from here on even the whole ring stays below.
      if (!floor->MayRise(ring.lane, i, end)) break;
      const Touched touched = TouchedIn(ring.lane, ring.ring, i);
      const std::size_t blocks =
          i == last_row ? ring.full_at % schedule_.column_steps + 1 : schedule_.column_steps;
      const auto end_of = [&](std::size_t j) {
        const std::int64_t pixels = touched.After(columns[j].last);
        return pixels > 0 ? offset + pixels * bytes : -kNever;
      };
      floor->KeepRow(ring.lane, i, blocks, end_of(blocks - 1), end_of);
    }
  }

  void KeepAboveDriver(std::size_t l, std::int64_t offset, InputFloor* floor) const {
    const plan::StreamImage& shape = ImageOf(l).shape;
    const bool moves = !later_[l].rings.empty();
    const std::vector<StreamRange>& columns = lane(l).columns;
    for (std::size_t i = 0; i < schedule_.row_steps; ++i) {
      const StreamRange& rows = lane(l).rows[i];
      if (moves && i == schedule_.switch_row) {
        offset = later_[l].rings[0].offset;
        if (rows.first > 0) {
          floor->Keep(
              offset + (IsSum(l) ? DriverBytes(l) : rows.first * shape.width * shape.pixel_bytes),
              floor->Dead(0, i, 0));
        }
      }
      if (rows.empty()) continue;
      const auto end_at = [&](std::int64_t column) {
        const std::int64_t end = (rows.last - 1) * shape.width + column;
        return offset + (IsSum(l) ? DriverBytes(l) : end * shape.pixel_bytes);
      };
      floor->KeepRow(l, i, schedule_.column_steps, end_at(shape.width), [&](std::size_t j) {
        return columns[j].empty() ? -kNever : end_at(columns[j].last);
      });
    }
  }

  // The order of rings, and of sums among them, in which the lowest shrinking input is the lowest:
  // each of two neighbours may be the lower one, and the other is then above the bytes of it.
  void OrderUnderInput() {
    const int input = DyingInOrder()[0];
    const Dying dying = reads_.DyingOf(input);
    const std::int64_t pixel = network_.image(input).shape.pixel_bytes;
    std::vector<std::pair<std::int64_t, Ring>> keyed;  // by the input above, less the own bytes
    for (const Ring& ring : rings_) {
      InputFloor floor{dying, pixel, -kNever};
      KeepAbove(ring, 0, &floor);
      keyed.emplace_back(floor.least - BytesOf(ring), ring);
    }
    std::stable_sort(keyed.begin(), keyed.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    for (std::size_t k = 0; k < rings_.size(); ++k) rings_[k] = keyed[k].second;
    sums_at_ = kNoSums;
    for (std::size_t l = 0; l < Lanes(); ++l) {
      if (!IsDriver(l) || !later_[l].rings.empty()) continue;
      InputFloor floor{dying, pixel, -kNever};
      KeepAboveDriver(l, 0, &floor);
      const std::int64_t key = floor.least - DriverBytes(l);
      const auto above = std::find_if(keyed.begin(), keyed.end(),
                                      [&](const auto& other) { return other.first < key; });
      sums_at_ = static_cast<std::size_t>(above - keyed.begin());
    }
  }

  // The driver's operator is the only consumer of `image`, and may overwrite it; no other tensor is
  // in between, so the two have the same place.
  bool WritesInPlace(std::size_t l, int image) const {
    return growing_.size() == 1 && schedule_.dying.size() == 1 && lane(l).node >= 0 &&
           later_[l].rings.empty() && network_.node(lane(l).node).in_place == image &&
           UsesOf(image).size() == 1;
  }

  // The lowest one first.
  std::vector<int> DyingInOrder() const {
    std::vector<int> dying = schedule_.dying;
    const auto streams = [&](int image) {
      const auto& uses = UsesOf(image);
      return std::all_of(uses.begin(), uses.end(),
                         [](const Use& use) { return use.rows.scale != 0; });
    };
    std::stable_sort(dying.begin(), dying.end(), [&](int a, int b) {
      if (streams(a) != streams(b)) return streams(a);
      const std::int64_t more = network_.image(a).shape.bytes() - network_.image(b).shape.bytes();
      return reversed_ ? more < 0 : more > 0;
    });
    return dying;
  }

  void PlacePlanes() {
    const std::vector<int> dying = DyingInOrder();
    placement_.dying = dying.size();
    std::int64_t free_from = 0;  // above the planes so far
    const auto place = [&](int image, std::int64_t offset) {
      placement_.planes.push_back({image, {{offset, network_.Pixels(image)}}});
      free_from = offset + network_.image(image).shape.bytes();
      placement_.bytes = std::max(placement_.bytes, free_from);
    };
    for (const int image : dying) place(image, std::max(free_from, AboveOf(image)));
    free_from = std::max(free_from, top_);
    for (const int image : schedule_.held) place(image, free_from);
  }

  void Collect() {
    for (std::size_t l = 0; l < Lanes(); ++l) {
      placement_.lanes.push_back({lane(l).image, kept_[l].rings, kept_[l].columns});
      if (later_[l].rings.empty()) continue;
      placement_.later.push_back({lane(l).image, later_[l].rings, later_[l].columns});
    }
  }

  const Network& network_;
  const BlockSchedule& schedule_;
  bool reversed_;
  Readers reads_;
  std::vector<int> growing_;           // drivers that are stored as a whole
  std::vector<Kept> kept_;             // of each lane
  std::vector<Kept> later_;            // of those that change when rows begin to be kept
  std::vector<int> alias_;             // the lane whose place it takes; -1: none
  std::vector<Ring> rings_;            // those kept beyond a block
  std::vector<std::size_t> by_death_;  // their indices, those freed first come first
  static constexpr std::size_t kNoSums = std::numeric_limits<std::size_t>::max();
  std::size_t sums_at_ = kNoSums;  // so many rings are below the sums; none: all
  std::size_t last_driver_ = 0;    // lane of the highest driver
  std::int64_t top_ = 0;           // end of rings and drivers
  std::int64_t drivers_from_ = 0;  // their place until rows begin to be kept
  SegmentPlacement placement_;
};

}  // namespace

SegmentPlacement PlaceSegment(const Network& network, const BlockSchedule& schedule,
                              bool reversed) {
  return SegmentPlacer(network, schedule, reversed).Make();
}

}  // namespace neap::stream
