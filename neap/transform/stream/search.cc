// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/stream/search.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "neap/base/work.h"
#include "neap/transform/stream/edges.h"

namespace neap::stream {
namespace {

using plan::StreamInput;

constexpr int kMaxRounds = 4;
constexpr int kMaxBases = 60;
constexpr int kMaxRecomputed = 6;
constexpr int kMaxPolishing = 8;
constexpr std::int64_t kWorthwhileShare = 1024;
constexpr int kAlways = 256;    // SegmentChoice::switch_step
constexpr int kSwitchStep = 8;  // of 256
// Of a segment's output, as fractions.
constexpr std::pair<int, int> kRowBlocks[] = {{1, 4}, {1, 2}, {1, 1}, {2, 1}, {4, 1}};
constexpr std::pair<int, int> kColumnBlocks[] = {{1, 4}, {1, 2}, {1, 1}, {2, 1}, {4, 1}};
constexpr std::int64_t kInfinite = Edges::kInfinite;

// saved / work > other_saved / other_work, exactly.
bool MoreFor(std::int64_t saved, std::int64_t work, std::int64_t other_saved,
             std::int64_t other_work) {
  return static_cast<__int128>(saved) * other_work > static_cast<__int128>(other_saved) * work;
}

class Searcher {
 public:
  Searcher(const Network& network, const SearchOptions& options, std::int64_t most_macs,
           Prices* prices)
      : network_(network),
        options_(options),
        prices_(*prices),
        size_(static_cast<int>(network.nodes.size())),
        edges_(network.nodes.size(), options.objective),
        floors_(BytesBetween(network, options.input)) {
    FindRepeated();
    FindSpareMacs(most_macs);
  }

  Front Run() {
    for (int n = 0; n < size_; ++n) AddWhole(n);
    for (int n = 0; n < size_; ++n) AddStretch(n, n + 1);
    best_bytes_ = edges_.ShortestWithin(kInfinite).second;
    TightenBest();
    AddStretches();
    if (options_.recompute && !IsNearFloor()) {
      Recompute();
      Polish();
    }
    if (options_.processor != Processor::kCortexM7) KeepKnown();
    Sweep();
    front_.cut_short = Stopped();
    return std::move(front_);
  }

 private:
  // In about nanoseconds, of a placement: for each node of a small image, and for each step of the
  // rows and columns of a lane where there are more of them.
  static constexpr std::int64_t kNodeWork = 2'500;
  static constexpr std::int64_t kStepWork = 30;

  bool Stopped() const {
    return front_.placements >= options_.max_placements || IsOver(options_.limits);
  }

  void ReportProgress() {
    if (!options_.limits.observer || best_bytes_ == kInfinite) return;
    const auto now = LimitNow();
    if (now - reported_ < std::chrono::milliseconds(100)) return;
    reported_ = now;
    options_.limits.observer({best_bytes_, 0, front_.placements});
  }

  // Rows that come one after the other are taken by segments that stream.
  bool ReadsFed(int n) const {
    if (options_.input != StreamInput::kRows) return false;
    const auto& reads = network_.node(n).reads;
    return std::any_of(reads.begin(), reads.end(), [&](const Read& read) {
      return network_.image(read.image).is_input && network_.image(read.image).readers[0] == n;
    });
  }

  void AddWhole(int n) {
    if (ReadsFed(n)) return;
    Edge edge;
    edge.choice.first = n;
    edge.choice.last = n + 1;
    edge.choice.whole = true;
    edge.bytes = PlaceWhole(network_, n, options_.input).bytes;
    const SegmentPlacement by_channel = PlaceChannels(network_, n, options_.input);
    const Node& node = network_.node(n);
    const std::int64_t pixels = PixelsOf(network_, node);
    edge.macs = pixels * node.macs_per_pixel;
    edge.cycles = WholeCycles(network_, node);
    edges_.Keep(edge);
    if (by_channel.bytes == 0) return;
    edge.choice.by_channel = true;
    edge.bytes = by_channel.bytes;
    edge.cycles += node.outputs.empty() ? 0 : ChannelCycles(network_, node);
    edges_.Keep(std::move(edge));
  }

  // False: it cannot be streamed.
  bool PriceOf(const SegmentChoice& choice, Edge* edge) {
    ++front_.placements;
    ReportProgress();
    const auto [at, is_new] = prices_.try_emplace(choice);
    Price& price = at->second;
    if (is_new) {
      const BlockSchedule schedule = MakeBlockSchedule(network_, choice, options_.input, &columns_);
      const auto steps = static_cast<std::int64_t>(schedule.lanes.size() *
                                                   (schedule.row_steps + schedule.column_steps));
      ChargeWork(std::max((choice.last - choice.first + 1) * kNodeWork, steps * kStepWork));
      if (schedule.valid) {
        price = {true, PlaceSegment(network_, schedule).bytes, schedule.macs, schedule.cycles};
      }
    }
    if (!price.streams) return false;
    *edge = {price.bytes, price.macs, price.cycles, choice};
    return true;
  }

  std::vector<std::pair<std::int64_t, std::int64_t>> ColumnBlocks(const plan::StreamImage& driver,
                                                                  bool whole_columns) const {
    const std::int64_t width = driver.width;
    if (options_.column_block == kFullRow || whole_columns) return {{width, 1}};
    if (options_.column_block > 0) return {{std::min(options_.column_block, width), 1}};
    std::vector<std::pair<std::int64_t, std::int64_t>> blocks = {{1, 1}};
    if (width > 1) blocks.emplace_back(std::min<std::int64_t>(4, width), 1);
    return blocks;
  }

  bool HasWholeColumns(int first, int last) const {
    for (int n = first; n < last; ++n) {
      if (network_.node(n).whole_columns) return true;
    }
    return false;
  }

  void FindSpareMacs(std::int64_t most_macs) {
    plain_macs_.push_back(0);
    for (const Node& node : network_.nodes) {
      plain_macs_.push_back(plain_macs_.back() + PixelsOf(network_, node) * node.macs_per_pixel);
    }
    spare_macs_ = std::max<std::int64_t>(most_macs - plain_macs_.back(), 0);
  }

  // One row of these pixels computed again is more work than any plan may do.
  bool IsTooMuchAgain(const Lane& lane) const {
    const Node& node = network_.node(lane.node);
    return BoxesOf(network_, lane).width * node.macs_per_pixel > spare_macs_;
  }

  // No plan with this segment is within the work.
  bool IsTooMuch(const Edge& edge) const {
    const SegmentChoice& choice = edge.choice;
    const std::int64_t plain = plain_macs_[static_cast<std::size_t>(choice.last)] -
                               plain_macs_[static_cast<std::size_t>(choice.first)];
    return edge.macs - plain > spare_macs_;
  }

  // Tensors that are computed again.
  void FindRepeated() {
    std::map<graph::TensorId, int> last_use;
    for (const Image& image : network_.images) {
      const auto [at, is_new] = last_use.try_emplace(image.tensor, image.last_use);
      if (is_new) continue;
      repeated_.push_back({image.producer, at->second});
      at->second = image.last_use;
    }
  }

  // Whether a segment of nodes [first, last) computes a tensor again and needs its first values,
  // too: a segment has one place for a tensor.
  bool NeedsTwoPlaces(int first, int last) const {
    return std::any_of(repeated_.begin(), repeated_.end(), [&](const Repeated& again) {
      return again.producer >= first && again.producer < last && again.last_use_before >= first;
    });
  }

  // Nodes [first, last) in every block size; false: they cannot be streamed.
  bool AddStretch(int first, int last) {
    if (NeedsTwoPlaces(first, last)) return false;
    SegmentChoice choice;
    choice.first = first;
    choice.last = last;
    bool any = false;
    if (!network_.node(last - 1).streams) return false;
    const plan::StreamImage& driver = BoxesOf(network_, network_.node(last - 1));
    for (const auto& [columns, parts] : ColumnBlocks(driver, HasWholeColumns(first, last))) {
      for (const auto& [rows, row_parts] : {std::pair{1, 1}, std::pair{2, 1}, std::pair{1, 2}}) {
        choice.column_block = columns;
        choice.column_parts = parts;
        choice.row_block = rows;
        choice.row_parts = row_parts;
        Edge edge;
        if (Stopped() || !PriceOf(choice, &edge)) return any;
        any = true;
        // No other blocks make half of it.
        const bool hopeless = best_bytes_ < kInfinite && edge.bytes / 2 > best_bytes_;
        edges_.Keep(std::move(edge));
        if (hopeless) return any;
        if (driver.height == 1) break;
      }
    }
    return any;
  }

  void AddStretches() {
    for (int span = 2; span <= size_ && !Stopped(); ++span) {
      for (int first = 0; first + span <= size_ && !Stopped(); ++first) {
        const int last = first + span;
        if (floors_[static_cast<std::size_t>(first)] > best_bytes_ ||
            floors_[static_cast<std::size_t>(last)] > best_bytes_) {
          continue;
        }
        const bool streams = [&] {
          for (int n = first; n < last; ++n) {
            if (!network_.node(n).streams) return false;
          }
          return true;
        }();
        if (streams) AddStretch(first, last);
      }
      TightenBest();
    }
  }

  void TightenBest() {
    for (;;) {
      const auto [cost, bytes] = edges_.ShortestWithin(best_bytes_ - 1);
      if (cost >= kInfinite) return;
      best_bytes_ = bytes;
    }
  }

  // Every plan has all inputs before the first node and all outputs behind the last one: none is
  // smaller by a part that rows computed again would be worth.
  bool IsNearFloor() const {
    const std::int64_t floor = std::max(floors_.front(), floors_.back());
    return best_bytes_ - floor <= best_bytes_ / kWorthwhileShare;
  }

  // Recomputes rows of some tensors, in the ranges that prevent a smaller arena: greedily the
  // tensor with the largest saving for its work, each for a part of the steps.
  void Recompute() {
    std::set<std::pair<int, int>> tried;
    for (int round = 0; round < kMaxRounds && !Stopped(); ++round) {
      around_ = edges_.FindAround();
      std::vector<Edge> bases;
      for (const auto& list : edges_.by_first()) {
        for (const Edge& edge : list) {
          // The ranges that would exceed that size.
          const bool near = edge.bytes <= best_bytes_ + best_bytes_ / 4;
          const bool plain = !edge.choice.whole && edge.choice.recomputed.empty();
          const bool larger = edge.choice.last - edge.choice.first > 1;
          if (near && plain && larger && IsUseful(edge)) bases.push_back(edge);
        }
      }
      std::stable_sort(bases.begin(), bases.end(),
                       [](const Edge& a, const Edge& b) { return a.bytes < b.bytes; });
      int done = 0;
      for (const Edge& base : bases) {
        if (Stopped() || done >= kMaxBases) break;
        if (!tried.insert({base.choice.first, base.choice.last}).second) continue;
        ++done;
        for (const Edge& shaped : InShapes(base)) RecomputeIn(shaped);
      }
      const std::int64_t before = best_bytes_;
      TightenBest();
      if (best_bytes_ == before || done == 0) return;
    }
  }

  // With fewer bytes for this stretch there would be a smaller plan.
  bool IsUseful(const Edge& edge) const { return around_.Of(edge.choice) < best_bytes_; }

  // The same stretch in blocks of other heights, each with the columns that need the fewest bytes.
  // Higher blocks have fewer rows in common, lower ones shorter rings where there are more rows
  // before.
  std::vector<Edge> InShapes(const Edge& base) {
    std::vector<Edge> shaped;
    for (const auto& [rows, row_parts] : kRowBlocks) {
      Edge least;
      for (const std::int64_t parts : {1, 2, 4}) {
        if (options_.column_block != 0 && parts != 1) break;
        Edge edge;
        SegmentChoice choice = base.choice;
        choice.row_block = rows;
        choice.row_parts = row_parts;
        if (parts != 1) choice.column_block = 1;
        choice.column_parts = parts;
        if (Stopped() || !PriceOf(choice, &edge)) break;
        edges_.Keep(edge);
        if (parts == 1 || edge.bytes < least.bytes) least = std::move(edge);
      }
      const bool near = least.bytes <= best_bytes_ + best_bytes_ / 2;
      if (least.bytes > 0 && near) shaped.push_back(std::move(least));
    }
    return shaped;
  }

  // The same recomputed images for other parts of the steps.
  void RefineSwitch(const Edge& edge) {
    for (int step = kSwitchStep; step < 256; step += kSwitchStep) {
      SegmentChoice choice = edge.choice;
      choice.switch_step = step;
      Edge other;
      if (Stopped() || !PriceOf(choice, &other)) return;
      edges_.Keep(std::move(other));
    }
  }

  void RecomputeIn(const Edge& base) {
    Edge now = base;
    for (int round = 0; round < kMaxRecomputed; ++round) {
      const BlockSchedule schedule =
          MakeBlockSchedule(network_, now.choice, options_.input, &columns_);
      Edge best;
      Edge least;
      std::int64_t best_saved = 0;  // of the one with the most bytes for its work
      std::int64_t best_work = 1;
      for (const Lane& lane : schedule.lanes) {
        const auto& done = now.choice.recomputed;
        const bool again = std::find(done.begin(), done.end(), lane.image) != done.end();
        if (lane.node < 0 || again || IsTooMuchAgain(lane)) continue;
        if (!HasRowsToKeep(network_, schedule, lane, false)) continue;
        for (const int step : {kAlways, 64, 128, 192}) {
          SegmentChoice choice = now.choice;
          choice.recomputed.push_back(lane.image);
          choice.switch_step = step;
          Edge edge;
          if (Stopped() || !PriceOf(choice, &edge)) break;
          // No plan is worth many times the work.
          if (edge.macs > base.macs * 2 || IsTooMuch(edge)) continue;
          const std::int64_t saved = now.bytes - edge.bytes;
          const std::int64_t work =
              std::max<std::int64_t>(edges_.CostOf(edge) - edges_.CostOf(base), 1);
          // Kept from some step on, its rows take no less.
          if (saved <= 0 && step == kAlways) break;
          if (saved > 0) edges_.Keep(edge);
          if (saved > 0 && (least.bytes == 0 || edge.bytes < least.bytes)) least = edge;
          if (saved > 0 && MoreFor(saved, work, best_saved, best_work)) {
            best_saved = saved;
            best_work = work;
            best = std::move(edge);
          }
        }
      }
      if (best_saved <= 0) return;
      const bool other = least.choice.recomputed != best.choice.recomputed;
      if (other && least.bytes <= best_bytes_ + best_bytes_ / 8) RefineSwitch(least);
      now = std::move(best);
      if (now.bytes <= best_bytes_ + best_bytes_ / 8) RefineSwitch(now);
    }
  }

  // Neighbours of the greedy results: segments of plans of the front that recompute rows of one
  // tensor more or less, up to another step, or in other blocks.
  void Polish() {
    std::set<SegmentChoice> done;
    for (int round = 0; round < kMaxPolishing && !Stopped(); ++round) {
      std::vector<Edge> found;
      edges_.ForFront(Ties::kOtherCost, [&](const std::vector<const Edge*>& path) {
        for (const Edge* edge : path) {
          if (!edge->choice.recomputed.empty() && done.insert(edge->choice).second) {
            found.push_back(*edge);
          }
        }
      });
      bool better = false;
      for (const Edge& edge : found) better = LookAround(edge) || better;
      if (!better) return;
    }
  }

  bool LookAround(const Edge& edge) {
    bool better = OtherSwitches(edge.choice);
    better = OtherBlocks(edge.choice) || better;
    const BlockSchedule schedule =
        MakeBlockSchedule(network_, edge.choice, options_.input, &columns_);
    better = WithoutGaps(edge.choice, schedule) || better;
    for (const Lane& lane : schedule.lanes) {
      if (Stopped() || lane.node < 0 || !HasRowsToKeep(network_, schedule, lane, true)) continue;
      SegmentChoice choice = edge.choice;
      auto& again = choice.recomputed;
      const auto at = std::find(again.begin(), again.end(), lane.image);
      if (at == again.end()) {
        if (IsTooMuchAgain(lane)) continue;
        again.push_back(lane.image);
      } else if (again.size() > 1) {
        again.erase(at);
      }
      Edge other;
      if (!PriceOf(choice, &other) || !edges_.Keep(std::move(other))) continue;
      better = true;
      OtherSwitches(choice);
    }
    return better;
  }

  // Everything from the first tensor that is computed again to the last one, in blocks of all
  // kinds: a tensor between is worth nothing as long as one of its neighbours is kept.
  bool WithoutGaps(SegmentChoice choice, const BlockSchedule& schedule) {
    std::vector<int> lanes;
    for (std::size_t l = 0; l < schedule.lanes.size(); ++l) {
      if (schedule.lanes[l].recomputed) lanes.push_back(static_cast<int>(l));
    }
    if (lanes.empty()) return false;
    choice.recomputed.clear();
    for (int l = lanes.front(); l <= lanes.back(); ++l) {
      const Lane& lane = schedule.lanes[static_cast<std::size_t>(l)];
      const bool driver = std::find(schedule.drivers.begin(), schedule.drivers.end(), lane.image) !=
                          schedule.drivers.end();
      const bool unread = network_.image(lane.image).readers.empty();
      const bool may_run_again = lane.node >= 0 && !IsTooMuchAgain(lane);
      if (may_run_again && !driver && !unread) choice.recomputed.push_back(lane.image);
    }
    bool better = false;
    for (const auto& [rows, parts] : kRowBlocks) {
      choice.row_block = rows;
      choice.row_parts = parts;
      better = OtherBlocks(choice) || better;
    }
    return better;
  }

  bool OtherBlocks(const SegmentChoice& choice) {
    bool better = false;
    const auto keep = [&](const SegmentChoice& changed) {
      Edge edge;
      if (!Stopped() && PriceOf(changed, &edge)) better = edges_.Keep(std::move(edge)) || better;
    };
    for (const auto& [rows, parts] : kRowBlocks) {
      SegmentChoice changed = choice;
      changed.row_block = rows;
      changed.row_parts = parts;
      keep(changed);
    }
    for (const auto& [columns, parts] : kColumnBlocks) {
      if (options_.column_block != 0) break;
      SegmentChoice changed = choice;
      changed.column_block = columns;
      changed.column_parts = parts;
      keep(changed);
    }
    return better;
  }

  bool OtherSwitches(SegmentChoice choice) {
    bool better = false;
    const int from = choice.switch_step;
    for (const int steps : {-2, -1, 1, 2}) {
      choice.switch_step = from + steps * kSwitchStep;
      if (Stopped() || choice.switch_step <= 0 || choice.switch_step > kAlways) continue;
      Edge edge;
      if (PriceOf(choice, &edge)) better = edges_.Keep(std::move(edge)) || better;
    }
    return better;
  }

  // Segments of the search for the other objective, too: those with the minimum of bytes leave
  // others the space to be fast.
  void KeepKnown() {
    for (const auto& [choice, price] : prices_) {
      if (!price.streams || price.bytes > best_bytes_) continue;
      if (!options_.recompute && !choice.recomputed.empty()) continue;
      edges_.Keep({price.bytes, price.macs, price.cycles, choice});
    }
  }

  // Copies between segments are not known here: of equal plans those with most promise.
  void Sweep() {
    for (const Ties ties : {Ties::kOtherCost, Ties::kFewerSegments}) {
      edges_.ForFront(ties, [&](const std::vector<const Edge*>& path) {
        Point point;
        for (const Edge* edge : path) {
          point.bytes = std::max(point.bytes, edge->bytes);
          point.macs += edge->macs;
          point.cycles += edge->cycles;
          point.segments.push_back(edge->choice);
        }
        std::reverse(point.segments.begin(), point.segments.end());
        const bool known =
            std::any_of(front_.points.begin(), front_.points.end(),
                        [&](const Point& other) { return other.segments == point.segments; });
        if (!known) front_.points.push_back(std::move(point));
      });
    }
  }

  const Network& network_;
  const SearchOptions& options_;
  Prices& prices_;
  ColumnCache columns_;
  int size_;
  Edges edges_;
  struct Repeated {
    int producer = -1;
    int last_use_before = -1;  // of the values that were computed before
  };
  std::vector<Repeated> repeated_;
  std::vector<std::int64_t> plain_macs_;  // of all nodes before each one, every pixel once
  std::int64_t spare_macs_ = 0;           // that a plan may have above those
  std::vector<std::int64_t> floors_;      // bytes before each node in every plan
  Around around_;
  std::int64_t best_bytes_ = kInfinite;
  Front front_;
  Limits::Clock::time_point reported_;
};

}  // namespace

Front Search(const Network& network, const SearchOptions& options, std::int64_t most_macs,
             Prices* prices) {
  return Searcher(network, options, most_macs, prices).Run();
}

}  // namespace neap::stream
