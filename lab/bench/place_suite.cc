// SPDX-License-Identifier: Apache-2.0
//
// The suite `place`: the buffers of the zoo's networks in arenas.
#include <chrono>
#include <utility>

#include "lab/bench/facts.h"
#include "lab/bench/networks.h"
#include "lab/bench/suites.h"
#include "neap/base/check.h"
#include "neap/compile/entry_memory.h"
#include "neap/solve/arena/arena.h"
#include "neap/solve/arena/check.h"

namespace neap::bench {
namespace {

constexpr const char* kQuick[] = {"randwire-cell-ws", "darts-imagenet", "swiftnet",
                                  "nasnet-a-cifar",   "mobilenet-v2",   "densenet-121"};
constexpr const char* kMore[] = {
    "randwire-ws",      "darts-cifar",   "nasnet-a-imagenet",  "amoebanet-a-imagenet",
    "pnasnet-imagenet", "nasnet-mobile", "inception-v3",       "inception-resnet-v2",
    "resnet-50",        "unet++",        "transformer-encoder"};

Status AddOrder(const std::string& name, const graph::Graph& graph, compile::OrderStrategy order,
                const RunOptions& options, Table* table, std::vector<Quality>* qualities) {
  compile::Options base;
  base.order = order;
  base.place = false;
  base.limits.max_states = options.quick ? 20'000 : 200'000;
  base.limits.stop = options.stop;
  NEAP_TRY(const compile::Compiled compiled, compile::Compile(graph, base));
  NEAP_TRY(const compile::EntryMemory memory,
           compile::MemoryOf(graph, graph::SubgraphId(0), compiled.order, plan::Runtime::kIdeal));
  arena::Problem problem;
  for (const compile::MemoryTensor& tensor : memory.tensors) {
    arena::Buffer buffer;
    buffer.bytes = tensor.counted;
    buffer.first = tensor.first;
    buffer.last = tensor.last;
    problem.buffers.push_back(buffer);
  }
  const auto begin = std::chrono::steady_clock::now();
  Limits limits;
  limits.max_states = options.quick ? 100'000 : 400'000;
  limits.stop = options.stop;
  const arena::Outcome outcome = arena::Solve(problem, limits);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  NEAP_CHECK(!arena::FindViolation(problem, outcome.placement), "a placement is wrong");
  const auto last_step = static_cast<arena::Step>(memory.steps.size());
  table->rows.push_back({Text(name), Text(order == compile::kFileOrder ? "file" : "planned"),
                         Count(static_cast<std::int64_t>(problem.buffers.size())),
                         Count(arena::PlaceLikeTflm(problem).height_bytes),
                         Count(arena::PlaceLikeTflite(problem, last_step).height_bytes),
                         Count(outcome.placement.height_bytes), Count(outcome.lower_bound_bytes),
                         Text(outcome.optimal() ? "optimal" : "bounded"), Count(outcome.states),
                         Real(seconds, 4)});
  const std::string id = name + "." + std::string(compile::NameOf(order));
  qualities->push_back({id + ".arena_bytes", outcome.placement.height_bytes, false});
  qualities->push_back({id + ".bound_bytes", outcome.lower_bound_bytes, true});
  return {};
}

Status AddOrders(const std::string& name, const graph::Graph& graph, const RunOptions& options,
                 Table* table, std::vector<Quality>* qualities) {
  NEAP_CHECK_OK(AddOrder(name, graph, compile::kFileOrder, options, table, qualities));
  return AddOrder(name, graph, compile::kExactOrder, options, table, qualities);
}

}  // namespace

Result<Report> RunPlace(const RunOptions& options) {
  Table table;
  table.id = "placements";
  table.title = "Arena bytes";
  table.columns = {{"network", "network"},
                   {"order", "order"},
                   {"buffers", "buffers"},
                   {"tflm_bytes", "TFLM's rule"},
                   {"litert_bytes", "LiteRT's rule"},
                   {"arena_bytes", "Neap"},
                   {"bound_bytes", "proven bound"},
                   {"status", "status"},
                   {"states", "states"},
                   {"seconds", "seconds"}};
  return RunNetworks(
      {kQuick, kMore}, options, AddOrders,
      {"place",
       "Placements of the zoo's networks",
       {"Height of the arena in bytes (profile ideal, float32): the rules of TensorFlow Lite Micro "
        "and of LiteRT given exact sizes without alignment, and Neap's placement with its proven "
        "bound."},
       "Arena over the proven bound",
       {"Arena relative to the proven bound, planned order",
        {"tflm_bytes", "litert_bytes", "arena_bytes"},
        "bound_bytes",
        "order",
        "planned"}},
      std::move(table));
}

}  // namespace neap::bench
