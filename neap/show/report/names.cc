// SPDX-License-Identifier: Apache-2.0
#include "neap/show/report/names.h"

#include <algorithm>

#include "neap/show/report/printable.h"

namespace neap::report {
namespace {

// A name with more scopes than this is distinguished by its last ones alone: time and memory stay
// linear in the length of all names.
constexpr std::size_t kMaxParts = 8;

// The name before the first ';'.
std::string_view HeadOf(std::string_view name) {
  const std::size_t end = name.find(';');
  return end == 0 || end == std::string_view::npos ? name : name.substr(0, end);
}

// The non-empty parts between slashes, the last kMaxParts of them.
std::vector<std::string_view> PartsOf(std::string_view head) {
  std::vector<std::string_view> parts;
  while (!head.empty()) {
    const std::size_t end = std::min(head.find('/'), head.size());
    if (end > 0) parts.push_back(head.substr(0, end));
    head.remove_prefix(std::min(end + 1, head.size()));
  }
  if (parts.size() > kMaxParts) parts.erase(parts.begin(), parts.end() - kMaxParts);
  return parts;
}

std::string LastParts(const std::vector<std::string_view>& parts, std::size_t count) {
  std::string out;
  for (std::size_t i = parts.size() - count; i < parts.size(); ++i) {
    if (!out.empty()) out += '/';
    out += parts[i];
  }
  return out;
}

// The same without what is between its first and its last part.
std::string Elided(const std::vector<std::string_view>& parts, std::size_t count) {
  if (count < 3) return LastParts(parts, count);
  return std::string(parts[parts.size() - count]) + "/.../" + std::string(parts.back());
}

using NameCounts = std::map<std::string, int, std::less<>>;

struct Name {
  std::vector<std::string_view> parts;
  std::size_t count = 0;  // of its last parts: distinguishes it; 0: only the whole name does
};

}  // namespace

ShortNames::ShortNames(const std::vector<std::string>& names) {
  for (const std::string& name : names) short_.emplace(name, "");
  NameCounts suffixes;
  std::map<std::string_view, Name> by_name;
  for (const auto& [name, unused] : short_) {
    Name& one = by_name[name];
    one.parts = PartsOf(HeadOf(name));
    for (std::size_t k = 1; k <= one.parts.size(); ++k) ++suffixes[LastParts(one.parts, k)];
  }
  NameCounts whole_heads;
  NameCounts elided;
  for (auto& [unused, one] : by_name) {
    one.count = 1;
    while (one.count < one.parts.size() && suffixes[LastParts(one.parts, one.count)] > 1) {
      ++one.count;
    }
    ++whole_heads[LastParts(one.parts, one.parts.size())];
    // Of every length: the elided part of one name must not be another name.
    for (std::size_t k = 1; k <= one.parts.size(); ++k) ++elided[Elided(one.parts, k)];
  }
  for (auto& [name, shown] : short_) {
    const Name& one = by_name[name];
    if (one.parts.empty() || whole_heads[LastParts(one.parts, one.parts.size())] > 1) {
      shown = Printable(name, kMaxColumns);
      continue;
    }
    const std::string brief = Elided(one.parts, one.count);
    shown = Printable(elided[brief] == 1 ? brief : LastParts(one.parts, one.count), kMaxColumns);
  }
}

ShortNames ShortNames::OfTensors(const graph::Graph& graph) {
  std::vector<std::string> names;
  for (const graph::Subgraph& subgraph : graph.subgraphs) {
    for (const graph::Tensor& tensor : subgraph.tensors) names.push_back(tensor.name);
  }
  return ShortNames(names);
}

std::string ShortNames::Of(const std::string& name) const {
  const auto known = short_.find(name);
  return known == short_.end() ? Printable(name, kMaxColumns) : known->second;
}

}  // namespace neap::report
