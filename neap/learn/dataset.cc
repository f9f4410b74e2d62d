// SPDX-License-Identifier: Apache-2.0
#include "neap/learn/dataset.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "neap/learn/peak.h"
#include "neap/learn/sampler.h"

namespace neap::learn {
namespace {

constexpr std::int64_t kVersion = 1;
constexpr std::int64_t kMaxGraphs = std::int64_t{1} << 24;
constexpr std::int64_t kMaxNumber = std::int64_t{1} << 60;

void Append(std::string* text, std::int64_t number) {
  *text += ' ';
  *text += std::to_string(number);
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<std::vector<LabelledDag>> Parse() {
    NEAP_TRY(const auto head, Line("neap-dataset"));
    if (head.size() != 2 || head[0] != kVersion || head[1] < 0 || head[1] > kMaxGraphs) {
      return Wrong("expected 'neap-dataset 1 GRAPHS'");
    }
    std::vector<LabelledDag> graphs;
    for (std::int64_t i = 0; i < head[1]; ++i) {
      NEAP_TRY(LabelledDag graph, ParseGraph());
      graphs.push_back(std::move(graph));
    }
    if (!text_.empty()) {
      ++line_;
      return Wrong("found more lines than the graphs that the first line announces");
    }
    return graphs;
  }

 private:
  tl::unexpected<Diagnostic> Wrong(const std::string& what) const {
    return Fail(BadInput("line " + std::to_string(line_) + " of the dataset: " + what));
  }

  // The numbers of the next line, after `word` ("": none).
  Result<std::vector<std::int64_t>> Line(std::string_view word) {
    ++line_;
    const std::size_t end = text_.find('\n');
    if (end == std::string_view::npos) return Wrong("the text ends early");
    std::string_view line = text_.substr(0, end);
    text_.remove_prefix(end + 1);
    if (!word.empty()) {
      if (!line.starts_with(word)) return Wrong("expected '" + std::string(word) + " ...'");
      line.remove_prefix(word.size());
      if (line.empty() || line.front() != ' ') return Wrong("expected numbers");
      line.remove_prefix(1);
    }
    std::vector<std::int64_t> numbers;
    while (true) {
      std::int64_t number = 0;
      const auto [rest, error] = std::from_chars(line.data(), line.data() + line.size(), number);
      if (error != std::errc() || number < 0 || number > kMaxNumber) {
        return Wrong("expected whole numbers from 0 to 2^60, separated by single spaces");
      }
      numbers.push_back(number);
      line.remove_prefix(static_cast<std::size_t>(rest - line.data()));
      if (line.empty()) return numbers;
      if (line.front() != ' ') return Wrong("expected single spaces between numbers");
      line.remove_prefix(1);
    }
  }

  Result<LabelledDag> ParseGraph() {
    NEAP_TRY(const auto head, Line("graph"));
    if (head.size() != 3 || head[0] < 1 || head[0] > kMaxLearnedNodes) {
      return Wrong("expected 'graph NODES OPTIMUM CACHE', at most " +
                   std::to_string(kMaxLearnedNodes) + " nodes");
    }
    LabelledDag graph;
    graph.optimum = head[1];
    graph.cache_bytes = head[2];
    for (std::int64_t node = 0; node < head[0]; ++node) {
      NEAP_CHECK_OK(ParseNode(head[0], &graph));
    }
    if (TopologicalOrder(graph.dag).size() != graph.dag.parents.size()) {
      return Wrong("the graph that ends here has a cycle");
    }
    return graph;
  }

  Status ParseNode(std::int64_t nodes, LabelledDag* graph) {
    NEAP_TRY(const auto numbers, Line(""));
    if (numbers.size() < 1 + kChannels || numbers[0] < 1 ||
        numbers[0] > std::numeric_limits<std::int32_t>::max()) {
      return Wrong("expected 'LABEL WEIGHT0 WEIGHT1 WEIGHT2 PARENT...', the label at least 1");
    }
    graph->labels.push_back(static_cast<std::int32_t>(numbers[0]));
    for (std::size_t channel = 0; channel < kChannels; ++channel) {
      if (numbers[1 + channel] > kMaxWeight) {
        return Wrong("expected weights of at most " + std::to_string(kMaxWeight));
      }
      graph->dag.weights[channel].push_back(numbers[1 + channel]);
    }
    std::vector<Node>& parents = graph->dag.parents.emplace_back();
    for (std::size_t i = 1 + kChannels; i < numbers.size(); ++i) {
      const bool increasing = parents.empty() || numbers[i] > parents.back();
      if (numbers[i] >= nodes || !increasing) {
        return Wrong("expected parents in increasing order, below " + std::to_string(nodes));
      }
      parents.push_back(static_cast<Node>(numbers[i]));
    }
    return {};
  }

  std::string_view text_;
  std::int64_t line_ = 0;
};

}  // namespace

std::string SerializeDataset(std::span<const LabelledDag> graphs) {
  std::string text = "neap-dataset";
  Append(&text, kVersion);
  Append(&text, static_cast<std::int64_t>(graphs.size()));
  text += '\n';
  for (const LabelledDag& graph : graphs) {
    text += "graph";
    Append(&text, graph.dag.NumNodes());
    Append(&text, graph.optimum);
    Append(&text, graph.cache_bytes);
    text += '\n';
    for (std::size_t node = 0; node < graph.labels.size(); ++node) {
      text += std::to_string(graph.labels[node]);
      for (const auto& channel : graph.dag.weights) Append(&text, channel[node]);
      for (const Node parent : graph.dag.parents[node]) Append(&text, parent);
      text += '\n';
    }
  }
  return text;
}

Result<std::vector<LabelledDag>> ParseDataset(std::string_view text) {
  return Parser(text).Parse();
}

}  // namespace neap::learn
