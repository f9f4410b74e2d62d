// SPDX-License-Identifier: Apache-2.0
//
// The suite `order`: networks of the zoo under every strategy.
#include <utility>

#include "lab/bench/facts.h"
#include "lab/bench/networks.h"
#include "lab/bench/suites.h"

namespace neap::bench {
namespace {

constexpr const char* kQuick[] = {"randwire-cell-ws",    "randwire-cell-er", "randwire-cell-ba",
                                  "darts-imagenet-cell", "darts-imagenet",   "swiftnet",
                                  "randwire-ws-cifar10"};
constexpr const char* kMore[] = {
    "randwire-ws",    "randwire-er",       "randwire-ba",       "darts-cifar",
    "nasnet-a-cifar", "nasnet-a-imagenet", "amoebanet-a-cifar", "amoebanet-a-imagenet",
    "pnasnet-cifar",  "pnasnet-imagenet",  "inception-v3",      "densenet-121",
    "unet++"};
constexpr const char* kStrategies[] = {"file", "kahn",     "dfs",  "greedy",
                                       "beam", "serenity", "exact"};

Status AddNetwork(const std::string& name, const graph::Graph& graph, const RunOptions& options,
                  Table* table, std::vector<Quality>* qualities) {
  const std::int64_t max_states = options.quick ? 50'000 : 500'000;
  std::vector<Value> row = {
      Text(name), Count(static_cast<std::int64_t>(graph.subgraphs.Items().front().ops.size()))};
  Ordered last;
  for (const char* strategy : kStrategies) {
    NEAP_TRY(last, SearchOrder(graph, *compile::OrderStrategyNamed(strategy), options, max_states));
    row.push_back(Count(last.peak_bytes));
  }
  row.push_back(Count(last.bound_bytes));
  row.push_back(Text(last.proven ? "optimal" : "bounded"));
  row.push_back(Count(last.states));
  row.push_back(Real(last.seconds, 4));
  table->rows.push_back(std::move(row));
  qualities->push_back({name + ".peak_bytes", last.peak_bytes, false});
  qualities->push_back({name + ".bound_bytes", last.bound_bytes, true});
  return {};
}

}  // namespace

Result<Report> RunOrder(const RunOptions& options) {
  Table table;
  table.id = "orders";
  table.title = "Peak bytes by strategy";
  table.columns = {{"network", "network"}, {"operators", "operators"}};
  for (const char* strategy : kStrategies) table.columns.push_back({strategy, strategy});
  table.columns.insert(table.columns.end(), {{"bound_bytes", "proven bound"},
                                             {"status", "status"},
                                             {"states", "states"},
                                             {"seconds", "seconds"}});
  return RunNetworks(
      {kQuick, kMore}, options, AddNetwork,
      {"order",
       "Orders of the zoo's networks",
       {"Peak of live bytes (profile ideal, float32) by strategy, with the bound that Neap's exact "
        "search proves. File order is the published order of construction."},
       "Peak over the proven bound",
       {"Peak relative to the proven bound", {"file", "kahn", "greedy", "exact"}, "bound_bytes"}},
      std::move(table));
}

}  // namespace neap::bench
