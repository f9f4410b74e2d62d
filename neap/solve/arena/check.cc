// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/arena/check.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace neap::arena {
namespace {

std::string At(std::size_t index, const Buffer& buffer, std::int64_t offset) {
  return "buffer #" + std::to_string(index) + " (" + std::to_string(buffer.bytes) +
         " bytes at offset " + std::to_string(offset) + ", steps [" + std::to_string(buffer.first) +
         ", " + std::to_string(buffer.last) + "))";
}

// Two half-open ranges have a common element.
template <typename T>
bool Meet(T a_first, T a_last, T b_first, T b_last) {
  return std::max(a_first, b_first) < std::min(a_last, b_last);
}

// The rules of each pair, from the buffer with the smaller index to the other one.
using RulesOfPairs = std::map<std::pair<std::size_t, std::size_t>, std::vector<PairRule>>;

RulesOfPairs Collect(const Problem& problem) {
  RulesOfPairs result;
  for (const PairRule& rule : problem.pairs) {
    const auto a = static_cast<std::size_t>(rule.a);
    const auto b = static_cast<std::size_t>(rule.b);
    if (a < b) {
      result[{a, b}].push_back(rule);
    } else {
      result[{b, a}].push_back({rule.b, rule.a, -rule.high, -rule.low});
    }
  }
  return result;
}

// The violation of a pair that is live together; i < j.
std::optional<std::string> FindViolationOfPair(const Problem& problem, const RulesOfPairs& rules,
                                               const std::vector<std::int64_t>& offsets,
                                               std::size_t i, std::size_t j) {
  const Buffer& a = problem.buffers[i];
  const Buffer& b = problem.buffers[j];
  if (a.bytes == 0 || b.bytes == 0) return std::nullopt;
  const auto found = rules.empty() ? rules.end() : rules.find({i, j});
  if (found == rules.end()) {
    if (!Meet(offsets[i], offsets[i] + a.bytes, offsets[j], offsets[j] + b.bytes)) {
      return std::nullopt;
    }
    return At(i, a, offsets[i]) + " shares bytes with " + At(j, b, offsets[j]);
  }
  for (const PairRule& rule : found->second) {
    const std::int64_t apart = offsets[j] - offsets[i];  // no overflow: both are >= 0
    if (apart <= rule.low || apart >= rule.high) continue;
    return At(j, b, offsets[j]) + " starts " + std::to_string(apart) + " bytes above " +
           At(i, a, offsets[i]) + ", expected at most " + std::to_string(rule.low) +
           " or at least " + std::to_string(rule.high);
  }
  return std::nullopt;
}

// About ten milliseconds; beyond, looking at all pairs would take seconds.
constexpr std::size_t kMaxForAllPairs = 5'000;

}  // namespace

std::optional<std::string> FindCollision(const Problem& problem,
                                         const std::vector<std::int64_t>& offsets) {
  const auto& buffers = problem.buffers;
  const RulesOfPairs rules = Collect(problem);
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    for (std::size_t j = i + 1; j < buffers.size(); ++j) {
      if (!Meet(buffers[i].first, buffers[i].last, buffers[j].first, buffers[j].last)) continue;
      if (auto wrong = FindViolationOfPair(problem, rules, offsets, i, j)) return wrong;
    }
  }
  return std::nullopt;
}

// While all live buffers without rules are disjoint, a new one can only meet the one below it and
// the one above. Those with rules are compared with all that are live.
std::optional<std::string> FindCollisionBySweep(const Problem& problem,
                                                const std::vector<std::int64_t>& offsets) {
  const auto& buffers = problem.buffers;
  const RulesOfPairs rules = Collect(problem);
  std::vector<bool> ruled(buffers.size(), false);
  for (const auto& [pair, rule] : rules) ruled[pair.first] = ruled[pair.second] = true;
  std::vector<std::pair<Step, std::size_t>> starts;
  std::multimap<Step, std::size_t> ends;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].occupies()) {
      starts.emplace_back(buffers[i].first, i);
    }
  }
  std::sort(starts.begin(), starts.end());
  std::map<std::int64_t, std::size_t> plain;  // by offset
  std::set<std::size_t> with_rules;
  const auto judge = [&](std::size_t a, std::size_t b) {
    return FindViolationOfPair(problem, rules, offsets, std::min(a, b), std::max(a, b));
  };
  for (const auto& [step, i] : starts) {
    for (; !ends.empty() && ends.begin()->first <= step; ends.erase(ends.begin())) {
      const std::size_t ended = ends.begin()->second;
      if (ruled[ended]) {
        with_rules.erase(ended);
      } else {
        plain.erase(offsets[ended]);
      }
    }
    for (const std::size_t other : with_rules) {
      if (auto wrong = judge(i, other)) return wrong;
    }
    ends.emplace(buffers[i].last, i);
    if (ruled[i]) {
      for (const auto& [offset, other] : plain) {
        if (auto wrong = judge(i, other)) return wrong;
      }
      with_rules.insert(i);
      continue;
    }
    const auto above = plain.lower_bound(offsets[i]);
    if (above != plain.end()) {
      if (auto wrong = judge(i, above->second)) return wrong;
    }
    if (above != plain.begin()) {
      if (auto wrong = judge(i, std::prev(above)->second)) return wrong;
    }
    plain.emplace(offsets[i], i);
  }
  return std::nullopt;
}

std::optional<std::string> FindViolation(const Problem& problem, const Placement& placement) {
  const auto& buffers = problem.buffers;
  const auto& offsets = placement.offsets;
  if (offsets.size() != buffers.size()) {
    return "found " + std::to_string(offsets.size()) + " offsets, expected " +
           std::to_string(buffers.size());
  }
  std::int64_t height = 0;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const Buffer& buffer = buffers[i];
    if (offsets[i] < 0) return At(i, buffer, offsets[i]) + ": found a negative offset";
    if (buffer.fixed_offset && *buffer.fixed_offset != offsets[i]) {
      return At(i, buffer, offsets[i]) + ": expected its fixed offset " +
             std::to_string(*buffer.fixed_offset);
    }
    if (offsets[i] % buffer.alignment != 0) {
      return At(i, buffer, offsets[i]) + ": expected a multiple of " +
             std::to_string(buffer.alignment);
    }
    std::int64_t end = 0;
    if (__builtin_add_overflow(offsets[i], buffer.bytes, &end)) {
      return At(i, buffer, offsets[i]) + ": ends out of range";
    }
    height = std::max(height, end);
  }
  if (height != placement.height_bytes) {
    return "found height " + std::to_string(placement.height_bytes) + ", expected " +
           std::to_string(height);
  }
  return buffers.size() <= kMaxForAllPairs ? FindCollision(problem, offsets)
                                           : FindCollisionBySweep(problem, offsets);
}

}  // namespace neap::arena
