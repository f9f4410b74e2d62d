// SPDX-License-Identifier: Apache-2.0
#include "neap/learn/network.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "neap/base/check.h"
#include "neap/learn/kernels.h"

namespace neap::learn {
namespace {

// The document's clipping of logits, after Bello et al. 2016.
constexpr float kClip = 10;
constexpr float kNormEpsilon = 1e-5F;

// ln(x) for x >= 1, from e^y alone: Newton's method on y with a start from the exponent.
float Log(float x) {
  int exponent = 0;
  const float mantissa = std::frexp(x, &exponent);
  double y = 0.6931471805599453 * exponent + (static_cast<double>(mantissa) - 1) * 1.2;
  for (int i = 0; i < 4; ++i) {
    // e^y by its series on a small argument, squared up again.
    const double small = y / 1024;
    double power = 1 + small * (1 + small / 2 * (1 + small / 3 * (1 + small / 4)));
    for (int k = 0; k < 10; ++k) power *= power;
    y += 2 * (x - power) / (x + power);
  }
  return static_cast<float>(y);
}

}  // namespace

// One run of the network over one graph.
class Forward {
 public:
  Forward(const Network& network, const Rows& rows)
      : config_(network.model_.config),
        kernels_(network.kernels_),
        rows_(rows),
        count_(rows.size()),
        hidden_(config_.hidden) {
    std::size_t at = 0;
    for (const TensorSpec& spec : network.tensors_) {
      tensors_.emplace_back(&spec, network.model_.weights.data() + at);
      at += spec.size();
    }
  }

  std::vector<std::size_t> Run(const Chooser& choose) {
    Embed();
    if (config_.encoder == Coder::kLstm) {
      EncodeLstm();
    } else {
      contexts_ = embedded_;
      Transform("encoder", kEncoderLayers, kEncoderLayers, &contexts_);
      PrepareMean();
    }
    Start();
    if (config_.decoder == Coder::kLstm) {
      DecodeLstm(choose);
    } else {
      DecodeTransformer(choose);
    }
    return std::move(taken_);
  }

 private:
  const float* Find(const std::string& name) const {
    for (const auto& [spec, data] : tensors_) {
      if (spec->name == name) return data;
    }
    NEAP_CHECK(false, "no tensor " + name);
    return nullptr;
  }
  float* Row(std::vector<float>* matrix, std::size_t row) const {
    return matrix->data() + row * hidden_;
  }
  const float* Row(const std::vector<float>& matrix, std::size_t row) const {
    return matrix.data() + row * hidden_;
  }

  // out = in W + b for all rows of `in`; the width of `out` is `columns`.
  void MultiplyRows(const std::vector<float>& in, std::size_t in_columns, const std::string& matrix,
                    const std::string& bias, std::size_t columns, std::vector<float>* out) const {
    const float* weights = Find(matrix);
    const float* add = bias.empty() ? nullptr : Find(bias);
    out->resize(count_ * columns);
    for (std::size_t i = 0; i < count_; ++i) {
      kernels_.multiply(in.data() + i * in_columns, in_columns, weights, add, columns,
                        out->data() + i * columns);
    }
  }

  void Embed() {
    MultiplyRows(rows_.values, rows_.features, "embed.w", "embed.b", hidden_, &embedded_);
  }

  // One step: h and c become those of the next step.
  struct Cell {
    const float* wx;
    const float* wh;
    const float* b;
  };
  Cell CellOf(const std::string& name) const {
    return {Find(name + ".wx"), Find(name + ".wh"), Find(name + ".b")};
  }
  void Step(const Cell& cell, const float* x) {
    gates_.resize(4 * hidden_);
    from_h_.resize(4 * hidden_);
    kernels_.multiply(x, hidden_, cell.wx, cell.b, 4 * hidden_, gates_.data());
    kernels_.multiply(h_.data(), hidden_, cell.wh, nullptr, 4 * hidden_, from_h_.data());
    kernels_.add(1, from_h_.data(), 4 * hidden_, gates_.data());
    kernels_.cell(gates_.data(), hidden_, h_.data(), c_.data());
  }

  void EncodeLstm() {
    h_.assign(hidden_, 0);
    c_.assign(hidden_, 0);
    contexts_.resize(count_ * hidden_);
    const Cell cell = CellOf("encoder");
    for (std::size_t i = 0; i < count_; ++i) {
      Step(cell, Row(embedded_, i));
      std::copy(h_.begin(), h_.end(), Row(&contexts_, i));
    }
  }

  // The initial state of an LSTM decoder if no LSTM has read the nodes.
  void PrepareMean() {
    h_.assign(hidden_, 0);
    c_.assign(hidden_, 0);
    for (std::size_t i = 0; i < count_; ++i) {
      kernels_.add(1.0F / static_cast<float>(count_), Row(contexts_, i), hidden_, h_.data());
    }
  }

  void Normalise(const std::string& name, std::vector<float>* values) const {
    const float* scale = Find(name + ".scale");
    const float* shift = Find(name + ".shift");
    const auto width = static_cast<float>(hidden_);
    for (std::size_t i = 0; i < count_; ++i) {
      float* row = Row(values, i);
      float sum = 0;
      for (std::size_t k = 0; k < hidden_; ++k) sum += row[k];
      const float mean = sum / width;
      float squares = 0;
      for (std::size_t k = 0; k < hidden_; ++k) squares += (row[k] - mean) * (row[k] - mean);
      const float over = 1.0F / std::sqrt(squares / width + kNormEpsilon);
      for (std::size_t k = 0; k < hidden_; ++k) {
        row[k] = (row[k] - mean) * over * scale[k] + shift[k];
      }
    }
  }

  // Self-attention of all rows, added to them.
  void Attend(const std::string& layer, std::size_t heads, std::vector<float>* values) const {
    std::vector<float> query;
    std::vector<float> key;
    std::vector<float> value;
    MultiplyRows(*values, hidden_, layer + ".q.w", layer + ".q.b", hidden_, &query);
    MultiplyRows(*values, hidden_, layer + ".k.w", layer + ".k.b", hidden_, &key);
    MultiplyRows(*values, hidden_, layer + ".v.w", layer + ".v.b", hidden_, &value);
    const std::size_t width = hidden_ / heads;
    const float scale = 1.0F / std::sqrt(static_cast<float>(width));
    std::vector<float> mixed(count_ * hidden_, 0);
    std::vector<float> scores(count_);
    for (std::size_t head = 0; head < heads; ++head) {
      const std::size_t column = head * width;
      for (std::size_t i = 0; i < count_; ++i) {
        for (std::size_t j = 0; j < count_; ++j) {
          scores[j] = scale * Dot(Row(query, i) + column, Row(key, j) + column, width);
        }
        const float most = *std::max_element(scores.begin(), scores.end());
        const float sum = kernels_.exponentials(most, count_, scores.data());
        for (std::size_t j = 0; j < count_; ++j) {
          const float* from = Row(value, j) + column;
          float* to = Row(&mixed, i) + column;
          const float share = scores[j] / sum;
          for (std::size_t k = 0; k < width; ++k) to[k] += share * from[k];
        }
      }
    }
    std::vector<float> out;
    MultiplyRows(mixed, hidden_, layer + ".o.w", layer + ".o.b", hidden_, &out);
    kernels_.add(1, out.data(), out.size(), values->data());
  }

  // A head may be narrower than the kernels' eight lanes.
  static float Dot(const float* a, const float* b, std::size_t columns) {
    float sum = 0;
    for (std::size_t k = 0; k < columns; ++k) sum += a[k] * b[k];
    return sum;
  }

  void Transform(const std::string& name, std::size_t layers, std::size_t heads,
                 std::vector<float>* values) const {
    for (std::size_t i = 0; i < layers; ++i) {
      const std::string layer = name + "." + std::to_string(i);
      Attend(layer, heads, values);
      Normalise(layer + ".norm1", values);
      std::vector<float> up;
      MultiplyRows(*values, hidden_, layer + ".up.w", layer + ".up.b", 2 * hidden_, &up);
      for (float& x : up) x = std::max(x, 0.0F);
      std::vector<float> down;
      MultiplyRows(up, 2 * hidden_, layer + ".down.w", layer + ".down.b", hidden_, &down);
      kernels_.add(1, down.data(), down.size(), values->data());
      Normalise(layer + ".norm2", values);
    }
  }

  // The nodes that may be selected, ascending.
  void Start() {
    missing_.resize(count_);
    children_.assign(count_, {});
    for (std::size_t i = 0; i < count_; ++i) {
      const bool ready = config_.mask == Mask::kReady;
      missing_[i] = ready ? rows_.parents[i].size() : 0;
      if (missing_[i] == 0) open_.push_back(i);
      if (!ready) continue;
      for (const std::size_t parent : rows_.parents[i]) children_[parent].push_back(i);
    }
  }

  // Takes one of open_, whose logits are given.
  std::size_t Take(const Chooser& choose) {
    for (float& logit : logits_) logit *= kClip;
    const float most = *std::max_element(logits_.begin(), logits_.end());
    std::vector<float> powers = logits_;
    const float log_sum = most + Log(kernels_.exponentials(most, powers.size(), powers.data()));
    for (float& logit : logits_) logit -= log_sum;
    const std::size_t choice = choose(open_, logits_);
    NEAP_CHECK(choice < open_.size(), "the network selected no node");
    const std::size_t row = open_[choice];
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(choice));
    for (const std::size_t child : children_[row]) {
      if (--missing_[child] > 0) continue;
      open_.insert(std::lower_bound(open_.begin(), open_.end(), child), child);
    }
    taken_.push_back(row);
    return row;
  }

  struct Attention {
    std::vector<float> references;
    const float* query_w;
    const float* query_b;
    const float* v;
  };
  Attention AttentionOf(const std::string& name) const {
    Attention attention;
    MultiplyRows(contexts_, hidden_, name + ".ref", "", hidden_, &attention.references);
    attention.query_w = Find(name + ".query.w");
    attention.query_b = Find(name + ".query.b");
    attention.v = Find(name + ".v");
    return attention;
  }
  // Scores of open_ for a query, into logits_.
  void ScoreOpen(const Attention& attention, const std::vector<float>& query) {
    projected_.resize(hidden_);
    kernels_.multiply(query.data(), hidden_, attention.query_w, attention.query_b, hidden_,
                      projected_.data());
    logits_.resize(open_.size());
    for (std::size_t i = 0; i < open_.size(); ++i) {
      logits_[i] = kernels_.score(attention.v, Row(attention.references, open_[i]),
                                  projected_.data(), hidden_);
    }
  }

  void DecodeLstm(const Chooser& choose) {
    const Cell cell = CellOf("decoder");
    const Attention glimpse = AttentionOf("glimpse");
    const Attention pointer = AttentionOf("pointer");
    const float* input = Find("decoder.first");
    while (!open_.empty()) {
      Step(cell, input);
      ScoreOpen(glimpse, h_);
      const float most = *std::max_element(logits_.begin(), logits_.end());
      const float sum = kernels_.exponentials(most, logits_.size(), logits_.data());
      std::vector<float> seen(hidden_, 0);
      for (std::size_t i = 0; i < open_.size(); ++i) {
        kernels_.add(logits_[i] / sum, Row(glimpse.references, open_[i]), hidden_, seen.data());
      }
      ScoreOpen(pointer, seen);
      Squash();
      input = Row(embedded_, Take(choose));
    }
  }

  void Squash() {
    for (float& logit : logits_) logit = kernels_.tangent(logit);
  }

  void DecodeTransformer(const Chooser& choose) {
    std::vector<float> keys = contexts_;
    const float* weights = Find("select.w");
    const float* bias = Find("select.b");
    while (!open_.empty()) {
      Transform("decoder", kDecoderLayers, kDecoderLayers, &keys);
      logits_.resize(open_.size());
      for (std::size_t i = 0; i < open_.size(); ++i) {
        logits_[i] = kernels_.dot(weights, Row(keys, open_[i]), hidden_) + bias[0];
      }
      Squash();
      Take(choose);
    }
  }

  const ModelConfig& config_;
  const Kernels& kernels_;
  const Rows& rows_;
  std::size_t count_;
  std::size_t hidden_;
  std::vector<std::pair<const TensorSpec*, const float*>> tensors_;
  std::vector<float> embedded_;
  std::vector<float> contexts_;
  std::vector<float> h_;
  std::vector<float> c_;
  std::vector<float> gates_;
  std::vector<float> from_h_;
  std::vector<float> projected_;
  std::vector<float> logits_;
  std::vector<std::size_t> missing_;
  std::vector<std::vector<std::size_t>> children_;
  std::vector<std::size_t> open_;
  std::vector<std::size_t> taken_;
};

Network::Network(const Model& model) : Network(model, BestKernels()) {}

Network::Network(const Model& model, const Kernels& kernels)
    : model_(model), kernels_(kernels), tensors_(TensorsOf(model.config)) {
  NEAP_CHECK(model.weights.size() == CountWeights(model.config), "weights of another network");
}

std::vector<std::size_t> Network::Greedy(const Rows& rows) const {
  return Decode(rows, [](std::span<const std::size_t>, std::span<const float> log_probabilities) {
    return static_cast<std::size_t>(
        std::max_element(log_probabilities.begin(), log_probabilities.end()) -
        log_probabilities.begin());
  });
}

std::vector<std::size_t> Network::Decode(const Rows& rows, const Chooser& choose) const {
  NEAP_CHECK(rows.features == FeaturesOf(model_.config.embedding) || rows.size() == 0,
             "rows of another embedding");
  if (rows.size() == 0) return {};
  return Forward(*this, rows).Run(choose);
}

std::vector<Node> GreedyNodes(const Network& network, const Dag& dag) {
  const Rows rows = Embed(dag, network.config().embedding, network.config().queue);
  std::vector<Node> nodes;
  nodes.reserve(rows.size());
  for (const std::size_t row : network.Greedy(rows)) nodes.push_back(rows.node_of[row]);
  return nodes;
}

}  // namespace neap::learn
