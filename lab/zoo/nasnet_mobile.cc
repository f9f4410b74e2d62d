// SPDX-License-Identifier: Apache-2.0
//
// NASNet-A (4 @ 1056) as published with its weights: Zoph, Vasudevan, Shlens, Le, "Learning
// Transferable Architectures for Scalable Image Recognition", 2018 (arXiv 1707.07012), in the form
// of keras.applications: unpadded stem, first output used as it is, every ReLU written.
#include <string>
#include <vector>

#include "lab/zoo/builder.h"
#include "lab/zoo/family.h"

namespace neap::zoo {
namespace {

using graph::TensorId;

constexpr std::int64_t kFilters = 1056 / 24;
constexpr int kRepeats = 4;

class Mobile {
 public:
  explicit Mobile(const ZooOptions& options) : b_("nasnet-mobile", options.seed, options.weights) {}

  Network Build() {
    last_ = b_.Conv(
        "stem", b_.Input("input", {1, 3, 224, 224}),
        {.channels = 32, .kernel = 3, .stride = 2, .batch_norm = true, .padding = Padding::kValid});
    Reduction("stem1", kFilters / 4);
    Reduction("stem2", kFilters / 2);
    int cell = 0;
    for (int stage = 0; stage < 3; ++stage) {
      const std::int64_t filters = kFilters << stage;
      if (stage > 0) Reduction("reduction" + std::to_string(stage), filters);
      for (int i = 0; i < kRepeats; ++i) Normal("normal" + std::to_string(cell++), filters);
    }
    TensorId x = b_.Relu("relu", last_);
    b_.EndBody(x);
    x = b_.Flatten("flat", b_.GlobalAveragePool("pool", x));
    b_.Output(b_.Softmax("probabilities", b_.Gemm("logits", x, 1000)));
    return b_.Finish();
  }

 private:
  TensorId Separable(const std::string& name, TensorId x, std::int64_t filters, std::int64_t kernel,
                     std::int64_t stride = 1) {
    for (const char* part : {"/1", "/2"}) {
      const std::string prefix = name + part;
      x = b_.DepthwiseConv(prefix + "/depthwise", b_.Relu(prefix + "/relu", x),
                           {.kernel = kernel,
                            .stride = stride,
                            .padding = Padding::kSame,
                            .extra_layers = stride == 2 ? 0 : -1});
      x = b_.Conv(prefix + "/pointwise", x, {.channels = filters, .batch_norm = true});
      stride = 1;
    }
    return x;
  }

  TensorId Squeezed(const std::string& name, TensorId x, std::int64_t filters) {
    return b_.Conv(name + "/conv", b_.Relu(name + "/relu", x),
                   {.channels = filters, .batch_norm = true});
  }

  // The output before the last, brought to the size of the last.
  TensorId Adjusted(const std::string& name, std::int64_t filters) {
    if (!before_last_.valid()) return last_;
    if (b_.ShapeOf(before_last_)[2] == b_.ShapeOf(last_)[2]) {
      return b_.Channels(before_last_) == filters ? before_last_
                                                  : Squeezed(name, before_last_, filters);
    }
    const PoolSpec every_other = {.kernel = 1, .stride = 2};
    const TensorId x = b_.Relu(name + "/relu", before_last_);
    const TensorId even =
        b_.Conv(name + "/even", b_.AveragePool(name + "/even/pool", x, every_other),
                {.channels = filters / 2});
    const TensorId shifted = b_.Crop(name + "/odd/crop", b_.PadOne(name + "/odd/pad", x), 1);
    const TensorId odd =
        b_.Conv(name + "/odd", b_.AveragePool(name + "/odd/pool", shifted, every_other),
                {.channels = filters / 2});
    return b_.BatchNorm(name + "/norm", b_.Concat(name + "/concat", {even, odd}));
  }

  TensorId Average(const std::string& name, TensorId x, std::int64_t stride = 1) {
    return b_.AveragePool(name, x, {.kernel = 3, .stride = stride, .padding = Padding::kSame});
  }
  TensorId Max(const std::string& name, TensorId x) {
    return b_.MaxPool(name, x, {.kernel = 3, .stride = 2, .padding = Padding::kSame});
  }

  void Next(TensorId output) {
    before_last_ = last_;
    last_ = output;
  }

  void Normal(const std::string& name, std::int64_t filters) {
    const TensorId p = Adjusted(name + "/adjust", filters);
    const TensorId h = Squeezed(name + "/squeeze", last_, filters);
    const auto add = [&](const char* block, TensorId left, TensorId right) {
      return b_.Add(name + block, left, right);
    };
    TensorId left = Separable(name + "/1/left", h, filters, 5);
    const TensorId x1 = add("/1", left, Separable(name + "/1/right", p, filters, 3));
    left = Separable(name + "/2/left", p, filters, 5);
    const TensorId x2 = add("/2", left, Separable(name + "/2/right", p, filters, 3));
    const TensorId x3 = add("/3", Average(name + "/3/left", h), p);
    left = Average(name + "/4/left", p);
    const TensorId x4 = add("/4", left, Average(name + "/4/right", p));
    const TensorId x5 = add("/5", Separable(name + "/5/left", h, filters, 3), h);
    Next(b_.Concat(name, {p, x1, x2, x3, x4, x5}));
  }

  void Reduction(const std::string& name, std::int64_t filters) {
    const TensorId p = Adjusted(name + "/adjust", filters);
    const TensorId h = Squeezed(name + "/squeeze", last_, filters);
    const auto add = [&](const char* block, TensorId left, TensorId right) {
      return b_.Add(name + block, left, right);
    };
    TensorId left = Separable(name + "/1/left", h, filters, 5, 2);
    const TensorId x1 = add("/1", left, Separable(name + "/1/right", p, filters, 7, 2));
    left = Max(name + "/2/left", h);
    const TensorId x2 = add("/2", left, Separable(name + "/2/right", p, filters, 7, 2));
    left = Average(name + "/3/left", h, 2);
    const TensorId x3 = add("/3", left, Separable(name + "/3/right", p, filters, 5, 2));
    const TensorId x4 = add("/4", x2, Average(name + "/4/left", x1));
    left = Separable(name + "/5/left", x1, filters, 3);
    const TensorId x5 = add("/5", left, Max(name + "/5/right", h));
    Next(b_.Concat(name, {x2, x3, x4, x5}));
  }

  Builder b_;
  TensorId before_last_;
  TensorId last_;
};

Result<Network> BuildMobile(const ZooOptions& options) {
  NEAP_CHECK_OK(RefuseSizes(options));
  return Mobile(options).Build();
}

constexpr Entry kEntries[] = {
    {{"nasnet-mobile", "NASNet-A (4 @ 1056) as published with its weights (Zoph et al. 2018)"},
     BuildMobile}};

}  // namespace

std::span<const Entry> NasnetMobileEntries() { return kEntries; }

}  // namespace neap::zoo
