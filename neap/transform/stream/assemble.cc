// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/stream/assemble.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "neap/base/check.h"

namespace neap::stream {
namespace {

using plan::StreamInput;
using plan::StreamMove;

// A whole tensor in the arena.
struct Plane {
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::int64_t bytes = 0;
  int image = -1;
  bool stepped_aside = false;
};

bool Meet(std::int64_t a, std::int64_t a_bytes, std::int64_t b, std::int64_t b_bytes) {
  return a < b + b_bytes && b < a + a_bytes;
}

// Copies that bring all planes from where they are to where they shall be.
class Mover {
 public:
  Mover(const Network& network, std::vector<Plane> planes, std::int64_t height)
      : network_(network), planes_(std::move(planes)), height_(height) {}

  std::vector<StreamMove> Plan() {
    while (true) {
      std::vector<std::size_t> waiting;
      for (std::size_t p = 0; p < planes_.size(); ++p) {
        if (planes_[p].from != planes_[p].to) waiting.push_back(p);
      }
      if (waiting.empty()) return std::move(moves_);
      const auto ready = std::find_if(waiting.begin(), waiting.end(),
                                      [&](std::size_t p) { return IsFree(planes_[p].to, p); });
      if (ready != waiting.end()) {
        MoveTo(*ready, planes_[*ready].to);
      } else {
        StepAside(waiting);
      }
    }
  }

  std::int64_t height() const { return height_; }
  std::int64_t copied_bytes() const { return copied_bytes_; }

 private:
  bool IsFree(std::int64_t offset, std::size_t self) const {
    for (std::size_t p = 0; p < planes_.size(); ++p) {
      if (p != self && Meet(offset, planes_[self].bytes, planes_[p].from, planes_[p].bytes)) {
        return false;
      }
    }
    return true;
  }

  // The smallest one that blocks another one moves to the highest gap where it blocks none, or on
  // top of all.
  void StepAside(const std::vector<std::size_t>& waiting) {
    std::size_t smallest = planes_.size();
    for (const std::size_t p : waiting) {
      if (planes_[p].stepped_aside) continue;
      if (smallest == planes_.size() || planes_[p].bytes < planes_[smallest].bytes) smallest = p;
    }
    NEAP_CHECK(smallest < planes_.size(), "planes wait for each other in a circle");
    planes_[smallest].stepped_aside = true;
    const std::int64_t bytes = planes_[smallest].bytes;
    std::vector<std::int64_t> places = {height_ - bytes};
    for (const Plane& plane : planes_) {
      places.push_back(plane.from - bytes);
      places.push_back(plane.to - bytes);
    }
    std::sort(places.rbegin(), places.rend());
    for (const std::int64_t place : places) {
      if (place < 0 || place + bytes > height_ || !IsFree(place, smallest)) continue;
      const bool wanted = std::any_of(planes_.begin(), planes_.end(), [&](const Plane& plane) {
        return plane.image != planes_[smallest].image && Meet(place, bytes, plane.to, plane.bytes);
      });
      if (!wanted) return MoveTo(smallest, place);
    }
    std::int64_t top = 0;
    for (const Plane& plane : planes_) {
      top = std::max({top, plane.from + plane.bytes, plane.to + plane.bytes});
    }
    height_ = std::max(height_, top + bytes);
    MoveTo(smallest, top);
  }

  void MoveTo(std::size_t p, std::int64_t offset) {
    moves_.push_back({network_.image(planes_[p].image).tensor, planes_[p].from, offset});
    planes_[p].from = offset;
    copied_bytes_ += planes_[p].bytes;
  }

  const Network& network_;
  std::vector<Plane> planes_;
  std::int64_t height_;
  std::int64_t copied_bytes_ = 0;
  std::vector<StreamMove> moves_;
};

// The same placement with the tensors that only pass through in another place: on top, or below all
// others. In their present order, so that none has to move past another.
std::vector<SegmentPlacement> Arranged(const Network& network, const SegmentPlacement& placement,
                                       const std::map<int, std::int64_t>& places) {
  std::vector<Placed> held(placement.planes.begin() + static_cast<std::ptrdiff_t>(placement.dying),
                           placement.planes.end());
  if (held.empty()) return {placement};
  std::int64_t from = held[0].rings[0].offset;
  for (const Placed& placed : held) from = std::min(from, placed.rings[0].offset);
  const auto place_of = [&](const Placed& placed) {
    const auto at = places.find(placed.image);
    return at == places.end() ? std::int64_t{0} : at->second;
  };
  std::stable_sort(held.begin(), held.end(),
                   [&](const Placed& a, const Placed& b) { return place_of(a) < place_of(b); });
  const auto pile_up = [&](std::int64_t at, SegmentPlacement* result) {
    result->planes.resize(placement.dying);
    for (Placed placed : held) {
      placed.rings[0].offset = at;
      at += network.image(placed.image).shape.bytes();
      result->planes.push_back(placed);
    }
    return at;
  };
  std::vector<SegmentPlacement> both(2, placement);
  pile_up(from, &both[0]);
  // Sums stay at offsets that are aligned to 32 bits.
  std::int64_t shift = pile_up(0, &both[1]);
  shift = (shift + kSumAlignment - 1) / kSumAlignment * kSumAlignment;
  SegmentPlacement& above = both[1];
  for (auto* list : {&above.lanes, &above.later}) {
    for (Placed& placed : *list) {
      for (plan::StreamRing& ring : placed.rings) ring.offset += shift;
    }
  }
  for (std::size_t p = 0; p < placement.dying; ++p) above.planes[p].rings[0].offset += shift;
  above.plane_offset += shift;
  above.bytes = std::max(shift, from + shift);
  for (std::size_t p = 0; p < placement.dying; ++p) {
    const Placed& placed = above.planes[p];
    above.bytes =
        std::max(above.bytes, placed.rings[0].offset + network.image(placed.image).shape.bytes());
  }
  return both;
}

// Whether a segment stores a lane as a tensor, all pixels and no sums: it may be anywhere then.
bool IsWhole(const Network& network, const Placed& lane, bool whole_segment) {
  const int producer = network.image(lane.image).producer;
  const bool sums = !whole_segment && producer >= 0 && network.node(producer).sums;
  return !sums && lane.rings.size() == 1 && lane.rings[0].pixels == network.Pixels(lane.image);
}

// The lowest offset below `height` where `bytes` bytes meet none of `taken`; -1: none.
std::int64_t LowestGap(std::vector<std::pair<std::int64_t, std::int64_t>> taken, std::int64_t bytes,
                       std::int64_t height) {
  std::sort(taken.begin(), taken.end());
  std::int64_t at = 0;
  for (const auto& [from, to] : taken) {
    if (at + bytes <= from) break;
    at = std::max(at, to);
  }
  return at + bytes <= height ? at : -1;
}

// The same segment without a copy before it: tensors stay where they are, and its lanes, all of
// them whole, are in gaps below `height`. nullopt: it has rings, or there is no gap. Not for a
// segment that runs by channel, whose plane has a place of its own.
std::optional<SegmentPlacement> Staying(const Network& network, SegmentPlacement placement,
                                        const std::map<int, std::int64_t>& places,
                                        bool whole_segment, std::int64_t height) {
  if (!placement.later.empty()) return std::nullopt;
  std::vector<std::pair<std::int64_t, std::int64_t>> taken;
  std::map<std::int64_t, int> planes;  // of the given placement, by offset
  for (std::size_t p = 0; p < placement.planes.size(); ++p) {
    Placed& placed = placement.planes[p];
    const auto at = places.find(placed.image);
    if (at == places.end()) return std::nullopt;
    if (p < placement.dying) planes[placed.rings[0].offset] = placed.image;
    placed.rings[0].offset = at->second;
    taken.emplace_back(at->second, at->second + network.image(placed.image).shape.bytes());
  }
  for (Placed& lane : placement.lanes) {
    if (!IsWhole(network, lane, whole_segment)) return std::nullopt;
    const std::int64_t bytes = network.image(lane.image).shape.bytes();
    // In the place of an input of equal size.
    const auto over = planes.find(lane.rings[0].offset);
    if (over != planes.end() && network.image(over->second).shape.bytes() == bytes) {
      lane.rings[0].offset = places.at(over->second);
      continue;
    }
    lane.rings[0].offset = LowestGap(taken, bytes, height);
    if (lane.rings[0].offset < 0) return std::nullopt;
    taken.emplace_back(lane.rings[0].offset, lane.rings[0].offset + bytes);
  }
  placement.bytes = 0;
  for (const auto& [from, to] : taken) placement.bytes = std::max(placement.bytes, to);
  return placement;
}

class Assembler {
 public:
  Assembler(const Network& network, const std::vector<SegmentChoice>& segments, StreamInput input)
      : network_(network), segments_(segments), input_(input) {}

  // Tensors that stay where they are save copies, but may be in the way of later segments.
  Assembled Make(bool may_stay) {
    for (const SegmentChoice& choice : segments_) AddPart(choice);
    Assembled moving = MakeWith(false);
    if (!may_stay) return moving;
    Assembled staying = MakeWith(true);
    const bool better = staying.arena_bytes != moving.arena_bytes
                            ? staying.arena_bytes < moving.arena_bytes
                            : staying.stream.cycles < moving.stream.cycles;
    return better ? std::move(staying) : std::move(moving);
  }

 private:
  Assembled MakeWith(bool stays) {
    stays_ = stays;
    result_ = {};
    places_.clear();
    result_.heights.assign(network_.images.size(), 1);
    // Copies last: they may use the memory of the highest segment.
    result_.arena_bytes = 0;
    std::int64_t touched = 0;
    for (const Part& part : parts_) {
      result_.arena_bytes = std::max(result_.arena_bytes, part.placements[0].bytes);
    }
    for (std::size_t s = 0; s < parts_.size(); ++s) {
      const Part& part = parts_[s];
      std::vector<StreamMove> moves;
      const SegmentPlacement placement = Choose(part, s > 0, &moves);
      const std::size_t start = result_.stream.segments.size();
      part.choice->whole ? EmitWhole(part, placement) : EmitStreamed(part, placement);
      touched = std::max(touched, placement.bytes);
      for (const StreamMove& move : moves) touched = std::max(touched, CountMove(placement, move));
      result_.stream.segments[start].moves = std::move(moves);
      Leave(part, placement);
    }
    // The highest segment may have been laid out lower than the search did.
    result_.arena_bytes = touched;
    result_.stream.cycles += ConversionCycles(network_);
    result_.stream.input = input_;
    result_.stream.layerwise_macs = network_.macs;
    result_.stream.layerwise_cycles = network_.cycles;
    return std::move(result_);
  }

  // A segment before its place is known.
  struct Part {
    const SegmentChoice* choice = nullptr;
    BlockSchedule schedule;
    std::vector<SegmentPlacement> placements;  // the first is the one of the search
    std::vector<int> leaves;                   // images
  };

  void AddPart(const SegmentChoice& choice) {
    Part part;
    part.choice = &choice;
    if (choice.whole) {
      part.placements.push_back(choice.by_channel ? PlaceChannels(network_, choice.first, input_)
                                                  : PlaceWhole(network_, choice.first, input_));
      part.leaves = network_.node(choice.first).outputs;
    } else {
      part.schedule = MakeBlockSchedule(network_, choice, input_);
      part.placements.push_back(PlaceSegment(network_, part.schedule));
      if (part.placements[0].dying > 1) {
        part.placements.push_back(PlaceSegment(network_, part.schedule, true));
      }
      part.leaves = part.schedule.drivers;
    }
    parts_.push_back(std::move(part));
  }

  // Of the placements that fit, the one that is reached within the arena, with the fewest bytes
  // copied.
  SegmentPlacement Choose(const Part& part, bool moves_planes, std::vector<StreamMove>* moves) {
    SegmentPlacement best;
    std::int64_t best_height = -1;
    std::int64_t best_copied = 0;
    for (const SegmentPlacement& given : part.placements) {
      std::vector<SegmentPlacement> arranged = Arranged(network_, given, places_);
      if (stays_ && moves_planes && !part.choice->by_channel) {
        auto staying = Staying(network_, given, places_, part.choice->whole, result_.arena_bytes);
        if (staying) arranged.push_back(*std::move(staying));
      }
      for (const SegmentPlacement& placement : arranged) {
        if (placement.bytes > result_.arena_bytes) continue;
        std::vector<Plane> planes;
        for (const Placed& placed : placement.planes) {
          if (network_.image(placed.image).slow) continue;  // read after the copies
          const std::int64_t to = placed.rings[0].offset;
          const auto from = places_.find(placed.image);
          const bool is_new = !moves_planes || from == places_.end();
          planes.push_back({is_new ? to : from->second, to,
                            network_.image(placed.image).shape.bytes(), placed.image});
        }
        Mover mover(network_, std::move(planes), result_.arena_bytes);
        std::vector<StreamMove> found = mover.Plan();
        const std::int64_t copied = mover.copied_bytes();
        const bool better = best_height < 0 || mover.height() < best_height ||
                            (mover.height() == best_height && copied < best_copied);
        if (!better) continue;
        best = placement;
        best_height = mover.height();
        best_copied = copied;
        *moves = std::move(found);
      }
    }
    result_.arena_bytes = std::max(result_.arena_bytes, best_height);
    return best;
  }

  // Where the copy ends.
  std::int64_t CountMove(const SegmentPlacement& placement, const StreamMove& move) {
    std::int64_t end = 0;
    for (const Placed& placed : placement.planes) {
      const Image& image = network_.image(placed.image);
      if (image.tensor != move.tensor) continue;
      result_.stream.cycles += CopyCycles(network_, image.shape.bytes());
      end = std::max(end, move.to + image.shape.bytes());
    }
    return end;
  }

  // Where things are when the segment has run.
  void Leave(const Part& part, const SegmentPlacement& placement) {
    places_.clear();
    for (const Placed& placed : placement.planes) {
      if (!network_.image(placed.image).slow) places_[placed.image] = placed.rings[0].offset;
    }
    for (const Placed& placed : placement.lanes) {
      if (network_.image(placed.image).slow) continue;
      const bool left =
          std::find(part.leaves.begin(), part.leaves.end(), placed.image) != part.leaves.end();
      if (left) places_[placed.image] = placed.rings[0].offset;
    }
    for (const Placed& placed : placement.later) {
      const auto at = places_.find(placed.image);
      if (at != places_.end()) at->second = placed.rings[0].offset;
    }
  }

  void AddAreas(const SegmentPlacement& placement, plan::StreamSegment* segment) {
    for (const auto* list : {&placement.lanes, &placement.planes}) {
      for (const Placed& placed : *list) {
        const graph::TensorId tensor = network_.image(placed.image).tensor;
        if (tensor.valid()) segment->areas.push_back({tensor, placed.rings, placed.columns});
      }
    }
  }

  // The states of the operators of a streamed segment, which are planes.
  void AddStates(const BlockSchedule& schedule, const SegmentPlacement& placement,
                 plan::StreamSegment* segment) {
    for (const Lane& lane : schedule.lanes) {
      const int state = lane.node < 0 ? -1 : network_.node(lane.node).state;
      for (const Placed& placed : placement.planes) {
        if (state < 0 || placed.image != state) continue;
        segment->states.push_back({network_.node(lane.node).op, placed.rings[0].offset});
      }
    }
  }

  void EmitWhole(const Part& part, const SegmentPlacement& placement) {
    const Node& node = network_.node(part.choice->first);
    plan::StreamSegment segment;
    segment.whole = true;
    segment.ops.push_back({node.op, {}, false, {}, {}, node.output});
    const std::int64_t pixels = PixelsOf(network_, node);
    result_.stream.macs += pixels * node.macs_per_pixel;
    result_.stream.cycles += WholeCycles(network_, node);
    if (part.choice->by_channel) {
      segment.channel_plane = placement.plane_offset;
      result_.stream.cycles += ChannelCycles(network_, node);
    }
    for (const int image : node.outputs) {
      result_.heights[static_cast<std::size_t>(image)] = network_.image(image).shape.height;
    }
    AddAreas(placement, &segment);
    result_.stream.segments.push_back(std::move(segment));
  }

  void EmitStreamed(const Part& part, const SegmentPlacement& placement) {
    const BlockSchedule& schedule = part.schedule;
    plan::StreamSegment segment;
    for (const Lane& lane : schedule.lanes) {
      plan::StreamOp op;
      if (lane.node >= 0) {
        op.op = network_.node(lane.node).op;
        op.output = network_.node(lane.node).output;
        op.sums = network_.node(lane.node).sums;
      } else {
        op.fed = network_.image(lane.image).tensor;
        op.ahead = lane.ahead;
      }
      std::int64_t& height = result_.heights[static_cast<std::size_t>(lane.image)];
      for (const plan::StreamRange& rows : lane.rows) height = std::max(height, rows.size());
      op.rows = lane.rows;
      op.columns = lane.columns;
      segment.ops.push_back(std::move(op));
    }
    result_.stream.macs += schedule.macs;
    result_.stream.cycles += schedule.cycles;
    AddAreas(placement, &segment);
    AddStates(schedule, placement, &segment);
    const std::size_t change = schedule.switch_row;
    if (change == 0 || change >= schedule.row_steps) {
      result_.stream.segments.push_back(std::move(segment));
      return;
    }
    plan::StreamSegment later = LaterOf(&segment, placement, schedule);
    result_.stream.segments.push_back(std::move(segment));
    result_.stream.segments.push_back(std::move(later));
  }

  // Rows begin to be kept: recomputed images have another place from there on, all others stay.
  plan::StreamSegment LaterOf(plan::StreamSegment* segment, const SegmentPlacement& placement,
                              const BlockSchedule& schedule) const {
    plan::StreamSegment later = *segment;
    for (std::size_t l = 0; l < segment->ops.size(); ++l) {
      const auto at = static_cast<std::ptrdiff_t>(schedule.switch_row);
      auto& before = segment->ops[l].rows;
      before.erase(before.begin() + at, before.end());
      auto& after = later.ops[l].rows;
      after.erase(after.begin(), after.begin() + at);
    }
    for (const Placed& placed : placement.later) {
      for (plan::StreamArea& area : later.areas) {
        if (area.tensor != network_.image(placed.image).tensor) continue;
        const auto& left = schedule.drivers;
        if (std::find(left.begin(), left.end(), placed.image) != left.end()) {
          later.moves.push_back({area.tensor, area.rings[0].offset, placed.rings[0].offset});
        }
        area.rings = placed.rings;
        area.columns = placed.columns;
      }
    }
    // Upwards: the highest first.
    std::sort(later.moves.begin(), later.moves.end(),
              [](const StreamMove& a, const StreamMove& b) { return a.from > b.from; });
    return later;
  }

  const Network& network_;
  const std::vector<SegmentChoice>& segments_;
  StreamInput input_;
  std::vector<Part> parts_;
  bool stays_ = false;
  std::map<int, std::int64_t> places_;  // of images between segments
  Assembled result_;
};

}  // namespace

Assembled Assemble(const Network& network, const std::vector<SegmentChoice>& segments,
                   StreamInput input, bool may_stay) {
  return Assembler(network, segments, input).Make(may_stay);
}

}  // namespace neap::stream
