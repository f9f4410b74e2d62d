// SPDX-License-Identifier: Apache-2.0
#include "neap/emit/variables.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "neap/emit/lowering.h"
#include "neap/plan/stream.h"

namespace neap::emit {
namespace {

using graph::Subgraph;
using graph::TensorId;

// Where a tensor is in a part of the plan; `whole`: that part is the run.
struct Part {
  std::int64_t offset = 0;
  std::int32_t memory = 0;
  bool whole = false;
};

std::vector<Part> PartsOf(const plan::EntryPlan& entry, TensorId tensor) {
  std::vector<Part> parts;
  if (!entry.stream) {
    for (const plan::TensorPlacement& placed : entry.tensors) {
      if (placed.subgraph != entry.subgraph || placed.tensor != tensor) continue;
      const bool whole = placed.first <= 0 && placed.last >= std::ssize(entry.steps);
      parts.push_back({placed.offset, placed.memory, whole});
    }
    return parts;
  }
  for (const plan::StreamSegment& segment : entry.stream->segments) {
    for (const plan::StreamArea& area : segment.areas) {
      if (area.tensor == tensor) parts.push_back({area.rings[0].offset, 0, false});
    }
  }
  const bool same = std::all_of(parts.begin(), parts.end(), [&](const Part& part) {
    return part.offset == parts.front().offset;
  });
  if (parts.size() == entry.stream->segments.size() && same) {
    parts.resize(1);
    parts[0].whole = true;
  }
  return parts;
}

// The byte of zero in real numbers.
std::int64_t FirstByteOf(const graph::Tensor& tensor) {
  const bool shifted = tensor.type == graph::ElementType::kInt8 && tensor.quantization &&
                       tensor.quantization->zero_points.size() == 1;
  constexpr std::int64_t kByte = 0xff;
  return shifted ? tensor.quantization->zero_points[0] & kByte : 0;
}

}  // namespace

std::vector<Variable> VariablesOf(const plan::EntryPlan& entry, const Subgraph& subgraph,
                                  Refusals* refusals) {
  std::vector<TensorId> tensors;
  for (const graph::Op& op : subgraph.ops) {
    for (const TensorId tensor : op.inputs) {
      if (tensor.valid() && subgraph.tensors[tensor].variable) tensors.push_back(tensor);
    }
  }
  std::sort(tensors.begin(), tensors.end());
  tensors.erase(std::unique(tensors.begin(), tensors.end()), tensors.end());
  std::vector<Variable> variables;
  for (const TensorId id : tensors) {
    const graph::Tensor& tensor = subgraph.tensors[id];
    const std::vector<Part> parts = PartsOf(entry, id);
    if (parts.empty()) continue;
    if (parts.size() > 1 || !parts[0].whole) {
      refusals->push_back({{},
                           "",
                           "tensor " + graph::Describe(id, tensor) +
                               " is a variable that is not at one address for the whole run"});
      continue;
    }
    variables.push_back({parts[0].offset, graph::TensorBytes(tensor).value_or(0), parts[0].memory,
                         FirstByteOf(tensor)});
  }
  return variables;
}

bool HasFloats(const Program& program) {
  const std::set<std::string> functions = FunctionsOf(program);
  return std::any_of(functions.begin(), functions.end(),
                     [](const std::string& function) { return function.ends_with("_f32"); });
}

bool HasLstm(const Program& program) { return FunctionsOf(program).contains("neap_lstm_s8"); }

std::string ResetDeclaration(const Program& program, const Origin& origin,
                             const std::string& prefix) {
  if (program.variables.empty()) return "";
  return "\n/* Sets the state, which the next run goes on from, to that before the first step of a "
         "sequence.\n * Called before the first run. */\nvoid " +
         prefix + "_reset(" + ArgumentsOf(program, origin, false) + ");\n";
}

std::string ResetFunction(const Program& program, const Origin& origin, const std::string& prefix) {
  if (program.variables.empty()) return "";
  std::string text = "void " + prefix + "_reset(" + ArgumentsOf(program, origin, false) + ") {\n";
  for (std::size_t i = 0; i < program.memory_bytes.size(); ++i) {
    const std::string memory = MemoryName(program, origin, i);
    const auto is_here = [&](const Variable& variable) {
      return variable.memory == static_cast<std::int32_t>(i);
    };
    const auto& all = program.variables;
    if (std::none_of(all.begin(), all.end(), is_here)) text += "  (void)" + memory + ";\n";
    for (const Variable& variable : all) {
      if (!is_here(variable)) continue;
      text += "  memset((int8_t *)" + memory + " + " + Number(variable.offset) + ", " +
              Number(variable.value) + ", " + Number(variable.bytes) + ");\n";
    }
  }
  return text + "}\n\n";
}

}  // namespace neap::emit
