// SPDX-License-Identifier: Apache-2.0
#include "neap/check/traffic_moments.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "neap/ops/dependence.h"

namespace neap::check {
namespace {

using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::TensorId;
using ops::Interval;
using plan::StreamRange;

constexpr std::size_t kMaxMoments = 1 << 12;
constexpr std::size_t kMaxPaths = 1 << 18;
constexpr std::int64_t kMaxChannels = 1 << 12;
constexpr std::int64_t kMaxPlaces = 1 << 14;  // rows, and columns, of an image
constexpr int kMaxPasses = 64;                // in a file whose operators are in any order

// That the pixels of `to` need pixels of `from`.
struct Link {
  TensorId from;
  TensorId to;
  std::vector<Interval> rows;  // by row of `to`
  std::vector<Interval> columns;
  bool all_channels = false;  // every channel needs all of them
  bool same_channel = false;  // every channel needs the same one
  bool adds = false;          // the pixels may be added up one by one
};

// Pixels of which it is known whether they have been computed.
struct Area {
  Interval rows;
  Interval columns;
  bool every_channel = false;
  std::int64_t size() const { return rows.size() * columns.size(); }
};
using Areas = IdVector<TensorId, std::optional<Area>>;

bool Holds(const Interval& all, std::int64_t first, std::int64_t last) {
  return all.begin <= first && last <= all.end;
}

// What [begin, end) need together; nullopt: they leave something out in between.
std::optional<Interval> Together(const std::vector<Interval>& needs, const Interval& of) {
  std::optional<Interval> all;
  for (std::int64_t i = of.begin; i < of.end; ++i) {
    const Interval& one = needs[static_cast<std::size_t>(i)];
    if (one.empty()) continue;
    if (!all) {
      all = one;
      continue;
    }
    if (one.begin > all->end || one.end < all->begin) return std::nullopt;
    *all = {std::min(all->begin, one.begin), std::max(all->end, one.end)};
  }
  return all;
}

// Those that need something of `in`, where they are neighbours.
std::optional<Interval> Users(const std::vector<Interval>& needs, const Interval& in) {
  std::optional<Interval> users;
  for (std::size_t i = 0; i < needs.size(); ++i) {
    if (std::max(needs[i].begin, in.begin) >= std::min(needs[i].end, in.end)) continue;
    const auto at = static_cast<std::int64_t>(i);
    if (users && users->end != at) return std::nullopt;
    users = Interval{users ? users->begin : at, at + 1};
  }
  return users;
}

class MomentProver {
 public:
  MomentProver(const Subgraph& subgraph, const plan::StreamImages& images,
               const plan::SlowMemory& slow)
      : subgraph_(subgraph), images_(images), slow_(slow) {}

  ProvenMoments Prove() {
    ProvenMoments proven;
    if (slow_.moments.empty()) return proven;
    std::size_t paths = 0;
    for (const plan::SlowMoment& moment : slow_.moments) paths += moment.paths.size();
    if (slow_.moments.size() > kMaxMoments || paths > kMaxPaths) return {0, "are too many"};
    FindLinks();
    FindRead();
    IdVector<TensorId, std::vector<const plan::SlowMoment*>> used(subgraph_.tensors.size());
    for (const plan::SlowMoment& moment : slow_.moments) {
      std::vector<TensorId> from;
      const std::int64_t bytes = BytesAt(moment, &from);
      if (!wrong_.empty()) return {0, wrong_};
      for (const TensorId tensor : from) {
        for (const plan::SlowMoment* other : used[tensor]) {
          if (!HaveCommonPlaces(*other, moment)) continue;
          return {0, "use places of tensor " + std::to_string(tensor.value()) + " twice"};
        }
        used[tensor].push_back(&moment);
      }
      proven.bytes += 2 * std::max<std::int64_t>(bytes - slow_.fast_bytes, 0);
    }
    return proven;
  }

 private:
  static bool HaveCommonPlaces(const plan::SlowMoment& a, const plan::SlowMoment& b) {
    const auto meet = [](const StreamRange& one, const StreamRange& other) {
      return one.first < other.last && other.first < one.last;
    };
    return meet(a.rows, b.rows) && meet(a.columns, b.columns);
  }

  bool IsEnd(TensorId tensor) const {
    const auto in = [&](const std::vector<TensorId>& list) {
      return std::find(list.begin(), list.end(), tensor) != list.end();
    };
    return in(subgraph_.inputs) || in(subgraph_.outputs);
  }

  // The one axis of more than one index that is neither rows nor columns; none: axis -1.
  static std::optional<int> ChannelsOf(const graph::Shape& shape, const plan::StreamImage& image) {
    std::optional<int> found;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const bool place = (image.row_axis && *image.row_axis == axis) ||
                         (image.column_axis && *image.column_axis == axis);
      if (place || shape[axis] == 1) continue;
      if (found) return std::nullopt;
      found = static_cast<int>(axis);
    }
    return found.value_or(-1);
  }

  void FindLinks() {
    for (const OpId id : subgraph_.ops.Ids()) {
      const Op& op = subgraph_.ops[id];
      if (op.folded || op.stateful || !op.bodies.empty()) continue;
      for (std::size_t output = 0; output < op.outputs.size(); ++output) {
        for (std::size_t input = 0; input < op.inputs.size(); ++input) {
          const TensorId from = op.inputs[input];
          const TensorId to = op.outputs[output];
          if (!from.valid() || !to.valid() || subgraph_.tensors[from].constant) continue;
          if (std::count(op.inputs.begin(), op.inputs.end(), from) > 1) continue;
          AddLink(op, input, output);
        }
      }
    }
  }

  void AddLink(const Op& op, std::size_t input, std::size_t output) {
    Link link;
    link.from = op.inputs[input];
    link.to = op.outputs[output];
    const graph::Tensor& in = subgraph_.tensors[link.from];
    const graph::Tensor& out = subgraph_.tensors[link.to];
    if (!in.shape || !out.shape || in.type != out.type || graph::BitsOf(in.type) % 8 != 0) return;
    const plan::StreamImage& from = images_[link.from];
    const plan::StreamImage& to = images_[link.to];
    const auto in_channels = ChannelsOf(*in.shape, from);
    const auto out_channels = ChannelsOf(*out.shape, to);
    if (!in_channels || !out_channels || std::max(from.height, from.width) > kMaxPlaces ||
        std::max(to.height, to.width) > kMaxPlaces) {
      return;
    }
    // Without a map along an axis there is one index.
    const auto axis = [](const std::optional<std::size_t>& one) {
      return one ? static_cast<int>(*one) : -1;
    };
    const auto need = [&](int of, std::int64_t at, int other, std::int64_t other_at,
                          int along) -> std::optional<Interval> {
      ops::Box box = ops::WholeBox(*out.shape);
      if (of >= 0) box[static_cast<std::size_t>(of)] = {at, at + 1};
      if (other >= 0) box[static_cast<std::size_t>(other)] = {other_at, other_at + 1};
      const auto found = ops::NeedOf(subgraph_, op, input, box, output);
      if (!found) return std::nullopt;
      return along < 0 ? Interval{0, 1} : found->box[static_cast<std::size_t>(along)];
    };
    // Rows must not depend on the column, and the other way round.
    const auto list = [&](int of, std::int64_t size, int other, std::int64_t others, int along,
                          std::vector<Interval>* needs) {
      for (std::int64_t i = 0; i < size; ++i) {
        const auto first = need(of, i, other, 0, along);
        const auto last = need(of, i, other, others - 1, along);
        const auto whole = need(of, i, -1, 0, along);
        if (!first || !last || !whole || *first != *whole || *last != *whole) return false;
        needs->push_back(*whole);
      }
      return true;
    };
    const int row = axis(to.row_axis);
    const int column = axis(to.column_axis);
    if (!list(row, to.height, column, to.width, axis(from.row_axis), &link.rows) ||
        !list(column, to.width, row, to.height, axis(from.column_axis), &link.columns)) {
      return;
    }
    const std::int64_t channels = SizeOf(*in.shape, *in_channels);
    const std::int64_t size = SizeOf(*out.shape, *out_channels);
    if (size > kMaxChannels) return;
    link.all_channels = true;
    link.same_channel = channels == size;
    std::vector<bool> is_read(static_cast<std::size_t>(channels), false);
    for (std::int64_t c = 0; c < size; ++c) {
      const auto of = need(*out_channels, c, -1, 0, *in_channels);
      if (!of) return;
      link.all_channels = link.all_channels && *of == Interval{0, channels};
      link.same_channel = link.same_channel && *of == Interval{c, c + 1};
      for (std::int64_t i = of->begin; i < of->end && !link.all_channels; ++i) {
        is_read[static_cast<std::size_t>(i)] = true;
      }
    }
    const bool known = link.all_channels || link.same_channel;
    if (!known && std::count(is_read.begin(), is_read.end(), false) > 0) return;
    link.adds = input == 0 && ops::IsMeanOfPlaces(subgraph_, op, from.channels_first);
    links_.push_back(std::move(link));
  }
  static std::int64_t SizeOf(const graph::Shape& shape, int axis) {
    return axis < 0 ? 1 : shape[static_cast<std::size_t>(axis)];
  }

  // Tensors of which every element reaches an output.
  void FindRead() {
    read_ = IdVector<TensorId, bool>(subgraph_.tensors.size(), false);
    for (const TensorId tensor : subgraph_.outputs) read_[tensor] = true;
    Repeat([&](const Link& link) {
      if (!read_[link.to] || read_[link.from]) return false;
      const plan::StreamImage& from = images_[link.from];
      const auto rows = Together(link.rows, {0, images_[link.to].height});
      const auto columns = Together(link.columns, {0, images_[link.to].width});
      read_[link.from] =
          rows && columns && Holds(*rows, 0, from.height) && Holds(*columns, 0, from.width);
      return static_cast<bool>(read_[link.from]);
    });
  }

  // Until nothing changes; from the last operator of the file to the first and back.
  template <typename Change>
  void Repeat(const Change& change) const {
    for (int pass = 0; pass < kMaxPasses; ++pass) {
      bool changed = false;
      for (auto link = links_.rbegin(); link != links_.rend(); ++link) {
        changed = change(*link) || changed;
      }
      for (const Link& link : links_) changed = change(link) || changed;
      if (!changed) return;
    }
  }

  static bool Grow(std::optional<Area>* area, const std::optional<Interval>& rows,
                   const std::optional<Interval>& columns, bool every_channel) {
    if (!rows || !columns) return false;
    const Area next{*rows, *columns, every_channel};
    if (*area && std::pair((*area)->every_channel, (*area)->size()) >=
                     std::pair(next.every_channel, next.size())) {
      return false;
    }
    *area = next;
    return true;
  }

  // Live bytes of every plan when the pixel of `moment` has been computed, and where they are.
  std::int64_t BytesAt(const plan::SlowMoment& moment, std::vector<TensorId>* from) {
    const auto is_in = [&](TensorId tensor, const StreamRange& rows, const StreamRange& columns) {
      if (!subgraph_.tensors.Has(tensor) || subgraph_.tensors[tensor].constant) return false;
      const plan::StreamImage& image = images_[tensor];
      return rows.first >= 0 && rows.first < rows.last && rows.last <= image.height &&
             columns.first >= 0 && columns.first < columns.last && columns.last <= image.width;
    };
    const StreamRange row{moment.row, moment.row + 1};
    const StreamRange column{moment.column, moment.column + 1};
    if (!is_in(moment.tensor, row, column)) return Refuse("name a pixel that does not exist");
    Areas before(subgraph_.tensors.size());
    Areas after(subgraph_.tensors.size());
    const Area pixel{{row.first, row.last}, {column.first, column.last}, false};
    before[moment.tensor] = after[moment.tensor] = pixel;
    Repeat([&](const Link& link) {
      const auto& to = before[link.to];
      return to && link.from != moment.tensor && HasChannels(link) &&
             Grow(&before[link.from], Together(link.rows, to->rows),
                  Together(link.columns, to->columns), link.all_channels || to->every_channel);
    });
    Repeat([&](const Link& link) {
      const auto& of = after[link.from];
      return of && link.to != moment.tensor && HasChannels(link) &&
             Grow(&after[link.to], Users(link.rows, of->rows), Users(link.columns, of->columns),
                  link.all_channels || of->every_channel);
    });
    after[moment.tensor].reset();

    std::map<TensorId, std::int64_t> in;
    std::map<TensorId, std::int64_t> out;
    for (const plan::SlowPath& path : moment.paths) {
      if (!is_in(path.from, moment.rows, moment.columns) || IsEnd(path.from) || path.bytes < 1 ||
          path.bytes > images_[path.from].pixel_bytes) {
        return Refuse("have a path from where none can be");
      }
      const bool holds = std::any_of(links_.begin(), links_.end(), [&](const Link& link) {
        return link.from == path.from && link.to == path.to && !link.adds && HasChannels(link) &&
               (path.last ? Ends(link, moment, after) : GoesOn(link, moment));
      });
      if (!holds) return Refuse("have a path that no operator needs");
      out[path.from] += path.bytes;
      if (!path.last) in[path.to] += path.bytes;
    }
    std::int64_t bytes = 0;
    for (const auto& [tensor, leaving] : out) {
      const std::int64_t begun = leaving - in[tensor];
      if (leaving > images_[tensor].pixel_bytes || begun < 0) {
        return Refuse("have more paths through a tensor than bytes");
      }
      const auto& known = before[tensor];
      if (begun > 0 && (!known || !known->every_channel ||
                        !Holds(known->rows, moment.rows.first, moment.rows.last) ||
                        !Holds(known->columns, moment.columns.first, moment.columns.last))) {
        return Refuse("begin a path at a tensor that is not known");
      }
      bytes += begun;
      from->push_back(tensor);
    }
    for (const auto& [tensor, entering] : in) {
      if (entering > 0 && !out.contains(tensor)) return Refuse("have a path without an end");
    }
    return bytes * moment.rows.size() * moment.columns.size();
  }
  std::int64_t Refuse(const char* what) {
    wrong_ = what;
    return 0;
  }

  static bool HasChannels(const Link& link) { return link.all_channels || link.same_channel; }

  // Each place needs its place.
  static bool GoesOn(const Link& link, const plan::SlowMoment& moment) {
    const auto at_place = [](const std::vector<Interval>& needs, const StreamRange& places) {
      if (places.last > static_cast<std::int64_t>(needs.size())) return false;
      for (std::int64_t i = places.first; i < places.last; ++i) {
        if (!Holds(needs[static_cast<std::size_t>(i)], i, i + 1)) return false;
      }
      return true;
    };
    return at_place(link.rows, moment.rows) && at_place(link.columns, moment.columns);
  }

  // Each place is needed for something that has not been computed and will be.
  bool Ends(const Link& link, const plan::SlowMoment& moment, const Areas& after) const {
    const auto& to = after[link.to];
    if (!to || !read_[link.to] || (!link.all_channels && !to->every_channel)) return false;
    const auto rows = Together(link.rows, to->rows);
    const auto columns = Together(link.columns, to->columns);
    return rows && columns && Holds(*rows, moment.rows.first, moment.rows.last) &&
           Holds(*columns, moment.columns.first, moment.columns.last);
  }

  const Subgraph& subgraph_;
  const plan::StreamImages& images_;
  const plan::SlowMemory& slow_;
  std::vector<Link> links_;
  IdVector<TensorId, bool> read_;
  std::string wrong_;
};

}  // namespace

ProvenMoments ProveMoments(const Subgraph& subgraph, const plan::StreamImages& images,
                           const plan::SlowMemory& slow) {
  return MomentProver(subgraph, images, slow).Prove();
}

}  // namespace neap::check
