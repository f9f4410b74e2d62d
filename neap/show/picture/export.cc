// SPDX-License-Identifier: Apache-2.0
//
// Files for spreadsheets and for other people's viewers.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>

#include "neap/compile/entry_memory.h"
#include "neap/show/picture/picture.h"
#include "neap/show/picture/svg.h"
#include "neap/show/report/text.h"

namespace neap::picture {
namespace {

using nlohmann::ordered_json;

std::string Dump(const ordered_json& json) {
  return json.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

// RFC 4180; a cell that a spreadsheet would take for a formula begins with a quote.
std::string Cell(const std::string& text) {
  std::string printable = report::Printable(text, 4096);
  const bool formula =
      !printable.empty() && std::string_view("=+-@").find(printable[0]) != std::string_view::npos;
  if (formula) printable.insert(printable.begin(), '\'');
  std::string out = "\"";
  for (const char c : printable) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

std::string DotText(std::string_view text) {
  std::string out;
  for (const char c : report::Printable(text, 200)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

// Live bytes and step of every operator of the largest entry.
struct OpFacts {
  std::map<std::int32_t, std::pair<std::size_t, std::int64_t>> by_op;
  graph::SubgraphId subgraph;
  std::int64_t most = 0;
};

OpFacts FactsOf(const graph::Graph& graph, const compile::Compiled& compiled) {
  OpFacts facts;
  const plan::EntryPlan& entry = plan::LargestEntry(compiled.plan);
  facts.subgraph = entry.subgraph;
  const auto run = RunOf(graph, compiled, "");
  if (!run) return facts;
  for (std::size_t slot = 0; slot < entry.steps.size(); ++slot) {
    const plan::Step& step = entry.steps[slot];
    if (step.subgraph != entry.subgraph || !step.op.valid()) continue;
    const std::int64_t live = run->steps[slot].live_bytes;
    facts.by_op.emplace(step.op.value(), std::pair(slot, live));
    facts.most = std::max(facts.most, live);
  }
  return facts;
}

}  // namespace

std::string StepsCsv(const Run& run) {
  std::string out = "step,operator,live_bytes\r\n";
  for (std::size_t i = 0; i < run.steps.size(); ++i) {
    out += fmt::format("{},{},{}\r\n", i, Cell(run.steps[i].label), run.steps[i].live_bytes);
  }
  return out;
}

std::string TensorsCsv(const Run& run) {
  std::string out = "tensor,shape,bytes,first,last,offset,memory\r\n";
  for (const Buffer& buffer : run.buffers) {
    const std::string offset = buffer.offset < 0 ? "" : std::to_string(buffer.offset);
    out += fmt::format("{},{},{},{},{},{},{}\r\n", Cell(buffer.name), Cell(buffer.shape),
                       buffer.bytes, buffer.first, buffer.last, offset, buffer.memory);
  }
  return out;
}

std::string MapTrace(const Run& run) {
  ordered_json events = ordered_json::array();
  std::int64_t all = 0;
  for (const Buffer& buffer : run.buffers) all += buffer.last - buffer.first;
  // Beyond that viewers give up: every buffer in its first step alone.
  constexpr std::int64_t kMaxEvents = 500'000;
  for (const Buffer& buffer : run.buffers) {
    if (buffer.offset < 0) continue;
    const std::int32_t last = all > kMaxEvents ? buffer.first + 1 : buffer.last;
    for (std::int32_t step = buffer.first; step < last; ++step) {
      ordered_json event;
      event["name"] = buffer.name;
      event["cat"] = "memory_allocation";
      event["ph"] = "X";
      event["ts"] = buffer.offset;
      event["dur"] = buffer.bytes;
      event["pid"] = buffer.memory;
      event["tid"] = step;
      event["args"] = {{"op", run.steps[static_cast<std::size_t>(step)].label},
                       {"shape", buffer.shape},
                       {"offset", buffer.offset},
                       {"bytes", buffer.bytes}};
      events.push_back(std::move(event));
    }
  }
  return Dump({{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}});
}

std::string TimelineTrace(const Run& run) {
  ordered_json events = ordered_json::array();
  events.push_back({{"name", "process_name"},
                    {"ph", "M"},
                    {"pid", 0},
                    {"args", {{"name", run.title.empty() ? "run" : run.title}}}});
  for (std::size_t i = 0; i < run.steps.size(); ++i) {
    events.push_back({{"name", "live bytes"},
                      {"ph", "C"},
                      {"ts", i},
                      {"pid", 0},
                      {"args", {{"bytes", run.steps[i].live_bytes}}}});
    events.push_back({{"name", run.steps[i].label},
                      {"cat", "operator"},
                      {"ph", "X"},
                      {"ts", i},
                      {"dur", 1},
                      {"pid", 0},
                      {"tid", 0}});
  }
  // Slices of one track must nest: every tensor has its own.
  for (std::size_t i = 0; i < run.buffers.size(); ++i) {
    const Buffer& buffer = run.buffers[i];
    events.push_back(
        {{"name", buffer.name},
         {"cat", "tensor"},
         {"ph", "X"},
         {"ts", buffer.first},
         {"dur", buffer.last - buffer.first},
         {"pid", 0},
         {"tid", i + 1},
         {"args", {{"bytes", buffer.bytes}, {"offset", buffer.offset}, {"shape", buffer.shape}}}});
  }
  return Dump({{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}});
}

std::string Dot(const graph::Graph& graph, const compile::Compiled& compiled) {
  const OpFacts facts = FactsOf(graph, compiled);
  const graph::Subgraph& subgraph = graph.subgraphs[facts.subgraph];
  const auto producers = graph::Producers(subgraph);
  std::string out =
      "digraph neap {\n  rankdir=TB;\n"
      "  node [shape=box, style=filled, fontname=\"sans-serif\", fontsize=11];\n";
  for (const auto& [op, fact] : facts.by_op) {
    const auto& [slot, live] = fact;
    constexpr std::int64_t kShades = 8;
    const std::int64_t shade = 1 + (facts.most == 0 ? 0 : live * kShades / (facts.most + 1));
    out +=
        fmt::format("  op{} [label=\"{}. {}\\n{} B live\", colorscheme=blues9, fillcolor={}{}];\n",
                    op, slot, DotText(report::OpText(graph, facts.subgraph, graph::OpId(op))), live,
                    shade, shade > 5 ? ", fontcolor=white" : "");
  }
  for (const auto& [op, fact] : facts.by_op) {
    const graph::Op& of = subgraph.ops[graph::OpId(op)];
    for (const auto* list : {&of.inputs, &of.captures}) {
      for (const graph::TensorId id : *list) {
        if (!id.valid() || !producers[id].valid()) continue;
        if (!facts.by_op.contains(producers[id].value())) continue;
        out += fmt::format("  op{} -> op{};\n", producers[id].value(), op);
      }
    }
  }
  return out + "}\n";
}

std::string ModelExplorerData(const graph::Graph& graph, const compile::Compiled& compiled) {
  const OpFacts facts = FactsOf(graph, compiled);
  const graph::Subgraph& subgraph = graph.subgraphs[facts.subgraph];
  ordered_json results = ordered_json::object();
  for (const auto& [op, fact] : facts.by_op) {
    const graph::Op& of = subgraph.ops[graph::OpId(op)];
    const auto first = std::find_if(of.outputs.begin(), of.outputs.end(),
                                    [](graph::TensorId id) { return id.valid(); });
    if (first == of.outputs.end()) continue;
    const std::string& name = subgraph.tensors[*first].name;
    if (!name.empty()) results[name] = {{"value", fact.second}};
  }
  ordered_json gradient = ordered_json::array();
  gradient.push_back({{"stop", 0}, {"bgColor", "#f7fbff"}, {"textColor", "#000000"}});
  gradient.push_back({{"stop", 0.5}, {"bgColor", "#6baed6"}, {"textColor", "#000000"}});
  gradient.push_back({{"stop", 1}, {"bgColor", "#08306b"}, {"textColor", "#ffffff"}});
  return Dump({{"results", std::move(results)}, {"gradient", std::move(gradient)}});
}

}  // namespace neap::picture
