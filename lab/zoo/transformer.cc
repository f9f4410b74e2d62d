// SPDX-License-Identifier: Apache-2.0
//
// The base encoder of Vaswani et al., "Attention Is All You Need", 2017 (arXiv 1706.03762), section
// 3.1, from embedded tokens on; and ViT-Ti/16: Dosovitskiy et al. 2021 (arXiv 2010.11929) in the
// size of Touvron et al. 2021 (arXiv 2012.12877), table 1. The first normalises after, the second
// before each sub-layer.
#include <string>

#include "lab/zoo/builder.h"
#include "lab/zoo/family.h"

namespace neap::zoo {
namespace {

using graph::TensorId;

struct Sizes {
  std::int64_t tokens;
  std::int64_t width;
  std::int64_t heads;
  std::int64_t hidden;
  int layers;
  float scale;  // 1 / sqrt(width / heads)
};

// Of [1, tokens, width].
TensorId Attention(Builder* b, const std::string& name, TensorId x, const Sizes& s) {
  const std::int64_t depth = s.width / s.heads;
  const auto heads = [&](const std::string& part, const std::vector<std::int64_t>& permutation) {
    const TensorId projected = b->Linear(name + part, x, s.width);
    const TensorId split =
        b->Reshape(name + part + "/heads", projected, {1, s.tokens, s.heads, depth});
    return b->Transpose(name + part + "/transposed", split, permutation);
  };
  const TensorId query = heads("/query", {0, 2, 1, 3});
  const TensorId key = heads("/key", {0, 2, 3, 1});
  const TensorId value = heads("/value", {0, 2, 1, 3});
  const TensorId scores =
      b->Scale(name + "/scores", b->MatMul(name + "/products", query, key), s.scale);
  TensorId mixed = b->MatMul(name + "/mixed", b->Softmax(name + "/softmax", scores), value);
  mixed = b->Transpose(name + "/mixed/transposed", mixed, {0, 2, 1, 3});
  mixed = b->Reshape(name + "/mixed/joined", mixed, {1, s.tokens, s.width});
  return b->Linear(name + "/out", mixed, s.width);
}

Result<Network> BuildEncoder(const ZooOptions& options) {
  NEAP_CHECK_OK(RefuseSizes(options));
  constexpr Sizes kBase = {128, 512, 8, 2048, 6, 0.125F};
  Builder b("transformer-encoder", options.seed, options.weights);
  TensorId x = b.Input("embedded", {1, kBase.tokens, kBase.width});
  for (int i = 0; i < kBase.layers; ++i) {
    const std::string name = "layer" + std::to_string(i);
    const TensorId attended = Attention(&b, name + "/attention", x, kBase);
    x = b.LayerNorm(name + "/norm1", b.Add(name + "/add1", x, attended));
    TensorId y = b.Relu(name + "/relu", b.Linear(name + "/hidden", x, kBase.hidden));
    y = b.Linear(name + "/forward", y, kBase.width);
    x = b.LayerNorm(name + "/norm2", b.Add(name + "/add2", x, y));
  }
  b.Output(x);
  return b.Finish();
}

Result<Network> BuildVitTiny(const ZooOptions& options) {
  NEAP_CHECK_OK(RefuseSizes(options));
  constexpr std::int64_t kPatches = std::int64_t{14} * 14;
  constexpr Sizes kTiny = {kPatches + 1, 192, 3, 768, 12, 0.125F};
  Builder b("vit-tiny", options.seed, options.weights);
  TensorId x = b.Conv("patches", b.Input("input", {1, 3, 224, 224}),
                      {.channels = kTiny.width,
                       .kernel = 16,
                       .stride = 16,
                       .padding = Padding::kValid,
                       .bias = true});
  x = b.Reshape("patches/flat", x, {1, kTiny.width, kPatches});
  x = b.Transpose("patches/tokens", x, {0, 2, 1});
  x = b.Concat("tokens", {b.Parameter("class/weight", {1, 1, kTiny.width}), x}, 1);
  x = b.Add("embedded", x, b.Parameter("position/weight", {1, kTiny.tokens, kTiny.width}));
  for (int i = 0; i < kTiny.layers; ++i) {
    const std::string name = "layer" + std::to_string(i);
    const TensorId normed = b.LayerNorm(name + "/norm1", x);
    x = b.Add(name + "/add1", x, Attention(&b, name + "/attention", normed, kTiny));
    TensorId y = b.Linear(name + "/hidden", b.LayerNorm(name + "/norm2", x), kTiny.hidden);
    y = b.Linear(name + "/forward", b.Gelu(name + "/gelu", y), kTiny.width);
    x = b.Add(name + "/add2", x, y);
  }
  x = b.Slice("class", b.LayerNorm("norm", x), 1, 0, 1);
  b.Output(b.Gemm("logits", b.Flatten("flat", x), 1000));
  return b.Finish();
}

constexpr Entry kEntries[] = {
    {{"transformer-encoder",
      "base encoder of 6 layers, 128 tokens of 512 (Vaswani et al. 2017, section 3.1)"},
     BuildEncoder},
    {{"vit-tiny", "ViT-Ti/16, 224x224 (Dosovitskiy et al. 2021; Touvron et al. 2021, table 1)"},
     BuildVitTiny},
};

}  // namespace

std::span<const Entry> TransformerEntries() { return kEntries; }

}  // namespace neap::zoo
