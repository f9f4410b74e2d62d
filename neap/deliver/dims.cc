// SPDX-License-Identifier: Apache-2.0
#include "neap/deliver/dims.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace neap::deliver {

Result<std::map<std::string, std::int64_t>> DimsOf(const std::vector<std::string>& dims,
                                                   const std::string& prefix) {
  std::map<std::string, std::int64_t> out;
  for (const std::string& dim : dims) {
    const std::size_t equals = dim.rfind('=');
    std::int64_t value = 0;
    bool good = equals != std::string::npos && equals > 0;
    if (good) {
      const char* const end = dim.data() + dim.size();
      const auto [rest, error] = std::from_chars(dim.data() + equals + 1, end, value);
      good = error == std::errc() && rest == end && value >= 1;
    }
    if (!good) {
      return Fail(
          UsageError(prefix + "dim '" + dim + "' is not NAME=N with a positive whole number N"));
    }
    if (!out.emplace(dim.substr(0, equals), value).second) {
      return Fail(UsageError(prefix + "dim '" + dim.substr(0, equals) + "' is given twice"));
    }
  }
  return out;
}

Diagnostic WithAllSymbols(Diagnostic diagnostic, const graph::Graph& graph,
                          const std::string& prefix) {
  if (diagnostic.code != ErrorCode::kMissingSize || graph.subgraphs.empty()) return diagnostic;
  const graph::Subgraph& main = graph.subgraphs[graph::SubgraphId(0)];
  std::vector<std::string> symbols;
  for (const graph::TensorId id : main.inputs) {
    const graph::Tensor& tensor = main.tensors[id];
    if (!tensor.shape) continue;
    for (std::size_t i = 0; i < tensor.shape->size() && i < tensor.symbols.size(); ++i) {
      const std::string& symbol = tensor.symbols[i];
      const bool known = std::find(symbols.begin(), symbols.end(), symbol) != symbols.end();
      if ((*tensor.shape)[i] < 0 && !symbol.empty() && !known) symbols.push_back(symbol);
    }
  }
  if (symbols.empty()) return diagnostic;
  diagnostic.hint = "bind every symbol of the inputs:";
  for (const std::string& symbol : symbols)
    diagnostic.hint += " " + prefix + "dim " + symbol + "=1";
  return diagnostic;
}

}  // namespace neap::deliver
