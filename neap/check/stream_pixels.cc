// SPDX-License-Identifier: Apache-2.0
#include "neap/check/stream_pixels.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <utility>

#include "neap/check/min_cut.h"
#include "neap/check/stream_reads.h"

namespace neap::check {
namespace {

using graph::OpId;
using graph::TensorId;
using Numbers = std::vector<std::int64_t>;

constexpr std::int64_t kMaxWork = 6'000'000;  // edges that the cuts look at
constexpr std::int64_t kWide = MinCut::kWide;
constexpr std::size_t kMaxTensors = 2000;
constexpr int kMaxCuts = 40;  // of one pixel
constexpr int kMaxExamined = 4;
constexpr std::size_t kMaxHopes = 40'000;  // events and tensors
constexpr std::size_t kMaxLikely = 12;
constexpr std::int64_t kStepParts = 12;  // of a distance

class Pixels {
 public:
  Pixels(const graph::Subgraph& subgraph, const PixelPlans& plans, bool apart)
      : reads_(subgraph, plans, apart), tensors_(reads_.Tensors()) {}

  bool HasApart() const { return reads_.HasApart(); }

  std::int64_t Bytes(std::int64_t known, std::int64_t enough) {
    bytes_ = known;
    enough_ = enough;
    std::multimap<std::int64_t, PixelEvent> hopes;
    // Of many events only some.
    const std::vector<PixelEvent> events = reads_.Events();
    const std::size_t every = 1 + events.size() * tensors_.size() / kMaxHopes;
    for (std::size_t e = 0; e < events.size(); e += every)
      hopes.emplace(-Hope(events[e]), events[e]);
    PixelEvent best;
    int examined = 0;
    for (const auto& [hope, event] : hopes) {
      if (-hope <= bytes_ || examined++ == kMaxExamined) break;
      if (Raises(event)) best = event;
    }
    found_ = best;
    for (bool moved = best.to > 0; moved;) {
      moved = false;
      for (const PixelEvent& near : reads_.Near(best)) {
        if (examined++ >= 3 * kMaxExamined || !Raises(near)) continue;
        found_ = best = near;
        moved = true;
        break;
      }
    }
    return bytes_;
  }

  // Of the last search that raised the bound.
  void Tell(PixelMoment* moment) const {
    if (found_.to == 0) return;
    const PixelTensor& tensor = tensors_[found_.tensors[0]];
    const std::int64_t last = found_.to - 1;
    *moment = {tensor.id, last / tensor.width, last % tensor.width};
  }

 private:
  // No progress needs fewer bytes than the minimum, so that of any progress is above it: all as
  // little as must be, or others as much as may be.
  std::int64_t Hope(const PixelEvent& event) {
    if (!Range(event)) return 0;
    there_ = from_;
    const std::int64_t least = BytesThere(event);
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      there_[t] = from_[t] == 0 ? upto_[t] : from_[t];
    }
    return std::min(least, BytesThere(event));
  }

  // Whether the event has a higher bound, which becomes that of all.
  bool Raises(const PixelEvent& event) {
    if (bytes_ >= enough_ || work_ > kMaxWork) return false;
    const std::int64_t before = bytes_;
    std::int64_t most = Hope(event);
    if (most <= bytes_) return false;
    Places();
    for (int i = 0; i < kMaxCuts && work_ <= kMaxWork; ++i) {
      const std::int64_t least = LeastBytes(event);
      bytes_ = std::max(bytes_, least);
      most = std::min(most, BytesThere(event));
      if (least >= most || most <= bytes_ || !Split()) break;
    }
    return bytes_ > before;
  }

  std::int64_t AtEvent(std::size_t t, const PixelEvent& event) const {
    return tensors_[t].at_once ? tensors_[t].pixels : event.to;
  }

  // The minimum and the maximum progress of each tensor, in pixels.
  bool Range(const PixelEvent& event) {
    from_.assign(tensors_.size(), 0);
    upto_.assign(tensors_.size(), 0);
    Numbers visible(tensors_.size(), 0);
    for (const std::size_t t : reads_.Ascending()) {
      std::int64_t may = tensors_[t].pixels;
      for (const PixelReading* made : tensors_[t].made_from) {
        may = Suffices(*made, visible[made->from], may);
      }
      if (tensors_[t].at_once && may < tensors_[t].pixels) may = 0;
      const bool now = event.Has(t);
      upto_[t] = now ? AtEvent(t, event) : may;
      visible[t] = now ? event.from : may;
    }
    const auto& ascending = reads_.Ascending();
    for (auto t = ascending.rbegin(); t != ascending.rend(); ++t) {
      std::int64_t must = tensors_[*t].given ? tensors_[*t].pixels : 0;
      for (const PixelReading* reading : tensors_[*t].readers) {
        must = std::max(must, reading->Needs(from_[reading->to], event.Has(reading->to)));
      }
      if (must > 0 && tensors_[*t].at_once) must = tensors_[*t].pixels;
      from_[*t] = event.Has(*t) ? AtEvent(*t, event) : must;
      if (from_[*t] > upto_[*t]) return false;
    }
    return true;
  }

  // Where a minimum may be: at the ends, what these need, and how far these suffice. Intervals
  // around such a place are the longer the farther they are away from all of them.
  void Places() {
    std::vector<Numbers> likely(tensors_.size());
    const auto join = [&](std::size_t t, std::int64_t at) {
      Numbers& list = likely[t];
      const bool new_one = std::find(list.begin(), list.end(), at) == list.end();
      if (new_one && from_[t] <= at && at <= upto_[t] && list.size() < kMaxLikely) {
        list.push_back(at);
      }
    };
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      join(t, from_[t]);
      join(t, upto_[t]);
    }
    const auto& ascending = reads_.Ascending();
    for (int pass = 0; pass < 2; ++pass) {
      for (auto t = ascending.rbegin(); t != ascending.rend(); ++t) {
        for (const PixelReading* reading : tensors_[*t].readers) {
          for (const std::int64_t at : Numbers(likely[reading->to])) {
            join(*t, reading->Needs(at, false));
          }
        }
      }
      for (const std::size_t t : ascending) {
        for (const PixelReading* made : tensors_[t].made_from) {
          for (const std::int64_t at : Numbers(likely[made->from])) {
            join(t, Suffices(*made, at, upto_[t]));
          }
        }
      }
    }
    places_.assign(tensors_.size(), {});
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      std::sort(likely[t].begin(), likely[t].end());
      Numbers& places = places_[t];
      places = {from_[t]};
      // The step to the next place grows with the distance.
      for (std::size_t next = 0; places.back() < upto_[t];) {
        const std::int64_t last = places.back();
        while (likely[t][next] <= last) ++next;
        const std::int64_t behind = next == 0 ? last : last - likely[t][next - 1];
        std::int64_t step = 1 + behind / kStepParts;
        // Up to the next one it has to get shorter.
        while (step > 1 && step > 1 + (likely[t][next] - last - step) / kStepParts) --step;
        places.push_back(tensors_[t].at_once ? upto_[t] : last + step);
      }
    }
  }

  static std::int64_t Suffices(const PixelReading& made, std::int64_t from, std::int64_t may) {
    std::int64_t low = 0;
    while (low < may) {
      const std::int64_t middle = (low + may + 1) / 2;
      made.Needs(middle, false) <= from ? low = middle : may = middle - 1;
    }
    return low;
  }

  // Pixels of `reading.from` that are of no further use while `to` is in interval i.
  std::int64_t GoneIn(const PixelReading& reading, const PixelGroup& group, std::size_t i,
                      const PixelEvent& event) const {
    const std::size_t t = reading.to;
    if (event.Has(t)) return GoneNow(reading, group, event);
    const Numbers& places = places_[t];
    const bool exact = tensors_[t].at_once || i + 1 == places.size();
    return reading.Gone(group, exact ? places[i] : places[i + 1] - 1, false);
  }
  std::int64_t GoneNow(const PixelReading& reading, const PixelGroup& group,
                       const PixelEvent& event) const {
    const std::int64_t to = AtEvent(reading.to, event);
    return reading.replaces ? reading.Gone(group, to, false)
                            : reading.Gone(group, std::min(event.from, to), true);
  }

  std::int64_t LeastBytes(const PixelEvent& event) {
    MinCut cut(&work_);
    std::int64_t bytes = 0;
    nodes_.assign(tensors_.size(), {});
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      const PixelTensor& tensor = tensors_[t];
      Numbers counted;
      for (const std::int64_t place : places_[t]) {
        std::int64_t pixels = 0;
        for (const PixelGroup& group : tensor.groups) pixels += group.First(place);
        counted.push_back(pixels * tensor.pixel_bytes);
      }
      bytes += counted[0];
      nodes_[t].push_back(MinCut::kSource);
      for (std::size_t i = 1; i < counted.size(); ++i) {
        nodes_[t].push_back(cut.AddNode());
        cut.AddEdge(nodes_[t][i], MinCut::kSink, counted[i] - counted[i - 1]);
        if (i > 1) cut.AddEdge(nodes_[t][i], nodes_[t][i - 1], kWide);
      }
    }
    for (const PixelTensor& tensor : tensors_) {
      for (const PixelReading* reading : tensor.readers) Require(*reading, &cut);
    }
    for (const auto& [a, b] : reads_.Together()) {
      if (nodes_[a].size() < 2 || nodes_[b].size() < 2) continue;
      cut.AddEdge(nodes_[a].back(), nodes_[b].back(), kWide);
      cut.AddEdge(nodes_[b].back(), nodes_[a].back(), kWide);
    }
    for (const PixelTensor& tensor : tensors_) {
      for (const PixelGroup& group : tensor.groups) bytes -= Regain(tensor, group, event, &cut);
    }
    bytes += cut.Flow();
    there_.clear();
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      std::size_t i = nodes_[t].size() - 1;
      while (i > 0 && !cut.OnSourceSide(nodes_[t][i])) --i;
      there_.push_back(places_[t][i]);
    }
    return bytes;
  }

  // An interval of `to` requires the interval of `from` that contains the needed pixels.
  void Require(const PixelReading& reading, MinCut* cut) const {
    const Numbers& places = places_[reading.from];
    std::size_t last = 0;
    for (std::size_t i = 1; i < places_[reading.to].size(); ++i) {
      const std::int64_t needs = reading.Needs(places_[reading.to][i], false);
      const auto behind = std::upper_bound(places.begin(), places.end(), needs);
      const auto until = static_cast<std::size_t>(behind - places.begin());
      const std::size_t at = until == 0 ? 0 : until - 1;
      if (at == last) continue;
      last = at;
      cut->AddEdge(nodes_[reading.to][i], nodes_[reading.from][at], kWide);
    }
  }

  // What is regained where all consumers are far enough; the sum of it.
  std::int64_t Regain(const PixelTensor& tensor, const PixelGroup& group, const PixelEvent& event,
                      MinCut* cut) {
    if (group.readers.empty()) return 0;
    std::vector<Numbers> gone;  // of each reader, by interval
    Numbers levels;
    std::int64_t all = kWide;
    for (const PixelReading* reading : group.readers) {
      Numbers& own = gone.emplace_back();
      for (std::size_t i = 0; i < places_[reading->to].size(); ++i) {
        own.push_back(std::max(own.empty() ? 0 : own.back(), GoneIn(*reading, group, i, event)));
      }
      levels.insert(levels.end(), own.begin(), own.end());
      all = std::min(all, own.back());
    }
    std::sort(levels.begin(), levels.end());
    std::int64_t last = 0;
    for (const std::int64_t level : levels) {
      if (level <= last || level > all) continue;
      const std::size_t node = cut->AddNode();
      cut->AddEdge(MinCut::kSource, node, (level - last) * tensor.pixel_bytes);
      last = level;
      for (std::size_t r = 0; r < gone.size(); ++r) {
        const auto at = std::lower_bound(gone[r].begin(), gone[r].end(), level) - gone[r].begin();
        if (at == 0) continue;
        cut->AddEdge(node, nodes_[group.readers[r]->to][static_cast<std::size_t>(at)], kWide);
      }
    }
    return last * tensor.pixel_bytes;
  }

  // At the progress of the last cut, raised to the pixels that it needs.
  std::int64_t BytesThere(const PixelEvent& event) {
    const auto& ascending = reads_.Ascending();
    for (auto t = ascending.rbegin(); t != ascending.rend(); ++t) {
      for (const PixelReading* reading : tensors_[*t].readers) {
        if (event.Has(reading->to)) continue;
        there_[*t] = std::max(there_[*t], reading->Needs(there_[reading->to], false));
      }
      if (tensors_[*t].at_once && there_[*t] > 0) there_[*t] = tensors_[*t].pixels;
    }
    std::int64_t bytes = 0;
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      for (const PixelGroup& group : tensors_[t].groups) {
        std::int64_t gone = group.readers.empty() ? 0 : kWide;
        for (const PixelReading* reading : group.readers) {
          gone = std::min(gone, event.Has(reading->to)
                                    ? GoneNow(*reading, group, event)
                                    : reading->Gone(group, there_[reading->to], false));
        }
        bytes += std::max<std::int64_t>(0, group.First(there_[t]) - gone) * tensors_[t].pixel_bytes;
      }
    }
    return bytes;
  }

  bool Split() {
    bool split = false;
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      if (tensors_[t].at_once) continue;
      Numbers& places = places_[t];
      for (const std::int64_t at : std::array{there_[t], there_[t] + 1}) {
        if (at > places.back() || std::binary_search(places.begin(), places.end(), at)) continue;
        places.insert(std::lower_bound(places.begin(), places.end(), at), at);
        split = true;
      }
    }
    return split;
  }

  PixelReads reads_;
  const std::vector<PixelTensor>& tensors_;
  Numbers from_;
  Numbers upto_;
  std::vector<Numbers> places_;
  std::vector<std::vector<std::size_t>> nodes_;
  Numbers there_;
  PixelEvent found_;
  std::int64_t bytes_ = 0;
  std::int64_t enough_ = 0;
  std::int64_t work_ = 0;
};

}  // namespace

std::int64_t BytesAtPixels(const graph::Subgraph& subgraph, const PixelPlans& plans,
                           std::int64_t known, std::int64_t enough, PixelMoment* moment) {
  if (subgraph.tensors.size() > kMaxTensors * 4 || known >= enough) return known;
  Pixels pixels(subgraph, plans, false);
  const std::int64_t bytes = pixels.Bytes(known, enough);
  pixels.Tell(moment);
  if (!pixels.HasApart() || bytes >= enough) return bytes;
  // Groups count their minima in boxes each for itself: neither result is always the higher one.
  Pixels apart(subgraph, plans, true);
  const std::int64_t more = apart.Bytes(bytes, enough);
  apart.Tell(moment);
  return more;
}

}  // namespace neap::check
