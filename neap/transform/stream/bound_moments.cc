// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/stream/bound_moments.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>
#include <utility>

#include "neap/base/work.h"
#include "neap/transform/stream/bound_uses.h"
#include "neap/transform/stream/closure.h"

namespace neap::stream {
namespace {

using plan::StreamInput;
using MomentNumbers = std::vector<std::int64_t>;

constexpr std::int64_t kMaxCutSteps = 6'000'000;  // of one bound, in edges of cuts
// A bound takes at most this part of the work that is left: what follows may find a smaller plan.
constexpr std::int64_t kPartsOfWork = 4;
constexpr std::int64_t kStepNanoseconds = 10;
constexpr std::size_t kMaxBoundImages = 2000;
constexpr int kMaxRounds = 40;             // of one moment
constexpr std::size_t kMaxRated = 40'000;  // moments and images
constexpr int kMaxMoments = 4;  // for which cuts are computed, beside those around the best one
constexpr std::size_t kMaxPlaces = 12;
constexpr std::int64_t kGrowth = 12;  // the distance of a cell, as a multiple of its size
constexpr int kMaxNeighbours = 8;     // moments around the best one

// An operator computes the pixels [before, after) of its outputs at once, or some around them.
struct PixelMoment {
  int node = -1;  // -1: the rows of `image` arrive
  int image = -1;
  std::int64_t before = 0;
  std::int64_t after = 0;
};

class NetworkMoments {
 public:
  // `parts`: pixels that not all consumers of an image read count apart, though it is computed in
  // blocks of several rows.
  NetworkMoments(const Network& network, StreamInput input, const MomentNumbers& heights,
                 bool parts)
      : network_(network),
        input_(input),
        heights_(heights),
        parts_(parts),
        values_(network.images.size()) {
    for (const Node& node : network.nodes) AddUses(node);
    for (std::size_t i = 0; i < values_.size(); ++i) AddLayers(static_cast<int>(i));
  }

  std::int64_t Bound(std::int64_t known, std::int64_t enough) {
    best_ = known;
    std::vector<std::pair<std::int64_t, PixelMoment>> rated;  // by an upper limit of the bound
    // Of many moments only some.
    const std::vector<PixelMoment> samples = Samples();
    const std::size_t every = 1 + samples.size() * values_.size() / kMaxRated;
    for (std::size_t s = 0; s < samples.size(); s += every) {
      rated.emplace_back(MostOf(samples[s]), samples[s]);
    }
    std::stable_sort(rated.begin(), rated.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    PixelMoment top;
    int count = 0;
    for (const auto& [most, moment] : rated) {
      if (most <= best_ || Ends(enough) || ++count > kMaxMoments) break;
      const std::int64_t last = best_;
      Rate(moment);
      if (best_ > last) top = moment;
    }
    if (top.after > 0) Climb(top, enough);
    return best_;
  }

  const BoundMoment& Found() const { return found_at_; }
  // Whether there are such pixels.
  bool HasParts() const { return has_parts_; }

  // Edges of cuts that have been looked at.
  std::int64_t Steps() const { return steps_; }

 private:
  struct Value {
    std::int64_t pixels = 0;
    std::int64_t width = 0;
    std::int64_t pixel_bytes = 0;
    std::int64_t block_rows = 1;
    bool absent = false;    // never in the arena
    bool whole = false;     // it exists as a whole or not at all
    bool complete = false;  // from the start
    std::vector<PixelLayer> layers;
    std::vector<std::size_t> uses;     // of it
    std::vector<std::size_t> sources;  // uses from which it is computed
  };

  static MomentNumbers AllOf(std::int64_t size) {
    MomentNumbers all;
    for (std::int64_t i = 0; i <= size; ++i) all.push_back(i);
    return all;
  }

  bool InRows(int image) const {
    const Image& value = network_.image(image);
    return heights_[Slot(image)] <= 1 &&
           (value.producer < 0 || network_.node(value.producer).streams);
  }

  void AddUses(const Node& node) {
    for (const int output : node.outputs) {
      for (const Read& read : node.reads) {
        const Image& from = network_.image(read.image);
        if (from.is_input && input_ != StreamInput::kResident && input_ != StreamInput::kRows) {
          continue;
        }
        Node one = node;
        one.outputs = {output};
        values_[Slot(read.image)].uses.push_back(uses_.size());
        values_[Slot(output)].sources.push_back(uses_.size());
        uses_.emplace_back(network_, one, read, heights_[Slot(output)], InRows(read.image));
      }
    }
  }

  void AddLayers(int index) {
    const Image& image = network_.image(index);
    Value& value = values_[Slot(index)];
    value.width = image.shape.width;
    value.pixels = image.shape.height * image.shape.width;
    value.pixel_bytes = image.shape.pixel_bytes;
    if (parts_) value.block_rows = std::min(heights_[Slot(index)], kMaxBlockRows);
    value.absent =
        image.is_input && input_ != StreamInput::kResident && input_ != StreamInput::kRows;
    value.whole = image.producer >= 0 && !network_.node(image.producer).streams;
    value.complete = image.is_input && input_ == StreamInput::kResident;
    if (value.absent) return;
    const PixelSet all = {AllOf(image.shape.height), AllOf(image.shape.width)};
    if (image.is_output) {
      value.layers.push_back({all, {}, {}});
      return;
    }
    // Each read by fewer consumers than the ones before.
    std::vector<std::size_t> readers;
    for (const std::size_t u : value.uses) {
      if (!uses_[u].sums) readers.push_back(u);
    }
    std::stable_sort(readers.begin(), readers.end(), [&](std::size_t a, std::size_t b) {
      return uses_[a].read.All() < uses_[b].read.All();
    });
    for (const std::size_t u : readers) {
      const PixelSet& read = uses_[u].read;
      const bool part = !InRows(index) && read.All() != value.pixels;
      const bool in_blocks = !value.whole && heights_[Slot(index)] <= kMaxBlockRows;
      has_parts_ = has_parts_ || (part && in_blocks);
      if (part && !(parts_ && in_blocks)) continue;
      if (!value.layers.empty() &&
          (!read.Covers(value.layers.back().set) || read.All() == value.layers.back().set.All())) {
        continue;
      }
      PixelLayer layer{read, value.layers.empty() ? PixelSet{} : value.layers.back().set, {}};
      for (const std::size_t v : readers) {
        if (uses_[v].read.Covers(read)) layer.consumers.push_back(v);
      }
      value.layers.push_back(std::move(layer));
    }
  }

  // Counted bytes of the first `count` pixels.
  static std::int64_t BytesOf(const Value& value, const PixelLayer& layer, std::int64_t count) {
    return layer.Among(count, value.block_rows) * value.pixel_bytes;
  }
  static std::int64_t DeadBytes(const Value& value, const PixelLayer& layer, const PixelUse& use,
                                std::int64_t count, bool begun = false) {
    return use.Dead(layer, count, begun) * value.pixel_bytes;
  }

  bool IsIn(const PixelMoment& moment, int image) const {
    if (moment.node < 0) return image == moment.image;
    const std::vector<int>& outputs = network_.node(moment.node).outputs;
    return std::find(outputs.begin(), outputs.end(), image) != outputs.end();
  }
  std::int64_t AfterOf(const PixelMoment& moment, int image) const {
    return values_[Slot(image)].whole ? values_[Slot(image)].pixels : moment.after;
  }

  // Most pixels of `to` for which `from` pixels suffice.
  static std::int64_t Reach(const PixelUse& use, std::int64_t from, std::int64_t to) {
    std::int64_t low = 0;
    while (low < to) {
      const std::int64_t middle = low + (to - low + 1) / 2;
      if (use.Needed(middle) <= from) {
        low = middle;
      } else {
        to = middle - 1;
      }
    }
    return low;
  }

  // The progress that the moment allows and needs; false: it never comes.
  bool FindLimits(const PixelMoment& moment) {
    low_.assign(values_.size(), 0);
    high_.assign(values_.size(), 0);
    MomentNumbers seen(values_.size(), 0);  // by consumers
    const auto allow = [&](int image) {
      const Value& value = values_[Slot(image)];
      std::int64_t high = value.pixels;
      for (const std::size_t s : value.sources) {
        high = std::min(high, Reach(uses_[s], seen[Slot(uses_[s].from)], high));
      }
      if (value.whole && high < value.pixels) high = 0;
      const bool now = IsIn(moment, image);
      high_[Slot(image)] = now ? AfterOf(moment, image) : high;
      seen[Slot(image)] = now ? moment.before : high;
    };
    ForImages(allow);
    ForImagesBackwards([&](int image) {
      const Value& value = values_[Slot(image)];
      std::int64_t low = value.complete ? value.pixels : 0;
      for (const std::size_t u : value.uses) {
        const bool now = IsIn(moment, uses_[u].to);
        low = std::max(low, uses_[u].Needed(low_[Slot(uses_[u].to)], now));
      }
      if (value.whole && low > 0) low = value.pixels;
      low_[Slot(image)] = IsIn(moment, image) ? AfterOf(moment, image) : low;
    });
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (low_[i] > high_[i]) return false;
    }
    return true;
  }

  template <typename Function>
  void ForImages(const Function& function) const {
    for (std::size_t i = 0; i < network_.images.size(); ++i) {
      if (network_.images[i].producer < 0) function(static_cast<int>(i));
    }
    for (const Node& node : network_.nodes) {
      for (const int output : node.outputs) function(output);
    }
  }
  template <typename Function>
  void ForImagesBackwards(const Function& function) const {
    for (std::size_t n = network_.nodes.size(); n-- > 0;) {
      for (const int output : network_.nodes[n].outputs) function(output);
    }
    for (std::size_t i = 0; i < network_.images.size(); ++i) {
      if (network_.images[i].producer < 0) function(static_cast<int>(i));
    }
  }

  // Progress that may be that of a minimum: what the places of consumers need and those of
  // producers allow. Cells grow with their distance from these.
  void FirstGrid() {
    std::vector<std::set<std::int64_t>> places(values_.size());
    const auto add = [&](int image, std::int64_t at) {
      std::set<std::int64_t>& own = places[Slot(image)];
      if (own.size() < kMaxPlaces && at >= low_[Slot(image)] && at <= high_[Slot(image)]) {
        own.insert(at);
      }
    };
    for (std::size_t i = 0; i < values_.size(); ++i) places[i] = {low_[i], high_[i]};
    for (int round = 0; round < 2; ++round) {
      ForImagesBackwards([&](int image) {
        for (const std::size_t u : values_[Slot(image)].uses) {
          const auto& to = places[Slot(uses_[u].to)];
          for (const std::int64_t at : std::vector(to.begin(), to.end())) {
            add(image, uses_[u].Needed(at));
          }
        }
      });
      ForImages([&](int image) {
        for (const std::size_t s : values_[Slot(image)].sources) {
          const auto& from = places[Slot(uses_[s].from)];
          for (const std::int64_t at : std::vector(from.begin(), from.end())) {
            add(image, Reach(uses_[s], at, high_[Slot(image)]));
          }
        }
      });
    }
    grid_.assign(values_.size(), {});
    for (std::size_t i = 0; i < values_.size(); ++i) {
      std::set<std::int64_t> grid;
      for (const std::int64_t place : places[i]) {
        grid.insert(place);
        if (values_[i].whole || values_[i].absent) continue;
        for (std::int64_t away = 1; away < values_[i].pixels; away += 1 + away / kGrowth) {
          if (place + away < high_[i]) grid.insert(place + away);
          if (place - away > low_[i]) grid.insert(place - away);
        }
      }
      Thin(places[i], &grid);
      grid_[i].assign(grid.begin(), grid.end());
    }
  }

  // Removes cells that are far from every place for their size.
  static void Thin(const std::set<std::int64_t>& places, std::set<std::int64_t>* grid) {
    std::int64_t last = *grid->begin();
    for (auto at = std::next(grid->begin()); at != grid->end() && *at != *grid->rbegin();) {
      const auto after = places.lower_bound(*at);
      std::int64_t away = after == places.end() ? *at - *places.rbegin() : *after - *at;
      if (after != places.begin()) away = std::min(away, *at - *std::prev(after));
      if (away > 1 && *at - last < away / kGrowth) {
        at = grid->erase(at);
      } else {
        last = *at++;
      }
    }
  }

  // The last pixel of a cell.
  std::int64_t EndOf(int image, std::size_t cell) const {
    const MomentNumbers& grid = grid_[Slot(image)];
    if (values_[Slot(image)].whole || cell + 1 == grid.size()) return grid[cell];
    return grid[cell + 1] - 1;
  }

  // A lower bound of the bytes over all progress, with the cells of the grid.
  std::int64_t Cut(const PixelMoment& moment) {
    Closure closure;
    choices_.assign(values_.size(), {});
    std::int64_t fixed = 0;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const Value& value = values_[i];
      for (const PixelLayer& layer : value.layers) fixed += BytesOf(value, layer, low_[i]);
      choices_[i].push_back(-1);
      for (std::size_t cell = 1; cell < grid_[i].size(); ++cell) {
        std::int64_t more = 0;
        for (const PixelLayer& layer : value.layers) {
          more += BytesOf(value, layer, grid_[i][cell]) - BytesOf(value, layer, grid_[i][cell - 1]);
        }
        choices_[i].push_back(closure.Add(more));
        if (cell > 1) closure.Need(choices_[i][cell], choices_[i][cell - 1]);
      }
    }
    for (const PixelUse& use : uses_) AddNeeds(use, &closure);
    AddTies(&closure);
    for (const Value& value : values_) {
      for (const PixelLayer& layer : value.layers) AddDead(value, layer, moment, &closure);
    }
    const std::int64_t bytes = fixed + closure.Solve(&steps_);
    found_.assign(values_.size(), 0);
    for (std::size_t i = 0; i < values_.size(); ++i) {
      std::size_t cell = 0;
      while (cell + 1 < grid_[i].size() && closure.Contains(choices_[i][cell + 1])) ++cell;
      found_[i] = grid_[i][cell];
    }
    return bytes;
  }

  void AddNeeds(const PixelUse& use, Closure* closure) const {
    const MomentNumbers& from = grid_[Slot(use.from)];
    const MomentNumbers& to = grid_[Slot(use.to)];
    std::size_t last = 0;
    for (std::size_t cell = 1; cell < to.size(); ++cell) {
      const std::int64_t needed = use.Needed(to[cell]);
      const auto next = std::upper_bound(from.begin(), from.end(), needed);
      const auto of = static_cast<std::size_t>(next - from.begin());
      if (of <= 1 || of - 1 == last) continue;
      last = of - 1;
      closure->Need(choices_[Slot(use.to)][cell], choices_[Slot(use.from)][last]);
    }
  }

  // Outputs of one operator exist together.
  void AddTies(Closure* closure) const {
    for (const Node& node : network_.nodes) {
      if (node.streams) continue;
      for (std::size_t o = 1; o < node.outputs.size(); ++o) {
        const std::vector<int>& a = choices_[Slot(node.outputs[o - 1])];
        const std::vector<int>& b = choices_[Slot(node.outputs[o])];
        if (a.size() < 2 || b.size() < 2) continue;
        closure->Need(a.back(), b.back());
        closure->Need(b.back(), a.back());
      }
    }
  }

  // Bytes are gained when every consumer has left them behind.
  void AddDead(const Value& value, const PixelLayer& layer, const PixelMoment& moment,
               Closure* closure) const {
    if (layer.consumers.empty()) return;
    struct Consumer {
      int image = -1;
      MomentNumbers dead;  // by cell
    };
    std::vector<Consumer> consumers;
    std::int64_t limit = std::numeric_limits<std::int64_t>::max();
    MomentNumbers levels;
    for (const std::size_t u : layer.consumers) {
      const PixelUse& use = uses_[u];
      Consumer consumer{use.to, {}};
      for (std::size_t cell = 0; cell < grid_[Slot(use.to)].size(); ++cell) {
        const std::int64_t dead = IsIn(moment, use.to)
                                      ? DeadNow(value, layer, use, moment)
                                      : DeadBytes(value, layer, use, EndOf(use.to, cell));
        consumer.dead.push_back(std::max(dead, consumer.dead.empty() ? 0 : consumer.dead.back()));
      }
      limit = std::min(limit, consumer.dead.back());
      levels.insert(levels.end(), consumer.dead.begin(), consumer.dead.end());
      consumers.push_back(std::move(consumer));
    }
    std::sort(levels.begin(), levels.end());
    levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
    std::int64_t last = 0;
    for (const std::int64_t level : levels) {
      if (level <= last || level > limit) continue;
      const int choice = closure->Add(last - level);
      last = level;
      for (const Consumer& consumer : consumers) {
        const auto cell = std::lower_bound(consumer.dead.begin(), consumer.dead.end(), level) -
                          consumer.dead.begin();
        if (cell > 0) closure->Need(choice, choices_[Slot(consumer.image)][Slot(cell)]);
      }
    }
  }

  // While the operator computes the pixels of the moment.
  std::int64_t DeadNow(const Value& value, const PixelLayer& layer, const PixelUse& use,
                       const PixelMoment& moment) const {
    const std::int64_t after = AfterOf(moment, use.to);
    if (use.in_place) return DeadBytes(value, layer, use, after);
    return DeadBytes(value, layer, use, std::min(moment.before, after), true);
  }

  // The bytes of a progress near that of the last cut, which it becomes.
  std::int64_t BytesNear(const PixelMoment& moment) {
    ForImagesBackwards([&](int image) {
      const Value& value = values_[Slot(image)];
      std::int64_t& at = found_[Slot(image)];
      at = std::max(at, low_[Slot(image)]);
      for (const std::size_t u : value.uses) {
        if (!IsIn(moment, uses_[u].to)) {
          at = std::max(at, uses_[u].Needed(found_[Slot(uses_[u].to)]));
        }
      }
      if (value.whole && at > 0) at = value.pixels;
    });
    std::int64_t bytes = 0;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      for (const PixelLayer& layer : values_[i].layers) {
        std::int64_t dead = layer.consumers.empty() ? 0 : std::numeric_limits<std::int64_t>::max();
        for (const std::size_t u : layer.consumers) {
          const PixelUse& use = uses_[u];
          dead = std::min(dead, IsIn(moment, use.to)
                                    ? DeadNow(values_[i], layer, use, moment)
                                    : DeadBytes(values_[i], layer, use, found_[Slot(use.to)]));
        }
        bytes += std::max<std::int64_t>(0, BytesOf(values_[i], layer, found_[i]) - dead);
      }
    }
    return bytes;
  }

  bool Divide() {
    bool divided = false;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (values_[i].whole || values_[i].absent) continue;
      MomentNumbers& grid = grid_[i];
      for (const std::int64_t at : {found_[i], found_[i] + 1}) {
        const auto place = std::lower_bound(grid.begin(), grid.end(), at);
        if (place == grid.end() || *place == at) continue;
        grid.insert(place, at);
        divided = true;
      }
    }
    return divided;
  }

  bool Ends(std::int64_t enough) const { return best_ >= enough || steps_ > max_steps_; }

  // At least the minimum of the moment: everything is as far as it must be, or what the moment does
  // not need as far as it may be.
  std::int64_t MostOf(const PixelMoment& moment) {
    if (!FindLimits(moment)) return 0;
    found_ = low_;
    const std::int64_t late = BytesNear(moment);
    for (std::size_t i = 0; i < values_.size(); ++i) {
      found_[i] = low_[i] > 0 ? low_[i] : high_[i];
    }
    return std::min(late, BytesNear(moment));
  }

  // Raises the bound to that of the moment.
  void Rate(const PixelMoment& moment) {
    std::int64_t most = MostOf(moment);
    if (most <= best_) return;
    FirstGrid();
    for (int round = 0; round < kMaxRounds && steps_ <= max_steps_; ++round) {
      const std::int64_t least = Cut(moment);
      if (least > best_) found_at_ = {moment.image, moment.after - 1};
      best_ = std::max(best_, least);
      most = std::min(most, BytesNear(moment));
      if (least >= most || most <= best_ || !Divide()) break;
    }
  }

  // Of node `n`, or of the rows of an input that arrive.
  PixelMoment MomentAt(int n, int image, std::int64_t pixel) const {
    const Value& value = values_[Slot(image)];
    if (n >= 0 && value.whole) return {n, image, 0, value.pixels};
    const bool rows = n < 0 || network_.node(n).whole_columns;
    if (!rows) return {n, image, pixel, pixel + 1};
    const std::int64_t first = pixel / value.width * value.width;
    return {n, image, first, first + value.width};
  }

  std::vector<PixelMoment> Samples() const {
    std::vector<PixelMoment> samples;
    const auto add = [&](int n, int image) {
      const Value& value = values_[Slot(image)];
      if (value.absent || value.complete || (n >= 0 && network_.node(n).sums)) return;
      const std::int64_t rows = value.pixels / value.width;
      std::set<std::int64_t> pixels;
      for (const std::int64_t row :
           {std::int64_t{0}, rows / 8, rows * 3 / 8, rows / 2, rows * 5 / 8, rows * 7 / 8}) {
        pixels.insert(row * value.width + value.width / 2);
        pixels.insert(row * value.width + value.width - 1);
      }
      if (value.whole) pixels = {0};
      for (const std::int64_t pixel : pixels) samples.push_back(MomentAt(n, image, pixel));
    };
    for (std::size_t n = 0; n < network_.nodes.size(); ++n) {
      if (!network_.nodes[n].outputs.empty())
        add(static_cast<int>(n), network_.nodes[n].outputs[0]);
    }
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (network_.images[i].is_input) add(-1, static_cast<int>(i));
    }
    return samples;
  }

  // NetworkMoments around the best one.
  void Climb(PixelMoment top, std::int64_t enough) {
    std::set<std::int64_t> tried = {top.before};
    int count = 0;
    for (bool better = true; better;) {
      better = false;
      const Value& value = values_[Slot(top.image)];
      const std::int64_t column = top.before % value.width;
      for (const std::int64_t pixel :
           {top.before - column, top.before - column + value.width - 1, top.before + 1,
            top.before - 1, top.before + value.width, top.before - value.width}) {
        if (pixel < 0 || pixel >= value.pixels || ++count > kMaxNeighbours) continue;
        const PixelMoment next = MomentAt(top.node, top.image, pixel);
        if (Ends(enough) || !tried.insert(next.before).second) continue;
        const std::int64_t last = best_;
        Rate(next);
        if (best_ <= last) continue;
        top = next;
        better = true;
        break;
      }
    }
  }

  const Network& network_;
  StreamInput input_;
  const MomentNumbers& heights_;
  const bool parts_;
  bool has_parts_ = false;
  std::vector<Value> values_;  // by image
  std::vector<PixelUse> uses_;
  // Of one moment.
  MomentNumbers low_;
  MomentNumbers high_;
  std::vector<MomentNumbers> grid_;
  std::vector<std::vector<int>> choices_;  // by image and cell
  MomentNumbers found_;
  BoundMoment found_at_;
  std::int64_t best_ = 0;
  std::int64_t steps_ = 0;
  const std::int64_t max_steps_ =
      std::min(kMaxCutSteps, WorkLeft() / kPartsOfWork / kStepNanoseconds);
};

}  // namespace

std::int64_t BoundOfMoments(const Network& network, StreamInput input, const MomentNumbers& heights,
                            std::int64_t known, std::int64_t enough, BoundMoment* found) {
  if (network.images.size() > kMaxBoundImages || known >= enough || IsOutOfWork()) return known;
  std::int64_t bound = known;
  bool has_parts = false;
  // Either may be higher: the order of pixels inside a block is not known, and each part counts its
  // minimum.
  for (const bool parts : {false, true}) {
    if (parts && (!has_parts || bound >= enough || IsOutOfWork())) break;
    NetworkMoments moments(network, input, heights, parts);
    has_parts = moments.HasParts();
    bound = moments.Bound(bound, enough);
    if (moments.Found().image >= 0) *found = moments.Found();
    ChargeWork(moments.Steps() * kStepNanoseconds);
  }
  return bound;
}

}  // namespace neap::stream
