// SPDX-License-Identifier: Apache-2.0
//
// Xception: Chollet, "Xception: Deep Learning with Depthwise Separable Convolutions", 2017 (arXiv
// 1610.02357), figure 5.
#include <string>

#include "lab/zoo/builder.h"
#include "lab/zoo/family.h"

namespace neap::zoo {
namespace {

using graph::TensorId;

TensorId Separable(Builder* b, const std::string& name, TensorId x, std::int64_t channels) {
  x = b->DepthwiseConv(name + "/depthwise", x, {.kernel = 3, .extra_layers = -1});
  return b->Conv(name + "/pointwise", x, {.channels = channels, .batch_norm = true});
}

// Two separable convolutions and a pool beside a strided shortcut.
struct Down {
  std::int64_t first;
  std::int64_t second;
  bool relu_first = true;
};
TensorId DownBlock(Builder* b, const std::string& name, TensorId x, const Down& down) {
  const TensorId shortcut =
      b->Conv(name + "/shortcut", x, {.channels = down.second, .stride = 2, .batch_norm = true});
  if (down.relu_first) x = b->Relu(name + "/relu1", x);
  x = Separable(b, name + "/sep1", x, down.first);
  x = Separable(b, name + "/sep2", b->Relu(name + "/relu2", x), down.second);
  x = b->MaxPool(name + "/pool", x, {.kernel = 3, .stride = 2, .padding = Padding::kSame});
  return b->Add(name + "/add", x, shortcut);
}

Result<Network> BuildXception(const ZooOptions& options) {
  NEAP_CHECK_OK(RefuseSizes(options));
  Builder b("xception", options.seed, options.weights);
  const auto stem = [&](const std::string& name, TensorId x, std::int64_t channels,
                        std::int64_t stride) {
    x = b.Conv(name + "/conv", x,
               {.channels = channels,
                .kernel = 3,
                .stride = stride,
                .batch_norm = true,
                .padding = Padding::kValid});
    return b.Relu(name + "/relu", x);
  };
  TensorId x = stem("entry/1", b.Input("input", {1, 3, 299, 299}), 32, 2);
  x = stem("entry/2", x, 64, 1);
  x = DownBlock(&b, "entry/block1", x, {128, 128, false});
  x = DownBlock(&b, "entry/block2", x, {256, 256});
  x = DownBlock(&b, "entry/block3", x, {728, 728});
  for (int i = 1; i <= 8; ++i) {
    const std::string name = "middle/block" + std::to_string(i);
    TensorId y = x;
    for (int j = 1; j <= 3; ++j) {
      const std::string part = std::to_string(j);
      y = Separable(&b, name + "/sep" + part, b.Relu(name + "/relu" + part, y), 728);
    }
    x = b.Add(name + "/add", y, x);
  }
  x = DownBlock(&b, "exit/block1", x, {728, 1024});
  x = b.Relu("exit/relu1", Separable(&b, "exit/sep1", x, 1536));
  x = b.Relu("exit/relu2", Separable(&b, "exit/sep2", x, 2048));
  b.EndBody(x);
  x = b.Flatten("flat", b.GlobalAveragePool("pool", x));
  b.Output(b.Softmax("probabilities", b.Gemm("logits", x, 1000)));
  return b.Finish();
}

constexpr Entry kEntries[] = {{{"xception", "Xception (Chollet 2017, figure 5)"}, BuildXception}};

}  // namespace

std::span<const Entry> XceptionEntries() { return kEntries; }

}  // namespace neap::zoo
