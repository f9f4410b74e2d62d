// SPDX-License-Identifier: Apache-2.0
//
// U-Net: Ronneberger, Fischer, Brox, 2015 (arXiv 1505.04597), figure 1: unpadded convolutions,
// cropped skips. U-Net++: Zhou, Siddiquee, Tajbakhsh, Liang, 2018 (arXiv 1807.10165), figure 1a,
// with deep supervision: node (i, j) reads all earlier nodes of row i and, upsampled, node
// (i + 1, j - 1); built diagonal by diagonal.
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "lab/zoo/builder.h"
#include "lab/zoo/family.h"

namespace neap::zoo {
namespace {

using graph::TensorId;

TensorId TwoConvs(Builder* b, const std::string& name, TensorId x, std::int64_t channels,
                  Padding padding) {
  for (const char* part : {"/1", "/2"}) {
    x = b->Conv(name + part + "/conv", x,
                {.channels = channels, .kernel = 3, .padding = padding, .bias = true});
    x = b->Relu(name + part + "/relu", x);
  }
  return x;
}

TensorId Halve(Builder* b, const std::string& name, TensorId x) {
  return b->MaxPool(name, x, {.kernel = 2, .stride = 2, .padding = Padding::kValid});
}

Result<Network> BuildUnet(const ZooOptions& options) {
  NEAP_CHECK_OK(RefuseSizes(options));
  constexpr int kDepth = 4;
  constexpr std::int64_t kWidth = 64;
  Builder b("unet", options.seed, options.weights);
  TensorId x = b.Input("input", {1, 1, 572, 572});
  std::vector<TensorId> skips;
  for (int i = 0; i < kDepth; ++i) {
    const std::string name = "down" + std::to_string(i);
    skips.push_back(TwoConvs(&b, name, x, kWidth << i, Padding::kValid));
    x = Halve(&b, name + "/pool", skips.back());
  }
  x = TwoConvs(&b, "bottom", x, kWidth << kDepth, Padding::kValid);
  for (int i = kDepth - 1; i >= 0; --i) {
    const std::string name = "up" + std::to_string(i);
    x = b.UpConv(name + "/upconv", x, kWidth << i);
    const TensorId skip =
        b.CenterCrop(name + "/crop", skips[static_cast<std::size_t>(i)], b.ShapeOf(x)[2]);
    x = TwoConvs(&b, name, b.Concat(name + "/concat", {skip, x}), kWidth << i, Padding::kValid);
  }
  b.Output(b.Conv("segmentation", x, {.channels = 2, .bias = true}));
  return b.Finish();
}

Result<Network> BuildUnetPlusPlus(const ZooOptions& options) {
  NEAP_CHECK_OK(RefuseSizes(options));
  constexpr std::size_t kRows = 5;
  constexpr std::int64_t kWidth = 32;
  Builder b("unet++", options.seed, options.weights);
  std::array<std::vector<TensorId>, kRows> nodes;
  TensorId x = b.Input("input", {1, 3, 96, 96});
  for (std::size_t row = 0; row < kRows; ++row) {
    if (row > 0) x = Halve(&b, "pool" + std::to_string(row), x);
    x = TwoConvs(&b, "x" + std::to_string(row) + "_0", x, kWidth << row, Padding::kHalf);
    nodes[row] = {x};
    for (std::size_t column = 1; column <= row; ++column) {
      const std::size_t target = row - column;
      const std::string name = "x" + std::to_string(target) + "_" + std::to_string(column);
      std::vector<TensorId> inputs = nodes[target];
      inputs.insert(inputs.begin(),
                    b.UpConv(name + "/upconv", nodes[target + 1].back(), kWidth << target));
      const TensorId joined = b.Concat(name + "/concat", inputs);
      nodes[target].push_back(TwoConvs(&b, name, joined, kWidth << target, Padding::kHalf));
    }
  }
  for (std::size_t column = 1; column < kRows; ++column) {
    const std::string name = "output" + std::to_string(column);
    const TensorId logits = b.Conv(name + "/conv", nodes[0][column], {.channels = 1, .bias = true});
    b.Output(b.Sigmoid(name, logits));
  }
  return b.Finish();
}

constexpr Entry kEntries[] = {
    {{"unet", "U-Net, 572x572 (Ronneberger et al. 2015, figure 1)"}, BuildUnet},
    {{"unet++", "U-Net++, 96x96, deeply supervised (Zhou et al. 2018, figure 1a)"},
     BuildUnetPlusPlus},
};

}  // namespace

std::span<const Entry> UnetEntries() { return kEntries; }

}  // namespace neap::zoo
