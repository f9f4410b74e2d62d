// SPDX-License-Identifier: Apache-2.0
//
// The checker's own lower bound of streamed plans. A chain of tensors, each computed from rows of
// the one before, reaches each progress of each of its tensors. At a progress of one of them, the
// minimum bytes of the others are computed by dynamic programming over cells of progress, forwards
// and backwards; bytes that are uncertain within a cell do not count, nor do tensors beside the
// chain. O(tensors x cells).
#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "neap/check/check.h"
#include "neap/check/stream_moments.h"
#include "neap/check/stream_pixels.h"
#include "neap/check/stream_rows.h"
#include "neap/ops/dependence.h"
#include "neap/ops/op_table.h"
#include "neap/ops/recurrence.h"

namespace neap::check {
namespace {

using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::TensorId;
using Numbers = std::vector<std::int64_t>;

// Progress is counted in rows, in so many parts of one.
constexpr std::int64_t kRow = 1 << 12;
constexpr std::int64_t kMaxCells = 2048;
constexpr std::int64_t kUnreachable = std::numeric_limits<std::int64_t>::max() / 4;
constexpr std::int64_t kHighBlock = 8;      // higher ones count as of any height
constexpr std::int64_t kMaxRows = 1 << 12;  // of an image of a chain
constexpr std::size_t kMaxEnds = 32;
constexpr std::size_t kMaxChain = 256;

// Rows of an input that rows of an output need.
struct RowMap {
  Numbers high;                // [y]: rows [0, high) are needed for the output rows [0, y)
  Numbers low;                 // [y]: output rows from y on need nothing before
  std::int64_t rows_read = 0;  // no operator reads the rows after it
  std::int64_t row_bytes = 0;  // of the columns that are read; 0: some inside are not
  // For c of n output columns: the minimum of the needed input columns and the maximum of those no
  // longer needed, as multiples of c / n.
  std::int64_t need_parts = kRow;
  std::int64_t dead_parts = kRow;
};

struct RowsImage {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t pixel_bytes = 0;
};

std::optional<RowsImage> ImageOf4(const graph::Tensor& tensor, std::size_t row) {
  if (!tensor.shape || tensor.shape->size() != 4 || tensor.constant || tensor.variable) return {};
  const auto bytes = graph::TensorBytes(tensor);
  const auto& shape = *tensor.shape;
  const std::int64_t height = shape[row];
  const std::int64_t width = shape[row + 1];
  if (!bytes || shape[0] != 1 || height < 2 || height > kMaxRows || width < 1 || width > kMaxRows ||
      *bytes % (height * width) != 0) {
    return {};
  }
  return RowsImage{height, width, *bytes / (height * width)};
}

// The input indices that output indices need along one axis; of [y], the first and the last but
// one.
struct AxisNeed {
  Numbers begin;
  Numbers end;
};

std::optional<AxisNeed> NeedAlong(const Subgraph& subgraph, const Op& op, std::size_t input,
                                  std::size_t output, std::size_t axis) {
  const auto& shape = *subgraph.tensors[op.outputs[output]].shape;
  AxisNeed need;
  for (std::int64_t y = 0; y < shape[axis]; ++y) {
    ops::Box box = ops::WholeBox(shape);
    box[axis] = {y, y + 1};
    const auto of_box = ops::NeedOf(subgraph, op, input, box, output);
    if (!of_box || of_box->box.size() != 4 || of_box->box[axis].empty()) return {};
    need.begin.push_back(of_box->box[axis].begin);
    need.end.push_back(of_box->box[axis].end);
  }
  return need;
}

// True if each of the indices up to the last that is needed is needed.
bool HasNoGaps(const AxisNeed& need) {
  std::int64_t known = 0;
  for (std::size_t y = 0; y < need.begin.size(); ++y) {
    if (need.begin[y] > known) return false;
    known = std::max(known, need.end[y]);
  }
  return true;
}

std::optional<RowMap> MapOf(const Subgraph& subgraph, const Op& op, std::size_t input,
                            std::size_t output) {
  const std::size_t row = plan::HasChannelsFirst(subgraph) ? 2 : 1;
  const auto from = ImageOf4(subgraph.tensors[op.inputs[input]], row);
  const auto to = ImageOf4(subgraph.tensors[op.outputs[output]], row);
  if (!from || !to) return {};
  const auto rows = NeedAlong(subgraph, op, input, output, row);
  const auto columns = NeedAlong(subgraph, op, input, output, row + 1);
  if (!rows || !columns) return {};
  // One row of the output must not need all of the input: that is no chain.
  if (rows->end.front() - rows->begin.front() >= from->height && to->height > 1) return {};
  RowMap map;
  map.high = {0};
  for (const std::int64_t end : rows->end) map.high.push_back(std::max(map.high.back(), end));
  map.rows_read = map.high.back();
  map.low.assign(rows->begin.size() + 1, from->height);
  for (std::size_t y = rows->begin.size(); y-- > 0;) {
    map.low[y] = std::min(map.low[y + 1], rows->begin[y]);
  }
  const std::int64_t read = *std::max_element(columns->end.begin(), columns->end.end());
  if (HasNoGaps(*rows) && HasNoGaps(*columns)) map.row_bytes = read * from->pixel_bytes;
  std::int64_t needed = 0;
  for (std::int64_t c = 1; c <= to->width; ++c) {
    needed = std::max(needed, columns->end[static_cast<std::size_t>(c - 1)]);
    map.need_parts = std::min(map.need_parts, needed * to->width * kRow / (c * from->width));
    if (c == to->width) break;
    const std::int64_t dead = columns->begin[static_cast<std::size_t>(c)];
    map.dead_parts =
        std::max(map.dead_parts, (dead * to->width * kRow + c * read - 1) / (c * read));
  }
  return map;
}

// The least (or the most) of all chords over `at` between the points (y, points[y]) that are at
// most `most` rows long; of a chord's rise only `parts` count.
std::int64_t Chord(const Numbers& points, std::int64_t at, std::int64_t most, std::int64_t parts,
                   bool least) {
  const auto size = static_cast<std::int64_t>(points.size()) - 1;
  const std::int64_t y = std::min(at / kRow, size - 1);
  std::int64_t best = least ? kUnreachable : -1;
  for (std::int64_t a = std::max<std::int64_t>(0, y - most + 1); a <= y; ++a) {
    for (std::int64_t b = y + 1; b <= std::min(size, a + most); ++b) {
      const std::int64_t from = points[static_cast<std::size_t>(a)];
      const std::int64_t rise = points[static_cast<std::size_t>(b)] - from;
      const std::int64_t over = (b - a) * kRow;
      // Rounded down for the least, up for the most.
      const std::int64_t gained = rise * (at - a * kRow) * parts;
      const std::int64_t value =
          from * kRow + (least ? gained / over : std::min(rise * kRow, (gained + over - 1) / over));
      best = least ? std::min(best, value) : std::max(best, value);
    }
  }
  return best;
}

// The same with blocks of any height: the hull of the points, found from all chords of one end.
// Parts of a rise make it no hull: they are taken of all of it.
class FarChords {
 public:
  FarChords(const Numbers& points, std::int64_t parts, bool least)
      : size_(static_cast<std::int64_t>(points.size()) - 1),
        end_(points.back()),
        parts_(parts),
        least_(least) {
    // The line through the origin that touches the points from below; likewise from the end, from
    // above.
    for (std::int64_t y = least ? 1 : 0; y < size_ + (least ? 1 : 0); ++y) {
      const std::int64_t point = points[static_cast<std::size_t>(y)];
      slope_ = std::min(slope_, least ? point * kRow / y : (end_ - point) * kRow / (size_ - y));
    }
  }

  std::int64_t At(std::int64_t at) const {
    if (least_) {
      return at / kRow * slope_ / kRow * parts_ + at % kRow * slope_ / kRow * parts_ / kRow;
    }
    if (parts_ != kRow) return end_ * kRow;
    const std::int64_t left = size_ * kRow - at;
    return end_ * kRow - left / kRow * slope_ - left % kRow * slope_ / kRow;
  }

 private:
  std::int64_t size_;
  std::int64_t end_;
  std::int64_t parts_;
  bool least_;
  std::int64_t slope_ = kUnreachable;
};

// A tensor of a chain, its progress in cells: cell k is [k, k + 1) steps, the last one complete.
struct ChainLink {
  std::int64_t rows = 0;
  std::int64_t step = kRow;
  std::size_t cells = 0;
  std::int64_t row_bytes = 0;  // of the rows that the next one reads
  std::int64_t rows_read = 0;
  bool complete = false;  // from the start: it is resident
  bool computed = false;
  // By cell of the next tensor.
  std::vector<std::size_t> first_cell;  // of this one, which the next one needs to get there
  Numbers dead;                         // progress of this one that is needed no more, at most

  std::int64_t BytesAt(std::size_t cell) const {
    const auto at = std::min(static_cast<std::int64_t>(cell) * step, rows_read * kRow);
    return at / kRow * row_bytes + at % kRow * row_bytes / kRow;
  }
  std::int64_t DeadBytes(std::size_t next) const {
    const std::int64_t at = std::min(dead[next], rows_read * kRow);
    return at / kRow * row_bytes + (at % kRow * row_bytes + kRow - 1) / kRow;
  }
};

class BoundChain {
 public:
  explicit BoundChain(std::vector<ChainLink> links) : links_(std::move(links)) {}

  std::int64_t Bound() const {
    std::vector<Numbers> before = {Numbers(links_[0].cells, links_[0].complete ? kUnreachable : 0)};
    before[0].back() = 0;
    for (std::size_t l = 0; l + 1 < links_.size(); ++l) before.push_back(Forward(l, before[l]));
    Numbers behind;
    for (std::size_t k = 0; k < links_.back().cells; ++k)
      behind.push_back(links_.back().BytesAt(k));
    std::int64_t bound = 0;
    for (std::size_t l = links_.size(); l-- > 0;) {
      if (l + 1 < links_.size()) behind = Backward(l, behind);
      for (std::size_t k = 0; links_[l].computed && k < links_[l].cells; ++k) {
        const std::int64_t sum =
            std::min(before[l][k], kUnreachable) + std::min(behind[k], kUnreachable);
        if (sum < kUnreachable) bound = std::max(bound, sum);
      }
    }
    return bound;
  }

 private:
  // Minimum bytes of the tensors up to l, by the cell of tensor l + 1.
  Numbers Forward(std::size_t l, const Numbers& before) const {
    const ChainLink& link = links_[l];
    Numbers free = before;  // least of the cells from here on, without tensor l
    Numbers with = before;
    for (std::size_t i = link.cells; i-- > 0;) {
      with[i] = std::min(kUnreachable, before[i] + link.BytesAt(i));
      if (i + 1 == link.cells) continue;
      free[i] = std::min(free[i], free[i + 1]);
      with[i] = std::min(with[i], with[i + 1]);
    }
    Numbers sums;
    for (std::size_t k = 0; k < link.first_cell.size(); ++k) {
      const std::size_t first = link.first_cell[k];
      const std::int64_t kept =
          with[first] >= kUnreachable ? kUnreachable : with[first] - link.DeadBytes(k);
      sums.push_back(std::max(free[first], kept));
    }
    return sums;
  }

  // Minimum bytes of tensor l and the later ones, by the cell of tensor l.
  Numbers Backward(std::size_t l, const Numbers& behind) const {
    const ChainLink& link = links_[l];
    Numbers free(link.cells, kUnreachable);
    Numbers less(link.cells, kUnreachable);
    for (std::size_t k = 0; k < behind.size(); ++k) {
      const std::size_t first = link.first_cell[k];
      free[first] = std::min(free[first], behind[k]);
      less[first] = std::min(less[first], behind[k] - link.DeadBytes(k));
    }
    Numbers sums;
    for (std::size_t i = 0; i < link.cells; ++i) {
      if (i > 0) {
        free[i] = std::min(free[i], free[i - 1]);
        less[i] = std::min(less[i], less[i - 1]);
      }
      sums.push_back(std::min(kUnreachable, std::max(free[i], less[i] + link.BytesAt(i))));
    }
    return sums;
  }

  std::vector<ChainLink> links_;
};

class StreamBound {
 public:
  StreamBound(const graph::Graph& graph, const plan::EntryPlan& entry)
      : subgraph_(graph.subgraphs[entry.subgraph]), stream_(*entry.stream) {
    block_rows_ = IdVector<TensorId, std::int64_t>(subgraph_.tensors.size(), 1);
    for (const plan::StreamSegment& segment : stream_.segments) {
      for (const plan::StreamOp& step : segment.ops) CountRows(segment, step);
    }
  }

  // Variables are live all the time, beside everything else.
  std::int64_t Run() {
    std::int64_t variables = 0;
    for (const Op& op : subgraph_.ops) variables += ops::VariableBytesOf(subgraph_, op);
    return RunBeside(variables) + variables;
  }

 private:
  std::int64_t RunBeside(std::int64_t variables) {
    FindMaps();
    std::int64_t bound = 0;
    for (const TensorId end : Ends()) {
      std::vector<ChainLink> links = LinksTo(end);
      if (links.size() < 2 || links.size() > kMaxChain) continue;
      bound = std::max(bound, BoundChain(std::move(links)).Bound());
    }
    std::int64_t in = 0;
    std::int64_t out = 0;
    const auto bytes = [&](TensorId id) {
      return graph::TensorBytes(subgraph_.tensors[id]).value_or(0);
    };
    for (const TensorId id : subgraph_.inputs) in += Contains(used_, id) ? bytes(id) : 0;
    for (const TensorId id : subgraph_.outputs) {
      const bool elsewhere =
          stream_.input == plan::StreamInput::kExternal && Contains(subgraph_.inputs, id);
      if (elsewhere || subgraph_.tensors[id].constant) continue;
      out = std::max(out, bytes(id));
    }
    if (stream_.input != plan::StreamInput::kResident) in = 0;
    std::vector<TensorId> outside;
    if (stream_.input != plan::StreamInput::kResident) outside = subgraph_.inputs;
    bound = std::max({bound, in, out, BytesAtGates(subgraph_, order_, outside)});
    if (stream_.slow || stream_.macs != stream_.layerwise_macs) return bound;
    // Only as far as the plan states one, and where that is worth the time. The result is the same
    // for a plan that states it.
    const auto is_near = [&](std::int64_t better) { return bound >= better - better / 64; };
    const std::int64_t stated = stream_.lower_bound_bytes - variables;
    if (is_near(stated)) return bound;
    const PixelPlans plans = {stream_.input, order_, block_rows_};
    PixelMoment moment;
    std::int64_t better = BytesAtPixels(subgraph_, plans, bound, stated, &moment);
    better = BytesAtRows(subgraph_, plans, better, stated, moment);
    return is_near(better) ? bound : better;
  }

  void CountRows(const plan::StreamSegment& segment, const plan::StreamOp& step) {
    const bool fed = !step.op.valid();
    if (!fed && (!subgraph_.ops.Has(step.op) || subgraph_.ops[step.op].outputs.empty())) return;
    const auto& outputs = fed ? subgraph_.inputs : subgraph_.ops[step.op].outputs;
    const auto output = static_cast<std::size_t>(step.output.value_or(0));
    if (!fed && output >= outputs.size()) return;
    const TensorId tensor = fed ? step.fed : outputs[output];
    if (!tensor.valid() || !subgraph_.tensors.Has(tensor)) return;
    if (segment.whole) block_rows_[tensor] = kMaxRows;
    for (const plan::StreamRange& range : step.rows) {
      block_rows_[tensor] = std::max(block_rows_[tensor], range.size());
    }
  }

  void FindMaps() {
    ways_ = IdVector<TensorId, Way>(subgraph_.tensors.size());
    readers_ = IdVector<TensorId, int>(subgraph_.tensors.size(), 0);
    // In the order in which the plan runs them for the first time.
    for (const plan::StreamSegment& segment : stream_.segments) {
      for (const plan::StreamOp& step : segment.ops) {
        if (!subgraph_.ops.Has(step.op) || !done_.emplace(step.op, true).second) continue;
        order_.push_back(step.op);
        const Op& op = subgraph_.ops[step.op];
        for (std::size_t i = 0; i < op.inputs.size(); ++i) {
          const TensorId from = op.inputs[i];
          if (!from.valid() || subgraph_.tensors[from].constant) continue;
          used_.push_back(from);
          const bool once = std::count(op.inputs.begin(), op.inputs.end(), from) == 1;
          for (std::size_t output = 0; once && output < op.outputs.size(); ++output) {
            AddWay(op, i, output);
          }
        }
      }
    }
  }

  // Of operators with one output, or whose outputs are parts of the input.
  void AddWay(const Op& op, std::size_t input, std::size_t output) {
    const bool apart = op.outputs.size() == 1 || ops::Has(op, ops::trait::kSplits);
    auto map =
        apart && op.outputs[output].valid() ? MapOf(subgraph_, op, input, output) : std::nullopt;
    if (!map) return;
    const TensorId from = op.inputs[input];
    ++readers_[from];
    std::int64_t kept = 0;
    for (std::size_t y = 0; y + 1 < map->high.size(); ++y) {
      kept = std::max(kept, (map->high[y] - map->low[y]) * map->row_bytes);
    }
    Way& way = ways_[op.outputs[output]];
    const std::int64_t sum = ways_[from].kept_bytes + kept + 1;
    if (sum > way.kept_bytes) way = {sum, from, std::move(*map)};
  }

  // Outputs, and tensors that begin no further row of a chain.
  std::vector<TensorId> Ends() const {
    std::vector<TensorId> ends = subgraph_.outputs;
    for (const TensorId id : subgraph_.tensors.Ids()) {
      if (ways_[id].from.valid() && readers_[id] == 0) ends.push_back(id);
    }
    std::sort(ends.begin(), ends.end(), [&](TensorId a, TensorId b) {
      return std::pair(-ways_[a].kept_bytes, a) < std::pair(-ways_[b].kept_bytes, b);
    });
    if (ends.size() > kMaxEnds) ends.resize(kMaxEnds);
    return ends;
  }

  std::vector<ChainLink> LinksTo(TensorId end) const {
    std::vector<ChainLink> links;
    const RowMap* map = nullptr;  // to the next one
    for (TensorId at = end; at.valid();) {
      const auto image = ImageOf4(subgraph_.tensors[at], plan::HasChannelsFirst(subgraph_) ? 2 : 1);
      if (!image) break;
      const bool input = Contains(subgraph_.inputs, at);
      ChainLink link;
      link.rows = image->height;
      link.step =
          std::max<std::int64_t>(1, (image->height * kRow + kMaxCells - 2) / (kMaxCells - 1));
      link.cells = static_cast<std::size_t>((image->height * kRow + link.step - 1) / link.step) + 1;
      link.rows_read = image->height;
      link.complete = input && stream_.input == plan::StreamInput::kResident;
      link.computed = !input;
      if (map == nullptr) {
        const bool kept = Contains(subgraph_.outputs, at);
        link.row_bytes = kept ? image->width * image->pixel_bytes : 0;
      } else {
        link.row_bytes = map->row_bytes;
        link.rows_read = map->rows_read;
        Connect(*map, links.back(), block_rows_[at_], &link);
      }
      if (input && stream_.input == plan::StreamInput::kExternal) link.row_bytes = 0;
      links.push_back(std::move(link));
      map = &ways_[at].map;
      at_ = at;
      at = ways_[at].from;
    }
    std::reverse(links.begin(), links.end());
    return links;
  }

  // The part of `link` that the next tensor, in blocks of at most `most` rows, needs, by its cell.
  static void Connect(const RowMap& map, const ChainLink& next, std::int64_t most,
                      ChainLink* link) {
    const auto last = next.rows * kRow;
    const FarChords far_need(map.high, map.need_parts, true);
    const FarChords far_dead(map.low, map.dead_parts, false);
    const auto needed = [&](std::int64_t at) {
      return most > kHighBlock ? far_need.At(at) : Chord(map.high, at, most, map.need_parts, true);
    };
    const auto dead = [&](std::int64_t at) {
      return most > kHighBlock ? far_dead.At(at) : Chord(map.low, at, most, map.dead_parts, false);
    };
    for (std::size_t k = 0; k < next.cells; ++k) {
      const std::int64_t at = std::min(last, static_cast<std::int64_t>(k) * next.step);
      const std::int64_t need = at == 0 ? 0 : needed(at);
      link->first_cell.push_back(std::min(
          link->cells - 1, static_cast<std::size_t>(std::max<std::int64_t>(need, 0) / link->step)));
      // Of a cell its end.
      link->dead.push_back(dead(std::min(last, at + next.step)));
    }
    for (std::size_t k = next.cells; k-- > 1;) {
      link->first_cell[k - 1] = std::min(link->first_cell[k - 1], link->first_cell[k]);
    }
    for (std::size_t k = 1; k < next.cells; ++k) {
      link->dead[k] = std::max(link->dead[k], link->dead[k - 1]);
    }
  }

  struct Way {
    std::int64_t kept_bytes = 0;
    TensorId from;
    RowMap map;
  };

  const Subgraph& subgraph_;
  const plan::Stream& stream_;
  IdVector<TensorId, std::int64_t> block_rows_;
  IdVector<TensorId, Way> ways_;
  IdVector<TensorId, int> readers_;  // by rows
  std::vector<TensorId> used_;
  std::map<OpId, bool> done_;
  std::vector<OpId> order_;  // as they run for the first time
  mutable TensorId at_;
};

}  // namespace

std::int64_t CheckedStreamBound(const graph::Graph& graph, const plan::EntryPlan& entry) {
  return StreamBound(graph, entry).Run();
}

}  // namespace neap::check
