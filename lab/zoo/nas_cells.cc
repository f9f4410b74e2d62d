// SPDX-License-Identifier: Apache-2.0
//
// Networks of searched cells of five blocks, stacked in three stages between reductions: NASNet-A
// (Zoph et al. 2018, arXiv 1707.07012, figures 2 and 4), AmoebaNet-A (Real et al. 2019, arXiv
// 1802.01548, figure 5), PNASNet-5 (Liu et al. 2018, arXiv 1712.00559, figure 1, which has one kind
// of cell).
//
// A cell first brings the last output and the one before to its width (after ReLU), then writes its
// blocks in the order of the figure, each as left operation, right operation, sum. The ReLU of a
// tensor, its pool, and the sum of two tensors are written once, however many read them, as model
// converters do; a separable convolution is ReLU, depthwise, pointwise, twice.
#include <array>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "lab/zoo/builder.h"
#include "lab/zoo/family.h"
#include "neap/base/check.h"

namespace neap::zoo {
namespace {

using graph::TensorId;

enum class Operation {
  kSep3x3,
  kSep5x5,
  kSep7x7,
  kDilated3x3,
  kAvgPool,
  kMaxPool,
  kSkip,
  kConv1x7Then7x1
};

// Operations and their input states: 0 is the output before the last, 1 the last, 2 ... 6 the
// blocks.
struct Side {
  Operation operation;
  std::size_t state;
};
struct Block {
  Side left;
  Side right;
};
struct CellDefinition {
  std::vector<Block> blocks;
  std::vector<std::size_t> joined;
};
struct Genotype {
  CellDefinition normal;
  CellDefinition reduction;
};

const Genotype& NasnetA() {
  using enum Operation;
  static const Genotype kGenotype = {.normal = {.blocks = {{{kSep5x5, 1}, {kSep3x3, 0}},
                                                           {{kSep5x5, 0}, {kSep3x3, 0}},
                                                           {{kAvgPool, 1}, {kSkip, 0}},
                                                           {{kAvgPool, 0}, {kAvgPool, 0}},
                                                           {{kSep3x3, 1}, {kSkip, 1}}},
                                                .joined = {0, 2, 3, 4, 5, 6}},
                                     .reduction = {.blocks = {{{kSep5x5, 1}, {kSep7x7, 0}},
                                                              {{kMaxPool, 1}, {kSep7x7, 0}},
                                                              {{kAvgPool, 1}, {kSep5x5, 0}},
                                                              {{kSkip, 3}, {kAvgPool, 2}},
                                                              {{kSep3x3, 2}, {kMaxPool, 1}}},
                                                   .joined = {3, 4, 5, 6}}};
  return kGenotype;
}

const Genotype& AmoebanetA() {
  using enum Operation;
  static const Genotype kGenotype = {.normal = {.blocks = {{{kAvgPool, 0}, {kMaxPool, 0}},
                                                           {{kSkip, 0}, {kAvgPool, 1}},
                                                           {{kSep5x5, 2}, {kSep3x3, 1}},
                                                           {{kSep3x3, 2}, {kSkip, 1}},
                                                           {{kAvgPool, 4}, {kSep3x3, 0}}},
                                                .joined = {3, 5, 6}},
                                     .reduction = {.blocks = {{{kAvgPool, 0}, {kSep3x3, 1}},
                                                              {{kMaxPool, 1}, {kMaxPool, 0}},
                                                              {{kMaxPool, 0}, {kSep7x7, 2}},
                                                              {{kSep7x7, 0}, {kAvgPool, 1}},
                                                              {{kSep3x3, 3}, {kConv1x7Then7x1, 0}}},
                                                   .joined = {4, 5, 6}}};
  return kGenotype;
}

const Genotype& Pnasnet5() {
  using enum Operation;
  static const CellDefinition kCell = {.blocks = {{{kSep5x5, 0}, {kMaxPool, 0}},
                                                  {{kSep7x7, 1}, {kMaxPool, 1}},
                                                  {{kSep5x5, 1}, {kSep3x3, 1}},
                                                  {{kSep3x3, 4}, {kMaxPool, 1}},
                                                  {{kSep3x3, 0}, {kSkip, 1}}},
                                       .joined = {2, 3, 4, 5, 6}};
  static const Genotype kGenotype = {kCell, kCell};
  return kGenotype;
}

const Genotype& DartsSecondOrder() {
  using enum Operation;
  static const Genotype kGenotype = {.normal = {.blocks = {{{kSep3x3, 0}, {kSep3x3, 1}},
                                                           {{kSep3x3, 0}, {kSep3x3, 1}},
                                                           {{kSep3x3, 1}, {kSkip, 0}},
                                                           {{kSkip, 0}, {kDilated3x3, 2}}},
                                                .joined = {2, 3, 4, 5}},
                                     .reduction = {.blocks = {{{kMaxPool, 0}, {kMaxPool, 1}},
                                                              {{kSkip, 2}, {kMaxPool, 1}},
                                                              {{kMaxPool, 0}, {kSkip, 2}},
                                                              {{kSkip, 2}, {kMaxPool, 1}}},
                                                   .joined = {2, 3, 4, 5}}};
  return kGenotype;
}

class Stack {
 public:
  Stack(const char* name, const ZooOptions& options, const Genotype& genotype)
      : builder_(name, options.seed, options.weights), genotype_(genotype) {}

  Builder& Target() { return builder_; }

  // Moves on by one cell.
  void Cell(const std::string& name, std::int64_t channels, bool reduction) {
    name_ = name;
    const TensorId last = Squeezed("/last", last_, channels);
    const TensorId before = Before(channels, last);
    std::vector<TensorId> states = {before, last};
    const CellDefinition& cell = reduction ? genotype_.reduction : genotype_.normal;
    for (const Block& block : cell.blocks) {
      const std::string prefix = "/block" + std::to_string(states.size());
      const auto side = [&](const char* suffix, const Side& s) {
        return Apply(prefix + suffix, s.operation, states[s.state],
                     reduction && s.state < 2 ? 2 : 1);
      };
      const TensorId left = side("/left", block.left);
      const TensorId right = side("/right", block.right);
      states.push_back(Once(Kind::kAdd, left, right.value(),
                            [&] { return builder_.Add(name_ + prefix, left, right); }));
    }
    std::vector<TensorId> joined;
    joined.reserve(cell.joined.size());
    for (const std::size_t state : cell.joined) joined.push_back(states[state]);
    before_last_ = last_;
    last_ = builder_.Concat(name_ + "/concat", joined);
  }

  void Begin(TensorId stem) { last_ = stem; }

  Network Classified(std::int64_t classes) {
    const TensorId features = Relu(last_);
    builder_.EndBody(features);
    const TensorId pooled = builder_.GlobalAveragePool("classifier/pool", features);
    builder_.Output(
        builder_.Linear("logits", builder_.Flatten("classifier/flat", pooled), classes));
    return builder_.Finish();
  }

 private:
  enum class Kind { kRelu, kAvgPool, kMaxPool, kAdd };

  TensorId Relu(TensorId x) {
    return Once(Kind::kRelu, x, 1, [&] { return builder_.Relu(NameOf(x) + "/relu", x); });
  }
  TensorId Pool(Kind kind, TensorId x, std::int64_t stride) {
    return Once(kind, x, stride, [&] {
      const PoolSpec spec = {.kernel = 3, .stride = stride, .padding = Padding::kSame};
      const std::string by = stride == 1 ? "" : std::to_string(stride);
      return kind == Kind::kAvgPool ? builder_.AveragePool(NameOf(x) + "/average" + by, x, spec)
                                    : builder_.MaxPool(NameOf(x) + "/max" + by, x, spec);
    });
  }
  template <typename Make>
  TensorId Once(Kind kind, TensorId x, std::int64_t detail, const Make& make) {
    const auto key = std::make_tuple(kind, x, detail);
    const auto found = made_.find(key);
    if (found != made_.end()) return found->second;
    const TensorId made = make();
    made_.emplace(key, made);
    return made;
  }
  const std::string& NameOf(TensorId x) const { return builder_.NameOf(x); }

  TensorId Squeezed(const std::string& part, TensorId x, std::int64_t channels) {
    return builder_.Conv(name_ + part, Relu(x), {.channels = channels, .batch_norm = true});
  }

  // The output before the last, of the size of the last; the first cell reads the last one twice.
  TensorId Before(std::int64_t channels, TensorId last) {
    if (!before_last_.valid()) return last;
    if (builder_.ShapeOf(before_last_)[2] == builder_.ShapeOf(last_)[2]) {
      return Squeezed("/before", before_last_, channels);
    }
    const std::string name = name_ + "/before";
    const TensorId x = Relu(before_last_);
    const PoolSpec every_other = {.kernel = 1, .stride = 2};
    const TensorId even =
        builder_.Conv(name + "/even", builder_.AveragePool(name + "/even/pool", x, every_other),
                      {.channels = channels / 2});
    const TensorId shifted =
        builder_.Crop(name + "/odd/crop", builder_.PadOne(name + "/odd/pad", x), 1);
    const TensorId odd =
        builder_.Conv(name + "/odd", builder_.AveragePool(name + "/odd/pool", shifted, every_other),
                      {.channels = channels - channels / 2});
    return builder_.BatchNorm(name + "/norm", builder_.Concat(name + "/concat", {even, odd}));
  }

  TensorId Separable(const std::string& name, TensorId x, std::int64_t kernel,
                     std::int64_t stride) {
    const std::int64_t channels = builder_.Channels(x);
    for (const char* part : {"/first", "/second"}) {
      x = builder_.DepthwiseConv(
          name + part + "/depthwise", Relu(x),
          {.kernel = kernel, .stride = stride, .padding = Padding::kSame, .extra_layers = -1});
      x = builder_.Conv(name + part + "/pointwise", x, {.channels = channels, .batch_norm = true});
      stride = 1;
    }
    return x;
  }

  TensorId Apply(const std::string& part, Operation operation, TensorId x, std::int64_t stride) {
    const std::string name = name_ + part;
    const std::int64_t channels = builder_.Channels(x);
    switch (operation) {
      case Operation::kSep3x3:
        return Separable(name, x, 3, stride);
      case Operation::kSep5x5:
        return Separable(name, x, 5, stride);
      case Operation::kSep7x7:
        return Separable(name, x, 7, stride);
      case Operation::kDilated3x3:
        x = builder_.DepthwiseConv(name + "/depthwise", Relu(x),
                                   {.kernel = 3, .dilation = 2, .extra_layers = -1});
        return builder_.Conv(name + "/pointwise", x, {.channels = channels, .batch_norm = true});
      case Operation::kAvgPool:
        return Pool(Kind::kAvgPool, x, stride);
      case Operation::kMaxPool:
        return Pool(Kind::kMaxPool, x, stride);
      case Operation::kSkip:
        // PNASNet's one cell reduces by its stride alone: skip connections have to be halved as
        // well.
        if (stride == 1) return x;
        return builder_.Conv(name, Relu(x),
                             {.channels = channels, .stride = stride, .batch_norm = true});
      case Operation::kConv1x7Then7x1:
        x = builder_.Conv(name + "/1x7", x,
                          {.channels = channels,
                           .kernel = 1,
                           .stride = stride,
                           .padding = Padding::kSame,
                           .kernel_width = 7});
        return builder_.Conv(
            name + "/7x1", x,
            {.channels = channels, .kernel = 7, .batch_norm = true, .kernel_width = 1});
    }
    return x;
  }

  Builder builder_;
  const Genotype& genotype_;
  std::string name_;
  TensorId before_last_;
  TensorId last_;
  std::map<std::tuple<Kind, TensorId, std::int64_t>, TensorId> made_;
};

struct Plan {
  const char* name;
  const Genotype& (*genotype)();
  std::int64_t width;
  int repeats;  // normal cells between reductions; a reduction of PNASNet takes the place of one
  bool in_place = false;
  // Two reducing cells after the stem, for ImageNet, by which the width is divided there.
  std::array<std::int64_t, 2> stem_divisors = {0, 0};
};

Result<Network> BuildStack(const ZooOptions& options, const Plan& plan) {
  NEAP_CHECK_OK(RefuseNodes(options));
  NEAP_TRY(const std::int64_t width, PickOption("width", options.width, {plan.width, 4, 512, 2}));
  Stack stack(plan.name, options, plan.genotype());
  Builder& b = stack.Target();
  const bool imagenet = plan.stem_divisors[0] != 0;
  const std::int64_t size = imagenet ? 224 : 32;
  stack.Begin(b.Conv("stem", b.Input("input", {1, 3, size, size}),
                     {.channels = 32,
                      .kernel = 3,
                      .stride = imagenet ? 2 : 1,
                      .batch_norm = true,
                      .padding = Padding::kSame}));
  if (imagenet) {
    stack.Cell("stem0", width / plan.stem_divisors[0], true);
    stack.Cell("stem1", width / plan.stem_divisors[1], true);
  }
  int cell = 0;
  for (int stage = 0; stage < 3; ++stage) {
    const std::int64_t channels = width << stage;
    if (stage > 0) stack.Cell("cell" + std::to_string(cell++), channels, true);
    for (int i = stage > 0 && plan.in_place ? 1 : 0; i < plan.repeats; ++i) {
      stack.Cell("cell" + std::to_string(cell++), channels, false);
    }
  }
  return stack.Classified(imagenet ? 1000 : 10);
}

constexpr Entry kEntries[] = {
    {{"nasnet-a-cifar", "NASNet-A (6 @ 768), CIFAR-10 (Zoph et al. 2018, table 1)"},
     [](const ZooOptions& o) {
       return BuildStack(o, {"nasnet-a-cifar", NasnetA, 32, 6, false});
     }},
    {{"nasnet-a-imagenet", "NASNet-A (4 @ 1056), mobile ImageNet (Zoph et al. 2018, table 3)"},
     [](const ZooOptions& o) {
       return BuildStack(o, {"nasnet-a-imagenet", NasnetA, 44, 4, false, {2, 1}});
     }},
    {{"amoebanet-a-cifar", "AmoebaNet-A (6, 36), CIFAR-10 (Real et al. 2019, table 1)"},
     [](const ZooOptions& o) {
       return BuildStack(o, {"amoebanet-a-cifar", AmoebanetA, 36, 6, false});
     }},
    {{"amoebanet-a-imagenet", "AmoebaNet-A (4, 50), mobile ImageNet (Real et al. 2019)"},
     [](const ZooOptions& o) {
       return BuildStack(o, {"amoebanet-a-imagenet", AmoebanetA, 50, 4, false, {2, 1}});
     }},
    {{"darts-as-nasnet-cifar", "DARTS (second order) cells in the stack of nasnet-a-cifar"},
     [](const ZooOptions& o) {
       return BuildStack(o, {"darts-as-nasnet-cifar", DartsSecondOrder, 36, 6, false});
     }},
    {{"darts-as-nasnet-imagenet", "DARTS (second order) cells in the stack of nasnet-a-imagenet"},
     [](const ZooOptions& o) {
       return BuildStack(o, {"darts-as-nasnet-imagenet", DartsSecondOrder, 48, 4, false, {2, 1}});
     }},
    {{"pnasnet-cifar", "PNASNet-5 (3, 48), CIFAR-10 (Liu et al. 2018, table 1)"},
     [](const ZooOptions& o) {
       return BuildStack(o, {"pnasnet-cifar", Pnasnet5, 48, 3, true});
     }},
    {{"pnasnet-imagenet", "PNASNet-5 (3, 54), mobile ImageNet (Liu et al. 2018, table 4)"},
     [](const ZooOptions& o) {
       return BuildStack(o, {"pnasnet-imagenet", Pnasnet5, 54, 3, true, {4, 2}});
     }},
};

}  // namespace

std::span<const Entry> NasEntries() { return kEntries; }

}  // namespace neap::zoo
