// SPDX-License-Identifier: Apache-2.0
//
// Bounds of small networks beside the least memory of all their streamed runs, pixel by pixel.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <queue>
#include <vector>

#include "neap/check/check.h"
#include "neap/ops/dependence.h"
#include "neap/ops/traits.h"
#include "neap/transform/stream/bound.h"
#include "testing/cases.h"
#include "testing/streams.h"

namespace neap::stream {
namespace {

using graph::Op;
using graph::OpId;
using graph::TensorId;
using plan::StreamInput;

constexpr graph::SubgraphId kOnly(0);
constexpr std::size_t kMaxStates = 20'000;

using Progress = std::vector<std::int64_t>;  // pixels of each tensor

// A network whose tensors are computed pixel by pixel, row by row.
class Small {
 public:
  Small(const graph::Graph& graph, StreamInput input) : main_(graph.subgraphs[kOnly]) {
    images_ = plan::ImagesOf(main_);
    for (const TensorId id : main_.inputs) {
      if (input == StreamInput::kResident || input == StreamInput::kRows) {
        Add(id, OpId(), input == StreamInput::kResident);
      }
    }
    for (const OpId id : test::FileOrder(graph)) {
      for (const TensorId output : main_.ops[id].outputs) Add(output, id, false);
    }
    states_ = 1;
    for (const Value& value : values_) {
      if (!value.given) states_ *= static_cast<double>(value.pixels + 1);
    }
    for (Value& value : values_) Link(&value);
  }

  double States() const { return states_; }
  // Others have other rules: operators that run in place as a whole, and mirrored rows, of which
  // the bounds count all between those that are needed.
  bool IsPlain() const { return plain_; }

  // The least, over all runs, of the most bytes at a time.
  std::int64_t Least() const {
    Progress start;
    for (const Value& value : values_) start.push_back(value.given ? value.pixels : 0);
    std::int64_t given = 0;  // with the pixels that no operator reads
    for (const Value& value : values_) given += value.given ? value.pixels * value.pixel_bytes : 0;
    std::map<Progress, std::int64_t> best = {{start, given}};
    std::priority_queue<std::pair<std::int64_t, Progress>> open;
    open.emplace(-best[start], start);
    while (!open.empty()) {
      const auto [negative, at] = open.top();
      open.pop();
      if (best[at] < -negative) continue;
      bool done = true;
      for (std::size_t v = 0; v < values_.size(); ++v) {
        if (at[v] == values_[v].pixels) continue;
        done = false;
        if (!MayRun(at, v)) continue;
        Progress next = at;
        next[v] += values_[v].step;
        const std::int64_t bytes = std::max({-negative, During(at, next, v), Bytes(next)});
        const auto found = best.try_emplace(next, bytes);
        if (!found.second && found.first->second <= bytes) continue;
        found.first->second = bytes;
        open.emplace(-bytes, next);
      }
      if (done) return -negative;
    }
    return -1;
  }

 private:
  struct Need {
    std::size_t from = 0;
    std::vector<std::vector<std::int64_t>> pixels;  // by pixel
    bool in_place = false;
  };
  struct Value {
    TensorId id;
    OpId op;
    std::int64_t pixels = 0;
    std::int64_t pixel_bytes = 0;
    std::int64_t step = 1;
    bool given = false;
    bool kept = false;
    std::vector<Need> needs;
    std::vector<std::vector<std::pair<std::size_t, std::int64_t>>> readers;  // last of each
  };

  void Add(TensorId id, OpId op, bool given) {
    const plan::StreamImage& image = images_[id];
    Value value{id, op, image.height * image.width, image.pixel_bytes, 1, given, false, {}, {}};
    if (!op.valid() && !given) value.step = image.width;
    value.kept = Contains(main_.outputs, id);
    values_.push_back(std::move(value));
  }

  void Link(Value* value) {
    value->readers.resize(static_cast<std::size_t>(value->pixels));
    if (!value->op.valid()) return;
    const Op& op = main_.ops[value->op];
    const plan::StreamImage& out = images_[value->id];
    if (op.outputs.size() != 1 || !out.row_axis || !out.column_axis) {
      plain_ = false;
      return;
    }
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      const auto from = std::find_if(values_.begin(), values_.end(),
                                     [&](const Value& other) { return other.id == op.inputs[i]; });
      if (from == values_.end()) continue;
      if (ops::IsMeanOfPlaces(main_, op) || ops::IsByChannel(main_, op) || ops::IsReshapeLike(op) ||
          op.type == "MIRROR_PAD") {
        plain_ = false;
      }
      Need need{static_cast<std::size_t>(from - values_.begin()), {}, false};
      const plan::StreamImage& in = images_[op.inputs[i]];
      need.in_place = ops::IsElementwise(op) && in.height == out.height && in.width == out.width &&
                      in.pixel_bytes == out.pixel_bytes &&
                      main_.tensors[op.inputs[i]].type == main_.tensors[value->id].type;
      for (std::int64_t p = 0; p < value->pixels; ++p) {
        ops::Box box = ops::WholeBox(*main_.tensors[value->id].shape);
        box[*out.row_axis] = {p / out.width, p / out.width + 1};
        box[*out.column_axis] = {p % out.width, p % out.width + 1};
        const auto of_box = ops::NeedOf(main_, op, i, box);
        std::vector<std::int64_t> pixels;
        if (!of_box || !in.row_axis || !in.column_axis) {
          plain_ = plain_ && of_box && in.height * in.width == 1;
          if (in.height * in.width == 1) pixels.push_back(0);
        } else if (!ops::IsEmpty(of_box->box)) {
          const ops::Interval& rows = of_box->box[*in.row_axis];
          const ops::Interval& columns = of_box->box[*in.column_axis];
          for (std::int64_t y = rows.begin; y < rows.end; ++y) {
            for (std::int64_t x = columns.begin; x < columns.end; ++x) {
              pixels.push_back(y * in.width + x);
            }
          }
        }
        const auto v = static_cast<std::size_t>(value - values_.data());
        for (const std::int64_t pixel : pixels) {
          auto& readers = from->readers[static_cast<std::size_t>(pixel)];
          const auto own = std::find_if(readers.begin(), readers.end(),
                                        [&](const auto& one) { return one.first == v; });
          if (own == readers.end()) {
            readers.emplace_back(v, p);
          } else {
            own->second = p;
          }
        }
        need.pixels.push_back(std::move(pixels));
      }
      value->needs.push_back(std::move(need));
    }
  }

  bool MayRun(const Progress& at, std::size_t v) const {
    const auto pixel = static_cast<std::size_t>(at[v]);
    return std::all_of(values_[v].needs.begin(), values_[v].needs.end(), [&](const Need& need) {
      return std::all_of(need.pixels[pixel].begin(), need.pixels[pixel].end(),
                         [&](std::int64_t one) { return one < at[need.from]; });
    });
  }

  std::int64_t Bytes(const Progress& at) const { return During(at, at, values_.size()); }

  // While tensor `v` advances from `at` to `next`: what has been computed before or is computed now
  // and was needed before. An element-wise operator may write over one of its pixels.
  std::int64_t During(const Progress& at, const Progress& next, std::size_t v) const {
    std::int64_t bytes = 0;
    std::int64_t replaced = 0;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      for (std::int64_t p = 0; p < next[i]; ++p) {
        const auto& readers = values_[i].readers[static_cast<std::size_t>(p)];
        const auto live = [&](const Progress& progress) {
          return values_[i].kept || std::any_of(readers.begin(), readers.end(), [&](const auto& r) {
                   return progress[r.first] <= r.second;
                 });
        };
        if (!live(at)) continue;
        bytes += values_[i].pixel_bytes;
        if (live(next) || v == values_.size()) continue;
        for (const Need& need : values_[v].needs) {
          if (need.from == i && need.in_place) replaced = values_[i].pixel_bytes;
        }
      }
    }
    return bytes - replaced;
  }

  const graph::Subgraph& main_;
  plan::StreamImages images_;
  std::vector<Value> values_;
  double states_ = 1;
  bool plain_ = true;
};

// A plan of blocks of one row, so far as the checker's bound looks at it.
plan::EntryPlan InRows(const graph::Graph& graph, StreamInput input) {
  plan::EntryPlan entry;
  entry.subgraph = kOnly;
  entry.stream.emplace();
  entry.stream->input = input;
  entry.stream->lower_bound_bytes = std::int64_t{1} << 40;  // the highest
  plan::StreamSegment segment;
  for (const OpId op : test::FileOrder(graph)) segment.ops.push_back({op, {}, false, {{0, 1}}, {}});
  entry.stream->segments.push_back(std::move(segment));
  return entry;
}

TEST(BoundBrute, NoRunNeedsLess) {
  Random random(61);
  const int rounds = Cases(3000);
  int compared = 0;
  int equal = 0;
  int checked_equal = 0;
  int branches = 0;
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE("network " + std::to_string(round));
    const int operators = static_cast<int>(random.Between(2, 5));
    const graph::Graph graph = round % 2 == 0 ? test::RandomNetwork(&random, operators)
                                              : test::RandomNetworkOfMoves(&random, operators);
    const StreamInput inputs[] = {StreamInput::kResident, StreamInput::kExternal,
                                  StreamInput::kRows};
    const StreamInput input = inputs[random.Below(3)];
    const Small small(graph, input);
    if (!small.IsPlain() || small.States() > static_cast<double>(kMaxStates)) continue;
    const std::int64_t least = small.Least();
    ASSERT_GT(least, 0);
    const auto network = MakeNetwork(graph, kOnly, test::FileOrder(graph));
    ASSERT_TRUE(network);
    const std::vector<std::int64_t> ones(network->images.size(), 1);
    const std::int64_t bound = Bounds(*network, input).ByMoments(ones, std::int64_t{1} << 40);
    // The planner takes some operators to run as a whole that the checker would accept in blocks.
    const bool all_stream = std::all_of(network->nodes.begin(), network->nodes.end(),
                                        [](const Node& node) { return node.streams; });
    EXPECT_TRUE(!all_stream || bound <= least) << bound << " of " << least;
    const std::int64_t checked = check::CheckedStreamBound(graph, InRows(graph, input));
    EXPECT_LE(checked, least);
    if (HasFailure()) return;
    ++compared;
    equal += bound == least ? 1 : 0;
    checked_equal += checked == least ? 1 : 0;
    branches += std::any_of(network->images.begin(), network->images.end(),
                            [](const Image& image) { return image.readers.size() > 1; })
                    ? 1
                    : 0;
  }
  EXPECT_GT(compared, rounds / 50);
  EXPECT_GT(equal, compared / 3);
  EXPECT_GT(checked_equal, compared / 3);
  EXPECT_GT(branches, compared / 20);
  RecordProperty("compared", compared);
  RecordProperty("equal", equal);
  RecordProperty("checked equal", checked_equal);
}

}  // namespace
}  // namespace neap::stream
