// SPDX-License-Identifier: Apache-2.0
//
// What the learned scheduler adds, as Markdown tables, compared with unlearned orders under the
// same repair and cut:
//
//   learned_table figure3 [SVG]        the document's Figure 3: learned against the compiler's rule
//   learned_table children [WEIGHTS]   ten networks, all readers of an operator in one stage
//   learned_table networks [WEIGHTS]   ten networks, 4 to 6 stages
//   learned_table stages [WEIGHTS]     wide synthetic graphs, 4 stages
//   learned_table peak [WEIGHTS]       peak memory: wide synthetic graphs
//   learned_table zoo [NETWORK...]     peak memory: networks of the zoo
//   learned_table time                 processor time from graph to repaired order
//
// WEIGHTS: a file; default: the built-in network. Gaps are (found - bound) / bound.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "lab/zoo/zoo.h"
#include "neap/base/check.h"
#include "neap/base/random.h"
#include "neap/compile/compile.h"
#include "neap/io/file.h"
#include "neap/learn/network.h"
#include "neap/learn/peak.h"
#include "neap/learn/repair.h"
#include "neap/learn/sampler.h"
#include "neap/learn/stages.h"
#include "neap/show/picture/chart.h"
#include "neap/solve/partition/baselines.h"
#include "neap/solve/partition/cut.h"
#include "neap/solve/partition/partition.h"
#include "neap/solve/partition/simulate.h"
#include "neap/solve/schedule/check.h"
#include "neap/stages/lower.h"

namespace neap {
namespace {

using learn::Node;

class Clock {
 public:
  double Seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

constexpr int kRandomOrders = 10;  // the tables have their mean

const std::vector<std::string>& Methods() {
  static const std::vector<std::string> kMethods = {"learned", "ASAP", "height", "random",
                                                    "local search"};
  return kMethods;
}

// One row of a table: the result of each method, and a bound.
struct Row {
  std::vector<double> values;  // one per method
  double bound = 0;
  double best = 0;  // of the exact search
  double learned_seconds = 0;
  double exact_seconds = 0;
  double violations = 0;  // precedences, before the repair
};

Limits LimitsOf(std::int64_t states) {
  Limits limits;
  limits.max_states = states;
  return limits;
}

// In percent; negative values from rounding are 0.
double Gap(double value, double bound) {
  return bound > 0 ? std::max(100 * (value / bound - 1), 0.0) : 0;
}

std::string HeaderOf(const std::string& first) {
  std::string head = "| " + first + " | exact search |";
  std::string line = "|---|---|";
  for (const std::string& method : Methods()) {
    head += " " + method + " |";
    line += "---|";
  }
  return head + " broken before repair | learned s | exact s |\n" + line + "---|---|---|\n";
}

std::string LineOf(const std::string& name, const Row& row) {
  std::string line = fmt::format("| {} | {:.2f} |", name, Gap(row.best, row.bound));
  for (const double value : row.values) line += fmt::format(" {:.2f} |", Gap(value, row.bound));
  return line + fmt::format(" {:.1f} | {:.4f} | {:.4f} |\n", row.violations, row.learned_seconds,
                            row.exact_seconds);
}

// Means of gaps, as a row whose bound is 100.
Row MeanOf(const std::vector<Row>& rows) {
  Row mean;
  mean.bound = 100;
  mean.best = 100;
  mean.values.assign(Methods().size(), 100);
  const auto count = static_cast<double>(rows.size());
  for (const Row& row : rows) {
    mean.best += Gap(row.best, row.bound) / count;
    mean.learned_seconds += row.learned_seconds / count;
    mean.exact_seconds += row.exact_seconds / count;
    mean.violations += row.violations / count;
    for (std::size_t i = 0; i < row.values.size(); ++i) {
      mean.values[i] += Gap(row.values[i], row.bound) / count;
    }
  }
  return mean;
}

// Cuts and improves orders of other seeds until the time is used.
double LocalSearchStages(const partition::Problem& problem, double seconds) {
  constexpr std::int64_t kSteps = 2'000;
  const Clock clock;
  auto best = partition::Improve(
      problem, *partition::CutOrder(problem, partition::AsapOrder(problem)), kSteps);
  for (std::uint64_t seed = 1; clock.Seconds() < seconds; ++seed) {
    const auto cut = partition::CutOrder(problem, partition::RandomOrder(problem, seed));
    const auto tried = partition::Improve(problem, *cut, kSteps);
    if (tried.bottleneck < best.bottleneck) best = tried;
  }
  return static_cast<double>(best.bottleneck);
}

Row StagesRow(const learn::Network& network, const partition::Problem& problem,
              std::int64_t exact_states) {
  const auto cut = [&](const std::vector<Node>& order) {
    return static_cast<double>(partition::CutOrder(problem, order)->bottleneck);
  };
  Row row;
  const Clock learned_clock;
  const auto learned = learn::AssignStages(network, problem);
  row.learned_seconds = learned_clock.Seconds();
  row.violations = learned.violations;
  const Clock exact_clock;
  const auto exact = partition::Solve(problem, LimitsOf(exact_states));
  row.exact_seconds = exact_clock.Seconds();
  row.best = static_cast<double>(exact->best.bottleneck);
  row.bound = static_cast<double>(exact->lower_bound);
  double random = 0;
  for (std::uint64_t seed = 1; seed <= kRandomOrders; ++seed) {
    random += cut(partition::RandomOrder(problem, seed)) / kRandomOrders;
  }
  row.values = {static_cast<double>(learned.best->bottleneck), cut(partition::AsapOrder(problem)),
                cut(partition::HeightOrder(problem)), random,
                LocalSearchStages(problem, row.learned_seconds)};
  return row;
}

constexpr partition::Stage kStages[] = {4, 5, 6};

// Calls `add` for the stage problem of each of the document's ten networks and each number of
// stages.
bool ForEachNetwork(bool children,
                    const std::function<void(const std::string& name, partition::Stage stages,
                                             const partition::Problem& problem)>& add) {
  for (const char* name :
       {"xception", "resnet-50", "resnet-101", "resnet-152", "densenet-121", "resnet-101-v2",
        "resnet-152-v2", "densenet-169", "densenet-201", "inception-resnet-v2"}) {
    zoo::ZooOptions options;
    options.weights = false;
    const auto made = zoo::BuildNetwork(name, options);
    if (!made) return false;
    for (const partition::Stage stages : kStages) {
      const auto lowered =
          stages::Lower(made->layers, {.accelerator = *stages::AcceleratorNamed("edgetpu-usb"),
                                       .stages = stages,
                                       .children_together = children});
      if (!lowered) return false;
      add(name, stages, lowered->problem);
      std::fflush(stdout);
    }
  }
  return true;
}

int Networks(const learn::Network& network) {
  fmt::print("{}", HeaderOf("network, stages"));
  std::vector<Row> rows;
  const auto add = [&](const std::string& name, partition::Stage stages,
                       const partition::Problem& problem) {
    rows.push_back(StagesRow(network, problem, kStatesForAFewSeconds));
    fmt::print("{}", LineOf(fmt::format("{}, {}", name, stages), rows.back()));
  };
  if (!ForEachNetwork(false, add)) return 1;
  fmt::print("{}", LineOf("mean", MeanOf(rows)));
  return 0;
}

double GeometricMean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}

// The documented rule of the compiler is 1, as in the document's Figure 3; run time of 5,000 items
// in simulation.
int Figure3(const learn::Network& network, const std::string& svg) {
  picture::Bars bars;
  bars.label = "Simulated run time of the learned assignment, compiler's rule = 1";
  bars.series = {"4 stages", "5 stages", "6 stages"};
  std::vector<std::vector<double>> speedups(std::size(kStages));
  const auto simulated = [](const partition::Problem& problem, const partition::Assignment& cut) {
    partition::SimulationOptions options;
    options.items = 5'000;
    return static_cast<double>(partition::Simulate(problem, cut.stage_of, options).all_done);
  };
  fmt::print(
      "| network | stages | compiler's rule, ms | learned, ms | optimum, ms "
      "| rule / learned | rule / optimum |\n|---|---:|---:|---:|---:|---:|---:|\n");
  std::vector<std::vector<double>> bounds(std::size(kStages));
  const auto add = [&](const std::string& name, partition::Stage stages,
                       const partition::Problem& problem) {
    const auto rule = partition::CutByParameterCount(problem, partition::IndexOrder(problem));
    const auto learned = learn::AssignStages(network, problem);
    const auto exact = partition::Solve(problem, LimitsOf(kStatesForAFewSeconds));
    const double of_rule = simulated(problem, rule);
    const double of_learned = simulated(problem, *learned.best);
    const double of_exact = simulated(problem, exact->best);
    const auto at = static_cast<std::size_t>(stages - kStages[0]);
    speedups[at].push_back(of_rule / of_learned);
    bounds[at].push_back(of_rule / of_exact);
    if (stages == kStages[0]) {
      bars.groups.push_back(name);
      bars.values.emplace_back();
    }
    bars.values.back().push_back(of_learned / of_rule);
    const auto milliseconds = [](std::int64_t picoseconds) {
      return static_cast<double>(picoseconds) / 1e9;
    };
    fmt::print("| {} | {} | {:.2f} | {:.2f} | {:.2f} | {:.3f} | {:.3f} |\n", name, stages,
               milliseconds(rule.bottleneck), milliseconds(learned.best->bottleneck),
               milliseconds(exact->best.bottleneck), speedups[at].back(), bounds[at].back());
  };
  if (!ForEachNetwork(false, add)) return 1;
  for (std::size_t i = 0; i < std::size(kStages); ++i) {
    fmt::print("| geometric mean | {} | | | | {:.3f} | {:.3f} |\n", kStages[i],
               GeometricMean(speedups[i]), GeometricMean(bounds[i]));
  }
  if (svg.empty()) return 0;
  return io::WriteFile(svg, picture::BarSvg(bars), true) ? 0 : 1;
}

// The Edge TPU's rule: the document's repair of predicted stages beside groups that are cut as one.
int Children(const learn::Network& network) {
  fmt::print(
      "| stages | document's rule | groups cut as one | better of the two |\n"
      "|---:|---:|---:|---:|\n");
  std::vector<std::vector<double>> gaps(3 * std::size(kStages));
  const auto add = [&](const std::string& /*name*/, partition::Stage stages,
                       const partition::Problem& problem) {
    const auto learned = learn::AssignStages(network, problem);
    const auto exact = partition::Solve(problem, LimitsOf(kStatesForAFewSeconds));
    const auto bound = static_cast<double>(exact->lower_bound);
    const auto at = 3 * static_cast<std::size_t>(stages - kStages[0]);
    for (std::size_t i = 0; i < 3; ++i) {
      const auto& found = i == 0 ? learned.document : i == 1 ? learned.grouped : learned.best;
      gaps[at + i].push_back(Gap(static_cast<double>(found->bottleneck), bound));
    }
  };
  if (!ForEachNetwork(true, add)) return 1;
  for (std::size_t k = 0; k < std::size(kStages); ++k) {
    fmt::print("| {} |", kStages[k]);
    for (std::size_t i = 0; i < 3; ++i) {
      double sum = 0;
      for (const double gap : gaps[3 * k + i]) sum += gap;
      fmt::print(" {:.2f} |", sum / static_cast<double>(gaps[3 * k + i].size()));
    }
    fmt::print("\n");
  }
  return 0;
}

// Graphs with about five nodes on a level, where there are many orders.
learn::Dag Wide(std::int32_t nodes, Random* random) {
  learn::SamplerOptions options;
  options.nodes = nodes;
  options.min_levels = nodes / 6;
  options.max_levels = nodes / 4;
  return learn::Sample(options, random);
}

struct WideSize {
  std::int32_t nodes;
  int graphs;
};
// Of the exact search on wide graphs.
constexpr std::int64_t kWideStates = 5'000'000;
constexpr WideSize kWideSizes[] = {{30, 50}, {50, 30}, {100, 20}, {782, 3}};

int WideStages(const learn::Network& network) {
  fmt::print("{}", HeaderOf("nodes (graphs)"));
  for (const auto& [nodes, graphs] : kWideSizes) {
    Random random(static_cast<std::uint64_t>(nodes) + 1'000'000);
    std::vector<Row> rows;
    rows.reserve(static_cast<std::size_t>(graphs));
    for (int i = 0; i < graphs; ++i) {
      const learn::Dag dag = Wide(nodes, &random);
      rows.push_back(StagesRow(network, learn::StagesOfDag(dag, 4, &random), kWideStates));
    }
    fmt::print("{}", LineOf(fmt::format("{} ({})", nodes, graphs), MeanOf(rows)));
    std::fflush(stdout);
  }
  return 0;
}

// Moves one operator at a time to another place between its last parent and its first child; keeps
// what does not raise the peak.
double LocalSearchPeak(const schedule::Problem& problem, const learn::Dag& dag,
                       std::vector<Node> order, double seconds) {
  const Clock clock;
  Random random(1);
  std::int64_t best = schedule::ReplayOrder(problem, order)->peak_bytes;
  while (clock.Seconds() < seconds && order.size() > 1) {
    std::vector<Node> tried = order;
    const auto from = static_cast<std::ptrdiff_t>(random.Below(order.size()));
    const auto to = static_cast<std::ptrdiff_t>(random.Below(order.size()));
    const Node moved = tried[static_cast<std::size_t>(from)];
    tried.erase(tried.begin() + from);
    tried.insert(tried.begin() + to, moved);
    if (learn::Violations(dag, tried) > 0) continue;
    const std::int64_t peak = schedule::ReplayOrder(problem, tried)->peak_bytes;
    if (peak > best) continue;
    best = peak;
    order = std::move(tried);
  }
  return static_cast<double>(best);
}

Row PeakRow(const learn::Network& network, const schedule::Problem& problem) {
  const learn::Dag dag = learn::DagOfProblem(problem);
  const auto peak = [&](const std::vector<Node>& order) {
    return static_cast<double>(schedule::ReplayOrder(problem, order)->peak_bytes);
  };
  Row row;
  const Clock learned_clock;
  const auto sequence = learn::GreedyNodes(network, dag);
  const auto learned = learn::Repair(dag, sequence);
  row.learned_seconds = learned_clock.Seconds();
  row.violations = learn::Violations(dag, sequence);
  const Clock exact_clock;
  const auto exact = schedule::Solve(problem, LimitsOf(kStatesForAFewSeconds));
  row.exact_seconds = exact_clock.Seconds();
  row.best = static_cast<double>(exact.peak_bytes);
  row.bound = static_cast<double>(exact.lower_bound_bytes);
  const std::vector<std::int32_t> levels = learn::LevelsOf(dag);
  std::vector<std::int32_t> heights = learn::HeightsOf(dag);
  for (std::int32_t& height : heights) height = -height;
  const auto sorted = [&](const std::vector<std::int32_t>& keys) {
    std::vector<Node> order = learn::TopologicalOrder(dag);
    std::stable_sort(order.begin(), order.end(), [&](Node a, Node b) {
      return keys[static_cast<std::size_t>(a)] < keys[static_cast<std::size_t>(b)];
    });
    return order;
  };
  double random_peak = 0;
  for (std::uint64_t seed = 1; seed <= kRandomOrders; ++seed) {
    std::vector<Node> order = learn::TopologicalOrder(dag);
    Random(seed).Shuffle(order);
    random_peak += peak(learn::Repair(dag, order)) / kRandomOrders;
  }
  const std::vector<Node> asap = sorted(levels);
  row.values = {peak(learned), peak(asap), peak(sorted(heights)), random_peak,
                LocalSearchPeak(problem, dag, asap, row.learned_seconds)};
  return row;
}

int WidePeak(const learn::Network& network) {
  fmt::print("{}", HeaderOf("nodes (graphs)"));
  for (const auto& [nodes, graphs] : kWideSizes) {
    Random random(static_cast<std::uint64_t>(nodes) + 2'000'000);
    std::vector<Row> rows;
    rows.reserve(static_cast<std::size_t>(graphs));
    for (int i = 0; i < graphs; ++i) {
      rows.push_back(PeakRow(network, learn::ProblemOfDag(Wide(nodes, &random))));
    }
    fmt::print("{}", LineOf(fmt::format("{} ({})", nodes, graphs), MeanOf(rows)));
    std::fflush(stdout);
  }
  return 0;
}

int Zoo(std::vector<std::string> names) {
  if (names.empty()) {
    names = {"randwire-cell-ws", "randwire-cell-er", "randwire-cell-ba",
             "randwire-ws",      "swiftnet",         "darts-imagenet-cell",
             "darts-imagenet",   "nasnet-mobile",    "inception-resnet-v2"};
  }
  const std::vector<std::string> orders = {"exact", "learned", "file",  "kahn",
                                           "dfs",   "greedy",  "random"};
  fmt::print("| network | operators | bound, B |");
  for (const std::string& order : orders) fmt::print(" {} |", order);
  fmt::print(" learned s | exact s |\n|---|---|---|");
  for (std::size_t i = 0; i < orders.size() + 2; ++i) fmt::print("---|");
  fmt::print("\n");
  for (const std::string& name : names) {
    zoo::ZooOptions zoo_options;
    zoo_options.weights = false;
    const auto graph = zoo::Build(name, zoo_options);
    if (!graph) return 1;
    std::string gaps;
    double bound = 0;
    double learned_seconds = 0;
    double exact_seconds = 0;
    for (const std::string& order : orders) {
      compile::Options options;
      options.order = *compile::OrderStrategyNamed(order);
      options.place = options.place_file_order = false;
      options.limits.max_states = kStatesForAFewSeconds;
      const Clock clock;
      const auto compiled = compile::Compile(*graph, options);
      if (!compiled) return 1;
      const plan::EntryPlan& plan = plan::LargestEntry(compiled->plan);
      if (order == "exact") bound = static_cast<double>(plan.peak_lower_bound_bytes);
      if (order == "exact") exact_seconds = clock.Seconds();
      if (order == "learned") learned_seconds = clock.Seconds();
      gaps += fmt::format(" {:.2f} |", Gap(static_cast<double>(plan.peak_bytes), bound));
    }
    fmt::print("| {} | {} | {:.0f} |{} {:.3f} | {:.3f} |\n", name,
               graph->subgraphs[graph::SubgraphId(0)].ops.size(), bound, gaps, learned_seconds,
               exact_seconds);
    std::fflush(stdout);
  }
  return 0;
}

struct Configuration {
  const char* name;
  learn::Coder encoder;
  learn::Coder decoder;
  learn::Mask mask;
  std::int32_t max_nodes;  // more take minutes
};

// Of one run from graph to repaired order; untrained weights of the width of the built-in ones.
double MillisecondsOf(const Configuration& configuration, std::int32_t nodes) {
  learn::ModelConfig config;
  config.encoder = configuration.encoder;
  config.decoder = configuration.decoder;
  config.mask = configuration.mask;
  const learn::Model model = learn::InitialModel(config, 1);
  const learn::Network network(model);
  learn::SamplerOptions options;
  options.nodes = nodes;
  options.min_levels = nodes / 6;
  options.max_levels = nodes / 4;
  Random random(1);
  const learn::Dag dag = learn::Sample(options, &random);
  constexpr double kMinSeconds = 0.2;
  const std::clock_t start = std::clock();
  const auto seconds = [&] { return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC; };
  int runs = 0;
  std::size_t ops = 0;
  for (; runs == 0 || seconds() < kMinSeconds; ++runs) {
    ops += learn::Repair(dag, learn::GreedyNodes(network, dag)).size();
  }
  NEAP_CHECK(ops == static_cast<std::size_t>(runs) * static_cast<std::size_t>(nodes),
             "an order has every operator");
  return seconds() * 1000 / runs;
}

int Time() {
  using learn::Coder;
  using learn::Mask;
  constexpr std::int32_t kNodes[] = {30, 100, 782};  // the document's largest network has 782
  constexpr Configuration kConfigurations[] = {
      {"LSTM-LSTM, `visited`", Coder::kLstm, Coder::kLstm, Mask::kVisited, 782},
      {"LSTM-LSTM, `ready`", Coder::kLstm, Coder::kLstm, Mask::kReady, 782},
      {"Transformer-LSTM, `visited`", Coder::kTransformer, Coder::kLstm, Mask::kVisited, 782},
      {"LSTM-Transformer, `visited`", Coder::kLstm, Coder::kTransformer, Mask::kVisited, 100}};
  fmt::print("| configuration |");
  for (const std::int32_t nodes : kNodes) fmt::print(" {} nodes |", nodes);
  fmt::print("\n|---|---|---|---|\n");
  for (const Configuration& configuration : kConfigurations) {
    fmt::print("| {} |", configuration.name);
    for (const std::int32_t nodes : kNodes) {
      if (nodes > configuration.max_nodes) {
        fmt::print(" not run |");
      } else {
        fmt::print(" {:.1f} ms |", MillisecondsOf(configuration, nodes));
      }
    }
    fmt::print("\n");
    std::fflush(stdout);
  }
  return 0;
}

int Run(const std::vector<std::string>& args) {
  if (args.empty()) return 2;
  if (args[0] == "time") return Time();
  if (args[0] == "zoo") return Zoo({args.begin() + 1, args.end()});
  learn::Model model =
      learn::BuiltinModel(args[0] == "peak" ? learn::Task::kPeak : learn::Task::kStages);
  if (args[0] == "figure3") {
    return Figure3(learn::Network(model), args.size() > 1 ? args[1] : "");
  }
  if (args.size() > 1) {
    const auto bytes = io::ReadFile(args[1]);
    if (!bytes) return 1;
    auto read = learn::ParseModel(**bytes);
    if (!read) return 1;
    model = std::move(*read);
  }
  const learn::Network network(model);
  if (args[0] == "networks") return Networks(network);
  if (args[0] == "children") return Children(network);
  if (args[0] == "stages") return WideStages(network);
  if (args[0] == "peak") return WidePeak(network);
  return 2;
}

}  // namespace
}  // namespace neap

int main(int argc, char** argv) { return neap::Run({argv + 1, argv + argc}); }
