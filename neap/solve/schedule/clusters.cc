// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/schedule/clusters.h"

#include <algorithm>
#include <limits>

#include "neap/base/index.h"

namespace neap::schedule {
namespace {

constexpr std::size_t kMaxEarly = 10;  // buffers that are freed early in one operator
constexpr std::size_t kMaxPins = 64;   // operators with one buffer as an early set
constexpr std::int64_t kWordWork = 1;  // per word of a row that is scanned, in nanoseconds

}  // namespace

Clusters::Clusters(const Instance& instance, bool wanted, const Rules& rules)
    : instance_(instance), rules_(rules), words_(instance.words()) {
  if (!wanted || !instance.one_first_user()) return;
  for (OpIndex op = 0; op < instance.num_ops(); ++op) {
    // An in-place pair that fits into no stages.
    if (!instance.IsStaged(op)) return;
  }
  usable_ = true;
  early_.resize(At(instance.num_ops()));
  early_height_.resize(At(instance.num_ops()));
  for (OpIndex op = 0; op < instance.num_ops() && usable_; ++op) AddEarlySets(op);
  if (usable_) Compile();
}

// Of the buffers live before, only `early` are freed.
std::int64_t Clusters::HeightOf(const std::vector<Instance::Stage>& stages, OpIndex op,
                                const std::vector<BufferIndex>& early) const {
  std::int64_t level = 0;
  std::int64_t height = 0;
  for (const Instance::Stage& stage : stages) {
    for (const BufferIndex index : stage.touched) {
      const auto& buffer = instance_.buffers()[At(index)];
      if (buffer.first == op) level += buffer.bytes;
    }
    height = std::max(height, level + stage.peak);
    for (const BufferIndex index : stage.freed) {
      const auto& buffer = instance_.buffers()[At(index)];
      const bool is_inside = buffer.users.size() == 1 && buffer.first == op && !buffer.at_end;
      const bool is_early = std::find(early.begin(), early.end(), index) != early.end();
      if (is_inside || is_early) level -= buffer.bytes;
    }
  }
  return height;
}

void Clusters::AddEarlySets(OpIndex op) {
  const std::vector<Instance::Stage> stages = instance_.StagesOf(op);
  std::vector<BufferIndex> early;
  for (std::size_t s = 0; s + 1 < stages.size(); ++s) {
    for (const BufferIndex index : stages[s].freed) {
      const auto& buffer = instance_.buffers()[At(index)];
      if (!buffer.at_end && buffer.bytes > 0 && buffer.first != op) early.push_back(index);
    }
  }
  if (early.size() > kMaxEarly) {
    usable_ = false;
    return;
  }
  const auto pick = [&](unsigned mask) {
    std::vector<BufferIndex> picked;
    for (std::size_t i = 0; i < early.size(); ++i) {
      if (((mask >> i) & 1U) != 0) picked.push_back(early[i]);
    }
    return picked;
  };
  extra_.push_back(HeightOf(stages, op, {}) - instance_.FirstTouched(op));
  for (unsigned mask = 1; mask < (1U << early.size()); ++mask) {
    const std::int64_t height = HeightOf(stages, op, pick(mask));
    bool is_irredundant = true;
    for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
      const unsigned without = mask & ~(rest & (~rest + 1));
      if (HeightOf(stages, op, pick(without)) <= height) is_irredundant = false;
    }
    if (!is_irredundant) continue;
    early_[At(op)].push_back(pick(mask));
    early_height_[At(op)].push_back(height);
  }
}

// Clusters of single buffers first, by the number of the buffer; then early sets of several.
void Clusters::Compile() {
  std::vector<std::int32_t> cluster_of(instance_.buffers().size(), -1);
  std::vector<std::vector<BufferIndex>> buffers_of;
  for (std::size_t index = 0; index < instance_.buffers().size(); ++index) {
    const auto& buffer = instance_.buffers()[index];
    if (buffer.at_end || buffer.users.empty() || buffer.bytes == 0) continue;
    cluster_of[index] = static_cast<std::int32_t>(clusters_.size());
    AddBuffer(buffer);
    buffers_of.push_back({static_cast<BufferIndex>(index)});
  }
  for (OpIndex op = 0; op < instance_.num_ops(); ++op) {
    if (extra_[At(op)] != 0 || !early_[At(op)].empty()) plain_ = false;
    for (std::size_t i = 0; i < early_[At(op)].size() && rules_.early_sets; ++i) {
      const std::vector<BufferIndex>& early = early_[At(op)][i];
      std::int64_t slack = early_height_[At(op)][i] - instance_.FirstTouched(op);
      for (const BufferIndex index : early) slack += instance_.buffers()[At(index)].bytes;
      if (early.size() == 1) {
        Cluster& cluster = clusters_[At(cluster_of[At(early[0])])];
        cluster.pins.push_back(op);
        cluster.slack = std::min(cluster.slack, slack);
        if (cluster.pins.size() > kMaxPins) usable_ = false;
        continue;
      }
      Cluster cluster;  // frees no bytes: its buffers have clusters of their own
      cluster.slack = slack;
      cluster.min_extra = LeastExtra(op);
      cluster.pins = {op};
      cluster.is_buffer = false;
      clusters_.push_back(cluster);
      buffers_of.push_back(early);
    }
  }
  CompileRows(buffers_of);
  std::int64_t min_slack = std::numeric_limits<std::int64_t>::max();
  for (const Cluster& cluster : clusters_) min_slack = std::min(min_slack, cluster.slack);
  for (OpIndex op = 0; op < instance_.num_ops(); ++op) {
    if (extra_[At(op)] > min_slack && rules_.tall_operators) tall_.push_back(op);
  }
}

void Clusters::AddBuffer(const Instance::CompiledBuffer& buffer) {
  Cluster& cluster = clusters_.emplace_back();
  cluster.bytes = buffer.bytes;
  std::int64_t extra = std::numeric_limits<std::int64_t>::max();
  cluster.min_extra = extra;
  for (const OpIndex user : buffer.users) {
    extra = std::min(extra, extra_[At(user)]);
    cluster.min_extra = std::min(cluster.min_extra, LeastExtra(user));
  }
  cluster.slack = buffer.bytes + extra;
}

// With any buffers freed early.
std::int64_t Clusters::LeastExtra(OpIndex op) const {
  std::int64_t least = extra_[At(op)];
  for (const std::int64_t height : early_height_[At(op)]) {
    least = std::min(least, height - instance_.FirstTouched(op));
  }
  return least;
}

void Clusters::CompileRows(const std::vector<std::vector<BufferIndex>>& buffers_of) {
  needed_ = BitRows(clusters_.size(), words_);
  row_.resize(words_);
  for (std::size_t c = 0; c < clusters_.size(); ++c) {
    Word* row = needed_.Row(static_cast<std::int32_t>(c));
    for (const BufferIndex index : buffers_of[c]) {
      for (const OpIndex user : instance_.buffers()[At(index)].users) {
        SetBit(row, user);
        const Word* ancestors = instance_.Ancestors(user);
        for (std::size_t w = 0; w < words_; ++w) row[w] |= ancestors[w];
      }
    }
    std::size_t& end = clusters_[c].end_word;
    for (end = words_; end > 0 && row[end - 1] == 0;) --end;
  }
}

void Clusters::Find(const Word* executed, std::int64_t live, std::int64_t budget) {
  executed_ = executed;
  find_work_ = 0;
  found_.clear();
  rows_.clear();
  if (!Collect(executed, budget - live)) {
    RunRest(live, budget);
    return;
  }
  KeepMinimal();
  fitting_.clear();
  for (const Candidate& candidate : candidates_) Judge(candidate, live, budget);
  if (!tall_.empty()) AddTall(executed, live, budget);
}

// Clusters that fit by themselves. False: nothing can be freed any more.
bool Clusters::Collect(const Word* executed, std::int64_t room) {
  candidates_.clear();
  bool any_left = false;
  // Operators are numbered approximately as they run: most executed ones are in the first words.
  std::size_t first_word = 0;
  while (first_word < words_ && ~executed[first_word] == 0) ++first_word;
  for (std::size_t c = 0; c < clusters_.size(); ++c) {
    const Cluster& cluster = clusters_[c];
    if (cluster.end_word <= first_word) continue;
    if (!cluster.is_buffer && TestBit(executed, cluster.pins.front())) continue;
    const Word* needed = needed_.Row(static_cast<std::int32_t>(c));
    std::int64_t adds = 0;
    int count = 0;
    std::size_t pivot = 0;
    std::size_t w = first_word;
    for (; w < cluster.end_word && adds + cluster.min_extra <= room; ++w) {
      Word rest = needed[w] & ~executed[w];
      row_[w] = rest;
      if (rest != 0) pivot = w;
      for (; rest != 0; rest &= rest - 1) {
        ++count;
        adds += instance_.FirstTouched(
            static_cast<OpIndex>(w * 64 + static_cast<std::size_t>(std::countr_zero(rest))));
      }
    }
    find_work_ += (static_cast<std::int64_t>(w - first_word) + count) * kWordWork;
    if (count > 0) any_left = true;
    if (adds + cluster.min_extra > room) {
      // The walk ended early, perhaps before it met an operator that has not run.
      if (!any_left) any_left = !IsSubset(needed, executed, words_);
      continue;
    }
    if (count == 0) continue;
    const std::size_t row = rows_.size();
    rows_.resize(row + words_, 0);
    std::copy(row_.begin() + static_cast<std::ptrdiff_t>(first_word),
              row_.begin() + static_cast<std::ptrdiff_t>(cluster.end_word),
              rows_.begin() + static_cast<std::ptrdiff_t>(row + first_word));
    candidates_.push_back({&cluster, adds, cluster.bytes, count, row, pivot});
  }
  return any_left;
}

void Clusters::KeepMinimal() {
  std::stable_sort(candidates_.begin(), candidates_.end(),
                   [](const Candidate& a, const Candidate& b) { return a.count < b.count; });
  std::size_t kept = 0;
  for (const Candidate& candidate : candidates_) {
    const Word* row = &rows_[candidate.row];
    bool keep = true;
    find_work_ += static_cast<std::int64_t>(kept) * kWordWork;
    // Which operators with an early set here are in all smaller clusters so far; one suffices.
    std::uint64_t pins = candidate.cluster->pins.empty() ? 0 : ~std::uint64_t{0};
    for (std::size_t k = 0; keep && k < kept; ++k) {
      Candidate& other = candidates_[k];
      const Word* other_row = &rows_[other.row];
      // Most comparisons end at one word that the smaller set certainly has bits in.
      if ((other_row[other.pivot] & ~row[other.pivot]) != 0) continue;
      if (!IsSubset(other_row, row, words_)) continue;
      if (other.count == candidate.count) {
        // The same set frees several buffers at once.
        other.frees += candidate.frees;
        keep = false;
        continue;
      }
      bool is_in_all = false;
      const auto& list = candidate.cluster->pins;
      for (std::size_t i = 0; i < list.size(); ++i) {
        const bool is_in = TestBit(other_row, list[i]);
        if (!is_in) pins &= ~(std::uint64_t{1} << i);
        if (is_in && ((pins >> i) & 1U) != 0) is_in_all = true;
      }
      if (!is_in_all) keep = false;
    }
    if (keep) candidates_[kept++] = candidate;
  }
  candidates_.resize(kept);
}

// Puts a cluster among the moves, with an operator that can run last.
void Clusters::Judge(const Candidate& candidate, std::int64_t live, std::int64_t budget) {
  Found found{candidate.row, -1, live + candidate.adds, live + candidate.adds};
  if (plain_) {
    found.live -= candidate.frees;
    found_.push_back(found);
    return;
  }
  const Word* row = &rows_[candidate.row];
  bool fits = false;
  for (std::size_t w = 0; w < words_ && !fits; ++w) {
    for (Word rest = row[w]; rest != 0 && !fits; rest &= rest - 1) {
      const auto op =
          static_cast<OpIndex>(w * 64 + static_cast<std::size_t>(std::countr_zero(rest)));
      if (Intersects(instance_.Descendants(op), row, words_)) continue;
      fits = Try(candidate.row, op, live, budget, &found);
    }
  }
  if (!fits) return;
  found_.push_back(found);
  fitting_.push_back(&candidate);
}

bool Clusters::Try(std::size_t row, OpIndex last, std::int64_t live, std::int64_t budget,
                   Found* found) {
  Order(&rows_[row], last, &order_);
  std::copy(executed_, executed_ + words_, row_.begin());
  *found = {row, last, 0, live};
  for (const OpIndex op : order_) {
    const Effect effect = instance_.EffectOf(row_.data(), found->live, op);
    if (effect.hill > budget) return false;
    found->hill = std::max(found->hill, effect.hill);
    found->live = effect.live;
    SetBit(row_.data(), op);
  }
  return true;
}

// Before `last` nothing is freed, so live bytes only add up: the operator with the least extra may
// as well come last of those that nothing in the row waits for (Lawler 1973).
void Clusters::Order(const Word* row, OpIndex last, std::vector<OpIndex>* order) const {
  order->clear();
  std::int64_t max_extra = 0;
  ForEachBit(row, words_, [&](OpIndex op) {
    if (op == last) return;
    order->push_back(op);
    max_extra = std::max(max_extra, extra_[At(op)]);
  });
  std::sort(order->begin(), order->end(),
            [&](OpIndex a, OpIndex b) { return instance_.Rank(a) < instance_.Rank(b); });
  if (max_extra > 0) {
    std::vector<Word> left(row, row + words_);
    if (last >= 0) ClearBit(left.data(), last);
    for (std::size_t end = order->size(); end > 1; --end) {
      std::size_t best = end;
      for (std::size_t at = 0; at < end; ++at) {
        const OpIndex op = (*order)[at];
        if (Intersects(instance_.Descendants(op), left.data(), words_)) continue;
        if (best == end || extra_[At(op)] < extra_[At((*order)[best])]) best = at;
      }
      const OpIndex op = (*order)[best];
      ClearBit(left.data(), op);
      order->erase(order->begin() + static_cast<std::ptrdiff_t>(best));
      order->insert(order->begin() + static_cast<std::ptrdiff_t>(end) - 1, op);
    }
  }
  if (last >= 0) order->push_back(last);
}

std::int64_t Clusters::Volume(const Word* row) const {
  std::int64_t volume = 0;
  ForEachBit(row, words_, [&](OpIndex op) { volume += instance_.FirstTouched(op); });
  return volume;
}

// Operator z is tried when a cluster can run with all that z takes, and its slack is less than the
// extra of z. row_ contains z and its ancestors that have not run.
bool Clusters::IsCalledFor(OpIndex op, std::int64_t room) const {
  std::vector<Word> both(words_);
  return std::any_of(fitting_.begin(), fitting_.end(), [&](const Candidate* candidate) {
    if (candidate->cluster->slack >= extra_[At(op)]) return false;
    const Word* other = &rows_[candidate->row];
    for (std::size_t w = 0; w < words_; ++w) both[w] = row_[w] | other[w];
    return Volume(both.data()) + candidate->cluster->min_extra <= room;
  });
}

void Clusters::AddTall(const Word* executed, std::int64_t live, std::int64_t budget) {
  struct Tall {
    OpIndex op;
    int count;
    std::vector<Word> row;
  };
  std::vector<Tall> called;
  for (const OpIndex op : tall_) {
    if (TestBit(executed, op)) continue;
    const Word* ancestors = instance_.Ancestors(op);
    for (std::size_t w = 0; w < words_; ++w) row_[w] = ancestors[w] & ~executed[w];
    SetBit(row_.data(), op);
    if (Volume(row_.data()) + extra_[At(op)] > budget - live) continue;
    if (!IsCalledFor(op, budget - live)) continue;
    called.push_back({op, CountBits(row_.data(), words_), row_});
  }
  std::stable_sort(called.begin(), called.end(),
                   [](const Tall& a, const Tall& b) { return a.count < b.count; });
  const std::size_t clusters = found_.size();
  for (const Tall& tall : called) {
    bool is_new = true;
    for (std::size_t f = 0; f < found_.size() && is_new; ++f) {
      const Word* other = &rows_[found_[f].row];
      if (!IsSubset(other, tall.row.data(), words_)) continue;
      // A cluster makes only an equal set superfluous, another operator's a larger one.
      is_new = f < clusters && CountBits(other, words_) != tall.count;
    }
    if (!is_new) continue;
    const std::size_t row = rows_.size();
    rows_.insert(rows_.end(), tall.row.begin(), tall.row.end());
    Found found{};
    if (Try(row, tall.op, live, budget, &found)) found_.push_back(found);
  }
}

// Nothing can be freed any more: run the rest, so as to reach the least hill.
void Clusters::RunRest(std::int64_t live, std::int64_t budget) {
  rows_.assign(words_, 0);
  for (OpIndex op = 0; op < instance_.num_ops(); ++op) {
    if (!TestBit(executed_, op)) SetBit(rows_.data(), op);
  }
  Found found{};
  if (Try(0, -1, live, budget, &found)) found_.push_back(found);
}

}  // namespace neap::schedule
