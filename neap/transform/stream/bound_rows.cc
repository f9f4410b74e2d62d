// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/stream/bound_rows.h"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

#include "neap/base/work.h"
#include "neap/transform/stream/bound_row_uses.h"
#include "neap/transform/stream/bound_uses.h"
#include "neap/transform/stream/closure.h"

namespace neap::stream {
namespace {

using plan::StreamInput;

constexpr std::int64_t kMaxRowsSteps = 8'000'000;  // of one bound, in edges of cuts and pixels
constexpr std::int64_t kRowsWorkParts = 4;         // of the work that is left, one
constexpr std::int64_t kRowsStepNanoseconds = 10;
constexpr std::int64_t kMaxRowsPixels = 24'000;  // of all images
constexpr std::int64_t kMaxRowsNodes = 8'000;    // pixels around one moment
constexpr std::int64_t kRowsAround[] = {10, 6};  // of those that a moment needs, in this order
constexpr std::size_t kFirstNext = 3;            // operators behind a moment
constexpr std::size_t kMoreNext = 4;
constexpr std::int64_t kFarther = 4;
constexpr std::int64_t kMaxRatings = 40;
constexpr int kMaxTops = 4;               // moments with a cut, beside those around the best one
constexpr int kMaxMomentsAround = 12;     // around the best one
constexpr std::int64_t kLeastShare = 64;  // of a bound, by which it is raised
constexpr int kToStart = -1000;           // of the row
constexpr int kSatisfied = -1;            // instead of a choice
constexpr int kNotYet = -2;

// An operator computes the pixel, and others in the same box.
struct Moment {
  int image = -1;
  std::int64_t row = 0;
  std::int64_t column = 0;
};

class BoundOfRowSets {
 public:
  BoundOfRowSets(const Network& network, StreamInput input, const RowsCounts& heights)
      : network_(network),
        rows_(network, input, heights),
        images_(rows_.images),
        uses_(rows_.uses),
        order_(rows_.order) {}

  std::int64_t Pixels() const {
    std::int64_t pixels = 0;
    for (const RowsImage& image : images_) pixels += image.absent ? 0 : image.height * image.width;
    return pixels;
  }
  std::int64_t Steps() const { return steps_; }

  std::int64_t Bound(std::int64_t known, std::int64_t enough, const BoundMoment& start) {
    best_ = known;
    enough_ = enough;
    std::vector<std::pair<std::int64_t, Moment>> rated;
    const std::vector<Moment> samples = Samples();
    // An odd number: rows of all remainders are among them.
    const std::size_t every = (1 + samples.size() / Slot(kMaxRatings)) | 1U;
    for (std::size_t s = 0; s < samples.size() && !Ends(); s += every) {
      if (FindLimits(samples[s])) rated.emplace_back(MostOf(samples[s]), samples[s]);
    }
    std::stable_sort(rated.begin(), rated.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    std::set<int> tried;
    Moment top;
    std::int64_t top_bytes = -1;
    if (start.image >= 0 && HasMoments(start.image)) {
      const std::int64_t width = images_[Slot(start.image)].width;
      top = {start.image, start.pixel / width, start.pixel % width};
      top_bytes = Rate(top);
    }
    for (const auto& [most, moment] : rated) {
      if (most <= best_ || Ends() || static_cast<int>(tried.size()) >= kMaxTops) break;
      // Others of the same image are found from there.
      if (!tried.insert(moment.image).second) continue;
      const std::int64_t least = Rate(moment);
      if (least <= top_bytes) continue;
      top_bytes = least;
      top = moment;
    }
    if (top.image >= 0) Climb(top, top_bytes);
    return best_;
  }

 private:
  bool Ends() const { return best_ >= enough_ || steps_ > max_steps_; }

  // The rows and columns of the moment that are in its box; of rows that arrive, all columns.
  bool IsInBox(const Moment& moment, std::int64_t row, std::int64_t column) const {
    return row >= moment.row && (images_[Slot(moment.image)].fed || column >= moment.column);
  }

  // The progress that is allowed, by image and row, where the consumers of the moment's image have
  // seen nothing of rows [first, last) from the moment's column on, and nothing behind them.
  void FindAllowed(const Moment& moment, std::int64_t first, std::int64_t last) {
    allowed_.assign(images_.size(), {});
    RowsCounts seen;  // of the moment's image, by its consumers
    const auto allow = [&](int i) {
      const RowsImage& image = images_[Slot(i)];
      RowsCounts& own = allowed_[Slot(i)];
      own.assign(Slot(image.height), image.absent ? 0 : image.width);
      for (const std::size_t s : image.sources) {
        const RowsUse& use = uses_[s];
        const RowsCounts& from = use.from == moment.image ? seen : allowed_[Slot(use.from)];
        for (std::int64_t y = 0; y < image.height; ++y) {
          const std::int64_t high = use.high[Slot(y) + 1];
          if (high == 0) continue;
          const auto end =
              std::upper_bound(use.right.begin() + 1, use.right.end(), from[Slot(high) - 1]);
          own[Slot(y)] = std::min<std::int64_t>(own[Slot(y)], end - use.right.begin() - 1);
        }
      }
      for (std::int64_t y = 1; y < image.height; ++y) {
        own[Slot(y)] = std::min(own[Slot(y)], own[Slot(y) - 1]);
        const std::int64_t block = y - image.block_rows;
        if (block >= 0 && own[Slot(block)] < image.width) own[Slot(y)] = 0;
      }
      if (image.whole && own.back() < image.width) own.assign(own.size(), 0);
      if (i != moment.image) return;
      seen = own;
      for (std::int64_t y = first; y < image.height; ++y) {
        const std::int64_t before = image.fed || y >= last ? 0 : moment.column;
        seen[Slot(y)] = std::min(seen[Slot(y)], before);
        if (y > moment.row) own[Slot(y)] = std::min(own[Slot(y)], before);
      }
      own[Slot(moment.row)] = std::min(own[Slot(moment.row)], moment.column + 1);
      steps_ += image.height;
    };
    for (std::size_t i = 0; i < images_.size(); ++i) {
      if (network_.images[i].producer < 0) allow(static_cast<int>(i));
    }
    for (const int i : order_) allow(i);
  }

  // Needed and allowed pixels of the moment; false: it never comes.
  bool FindLimits(const Moment& moment) {
    FindAllowed(moment, moment.row, images_[Slot(moment.image)].height);
    needed_.assign(images_.size(), {});
    for (std::size_t i = 0; i < images_.size(); ++i) {
      needed_[i].assign(Slot(images_[i].height), images_[i].complete ? images_[i].width : 0);
    }
    needed_[Slot(moment.image)][Slot(moment.row)] = moment.column + 1;
    Complete(&needed_);
    for (std::size_t i = 0; i < images_.size(); ++i) {
      for (std::size_t y = 0; y < needed_[i].size(); ++y) {
        if (needed_[i][y] > allowed_[i][y]) return false;
      }
    }
    return true;
  }

  // Adds the pixels on which these depend.
  void Complete(std::vector<RowsCounts>* pixels) {
    const auto complete = [&](int i) {
      const RowsImage& image = images_[Slot(i)];
      RowsCounts& own = (*pixels)[Slot(i)];
      std::int64_t last = -1;
      const bool some = std::any_of(own.begin(), own.end(), [](std::int64_t x) { return x > 0; });
      if (image.whole && some) own.assign(own.size(), image.width);
      for (std::int64_t y = image.height; y-- > 0;) {
        if (last < 0 && own[Slot(y)] > 0) last = y;
        if (y + 1 < image.height) own[Slot(y)] = std::max(own[Slot(y)], own[Slot(y) + 1]);
        if (last >= 0 && y + image.block_rows <= last) own[Slot(y)] = image.width;
        if (image.fed && own[Slot(y)] > 0) own[Slot(y)] = image.width;
      }
      for (const std::size_t s : image.sources) {
        const RowsUse& use = uses_[s];
        RowsCounts& from = (*pixels)[Slot(use.from)];
        for (std::int64_t y = 0; y <= last; ++y) {
          const std::int64_t high = use.high[Slot(y) + 1];
          const std::int64_t right = use.right[Slot(own[Slot(y)])];
          if (high > 0) from[Slot(high) - 1] = std::max(from[Slot(high) - 1], right);
        }
      }
      steps_ += image.height;
    };
    for (std::size_t k = order_.size(); k-- > 0;) complete(order_[k]);
    for (std::size_t i = 0; i < images_.size(); ++i) {
      if (network_.images[i].producer < 0 && !images_[i].absent) complete(static_cast<int>(i));
    }
  }

  // The rows [first_, last_) of each image count; false: too many pixels.
  bool FindWindows(const Moment& moment) {
    for (const std::int64_t around : kRowsAround) {
      first_.assign(images_.size(), 0);
      last_.assign(images_.size(), 0);
      std::int64_t nodes = 0;
      for (std::size_t i = 0; i < images_.size(); ++i) {
        const RowsImage& image = images_[i];
        if (image.absent) continue;
        const auto rows = [&](const RowsCounts& counts) {
          std::int64_t some = 0;
          while (some < image.height && counts[Slot(some)] > 0) ++some;
          return some;
        };
        std::int64_t middle = rows(needed_[i]);
        const std::int64_t most = rows(allowed_[i]);
        // Of a branch beside the moment nothing is known.
        const std::int64_t height = images_[Slot(moment.image)].height;
        if (middle == 0) {
          middle = most < image.height ? most : image.height * moment.row / height;
        }
        first_[i] = image.complete || image.kept || image.whole
                        ? 0
                        : std::max<std::int64_t>(0, middle - around);
        last_[i] = image.complete || image.whole
                       ? image.height
                       : std::clamp(middle + around, first_[i] + 1, image.height);
        for (std::int64_t y = first_[i]; y < last_[i]; ++y) {
          nodes += allowed_[i][Slot(y)] - needed_[i][Slot(y)];
        }
      }
      if (nodes <= kMaxRowsNodes) return true;
    }
    return false;
  }

  // The bytes of some progress that the moment allows: some of the next operators as far as they
  // may be, if they free at least what they compute, with boxes of several rows before or behind
  // the moment, or of one, and everything else as far as it must be. After FindLimits(); not below
  // the bytes of the moment.
  std::int64_t MostOf(const Moment& moment) {
    if (!FindWindows(moment)) return 0;
    const std::int64_t more = images_[Slot(moment.image)].block_rows - 1;
    const std::int64_t before = std::max<std::int64_t>(0, moment.row - more);
    std::int64_t most = std::numeric_limits<std::int64_t>::max();
    for (int box = 0; box < (more > 0 ? 3 : 1); ++box) {
      FindAllowed(moment, box == 1 ? before : moment.row,
                  box == 2 ? moment.row + more + 1 : moment.row + 1);
      for (std::size_t next = kFirstNext;; next *= kMoreNext) {
        most = std::min(most, BytesOfLate(moment, next));
        if (next >= order_.size()) break;
      }
    }
    return most;
  }

  std::int64_t BytesOfLate(const Moment& moment, std::size_t next) {
    std::vector<RowsCounts> late = needed_;
    const auto own = std::find(order_.begin(), order_.end(), moment.image);
    const auto from = own == order_.end() ? 0 : static_cast<std::size_t>(own - order_.begin()) + 1;
    for (std::size_t k = from; k < std::min(order_.size(), from + next); ++k) {
      const std::size_t i = Slot(order_[k]);
      if (images_[i].frees && allowed_[i].back() < images_[i].width) late[i] = allowed_[i];
    }
    Complete(&late);
    std::int64_t bytes = 0;
    for (std::size_t i = 0; i < images_.size(); ++i) {
      const RowsImage& image = images_[i];
      for (std::int64_t y = first_[i]; y < last_[i]; ++y) {
        for (std::int64_t x = 0; x < late[i][Slot(y)]; ++x) {
          bool live = image.kept;
          for (const std::size_t u : image.readers) {
            const RowsUse& use = uses_[u];
            const std::int64_t row = use.last_y[Slot(y)];
            const std::int64_t column = use.last_x[Slot(x)];
            if (row < 0 || column < 0 || use.sums || live) continue;
            live = use.to == moment.image
                       ? IsHeld(moment, use, row, column) || column >= late[Slot(use.to)][Slot(row)]
                       : column >= late[Slot(use.to)][Slot(row)];
          }
          bytes += live ? image.bytes : 0;
        }
        steps_ += late[i][Slot(y)];
      }
      const bool adds = std::any_of(image.sources.begin(), image.sources.end(), [&](std::size_t u) {
        return late[Slot(uses_[u].from)][0] > 0;
      });
      if (adds && late[i][0] == 0) bytes += image.sum_bytes;
    }
    return bytes;
  }

  // Whether the box of the moment reads what the pixel (row, column) is the last one to need, and
  // cannot replace it.
  bool IsHeld(const Moment& moment, const RowsUse& use, std::int64_t row,
              std::int64_t column) const {
    const bool exact = row == moment.row && column == moment.column;
    return IsInBox(moment, row, column) && !(use.in_place && exact);
  }

  // The choice that the pixel exists; `clipped`: another one that it implies.
  int ChoiceOf(int image, std::int64_t row, std::int64_t column, bool* clipped) const {
    const std::size_t i = Slot(image);
    if (row < first_[i]) return kSatisfied;
    *clipped = row >= last_[i];
    row = std::min(row, last_[i] - 1);
    if (column < needed_[i][Slot(row)]) return kSatisfied;
    if (column >= allowed_[i][Slot(row)]) return kNotYet;
    return choices_[i][Slot((row - first_[i]) * images_[i].width + column)];
  }

  void Need(int choice, int image, std::int64_t row, std::int64_t column) {
    bool clipped = false;
    const int other = ChoiceOf(image, row, column, &clipped);
    if (other >= 0 && other != choice) needs_.emplace_back(choice, other);
  }

  int AddChoice(std::int64_t cost) {
    costs_.push_back(cost);
    return static_cast<int>(costs_.size()) - 1;
  }

  // What a pixel that is no longer fixed by the moment needs.
  void AddNeeds(int i, std::int64_t y, std::int64_t x) {
    const RowsImage& image = images_[Slot(i)];
    const std::int64_t needed = needed_[Slot(i)][Slot(y)];
    bool clipped = false;
    const int choice = ChoiceOf(i, y, x, &clipped);
    // Those that are far before are implied: they make the paths of the cut short.
    for (std::int64_t before = 1; before <= x; before *= kFarther) Need(choice, i, y, x - before);
    if (x == 0 && y >= image.block_rows) Need(choice, i, y - image.block_rows, image.width - 1);
    if (image.block_rows > 1 && y > 0) Need(choice, i, y - 1, x);
    if (image.fed) Need(choice, i, y, image.width - 1);
    if (image.whole) Need(choice, i, image.height - 1, image.width - 1);
    for (const std::size_t s : image.sources) {
      const RowsUse& use = uses_[s];
      const std::int64_t high = use.high[Slot(y) + 1];
      const std::int64_t right = use.right[Slot(x) + 1];
      if (high == 0 || right == 0) continue;
      if (x > needed && use.right[Slot(x)] == right) continue;  // the column before needs it
      Need(choice, use.from, high - 1, right - 1);
    }
  }

  // The sums that are live from the first pixel that is added until the result exists.
  int ChoiceOfSums(int image) {
    int& choice = sums_[Slot(image)];
    if (choice != kSatisfied) return choice;
    const std::int64_t bytes = images_[Slot(image)].sum_bytes;
    choice = AddChoice(bytes);
    bool clipped = false;
    const int done = ChoiceOf(image, 0, 0, &clipped);
    if (done == kSatisfied) costs_[Slot(choice)] = 0;
    if (done < 0) return choice;
    const int gone = AddChoice(-bytes);
    needs_.emplace_back(gone, done);
    needs_.emplace_back(gone, choice);
    return choice;
  }

  // The bytes of one pixel: from its computation until its last reader.
  void AddBytes(const Moment& moment, int i, std::int64_t y, std::int64_t x) {
    const RowsImage& image = images_[Slot(i)];
    bool read = image.kept;
    bool never = image.kept;
    bool direct = true;
    std::vector<int> reasons;
    for (const std::size_t u : image.readers) {
      const RowsUse& use = uses_[u];
      const std::int64_t row = use.last_y[Slot(y)];
      const std::int64_t column = use.last_x[Slot(x)];
      if (row < 0 || column < 0) continue;
      read = true;
      if (never) continue;
      bool clipped = false;
      const int choice = use.sums ? ChoiceOfSums(use.to) : ChoiceOf(use.to, row, column, &clipped);
      never = choice == kNotYet || (use.to == moment.image && IsHeld(moment, use, row, column));
      if (choice >= 0) reasons.push_back(choice);
      direct = direct && !clipped && !use.sums;
    }
    if (!read) return;
    const bool exists = x < needed_[Slot(i)][Slot(y)];
    if (!never && reasons.empty()) return;
    bool clipped = false;
    const int own = exists ? kSatisfied : ChoiceOf(i, y, x, &clipped);
    if (exists) {
      fixed_ += image.bytes;
    } else {
      costs_[Slot(own)] += image.bytes;
    }
    if (never) return;
    // A reader exists after what it reads.
    if (reasons.size() == 1 && (exists || direct)) {
      costs_[Slot(reasons[0])] -= image.bytes;
      return;
    }
    const int dead = AddChoice(-image.bytes);
    if (!exists) needs_.emplace_back(dead, own);
    for (const int reason : reasons) needs_.emplace_back(dead, reason);
  }

  // The minimum of the bytes of all progress.
  std::int64_t Cut(const Moment& moment) {
    costs_.clear();
    needs_.clear();
    fixed_ = 0;
    choices_.assign(images_.size(), {});
    sums_.assign(images_.size(), kSatisfied);
    ForWindows(
        [&](int i, std::int64_t y, std::int64_t x) {
          const bool free = x >= needed_[Slot(i)][Slot(y)] && x < allowed_[Slot(i)][Slot(y)];
          choices_[Slot(i)].push_back(free ? AddChoice(0) : kNotYet);
        },
        false);
    ForWindows(
        [&](int i, std::int64_t y, std::int64_t x) {
          if (x >= needed_[Slot(i)][Slot(y)]) AddNeeds(i, y, x);
          AddBytes(moment, i, y, x);
        },
        true);
    AddTies();
    Closure closure;
    for (const std::int64_t cost : costs_) closure.Add(cost);
    for (const auto& [choice, needed] : needs_) closure.Need(choice, needed);
    steps_ += static_cast<std::int64_t>(costs_.size() + needs_.size());
    return fixed_ + closure.Solve(&steps_);
  }

  // Pixels of the windows, or of those that the moment allows.
  template <typename Function>
  void ForWindows(const Function& function, bool allowed) {
    for (std::size_t i = 0; i < images_.size(); ++i) {
      for (std::int64_t y = first_[i]; y < last_[i]; ++y) {
        const std::int64_t width = allowed ? allowed_[i][Slot(y)] : images_[i].width;
        for (std::int64_t x = 0; x < width; ++x) function(static_cast<int>(i), y, x);
      }
    }
  }

  // Outputs of one operator exist together.
  void AddTies() {
    for (const Node& node : network_.nodes) {
      for (std::size_t o = 1; !node.streams && o < node.outputs.size(); ++o) {
        bool clipped = false;
        const int a = ChoiceOf(node.outputs[o - 1], 0, 0, &clipped);
        const int b = ChoiceOf(node.outputs[o], 0, 0, &clipped);
        if (a < 0 || b < 0) continue;
        needs_.emplace_back(a, b);
        needs_.emplace_back(b, a);
      }
    }
  }

  // Raises the bound to that of the moment, which it returns; -1: unknown.
  std::int64_t Rate(const Moment& moment) {
    if (!FindLimits(moment) || MostOf(moment) <= best_) return -1;
    FindAllowed(moment, moment.row, images_[Slot(moment.image)].height);
    const std::int64_t least = Cut(moment);
    best_ = std::max(best_, least);
    return least;
  }

  // Operators that run channel by channel have other moments.
  bool HasMoments(int image) const {
    const RowsImage& own = images_[Slot(image)];
    const int producer = network_.image(image).producer;
    if (own.absent || own.complete) return false;
    if (producer < 0) return true;
    const Node& node = network_.node(producer);
    const bool by_parts = own.block_rows >= own.height && (node.by_channel || node.whole_in_place);
    return node.streams && !node.sums && !by_parts;
  }

  std::vector<Moment> Samples() const {
    std::vector<Moment> samples;
    for (std::size_t i = 0; i < images_.size(); ++i) {
      const RowsImage& image = images_[i];
      if (!HasMoments(static_cast<int>(i))) continue;
      // In the first column or in the middle of a row.
      for (std::int64_t y = 0; y < image.height; ++y) {
        const std::int64_t column = samples.size() % 2 == 0 ? 0 : image.width * 3 / 8;
        samples.push_back({static_cast<int>(i), y, image.fed ? image.width - 1 : column});
      }
    }
    return samples;
  }

  // Moments around the best one.
  void Climb(Moment top, std::int64_t top_bytes) {
    std::set<std::pair<std::int64_t, std::int64_t>> tried = {{top.row, top.column}};
    for (bool better = true; better;) {
      better = false;
      for (const auto& [rows, columns] : std::initializer_list<std::pair<int, int>>{
               {0, kToStart}, {0, -2}, {0, 2}, {-1, 0}, {1, 0}, {0, -1}, {0, 1}, {-2, 0}, {2, 0}}) {
        const RowsImage& image = images_[Slot(top.image)];
        Moment next = {top.image, top.row + rows, top.column + columns};
        if (columns == kToStart) next.column = 0;
        if (next.row < 0 || next.row >= image.height || next.column < 0 ||
            next.column >= image.width || (image.fed && columns != 0) || Ends() ||
            static_cast<int>(tried.size()) > kMaxMomentsAround ||
            !tried.insert({next.row, next.column}).second) {
          continue;
        }
        const std::int64_t least = Rate(next);
        if (least <= top_bytes) continue;
        top = next;
        top_bytes = least;
        better = true;
        break;
      }
    }
  }

  const Network& network_;
  const RowsNetwork rows_;
  const std::vector<RowsImage>& images_;
  const std::vector<RowsUse>& uses_;
  const std::vector<int>& order_;
  // Of one moment, by image and row: columns that it needs and allows.
  std::vector<RowsCounts> needed_;
  std::vector<RowsCounts> allowed_;
  RowsCounts first_;  // rows that count, by image
  RowsCounts last_;
  // Of one cut.
  std::vector<std::vector<int>> choices_;  // of the pixels of these rows
  std::vector<int> sums_;                  // by image
  std::vector<std::int64_t> costs_;
  std::vector<std::pair<int, int>> needs_;
  std::int64_t fixed_ = 0;
  std::int64_t best_ = 0;
  std::int64_t enough_ = 0;
  std::int64_t steps_ = 0;
  const std::int64_t max_steps_ =
      std::min(kMaxRowsSteps, WorkLeft() / kRowsWorkParts / kRowsStepNanoseconds);
};

}  // namespace

std::int64_t BoundOfRows(const Network& network, StreamInput input,
                         const std::vector<std::int64_t>& heights, std::int64_t known,
                         std::int64_t enough, const BoundMoment& start) {
  // The checker does not raise its bound by less, either.
  const bool near = known >= enough - enough / kLeastShare;
  if (near || IsOutOfWork()) return known;
  BoundOfRowSets sets(network, input, heights);
  if (sets.Pixels() > kMaxRowsPixels) return known;
  const std::int64_t bound = sets.Bound(known, enough, start);
  ChargeWork(sets.Steps() * kRowsStepNanoseconds);
  return bound;
}

}  // namespace neap::stream
