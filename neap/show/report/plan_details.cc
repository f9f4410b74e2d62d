// SPDX-License-Identifier: Apache-2.0
#include "neap/show/report/plan_details.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "neap/base/bytes.h"
#include "neap/ops/recurrence.h"
#include "neap/plan/stream_weights.h"
#include "neap/show/report/names.h"
#include "neap/show/report/proof_text.h"

namespace neap::report {
namespace {

// "order" or "arena".
std::string StatusText(std::string_view what, plan::BoundStatus status, std::int64_t bytes,
                       std::int64_t bound) {
  return status == plan::BoundStatus::kOptimal ? fmt::format("optimal {}", what)
                                               : "gap " + Gap(bytes, bound);
}

double Ratio(std::int64_t part, std::int64_t whole) {
  return whole <= 0 ? 1.0 : static_cast<double>(part) / static_cast<double>(whole);
}

// "split-conv 1, kernel-wise 2", in the order in which the rules occur.
std::string RuleCounts(const std::vector<plan::Rewrite>& rewrites) {
  std::vector<std::pair<std::string, int>> rules;
  for (const plan::Rewrite& rewrite : rewrites) {
    const auto known = std::find_if(rules.begin(), rules.end(),
                                    [&](const auto& rule) { return rule.first == rewrite.rule; });
    if (known == rules.end()) {
      rules.emplace_back(rewrite.rule, 1);
    } else {
      ++known->second;
    }
  }
  std::string list;
  for (const auto& [rule, count] : rules) {
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", rule, count);
  }
  return list;
}

// "operator #0 'CONV_2D'", "operators #0 'CONV_2D' to #4 'ADD'".
std::string OperatorsText(const graph::Graph& graph, graph::SubgraphId subgraph,
                          const plan::StreamSegment& segment) {
  std::vector<graph::OpId> ops;
  for (const plan::StreamOp& step : segment.ops) {
    if (step.op.valid()) ops.push_back(step.op);
  }
  if (ops.empty()) return "";
  std::string out = fmt::format(", operator{} {}", ops.size() == 1 ? "" : "s",
                                OpText(graph, subgraph, ops.front()));
  if (ops.size() > 1) out += " to " + OpText(graph, subgraph, ops.back());
  return out;
}

// "'input' 27,648 + 'conv1' 102 + 2 more 64 - 40 shared".
std::string AreasText(const graph::Graph& graph, graph::SubgraphId subgraph_id,
                      const plan::StreamImages& images, const plan::StreamSegment& segment,
                      std::int64_t height) {
  constexpr std::size_t kMaxNamed = 3;
  const graph::Subgraph& subgraph = graph.subgraphs[subgraph_id];
  std::vector<std::pair<std::int64_t, graph::TensorId>> areas;
  areas.reserve(segment.areas.size());
  for (const plan::StreamArea& area : segment.areas) {
    areas.emplace_back(plan::BytesOf(images, area), area.tensor);
  }
  std::stable_sort(areas.begin(), areas.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  const ShortNames names = ShortNames::OfTensors(graph);
  std::string out;
  std::int64_t sum = 0;
  std::int64_t more = 0;
  for (std::size_t i = 0; i < areas.size(); ++i) {
    const auto& [bytes, tensor] = areas[i];
    sum += bytes;
    if (i >= kMaxNamed) {
      more += bytes;
      continue;
    }
    const std::string name = names.Of(subgraph.tensors[tensor].name);
    out += fmt::format("{}{} {}", out.empty() ? "" : " + ",
                       name.empty() ? fmt::format("#{}", tensor.value()) : "'" + name + "'",
                       FormatCount(bytes));
  }
  if (areas.size() > kMaxNamed) {
    out += fmt::format(" + {} more {}", areas.size() - kMaxNamed, FormatCount(more));
  }
  if (const std::int64_t weights = plan::WeightBytesOf(subgraph, segment).size(); weights > 0) {
    sum += weights;
    out += fmt::format("{}weights {}", out.empty() ? "" : " + ", FormatCount(weights));
  }
  std::int64_t states = 0;
  for (const plan::StreamState& state : segment.states) {
    const auto recurrence = ops::RecurrenceOf(subgraph, subgraph.ops[state.op]);
    if (recurrence) states += recurrence->state_bytes;
  }
  if (states > 0) {
    sum += states;
    out += fmt::format("{}states {}", out.empty() ? "" : " + ", FormatCount(states));
  }
  if (sum > height) out += fmt::format(" - {} shared", FormatCount(sum - height));
  if (sum < height) out += fmt::format(" + {} between them", FormatCount(height - sum));
  return out;
}

// "1.204x", rounded up.
std::string RatioText(std::int64_t part, std::int64_t whole) {
  __extension__ using Wide = __int128;
  const auto permille =
      static_cast<std::int64_t>((static_cast<Wide>(part) * 1000 + whole - 1) / whole);
  return fmt::format("{}.{:03}x", permille / 1000, permille % 1000);
}

}  // namespace

std::string RewritesText(const PlanReport& report) {
  if (!report.rewriting) return "";
  const RewriteReport& rewriting = *report.rewriting;
  const plan::Plan& plan = report.compiled->plan;
  const bool bitwise = std::all_of(
      plan.rewrites.begin(), plan.rewrites.end(),
      [](const plan::Rewrite& rewrite) { return rewrite.exactness == plan::Exactness::kBitwise; });
  std::string out = fmt::format(
      "  rewritten: {} -> {} operators ({}), {}", FormatCount(CountOf(*rewriting.source).operators),
      FormatCount(CountOf(*report.graph).operators), RuleCounts(plan.rewrites),
      bitwise ? "the same output bytes" : "sums in another order");
  if (plan.accumulator_bytes == 1) out += ", 8-bit partial sums rounded";
  if (rewriting.growth_bytes > 0) {
    out += fmt::format(", {} B added to the file", FormatCount(rewriting.growth_bytes));
  } else if (rewriting.growth_bytes < 0) {
    out += fmt::format(", {} B removed from the file", FormatCount(-rewriting.growth_bytes));
  }
  // The bound is about rewrites alone.
  const bool combined = plan::LargestEntry(plan).stream || !plan.tiled_regions.empty() ||
                        !plan.repeated_order.empty();
  if (combined) return out + "\n";
  const std::int64_t bound = rewriting.peak_lower_bound_bytes;
  const bool least = bound >= plan::LargestEntry(plan).peak_bytes;
  return out + (least ? "\n    no choice of these rules has a smaller peak\n"
                      : fmt::format("\n    no choice of these rules has a peak below {} B\n",
                                    FormatCount(bound)));
}

std::string RepetitionText(const PlanReport& report) {
  if (!report.repetition || report.repetition->repetitions == 0) return "";
  const RepetitionReport& repetition = *report.repetition;
  std::string out = fmt::format("  recomputed: {} of {} runs repeat an operator, at {} the cost",
                                FormatCount(repetition.repetitions),
                                FormatCount(CountOf(*report.graph).operators),
                                RatioText(repetition.cost, repetition.base_cost));
  if (repetition.base_macs > 0) {
    out += fmt::format(" and {} the MACs", RatioText(repetition.macs, repetition.base_macs));
  }
  const std::int64_t bound = repetition.peak_lower_bound_bytes;
  if (bound <= 0) return out + "\n";
  const std::string most = RatioText(repetition.max_cost_permille, 1000);
  return out +
         (bound >= plan::LargestEntry(report.compiled->plan).peak_bytes
              ? fmt::format("\n    no sequence at up to {} the cost has a smaller peak\n", most)
              : fmt::format("\n    no sequence at up to {} the cost has a peak below {} B\n", most,
                            FormatCount(bound)));
}

std::string EntriesText(const PlanReport& report) {
  const plan::Plan& planned = report.compiled->plan;
  if (planned.entries.size() < 2) return "";
  std::string out = fmt::format("  {} entry subgraphs; the numbers above are of the largest\n",
                                planned.entries.size());
  for (const plan::EntryPlan& entry : planned.entries) {
    out += fmt::format(
        "    #{}{}: peak {} B ({})", entry.subgraph.value(),
        entry.signature.empty() ? "" : " '" + Printable(entry.signature) + "'",
        FormatCount(entry.peak_bytes),
        StatusText("order", entry.order_status, entry.peak_bytes, entry.peak_lower_bound_bytes));
    if (report.placed) {
      out += fmt::format(", arena {} B ({})", FormatCount(entry.arena_bytes),
                         StatusText("arena", entry.arena_status, entry.arena_bytes,
                                    entry.arena_lower_bound_bytes));
    }
    out += "\n";
  }
  return out;
}

std::string OverlapsText(const PlanReport& report) {
  const plan::EntryPlan& entry = plan::LargestEntry(report.compiled->plan);
  if (entry.overlaps.empty()) return "";
  const auto overwriting = std::count_if(entry.overlaps.begin(), entry.overlaps.end(),
                                         [](const auto& each) { return Overwrites(each.kind); });
  std::string out;
  if (overwriting == 1) out += "  1 output overwrites an input of its operator\n";
  if (overwriting > 1) {
    out += fmt::format("  {} outputs overwrite an input of their operator\n",
                       FormatCount(overwriting));
  }
  const ShortNames names = ShortNames::OfTensors(*report.graph);
  for (const graph::TensorId id : ClobberedInputs(*report.graph, entry)) {
    out += fmt::format("  model input '{}' is overwritten\n",
                       names.Of(report.graph->subgraphs[entry.subgraph].tensors[id].name));
  }
  return out;
}

std::string MemoriesText(const PlanReport& report) {
  const compile::Compiled& compiled = *report.compiled;
  if (compiled.plan.memories.empty()) return "";
  const plan::EntryPlan& entry = plan::LargestEntry(compiled.plan);
  std::string out;
  for (std::size_t i = 0; i < compiled.plan.memories.size(); ++i) {
    const plan::Memory& memory = compiled.plan.memories[i];
    out += fmt::format("  memory {}: {} of {} B\n", Printable(memory.name),
                       FormatCount(entry.memory_bytes[i]), FormatCount(memory.capacity_bytes));
  }
  const std::int64_t bound = compiled.access_cycles_lower_bound;
  return out + fmt::format("  access time {} cycles ({} for this order)\n",
                           FormatCount(compiled.access_cycles),
                           compiled.access_cycles <= bound ? "the minimum"
                                                           : "lower bound " + FormatCount(bound));
}

std::string StreamText(const PlanReport& report) {
  const plan::EntryPlan& entry = plan::LargestEntry(report.compiled->plan);
  if (!entry.stream) return "";
  const plan::Stream& stream = *entry.stream;
  const auto streamed =
      std::count_if(stream.segments.begin(), stream.segments.end(),
                    [](const plan::StreamSegment& segment) { return !segment.whole; });
  std::string_view input = "counted";
  if (stream.input == plan::StreamInput::kExternal) input = "not counted";
  if (stream.input == plan::StreamInput::kRows) input = "stored rows counted";
  if (stream.slow) input = "not counted";
  std::string out = fmt::format(
      "  {} of {} segments streamed, input {} ({})\n"
      "  {:.4f}x MACs and {:.3f}x modelled cycles, compared with layer by layer\n",
      streamed, stream.segments.size(), plan::NameOf(stream.input), input,
      Ratio(stream.macs, stream.layerwise_macs), Ratio(stream.cycles, stream.layerwise_cycles));
  if (stream.slow) {
    const plan::SlowMemory& slow = *stream.slow;
    out += fmt::format(
        "  slow memory: {} read, {} written, {} in all, lower bound {} B; {} tensors in {} B\n",
        FormatBytes(slow.read_bytes), FormatBytes(slow.written_bytes),
        FormatBytes(slow.TrafficBytes()), FormatCount(slow.traffic_lower_bound_bytes),
        slow.tensors.size(), FormatCount(slow.bytes));
    if (slow.weight_bytes) {
      out += fmt::format("  of the bytes read, weights: {}\n", FormatBytes(*slow.weight_bytes));
    }
    if (slow.ahead_bytes > 0) {
      out += fmt::format("  copies of {} begin {}\n", FormatBytes(slow.ahead_bytes),
                         slow.weight_bytes ? "ahead" : "one block ahead");
    }
    return out;
  }
  if (!HoldsForOnce(entry)) {
    // This plan computes pixels again and may need less.
    out += fmt::format("  lower bound {} B over {}: not valid for this plan\n",
                       FormatCount(stream.lower_bound_bytes), kOverOnce);
  }
  return out;
}

std::string StreamLimitText(const PlanReport& report) {
  const plan::EntryPlan& entry = plan::LargestEntry(report.compiled->plan);
  if (!entry.stream || entry.stream->segments.empty()) return "";
  const graph::Subgraph& subgraph = report.graph->subgraphs[entry.subgraph];
  const plan::StreamImages images = plan::ImagesOf(subgraph);
  const std::vector<plan::StreamSegment>& segments = entry.stream->segments;
  const auto fullest =
      std::max_element(segments.begin(), segments.end(), [&](const auto& a, const auto& b) {
        return plan::HeightOf(subgraph, images, a) < plan::HeightOf(subgraph, images, b);
      });
  const std::int64_t height = plan::HeightOf(subgraph, images, *fullest);
  return fmt::format(
      "Arena fullest in segment {} of {}{}: {} = {} B.\n", fullest - segments.begin() + 1,
      segments.size(), OperatorsText(*report.graph, entry.subgraph, *fullest),
      AreasText(*report.graph, entry.subgraph, images, *fullest, height), FormatCount(height));
}

std::string CascadeText(const PlanReport& report) {
  if (!report.cascade || report.cascade->tiles == 0) return "";
  const CascadeReport& cascade = *report.cascade;
  std::string out = fmt::format(
      "  {} tiles{}: {:.3f}x MACs, {} modelled cycles on {}\n"
      "    without tiles: arena {} B, {} modelled cycles\n",
      FormatCount(cascade.tiles), cascade.shared_bodies ? " with shared bodies" : "",
      Ratio(cascade.macs, cascade.uncut_macs), FormatCount(cascade.cycles),
      Printable(cascade.device), FormatCount(cascade.uncut_arena_bytes),
      FormatCount(cascade.uncut_cycles));
  for (const std::string& region : cascade.regions) out += "    " + region + "\n";
  return out;
}

std::string MovesText(const PlanReport& report) {
  const std::vector<Move> moves = MovesOf(plan::LargestEntry(report.compiled->plan));
  if (moves.empty()) return "";
  std::int64_t bytes = 0;
  for (const Move& move : moves) bytes += move.bytes;
  return fmt::format("  {} of live tensors, {} copied\n",
                     CountText(static_cast<std::int64_t>(moves.size()), "move"),
                     FormatBytes(bytes));
}

}  // namespace neap::report
