// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/schedule/symmetry.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>

#include "neap/base/index.h"

namespace neap::schedule {
namespace {

using Colour = std::uint64_t;

Colour Mix(Colour seed, Colour value) {
  seed = (seed ^ value) * 0xff51afd7ed558ccdU;
  return seed ^ (seed >> 32U);
}

class Symmetries {
 public:
  Symmetries(const Problem& problem, const Instance::Stages& stages)
      : problem_(problem),
        ops_(At(problem.num_ops)),
        before_(ops_),
        after_(ops_),
        links_(ops_),
        fixed_(ops_, 0) {
    for (const auto& [before, after] : problem.precedences) {
      before_[At(after)].insert(before);
      after_[At(before)].insert(after);
    }
    for (std::size_t b = 0; b < problem.buffers.size(); ++b) {
      for (const OpIndex user : problem.buffers[b].users) {
        if (At(user) < stages.size() && !stages[At(user)].empty()) continue;
        links_[At(user)].emplace_back(0, static_cast<BufferIndex>(b));
      }
    }
    // How an operator uses a buffer: in which stage it is touched or freed.
    for (std::size_t op = 0; op < stages.size(); ++op) {
      int role = 1;
      for (const Instance::Stage& stage : stages[op]) {
        for (const BufferIndex b : stage.touched) links_[op].emplace_back(role, b);
        for (const BufferIndex b : stage.freed) links_[op].emplace_back(role + 1, b);
        role += 2;
      }
    }
    for (auto& list : links_) std::sort(list.begin(), list.end());
    // Pairs that no stages describe are left alone.
    for (const InPlace& pair : problem.in_place) fixed_[At(pair.op)] = 1;
    FirstColours(stages);
  }

  std::vector<std::pair<OpIndex, OpIndex>> Run() {
    Refine();
    std::map<Colour, std::vector<OpIndex>> classes;
    std::vector<Colour> order;
    for (OpIndex op = 0; op < problem_.num_ops; ++op) {
      auto& members = classes[colour_[At(op)]];
      if (members.empty()) order.push_back(colour_[At(op)]);
      members.push_back(op);
    }
    for (const Colour colour : order) {
      const auto& members = classes[colour];
      if (members.size() > 1) BreakClass(members);
    }
    return found_;
  }

 private:
  void FirstColours(const Instance::Stages& stages) {
    for (std::size_t op = 0; op < ops_; ++op) {
      Colour colour =
          problem_.scratch_bytes.empty() ? 0 : static_cast<Colour>(problem_.scratch_bytes[op]);
      if (op < stages.size()) {
        for (const Instance::Stage& stage : stages[op]) {
          colour = Mix(colour, static_cast<Colour>(stage.peak));
        }
      }
      own_colour_.push_back(Mix(colour, 1));
      colour_.push_back(own_colour_.back());
    }
    for (const Buffer& buffer : problem_.buffers) {
      Colour colour = Mix(static_cast<Colour>(buffer.bytes), buffer.users.size());
      colour = Mix(colour, (buffer.live_at_start ? 2U : 0U) + (buffer.live_at_end ? 1U : 0U));
      buffer_colour_.push_back(colour);
    }
  }

  void Refine() {
    constexpr int kRounds = 6;
    std::vector<Colour> list;
    const auto mix_all = [&](Colour seed) {
      std::sort(list.begin(), list.end());
      for (const Colour colour : list) seed = Mix(seed, colour);
      return seed;
    };
    for (int round = 0; round < kRounds; ++round) {
      std::vector<Colour> next;
      for (std::size_t op = 0; op < ops_; ++op) {
        Colour colour = colour_[op];
        for (const auto* neighbours : {&before_[op], &after_[op]}) {
          list.clear();
          for (const OpIndex other : *neighbours) list.push_back(colour_[At(other)]);
          colour = mix_all(Mix(colour, 3));
        }
        list.clear();
        for (const auto& [role, b] : links_[op]) {
          list.push_back(Mix(buffer_colour_[At(b)], static_cast<Colour>(role)));
        }
        next.push_back(mix_all(Mix(colour, 5)));
      }
      for (std::size_t b = 0; b < buffer_colour_.size(); ++b) {
        list.clear();
        for (const OpIndex user : problem_.buffers[b].users) list.push_back(colour_[At(user)]);
        buffer_colour_[b] = mix_all(buffer_colour_[b]);
      }
      colour_ = std::move(next);
    }
  }

  // Those that can be exchanged with the first one, in a chain.
  void BreakClass(const std::vector<OpIndex>& members) {
    std::vector<OpIndex> chain = {members.front()};
    for (std::size_t i = 1; i < members.size() && exchanges_ < kMaxExchanges; ++i) {
      ++exchanges_;
      if (!FindExchange(members.front(), members[i]) || !IsSymmetry()) continue;
      const bool leaves_others = std::none_of(members.begin(), members.end(), [&](OpIndex op) {
        return op != members.front() && op != members[i] && op_map_.count(op) != 0;
      });
      if (leaves_others) chain.push_back(members[i]);
    }
    for (std::size_t i = 1; i < chain.size(); ++i) {
      found_.emplace_back(chain[i - 1], chain[i]);
      before_[At(chain[i])].insert(chain[i - 1]);
      after_[At(chain[i - 1])].insert(chain[i]);
    }
  }

  // Guesses an exchange of `a` and `b` by following what they are joined with. False: there is none
  // to be seen. Everything that is not in the maps stays where it is.
  bool FindExchange(OpIndex a, OpIndex b) {
    op_map_.clear();
    buffer_map_.clear();
    queue_.clear();
    if (!ExchangeOps(a, b)) return false;
    for (std::size_t at = 0; at < queue_.size(); ++at) {
      const auto [x, y] = queue_[at];
      if (!MatchOps({before_[At(x)].begin(), before_[At(x)].end()},
                    {before_[At(y)].begin(), before_[At(y)].end()}) ||
          !MatchOps({after_[At(x)].begin(), after_[At(x)].end()},
                    {after_[At(y)].begin(), after_[At(y)].end()}) ||
          !MatchLinks(links_[At(x)], links_[At(y)])) {
        return false;
      }
    }
    return true;
  }
  bool ExchangeOps(OpIndex x, OpIndex y) {
    if (x == y) return op_map_.count(x) == 0 || op_map_[x] == x;
    const auto known = op_map_.find(x);
    const auto other = op_map_.find(y);
    if (known != op_map_.end() || other != op_map_.end()) {
      return known != op_map_.end() && other != op_map_.end() && known->second == y &&
             other->second == x;
    }
    if (colour_[At(x)] != colour_[At(y)] || fixed_[At(x)] != 0 || fixed_[At(y)] != 0) return false;
    op_map_[x] = y;
    op_map_[y] = x;
    queue_.emplace_back(x, y);
    return true;
  }
  // Operators joined with both stay; the rest is exchanged, by colour, then in order.
  bool MatchOps(std::vector<OpIndex> x, std::vector<OpIndex> y) {
    Drop(&x, &y, op_map_);
    if (x.size() != y.size()) return false;
    const auto by_colour = [&](OpIndex a, OpIndex b) {
      return colour_[At(a)] != colour_[At(b)] ? colour_[At(a)] < colour_[At(b)] : a < b;
    };
    std::sort(x.begin(), x.end(), by_colour);
    std::sort(y.begin(), y.end(), by_colour);
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (!ExchangeOps(x[i], y[i])) return false;
    }
    return true;
  }
  using Links = std::vector<std::pair<int, BufferIndex>>;
  bool MatchLinks(const Links& x_links, const Links& y_links) {
    if (x_links.size() != y_links.size()) return false;
    for (std::size_t i = 0; i < x_links.size();) {
      const int role = x_links[i].first;
      std::vector<BufferIndex> x;
      std::vector<BufferIndex> y;
      for (; i < x_links.size() && x_links[i].first == role; ++i) {
        if (y_links[i].first != role) return false;
        x.push_back(x_links[i].second);
        y.push_back(y_links[i].second);
      }
      Drop(&x, &y, buffer_map_);
      if (x.size() != y.size()) return false;
      const auto by_colour = [&](BufferIndex a, BufferIndex b) {
        return buffer_colour_[At(a)] != buffer_colour_[At(b)]
                   ? buffer_colour_[At(a)] < buffer_colour_[At(b)]
                   : a < b;
      };
      std::sort(x.begin(), x.end(), by_colour);
      std::sort(y.begin(), y.end(), by_colour);
      for (std::size_t k = 0; k < x.size(); ++k) {
        const auto known = buffer_map_.find(x[k]);
        if (known != buffer_map_.end() && known->second != y[k]) return false;
        buffer_map_[x[k]] = y[k];
        buffer_map_[y[k]] = x[k];
      }
    }
    return true;
  }
  // Removes from both the members that are in both and not mapped, and those mapped to a member of
  // the other.
  static void Drop(std::vector<std::int32_t>* x, std::vector<std::int32_t>* y,
                   const std::map<std::int32_t, std::int32_t>& map) {
    std::sort(x->begin(), x->end());
    std::sort(y->begin(), y->end());
    std::vector<std::int32_t> both;
    std::set_intersection(x->begin(), x->end(), y->begin(), y->end(), std::back_inserter(both));
    const auto is_common = [&](std::int32_t v) {
      return std::binary_search(both.begin(), both.end(), v) && map.count(v) == 0;
    };
    std::erase_if(*x, is_common);
    std::erase_if(*y, is_common);
  }

  // The maps, and the identity elsewhere, map the problem to itself: looked up edge by edge.
  bool IsSymmetry() const {
    const auto op_of = [&](OpIndex op) {
      const auto at = op_map_.find(op);
      return at == op_map_.end() ? op : at->second;
    };
    const auto buffer_of = [&](BufferIndex b) {
      const auto at = buffer_map_.find(b);
      return at == buffer_map_.end() ? b : at->second;
    };
    for (const auto& [op, image] : op_map_) {
      if (own_colour_[At(op)] != own_colour_[At(image)]) return false;
      for (const auto* lists : {&before_, &after_}) {
        const auto& from = (*lists)[At(op)];
        const auto& to = (*lists)[At(image)];
        if (from.size() != to.size()) return false;
        for (const OpIndex other : from) {
          if (to.count(op_of(other)) == 0) return false;
        }
      }
      Links mapped;
      for (const auto& [role, b] : links_[At(op)]) mapped.emplace_back(role, buffer_of(b));
      std::sort(mapped.begin(), mapped.end());
      if (mapped != links_[At(image)]) return false;
    }
    for (const auto& [b, image] : buffer_map_) {
      const Buffer& from = problem_.buffers[At(b)];
      const Buffer& to = problem_.buffers[At(image)];
      if (buffer_map_.count(image) == 0 || buffer_map_.at(image) != b) return false;
      if (from.bytes != to.bytes || from.live_at_start != to.live_at_start ||
          from.live_at_end != to.live_at_end) {
        return false;
      }
      std::vector<OpIndex> users;
      users.reserve(from.users.size());
      for (const OpIndex user : from.users) users.push_back(op_of(user));
      std::sort(users.begin(), users.end());
      if (users != to.users) return false;
    }
    return true;
  }

  const Problem& problem_;
  std::size_t ops_;
  std::vector<std::set<OpIndex>> before_;
  std::vector<std::set<OpIndex>> after_;
  std::vector<Links> links_;
  std::vector<char> fixed_;
  std::vector<Colour> own_colour_;
  std::vector<Colour> colour_;
  std::vector<Colour> buffer_colour_;
  std::map<std::int32_t, std::int32_t> op_map_;
  std::map<std::int32_t, std::int32_t> buffer_map_;
  std::vector<std::pair<OpIndex, OpIndex>> queue_;
  std::vector<std::pair<OpIndex, OpIndex>> found_;
  int exchanges_ = 0;
};

}  // namespace

std::vector<std::pair<OpIndex, OpIndex>> BreakSymmetries(const Problem& problem,
                                                         const Instance::Stages& stages) {
  return Symmetries(problem, stages).Run();
}

}  // namespace neap::schedule
