// SPDX-License-Identifier: Apache-2.0
#include "neap/check/stream_reads.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include "neap/ops/dependence.h"
#include "neap/ops/op_table.h"
#include "neap/ops/recurrence.h"
#include "neap/ops/traits.h"

namespace neap::check {
namespace {

using graph::Op;
using graph::OpId;
using graph::TensorId;
using Numbers = std::vector<std::int64_t>;

constexpr std::int64_t kHighest = 8;                      // rows of a block
constexpr std::int64_t kLargest = std::int64_t{1} << 18;  // pixels of several groups
constexpr std::size_t kMaxGroups = 8;

std::size_t Spot(std::int64_t index) { return static_cast<std::size_t>(index); }

}  // namespace

std::int64_t PixelGroup::Corner(std::int64_t y, std::int64_t x) const {
  return corner.empty() ? y * x : corner[Spot(y * (width + 1) + x)];
}

std::int64_t PixelGroup::First(std::int64_t pixels) const {
  const std::int64_t y = pixels / width;
  const std::int64_t x = pixels % width;
  const std::int64_t above = Corner(y, width);
  const std::int64_t by_row = x == 0 ? above : above + Corner(y + 1, x) - Corner(y, x);
  if (block_rows == 1 || corner.empty()) return by_row;
  // In boxes from row `top` to row `bottom`, that many columns are complete.
  const auto end = static_cast<std::int64_t>(corner.size()) / (width + 1) - 1;
  std::int64_t least = by_row;
  for (std::int64_t bottom = y + 1; bottom <= std::min(end, y + block_rows); ++bottom) {
    for (std::int64_t top = std::max<std::int64_t>(bottom - block_rows, 0); top <= y; ++top) {
      const std::int64_t columns = (pixels - top * width) / (bottom - top);
      least = std::min(least, Corner(top, width) + Corner(bottom, columns) - Corner(top, columns));
    }
  }
  return least;
}

std::int64_t PixelReading::Needs(std::int64_t pixels, bool reached) const {
  if (pixels <= 0) return 0;
  if (at_once) return from_pixels;
  if (unclear && pixels < to_rows * to_width) return 0;
  const std::int64_t row = (pixels - 1) / to_width;
  std::int64_t least = from_pixels;
  const std::int64_t earliest = unclear ? row : std::max<std::int64_t>(row - block_rows + 1, 0);
  for (std::int64_t top = earliest; top <= row; ++top) {
    const std::int64_t highest = unclear ? row + 1 : std::min(to_rows, top + block_rows);
    for (std::int64_t bottom = row + 1; bottom <= highest; ++bottom) {
      const std::int64_t done = pixels - top * to_width;
      const std::int64_t rounding = reached ? bottom - top - 1 : 0;
      const std::int64_t columns_end = columns.end[Spot((done + rounding) / (bottom - top))];
      const std::int64_t above = rows.end[Spot(top)];
      const std::int64_t here = rows.end[Spot(bottom)];
      std::int64_t needs = 0;
      if (from_by_rows) {
        if (above > 0) needs = (above - 1) * from_width + columns.end.back();
        if (here > above && columns_end > 0) {
          needs = std::max(needs, (here - 1) * from_width + columns_end);
        }
      } else {
        needs = above * columns.end.back() + (here - above) * columns_end;
      }
      least = std::min(least, needs);
    }
  }
  return least;
}

std::int64_t PixelReading::Gone(const PixelGroup& group, std::int64_t pixels, bool begun) const {
  const std::int64_t height = from_pixels / from_width;
  if (pixels >= to_rows * to_width) return group.Corner(height, from_width);
  if (at_once) return 0;
  if (unclear) return pixels > 0 ? group.Corner(height, from_width) : 0;
  const std::int64_t row = pixels / to_width;
  std::int64_t most = 0;
  for (std::int64_t top = std::max<std::int64_t>(row - block_rows + 1, 0); top <= row; ++top) {
    for (std::int64_t bottom = row + 1; bottom <= std::min(to_rows, top + block_rows); ++bottom) {
      const std::int64_t done = pixels - top * to_width;
      const std::int64_t column = (done + (begun ? 0 : bottom - top - 1)) / (bottom - top);
      const std::int64_t left = columns.begin[Spot(column)];
      const std::int64_t above = rows.begin[Spot(top)];
      const std::int64_t here = rows.begin[Spot(bottom)];
      most = std::max(most, group.Corner(above, from_width) + group.Corner(here, left) -
                                group.Corner(above, left));
    }
  }
  return most;
}

bool PixelEvent::Has(std::size_t tensor) const {
  return std::find(tensors.begin(), tensors.end(), tensor) != tensors.end();
}

PixelReads::PixelReads(const graph::Subgraph& subgraph, const PixelPlans& plans, bool apart)
    : subgraph_(subgraph),
      plans_(plans),
      apart_(apart),
      images_(plan::ImagesOf(subgraph)),
      index_(subgraph.tensors.size(), -1) {
  if (plans.input == plan::StreamInput::kResident || plans.input == plan::StreamInput::kRows) {
    for (const TensorId id : subgraph.inputs) {
      if (index_[id] >= 0) continue;
      AddTensor(id, false);
      tensors_.back().given = plans.input == plan::StreamInput::kResident;
      tensors_.back().fed = !tensors_.back().given;
    }
  }
  for (const OpId id : plans.order) AddOperator(id);
  for (const auto& reading : readings_) {
    tensors_[reading->from].readers.push_back(reading.get());
    tensors_[reading->to].made_from.push_back(reading.get());
  }
  for (PixelTensor& tensor : tensors_) AddGroups(&tensor);
  for (std::size_t t = 0; t < tensors_.size(); ++t) ascending_.push_back(t);
}

std::optional<std::size_t> PixelReads::Index(TensorId id) const {
  if (!id.valid() || index_[id] < 0) return {};
  return Spot(index_[id]);
}

void PixelReads::AddTensor(TensorId id, bool at_once) {
  const plan::StreamImage& image = images_[id];
  PixelTensor tensor;
  tensor.id = id;
  tensor.width = std::max<std::int64_t>(1, image.width);
  tensor.pixels = std::max<std::int64_t>(1, image.height) * tensor.width;
  tensor.pixel_bytes = image.pixel_bytes;
  tensor.at_once = at_once;
  tensor.kept = Contains(subgraph_.outputs, id);
  tensor.by_rows = !at_once && plans_.block_rows[id] <= 1;
  index_[id] = static_cast<std::int64_t>(tensors_.size());
  tensors_.push_back(std::move(tensor));
}

bool PixelReads::Streams(const Op& op) const {
  if (ops::RecurrenceOf(subgraph_, op)) return true;
  std::size_t outputs = 0;
  for (const TensorId id : op.outputs) outputs += id.valid() ? 1 : 0;
  const bool apart = ops::Has(op, ops::trait::kSplits);
  if (outputs != 1 && !apart) return false;
  for (std::size_t o = 0; o < op.outputs.size(); ++o) {
    if (!op.outputs[o].valid()) continue;
    const graph::Tensor& tensor = subgraph_.tensors[op.outputs[o]];
    if (!tensor.shape) return false;
    const ops::Box whole = ops::WholeBox(*tensor.shape);
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (!op.inputs[i].valid() || subgraph_.tensors[op.inputs[i]].constant) continue;
      if (!ops::NeedOf(subgraph_, op, i, whole, o)) return false;
    }
    const plan::StreamImage& image = images_[op.outputs[o]];
    ops::Box row = whole;
    if (image.row_axis) row[*image.row_axis] = {0, 1};
    if (!apart && !ops::ComputesPart(subgraph_, op, row)) return false;
  }
  return true;
}

void PixelReads::AddOperator(OpId id) {
  const Op& op = subgraph_.ops[id];
  const bool streams = Streams(op);
  std::optional<std::size_t> last;
  const auto recurrence = ops::RecurrenceOf(subgraph_, op);
  for (std::size_t o = 0; o < op.outputs.size(); ++o) {
    if (!op.outputs[o].valid() || index_[op.outputs[o]] >= 0) continue;
    if (recurrence && o != recurrence->output) continue;
    AddTensor(op.outputs[o], !streams);
    if (!streams && last) together_.emplace_back(*last, tensors_.size() - 1);
    last = tensors_.size() - 1;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (Index(op.inputs[i])) AddReading(op, i, o);
    }
  }
}

void PixelReads::AddReading(const Op& op, std::size_t input, std::size_t output) {
  const TensorId in = op.inputs[input];
  const TensorId out = op.outputs[output];
  PixelReading reading;
  reading.from = *Index(in);
  reading.to = *Index(out);
  const PixelTensor& from = tensors_[reading.from];
  const PixelTensor& to = tensors_[reading.to];
  reading.from_pixels = from.pixels;
  reading.from_width = from.width;
  reading.to_rows = to.pixels / to.width;
  reading.to_width = to.width;
  reading.block_rows = std::min(plans_.block_rows[out], reading.to_rows);
  reading.from_by_rows = from.by_rows;
  reading.at_once = to.at_once;
  const auto recurrence = ops::RecurrenceOf(subgraph_, op);
  reading.adds = recurrence
                     ? recurrence->last_only
                     : input == 0 && ops::IsMeanOfPlaces(subgraph_, op, images_[in].channels_first);
  const plan::StreamImage& a = images_[in];
  const plan::StreamImage& b = images_[out];
  const bool alike = a.height == b.height && a.width == b.width && a.pixel_bytes == b.pixel_bytes;
  const bool reshapes = ops::IsReshapeLike(op) && a.bytes() == b.bytes();
  const bool by_channel = ops::IsByChannel(subgraph_, op) && reading.block_rows >= reading.to_rows;
  reading.replaces = (ops::IsElementwise(op) && alike) || reshapes || by_channel;
  auto axes = AxesOf(op, input, output);
  if (!axes && !to.at_once) {
    // Its need is unknown: none until it is complete.
    reading.unclear = true;
    reading.rows.end.assign(Spot(reading.to_rows) + 1, 0);
    reading.columns.end.assign(Spot(reading.to_width) + 1, 0);
  }
  if (axes) {
    reading.rows = std::move(axes->first);
    reading.columns = std::move(axes->second);
    reading.unclear = reshapes || by_channel || reading.block_rows > kHighest;
  }
  if (reading.at_once && !reading.replaces) {
    reading.replaces = ops::IsElementwise(op) || ops::IsReshapeLike(op);
  }
  readings_.push_back(std::make_unique<PixelReading>(std::move(reading)));
}

// nullopt: what pixels need is not that of their rows and columns.
std::optional<std::pair<PixelReading::Axis, PixelReading::Axis>> PixelReads::AxesOf(
    const Op& op, std::size_t input, std::size_t output) const {
  const plan::StreamImage& out = images_[op.outputs[output]];
  const plan::StreamImage& in = images_[op.inputs[input]];
  const auto& shape = *subgraph_.tensors[op.outputs[output]].shape;
  struct Span {
    ops::Interval rows;
    ops::Interval columns;
  };
  const auto need = [&](std::optional<std::int64_t> y,
                        std::optional<std::int64_t> x) -> std::optional<Span> {
    ops::Box box = ops::WholeBox(shape);
    if (y && out.row_axis) box[*out.row_axis] = {*y, *y + 1};
    if (x && out.column_axis) box[*out.column_axis] = {*x, *x + 1};
    const auto found = ops::NeedOfSteps(subgraph_, op, input, box, output);
    if (!found) return {};
    if (ops::IsEmpty(found->box)) return Span{};
    Span part{{0, in.height}, {0, in.width}};
    if (in.height * in.width > 1 && in.row_axis) part.rows = found->box[*in.row_axis];
    if (in.height * in.width > 1 && in.column_axis) part.columns = found->box[*in.column_axis];
    return part;
  };
  const auto along = [&](std::int64_t size, std::int64_t from, auto&& at,
                         std::vector<ops::Interval>* all) -> std::optional<PixelReading::Axis> {
    PixelReading::Axis axis;
    axis.end = {0};
    axis.begin.assign(Spot(size) + 1, from);
    axis.read.assign(Spot(from), false);
    std::int64_t last_begin = 0;
    for (std::int64_t i = 0; i < size; ++i) {
      const std::optional<ops::Interval> found = at(i);
      if (!found) return {};
      all->push_back(*found);
      axis.end.push_back(axis.end.back());
      if (found->empty()) continue;
      if (found->begin < last_begin || found->end < axis.end.back()) return {};
      last_begin = found->begin;
      axis.end.back() = found->end;
      axis.begin[Spot(i)] = found->begin;
      for (std::int64_t j = found->begin; j < found->end; ++j) axis.read[Spot(j)] = true;
    }
    for (std::int64_t i = size; i-- > 0;) {
      axis.begin[Spot(i)] = std::min(axis.begin[Spot(i)], axis.begin[Spot(i) + 1]);
    }
    return axis;
  };
  std::vector<ops::Interval> by_row;
  std::vector<ops::Interval> by_column;
  auto rows = along(
      out.height, in.height,
      [&](std::int64_t y) -> std::optional<ops::Interval> {
        const auto part = need(y, {});
        if (!part) return {};
        return part->rows;
      },
      &by_row);
  auto columns = along(
      out.width, in.width,
      [&](std::int64_t x) -> std::optional<ops::Interval> {
        const auto part = need({}, x);
        if (!part) return {};
        return part->columns;
      },
      &by_column);
  if (!rows || !columns) return {};
  for (const std::int64_t y : std::array{std::int64_t{0}, out.height / 2, out.height - 1}) {
    for (const std::int64_t x : std::array{std::int64_t{0}, out.width / 2, out.width - 1}) {
      const auto part = need(y, x);
      if (!part) return {};
      const bool none = by_row[Spot(y)].empty() || by_column[Spot(x)].empty();
      if (none && (part->rows.empty() || part->columns.empty())) continue;
      if (part->rows != by_row[Spot(y)] || part->columns != by_column[Spot(x)]) return {};
    }
  }
  return std::pair(std::move(*rows), std::move(*columns));
}

void PixelReads::AddGroups(PixelTensor* tensor) {
  if (tensor->kept) {
    tensor->groups.push_back({tensor->width, 1, {}, {}});
    return;
  }
  std::vector<const PixelReading*> readers;
  for (const PixelReading* reading : tensor->readers) {
    const bool known = reading->at_once || !reading->rows.read.empty();
    if (known && !reading->adds && readers.size() < kMaxGroups) readers.push_back(reading);
  }
  const auto reads = [&](const PixelReading& reading, std::int64_t y, std::int64_t x) {
    return reading.at_once || (reading.rows.read[Spot(y)] && reading.columns.read[Spot(x)]);
  };
  const std::int64_t height = tensor->pixels / tensor->width;
  std::vector<const PixelReading*> full;  // they read all
  for (const PixelReading* reading : readers) {
    bool all = true;
    for (std::int64_t y = 0; y < height; ++y) all = all && reads(*reading, y, 0);
    for (std::int64_t x = 0; x < tensor->width; ++x) all = all && reads(*reading, 0, x);
    if (all) full.push_back(reading);
  }
  const std::int64_t block_rows = tensor->by_rows ? 1 : plans_.block_rows[tensor->id];
  const bool parts = full.size() < readers.size() && tensor->pixels <= kLargest &&
                     !tensor->at_once && block_rows <= kHighest;
  has_apart_ = has_apart_ || (parts && block_rows > 1);
  if (!parts || (block_rows > 1 && !apart_)) {
    if (!full.empty()) tensor->groups.push_back({tensor->width, 1, {}, std::move(full)});
    return;
  }
  std::map<std::uint32_t, PixelGroup> groups;
  std::vector<std::uint32_t> masks;
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < tensor->width; ++x) {
      std::uint32_t mask = 0;
      for (std::size_t r = 0; r < readers.size(); ++r) {
        if (reads(*readers[r], y, x)) mask |= std::uint32_t{1} << r;
      }
      masks.push_back(mask);
      if (mask != 0) groups[mask];
    }
  }
  for (auto& [mask, group] : groups) {
    group.width = tensor->width;
    group.block_rows = block_rows;
    const std::int64_t pitch = tensor->width + 1;
    group.corner.assign(Spot((height + 1) * pitch), 0);
    for (std::int64_t y = 0; y < height; ++y) {
      for (std::int64_t x = 0; x < tensor->width; ++x) {
        const std::int32_t one = masks[Spot(y * tensor->width + x)] == mask ? 1 : 0;
        group.corner[Spot((y + 1) * pitch + x + 1)] = group.corner[Spot(y * pitch + x + 1)] +
                                                      group.corner[Spot((y + 1) * pitch + x)] -
                                                      group.corner[Spot(y * pitch + x)] + one;
      }
    }
    for (std::size_t r = 0; r < readers.size(); ++r) {
      if ((mask >> r & 1U) != 0) group.readers.push_back(readers[r]);
    }
    if (tensor->groups.size() < kMaxGroups) tensor->groups.push_back(std::move(group));
  }
}

PixelEvent PixelReads::EventAt(std::size_t t, std::int64_t pixel) const {
  const PixelTensor& tensor = tensors_[t];
  PixelEvent event{{t}, pixel, pixel + 1};
  if (tensor.fed) {
    event.from = pixel / tensor.width * tensor.width;
    event.to = event.from + tensor.width;
  }
  if (tensor.at_once) {
    event.from = 0;
    event.to = tensor.pixels;
    for (const auto& [a, b] : together_) {
      if (event.Has(a)) event.tensors.push_back(b);
    }
  }
  return event;
}

std::vector<PixelEvent> PixelReads::Events() const {
  std::vector<PixelEvent> events;
  for (std::size_t t = 0; t < tensors_.size(); ++t) {
    const PixelTensor& tensor = tensors_[t];
    const auto adds = [](const PixelReading* reading) { return reading->adds; };
    if (tensor.given || std::any_of(tensor.made_from.begin(), tensor.made_from.end(), adds)) {
      continue;
    }
    const std::int64_t height = tensor.pixels / tensor.width;
    Numbers pixels;
    for (const std::int64_t eighth : std::array{0, 1, 3, 4, 5, 7}) {
      const std::int64_t first = height * eighth / 8 * tensor.width;
      pixels.push_back(tensor.at_once ? 0 : first + tensor.width / 2);
      pixels.push_back(tensor.at_once ? 0 : first + tensor.width - 1);
    }
    std::sort(pixels.begin(), pixels.end());
    pixels.erase(std::unique(pixels.begin(), pixels.end()), pixels.end());
    // Where a later output of the same operator already has its event.
    const bool later = std::any_of(together_.begin(), together_.end(),
                                   [&](const auto& pair) { return pair.second == t; });
    for (const std::int64_t pixel : pixels) {
      if (!later) events.push_back(EventAt(t, pixel));
    }
  }
  return events;
}

std::vector<PixelEvent> PixelReads::Near(const PixelEvent& event) const {
  std::vector<PixelEvent> near;
  const std::size_t t = event.tensors[0];
  const PixelTensor& tensor = tensors_[t];
  const std::int64_t left = event.from - event.from % tensor.width;
  for (const std::int64_t pixel :
       std::array{left, left + tensor.width - 1, event.from + 1, event.from - 1,
                  event.from + tensor.width, event.from - tensor.width}) {
    if (pixel < 0 || pixel >= tensor.pixels || tensor.at_once) continue;
    near.push_back(EventAt(t, pixel));
  }
  return near;
}

}  // namespace neap::check
