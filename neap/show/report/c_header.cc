// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>

#include "neap/base/bytes.h"
#include "neap/plan/profile.h"
#include "neap/show/report/proof_text.h"
#include "neap/show/report/report.h"

namespace neap::report {
namespace {

// "build/person-detect.h" -> "PERSON_DETECT"; a macro must not begin with a digit.
std::string PrefixOf(const std::string& path) {
  std::string stem = path.substr(path.find_last_of('/') + 1);
  stem = stem.substr(0, stem.find_last_of('.'));
  std::string prefix;
  for (const char c : stem) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = byte < 128 && std::isalnum(byte) != 0;
    prefix += plain ? static_cast<char>(std::toupper(byte)) : '_';
  }
  if (prefix.empty() || std::isdigit(static_cast<unsigned char>(prefix.front())) != 0 ||
      prefix.front() == '_') {
    prefix = "MODEL_" + prefix;
  }
  return prefix;
}

// A string literal of C with these bytes. Every byte that is not plain has three octal digits, so
// that a following digit is not part of it.
std::string Literal(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\' && c != '?';
    out += plain ? std::string(1, c) : fmt::format("\\{:03o}", byte);
  }
  return out + "\"";
}

// Text from a file inside a comment.
std::string InComment(const std::string& text) {
  std::string out;
  for (const char c : Printable(text, 4096)) {
    const bool ends = c == '/' && !out.empty() && out.back() == '*';
    const bool begins = c == '*' && !out.empty() && out.back() == '/';
    out += ends || begins ? '_' : c;
  }
  return out;
}

std::string Define(const std::string& prefix, std::string_view name, std::int64_t value,
                   std::string_view comment) {
  return fmt::format("#define {}_{} {} /* {} */\n", prefix, name, value, comment);
}

std::string TensorsText(const graph::Graph& graph, const plan::EntryPlan& entry,
                        const std::string& prefix, const std::string& suffix) {
  std::string out = fmt::format("#define {}_TENSORS{} {}\n", prefix, suffix, entry.tensors.size());
  out += fmt::format("#define {}_FOR_EACH_TENSOR{}(X)", prefix, suffix);
  for (const plan::TensorPlacement& placement : entry.tensors) {
    const graph::Tensor& tensor = graph.subgraphs[placement.subgraph].tensors[placement.tensor];
    out += fmt::format(" \\\n  X({}, {}, {}, {}, {}, {})", placement.subgraph.value(),
                       placement.tensor.value(), placement.memory, placement.offset,
                       placement.bytes, Literal(tensor.name));
  }
  return out + "\n";
}

// The arena of each of several memories, over all entries.
std::string MemoriesText(const plan::Plan& planned, const std::string& prefix) {
  std::string out;
  for (std::size_t at = 0; at < planned.memories.size(); ++at) {
    std::int64_t top = 0;
    const auto raise = [&](const auto& placement) {
      if (static_cast<std::size_t>(placement.memory) != at) return;
      top = std::max(top, placement.offset + placement.bytes);
    };
    for (const plan::EntryPlan& entry : planned.entries) {
      for (const auto& tensor : entry.tensors) raise(tensor);
      for (const auto& scratch : entry.scratch) raise(scratch);
    }
    out += Define(prefix, fmt::format("MEMORY_{}_BYTES", at),
                  AlignUp(top, plan::ProfileOf(planned.runtime).alignment),
                  InComment(planned.memories[at].name));
  }
  return out;
}

std::string TargetText(const target::Target& target) {
  const bool is_named = target.kernels != target::Kernels::kReference;
  return std::string(target.title) + (is_named ? "" : ", reference kernels");
}

std::string ShimText(const PlanReport& report, const std::string& prefix) {
  const compile::Compiled& compiled = *report.compiled;
  const bool moves_or_memories = compiled.offsets.empty() && !compiled.plan.memories.empty();
  if (compiled.plan.runtime != plan::Runtime::kTflm || moves_or_memories) return "";
  if (!compiled.unknown_kernels.empty()) {
    return fmt::format("/* No plan for NonPersistentMemoryPlannerShim: {}. */\n",
                       InComment(PrintableScratch(compiled.unknown_kernels)));
  }
  std::string out =
      "/* For tflite::NonPersistentMemoryPlannerShim, with the kernels of " +
      TargetText(*compiled.plan.target) +
      ":\n"
      "   buffer_count, then an offset for each AddBuffer call (tensors of all subgraphs by "
      "index,\n"
      "   then scratch).\n"
      "     static const int32_t plan[] = " +
      prefix +
      "_BUFFER_PLAN;\n"
      "     tflite::NonPersistentMemoryPlannerShim planner(\n"
      "         reinterpret_cast<const tflite::BufferPlan*>(plan));\n"
      "   It rejects a model that contains an offline memory plan: write the model with "
      "--no-memory-plan.\n"
      "   The shim reserves no memory: pass TFLM a non-persistent arena of " +
      prefix + "_ARENA_BYTES. */\n";
  out += fmt::format("#define {}_BUFFERS {}\n", prefix, compiled.buffer_offsets.size());
  out += fmt::format("#define {}_BUFFER_PLAN {{ {}", prefix, compiled.buffer_offsets.size());
  for (const std::int64_t offset : compiled.buffer_offsets)
    out += fmt::format(", \\\n  {}", offset);
  return out + " }\n";
}

}  // namespace

std::string CHeader(const PlanReport& report, const std::string& path) {
  const compile::Compiled& compiled = *report.compiled;
  const plan::Plan& planned = compiled.plan;
  const std::string prefix = PrefixOf(path);
  const std::string guard = prefix + "_NEAP_H";
  std::string out = fmt::format("/* Memory of {} (sha256 {}), planned by Neap {} for {}. */\n",
                                InComment(planned.model), planned.model_sha256,
                                planned.neap_version, plan::ProfileOf(planned.runtime).name);
  out += fmt::format("#ifndef {}\n#define {}\n\n", guard, guard);
  const bool stock = compiled.delivered_arena_bytes >= 0;
  if (compiled.unknown_kernels.empty()) {
    out += Define(prefix, "ARENA_BYTES",
                  stock ? compiled.delivered_arena_bytes : plan::LargestEntry(planned).arena_bytes,
                  stock ? "activations alone, as TFLM allocates them" : "activations");
  } else {
    out += fmt::format("/* The arena size is unknown: {}. */\n",
                       InComment(PrintableScratch(compiled.unknown_kernels)));
  }
  out += Define(prefix, "ARENA_ALIGNMENT", plan::ProfileOf(planned.runtime).alignment,
                "of offsets and of the arena's start");
  out += MemoriesText(planned, prefix);
  if (const compile::TflmTotal* total = TotalOf(compiled); total != nullptr) {
    if (total->missing.empty()) {
      out += Define(prefix, "TENSOR_ARENA_BYTES", total->total_arena_bytes,
                    "tensor_arena[], TFLM's total arena: " + TargetText(*total->target));
    } else {
      out += fmt::format("/* TFLM's total arena is unknown: {}. */\n", InComment(total->missing));
    }
  }
  out +=
      "\n/* X(subgraph, tensor index, memory, offset, bytes, name), once for every address of a "
      "tensor. */\n";
  for (const plan::EntryPlan& entry : planned.entries) {
    const bool main = entry.subgraph.value() == 0;
    out += TensorsText(*report.graph, entry, prefix,
                       main ? "" : fmt::format("_OF_{}", entry.subgraph.value()));
  }
  const std::string shim = ShimText(report, prefix);
  if (!shim.empty()) out += "\n" + shim;
  return out + fmt::format("\n#endif /* {} */\n", guard);
}

}  // namespace neap::report
