// SPDX-License-Identifier: Apache-2.0
#include "neap/check/stream_rows.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "neap/check/min_cut.h"
#include "neap/check/stream_reads.h"
#include "neap/ops/dependence.h"
#include "neap/ops/recurrence.h"

namespace neap::check {
namespace {

using graph::TensorId;
using Grid = std::vector<char>;  // pixels of a tensor

constexpr std::int64_t kMostEdges = 8'000'000;  // that cuts and sweeps look at
constexpr std::int64_t kMostPixels = 24'000;    // of all tensors
constexpr std::int64_t kMostCounted = 24'000;   // around one event
constexpr std::int64_t kNearRows = 10;
constexpr std::size_t kMostRowEvents = 40;
constexpr int kMostRowStarts = 4;
constexpr int kMostRowTries = 20;

// A tensor whose rows count.
struct RowTensor {
  std::int64_t height = 1;
  std::int64_t width = 1;
  std::int64_t pixel_bytes = 0;
  std::int64_t block_rows = 1;
  std::int64_t sum_bytes = 0;  // of the running sums that it replaces
  bool has_events = true;
  bool shrinks = false;  // not larger than its inputs
};

// In the box that computes this pixel.
struct RowEvent {
  std::size_t tensor = 0;
  std::int64_t row = 0;
  std::int64_t column = 0;
};

struct RowPixel {
  std::int64_t row = 0;
  std::int64_t column = 0;
};

class RowProgress {
 public:
  RowProgress(const graph::Subgraph& subgraph, const PixelPlans& plans)
      : reads_(subgraph, plans, false), tensors_(reads_.Tensors()) {
    for (const PixelTensor& tensor : tensors_) {
      RowTensor own;
      own.pixel_bytes = tensor.pixel_bytes;
      own.width = tensor.width;
      own.height = tensor.pixels / tensor.width;
      // Pixels that exist at once may be gone one by one.
      own.block_rows = AtOnce(tensor)
                           ? own.height
                           : std::clamp<std::int64_t>(plans.block_rows[tensor.id], 1, own.height);
      own.has_events = !tensor.given && !tensor.at_once;
      for (const PixelReading* made : tensor.made_from) {
        own.has_events = own.has_events && !made->adds && !made->unclear;
      }
      std::int64_t from = 0;
      for (const PixelReading* made : tensor.made_from) from += BytesRead(*made);
      own.shrinks = tensor.pixels * tensor.pixel_bytes <= from;
      rows_.push_back(own);
      pixels_ += own.height * own.width;
    }
    for (const graph::OpId id : plans.order) {
      const graph::Op& op = subgraph.ops[id];
      for (std::size_t t = 0; t < tensors_.size(); ++t) {
        const auto adds = [](const PixelReading* reading) { return reading->adds; };
        if (!Contains(op.outputs, tensors_[t].id) || ops::RecurrenceOf(subgraph, op)) continue;
        const auto& made = tensors_[t].made_from;
        if (std::none_of(made.begin(), made.end(), adds)) continue;
        rows_[t].sum_bytes =
            ops::SumBytesOf(subgraph, op) * tensors_[t].pixels * tensors_[t].pixel_bytes;
      }
    }
  }

  std::int64_t AllPixels() const { return pixels_; }

  std::int64_t Bytes(std::int64_t known, std::int64_t enough, const PixelMoment& start) {
    bytes_ = known;
    enough_ = enough;
    std::multimap<std::int64_t, RowEvent> hopes;
    const std::vector<RowEvent> events = Events();
    // An odd step: rows of all remainders are among them.
    const std::size_t step = (events.size() / kMostRowEvents + 1) | 1U;
    for (std::size_t e = 0; e < events.size() && !Done(); e += step) {
      if (Sweep(events[e])) hopes.emplace(-Hope(events[e]), events[e]);
    }
    std::optional<std::pair<std::int64_t, RowEvent>> best;
    std::set<std::size_t> started;
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      if (!start.tensor.valid() || tensors_[t].id != start.tensor || !rows_[t].has_events) continue;
      const RowEvent event = {t, start.row, start.column};
      best = {Try(event), event};
    }
    for (const auto& [hope, event] : hopes) {
      if (-hope <= bytes_ || Done() || static_cast<int>(started.size()) == kMostRowStarts) break;
      if (!started.insert(event.tensor).second) continue;
      const std::int64_t least = Try(event);
      if (!best || least > best->first) best = {least, event};
    }
    if (best) Search(best->first, best->second);
    return bytes_;
  }

 private:
  std::int64_t BytesRead(const PixelReading& reading) const {
    const std::int64_t all = reading.from_pixels * tensors_[reading.from].pixel_bytes;
    const auto& rows = reading.rows.read;
    const auto& columns = reading.columns.read;
    if (rows.empty() || columns.empty()) return all;
    const std::int64_t pixels = std::count(rows.begin(), rows.end(), true) *
                                std::count(columns.begin(), columns.end(), true);
    return pixels * tensors_[reading.from].pixel_bytes;
  }

  bool Done() const { return bytes_ >= enough_ || work_ > kMostEdges; }

  std::size_t At(std::size_t t, std::int64_t row, std::int64_t column) const {
    return static_cast<std::size_t>(row * rows_[t].width + column);
  }

  // The last pixel of `from` that a pixel of `to` needs.
  std::optional<RowPixel> Needed(const PixelReading& reading, std::int64_t row,
                                 std::int64_t column) const {
    const RowTensor& from = rows_[reading.from];
    if (NeedsAll(reading)) return RowPixel{from.height - 1, from.width - 1};
    if (reading.rows.read.empty()) return {};
    const std::int64_t rows = reading.rows.end[static_cast<std::size_t>(row) + 1];
    const std::int64_t columns = reading.columns.end[static_cast<std::size_t>(column) + 1];
    if (rows == 0 || columns == 0) return {};
    return RowPixel{std::min(rows, from.height) - 1, std::min(columns, from.width) - 1};
  }
  static bool AtOnce(const PixelTensor& tensor) {
    return tensor.at_once || std::any_of(tensor.made_from.begin(), tensor.made_from.end(),
                                         [](const PixelReading* made) { return made->adds; });
  }
  // The operator needs all of its input before its output, which exists at once.
  bool NeedsAll(const PixelReading& reading) const {
    return tensors_[reading.to].at_once || reading.adds;
  }

  // The last pixel of `to` that needs a pixel of `from`.
  std::optional<RowPixel> Last(const PixelReading& reading, std::int64_t row,
                               std::int64_t column) const {
    if (NeedsAll(reading)) return RowPixel{0, 0};
    // Nothing is known: it may be gone once some of `to` exists.
    if (reading.rows.read.empty()) return RowPixel{0, 0};
    const auto last = [&](const PixelReading::Axis& axis, std::int64_t index,
                          std::int64_t size) -> std::int64_t {
      if (!axis.read[static_cast<std::size_t>(index)]) return -1;
      const auto end = axis.begin.begin() + size;
      return std::upper_bound(axis.begin.begin(), end, index) - axis.begin.begin() - 1;
    };
    const RowPixel spot = {last(reading.rows, row, rows_[reading.to].height),
                           last(reading.columns, column, rows_[reading.to].width)};
    if (spot.row < 0 || spot.column < 0) return {};
    return spot;
  }

  bool InBox(const RowEvent& event, std::int64_t row, std::int64_t column) const {
    return row >= event.row && (tensors_[event.tensor].fed || column >= event.column);
  }

  // Calls `visit` with each pixel, tensor and place, on which the pixel depends directly.
  template <typename Visit>
  void ForNeeds(std::size_t t, std::int64_t row, std::int64_t column, const Visit& visit) const {
    const RowTensor& own = rows_[t];
    if (column > 0) visit(t, RowPixel{row, column - 1});
    if (row > 0 && own.block_rows > 1) visit(t, RowPixel{row - 1, column});
    if (row >= own.block_rows) visit(t, RowPixel{row - own.block_rows, own.width - 1});
    for (const PixelReading* made : tensors_[t].made_from) {
      if (const auto spot = Needed(*made, row, column)) visit(made->from, *spot);
    }
  }

  // Adds to the pixels all that they depend on.
  void Close(std::vector<Grid>* grids) {
    for (auto t = reads_.Ascending().rbegin(); t != reads_.Ascending().rend(); ++t) {
      Grid& own = (*grids)[*t];
      const RowTensor& size = rows_[*t];
      if (AtOnce(tensors_[*t]) && std::find(own.begin(), own.end(), 1) != own.end()) {
        std::fill(own.begin(), own.end(), 1);
      }
      for (std::int64_t row = size.height; row-- > 0;) {
        const auto from = own.begin() + static_cast<std::ptrdiff_t>(At(*t, row, 0));
        const bool any = std::find(from, from + size.width, 1) != from + size.width;
        if (!any) continue;
        if (tensors_[*t].fed) std::fill(from, from + size.width, 1);
        for (std::int64_t column = size.width; column-- > 0;) {
          if (own[At(*t, row, column)] == 0) continue;
          ForNeeds(*t, row, column, [&](std::size_t of, RowPixel spot) {
            (*grids)[of][At(of, spot.row, spot.column)] = 1;
          });
        }
        work_ += size.width;
      }
    }
  }

  // What must exist and what may exist; false: the event cannot come.
  bool Sweep(const RowEvent& event) {
    may_.clear();
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      may_.emplace_back(static_cast<std::size_t>(rows_[t].height * rows_[t].width), 1);
    }
    must_.clear();
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      must_.emplace_back(may_[t].size(), tensors_[t].given ? 1 : 0);
    }
    bool seen = false;  // nothing before it in the order depends on the event
    for (const std::size_t t : reads_.Ascending()) {
      seen = seen || t == event.tensor;
      if (!seen) continue;
      for (std::int64_t row = 0; row < rows_[t].height; ++row) {
        for (std::int64_t column = 0; column < rows_[t].width; ++column) {
          char& may = may_[t][At(t, row, column)];
          if (t == event.tensor) {
            may = InBox(event, row, column) ? 0 : 1;
          }
          ForNeeds(t, row, column, [&](std::size_t of, RowPixel spot) {
            may = static_cast<char>(may & may_[of][At(of, spot.row, spot.column)]);
          });
        }
        work_ += rows_[t].width;
      }
      if (AtOnce(tensors_[t]) && may_[t].back() == 0) may_[t].assign(may_[t].size(), 0);
    }
    // Its consumers have not seen the pixel itself.
    for (std::int64_t column = 0; column <= event.column; ++column) {
      if (tensors_[event.tensor].fed || column == event.column) {
        may_[event.tensor][At(event.tensor, event.row, column)] = 1;
      }
    }
    must_[event.tensor][At(event.tensor, event.row, event.column)] = 1;
    Close(&must_);
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      for (std::size_t p = 0; p < must_[t].size(); ++p) {
        if (must_[t][p] > may_[t][p]) return false;
      }
    }
    return Choose(event);
  }

  std::int64_t RowsOf(const Grid& grid, std::size_t t) const {
    std::int64_t rows = 0;
    while (rows < rows_[t].height && grid[At(t, rows, 0)] != 0) ++rows;
    return rows;
  }

  // The rows of each tensor that count; false: too many.
  bool Choose(const RowEvent& event) {
    near_.clear();
    std::int64_t counted = 0;
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      const std::int64_t height = rows_[t].height;
      std::int64_t middle = RowsOf(must_[t], t);
      if (middle == 0) {
        middle = RowsOf(may_[t], t);
        if (middle == height) middle = height * event.row / rows_[event.tensor].height;
      }
      std::pair<std::int64_t, std::int64_t> rows = {std::max<std::int64_t>(0, middle - kNearRows),
                                                    std::min(height, middle + kNearRows)};
      const bool all = tensors_[t].given || AtOnce(tensors_[t]);
      if (all || tensors_[t].kept) rows.first = 0;
      if (all) rows.second = height;
      near_.push_back(rows);
      counted += (rows.second - rows.first) * rows_[t].width;
    }
    return counted <= kMostCounted;
  }

  // Whether the box of the event still needs what this pixel of its tensor needs last.
  bool Holds(const RowEvent& event, const PixelReading& reading, RowPixel last) const {
    const bool it = last.row == event.row && last.column == event.column;
    return reading.to == event.tensor && InBox(event, last.row, last.column) &&
           !(reading.replaces && it);
  }

  // Bytes where everything behind the event is as far as it may be: no minimum is above.
  std::int64_t Hope(const RowEvent& event) {
    std::vector<Grid> late = must_;
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      if (t != event.tensor && may_[t].back() == 0 && rows_[t].shrinks) late[t] = may_[t];
    }
    Close(&late);
    std::int64_t bytes = 0;
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      for (std::int64_t row = near_[t].first; row < near_[t].second; ++row) {
        for (std::int64_t column = 0; column < rows_[t].width; ++column) {
          if (late[t][At(t, row, column)] == 0) break;
          bool live = tensors_[t].kept;
          for (const PixelReading* reading : tensors_[t].readers) {
            const auto last = Last(*reading, row, column);
            if (!last || reading->adds) continue;
            live = live || Holds(event, *reading, *last) ||
                   late[reading->to][At(reading->to, last->row, last->column)] == 0;
          }
          bytes += live ? rows_[t].pixel_bytes : 0;
        }
        work_ += rows_[t].width;
      }
      for (const PixelReading* made : tensors_[t].made_from) {
        if (!made->adds || late[made->from][0] == 0 || late[t][0] != 0) continue;
        bytes += rows_[t].sum_bytes;
        break;
      }
    }
    return bytes;
  }

  // Of a pixel: it exists for sure, it never does, or the node of its existence. Rows that do not
  // count exist before those that do, and behind them as soon as the last one that counts does.
  struct State {
    bool sure = false;
    bool never = false;
    bool instead = false;  // another pixel's node, which it implies
    std::size_t node = 0;
  };
  State StateOf(std::size_t t, RowPixel spot) const {
    State state;
    if (spot.row < near_[t].first) {
      state.sure = true;
      return state;
    }
    state.instead = spot.row >= near_[t].second;
    const std::size_t at = At(t, std::min(spot.row, near_[t].second - 1), spot.column);
    state.sure = must_[t][at] != 0;
    state.never = may_[t][at] == 0;
    state.node = nodes_[t][at];
    return state;
  }

  std::int64_t Cut(const RowEvent& event) {
    MinCut cut(&work_);
    nodes_.clear();
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      nodes_.emplace_back(must_[t].size(), 0);
      for (std::int64_t row = near_[t].first; row < near_[t].second; ++row) {
        for (std::int64_t column = 0; column < rows_[t].width; ++column) {
          const std::size_t at = At(t, row, column);
          if (must_[t][at] == 0 && may_[t][at] != 0) nodes_[t][at] = cut.AddNode();
        }
      }
    }
    sums_.clear();
    fixed_ = 0;
    gained_ = 0;
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      for (std::int64_t row = near_[t].first; row < near_[t].second; ++row) {
        for (std::int64_t column = 0; column < rows_[t].width; ++column) {
          const std::size_t at = At(t, row, column);
          if (may_[t][at] == 0) continue;
          if (must_[t][at] == 0) Depend(t, {row, column}, &cut);
          Count(event, t, {row, column}, &cut);
        }
      }
    }
    for (const auto& [a, b] : reads_.Together()) {
      if (nodes_[a][0] == 0 || nodes_[b][0] == 0) continue;
      cut.AddEdge(nodes_[a][0], nodes_[b][0], MinCut::kWide);
      cut.AddEdge(nodes_[b][0], nodes_[a][0], MinCut::kWide);
    }
    return fixed_ - gained_ + cut.Flow();
  }

  void Depend(std::size_t t, RowPixel spot, MinCut* cut) const {
    const std::size_t node = nodes_[t][At(t, spot.row, spot.column)];
    const auto depend = [&](std::size_t of, RowPixel on) {
      const State state = StateOf(of, on);
      if (!state.sure && !state.never && state.node != node) {
        cut->AddEdge(node, state.node, MinCut::kWide);
      }
    };
    ForNeeds(t, spot.row, spot.column, depend);
    if (tensors_[t].fed) depend(t, {spot.row, rows_[t].width - 1});
    if (AtOnce(tensors_[t])) depend(t, {rows_[t].height - 1, rows_[t].width - 1});
  }

  // Running sums: live once one pixel has been added, until the result exists.
  std::size_t NodeOfSums(std::size_t to, MinCut* cut) {
    const auto [at, is_new] = sums_.try_emplace(to, 0);
    if (!is_new) return at->second;
    at->second = cut->AddNode();
    const State result = StateOf(to, {0, 0});
    if (result.sure) return at->second;
    cut->AddEdge(at->second, MinCut::kSink, rows_[to].sum_bytes);
    if (!result.never) Gain(rows_[to].sum_bytes, {at->second, result.node}, cut);
    return at->second;
  }

  void Gain(std::int64_t bytes, const std::vector<std::size_t>& where, MinCut* cut) {
    gained_ += bytes;
    std::size_t node = where[0];
    if (where.size() > 1) {
      node = cut->AddNode();
      for (const std::size_t one : where) cut->AddEdge(node, one, MinCut::kWide);
    }
    cut->AddEdge(MinCut::kSource, node, bytes);
  }

  // The bytes of a pixel, until its last readers have been computed.
  void Count(const RowEvent& event, std::size_t t, RowPixel spot, MinCut* cut) {
    const std::size_t at = At(t, spot.row, spot.column);
    bool stays = tensors_[t].kept;
    bool counts = stays;
    std::vector<std::size_t> where;
    for (const PixelReading* reading : tensors_[t].readers) {
      const auto last = Last(*reading, spot.row, spot.column);
      if (!last) continue;
      counts = true;
      if (stays) break;
      if (reading->adds) {
        where.push_back(NodeOfSums(reading->to, cut));
        continue;
      }
      const State state = StateOf(reading->to, *last);
      stays = (!state.sure && state.never) || Holds(event, *reading, *last);
      if (!state.sure && !state.never) where.push_back(state.node);
    }
    if (!counts || (!stays && where.empty())) return;
    const std::int64_t bytes = rows_[t].pixel_bytes;
    if (must_[t][at] != 0) {
      fixed_ += bytes;
    } else {
      cut->AddEdge(nodes_[t][at], MinCut::kSink, bytes);
      where.push_back(nodes_[t][at]);
    }
    if (!stays) Gain(bytes, where, cut);
  }

  std::int64_t Try(const RowEvent& event) {
    if (!Sweep(event)) return -1;
    const std::int64_t least = Cut(event);
    bytes_ = std::max(bytes_, least);
    return least;
  }

  // Around the best event, in smaller and smaller steps.
  void Search(std::int64_t least, RowEvent event) {
    const bool fed = tensors_[event.tensor].fed;
    int tries = 0;
    std::set<std::pair<std::int64_t, std::int64_t>> seen = {{event.row, event.column}};
    // Other columns of the row first; -1: the first one.
    constexpr std::int64_t kFirst = -1;
    constexpr std::array<std::array<std::int64_t, 2>, 9> kAround = {
        {{0, kFirst}, {0, -2}, {0, 2}, {-1, 0}, {1, 0}, {0, -3}, {0, 1}, {-2, 0}, {2, 0}}};
    for (std::size_t a = 0; a < kAround.size() && !Done() && tries < kMostRowTries; ++a) {
      RowEvent next = event;
      next.row += kAround[a][0];
      next.column = kAround[a][1] == kFirst ? 0 : event.column + kAround[a][1];
      if (next.row < 0 || next.row >= rows_[event.tensor].height || next.column < 0 ||
          next.column >= rows_[event.tensor].width || (fed && next.column != event.column) ||
          !seen.insert({next.row, next.column}).second) {
        continue;
      }
      ++tries;
      const std::int64_t found = Try(next);
      if (found <= least) continue;
      least = found;
      event = next;
      a = static_cast<std::size_t>(-1);
    }
  }

  std::vector<RowEvent> Events() const {
    std::vector<RowEvent> events;
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      if (!rows_[t].has_events) continue;
      const std::int64_t width = rows_[t].width;
      for (std::int64_t row = 0; row < rows_[t].height; ++row) {
        const std::int64_t column = events.size() % 2 == 0 ? 0 : width * 3 / 8;
        events.push_back({t, row, tensors_[t].fed ? width - 1 : column});
      }
    }
    return events;
  }

  PixelReads reads_;
  const std::vector<PixelTensor>& tensors_;
  std::vector<RowTensor> rows_;
  std::int64_t pixels_ = 0;
  // Of one event, by tensor.
  std::vector<Grid> must_;
  std::vector<Grid> may_;
  std::vector<std::pair<std::int64_t, std::int64_t>> near_;
  std::vector<std::vector<std::size_t>> nodes_;
  std::map<std::size_t, std::size_t> sums_;
  std::int64_t fixed_ = 0;
  std::int64_t gained_ = 0;
  std::int64_t bytes_ = 0;
  std::int64_t enough_ = 0;
  std::int64_t work_ = 0;
};

}  // namespace

std::int64_t BytesAtRows(const graph::Subgraph& subgraph, const PixelPlans& plans,
                         std::int64_t known, std::int64_t enough, const PixelMoment& start) {
  if (known >= enough || subgraph.tensors.size() > kMostPixels) return known;
  RowProgress progress(subgraph, plans);
  if (progress.AllPixels() > kMostPixels) return known;
  return progress.Bytes(known, enough, start);
}

}  // namespace neap::check
