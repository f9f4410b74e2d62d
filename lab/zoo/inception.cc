// SPDX-License-Identifier: Apache-2.0
//
// Inception-V3: Szegedy et al., "Rethinking the Inception Architecture for Computer Vision", 2016
// (arXiv 1512.00567), table 1. Inception-ResNet-V2: Szegedy et al., "Inception-v4,
// Inception-ResNet and the Impact of Residual Connections on Learning", 2017 (arXiv 1602.07261),
// figures 15 to 20. Channels, branch order and the unscaled normalisations as keras.applications
// has them.
#include <cstddef>
#include <string>
#include <vector>

#include "lab/zoo/builder.h"
#include "lab/zoo/family.h"

namespace neap::zoo {
namespace {

using graph::TensorId;

// One convolution of a branch, with normalisation and ReLU; stride 2 goes without padding.
struct Step {
  std::int64_t channels;
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  std::int64_t stride = 1;
};

class Inception {
 public:
  Inception(const char* name, const ZooOptions& options)
      : builder_(name, options.seed, options.weights) {}

  Builder& Target() { return builder_; }

  TensorId Conv(const std::string& name, TensorId x, const Step& step, bool valid = false) {
    const bool padded = step.stride == 1 && !valid;
    x = builder_.Conv(name + "/conv", x,
                      {.channels = step.channels,
                       .kernel = step.rows,
                       .stride = step.stride,
                       .batch_norm = true,
                       .padding = padded ? Padding::kHalf : Padding::kValid,
                       .kernel_width = step.columns,
                       .unscaled = true});
    return builder_.Relu(name + "/relu", x);
  }

  TensorId Branch(const std::string& name, TensorId x, const std::vector<Step>& steps) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      x = Conv(name + "/" + std::to_string(i), x, steps[i]);
    }
    return x;
  }

  // 3x3, stride 2.
  TensorId Shrink(const std::string& name, TensorId x) {
    return builder_.MaxPool(name, x, {.kernel = 3, .stride = 2, .padding = Padding::kValid});
  }

  TensorId AverageBranch(const std::string& name, TensorId x, std::int64_t channels) {
    return Conv(name, builder_.AveragePool(name + "/pool", x, {.kernel = 3}), {channels});
  }

  // From 299x299x3 to 35x35x192.
  TensorId Stem(TensorId x) {
    x = Conv("stem/1", x, {32, 3, 3, 2});
    x = Conv("stem/2", x, {32, 3, 3}, true);
    x = Conv("stem/3", x, {64, 3, 3});
    x = Shrink("stem/pool1", x);
    x = Conv("stem/4", x, {80}, true);
    x = Conv("stem/5", x, {192, 3, 3}, true);
    return Shrink("stem/pool2", x);
  }

  Network Classified(TensorId x) {
    builder_.EndBody(x);
    x = builder_.Flatten("flat", builder_.GlobalAveragePool("pool", x));
    builder_.Output(builder_.Softmax("probabilities", builder_.Gemm("logits", x, 1000)));
    return builder_.Finish();
  }

 private:
  Builder builder_;
};

// 35x35 (figure 5 of the first paper).
TensorId MixedA(Inception* net, const std::string& name, TensorId x, std::int64_t first,
                std::int64_t pooled) {
  const TensorId plain = net->Branch(name + "/a", x, {{first}});
  const TensorId five = net->Branch(name + "/b", x, {{48}, {64, 5, 5}});
  const TensorId twice = net->Branch(name + "/c", x, {{64}, {96, 3, 3}, {96, 3, 3}});
  const TensorId pool = net->AverageBranch(name + "/d", x, pooled);
  return net->Target().Concat(name, {plain, five, twice, pool});
}

// 17x17 (figure 6).
TensorId MixedB(Inception* net, const std::string& name, TensorId x, std::int64_t inner) {
  const TensorId plain = net->Branch(name + "/a", x, {{192}});
  const TensorId seven = net->Branch(name + "/b", x, {{inner}, {inner, 1, 7}, {192, 7, 1}});
  const TensorId twice = net->Branch(
      name + "/c", x, {{inner}, {inner, 7, 1}, {inner, 1, 7}, {inner, 7, 1}, {192, 1, 7}});
  const TensorId pool = net->AverageBranch(name + "/d", x, 192);
  return net->Target().Concat(name, {plain, seven, twice, pool});
}

// 8x8 (figure 7).
TensorId MixedC(Inception* net, const std::string& name, TensorId x) {
  const auto fork = [&](const std::string& branch, TensorId trunk) {
    const TensorId wide = net->Branch(branch + "/wide", trunk, {{384, 1, 3}});
    const TensorId high = net->Branch(branch + "/high", trunk, {{384, 3, 1}});
    return net->Target().Concat(branch, {wide, high});
  };
  const TensorId plain = net->Branch(name + "/a", x, {{320}});
  const TensorId three = fork(name + "/b", net->Branch(name + "/b/trunk", x, {{384}}));
  const TensorId twice = fork(name + "/c", net->Branch(name + "/c/trunk", x, {{448}, {384, 3, 3}}));
  const TensorId pool = net->AverageBranch(name + "/d", x, 192);
  return net->Target().Concat(name, {plain, three, twice, pool});
}

Result<Network> BuildV3(const ZooOptions& options) {
  NEAP_CHECK_OK(RefuseSizes(options));
  Inception net("inception-v3", options);
  Builder& b = net.Target();
  TensorId x = net.Stem(b.Input("input", {1, 3, 299, 299}));
  x = MixedA(&net, "mixed0", x, 64, 32);
  x = MixedA(&net, "mixed1", x, 64, 64);
  x = MixedA(&net, "mixed2", x, 64, 64);
  const TensorId three = net.Branch("mixed3/a", x, {{384, 3, 3, 2}});
  const TensorId twice = net.Branch("mixed3/b", x, {{64}, {96, 3, 3}, {96, 3, 3, 2}});
  x = b.Concat("mixed3", {three, twice, net.Shrink("mixed3/pool", x)});
  x = MixedB(&net, "mixed4", x, 128);
  x = MixedB(&net, "mixed5", x, 160);
  x = MixedB(&net, "mixed6", x, 160);
  x = MixedB(&net, "mixed7", x, 192);
  const TensorId plain = net.Branch("mixed8/a", x, {{192}, {320, 3, 3, 2}});
  const TensorId seven =
      net.Branch("mixed8/b", x, {{192}, {192, 1, 7}, {192, 7, 1}, {192, 3, 3, 2}});
  x = b.Concat("mixed8", {plain, seven, net.Shrink("mixed8/pool", x)});
  x = MixedC(&net, "mixed9", x);
  return net.Classified(MixedC(&net, "mixed10", x));
}

// Branches, joined, brought back to the channels of x by a linear 1x1 convolution, scaled, added.
TensorId Residual(Inception* net, const std::string& name, TensorId x,
                  const std::vector<std::vector<Step>>& branches, float scale) {
  Builder& b = net->Target();
  std::vector<TensorId> parts;
  for (std::size_t i = 0; i < branches.size(); ++i) {
    parts.push_back(
        net->Branch(name + "/" + std::string(1, static_cast<char>('a' + i)), x, branches[i]));
  }
  const TensorId up = b.Conv(name + "/up", b.Concat(name + "/mixed", parts),
                             {.channels = b.Channels(x), .bias = true});
  return b.Add(name + "/add", x, scale == 1 ? up : b.Scale(name + "/scaled", up, scale));
}

Result<Network> BuildResnetV2(const ZooOptions& options) {
  NEAP_CHECK_OK(RefuseSizes(options));
  Inception net("inception-resnet-v2", options);
  Builder& b = net.Target();
  TensorId x = net.Stem(b.Input("input", {1, 3, 299, 299}));
  x = MixedA(&net, "mixed_5b", x, 96, 64);
  const auto residuals = [&](const std::string& group, int count, float scale,
                             const std::vector<std::vector<Step>>& branches) {
    for (int i = 1; i <= count; ++i) {
      const std::string name = group + "/" + std::to_string(i);
      x = b.Relu(name + "/relu", Residual(&net, name, x, branches, scale));
    }
  };
  residuals("block35", 10, 0.17F, {{{32}}, {{32}, {32, 3, 3}}, {{32}, {48, 3, 3}, {64, 3, 3}}});
  TensorId first = net.Branch("mixed_6a/a", x, {{384, 3, 3, 2}});
  TensorId second = net.Branch("mixed_6a/b", x, {{256}, {256, 3, 3}, {384, 3, 3, 2}});
  x = b.Concat("mixed_6a", {first, second, net.Shrink("mixed_6a/pool", x)});
  residuals("block17", 20, 0.1F, {{{192}}, {{128}, {160, 1, 7}, {192, 7, 1}}});
  first = net.Branch("mixed_7a/a", x, {{256}, {384, 3, 3, 2}});
  second = net.Branch("mixed_7a/b", x, {{256}, {288, 3, 3, 2}});
  const TensorId third = net.Branch("mixed_7a/c", x, {{256}, {288, 3, 3}, {320, 3, 3, 2}});
  x = b.Concat("mixed_7a", {first, second, third, net.Shrink("mixed_7a/pool", x)});
  const std::vector<std::vector<Step>> last = {{{192}}, {{192}, {224, 1, 3}, {256, 3, 1}}};
  residuals("block8", 9, 0.2F, last);
  x = Residual(&net, "block8/10", x, last, 1);
  return net.Classified(net.Conv("conv_7b", x, {1536}));
}

constexpr Entry kEntries[] = {
    {{"inception-v3", "Inception-V3 (Szegedy et al. 2016, table 1)"}, BuildV3},
    {{"inception-resnet-v2", "Inception-ResNet-V2 (Szegedy et al. 2017, figure 15)"},
     BuildResnetV2},
};

}  // namespace

std::span<const Entry> InceptionEntries() { return kEntries; }

}  // namespace neap::zoo
