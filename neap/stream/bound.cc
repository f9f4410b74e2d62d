// SPDX-License-Identifier: Apache-2.0
#include "neap/stream/bound.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace neap::stream {
namespace {

using plan::StreamInput;

// Progress is counted in rows, finely enough that what is lost by rounding is less than a byte.
constexpr std::int64_t kUnit = std::int64_t{1} << 20;
constexpr std::int64_t kNoPlan = std::numeric_limits<std::int64_t>::max() / 8;
constexpr std::size_t kMostChain = 400;

// A tensor of a chain and how the next one of the chain reads it.
struct Link {
  std::int64_t rows = 0;  // in units
  std::int64_t row_bytes = 0;
  std::int64_t rows_read = 0;  // in units; those behind are never read
  AxisMap map;
  std::int64_t block_rows = 1;  // most rows that are computed side by side
  bool external = false;        // it is not in the arena
  bool resident = false;        // it is complete from the start
};

// Every schedule passes every progress x of every tensor j of the chain. The least that is live
// then, over all progress of the others, is a bound; what is live of a tensor depends on its own
// progress and on that of the next one alone, so two sweeps find it for all j and x. The least is
// taken where no progress can move without meeting a limit: at the ends of a tensor, where its
// first row dies, or as far as, or only as far as, a neighbour allows it.
class Chain {
 public:
  explicit Chain(std::vector<Link> links) : links_(std::move(links)), places_(links_.size()) {}

  std::int64_t Bound() {
    if (links_.empty() || links_.size() > kMostChain) return 0;
    FindPlaces();
    const std::size_t count = links_.size();
    // Of what lies before tensor l, and behind it with itself.
    std::vector<std::vector<std::int64_t>> before(count);
    std::vector<std::vector<std::int64_t>> behind(count);
    before[0].assign(places_[0].size(), 0);
    for (std::size_t i = 0; i < places_[0].size(); ++i) {
      if (links_[0].resident && places_[0][i] != links_[0].rows) before[0][i] = kNoPlan;
    }
    for (std::size_t l = 1; l < count; ++l) {
      before[l].assign(places_[l].size(), kNoPlan);
      for (std::size_t i = 0; i < places_[l].size(); ++i) {
        const std::int64_t next = places_[l][i];
        const std::int64_t need = NeedHigh(l - 1, next);
        const std::int64_t dead = Dead(l - 1, next);
        for (std::size_t k = 0; k < places_[l - 1].size(); ++k) {
          if (places_[l - 1][k] < need) continue;
          const std::int64_t sum = before[l - 1][k] + Live(l - 1, places_[l - 1][k], next, dead);
          before[l][i] = std::min(before[l][i], sum);
        }
      }
    }
    for (std::size_t l = count; l-- > 0;) {
      behind[l].assign(places_[l].size(), kNoPlan);
      if (l + 1 == count) {
        for (std::size_t i = 0; i < places_[l].size(); ++i) {
          behind[l][i] = BytesOf(l, places_[l][i]);
        }
        continue;
      }
      for (std::size_t k = 0; k < places_[l + 1].size(); ++k) {
        const std::int64_t next = places_[l + 1][k];
        const std::int64_t need = NeedHigh(l, next);
        const std::int64_t dead = Dead(l, next);
        for (std::size_t i = 0; i < places_[l].size(); ++i) {
          if (places_[l][i] < need) continue;
          const std::int64_t sum = behind[l + 1][k] + Live(l, places_[l][i], next, dead);
          behind[l][i] = std::min(behind[l][i], sum);
        }
      }
    }
    std::int64_t bound = 0;
    for (std::size_t l = 0; l < count; ++l) {
      for (std::size_t i = 0; i < places_[l].size(); ++i) {
        const std::int64_t sum = before[l][i] + behind[l][i];
        if (sum < kNoPlan) bound = std::max(bound, sum);
      }
    }
    // Rounding of each tensor's bytes.
    return std::max<std::int64_t>(0, bound - static_cast<std::int64_t>(count));
  }

 private:
  std::int64_t BytesOf(std::size_t l, std::int64_t rows) const {
    return rows / kUnit * links_[l].row_bytes + rows % kUnit * links_[l].row_bytes / kUnit;
  }

  // Whole rows of tensor l that the next one needs for its first y rows, and those that its rows
  // [y, ...) no longer need.
  std::int64_t HighOf(std::size_t l, std::int64_t y) const {
    if (y <= 0) return 0;
    const AxisMap& map = links_[l].map;
    return std::clamp<std::int64_t>((y - 1) * map.scale - map.pad + map.extent, 0,
                                    links_[l].rows / kUnit);
  }
  std::int64_t LowOf(std::size_t l, std::int64_t y) const {
    const std::int64_t rows = links_[l].rows / kUnit;
    if (y >= links_[l + 1].rows / kUnit) return rows;
    return std::clamp<std::int64_t>(y * links_[l].map.scale - links_[l].map.pad, 0, rows);
  }

  // Rows [first, last] of the next tensor between which `rows_of` goes up by `map.scale` a row.
  struct Straight {
    std::int64_t first = 0;
    std::int64_t last = 0;
  };
  Straight StraightHigh(std::size_t l) const {
    const AxisMap& map = links_[l].map;
    const std::int64_t most = links_[l].rows / kUnit + map.pad - map.extent;
    return {std::max<std::int64_t>(1, 1 + (map.pad - map.extent + map.scale - 1) / map.scale),
            most < 0 ? 0 : most / map.scale + 1};
  }
  Straight StraightLow(std::size_t l) const {
    const AxisMap& map = links_[l].map;
    return {
        std::max<std::int64_t>(0, (map.pad + map.scale - 1) / map.scale),
        std::min(links_[l + 1].rows / kUnit - 1, (links_[l].rows / kUnit + map.pad) / map.scale)};
  }

  // A block of rows [a, b) grows column by column: what it needs, and what dies, is between what a
  // rows and what b rows need. Calls `chord` with all blocks that are not too high and compute row
  // y, as far as they matter: from a given row to one on the straight, or the other way round, the
  // longest and the shortest of them are the least and the most anywhere between.
  template <typename Chord>
  void ForBlocks(std::size_t l, std::int64_t y, const Straight& straight,
                 const Chord& chord) const {
    const std::int64_t size = links_[l + 1].rows / kUnit;
    const std::int64_t most = links_[l + 1].block_rows;
    const std::int64_t lowest = std::max<std::int64_t>(0, y - most + 1);
    const auto ends = [](std::int64_t first, std::int64_t last, const auto& at) {
      if (first > last) return;
      at(first);
      if (first != last) at(last);
    };
    if (straight.first <= y && y < straight.last) chord(y, y + 1);
    for (std::int64_t a = lowest; a <= y; ++a) {
      if (a >= straight.first && a <= straight.last) continue;
      const std::int64_t last = std::min(size, a + most);
      ends(std::max(y + 1, straight.first), std::min(last, straight.last),
           [&](std::int64_t b) { chord(a, b); });
      for (std::int64_t b = y + 1; b <= last; ++b) {
        if (b < straight.first || b > straight.last) chord(a, b);
      }
    }
    for (std::int64_t b = y + 1; b <= std::min(size, y + most); ++b) {
      if (b >= straight.first && b <= straight.last) continue;
      ends(std::max({lowest, straight.first, b - most}), std::min(y, straight.last),
           [&](std::int64_t a) { chord(a, b); });
    }
  }

  // The least or the most of them at `next`.
  template <typename Rows, typename Better>
  std::int64_t OverBlocks(std::size_t l, std::int64_t next, const Straight& straight,
                          const Rows& rows_of, const Better& better) const {
    const std::int64_t y = std::min(next, links_[l + 1].rows - 1) / kUnit;
    std::int64_t best = -1;
    ForBlocks(l, y, straight, [&](std::int64_t a, std::int64_t b) {
      const std::int64_t from = rows_of(a) * kUnit;
      const std::int64_t value =
          from + (rows_of(b) * kUnit - from) / (b - a) * (next - a * kUnit) / kUnit;
      if (best < 0 || better(value, best)) best = value;
    });
    return best;
  }

  // Rows of tensor l that the next one needs to get to `next`.
  std::int64_t NeedHigh(std::size_t l, std::int64_t next) const {
    if (next <= 0) return 0;
    return OverBlocks(
        l, next, StraightHigh(l), [&](std::int64_t y) { return HighOf(l, y); },
        [](std::int64_t a, std::int64_t b) { return a < b; });
  }
  // Rows of it that are dead then.
  std::int64_t Dead(std::size_t l, std::int64_t next) const {
    return OverBlocks(
        l, next, StraightLow(l), [&](std::int64_t y) { return LowOf(l, y); },
        [](std::int64_t a, std::int64_t b) { return a > b; });
  }
  // How far the next one gets with `rows` of tensor l: NeedHigh() of it is at most that.
  std::int64_t Reach(std::size_t l, std::int64_t rows) const {
    std::int64_t low = 0;  // in whole rows first
    std::int64_t high = links_[l + 1].rows / kUnit;
    while (low < high) {
      const std::int64_t middle = low + (high - low + 1) / 2;
      if (NeedHigh(l, middle * kUnit) <= rows) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    if (low >= links_[l + 1].rows / kUnit) return links_[l + 1].rows;
    std::int64_t reach = low * kUnit;
    ForBlocks(l, low, StraightHigh(l), [&](std::int64_t a, std::int64_t b) {
      const std::int64_t from = HighOf(l, a) * kUnit;
      if (from > rows) return;
      const std::int64_t slope = (HighOf(l, b) * kUnit - from) / (b - a);
      const std::int64_t end = (low + 1) * kUnit - 1;
      const std::int64_t most =
          slope == 0 ? end : a * kUnit + ((rows - from + 1) * kUnit - 1) / slope;
      reach = std::max(reach, std::min(most, end));
    });
    return reach;
  }

  // Of tensor l when the next one has left `dead` rows of it behind and is at `next`.
  std::int64_t Live(std::size_t l, std::int64_t rows, std::int64_t next, std::int64_t dead) const {
    const Link& link = links_[l];
    if (link.external || next >= links_[l + 1].rows) return 0;
    std::int64_t live = std::max<std::int64_t>(std::min(rows, link.rows_read) - dead, 0);
    if (link.map.extent < link.map.scale) {
      // Rows between windows are read by nobody.
      live = std::max<std::int64_t>(live - link.map.scale * kUnit, 0) / link.map.scale *
             link.map.extent;
    }
    return BytesOf(l, live);
  }

  void Add(std::size_t l, std::int64_t rows) {
    std::vector<std::int64_t>& list = places_[l];
    if (rows >= 0 && rows <= links_[l].rows) list.push_back(rows);
  }

  // A progress of tensor l and what it allows and needs of all others.
  void AddWithImages(std::size_t l, std::int64_t rows) {
    Add(l, rows);
    std::int64_t at = rows;
    for (std::size_t k = l; k + 1 < links_.size(); ++k) {
      at = Reach(k, at);
      Add(k + 1, at);
    }
    at = rows;
    for (std::size_t k = l; k-- > 0;) {
      at = NeedHigh(k, at);
      Add(k, at);
    }
  }

  void FindPlaces() {
    const std::size_t samples = std::max<std::size_t>(4, 400 / links_.size());
    for (std::size_t l = 0; l < links_.size(); ++l) {
      AddWithImages(l, 0);
      AddWithImages(l, links_[l].rows);
      if (l > 0) {  // where the first row of the one before begins to die
        const AxisMap& map = links_[l - 1].map;
        const std::int64_t most = links_[l].block_rows;
        for (std::int64_t more = 0; more <= most + 1; ++more) {
          if (more > 2 && more < most - 1) continue;
          AddWithImages(l, std::min(links_[l].rows, (map.pad / map.scale + more) * kUnit));
          AddWithImages(l, std::max<std::int64_t>(0, links_[l].rows - more * kUnit));
        }
      }
      if (links_[l].resident) continue;
      for (std::size_t s = 0; s < samples; ++s) {
        // Most of what matters happens in the first rows.
        const auto part = static_cast<std::int64_t>(s);
        const auto all = static_cast<std::int64_t>(samples);
        AddWithImages(l, std::min(links_[l].rows, 8 * kUnit) / all * part);
        AddWithImages(l, links_[l].rows / all * part);
      }
    }
    for (std::size_t l = 0; l < links_.size(); ++l) {
      std::vector<std::int64_t>& list = places_[l];
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
    }
  }

  std::vector<Link> links_;
  std::vector<std::vector<std::int64_t>> places_;
};

class Bounder {
 public:
  Bounder(const Network& network, StreamInput input, const std::vector<std::int64_t>& heights)
      : network_(network), input_(input), heights_(heights) {}

  std::int64_t Bound() {
    std::int64_t bound = 0;
    FindWays();
    for (std::size_t i = 0; i < network_.images.size(); ++i) {
      bound = std::max(bound, OfEnd(static_cast<int>(i)));
    }
    // Chains end where no rows lead on: at outputs and at operators that need all of their input.
    for (std::size_t i = 0; i < network_.images.size(); ++i) {
      const int image = static_cast<int>(i);
      if (EndsChain(image)) bound = std::max(bound, Chain(LinksTo(image)).Bound());
    }
    return std::max(bound, OfGates());
  }

 private:
  // Inputs are whole at the start, outputs at the end, and an operator that does not stream has one
  // of its inputs whole before and its output whole behind.
  std::int64_t OfEnd(int image) const {
    const Image& value = network_.image(image);
    if (value.is_output) return value.shape.bytes();
    if (value.is_input) {
      return input_ == StreamInput::kResident && value.last_use >= 0 ? value.shape.bytes() : 0;
    }
    const bool whole = std::any_of(value.readers.begin(), value.readers.end(),
                                   [&](int n) { return !network_.node(n).streams; });
    return whole || (value.producer >= 0 && !network_.node(value.producer).streams)
               ? value.shape.bytes()
               : 0;
  }

  // Each output row of a reader needs some rows of the image.
  static bool IsRows(const Node& node, const Read& read, const Image& image) {
    return node.streams && read.rows.scale > 0 && read.rows.scale < image.shape.height;
  }

  bool EndsChain(int image) const {
    const Image& value = network_.image(image);
    if (value.is_output || value.readers.empty()) return value.producer >= 0;
    return std::any_of(value.readers.begin(), value.readers.end(), [&](int n) {
      const Node& node = network_.node(n);
      return std::any_of(node.reads.begin(), node.reads.end(), [&](const Read& read) {
        return read.image == image && !IsRows(node, read, value);
      });
    });
  }

  // Columns of `from` that `reader` reads at all, which computes `to`.
  static std::int64_t ColumnsRead(const Read& reader, const Image& to, const Image& from) {
    std::int64_t columns = 0;
    std::int64_t done = 0;
    for (std::int64_t x = 0; x < to.shape.width; ++x) {
      const plan::StreamRange need = reader.columns.Need(x, x + 1, from.shape.width);
      if (need.empty()) continue;
      columns += std::max<std::int64_t>(0, need.last - std::max(done, need.first));
      done = std::max(done, need.last);
    }
    return columns;
  }

  // For every image the most bytes of rows that windows keep on a way to it.
  void FindWays() {
    ways_.assign(network_.images.size(), {});
    for (const Node& node : network_.nodes) {
      if (!node.streams) continue;
      Way& way = ways_[static_cast<std::size_t>(node.outputs[0])];
      for (const Read& read : node.reads) {
        const Image& from = network_.image(read.image);
        if (!IsRows(node, read, from)) continue;
        const std::int64_t rows = std::max<std::int64_t>(read.rows.extent - read.rows.scale, 0);
        const std::int64_t bytes = ways_[static_cast<std::size_t>(read.image)].kept_bytes +
                                   rows * from.shape.width * from.shape.pixel_bytes + 1;
        if (bytes > way.kept_bytes) way = {bytes, &read};
      }
    }
  }

  // The chain that ends with `image`, on the way that keeps most.
  std::vector<Link> LinksTo(int image) const {
    std::vector<Link> links;
    const Read* reader = nullptr;  // of the next one
    const Image* next = nullptr;
    const Image& last = network_.image(image);
    // What accumulates its input as it comes holds nothing of it.
    const bool kept = last.is_output;
    for (int at = image;;) {
      const Image& value = network_.image(at);
      Link link;
      link.rows = value.shape.height * kUnit;
      link.row_bytes = at == image && !kept ? 0 : value.shape.width * value.shape.pixel_bytes;
      link.rows_read = link.rows;
      link.block_rows =
          std::clamp<std::int64_t>(heights_[static_cast<std::size_t>(at)], 1, value.shape.height);
      if (reader != nullptr) {
        link.map = reader->rows;
        link.row_bytes = ColumnsRead(*reader, *next, value) * value.shape.pixel_bytes;
        link.rows_read = reader->rows.Need(0, next->shape.height, value.shape.height).last * kUnit;
      }
      link.external = value.is_input && input_ == StreamInput::kExternal;
      link.resident = value.is_input && input_ == StreamInput::kResident;
      links.push_back(link);
      if (value.producer < 0) break;
      const Read* const best = ways_[static_cast<std::size_t>(at)].last;
      if (best == nullptr) break;
      reader = best;
      next = &value;
      at = best->image;
    }
    std::reverse(links.begin(), links.end());
    return links;
  }

  // x times a gate that needs all of x: when the gate is there, x is whole and nothing has been
  // read of it for good; so is what made x and is needed behind the gate.
  std::int64_t OfGates() const {
    const std::size_t count = network_.nodes.size();
    constexpr std::size_t kMostNodes = 4000;
    if (count > kMostNodes) return 0;
    std::int64_t bound = 0;
    for (std::size_t n = 0; n < count; ++n) {
      const Node& node = network_.nodes[n];
      const auto gate = std::find_if(node.reads.begin(), node.reads.end(),
                                     [](const Read& read) { return read.rows.scale == 0; });
      if (!node.streams || gate == node.reads.end()) continue;
      const std::vector<bool> before = MadeFrom(gate->image);
      const std::vector<bool> after = MadeBy(static_cast<int>(n));
      std::int64_t bytes = 0;
      bool gated = false;
      for (std::size_t i = 0; i < network_.images.size(); ++i) {
        const Image& image = network_.images[i];
        const bool outside = image.is_input && input_ != StreamInput::kResident;
        if (!before[i] || outside || static_cast<int>(i) == gate->image) continue;
        const bool later = std::any_of(image.readers.begin(), image.readers.end(), [&](int reader) {
          return after[static_cast<std::size_t>(reader)];
        });
        if (!later) continue;
        gated = true;
        bytes += image.shape.bytes();
      }
      if (gated) bound = std::max(bound, bytes);
    }
    return bound;
  }

  // Images all of whose rows have been computed when `image` is: those that it is made from, up to
  // the rows that windows leave out.
  std::vector<bool> MadeFrom(int image) const {
    std::vector<bool> made(network_.images.size(), false);
    made[static_cast<std::size_t>(image)] = true;
    for (int n = network_.image(image).producer; n >= 0; --n) {
      const Node& node = network_.node(n);
      const bool used = std::any_of(node.outputs.begin(), node.outputs.end(), [&](int output) {
        return made[static_cast<std::size_t>(output)];
      });
      for (const Read& read : node.reads) {
        if (used) made[static_cast<std::size_t>(read.image)] = true;
      }
    }
    return made;
  }

  // Node `n` and all that depend on it.
  std::vector<bool> MadeBy(int n) const {
    std::vector<bool> made(network_.nodes.size(), false);
    made[static_cast<std::size_t>(n)] = true;
    for (std::size_t at = static_cast<std::size_t>(n) + 1; at < network_.nodes.size(); ++at) {
      for (const Read& read : network_.nodes[at].reads) {
        const int producer = network_.image(read.image).producer;
        if (producer >= 0 && made[static_cast<std::size_t>(producer)]) made[at] = true;
      }
    }
    return made;
  }

  struct Way {
    std::int64_t kept_bytes = 0;
    const Read* last = nullptr;  // of the image's operator; nullptr: the way begins here
  };

  const Network& network_;
  StreamInput input_;
  const std::vector<std::int64_t>& heights_;
  std::vector<Way> ways_;  // to each image
};

}  // namespace

std::int64_t LowerBound(const Network& network, StreamInput input,
                        const std::vector<std::int64_t>& heights) {
  return Bounder(network, input, heights).Bound();
}

}  // namespace neap::stream
