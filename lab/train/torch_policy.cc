// SPDX-License-Identifier: Apache-2.0
//
// The only file that knows libtorch.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/generated/variable_factories.h>

#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "lab/train/policy.h"
#include "neap/base/check.h"

namespace neap::train {
namespace {

using at::Tensor;
using learn::Coder;

constexpr double kClip = 10;  // of the logits
constexpr double kNormEpsilon = 1e-5;
constexpr double kMaxGradient = 1;
// Adam's usual constants (Kingma and Ba 2014).
constexpr double kBeta1 = 0.9;
constexpr double kBeta2 = 0.999;
constexpr double kEpsilon = 1e-8;

Tensor FromFloats(const std::vector<float>& values, at::IntArrayRef shape) {
  Tensor tensor = at::empty(shape, at::kFloat);
  NEAP_CHECK(static_cast<std::size_t>(tensor.numel()) == values.size(), "sizes differ");
  std::memcpy(tensor.data_ptr<float>(), values.data(), values.size() * sizeof(float));
  return tensor;
}

std::vector<float> ToFloats(const Tensor& tensor) {
  const Tensor flat = tensor.detach().contiguous();
  const auto* data = flat.data_ptr<float>();
  return {data, data + flat.numel()};
}

}  // namespace

struct Policy::Torch {
  explicit Torch(const learn::Model& initial)
      : config(initial.config), specs(learn::TensorsOf(initial.config)) {
    at::set_num_threads(1);
    SetWeights(initial.weights);
    first.assign(initial.weights.size(), 0);
    second.assign(initial.weights.size(), 0);
  }

  void SetWeights(const std::vector<float>& weights) {
    std::size_t from = 0;
    for (const learn::TensorSpec& spec : specs) {
      const std::vector<float> part(
          weights.begin() + static_cast<std::ptrdiff_t>(from),
          weights.begin() + static_cast<std::ptrdiff_t>(from + spec.size()));
      from += spec.size();
      const auto columns = static_cast<std::int64_t>(spec.columns);
      Tensor tensor = spec.rows == 1
                          ? FromFloats(part, {columns})
                          : FromFloats(part, {static_cast<std::int64_t>(spec.rows), columns});
      tensors[spec.name] = tensor.requires_grad_(true);
    }
  }

  std::vector<float> Weights() const {
    std::vector<float> weights;
    for (const learn::TensorSpec& spec : specs) {
      const auto part = ToFloats(tensors.at(spec.name));
      weights.insert(weights.end(), part.begin(), part.end());
    }
    return weights;
  }

  const Tensor& Get(const std::string& name) const { return tensors.at(name); }

  Tensor Affine(const Tensor& x, const std::string& name) const {
    return at::matmul(x, Get(name + ".w")) + Get(name + ".b");
  }

  // All steps of an LSTM: outputs, and the last states.
  std::tuple<Tensor, Tensor, Tensor> Lstm(const std::string& name, const Tensor& x, const Tensor& h,
                                          const Tensor& c) const {
    const Tensor& bias = Get(name + ".b");
    const std::vector<Tensor> start = {h, c};
    const std::vector<Tensor> weights = {Get(name + ".wx").t().contiguous(),
                                         Get(name + ".wh").t().contiguous(), bias,
                                         at::zeros_like(bias)};
    return at::lstm(x, start, weights, true, 1, 0.0, true, false, true);
  }

  Tensor Norm(const Tensor& x, const std::string& name) const {
    return at::layer_norm(x, {static_cast<std::int64_t>(config.hidden)}, Get(name + ".scale"),
                          Get(name + ".shift"), kNormEpsilon);
  }

  Tensor Transform(Tensor x, const std::string& name, std::size_t layers,
                   std::size_t head_count) const {
    const auto heads = static_cast<std::int64_t>(head_count);
    const std::int64_t graphs = x.size(0);
    const std::int64_t rows = x.size(1);
    const std::int64_t width = static_cast<std::int64_t>(config.hidden) / heads;
    const auto split = [&](const Tensor& t) {
      return t.reshape({graphs, rows, heads, width}).transpose(1, 2);
    };
    for (std::size_t i = 0; i < layers; ++i) {
      const std::string layer = name + "." + std::to_string(i);
      const Tensor query = split(Affine(x, layer + ".q"));
      const Tensor key = split(Affine(x, layer + ".k"));
      const Tensor value = split(Affine(x, layer + ".v"));
      const Tensor scores =
          at::matmul(query, key.transpose(2, 3)) / std::sqrt(static_cast<double>(width));
      const Tensor mixed = at::matmul(at::softmax(scores, -1), value);
      const Tensor joined =
          mixed.transpose(1, 2).reshape({graphs, rows, static_cast<std::int64_t>(config.hidden)});
      x = Norm(x + Affine(joined, layer + ".o"), layer + ".norm1");
      x = Norm(x + Affine(at::relu(Affine(x, layer + ".up")), layer + ".down"), layer + ".norm2");
    }
    return x;
  }

  // Additive attention of all queries (graphs x steps x hidden) over all rows.
  Tensor Scores(const std::string& name, const Tensor& references, const Tensor& queries) const {
    const Tensor projected = Affine(queries, name + ".query");
    const Tensor sums = at::tanh(references.unsqueeze(1) + projected.unsqueeze(2));
    return at::matmul(sums, Get(name + ".v"));
  }

  Tensor LstmLogits(const Tensor& embedded, const Tensor& contexts, const Tensor& h,
                    const Tensor& c, const Tensor& order, const Tensor& forbidden) const {
    const std::int64_t graphs = embedded.size(0);
    const std::int64_t rows = embedded.size(1);
    const auto hidden = static_cast<std::int64_t>(config.hidden);
    const Tensor first_input =
        Get("decoder.first").reshape({1, 1, hidden}).expand({graphs, 1, hidden});
    const Tensor taken = embedded.gather(
        1, order.narrow(1, 0, rows - 1).unsqueeze(2).expand({graphs, rows - 1, hidden}));
    const auto [outputs, last_h, last_c] = Lstm("decoder", at::cat({first_input, taken}, 1), h, c);
    const Tensor glimpse = at::matmul(contexts, Get("glimpse.ref"));
    const Tensor pointer = at::matmul(contexts, Get("pointer.ref"));
    const Tensor shares = at::softmax(Scores("glimpse", glimpse, outputs) + forbidden, -1);
    return Scores("pointer", pointer, at::matmul(shares, glimpse));
  }

  Tensor TransformerLogits(Tensor keys) const {
    const std::int64_t rows = keys.size(1);
    std::vector<Tensor> steps;
    for (std::int64_t step = 0; step < rows; ++step) {
      keys = Transform(keys, "decoder", learn::kDecoderLayers, learn::kDecoderLayers);
      steps.push_back(at::matmul(keys, Get("select.w")) + Get("select.b"));
    }
    return at::stack(steps, 1);
  }

  // graphs x steps
  Tensor Forward(const Batch& batch) const {
    const Tensor x = FromFloats(batch.values, {batch.graphs, batch.rows, batch.features});
    const Tensor forbidden = FromFloats(batch.forbidden, {batch.graphs, batch.rows, batch.rows});
    Tensor order = at::empty({batch.graphs, batch.rows}, at::kLong);
    std::memcpy(order.data_ptr<std::int64_t>(), batch.order.data(),
                batch.order.size() * sizeof(std::int64_t));
    const Tensor embedded = Affine(x, "embed");
    Tensor contexts;
    Tensor h = at::zeros({1, batch.graphs, static_cast<std::int64_t>(config.hidden)}, at::kFloat);
    Tensor c = h;
    if (config.encoder == Coder::kLstm) {
      std::tie(contexts, h, c) = Lstm("encoder", embedded, h, c);
    } else {
      contexts = Transform(embedded, "encoder", learn::kEncoderLayers, learn::kEncoderLayers);
      h = contexts.mean(1).unsqueeze(0);
    }
    const Tensor logits = config.decoder == Coder::kLstm
                              ? LstmLogits(embedded, contexts, h, c, order, forbidden)
                              : TransformerLogits(contexts);
    const Tensor logs = at::log_softmax(kClip * at::tanh(logits) + forbidden, -1);
    return logs.gather(2, order.unsqueeze(2)).squeeze(2);
  }

  void Adam(const std::vector<float>& gradient, double learning_rate) {
    double square = 0;
    for (const float g : gradient) square += static_cast<double>(g) * static_cast<double>(g);
    const double scale = std::min(1.0, kMaxGradient / (std::sqrt(square) + 1e-6));
    ++steps;
    const double correct1 = 1 - std::pow(kBeta1, static_cast<double>(steps));
    const double correct2 = 1 - std::pow(kBeta2, static_cast<double>(steps));
    std::vector<float> weights = Weights();
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      const double g = scale * static_cast<double>(gradient[i]);
      first[i] = static_cast<float>(kBeta1 * static_cast<double>(first[i]) + (1 - kBeta1) * g);
      second[i] =
          static_cast<float>(kBeta2 * static_cast<double>(second[i]) + (1 - kBeta2) * g * g);
      const double mean = static_cast<double>(first[i]) / correct1;
      const double spread = std::sqrt(static_cast<double>(second[i]) / correct2) + kEpsilon;
      weights[i] =
          static_cast<float>(static_cast<double>(weights[i]) - learning_rate * mean / spread);
    }
    SetWeights(weights);
  }

  learn::ModelConfig config;
  std::vector<learn::TensorSpec> specs;
  std::map<std::string, Tensor> tensors;
  std::vector<float> first;
  std::vector<float> second;
  std::int64_t steps = 0;
};

Policy::Policy(const learn::Model& initial) : torch_(std::make_unique<Torch>(initial)) {}
Policy::~Policy() = default;

std::vector<float> Policy::LogProbabilities(const Batch& batch) const {
  const at::NoGradGuard no_gradient;
  return ToFloats(torch_->Forward(batch));
}

double Policy::Step(const Batch& batch, std::span<const float> factors, double learning_rate) {
  const Tensor weights =
      FromFloats(std::vector<float>(factors.begin(), factors.end()), {batch.graphs});
  const Tensor loss = -(torch_->Forward(batch).sum(1) * weights).mean();
  std::vector<Tensor> inputs;
  for (const learn::TensorSpec& spec : torch_->specs) inputs.push_back(torch_->Get(spec.name));
  const auto gradients = torch::autograd::grad({loss}, inputs, {}, false, false, true);
  std::vector<float> flat;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto part = ToFloats(gradients[i].defined() ? gradients[i] : at::zeros_like(inputs[i]));
    flat.insert(flat.end(), part.begin(), part.end());
  }
  torch_->Adam(flat, learning_rate);
  return loss.item<double>();
}

learn::Model Policy::ModelNow() const { return {torch_->config, torch_->Weights()}; }

PolicyState Policy::State() const {
  return {torch_->Weights(), torch_->first, torch_->second, torch_->steps};
}

void Policy::SetState(const PolicyState& state) {
  torch_->SetWeights(state.weights);
  torch_->first = state.first_moment;
  torch_->second = state.second_moment;
  torch_->steps = state.steps;
}

}  // namespace neap::train
