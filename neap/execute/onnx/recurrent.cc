// SPDX-License-Identifier: Apache-2.0
//
// LSTM and GRU in float32, with the default activations; RNN with Tanh, Relu or Sigmoid.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "neap/execute/families.h"
#include "neap/execute/onnx/common.h"

namespace neap::execute::onnx {
namespace {

using enum graph::ElementType;

struct Recurrence {
  std::int64_t steps = 0;
  std::int64_t batch = 0;
  std::int64_t width = 0;   // of the input
  std::int64_t hidden = 0;  // of the state
  std::int64_t directions = 1;
  bool reverse = false;      // the first direction goes backwards
  bool batch_first = false;  // layout 1
  bool linear_before_reset = false;
  std::vector<std::string> functions;  // of RNN, by direction
  std::vector<bool> inputs;            // present
  std::vector<bool> outputs;           // present

  // Offsets of (direction, batch) in a state and of (step, direction, batch) in the outputs.
  std::int64_t State(std::int64_t direction, std::int64_t n) const {
    return (batch_first ? n * directions + direction : direction * batch + n) * hidden;
  }
  std::int64_t Place(std::int64_t step, std::int64_t direction, std::int64_t n) const {
    return (batch_first ? (n * steps + step) * directions + direction
                        : (step * directions + direction) * batch + n) *
           hidden;
  }
  std::int64_t Row(std::int64_t step, std::int64_t n) const {
    return (batch_first ? n * steps + step : step * batch + n) * width;
  }
};

// The activations of RNN, which has one gate; of the others those that they have without the
// attribute. nullopt: there is no kernel for them.
std::optional<std::vector<std::string>> FunctionsOf(const Node& node, std::int64_t gates,
                                                    std::int64_t directions) {
  std::vector<std::string> functions(static_cast<std::size_t>(directions), "Tanh");
  const auto found = node.op->attributes.find("activations");
  if (found == node.op->attributes.end()) return functions;
  const auto* const given = std::get_if<std::vector<std::string>>(&found->second);
  const bool known = gates == 1 && given != nullptr && given->size() == functions.size() &&
                     std::all_of(given->begin(), given->end(), [](const std::string& name) {
                       return name == "Tanh" || name == "Relu" || name == "Sigmoid";
                     });
  return known ? std::optional(*given) : std::nullopt;
}

// Inputs: x, w, r, bias, lengths, h, and of the LSTM c and peepholes.
Result<Recurrence> Plan(const Node& node, std::int64_t gates) {
  const bool lstm = gates == 4;
  NEAP_CHECK_OK(Require(node.inputs.size() >= 3 && node.inputs.size() <= (lstm ? 8U : 6U) &&
                            node.outputs.size() <= (lstm ? 3U : 2U),
                        "does not have the inputs and outputs of its type"));
  for (std::size_t i = 0; i < 3; ++i) NEAP_CHECK_OK(Require(node.Has(i), "has no weights"));
  Recurrence plan;
  const graph::Shape& x = node.In(0).shape;
  const graph::Shape& w = node.In(1).shape;
  NEAP_CHECK_OK(Require(x.size() == 3 && w.size() == 3 && node.In(2).Rank() == 3,
                        "has no kernel for its rank"));
  const std::string direction = TextOr(*node.op, "direction", "forward");
  plan.batch_first = IntOr(*node.op, "layout", 0) != 0;
  plan.steps = x[plan.batch_first ? 1 : 0];
  plan.batch = x[plan.batch_first ? 0 : 1];
  plan.width = x[2];
  plan.directions = w[0];
  plan.hidden = node.In(2).shape[2];
  plan.reverse = direction == "reverse";
  plan.linear_before_reset = IntOr(*node.op, "linear_before_reset", 0) != 0;
  const auto functions = plan.directions == 1 || plan.directions == 2
                             ? FunctionsOf(node, gates, plan.directions)
                             : std::nullopt;
  NEAP_CHECK_OK(Require(functions && !HasAttribute(*node.op, "clip") &&
                            IntOr(*node.op, "input_forget", 0) == 0 && !node.Has(4),
                        "has no kernel for other activations, clipping or lengths"));
  plan.functions = *functions;
  const std::int64_t rows = plan.directions * gates * plan.hidden;
  bool ok = plan.directions == (direction == "bidirectional" ? 2 : 1) && plan.hidden > 0 &&
            node.In(1).elements == rows * plan.width && node.In(2).elements == rows * plan.hidden &&
            (!node.Has(3) || node.In(3).elements == 2 * rows);
  const std::int64_t state = plan.directions * plan.batch * plan.hidden;
  for (std::size_t i = 5; i < 7; ++i) ok = ok && (!node.Has(i) || node.In(i).elements == state);
  ok = ok && (!node.Has(7) || node.In(7).elements == 3 * plan.directions * plan.hidden);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    plan.inputs.push_back(node.Has(i));
    ok = ok && (!node.Has(i) || node.In(i).type == kFloat32);
  }
  plan.inputs.resize(8, false);
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const Operand& output = node.Out(i);
    plan.outputs.push_back(output.present);
    const std::int64_t expected = i == 0 ? state * plan.steps : state;
    ok = ok && (!output.present || (output.type == kFloat32 && output.elements == expected));
  }
  plan.outputs.resize(3, false);
  NEAP_CHECK_OK(Require(ok, "its inputs and outputs do not fit together"));
  return plan;
}

float Sigmoid(float x) { return 1.0F / (1.0F + std::exp(-x)); }

// One direction of one batch element, by the weights of that direction.
struct Cellular {
  const Recurrence& plan;
  const Arguments& arguments;
  std::int64_t direction;
  std::int64_t gates;

  // Row `row` of w times x plus its input bias.
  float FromInput(std::int64_t row, std::int64_t at) const {
    const std::int64_t r = direction * gates * plan.hidden + row;
    float sum = Dot<float>(Input<float>(arguments, 1) + r * plan.width,
                           Input<float>(arguments, 0) + at, plan.width, 0.0F, 0.0F, 0.0F);
    if (plan.inputs[3]) sum += Bias(row);
    return sum;
  }
  // Row `row` of r times the state plus its own bias.
  float FromState(std::int64_t row, const std::vector<float>& state) const {
    const std::int64_t r = direction * gates * plan.hidden + row;
    const auto* const weights = Input<float>(arguments, 2) + r * plan.hidden;
    float sum = 0;
    for (std::int64_t i = 0; i < plan.hidden; ++i) {
      sum += weights[i].value * state[static_cast<std::size_t>(i)];
    }
    if (plan.inputs[3]) sum += Bias(gates * plan.hidden + row);
    return sum;
  }
  float Bias(std::int64_t row) const {
    return Input<float>(arguments, 3)[direction * 2 * gates * plan.hidden + row].value;
  }
  float Peephole(std::int64_t row) const {
    return plan.inputs[7] ? Input<float>(arguments, 7)[direction * 3 * plan.hidden + row].value : 0;
  }
};

void LstmStep(const Cellular& cell, std::int64_t at, std::vector<float>* h, std::vector<float>* c) {
  const std::int64_t n = cell.plan.hidden;
  std::vector<float> next(h->size());
  for (std::int64_t i = 0; i < n; ++i) {
    const auto slot = static_cast<std::size_t>(i);
    const auto gate = [&](std::int64_t k) {
      return cell.FromInput(k * n + i, at) + cell.FromState(k * n + i, *h);
    };
    // Gates in the order input, output, forget, cell.
    const float in = Sigmoid(gate(0) + cell.Peephole(i) * (*c)[slot]);
    const float forget = Sigmoid(gate(2) + cell.Peephole(2 * n + i) * (*c)[slot]);
    const float state = forget * (*c)[slot] + in * std::tanh(gate(3));
    next[slot] = Sigmoid(gate(1) + cell.Peephole(n + i) * state) * std::tanh(state);
    (*c)[slot] = state;
  }
  *h = std::move(next);
}

void GruStep(const Cellular& cell, std::int64_t at, std::vector<float>* h) {
  const std::int64_t n = cell.plan.hidden;
  std::vector<float> update(h->size());
  std::vector<float> reset(h->size());
  std::vector<float> faded(h->size());
  for (std::int64_t i = 0; i < n; ++i) {
    const auto slot = static_cast<std::size_t>(i);
    // Gates in the order update, reset, hidden.
    update[slot] = Sigmoid(cell.FromInput(i, at) + cell.FromState(i, *h));
    reset[slot] = Sigmoid(cell.FromInput(n + i, at) + cell.FromState(n + i, *h));
    faded[slot] = reset[slot] * (*h)[slot];
  }
  std::vector<float> next(h->size());
  for (std::int64_t i = 0; i < n; ++i) {
    const auto slot = static_cast<std::size_t>(i);
    const float from_state = cell.plan.linear_before_reset
                                 ? reset[slot] * cell.FromState(2 * n + i, *h)
                                 : cell.FromState(2 * n + i, faded);
    const float hidden = std::tanh(cell.FromInput(2 * n + i, at) + from_state);
    next[slot] = (1 - update[slot]) * hidden + update[slot] * (*h)[slot];
  }
  *h = std::move(next);
}

void RnnStep(const Cellular& cell, std::int64_t at, std::vector<float>* h) {
  const std::string& function = cell.plan.functions[static_cast<std::size_t>(cell.direction)];
  std::vector<float> next(h->size());
  for (std::int64_t i = 0; i < cell.plan.hidden; ++i) {
    const float sum = cell.FromInput(i, at) + cell.FromState(i, *h);
    next[static_cast<std::size_t>(i)] = function == "Tanh"   ? std::tanh(sum)
                                        : function == "Relu" ? std::max(sum, 0.0F)
                                                             : Sigmoid(sum);
  }
  *h = std::move(next);
}

Status Run(const Recurrence& plan, std::int64_t gates, const Arguments& arguments) {
  const auto load = [&](std::size_t input, std::int64_t at) {
    std::vector<float> state(static_cast<std::size_t>(plan.hidden), 0.0F);
    for (std::int64_t i = 0; plan.inputs[input] && i < plan.hidden; ++i) {
      state[static_cast<std::size_t>(i)] = Input<float>(arguments, input)[at + i].value;
    }
    return state;
  };
  const auto store = [&](std::size_t output, std::int64_t at, const std::vector<float>& state) {
    for (std::int64_t i = 0; plan.outputs[output] && i < plan.hidden; ++i) {
      Output<float>(arguments, output)[at + i].value = state[static_cast<std::size_t>(i)];
    }
  };
  for (std::int64_t direction = 0; direction < plan.directions; ++direction) {
    const Cellular cell{plan, arguments, direction, gates};
    const bool backwards = plan.reverse || direction == 1;
    for (std::int64_t n = 0; n < plan.batch; ++n) {
      const std::int64_t at = plan.State(direction, n);
      std::vector<float> h = load(5, at);
      std::vector<float> c = load(6, at);
      for (std::int64_t s = 0; s < plan.steps; ++s) {
        const std::int64_t step = backwards ? plan.steps - 1 - s : s;
        if (gates == 4) {
          LstmStep(cell, plan.Row(step, n), &h, &c);
        } else if (gates == 3) {
          GruStep(cell, plan.Row(step, n), &h);
        } else {
          RnnStep(cell, plan.Row(step, n), &h);
        }
        store(0, plan.Place(step, direction, n), h);
      }
      store(1, at, h);
      store(2, at, c);
    }
  }
  return {};
}

template <std::int64_t kGates>
Result<RunKernel> Prepare(const Node& node) {
  NEAP_TRY(const Recurrence plan, Plan(node, kGates));
  return RunKernel(
      [plan](const Arguments& arguments) -> Status { return Run(plan, kGates, arguments); });
}

constexpr KernelEntry kRecurrentKernels[] = {
    {"LSTM", Prepare<4>},
    {"GRU", Prepare<3>},
    {"RNN", Prepare<1>},
};

}  // namespace

std::span<const KernelEntry> RecurrentKernels() { return kRecurrentKernels; }

}  // namespace neap::execute::onnx
