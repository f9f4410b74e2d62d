// SPDX-License-Identifier: Apache-2.0
#include "testing/random_plans.h"

#include <algorithm>
#include <utility>

#include "neap/base/bytes.h"
#include "neap/check/check.h"
#include "neap/compile/compile.h"
#include "neap/execute/evaluate.h"
#include "neap/execute/inline_calls.h"
#include "neap/execute/inputs.h"
#include "neap/execute/run.h"
#include "neap/plan/profile.h"
#include "neap/transform/cascade/region.h"
#include "neap/transform/rewrite/rewrite.h"
#include "neap/transform/stream/entries.h"

namespace neap::property {
namespace {

using graph::Graph;
using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;
using graph::TensorId;
using plan::OverlapKind;
using plan::Runtime;

constexpr SubgraphId kMain(0);
constexpr std::int64_t kMemory = 1 << 24;

bool IsOnnx(const Graph& graph) {
  const auto& ops = graph.subgraphs[kMain].ops;
  return std::any_of(ops.begin(), ops.end(), [](const Op& op) { return op.domain.empty(); });
}

template <typename T, std::size_t kCount>
T OneOf(const T (&list)[kCount], Random* random) {
  return list[random->Below(kCount)];
}

compile::Options RandomOptions(Random* random) {
  compile::Options options;
  constexpr Runtime kRuntimes[] = {Runtime::kIdeal,  Runtime::kIdealInPlace, Runtime::kTflm,
                                   Runtime::kLitert, Runtime::kOnnxRuntime,  Runtime::kNeap,
                                   Runtime::kNeap,   Runtime::kNeap};
  constexpr const char* kOrders[] = {"exact", "exact", "file", "random", "beam"};
  constexpr ops::KernelLibrary kLibraries[] = {
      ops::KernelLibrary::kNone, ops::KernelLibrary::kCopies, ops::KernelLibrary::kTflmReference};
  options.runtime = OneOf(kRuntimes, random);
  options.order = *compile::OrderStrategyNamed(OneOf(kOrders, random));
  options.seed = random->Next() >> 40U;
  if (options.runtime != Runtime::kNeap) options.kernels = OneOf(kLibraries, random);
  options.keep_inputs = random->Chance(1, 8);
  options.limits.max_states = 2000;
  options.placement_states = 1000;
  options.check = false;
  return options;
}

// A bad input is an answer; a defect is not.
std::optional<Planned> PlannedOf(const Graph& graph, const compile::Options& options,
                                 Result<compile::Compiled> compiled) {
  if (!compiled) return std::nullopt;
  return Planned{graph, std::move(compiled->plan), execute::Kernels::kLitert, options.keep_inputs};
}

std::optional<Planned> Compiled(const Graph& graph, const compile::Options& options) {
  return PlannedOf(graph, options, compile::Compile(graph, options));
}

std::int64_t BytesOfAll(const Graph& graph) {
  std::int64_t bytes = 0;
  for (const graph::Tensor& tensor : graph.subgraphs[kMain].tensors) {
    if (!tensor.constant) bytes += AlignUp(graph::TensorBytes(tensor).value_or(0), 16);
  }
  return bytes;
}

std::optional<Planned> InMemories(const Graph& graph, Random* random) {
  compile::Options options = RandomOptions(random);
  const std::int64_t all = BytesOfAll(graph);
  options.memories = {{"fast", random->Between(16, all + 16), 8000}, {"slow", all + 64, 1000}};
  if (random->Chance(1, 3)) options.memories.push_back({"slower", all + 64, 500});
  return Compiled(graph, options);
}

std::optional<Planned> Moving(const Graph& graph, Random* random) {
  compile::Options options = RandomOptions(random);
  constexpr Runtime kRuntimes[] = {Runtime::kIdeal, Runtime::kTflm};
  options.runtime = OneOf(kRuntimes, random);
  options.kernels = ops::KernelLibrary::kNone;
  options.moves =
      random->Chance(1, 2) ? compile::MoveStrategy::kBest : compile::MoveStrategy::kCompact;
  return Compiled(graph, options);
}

std::optional<Planned> Rewritten(const Graph& graph, Random* random) {
  const compile::Options options = RandomOptions(random);
  rewrite::SearchOptions search;
  search.max_work = 3000;
  search.settings = rewrite::SettingsFor(options.runtime, search.settings);
  if (options.runtime == Runtime::kNeap) {
    search.settings.own_kernels = true;
    if (random->Chance(1, 2)) search.settings.sums = rewrite::Sums::kInPlace;
  }
  const auto found = rewrite::Search(graph, options, search);
  if (!found || found->applications.empty()) return std::nullopt;
  return Compiled(found->graph, options);
}

// The operators before one of them that are reached from it, as far as chance goes.
std::vector<OpId> RandomRegion(const Subgraph& main, Random* random) {
  const auto producers = graph::Producers(main);
  std::vector<OpId> region = {OpId(static_cast<std::size_t>(random->Below(main.ops.size())))};
  for (std::size_t at = 0; at < region.size(); ++at) {
    for (const TensorId id : main.ops[region[at]].inputs) {
      if (!id.valid() || !producers[id].valid() || random->Chance(1, 6)) continue;
      if (std::find(region.begin(), region.end(), producers[id]) != region.end()) continue;
      region.push_back(producers[id]);
    }
  }
  std::sort(region.begin(), region.end());
  return region;
}

std::optional<Planned> InTiles(const Graph& graph, cascade::TileBodies bodies, Random* random) {
  const Subgraph& main = graph.subgraphs[kMain];
  cascade::RegionPlan region;
  region.ops = RandomRegion(main, random);
  const cascade::Border border = cascade::BorderOf(main, region.ops);
  if (border.outputs.size() != 1) return std::nullopt;
  const graph::Shape& out = *main.tensors[border.outputs[0]].shape;
  for (std::size_t axis = 0; axis < out.size(); ++axis) {
    if (out[axis] < 2 || random->Chance(1, 3)) continue;
    region.splits.push_back(cascade::EvenSplit(
        axis, out[axis], random->Between(2, std::min<std::int64_t>(out[axis], 5))));
  }
  if (region.splits.empty() || region.splits.size() > 2) return std::nullopt;
  const auto tiled = cascade::Realise(graph, {region}, {}, bodies);
  if (!tiled) return std::nullopt;
  if (bodies == cascade::TileBodies::kShared && tiled->subgraphs.size() == graph.subgraphs.size()) {
    return std::nullopt;
  }
  return Compiled(cascade::WithoutUnused(*tiled), RandomOptions(random));
}

std::optional<Planned> Streamed(const Graph& graph, Random* random) {
  compile::Options options = RandomOptions(random);
  constexpr plan::StreamInput kInputs[] = {plan::StreamInput::kResident,
                                           plan::StreamInput::kExternal, plan::StreamInput::kRows};
  options.runtime = Runtime::kNeap;
  options.kernels = ops::KernelLibrary::kNone;
  options.keep_inputs = false;
  stream::Settings settings;
  settings.input = OneOf(kInputs, random);
  settings.max_macs_permille = random->Chance(1, 2) ? 1000 : 5000;
  auto planned = PlannedOf(graph, options, stream::CompileStreamed(graph, options, settings));
  const auto streams = [](const plan::EntryPlan& entry) { return entry.stream.has_value(); };
  if (!planned ||
      std::none_of(planned->plan.entries.begin(), planned->plan.entries.end(), streams)) {
    return std::nullopt;
  }
  return planned;
}

std::optional<Planned> MakeOne(const Graph& graph, PlanKind kind, Random* random) {
  switch (kind) {
    case PlanKind::kAddresses:
      return Compiled(graph, RandomOptions(random));
    case PlanKind::kMemories:
      return InMemories(graph, random);
    case PlanKind::kMoves:
      return Moving(graph, random);
    case PlanKind::kRewrites:
      return Rewritten(graph, random);
    case PlanKind::kTiles:
      return InTiles(graph, cascade::TileBodies::kClones, random);
    case PlanKind::kBodies:
      return InTiles(graph, cascade::TileBodies::kShared, random);
    case PlanKind::kStreams:
      return Streamed(graph, random);
  }
  return std::nullopt;
}

}  // namespace

const char* NameOf(PlanKind kind) {
  constexpr const char* kNames[kPlanKinds] = {"addresses", "memories", "moves",  "rewrites",
                                              "tiles",     "bodies",   "streams"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::optional<Planned> MakePlan(const Graph& graph, PlanKind kind, Random* random) {
  auto planned = MakeOne(graph, kind, random);
  if (!planned) return planned;
  planned->kernels = IsOnnx(graph)          ? execute::Kernels::kOnnx
                     : random->Chance(1, 2) ? execute::Kernels::kTflm
                                            : execute::Kernels::kLitert;
  return planned;
}

std::vector<std::string> Check(const Planned& planned) {
  return check::CheckPlan(planned.graph, planned.plan);
}

bool WritesOverInputs(const Planned& planned) {
  return std::any_of(
      planned.plan.entries.begin(), planned.plan.entries.end(), [&](const plan::EntryPlan& entry) {
        const auto& inputs = planned.graph.subgraphs[entry.subgraph].inputs;
        return std::any_of(entry.overlaps.begin(), entry.overlaps.end(), [&](const auto& overlap) {
          const bool holds =
              overlap.kind == OverlapKind::kHoldsInput || overlap.kind == OverlapKind::kHoldsOutput;
          return !holds && overlap.subgraph == entry.subgraph &&
                 std::find(inputs.begin(), inputs.end(), overlap.input) != inputs.end();
        });
      });
}

namespace {

std::string Judge(const Graph& given, const Graph& graph, const plan::EntryPlan& entry,
                  execute::Kernels kernels, std::uint64_t seed) {
  const auto inputs = execute::RandomInputs(given.subgraphs[entry.subgraph], seed, kMemory);
  if (!inputs) return inputs.error().ToString();
  execute::RunOptions options;
  options.kernels = kernels;
  const auto run = execute::Run(graph, entry, *inputs, options);
  if (!run) return "cannot be run: " + run.error().ToString();
  if (!run->violations.empty()) return run->violations.front();
  if (run->high_water_bytes > run->arena_bytes) return "writes above its arena";
  execute::EvaluateOptions unplanned;
  unplanned.kernels = kernels;
  const auto apart = execute::Evaluate(given, entry.subgraph, *inputs, unplanned);
  if (!apart) return "the network cannot be run: " + apart.error().ToString();
  for (std::size_t i = 0; i < apart->size(); ++i) {
    if (run->outputs[i].bytes == (*apart)[i].bytes) continue;
    return "output " + std::to_string(i) + " differs from that of an unplanned run";
  }
  return "";
}

// Calls whose body is known are written out: kernels know no control flow.
Graph Flat(const Graph& graph, SubgraphId subgraph) {
  return execute::HasKnownCalls(graph, subgraph) ? execute::InlineCalls(graph, subgraph) : graph;
}

}  // namespace

std::string Judge(const Graph& given, const Planned& planned, std::uint64_t seed) {
  for (const plan::EntryPlan& entry : planned.plan.entries) {
    const Graph flat_given = Flat(given, entry.subgraph);
    const Graph flat = Flat(planned.graph, entry.subgraph);
    std::string wrong;
    if (execute::HasKnownCalls(planned.graph, entry.subgraph)) {
      const auto flat_entry = execute::InlineCalls(planned.graph, entry);
      wrong = flat_entry ? Judge(flat_given, flat, *flat_entry, planned.kernels, seed)
                         : "its calls cannot be written out: " + flat_entry.error().ToString();
    } else {
      wrong = Judge(flat_given, flat, entry, planned.kernels, seed);
    }
    if (!wrong.empty()) return "entry " + std::to_string(entry.subgraph.value()) + ": " + wrong;
  }
  return "";
}

namespace {

// Tensors at one address by a rule that the planner does not choose: they move as one.
std::vector<std::size_t> Chain(const plan::EntryPlan& entry, std::size_t first) {
  std::vector<std::size_t> chain = {first};
  for (std::size_t at = 0; at < chain.size(); ++at) {
    const plan::TensorPlacement& here = entry.tensors[chain[at]];
    for (const plan::Overlap& overlap : entry.overlaps) {
      if (overlap.kind != OverlapKind::kInPlace && overlap.kind != OverlapKind::kHoldsInput) {
        continue;
      }
      for (std::size_t i = 0; i < entry.tensors.size(); ++i) {
        const plan::TensorPlacement& other = entry.tensors[i];
        const bool joined = (overlap.input == here.tensor && overlap.output == other.tensor) ||
                            (overlap.output == here.tensor && overlap.input == other.tensor);
        if (!joined || other.subgraph != overlap.subgraph || here.subgraph != overlap.subgraph ||
            other.offset != here.offset ||
            std::find(chain.begin(), chain.end(), i) != chain.end()) {
          continue;
        }
        chain.push_back(i);
      }
    }
  }
  return chain;
}

// An overlap of any kind that could be the reason for two tensors of one operator to share bytes.
void Claim(const plan::TensorPlacement& in, const plan::TensorPlacement& out, std::int32_t slot,
           plan::EntryPlan* entry, Random* random) {
  constexpr OverlapKind kKinds[] = {OverlapKind::kStartsBelow, OverlapKind::kStartsBelow,
                                    OverlapKind::kHoldsInput,  OverlapKind::kHoldsOutput,
                                    OverlapKind::kDeadPart,    OverlapKind::kCopiedIn};
  plan::Overlap overlap{slot, in.subgraph, in.tensor, out.tensor, OneOf(kKinds, random), 0};
  const std::int64_t distance = in.offset - out.offset;
  if (overlap.kind == OverlapKind::kStartsBelow) {
    overlap.bytes = random->Chance(1, 2) ? distance : 0;
  } else if (overlap.kind == OverlapKind::kHoldsInput) {
    overlap.bytes = distance;
  } else if (overlap.kind == OverlapKind::kHoldsOutput) {
    overlap.bytes = -distance;
  } else if (overlap.kind == OverlapKind::kDeadPart) {
    overlap.bytes = out.offset + AlignUp(out.bytes, 16) - in.offset;
  }
  entry->overlaps.push_back(overlap);
}

bool Share(const plan::TensorPlacement& a, const plan::TensorPlacement& b) {
  return a.memory == b.memory && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes &&
         a.first < b.last && b.first < a.last;
}

void ClaimAll(const Graph& graph, plan::EntryPlan* entry, Random* random) {
  const auto claimed = [&](const auto& a, const auto& b) {
    return std::any_of(entry->overlaps.begin(), entry->overlaps.end(), [&](const auto& overlap) {
      return overlap.subgraph == a.subgraph && overlap.input == a.tensor &&
             overlap.output == b.tensor;
    });
  };
  for (std::size_t slot = 0; slot < entry->steps.size(); ++slot) {
    const plan::Step& step = entry->steps[slot];
    if (!step.op.valid()) continue;
    const Op& op = graph.subgraphs[step.subgraph].ops[step.op];
    for (const plan::TensorPlacement& out : entry->tensors) {
      if (out.subgraph != step.subgraph ||
          std::find(op.outputs.begin(), op.outputs.end(), out.tensor) == op.outputs.end()) {
        continue;
      }
      for (const plan::TensorPlacement& in : entry->tensors) {
        if (in.subgraph != out.subgraph || in.tensor == out.tensor || !Share(in, out)) continue;
        if (claimed(in, out) || claimed(out, in)) continue;
        Claim(in, out, static_cast<std::int32_t>(slot), entry, random);
      }
    }
  }
}

// Heights as they are now, and bounds that claim nothing.
void Renumber(plan::EntryPlan* entry, std::int64_t alignment) {
  std::vector<std::int64_t> heights(std::max<std::size_t>(entry->memory_bytes.size(), 1), 0);
  const auto reach = [&](std::int64_t offset, std::int64_t bytes, std::int32_t memory) {
    std::int64_t& height = heights[static_cast<std::size_t>(memory)];
    height = std::max(height, offset + AlignUp(bytes, alignment));
  };
  for (const auto& tensor : entry->tensors) reach(tensor.offset, tensor.bytes, tensor.memory);
  for (const auto& scratch : entry->scratch) reach(scratch.offset, scratch.bytes, scratch.memory);
  entry->arena_bytes = 0;
  for (const std::int64_t height : heights) entry->arena_bytes += height;
  if (!entry->memory_bytes.empty()) entry->memory_bytes = heights;
  entry->arena_given_order_lower_bound_bytes = 0;
  entry->arena_lower_bound_bytes = 0;
  entry->arena_certificate = {};
  entry->arena_status =
      entry->arena_bytes == 0 ? plan::BoundStatus::kOptimal : plan::BoundStatus::kBounded;
}

}  // namespace

bool Displace(plan::Plan* plan, const Graph& graph, Random* random) {
  plan::EntryPlan& entry = plan->entries[random->Below(plan->entries.size())];
  if (entry.stream || entry.tensors.size() < 2) return false;
  const std::int64_t alignment = plan::ProfileOf(plan->runtime).alignment;
  if (plan->kernels == ops::KernelLibrary::kNone) {
    constexpr ops::KernelLibrary kLibraries[] = {
        ops::KernelLibrary::kNeap, ops::KernelLibrary::kTflmReference, ops::KernelLibrary::kCopies};
    plan->kernels = OneOf(kLibraries, random);
  }
  // Chosen overlaps are claimed again; those of the profile are facts.
  const bool shares = plan->runtime == Runtime::kLitert;
  for (std::int64_t times = random->Between(1, 2); times > 0; --times) {
    const auto chain = Chain(entry, static_cast<std::size_t>(random->Below(entry.tensors.size())));
    const plan::TensorPlacement& to = entry.tensors[random->Below(entry.tensors.size())];
    const std::int64_t bytes = AlignUp(entry.tensors[chain[0]].bytes, alignment);
    const std::int64_t end = to.offset + AlignUp(to.bytes, alignment);
    const std::int64_t places[] = {to.offset,
                                   end,
                                   end - bytes,
                                   to.offset - bytes,
                                   to.offset + alignment,
                                   to.offset - alignment,
                                   0};
    const std::int64_t offset = OneOf(places, random);
    if (offset < 0) return false;
    for (const std::size_t i : chain) entry.tensors[i].offset = offset;
  }
  std::erase_if(entry.overlaps, [&](const plan::Overlap& overlap) {
    const bool fact = overlap.kind == OverlapKind::kInPlace ||
                      (shares && overlap.kind == OverlapKind::kHoldsInput);
    return !fact;
  });
  ClaimAll(graph, &entry, random);
  Renumber(&entry, alignment);
  return true;
}

namespace {

std::string ListOf(const std::vector<TensorId>& ids) {
  std::string text;
  for (const TensorId id : ids) text += " t" + std::to_string(id.value());
  return text;
}

std::string Describe(const Graph& graph, const plan::EntryPlan& entry) {
  std::string text = "inputs" + ListOf(graph.subgraphs[entry.subgraph].inputs) + "; outputs" +
                     ListOf(graph.subgraphs[entry.subgraph].outputs) + "; arena " +
                     std::to_string(entry.arena_bytes) + ", peak " +
                     std::to_string(entry.peak_bytes) + " (bound " +
                     std::to_string(entry.peak_lower_bound_bytes) + ", " +
                     std::string(NameOf(entry.certificate.kind)) + " #" +
                     std::to_string(entry.certificate.op.value()) + ")\n";
  for (std::size_t slot = 0; slot < entry.steps.size(); ++slot) {
    const plan::Step& step = entry.steps[slot];
    text += std::to_string(slot) + " s" + std::to_string(step.subgraph.value()) + " ";
    if (step.moved.valid()) text += "move t" + std::to_string(step.moved.value());
    if (step.op.valid()) {
      const Op& op = graph.subgraphs[step.subgraph].ops[step.op];
      text += "#" + std::to_string(step.op.value()) + " " + op.type + ListOf(op.inputs) + " ->" +
              ListOf(op.outputs);
      if (op.scratch_bytes > 0) text += " scratch " + std::to_string(op.scratch_bytes);
      if (op.stateful) text += " stateful";
    }
    text += "\n";
  }
  for (const plan::TensorPlacement& place : entry.tensors) {
    const graph::Tensor& tensor = graph.subgraphs[place.subgraph].tensors[place.tensor];
    text += "s" + std::to_string(place.subgraph.value()) + " t" +
            std::to_string(place.tensor.value()) + " " + std::string(graph::NameOf(tensor.type)) +
            "[";
    for (const std::int64_t d : *tensor.shape) text += std::to_string(d) + ",";
    text += "] at " + std::to_string(place.offset) + " in " + std::to_string(place.memory) + ", " +
            std::to_string(place.bytes) + " B, slots " + std::to_string(place.first) + ".." +
            std::to_string(place.last) + "\n";
  }
  text += "arena bound " + std::to_string(entry.arena_lower_bound_bytes) + ", " +
          std::string(NameOf(entry.arena_certificate.kind)) + "\n";
  for (const plan::CertificatePath& path : entry.certificate.flow) {
    text += "flow of " + std::to_string(path.bytes) + ":" + ListOf(path.tensors) + "\n";
  }
  for (const plan::Overlap& overlap : entry.overlaps) {
    text += "slot " + std::to_string(overlap.slot) + " t" + std::to_string(overlap.input.value()) +
            " t" + std::to_string(overlap.output.value()) + " " +
            std::string(NameOf(overlap.kind)) + " " + std::to_string(overlap.bytes) + "\n";
  }
  return text;
}

}  // namespace

std::string Describe(const Graph& given, const Planned& planned) {
  std::string text = "of";
  for (const Op& op : given.subgraphs[kMain].ops) {
    text += " " + op.type + ListOf(op.inputs) + " ->" + ListOf(op.outputs) + ";";
  }
  text += "\n";
  text += std::string(plan::ProfileOf(planned.plan.runtime).name) + ", kernels " +
          std::string(ops::NameOf(planned.plan.kernels)) + "\n";
  for (const plan::EntryPlan& entry : planned.plan.entries) text += Describe(planned.graph, entry);
  return text;
}

}  // namespace neap::property
