// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/stream/moments.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "neap/base/work.h"
#include "neap/ops/dependence.h"
#include "neap/solve/schedule/max_flow.h"

namespace neap::stream {
namespace {

using graph::Op;
using graph::Subgraph;
using graph::TensorId;
using plan::StreamRange;

constexpr std::size_t kMaxNodes = 1'500;
constexpr std::int64_t kMaxChannels = 4'096;
constexpr std::size_t kMaxCuts = 12;     // places between which moments are independent
constexpr std::size_t kMaxPixels = 48;   // pixels whose moments are tried
constexpr std::size_t kMaxRegions = 8;   // of one pixel
constexpr std::int64_t kFlowWork = 200;  // of one tensor

// How the channels of a pixel depend on those of an input. kOther: together on all of them.
enum class Channels : std::uint8_t { kUnknown, kOther, kSame, kAll };

// The dimension of the channels; nullopt: there are several. -1: one channel.
std::optional<int> ChannelAxis(const graph::Shape& shape, const plan::StreamImage& image) {
  int axis = -1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (image.row_axis == i || image.column_axis == i || shape[i] == 1) continue;
    if (axis >= 0) return std::nullopt;
    axis = static_cast<int>(i);
  }
  return axis;
}

struct Edge {
  int node = -1;
  int from = -1;
  int to = -1;
  AxisMap rows;
  AxisMap columns;
  Channels channels = Channels::kUnknown;
  bool sums = false;      // its pixels may be added up before the last one is known
  bool straight = false;  // pixels need the pixels at their place
};

// Pixels that are all computed, or all not computed, at a moment.
struct Region {
  StreamRange rows;
  StreamRange columns;
  bool full = false;  // in all channels
  std::int64_t size() const { return rows.size() * columns.size(); }
};

StreamRange Common(const StreamRange& a, const StreamRange& b) {
  StreamRange both{std::max(a.first, b.first), std::min(a.last, b.last)};
  both.last = std::max(both.first, both.last);
  return both;
}

bool Covers(const StreamRange& all, const StreamRange& part) {
  return all.first <= part.first && part.last <= all.last;
}

// What the outputs `out` need, if no index in between is left out.
std::optional<StreamRange> NeedAll(const AxisMap& map, const StreamRange& out, std::int64_t size) {
  StreamRange all = map.Need(out.first, out.first + 1, size);
  for (std::int64_t i = out.first + 1; i < out.last; ++i) {
    const StreamRange one = map.Need(i, i + 1, size);
    if (one.first > all.last || one.first < all.first) return std::nullopt;
    all.last = std::max(all.last, one.last);
  }
  if (all.empty()) return std::nullopt;
  return all;
}

// The outputs that need some of `in`.
std::optional<StreamRange> Needing(const AxisMap& map, const StreamRange& in, std::int64_t size,
                                   std::int64_t outputs) {
  std::optional<StreamRange> all;
  for (std::int64_t i = 0; i < outputs; ++i) {
    if (Common(map.Need(i, i + 1, size), in).empty()) continue;
    if (!all) all = StreamRange{i, i};
    if (all->last != i) return std::nullopt;
    all->last = i + 1;
  }
  return all;
}

bool NeedsItsPlace(const AxisMap& map, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) {
    if (!Covers(map.Need(i, i + 1, size), {i, i + 1})) return false;
  }
  return true;
}

class Finder {
 public:
  Finder(const Subgraph& subgraph, const Network& network, std::int64_t fast_bytes)
      : subgraph_(subgraph), network_(network), fast_bytes_(fast_bytes) {
    into_.resize(network.nodes.size());
    for (std::size_t n = 0; n < network.nodes.size(); ++n) AddEdges(static_cast<int>(n));
    FindNeeded();
  }

  Moments Find() {
    FindRegions();
    std::vector<int> cuts;
    const std::size_t size = network_.nodes.size();
    const std::size_t parts = std::min(size, kMaxCuts);
    for (std::size_t i = 0; i <= parts; ++i) cuts.push_back(static_cast<int>(size * i / parts));
    std::vector<Choices> best(parts + 1);
    for (std::size_t to = 1; to <= parts; ++to) {
      best[to] = best[to - 1];
      for (std::size_t from = 0; from < to; ++from) {
        Choice found;
        Choose(cuts[from], cuts[to], &found);
        if (best[from].bytes + found.bytes <= best[to].bytes) continue;
        best[to] = best[from];
        best[to].bytes += found.bytes;
        best[to].list.push_back(std::move(found));
      }
    }
    Moments moments;
    for (const Choice& choice : best.back().list) {
      for (plan::SlowMoment& tile : Tiles(choice)) {
        moments.moments.push_back(std::move(tile));
        moments.bytes += choice.each;
      }
    }
    return moments;
  }

 private:
  struct Pixel {
    int image = -1;
    std::int64_t row = 0;
    std::int64_t column = 0;
    std::vector<std::optional<Region>> known;    // by image; before it
    std::vector<std::optional<Region>> unknown;  // after it
  };

  struct Scope {
    int first = 0;
    int last = 0;
    std::int64_t height = 0;
    std::int64_t width = 0;
  };
  // Moments of one tensor with regions of one size.
  struct Choice {
    std::int64_t bytes = 0;  // of all, if all regions hold
    std::int64_t each = 0;
    int image = -1;
    Scope scope;
    plan::SlowMoment moment;
  };
  struct Choices {
    std::int64_t bytes = 0;
    std::vector<Choice> list;
  };

  const plan::StreamImage& Shape(int image) const { return network_.image(image).shape; }

  Channels ChannelsOf(const Node& node, int from) const {
    const Op& op = subgraph_.ops[node.op];
    const auto output = static_cast<std::size_t>(node.output.value_or(0));
    const TensorId in = network_.image(from).tensor;
    const TensorId out = op.outputs[output];
    std::size_t input = op.inputs.size();
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (op.inputs[i] != in) continue;
      if (input < op.inputs.size()) return Channels::kUnknown;  // it reads it twice
      input = i;
    }
    const graph::Tensor& read = subgraph_.tensors[in];
    const graph::Tensor& written = subgraph_.tensors[out];
    if (input == op.inputs.size() || graph::BitsOf(read.type) % 8 != 0 || read.type != written.type)
      return Channels::kUnknown;
    const auto in_axis = ChannelAxis(*read.shape, Shape(from));
    const auto out_axis = ChannelAxis(*written.shape, Shape(node.outputs[0]));
    if (!in_axis || !out_axis) return Channels::kUnknown;
    const std::int64_t in_size =
        *in_axis < 0 ? 1 : (*read.shape)[static_cast<std::size_t>(*in_axis)];
    const std::int64_t out_size =
        *out_axis < 0 ? 1 : (*written.shape)[static_cast<std::size_t>(*out_axis)];
    if (out_size > kMaxChannels) return Channels::kUnknown;
    bool all = true;
    bool same = in_size == out_size;
    std::vector<bool> read_channels(static_cast<std::size_t>(in_size), false);
    for (std::int64_t c = 0; c < out_size; ++c) {
      ops::Box box = ops::WholeBox(*written.shape);
      if (*out_axis >= 0) box[static_cast<std::size_t>(*out_axis)] = {c, c + 1};
      const auto need = ops::NeedOf(subgraph_, op, input, box, output);
      if (!need) return Channels::kUnknown;
      const ops::Interval channels =
          *in_axis < 0 ? ops::Interval{0, 1} : need->box[static_cast<std::size_t>(*in_axis)];
      all = all && channels == ops::Interval{0, in_size};
      same = same && channels == ops::Interval{c, c + 1};
      if (all) continue;
      for (std::int64_t i = channels.begin; i < channels.end; ++i) {
        read_channels[static_cast<std::size_t>(i)] = true;
      }
    }
    if (all) return Channels::kAll;
    if (same) return Channels::kSame;
    const bool reads_all = std::count(read_channels.begin(), read_channels.end(), false) == 0;
    return reads_all ? Channels::kOther : Channels::kUnknown;
  }

  void AddEdges(int n) {
    const Node& node = network_.node(n);
    if (!node.streams || node.outputs.size() != 1) return;
    for (const Read& read : node.reads) {
      Edge edge{n, read.image, node.outputs[0], read.rows, read.columns};
      edge.channels = ChannelsOf(node, read.image);
      if (edge.channels == Channels::kUnknown) continue;
      edge.sums = node.sums;
      const plan::StreamImage& in = Shape(edge.from);
      const plan::StreamImage& out = Shape(edge.to);
      edge.straight = !node.sums && edge.channels != Channels::kOther && in.height == out.height &&
                      in.width == out.width && NeedsItsPlace(edge.rows, in.height) &&
                      NeedsItsPlace(edge.columns, in.width);
      into_[static_cast<std::size_t>(n)].push_back(edge);
    }
  }

  // Images whose every element an output depends on.
  void FindNeeded() {
    needed_.assign(network_.images.size(), false);
    for (std::size_t i = 0; i < needed_.size(); ++i) needed_[i] = network_.images[i].is_output;
    for (std::size_t n = into_.size(); n-- > 0;) {
      const Node& node = network_.nodes[n];
      const bool is_needed = std::any_of(node.outputs.begin(), node.outputs.end(), [&](int image) {
        return needed_[static_cast<std::size_t>(image)];
      });
      for (const Read& read : node.reads) {  // as a whole
        if (is_needed && !node.streams) needed_[static_cast<std::size_t>(read.image)] = true;
      }
      for (const Edge& edge : into_[n]) {
        if (!needed_[static_cast<std::size_t>(edge.to)]) continue;
        const plan::StreamImage& in = Shape(edge.from);
        const plan::StreamImage& out = Shape(edge.to);
        const auto rows = NeedAll(edge.rows, {0, out.height}, in.height);
        const auto columns = NeedAll(edge.columns, {0, out.width}, in.width);
        if (rows && columns && rows->size() == in.height && columns->size() == in.width) {
          needed_[static_cast<std::size_t>(edge.from)] = true;
        }
      }
    }
  }

  static void Widen(std::optional<Region>* region, const Region& other) {
    if (!*region ||
        std::pair((*region)->full, (*region)->size()) < std::pair(other.full, other.size())) {
      *region = other;
    }
  }

  // The pixels in the middle of images, of all channels one.
  void FindRegions() {
    const std::size_t size = network_.nodes.size();
    const std::size_t step = (size + kMaxPixels - 1) / kMaxPixels;
    for (std::size_t n = step / 2; n < size; n += step) {
      if (network_.nodes[n].outputs.size() != 1) continue;
      const int image = network_.nodes[n].outputs[0];
      pixels_.push_back(PixelAt(image, Shape(image).height / 2, Shape(image).width / 2));
    }
  }

  Pixel PixelAt(int image, std::int64_t row, std::int64_t column) const {
    Pixel pixel{image, row, column, {}, {}};
    const auto at = static_cast<std::size_t>(image);
    const auto n = static_cast<std::size_t>(network_.image(image).producer);
    const Region start{{row, row + 1}, {column, column + 1}, false};
    pixel.known.resize(network_.images.size());
    pixel.unknown.resize(network_.images.size());
    pixel.known[at] = pixel.unknown[at] = start;
    for (std::size_t before = n + 1; before-- > 0;) {
      for (const Edge& edge : into_[before]) Back(edge, &pixel);
    }
    for (std::size_t after = n + 1; after < into_.size(); ++after) {
      for (const Edge& edge : into_[after]) Forward(edge, &pixel);
    }
    pixel.unknown[at].reset();
    return pixel;
  }

  void Back(const Edge& edge, Pixel* pixel) const {
    const auto& to = pixel->known[static_cast<std::size_t>(edge.to)];
    if (!to || edge.channels == Channels::kOther) return;
    const plan::StreamImage& in = Shape(edge.from);
    const auto rows = NeedAll(edge.rows, to->rows, in.height);
    const auto columns = NeedAll(edge.columns, to->columns, in.width);
    if (!rows || !columns) return;
    Widen(&pixel->known[static_cast<std::size_t>(edge.from)],
          {*rows, *columns, edge.channels == Channels::kAll || to->full});
  }

  void Forward(const Edge& edge, Pixel* pixel) const {
    const auto& from = pixel->unknown[static_cast<std::size_t>(edge.from)];
    if (!from || edge.channels == Channels::kOther) return;
    const plan::StreamImage& in = Shape(edge.from);
    const plan::StreamImage& out = Shape(edge.to);
    const auto rows = Needing(edge.rows, from->rows, in.height, out.height);
    const auto columns = Needing(edge.columns, from->columns, in.width, out.width);
    if (!rows || !columns) return;
    Widen(&pixel->unknown[static_cast<std::size_t>(edge.to)],
          {*rows, *columns, edge.channels == Channels::kAll || from->full});
  }

  // Part of `edge.from` whose every element is read for elements that are not known.
  std::optional<Region> Kept(const Edge& edge, const Pixel& pixel) const {
    const auto& to = pixel.unknown[static_cast<std::size_t>(edge.to)];
    if (!to || edge.sums || !needed_[static_cast<std::size_t>(edge.to)]) return std::nullopt;
    if (edge.channels == Channels::kOther) return std::nullopt;
    if (edge.channels != Channels::kAll && !to->full) return std::nullopt;
    const plan::StreamImage& in = Shape(edge.from);
    const auto rows = NeedAll(edge.rows, to->rows, in.height);
    const auto columns = NeedAll(edge.columns, to->columns, in.width);
    if (!rows || !columns) return std::nullopt;
    return Region{*rows, *columns, true};
  }

  bool Carries(int image, int first, int last) const {
    const Image& value = network_.image(image);
    return value.producer >= first && value.producer < last && !value.is_input && !value.is_output;
  }

  // The best moments of one tensor, at pixels apart from each other, of bytes of tensors that nodes
  // [first, last) compute.
  void Choose(int first, int last, Choice* best) {
    std::set<std::pair<std::int64_t, std::int64_t>> sizes;
    for (int n = first; n < last; ++n) {
      for (const Edge& edge : into_[static_cast<std::size_t>(n)]) {
        if (Carries(edge.from, first, last)) {
          sizes.emplace(Shape(edge.from).height, Shape(edge.from).width);
        }
      }
    }
    for (const Pixel& pixel : pixels_) {
      const int producer = network_.image(pixel.image).producer;
      if (producer < first || producer >= last) continue;
      for (const auto& [height, width] : sizes) {
        Try(pixel, {first, last, height, width}, best);
      }
    }
  }

  bool Carries(int image, const Scope& scope) const {
    return Carries(image, scope.first, scope.last) && Shape(image).height == scope.height &&
           Shape(image).width == scope.width;
  }

  void Try(const Pixel& pixel, const Scope& scope, Choice* best) {
    std::vector<int> sources;
    std::vector<std::pair<const Edge*, Region>> ends;
    for (int n = scope.first; n < scope.last; ++n) {
      for (const int image : network_.node(n).outputs) {
        const auto& known = pixel.known[static_cast<std::size_t>(image)];
        if (Carries(image, scope) && known && known->full) sources.push_back(image);
      }
    }
    if (sources.empty()) return;
    for (const auto& edges : into_) {
      for (const Edge& edge : edges) {
        if (!Carries(edge.from, scope)) continue;
        if (auto kept = Kept(edge, pixel)) ends.emplace_back(&edge, *kept);
      }
    }
    std::map<std::int64_t, Region> regions;  // one of each size
    for (const int source : sources) {
      const Region& known = *pixel.known[static_cast<std::size_t>(source)];
      for (const auto& [edge, kept] : ends) {
        const Region both{Common(known.rows, kept.rows), Common(known.columns, kept.columns), true};
        if (both.size() > 0) regions.emplace(both.size(), both);
      }
    }
    std::size_t at = 0;
    for (const auto& [size, region] : regions) {
      const bool is_tried =
          at * kMaxRegions / regions.size() != (at + 1) * kMaxRegions / regions.size();
      ++at;
      if (!is_tried) continue;
      std::int64_t most = 0;  // of the paths, by their ends
      for (const int source : sources) most += Shape(source).pixel_bytes;
      if (2 * (most * size - fast_bytes_) * TilesOf(pixel.image, scope, region) <= best->bytes)
        continue;
      Flow(pixel, scope, sources, ends, region, best);
    }
  }

  void Flow(const Pixel& pixel, const Scope& scope, const std::vector<int>& sources,
            const std::vector<std::pair<const Edge*, Region>>& ends, const Region& region,
            Choice* best) {
    const auto covers = [&](const Region& all) {
      return Covers(all.rows, region.rows) && Covers(all.columns, region.columns);
    };
    std::map<int, int> index;  // by image: where bytes enter its pixels; the next one: leave them
    for (int n = scope.first; n < scope.last; ++n) {
      for (const int image : network_.node(n).outputs) {
        if (Carries(image, scope)) index[image] = -1;
      }
    }
    ChargeWork(static_cast<std::int64_t>(index.size()) * kFlowWork);
    flow_.Clear();
    for (auto& [image, at] : index) {
      at = flow_.AddNode();
      flow_.AddEdge(at, flow_.AddNode(), Shape(image).pixel_bytes);
    }
    using schedule::MaxFlow;
    for (const int image : sources) {
      if (!covers(*pixel.known[static_cast<std::size_t>(image)])) continue;
      flow_.AddEdge(MaxFlow::kSource, index[image], Shape(image).pixel_bytes);
    }
    std::vector<std::pair<const Edge*, bool>> used;  // by tag; whether a path ends
    const auto add = [&](const Edge& edge, int to) {
      const int tag = static_cast<int>(used.size());
      used.emplace_back(&edge, to == MaxFlow::kSink);
      flow_.AddEdge(index[edge.from] + 1, to, Shape(edge.from).pixel_bytes, tag);
    };
    for (int n = scope.first; n < scope.last; ++n) {
      for (const Edge& edge : into_[static_cast<std::size_t>(n)]) {
        if (edge.straight && index.contains(edge.from) && index.contains(edge.to)) {
          add(edge, index[edge.to]);
        }
      }
    }
    for (const auto& [edge, kept] : ends) {
      if (covers(kept)) add(*edge, MaxFlow::kSink);
    }
    const std::int64_t bytes = 2 * (flow_.Run() * region.size() - fast_bytes_);
    if (bytes * TilesOf(pixel.image, scope, region) <= best->bytes) return;
    plan::SlowMoment found;
    found.tensor = network_.image(pixel.image).tensor;
    found.row = pixel.row;
    found.column = pixel.column;
    found.rows = region.rows;
    found.columns = region.columns;
    std::vector<std::int64_t> carried(used.size(), 0);
    for (const MaxFlow::Path& path : flow_.TakePaths()) {
      for (const MaxFlow::Path::Item& item : path.items) {
        if (item.is_edge) carried[static_cast<std::size_t>(item.id)] += path.amount;
      }
    }
    for (std::size_t i = 0; i < used.size(); ++i) {
      if (carried[i] == 0) continue;
      const auto& [edge, last] = used[i];
      found.paths.push_back(
          {network_.image(edge->from).tensor, network_.image(edge->to).tensor, carried[i], last});
    }
    *best = {bytes * TilesOf(pixel.image, scope, region), bytes, pixel.image, scope, found};
  }

  // How many regions of this size an image has, if the pixel moves with them.
  std::int64_t TilesOf(int image, const Scope& scope, const Region& region) const {
    const plan::StreamImage& shape = Shape(image);
    if (shape.height != scope.height || shape.width != scope.width) return 1;
    return scope.height / region.rows.size() * (scope.width / region.columns.size());
  }

  // The moment of `choice`, which holds, and the same with its region moved, where it holds.
  std::vector<plan::SlowMoment> Tiles(const Choice& choice) const {
    const Scope& scope = choice.scope;
    const plan::SlowMoment& moment = choice.moment;
    if (TilesOf(choice.image, scope, {moment.rows, moment.columns, true}) == 1) return {moment};
    std::map<TensorId, std::int64_t> begun;
    for (const plan::SlowPath& path : moment.paths) {
      begun[path.from] += path.bytes;
      if (!path.last) begun[path.to] -= path.bytes;
    }
    std::vector<plan::SlowMoment> tiles;
    const auto move = [](StreamRange* range, std::int64_t to, std::int64_t* at) {
      *at += to - range->first;
      *range = {to, to + range->size()};
    };
    for (std::int64_t y = 0; y + moment.rows.size() <= scope.height; y += moment.rows.size()) {
      for (std::int64_t x = 0; x + moment.columns.size() <= scope.width;
           x += moment.columns.size()) {
        plan::SlowMoment tile = moment;
        move(&tile.rows, y, &tile.row);
        move(&tile.columns, x, &tile.column);
        if (HoldsAt(PixelAt(choice.image, tile.row, tile.column), tile, begun)) {
          tiles.push_back(std::move(tile));
        }
      }
    }
    return tiles;
  }

  bool HoldsAt(const Pixel& pixel, const plan::SlowMoment& moment,
               const std::map<TensorId, std::int64_t>& begun) const {
    const auto covers = [&](const std::optional<Region>& all) {
      return all && all->full && Covers(all->rows, moment.rows) &&
             Covers(all->columns, moment.columns);
    };
    for (std::size_t i = 0; i < pixel.known.size(); ++i) {
      const auto found = begun.find(network_.images[i].tensor);
      if (found != begun.end() && found->second > 0 && !covers(pixel.known[i])) return false;
    }
    return std::all_of(moment.paths.begin(), moment.paths.end(), [&](const plan::SlowPath& path) {
      return !path.last || std::any_of(into_.begin(), into_.end(), [&](const auto& edges) {
        return std::any_of(edges.begin(), edges.end(), [&](const Edge& edge) {
          return network_.image(edge.from).tensor == path.from &&
                 network_.image(edge.to).tensor == path.to && covers(Kept(edge, pixel));
        });
      });
    });
  }

  const Subgraph& subgraph_;
  const Network& network_;
  std::int64_t fast_bytes_;
  std::vector<std::vector<Edge>> into_;  // by node
  std::vector<bool> needed_;             // by image
  std::vector<Pixel> pixels_;
  schedule::MaxFlow flow_;
};

}  // namespace

Moments FindMoments(const Subgraph& subgraph, const Network& network, std::int64_t fast_bytes) {
  if (network.nodes.size() < 2 || network.nodes.size() > kMaxNodes) return {};
  return Finder(subgraph, network, fast_bytes).Find();
}

}  // namespace neap::stream
