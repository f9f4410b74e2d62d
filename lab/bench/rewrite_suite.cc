// SPDX-License-Identifier: Apache-2.0
//
// The suite `rewrite`: peaks of the zoo's networks before and after rewriting.
#include <chrono>
#include <utility>

#include "lab/bench/facts.h"
#include "lab/bench/networks.h"
#include "lab/bench/suites.h"
#include "neap/transform/rewrite/rewrite.h"

namespace neap::bench {
namespace {

constexpr const char* kQuick[] = {
    "swiftnet",         "swiftnet-cell-a",     "swiftnet.int8",
    "randwire-cell-ws", "darts-imagenet-cell", "mobilenet-v1-vww.int8",
    "resnet8.int8"};
constexpr const char* kMore[] = {
    "mobilenet-v2.int8",  "efficientnet-lite0.int8", "densenet-121.int8", "inception-v3.int8",
    "nasnet-mobile.int8", "pnasnet-cifar",           "darts-imagenet",    "unet++"};

struct Timed {
  rewrite::Found found;
  double seconds = 0;
};

Result<Timed> SearchWith(const graph::Graph& graph, plan::Exactness exactness,
                         const RunOptions& options) {
  compile::Options neap;
  neap.runtime = plan::Runtime::kNeap;
  neap.limits.stop = options.stop;
  rewrite::SearchOptions search;
  search.exactness = exactness;
  search.settings.sums = rewrite::Sums::kInPlace;
  search.settings.own_kernels = true;
  search.settings.keep_order = exactness == plan::Exactness::kBitwise;
  constexpr std::int64_t kQuickWork = 40'000;
  if (options.quick) search.max_work = kQuickWork;
  const auto begin = std::chrono::steady_clock::now();
  Timed timed;
  NEAP_TRY(timed.found, rewrite::Search(graph, neap, search));
  timed.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return timed;
}

std::int64_t OperatorsOf(const graph::Graph& graph) {
  return static_cast<std::int64_t>(graph.subgraphs[graph::SubgraphId(0)].ops.size());
}

Status AddNetwork(const std::string& name, const graph::Graph& graph, const RunOptions& options,
                  Table* table, std::vector<Quality>* qualities) {
  const plan::Runtime neap = plan::Runtime::kNeap;
  NEAP_TRY(const Ordered file, SearchOrder(graph, compile::kFileOrder, options, 0, neap));
  constexpr std::int64_t kStates = 50'000;
  NEAP_TRY(const Ordered best, SearchOrder(graph, compile::kExactOrder, options, kStates, neap));
  NEAP_TRY(const Timed bitwise, SearchWith(graph, plan::Exactness::kBitwise, options));
  NEAP_TRY(const Timed all, SearchWith(graph, plan::Exactness::kReassociates, options));
  table->rows.push_back({Text(name), Count(file.peak_bytes), Count(best.peak_bytes),
                         Count(bitwise.found.peak_bytes), Count(bitwise.found.lower_bound_bytes),
                         Count(all.found.peak_bytes), Count(all.found.lower_bound_bytes),
                         Count(OperatorsOf(graph)), Count(OperatorsOf(bitwise.found.graph)),
                         Count(OperatorsOf(all.found.graph)), Real(bitwise.seconds),
                         Real(all.seconds)});
  qualities->push_back({name + ".bitwise_peak_bytes", bitwise.found.peak_bytes, false});
  qualities->push_back({name + ".bitwise_bound_bytes", bitwise.found.lower_bound_bytes, true});
  qualities->push_back({name + ".all_peak_bytes", all.found.peak_bytes, false});
  qualities->push_back({name + ".all_bound_bytes", all.found.lower_bound_bytes, true});
  return {};
}

}  // namespace

Result<Report> RunRewrite(const RunOptions& options) {
  Table table;
  table.id = "rewritten";
  table.title = "Peak bytes before and after";
  table.columns = {{"network", "network"},
                   {"file_bytes", "file order"},
                   {"best_bytes", "best order"},
                   {"bitwise_bytes", "rewritten, bitwise"},
                   {"bitwise_bound_bytes", "bound over all choices"},
                   {"all_bytes", "rewritten, all"},
                   {"all_bound_bytes", "bound over all choices "},
                   {"operators", "operators"},
                   {"bitwise_operators", "bitwise"},
                   {"all_operators", "all"},
                   {"bitwise_seconds", "seconds, bitwise"},
                   {"all_seconds", "seconds, all"}};
  return RunNetworks(
      {kQuick, kMore}, options, AddNetwork,
      {"rewrite",
       "Rewriting the zoo's networks",
       {"Peaks of live bytes before and after rewriting (docs/algorithms/rewrite.md). Profile "
        "neap: "
        "16-byte alignment, in place, accumulators of 4 bytes for 8-bit models. \"bitwise\": the "
        "default, with identical outputs. \"all\": --rewrite reassociate, sums in another order. "
        "Where a peak equals its bound, no choice of these rules has a smaller one.",
        "Networks have shapes and no weights here. \".int8\" is the 8-bit model."},
       "Peak relative to file order",
       {"Peak relative to file order", {"best_bytes", "bitwise_bytes", "all_bytes"}, "file_bytes"}},
      std::move(table));
}

}  // namespace neap::bench
