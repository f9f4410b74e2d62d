// SPDX-License-Identifier: Apache-2.0
//
// When every pixel of a segment is written and read last, from the boxes of the plan and the
// dependence maps alone; and from that the contents of the arena in each block of a row step.
#include "neap/show/picture/row_step_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "neap/graph/element_type.h"
#include "neap/ops/dependence.h"
#include "neap/ops/recurrence.h"

namespace neap::picture {
namespace {

using graph::TensorId;
using plan::StreamRange;

constexpr std::int32_t kBefore = -1;  // written before the segment
constexpr std::int32_t kAfter = std::numeric_limits<std::int32_t>::max();
constexpr std::int32_t kMaxDrawn = 112;  // blocks of a row step that are looked at

struct Box {
  StreamRange rows;
  StreamRange columns;
  bool empty() const { return rows.empty() || columns.empty(); }
};

// A pixel is stored in blocks [first, last].
struct Life {
  std::int64_t pixel = 0;
  std::int32_t first = kBefore;
  std::int32_t last = kBefore;
  bool in(std::int32_t block) const { return first <= block && block <= last; }
};

// A tensor with a place in the arena.
struct Held {
  const plan::StreamArea* area = nullptr;
  plan::StreamImage image;
  bool computed = false;     // here
  bool wanted = false;       // after the segment
  std::vector<Life> now;     // of each pixel, since it was computed last
  std::vector<Life> over;    // lives before that
  std::optional<Life> sums;  // of all of it
  std::int64_t sums_bytes = 0;
};

class RowStepMapMaker {
 public:
  RowStepMapMaker(const graph::Graph& graph, const plan::EntryPlan& entry, std::size_t index)
      : subgraph_(graph.subgraphs[entry.subgraph]),
        stream_(*entry.stream),
        segment_(entry.stream->segments[index]),
        index_(index),
        images_(plan::ImagesOf(subgraph_)),
        rows_(static_cast<std::int32_t>(segment_.ops[0].rows.size())),
        columns_(static_cast<std::int32_t>(segment_.ops[0].columns.size())) {
    result_.arena_bytes = entry.arena_bytes;
  }

  RowStepMap Make() {
    FindHeld();
    Walk();
    FindPeak();
    Draw();
    result_.segment = static_cast<std::int32_t>(index_);
    result_.row_step = peak_ / columns_;
    result_.blocks = columns_;
    result_.peak = peak_ % columns_;
    result_.title = fmt::format("Segment {}: {} operators, row step {} of {}", index_,
                                segment_.ops.size(), peak_ / columns_, rows_);
    return std::move(result_);
  }

 private:
  bool IsConstant(TensorId tensor) const { return subgraph_.tensors[tensor].constant; }

  // The first use of a tensor in later segments: read, or computed again.
  bool IsWantedLater(TensorId tensor) const {
    for (std::size_t s = index_ + 1; s < stream_.segments.size(); ++s) {
      for (const plan::StreamOp& step : stream_.segments[s].ops) {
        if (!step.op.valid()) continue;
        const graph::Op& op = subgraph_.ops[step.op];
        if (std::find(op.inputs.begin(), op.inputs.end(), tensor) != op.inputs.end()) return true;
        const auto outputs = plan::OutputsOf(subgraph_, step);
        if (std::find(outputs.begin(), outputs.end(), tensor) != outputs.end()) {
          return false;
        }
      }
    }
    const auto& outputs = subgraph_.outputs;
    return std::find(outputs.begin(), outputs.end(), tensor) != outputs.end();
  }

  void FindHeld() {
    for (const plan::StreamArea& area : segment_.areas) {
      Held& held = held_[area.tensor];
      held.area = &area;
      held.image = images_[area.tensor];
      held.wanted = IsWantedLater(area.tensor);
      const auto pixels = held.image.height * held.image.width;
      held.now.resize(static_cast<std::size_t>(pixels));
      for (std::int64_t p = 0; p < pixels; ++p) held.now[static_cast<std::size_t>(p)].pixel = p;
    }
    for (const plan::StreamOp& step : segment_.ops) {
      const TensorId out =
          step.sums ? plan::OutputsOf(subgraph_, step)[0] : plan::BoxedBy(subgraph_, step);
      const auto found = held_.find(out);
      if (found != held_.end()) found->second.computed = true;
    }
    for (auto& [tensor, held] : held_) {
      if (held.computed || !held.wanted) continue;
      for (Life& life : held.now) life.last = kAfter;
    }
  }

  template <typename Do>
  static void ForPixels(const Held& held, const Box& box, const Do& change) {
    for (std::int64_t y = box.rows.first; y < box.rows.last; ++y) {
      for (std::int64_t x = box.columns.first; x < box.columns.last; ++x) {
        change(static_cast<std::size_t>(y * held.image.width + x));
      }
    }
  }

  void See(TensorId tensor, const Box& box, std::int32_t block) {
    const auto found = held_.find(tensor);
    if (found == held_.end()) return;
    Held& held = found->second;
    ForPixels(held, box,
              [&](std::size_t p) { held.now[p].last = std::max(held.now[p].last, block); });
  }

  void Compute(TensorId tensor, const Box& box, std::int32_t block) {
    const auto found = held_.find(tensor);
    if (found == held_.end()) return;
    Held& held = found->second;
    ForPixels(held, box, [&](std::size_t p) {
      Life& life = held.now[p];
      if (life.first != kBefore && life.first != block) held.over.push_back(life);
      life.first = block;
      life.last = held.wanted ? kAfter : block;
    });
  }

  Box NeedOf(const graph::Op& op, std::size_t input, const Box& box, std::size_t output) const {
    const graph::Tensor& out = subgraph_.tensors[op.outputs[output]];
    const plan::StreamImage& image = images_[op.inputs[input]];
    Box all{{0, image.height}, {0, image.width}};
    const plan::StreamImage& to = images_[op.outputs[output]];
    ops::Box wanted = ops::WholeBox(*out.shape);
    if (to.row_axis) wanted[*to.row_axis] = {box.rows.first, box.rows.last};
    if (to.column_axis) wanted[*to.column_axis] = {box.columns.first, box.columns.last};
    const auto need = ops::NeedOfSteps(subgraph_, op, input, wanted, output);
    if (!need || image.height * image.width == 1) return all;
    if (ops::IsEmpty(need->box)) return {};
    const auto along = [&](const std::optional<std::size_t>& axis, const plan::StreamRange& size) {
      return axis ? plan::StreamRange{need->box[*axis].begin, need->box[*axis].end} : size;
    };
    return {along(image.row_axis, all.rows), along(image.column_axis, all.columns)};
  }

  void AddToSums(const plan::StreamOp& step, const Box& box, std::int32_t block) {
    const graph::Op& op = subgraph_.ops[step.op];
    See(op.inputs[0], box, block);
    const auto found = held_.find(plan::OutputsOf(subgraph_, step)[0]);
    if (found == held_.end()) return;
    Held& held = found->second;
    const auto recurrence = ops::RecurrenceOf(subgraph_, op);
    held.sums_bytes =
        recurrence ? recurrence->state_bytes : held.image.bytes() * ops::SumBytesOf(subgraph_, op);
    if (!held.sums) held.sums = Life{0, block, block};
    held.sums->last = block;
    for (Life& life : held.now) life = {life.pixel, block + 1, held.wanted ? kAfter : block + 1};
  }

  void Walk() {
    for (std::int32_t i = 0; i < rows_; ++i) {
      for (std::int32_t j = 0; j < columns_; ++j) {
        for (const plan::StreamOp& step : segment_.ops) {
          const Box box{step.rows[static_cast<std::size_t>(i)],
                        step.columns[static_cast<std::size_t>(j)]};
          if (!box.empty()) RunStep(step, box, i * columns_ + j);
        }
      }
    }
  }

  void RunStep(const plan::StreamOp& step, const Box& box, std::int32_t block) {
    if (!step.op.valid()) return Compute(step.fed, box, block);
    const graph::Op& op = subgraph_.ops[step.op];
    if (step.sums) return AddToSums(step, box, block);
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (!op.inputs[i].valid() || IsConstant(op.inputs[i])) continue;
      See(op.inputs[i], NeedOf(op, i, box, static_cast<std::size_t>(step.output.value_or(0))),
          block);
    }
    Compute(plan::BoxedBy(subgraph_, step), box, block);
  }

  // Neither written nor read here, or not yet.
  static bool IsNothing(const Held& held, const Life& life) {
    return held.computed ? life.first == kBefore : life.last == kBefore;
  }

  void FindPeak() {
    std::vector<std::int64_t> change(
        static_cast<std::size_t>(rows_) * static_cast<std::size_t>(columns_) + 1);
    const auto add = [&](const Life& life, std::int64_t bytes) {
      const auto last = static_cast<std::int32_t>(change.size()) - 2;
      if (life.first > last) return;
      change[static_cast<std::size_t>(std::max(life.first, 0))] += bytes;
      change[static_cast<std::size_t>(std::min(life.last, last)) + 1] -= bytes;
    };
    for (const auto& [tensor, held] : held_) {
      for (const auto* lives : {&held.now, &held.over}) {
        for (const Life& life : *lives) {
          if (!IsNothing(held, life)) add(life, held.image.pixel_bytes);
        }
      }
      if (held.sums) add(*held.sums, held.sums_bytes);
    }
    std::int64_t live = 0;
    std::int64_t most = -1;
    for (std::size_t k = 0; k + 1 < change.size(); ++k) {
      live += change[k];
      if (live <= most) continue;
      most = live;
      peak_ = static_cast<std::int32_t>(k);
    }
  }

  Holds HoldsOf(const Held& held, const Life& life, std::int32_t block) const {
    if (!held.computed) return held.wanted && !IsRead(held) ? Holds::kPassing : Holds::kInput;
    if (held.wanted) return Holds::kOutput;
    if (life.first / columns_ < block / columns_) return Holds::kLine;
    return life.first == block ? Holds::kBlock : Holds::kHalo;
  }

  bool IsRead(const Held& held) const {
    for (const plan::StreamOp& step : segment_.ops) {
      if (!step.op.valid()) continue;
      const auto& inputs = subgraph_.ops[step.op].inputs;
      if (std::find(inputs.begin(), inputs.end(), held.area->tensor) != inputs.end()) return true;
    }
    return false;
  }

  static std::int64_t AddressOf(const Held& held, std::int64_t pixel) {
    const std::int64_t columns = held.area->columns;
    const std::int64_t rows = static_cast<std::int64_t>(held.area->rings.size()) / columns;
    const std::int64_t y = pixel / held.image.width;
    const std::int64_t x = pixel % held.image.width;
    const std::int64_t index = y % rows * columns + x % columns;
    const plan::StreamRing& ring = held.area->rings[static_cast<std::size_t>(index)];
    const std::int64_t of_row = (held.image.width + columns - 1) / columns;
    const std::int64_t number = y / rows * of_row + x / columns;
    return ring.offset + number % ring.pixels * held.image.pixel_bytes;
  }

  // Blocks of the row step, evenly spaced, including the one with the most bytes.
  std::vector<std::int32_t> DrawnBlocks() const {
    const std::int32_t step = (columns_ + kMaxDrawn - 1) / kMaxDrawn;
    std::vector<std::int32_t> blocks;
    for (std::int32_t j = peak_ % columns_ % step; j < columns_; j += step) blocks.push_back(j);
    return blocks;
  }

  void Draw() {
    const std::vector<std::int32_t> blocks = DrawnBlocks();
    const std::int32_t row = peak_ / columns_ * columns_;
    for (const auto& [tensor, held] : held_) {
      std::vector<Life> lives;
      for (const auto* list : {&held.over, &held.now}) {
        for (const Life& life : *list) {
          const bool here = life.first < row + columns_ && life.last >= row;
          if (here && !IsNothing(held, life)) lives.push_back(life);
        }
      }
      std::map<Holds, RowStepMap::Part> parts;
      for (std::size_t b = 0; b < blocks.size(); ++b) {
        const std::int32_t until = b + 1 < blocks.size() ? blocks[b + 1] : columns_;
        DrawBlock(held, lives, row + blocks[b], b == 0 ? 0 : blocks[b], until, &parts);
      }
      for (auto& [holds, part] : parts) {
        part.holds = holds;
        part.name = TensorName(subgraph_, tensor);
        part.shape = ShapeText(subgraph_.tensors[tensor]);
        result_.parts.push_back(std::move(part));
      }
    }
    for (const plan::StreamState& state : segment_.states) {
      const auto recurrence = ops::RecurrenceOf(subgraph_, subgraph_.ops[state.op]);
      if (!recurrence) continue;
      RowStepMap::Part part;
      part.holds = Holds::kSums;
      part.name = "state of " + subgraph_.ops[state.op].type;
      part.peak_bytes = recurrence->state_bytes;
      part.stretches = {{state.offset, recurrence->state_bytes, 0, columns_}};
      result_.parts.push_back(std::move(part));
    }
  }

  // The bytes of a tensor in `block`, drawn from column step `from` to `until`.
  void DrawBlock(const Held& held, const std::vector<Life>& lives, std::int32_t block,
                 std::int32_t from, std::int32_t until, std::map<Holds, RowStepMap::Part>* parts) {
    std::vector<std::pair<std::int64_t, Holds>> pixels;
    for (const Life& life : lives) {
      if (life.in(block)) {
        pixels.emplace_back(AddressOf(held, life.pixel), HoldsOf(held, life, block));
      }
    }
    std::sort(pixels.begin(), pixels.end());
    const auto add = [&](Holds holds, std::int64_t offset, std::int64_t bytes) {
      RowStepMap::Part& part = (*parts)[holds];
      if (block == peak_) part.peak_bytes += bytes;
      auto& stretches = part.stretches;
      const bool more = !stretches.empty() && stretches.back().first == from &&
                        stretches.back().offset + stretches.back().bytes == offset;
      if (more) {
        stretches.back().bytes += bytes;
      } else {
        stretches.push_back({offset, bytes, from, until});
      }
    };
    for (const auto& [address, holds] : pixels) add(holds, address, held.image.pixel_bytes);
    if (held.sums && held.sums->in(block)) {
      add(Holds::kSums, held.area->rings[0].offset, held.sums_bytes);
    }
  }

  const graph::Subgraph& subgraph_;
  const plan::Stream& stream_;
  const plan::StreamSegment& segment_;
  std::size_t index_;
  plan::StreamImages images_;
  std::int32_t rows_;
  std::int32_t columns_;
  std::int32_t peak_ = 0;  // the block with the most bytes
  std::map<TensorId, Held> held_;
  RowStepMap result_;
};

}  // namespace

std::string ShapeText(const graph::Tensor& tensor) {
  std::string out(graph::NameOf(tensor.type));
  if (!tensor.shape) return out;
  for (std::size_t i = 0; i < tensor.shape->size(); ++i) {
    out += fmt::format("{}{}", i == 0 ? " " : "x", (*tensor.shape)[i]);
  }
  return out;
}

std::string TensorName(const graph::Subgraph& subgraph, TensorId id) {
  const std::string& name = subgraph.tensors[id].name;
  return name.empty() ? fmt::format("#{}", id.value()) : name;
}

std::vector<RowStepMap> RowStepMapsOf(const graph::Graph& graph, const plan::EntryPlan& entry,
                                      std::size_t most) {
  const graph::Subgraph& subgraph = graph.subgraphs[entry.subgraph];
  const plan::StreamImages images = plan::ImagesOf(subgraph);
  const auto& segments = entry.stream->segments;
  std::vector<std::size_t> highest;
  for (std::size_t s = 0; s < segments.size(); ++s) {
    const bool blocks = !segments[s].whole && segments[s].ops.size() > 1;
    if (blocks && !segments[s].ops[0].rows.empty()) highest.push_back(s);
  }
  std::stable_sort(highest.begin(), highest.end(), [&](std::size_t a, std::size_t b) {
    return plan::HeightOf(subgraph, images, segments[a]) >
           plan::HeightOf(subgraph, images, segments[b]);
  });
  if (highest.size() > most) highest.resize(most);
  std::vector<RowStepMap> row_step_maps;
  row_step_maps.reserve(highest.size());
  for (const std::size_t s : highest) {
    row_step_maps.push_back(RowStepMapMaker(graph, entry, s).Make());
  }
  return row_step_maps;
}

}  // namespace neap::picture
