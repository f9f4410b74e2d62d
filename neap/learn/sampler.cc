// SPDX-License-Identifier: Apache-2.0
#include "neap/learn/sampler.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace neap::learn {
namespace {

// How often a graph that came out disconnected and could not be joined is drawn again.
constexpr int kMaxTries = 100;

class OneGraph {
 public:
  OneGraph(const SamplerOptions& options, Random* random) : options_(options), random_(random) {}

  bool Draw() {
    DrawLevels();
    parents_.assign(Size(), {});
    for (std::size_t node = 0; node < Size(); ++node) DrawParents(node);
    return Join();
  }

  Dag Numbered() {
    std::vector<Node> names(Size());
    std::iota(names.begin(), names.end(), 0);
    random_->Shuffle(names);
    Dag dag;
    dag.parents.resize(Size());
    for (std::size_t node = 0; node < Size(); ++node) {
      auto& out = dag.parents[static_cast<std::size_t>(names[node])];
      for (const std::size_t parent : parents_[node]) out.push_back(names[parent]);
      std::sort(out.begin(), out.end());
    }
    for (auto& channel : dag.weights) {
      for (std::size_t node = 0; node < Size(); ++node) {
        channel.push_back(random_->Between(1, std::max<std::int64_t>(1, options_.max_weight)));
      }
    }
    return dag;
  }

 private:
  std::size_t Size() const { return static_cast<std::size_t>(options_.nodes); }

  void DrawLevels() {
    const std::int32_t most = std::clamp(options_.max_levels, 1, options_.nodes);
    const std::int32_t least = std::clamp(options_.min_levels, 1, most);
    const auto levels = static_cast<std::size_t>(random_->Between(least, most));
    by_level_.assign(levels, {});
    level_.assign(Size(), 0);
    for (std::size_t node = 0; node < Size(); ++node) {
      level_[node] = node < levels ? node : static_cast<std::size_t>(random_->Below(levels));
      by_level_[level_[node]].push_back(node);
    }
  }

  void DrawParents(std::size_t node) {
    if (level_[node] == 0) return;
    AddParentAt(node, level_[node] - 1);
    for (std::int32_t more = 1; more < options_.degree; ++more) {
      const auto draw = static_cast<std::size_t>(random_->Below(level_[node] + 1));
      if (draw > 0) AddParentAt(node, draw - 1);
    }
  }

  void AddParentAt(std::size_t node, std::size_t level) {
    const auto& row = by_level_[level];
    const std::size_t parent = row[static_cast<std::size_t>(random_->Below(row.size()))];
    auto& parents = parents_[node];
    if (std::find(parents.begin(), parents.end(), parent) == parents.end()) {
      parents.push_back(parent);
    }
  }

  std::size_t Root(std::size_t node) {
    while (root_[node] != node) {
      root_[node] = root_[root_[node]];
      node = root_[node];
    }
    return node;
  }

  // Every component has a node in the first level; it becomes a parent in another component.
  bool Join() {
    root_.resize(Size());
    std::iota(root_.begin(), root_.end(), std::size_t{0});
    for (std::size_t node = 0; node < Size(); ++node) {
      for (const std::size_t parent : parents_[node]) root_[Root(node)] = Root(parent);
    }
    for (const std::size_t source : by_level_[0]) {
      const std::size_t start = static_cast<std::size_t>(random_->Below(Size()));
      for (std::size_t i = 0; i < Size() && Root(source) != Root(by_level_[0][0]); ++i) {
        const std::size_t child = (start + i) % Size();
        if (level_[child] == 0 || Root(child) != Root(by_level_[0][0])) continue;
        if (parents_[child].size() >= static_cast<std::size_t>(options_.degree)) continue;
        parents_[child].push_back(source);
        root_[Root(source)] = Root(child);
      }
      if (Root(source) != Root(by_level_[0][0])) return false;
    }
    return true;
  }

  const SamplerOptions& options_;
  Random* random_;
  std::vector<std::size_t> level_;
  std::vector<std::vector<std::size_t>> by_level_;
  std::vector<std::vector<std::size_t>> parents_;
  std::vector<std::size_t> root_;
};

}  // namespace

Dag Sample(const SamplerOptions& options, Random* random) {
  OneGraph graph(options, random);
  for (int i = 0; i < kMaxTries && !graph.Draw(); ++i) {
  }
  return graph.Numbered();
}

}  // namespace neap::learn
