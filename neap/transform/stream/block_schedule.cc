// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/stream/block_schedule.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "neap/plan/stream_boxes.h"

namespace neap::stream {
namespace {

using plan::StreamInput;
using plan::StreamRange;

constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min() / 4;
constexpr std::size_t kMaxSteps = 1 << 14;

std::int64_t FloorDivide(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b;
  return quotient * b > a ? quotient - 1 : quotient;
}

// One axis of a segment.
class AxisPlanner {
 public:
  struct Edge {
    int lane;  // the reader
    AxisMap map;
  };
  struct Tensor {
    std::int64_t size = 0;
    bool driver = false;
    bool recomputed = false;
    bool loaded = false;        // from slow memory: what is needed, when it is needed
    std::vector<Edge> readers;  // lanes of the segment
  };

  // A tensor for each lane, in the lanes' order.
  AxisPlanner(std::vector<Tensor> tensors, std::int64_t block, std::int64_t parts, int switch_step)
      : tensors_(std::move(tensors)), block_(block), parts_(parts), switch_step_(switch_step) {}

  // The ranges of each lane, step by step; empty: there are too many steps.
  std::vector<std::vector<StreamRange>> Plan() {
    std::int64_t size = 0;
    for (const Tensor& tensor : tensors_) {
      if (tensor.driver) size = std::max(size, tensor.size);
    }
    // Steps are counted by the progress of the driver after them.
    std::int64_t begin = 0;
    while (AnyProgress(begin)) {
      if (--begin < -static_cast<std::int64_t>(kMaxSteps)) return {};
    }
    ++begin;  // the first step after which a pixel exists
    const std::int64_t end = (size * parts_ + block_ - 1) / block_;
    if (end - begin + 1 > static_cast<std::int64_t>(kMaxSteps)) return {};
    steps_ = end - begin + 1;
    ranges_.assign(tensors_.size(), {});
    for (auto& ranges : ranges_) ranges.reserve(static_cast<std::size_t>(steps_) + 1);
    done_.assign(tensors_.size(), 0);
    now_.resize(tensors_.size());
    for (std::int64_t step = begin; step <= end; ++step) Step(step, step - begin, step == end);
    return std::move(ranges_);
  }

  // The step from which on rows are kept; more than there are: never.
  std::size_t switch_row() const { return switch_row_; }

 private:
  // How far each tensor has to be when the driver has advanced `step` times, in parts.
  const std::vector<std::int64_t>& DemandAt(std::int64_t step) {
    demand_.assign(tensors_.size(), kNone);
    for (std::size_t t = tensors_.size(); t-- > 0;) {
      const Tensor& tensor = tensors_[t];
      if (tensor.driver) demand_[t] = step * block_;
      for (const Edge& edge : tensor.readers) {
        const std::int64_t reader = demand_[static_cast<std::size_t>(edge.lane)];
        if (reader == kNone) continue;
        demand_[t] = std::max(demand_[t], DemandOf(edge.map, reader, tensor.size));
      }
      if (tensor.driver) demand_[t] = std::max(demand_[t], step * block_);
    }
    return demand_;
  }

  // Of one consumer that has to be at `reader`.
  std::int64_t DemandOf(const AxisMap& map, std::int64_t reader, std::int64_t size) const {
    // All at once, with the first index, and nothing before.
    if (map.all) return reader > 0 ? size * parts_ : reader;
    return FloorDivide((reader - parts_) * map.scale, map.parts) + (map.extent - map.pad) * parts_;
  }

  bool AnyProgress(std::int64_t step) {
    const auto& demand = DemandAt(step);
    return std::any_of(demand.begin(), demand.end(),
                       [&](std::int64_t need) { return need >= parts_; });
  }

  void Step(std::int64_t step, std::int64_t number, bool is_last) {
    const auto& demand = DemandAt(step);
    const bool again = number * 256 < steps_ * switch_step_;
    std::vector<StreamRange>& now = now_;
    for (std::size_t t = tensors_.size(); t-- > 0;) {
      const Tensor& tensor = tensors_[t];
      // The rows that this step's consumers need.
      StreamRange need{tensor.size, 0};
      for (const Edge& edge : tensor.readers) {
        const StreamRange& reader = now[static_cast<std::size_t>(edge.lane)];
        if (reader.empty()) continue;
        const StreamRange wanted = edge.map.Need(reader.first, reader.last, tensor.size);
        if (wanted.empty()) continue;
        need.first = std::min(need.first, wanted.first);
        need.last = std::max(need.last, wanted.last);
      }
      std::int64_t high =
          std::clamp<std::int64_t>(FloorDivide(demand[t], parts_), done_[t], tensor.size);
      if (is_last) high = tensor.size;
      high = std::max(high, need.last);
      std::int64_t low = done_[t];
      if (tensor.loaded) {
        high = need.empty() ? low : std::max(low, need.last);
        if (tensor.recomputed && !need.empty()) low = need.first;
        now[t] = {low, high};
        continue;
      }
      if (tensor.recomputed) {
        // No rows were kept: rows needed again are computed again, also when keeping begins.
        const bool kept = !again && (number == 0 || (number - 1) * 256 >= steps_ * switch_step_);
        if (!kept) low = std::min(low, need.first);
        if (again && need.empty() && !is_last) high = low = done_[t];
      }
      now[t] = {low, std::max(low, high)};
    }
    const bool begins = !again && number > 0 && (number - 1) * 256 < steps_ * switch_step_;
    if (begins) Refill();
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      if (begins) now[t].first = std::max(now[t].first, done_[t]);
      ranges_[t].push_back(now[t]);
      done_[t] = std::max(done_[t], now[t].last);
    }
  }

  // Rows begin to be kept: those that are still needed are computed again, in a separate step, so
  // that no block is higher than others: the needs of the next row of a consumer, and of the rows
  // that consumers compute again.
  void Refill() {
    switch_row_ = ranges_[0].size();
    std::vector<std::int64_t> from = done_;
    for (std::size_t t = tensors_.size(); t-- > 0;) {
      if (!tensors_[t].recomputed) continue;
      for (const Edge& edge : tensors_[t].readers) {
        const auto reader = static_cast<std::size_t>(edge.lane);
        if (from[reader] >= tensors_[reader].size) continue;
        const StreamRange need = edge.map.Need(from[reader], from[reader] + 1, tensors_[t].size);
        from[t] = std::min(from[t], need.first);
      }
    }
    for (std::size_t t = 0; t < tensors_.size(); ++t) ranges_[t].push_back({from[t], done_[t]});
  }

  std::vector<Tensor> tensors_;
  std::int64_t block_;
  std::int64_t parts_;
  int switch_step_;
  std::int64_t steps_ = 0;
  std::vector<std::int64_t> demand_;
  std::vector<std::int64_t> done_;
  std::vector<StreamRange> now_;  // of the step
  std::vector<std::vector<StreamRange>> ranges_;
  std::size_t switch_row_ = kMaxSteps;
};

class Builder {
 public:
  Builder(const Network& network, const SegmentChoice& choice, StreamInput input,
          ColumnCache* cache)
      : network_(network), choice_(choice), input_(input), cache_(cache) {}

  BlockSchedule Make() {
    if (!FindLanes() || !FindTensors() || !PlanAxes()) return {};
    Count();
    if (choice_.ahead != Ahead::kNot && !ReadAhead()) return {};
    schedule_.valid = true;
    return std::move(schedule_);
  }

 private:
  bool FindLanes() {
    lane_of_.assign(network_.images.size(), -1);
    std::vector<int> nodes = choice_.again;
    for (int n = choice_.first; n < choice_.last; ++n) nodes.push_back(n);
    if (input_ == StreamInput::kRows) FeedInputs(nodes);
    if (input_ == StreamInput::kSlow) LoadImages(nodes);
    for (const int n : nodes) {
      const Node& node = network_.node(n);
      if (!node.streams) return false;
      // Rows computed again would divide the segment.
      if (node.in_order && !choice_.recomputed.empty()) return false;
      lane_of_[static_cast<std::size_t>(node.outputs[0])] =
          static_cast<int>(schedule_.lanes.size());
      schedule_.lanes.push_back({n, node.outputs[0], {}, {}});
    }
    return true;
  }

  // Inputs that no operator has read before.
  void FeedInputs(const std::vector<int>& nodes) {
    for (std::size_t i = 0; i < network_.images.size(); ++i) {
      const Image& image = network_.images[i];
      if (!image.is_input || image.readers.empty() || image.readers[0] < choice_.first) continue;
      const bool here = std::any_of(nodes.begin(), nodes.end(), [&](int n) {
        return std::find(image.readers.begin(), image.readers.end(), n) != image.readers.end();
      });
      if (!here) continue;
      lane_of_[i] = static_cast<int>(schedule_.lanes.size());
      schedule_.lanes.push_back({-1, static_cast<int>(i), {}, {}});
    }
  }

  // Those in slow memory that the nodes read.
  void LoadImages(const std::vector<int>& nodes) {
    for (std::size_t i = 0; i < network_.images.size(); ++i) {
      const Image& image = network_.images[i];
      if (!image.slow || image.producer >= choice_.first) continue;
      const bool here = std::any_of(nodes.begin(), nodes.end(), [&](int n) {
        return std::find(image.readers.begin(), image.readers.end(), n) != image.readers.end();
      });
      if (!here) continue;
      lane_of_[i] = static_cast<int>(schedule_.lanes.size());
      schedule_.lanes.push_back({-1, static_cast<int>(i), {}, {}});
    }
  }

  bool IsLoaded(const Lane& lane) const { return lane.node < 0 && input_ == StreamInput::kSlow; }

  bool Streams(int image) const { return lane_of_[static_cast<std::size_t>(image)] >= 0; }

  bool FindTensors() {
    for (const int image : LiveAt(network_, choice_.first)) {
      const Image& value = network_.image(image);
      if (value.slow) continue;
      if (value.is_input && input_ != StreamInput::kResident) {
        if (Streams(image)) continue;
        if (input_ == StreamInput::kExternal) continue;
        if (value.readers.empty() || value.readers[0] >= choice_.last) continue;
      }
      if (Streams(image)) continue;
      (value.last_use < choice_.last ? schedule_.dying : schedule_.held).push_back(image);
    }
    for (const Lane& lane : schedule_.lanes) {
      if (lane.node >= 0 && network_.node(lane.node).state >= 0) {
        schedule_.held.push_back(network_.node(lane.node).state);
      }
    }
    std::int64_t height = -1;
    std::int64_t width = -1;
    for (const Lane& lane : schedule_.lanes) {
      const Image& value = network_.image(lane.image);
      if (IsLoaded(lane)) continue;
      const bool left =
          value.last_use >= choice_.last && (lane.node >= choice_.first || lane.node < 0);
      // A result without consumers has to be computed, too.
      const bool unread = value.readers.empty() && !value.is_output;
      if (!left && !unread) continue;
      const plan::StreamImage& boxes = Boxes(lane);
      if (height < 0) {
        height = boxes.height;
        width = boxes.width;
      }
      if (height != boxes.height || width != boxes.width) return false;
      (left ? schedule_.drivers : schedule_.unread).push_back(lane.image);
    }
    if (schedule_.drivers.empty()) std::swap(schedule_.drivers, schedule_.unread);
    return !schedule_.drivers.empty();
  }

  bool IsSum(const Lane& lane) const { return lane.node >= 0 && network_.node(lane.node).sums; }

  const plan::StreamImage& Boxes(const Lane& lane) const { return BoxesOf(network_, lane); }

  bool IsDriver(int image) const {
    const auto among = [&](const std::vector<int>& images) {
      return std::find(images.begin(), images.end(), image) != images.end();
    };
    return among(schedule_.drivers) || among(schedule_.unread);
  }

  bool PlanAxes() {
    std::vector<AxisPlanner::Tensor> rows(schedule_.lanes.size());
    std::vector<AxisPlanner::Tensor> columns(schedule_.lanes.size());
    for (std::size_t l = 0; l < schedule_.lanes.size(); ++l) {
      const Lane& lane = schedule_.lanes[l];
      rows[l].size = Boxes(lane).height;
      columns[l].size = Boxes(lane).width;
      rows[l].driver = columns[l].driver = !IsLoaded(lane) && IsDriver(lane.image);
      rows[l].loaded = columns[l].loaded = IsLoaded(lane);
      rows[l].recomputed = std::find(choice_.recomputed.begin(), choice_.recomputed.end(),
                                     lane.image) != choice_.recomputed.end();
      if (rows[l].recomputed && rows[l].driver) return false;
      schedule_.lanes[l].recomputed = rows[l].recomputed;
      if (lane.node < 0) continue;
      for (const Read& read : network_.node(lane.node).reads) {
        const int from = lane_of_[static_cast<std::size_t>(read.image)];
        if (from < 0) continue;
        // The same for all places: not before all of it has been computed.
        if (read.rows.scale == 0 || read.columns.scale == 0) return false;
        if (IsSum(schedule_.lanes[static_cast<std::size_t>(from)])) return false;
        const Node& node = network_.node(lane.node);
        rows[static_cast<std::size_t>(from)].readers.push_back(
            {static_cast<int>(l), RowsOf(node, read)});
        columns[static_cast<std::size_t>(from)].readers.push_back(
            {static_cast<int>(l), ColumnsOf(node, read)});
      }
    }
    return Fill(std::move(rows), std::move(columns));
  }

  bool Fill(std::vector<AxisPlanner::Tensor> rows, std::vector<AxisPlanner::Tensor> columns) {
    AxisPlanner row_planner(std::move(rows), choice_.row_block, choice_.row_parts,
                            choice_.switch_step);
    auto row_ranges = row_planner.Plan();
    if (row_ranges.empty()) return false;
    auto column_ranges = ColumnsFor(std::move(columns));
    if (column_ranges.empty()) return false;
    for (std::size_t l = 0; l < schedule_.lanes.size(); ++l) {
      schedule_.lanes[l].rows = std::move(row_ranges[l]);
      schedule_.lanes[l].columns = std::move(column_ranges[l]);
    }
    schedule_.row_steps = schedule_.lanes[0].rows.size();
    schedule_.column_steps = schedule_.lanes[0].columns.size();
    schedule_.switch_row = choice_.recomputed.empty()
                               ? schedule_.row_steps
                               : std::min(schedule_.row_steps, row_planner.switch_row());
    FeedWholeRows();
    return HasWholeColumns();
  }

  // Operators that cannot be cut along columns compute all of them in one step.
  bool HasWholeColumns() const {
    return std::all_of(schedule_.lanes.begin(), schedule_.lanes.end(), [&](const Lane& lane) {
      if (lane.node < 0 || !network_.node(lane.node).whole_columns) return true;
      const std::int64_t width = Boxes(lane).width;
      return std::all_of(lane.columns.begin(), lane.columns.end(), [&](const StreamRange& range) {
        return range.empty() || range.size() == width;
      });
    });
  }

  std::vector<std::vector<StreamRange>> ColumnsFor(std::vector<AxisPlanner::Tensor> columns) {
    const auto plan = [&] {
      return AxisPlanner(std::move(columns), choice_.column_block, choice_.column_parts, 256)
          .Plan();
    };
    if (cache_ == nullptr || !choice_.again.empty()) return plan();
    if (cache_->first != choice_.first || cache_->last != choice_.last) {
      *cache_ = {choice_.first, choice_.last, {}};
    }
    const auto [at, is_new] =
        cache_->ranges.try_emplace({choice_.column_block, choice_.column_parts});
    if (is_new) at->second = plan();
    return at->second;
  }

  // A row is delivered as a whole, in the first step of the columns.
  void FeedWholeRows() {
    for (Lane& lane : schedule_.lanes) {
      if (lane.node >= 0 || IsLoaded(lane)) continue;
      const std::int64_t width = network_.image(lane.image).shape.width;
      for (StreamRange& range : lane.columns) range = {width, width};
      lane.columns[0] = {0, width};
    }
  }

  // Every lane but those that are read from slow memory begins one step later. False: there is no
  // such lane, or one that reads pixels again.
  bool ReadAhead() {
    const bool by_rows = choice_.ahead == Ahead::kRows;
    if (schedule_.switch_row != schedule_.row_steps) return false;
    for (const Lane& lane : schedule_.lanes) {
      if (IsLoaded(lane) && (!IsOnce(lane.rows) || !IsOnce(lane.columns))) return false;
    }
    for (Lane& lane : schedule_.lanes) {
      lane.ahead = IsLoaded(lane);
      std::vector<StreamRange>& steps = by_rows ? lane.rows : lane.columns;
      if (lane.ahead) {
        steps.push_back({steps.back().last, steps.back().last});
      } else {
        steps.insert(steps.begin(), {0, 0});
      }
    }
    schedule_.row_steps += by_rows ? 1 : 0;
    schedule_.column_steps += by_rows ? 0 : 1;
    schedule_.switch_row = schedule_.row_steps;
    schedule_.ahead_bytes = schedule_.read_bytes;
    schedule_.cycles -= HiddenCycles();
    return schedule_.ahead_bytes > 0;
  }

  // Nothing comes twice.
  static bool IsOnce(const std::vector<StreamRange>& ranges) {
    std::int64_t last = 0;
    for (const StreamRange& range : ranges) {
      if (range.empty()) continue;
      if (range.first < last) return false;
      last = range.last;
    }
    return true;
  }

  // Of copies that are in progress while their block computes. The sizes of a block's boxes decide,
  // and few blocks have others.
  std::int64_t HiddenCycles() const {
    const auto kinds = [&](std::size_t steps, auto ranges_of) {
      std::map<std::vector<std::int64_t>, std::int64_t> all;
      for (std::size_t step = 0; step < steps; ++step) {
        std::vector<std::int64_t> sizes;
        sizes.reserve(schedule_.lanes.size());
        for (const Lane& lane : schedule_.lanes) sizes.push_back(ranges_of(lane)[step].size());
        ++all[std::move(sizes)];
      }
      return all;
    };
    const auto rows =
        kinds(schedule_.row_steps, [](const Lane& lane) -> const auto& { return lane.rows; });
    const auto columns =
        kinds(schedule_.column_steps, [](const Lane& lane) -> const auto& { return lane.columns; });
    std::int64_t hidden = 0;
    for (const auto& [heights, in_rows] : rows) {
      for (const auto& [widths, in_columns] : columns) {
        hidden += HiddenCycles(heights, widths) * in_rows * in_columns;
      }
    }
    return hidden;
  }

  std::int64_t HiddenCycles(const std::vector<std::int64_t>& heights,
                            const std::vector<std::int64_t>& widths) const {
    std::int64_t copied = 0;
    std::int64_t work = 0;
    for (std::size_t l = 0; l < schedule_.lanes.size(); ++l) {
      const Lane& lane = schedule_.lanes[l];
      const BoxCounts counts = CountBoxes({{0, heights[l]}}, {{0, widths[l]}});
      if (counts.pixels == 0) continue;
      if (lane.ahead) {
        copied += counts.pixels * network_.image(lane.image).shape.pixel_bytes;
        continue;
      }
      work += CyclesOf(network_, network_.node(lane.node), {{0, heights[l]}}, {{0, widths[l]}});
      // What is written is waited for, and everything else with it.
      if (network_.image(lane.image).slow && IsDriver(lane.image)) break;
    }
    return std::min(CopyCycles(network_, copied), work);
  }

  void Count() {
    // Emitted C joins the boxes of a segment with one operator.
    const bool single =
        network_.processor != Processor::kCortexM7 &&
        std::count_if(schedule_.lanes.begin(), schedule_.lanes.end(),
                      [&](const Lane& lane) { return lane.node >= 0 || IsLoaded(lane); }) == 1;
    for (const Lane& lane : schedule_.lanes) {
      if (lane.node < 0 && !IsLoaded(lane)) continue;
      const BoxCounts counts = CountBoxes(lane.rows, lane.columns);
      const plan::StreamImage& shape = network_.image(lane.image).shape;
      if (IsLoaded(lane)) {
        const std::int64_t bytes = counts.pixels * shape.pixel_bytes;
        schedule_.read_bytes += bytes;
        schedule_.cycles += CopyCycles(network_, bytes);
        continue;
      }
      const Node& node = network_.node(lane.node);
      if (network_.image(lane.image).slow && IsDriver(lane.image)) {
        schedule_.written_bytes += shape.bytes();
        schedule_.cycles += CopyCycles(network_, shape.bytes());
      }
      schedule_.macs += counts.pixels * node.macs_per_pixel;
      plan::StreamBoxes boxes = {lane.rows, lane.columns};
      if (single) boxes = plan::JoinedBoxes(std::move(boxes));
      schedule_.cycles += CyclesOf(network_, node, boxes.rows, boxes.columns);
    }
  }

  const Network& network_;
  const SegmentChoice& choice_;
  StreamInput input_;
  ColumnCache* cache_;
  BlockSchedule schedule_;
  std::vector<int> lane_of_;  // of each image; -1: not computed here
};

}  // namespace

const plan::StreamImage& BoxesOf(const Network& network, const Lane& lane) {
  return lane.node < 0 ? network.image(lane.image).shape
                       : BoxesOf(network, network.node(lane.node));
}

std::vector<int> LiveAt(const Network& network, int at) {
  std::vector<int> live;
  for (std::size_t i = 0; i < network.images.size(); ++i) {
    const Image& image = network.images[i];
    if (image.producer < at && image.last_use >= at) live.push_back(static_cast<int>(i));
  }
  return live;
}

std::vector<std::int64_t> BytesBetween(const Network& network, StreamInput input) {
  std::vector<std::int64_t> bytes(network.nodes.size() + 1, 0);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (const int image : LiveAt(network, static_cast<int>(at))) {
      const Image& value = network.image(image);
      if (!value.is_input || input == StreamInput::kResident) bytes[at] += value.shape.bytes();
    }
  }
  return bytes;
}

BlockSchedule MakeBlockSchedule(const Network& network, const SegmentChoice& choice,
                                StreamInput input, ColumnCache* cache) {
  return Builder(network, choice, input, cache).Make();
}

bool HasRowsToKeep(const Network& network, const BlockSchedule& schedule, const Lane& lane,
                   bool again) {
  const auto& drivers = schedule.drivers;
  if (std::find(drivers.begin(), drivers.end(), lane.image) != drivers.end()) return false;
  return std::any_of(schedule.lanes.begin(), schedule.lanes.end(), [&](const Lane& reader) {
    if (reader.node < 0) return false;
    const Node& node = network.node(reader.node);
    return std::any_of(node.reads.begin(), node.reads.end(), [&](const Read& read) {
      const AxisMap& rows = RowsOf(node, read);
      return read.image == lane.image &&
             (rows.listed || rows.extent > rows.scale || (again && reader.recomputed));
    });
  });
}

}  // namespace neap::stream
