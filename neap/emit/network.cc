// SPDX-License-Identifier: Apache-2.0
#include "neap/emit/network.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "neap/emit/scratch.h"
#include "neap/emit/taps.h"
#include "neap/ops/neap_rt.h"
#include "neap/ops/overlap.h"
#include "neap/ops/traits.h"

namespace neap::emit {
namespace {

using graph::OpId;
using graph::Subgraph;
using graph::TensorId;

bool IsPlaced(const Subgraph& subgraph, TensorId tensor) {
  return tensor.valid() && !subgraph.tensors[tensor].constant;
}

void AddRules(const Subgraph& subgraph, const graph::Op& op, NetworkOp* out) {
  std::int64_t number = 0;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (!IsPlaced(subgraph, op.inputs[i])) continue;
    const std::int64_t input = number++;
    const std::int64_t from = ops::FirstByteRead(subgraph, op, i);
    if (from > 0) out->rules.push_back({"NEAP_READS_FROM", input, 0, from});
    if (i == 0 && ops::WritesOverFirstInput(subgraph, op)) {
      out->rules.push_back({"NEAP_IN_PLACE", input, 0, 0});
    }
    if (const auto rule = ops::OverlapRuleOf(subgraph, op, i, ops::kNeapRt)) {
      const bool below = rule->kind == ops::OverlapRule::Kind::kStartsBelow;
      out->rules.push_back(
          {below ? "NEAP_STARTS_BELOW" : "NEAP_HOLDS_INPUT", input, 0, rule->bytes});
    }
    for (std::size_t o = 0; o < op.outputs.size(); ++o) {
      const auto view = ops::ViewRuleOf(subgraph, op, o, ops::kNeapRt);
      if (!view || view->input != i) continue;
      out->rules.push_back({"NEAP_HOLDS_OUTPUT", input, static_cast<std::int64_t>(o), view->bytes});
    }
  }
}

class NetworkWriter {
 public:
  NetworkWriter(const Network& network, const Program& program, const Origin& origin,
                const Options& options)
      : network_(network), program_(program), origin_(origin), p_(options.prefix) {}

  Result<std::string> Text() {
    for (std::size_t i = 0; i < network_.ops.size(); ++i) AddOp(i);
    if (overflow_) {
      return Fail(BadInput("the network has a number that exceeds its field in neap_rt"));
    }
    return Tables() + Functions();
  }

 private:
  std::string Within(std::int64_t value, std::int64_t max) {
    overflow_ = overflow_ || value < 0 || value > max;
    return Number(value);
  }

  void AddOp(std::size_t index) {
    const NetworkOp& op = network_.ops[index];
    const std::size_t tensors = tensors_.size();
    tensors_.insert(tensors_.end(), op.outputs.begin(), op.outputs.end());
    tensors_.insert(tensors_.end(), op.inputs.begin(), op.inputs.end());
    const std::size_t first_rule = rule_count_;
    for (const NetworkRule& rule : op.rules) {
      rules_ += "    {" + Within(rule.bytes, INT32_MAX) + ", " + rule.kind + ", " +
                Within(rule.input, UINT8_MAX) + ", " + Within(rule.output, UINT8_MAX) + "},\n";
      ++rule_count_;
    }
    const std::size_t calls = program_.segments[index].calls.size();
    const auto at = [&](const char* table, std::size_t number) {
      return "&" + p_ + "_" + table + "[" + std::to_string(number) + "]";
    };
    ops_ += "    {" + (calls == 0 ? "NULL" : at("ops", first_call_)) + ", " +
            at("network_tensors", tensors) + ", " +
            (op.rules.empty() ? "NULL" : at("network_rules", first_rule)) + ", " +
            Within(op.scratch_bytes, INT32_MAX) + ", " +
            Within(static_cast<std::int64_t>(calls), UINT16_MAX) + ", " +
            Within(std::ssize(op.outputs), UINT8_MAX) + ", " +
            Within(std::ssize(op.inputs), UINT8_MAX) + ", " +
            Within(std::ssize(op.rules), UINT16_MAX) + "},\n";
    first_call_ += calls;
  }

  std::string List(const std::string& type, const std::string& name,
                   const std::vector<std::int64_t>& values) {
    std::string text = "static const " + type + " " + p_ + "_" + name + "[] = {\n   ";
    std::size_t column = 0;
    for (const std::int64_t value : values) {
      const std::string number = " " + Within(value, INT32_MAX) + ",";
      constexpr std::size_t kColumns = 90;
      if (column + number.size() > kColumns) {
        text += "\n   ";
        column = 0;
      }
      text += number;
      column += number.size();
    }
    return text + "\n};\n\n";
  }

  std::string Tables() {
    std::vector<std::int64_t> hash;
    constexpr int kHex = 16;
    for (std::size_t i = 0; i + 1 < origin_.model_sha256.size(); i += 2) {
      hash.push_back(std::stoll(origin_.model_sha256.substr(i, 2), nullptr, kHex));
    }
    std::string text =
        "/* Operators by their index in the model, and the tensors between them. */\n";
    text += List("uint16_t", "network_tensors", tensors_);
    if (rule_count_ > 0) {
      text += "static const neap_rule " + p_ + "_network_rules[] = {\n" + rules_ + "};\n\n";
    }
    text += "static const neap_network_op " + p_ + "_network_ops[] = {\n" + ops_ + "};\n\n";
    text += List("uint32_t", "network_bytes", network_.tensor_bytes);
    text += List("uint16_t", "network_inputs", network_.inputs);
    text += List("uint16_t", "network_outputs", network_.outputs);
    text += List("uint8_t", "network_model", hash);
    return text + "static const neap_network " + p_ + "_network = {" + p_ + "_network_ops, " + p_ +
           "_network_bytes, " + p_ + "_network_inputs, " + p_ + "_network_outputs,\n    " + p_ +
           "_network_model, " + Within(std::ssize(network_.ops), UINT16_MAX) + ", " +
           Within(std::ssize(network_.tensors), UINT16_MAX) + ", " +
           Within(std::ssize(network_.inputs), UINT16_MAX) + ", " +
           Within(std::ssize(network_.outputs), UINT16_MAX) + "};\n\n";
  }

  std::string Functions() const {
    const std::string upper = UpperOf(p_);
    const std::string work = "  const int8_t *taps[" + Number(TapsOf(program_)) +
                             "];\n  neap_plan_work parts;\n  parts.memories = (int8_t **)work;\n"
                             "  parts.places = (neap_place *)(void *)((char *)work + (" +
                             upper + "_TENSORS + 1U) * sizeof(void *));\n  parts.taps = taps;\n";
    return "const unsigned char *" + p_ + "_model(void) { return " + p_ + "_network_model; }\n\n" +
           "int " + p_ +
           "_check(const unsigned char *plan, uint32_t bytes, uint32_t capacity, void *work) {\n" +
           work + "  return neap_plan_check(&" + p_ +
           "_network, plan, bytes, capacity, &parts);\n}\n\n" + "int " + p_ +
           "_apply(const unsigned char *plan, uint32_t bytes, void *arena, uint32_t capacity,\n"
           "    void *work, const void *const *inputs, const void **outputs) {\n" +
           work + "  return neap_plan_apply(&" + p_ +
           "_network, plan, bytes, arena, capacity, &parts, inputs, outputs);\n}\n";
  }

  const Network& network_;
  const Program& program_;
  const Origin& origin_;
  const std::string& p_;
  std::vector<std::int64_t> tensors_;
  std::string rules_;
  std::string ops_;
  std::size_t rule_count_ = 0;
  std::size_t first_call_ = 0;
  bool overflow_ = false;
};

}  // namespace

std::int64_t Network::NumberOf(TensorId tensor) const {
  const auto found = std::lower_bound(tensors.begin(), tensors.end(), tensor);
  return found == tensors.end() || *found != tensor ? -1 : found - tensors.begin();
}

Network NetworkOf(Lowering* lowering, Refusals* refusals) {
  const Subgraph& subgraph = lowering->subgraph();
  Network network;
  const auto take = [&](TensorId tensor) {
    if (IsPlaced(subgraph, tensor)) network.tensors.push_back(tensor);
  };
  for (const TensorId tensor : subgraph.inputs) take(tensor);
  for (const graph::Op& op : subgraph.ops) {
    for (const TensorId tensor : op.inputs) take(tensor);
    for (const TensorId tensor : op.outputs) take(tensor);
  }
  std::sort(network.tensors.begin(), network.tensors.end());
  network.tensors.erase(std::unique(network.tensors.begin(), network.tensors.end()),
                        network.tensors.end());
  for (const TensorId tensor : network.tensors) {
    network.tensor_bytes.push_back(graph::TensorBytes(subgraph.tensors[tensor]).value_or(0));
  }
  const auto numbers = [&](const std::vector<TensorId>& list) {
    std::vector<std::int64_t> out;
    for (const TensorId tensor : list) {
      if (IsPlaced(subgraph, tensor)) out.push_back(network.NumberOf(tensor));
    }
    return out;
  };
  network.inputs = numbers(subgraph.inputs);
  network.outputs = numbers(subgraph.outputs);
  for (const OpId id : subgraph.ops.Ids()) {
    const graph::Op& op = subgraph.ops[id];
    NetworkOp out;
    out.outputs = numbers(op.outputs);
    out.inputs = numbers(op.inputs);
    AddRules(subgraph, op, &out);
    const auto is_variable = [&](TensorId tensor) {
      return tensor.valid() && subgraph.tensors[tensor].variable;
    };
    if (std::any_of(op.inputs.begin(), op.inputs.end(), is_variable)) {
      refusals->push_back({id, op.type,
                           graph::Describe(id, op) +
                               " keeps its state in variables, which received plans do not place"});
      continue;
    }
    lowering->ClearPlaces();
    for (const auto* list : {&op.inputs, &op.outputs}) {
      for (const TensorId tensor : *list) {
        if (!IsPlaced(subgraph, tensor)) continue;
        const plan::StreamImage image = plan::ImageOf(subgraph.tensors[tensor]);
        const auto memory = static_cast<std::int32_t>(1 + network.NumberOf(tensor));
        lowering->SetPlace(tensor, {{{0, image.height * image.width}}, memory});
      }
    }
    Segment segment;
    segment.calls = LowerOrRefuse(lowering, id, false, refusals);
    for (const Call& call : segment.calls) {
      out.scratch_bytes = std::max(out.scratch_bytes, ScratchBytesOf(call));
    }
    network.segments.push_back(std::move(segment));
    network.ops.push_back(std::move(out));
  }
  return network;
}

Result<std::string> NetworkText(const Network& network, const Program& program,
                                const Origin& origin, const Options& options) {
  return NetworkWriter(network, program, origin, options).Text();
}

std::string NetworkHeader(const Network& network, const Program& program, const Options& options) {
  const std::string& p = options.prefix;
  const std::string upper = UpperOf(p);
  std::string text = "/* Memory for a plan, of the caller, aligned as pointers are. */\n";
  text += "#define " + upper + "_TENSORS " + std::to_string(network.tensors.size()) + "U\n";
  text += "#define " + upper + "_WORK_BYTES ((" + upper + "_TENSORS + 1U) * sizeof(void *) + " +
          upper + "_TENSORS * 8U)\n#define " + upper + "_ARENA_ALIGN 4\n\n";
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    text +=
        PortMacros(upper + "_" + UpperOf(PortName("input", program.inputs, i)), program.inputs[i]);
  }
  for (std::size_t i = 0; i < program.outputs.size(); ++i) {
    text += PortMacros(upper + "_" + UpperOf(PortName("output", program.outputs, i)),
                       program.outputs[i]);
  }
  text += "#define " + upper + "_INPUTS " + std::to_string(program.inputs.size()) + "\n";
  text += "#define " + upper + "_OUTPUTS " + std::to_string(program.outputs.size()) + "\n\n";
  text +=
      "/* The SHA-256 of the model's file, 32 bytes. */\nconst unsigned char *" + p +
      "_model(void);\n\n"
      "/* Whether a received plan can be executed in an arena of `capacity` bytes. 0: it can. */\n";
  text += "#define " + upper + "_PLAN_DAMAGED (-10)\n#define " + upper +
          "_PLAN_VERSION (-11) /* of another version of the format */\n#define " + upper +
          "_PLAN_MODEL (-12)   /* for another model */\n#define " + upper +
          "_PLAN_MEMORY (-13)  /* it needs a larger arena */\n#define " + upper +
          "_PLAN_ORDER (-14)\n#define " + upper + "_PLAN_PLACE (-15)\n#define " + upper +
          "_PLAN_OVERLAP (-16)\n";
  text += "int " + p +
          "_check(const unsigned char *plan, uint32_t bytes, uint32_t capacity, void *work);\n\n"
          "/* Checks the plan, then executes it. `inputs` are copied into the arena, `outputs` are "
          "set\n"
          " * to their places in it. The plan and the inputs are not in the arena. */\n";
  text += "int " + p +
          "_apply(const unsigned char *plan, uint32_t bytes, void *arena, uint32_t capacity,\n"
          "    void *work, const void *const *inputs, const void **outputs);\n";
  return text;
}

}  // namespace neap::emit
