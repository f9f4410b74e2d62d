// SPDX-License-Identifier: Apache-2.0
//
// SwiftNet: Zhang, Yang, Jiang, Zhu, Qian, "SwiftNet: Using Graph Propagation as Meta-knowledge to
// Search Highly Representative Neural Architectures", 2019 (arXiv 1906.08305), as submitted to the
// Visual Wake Words Challenge (CVPR 2019): wiring, sizes and operator order of the submitted
// network of 224x224. Its ReLU6 are part of the quantisation of the tensors there; here they are
// left out, so that the operators are the same ones.
#include <string>
#include <vector>

#include "lab/zoo/builder.h"
#include "lab/zoo/family.h"

namespace neap::zoo {
namespace {

using graph::TensorId;

// Operators of one cell, whose convolutions all have the same number of channels.
class Cell {
 public:
  Cell(Builder* builder, std::string name, std::int64_t channels)
      : builder_(builder), name_(std::move(name)), channels_(channels) {}

  TensorId Conv(int id, TensorId x) { return Pointwise("/conv_" + std::to_string(id), x); }
  // A separable convolution, in two steps because the file writes them apart.
  TensorId Depth(int id, TensorId x) {
    return builder_->DepthwiseConv(name_ + "/conv_" + std::to_string(id) + "/depthwise", x,
                                   {.kernel = 3, .batch_norm = true});
  }
  TensorId Point(int id, TensorId x) {
    return Pointwise("/conv_" + std::to_string(id) + "/pointwise", x);
  }
  TensorId Separable(int id, TensorId x) { return Point(id, Depth(id, x)); }
  TensorId Concat(int id, const std::vector<TensorId>& inputs) {
    return builder_->Concat(name_ + "/concat_" + std::to_string(id), inputs);
  }
  TensorId Identity(TensorId x, std::int64_t channels) {
    return builder_->Conv(name_ + "/id_mapping", x, {.channels = channels, .batch_norm = true});
  }
  TensorId Projection(TensorId shortcut, TensorId x) {
    const TensorId projected = builder_->Conv(
        name_ + "/projection", x, {.channels = builder_->Channels(shortcut), .batch_norm = true});
    return builder_->Add(name_ + "/add", shortcut, projected);
  }

 private:
  TensorId Pointwise(const std::string& part, TensorId x) {
    return builder_->Conv(name_ + part, x, {.channels = channels_, .batch_norm = true});
  }
  Builder* builder_;
  std::string name_;
  std::int64_t channels_;
};

TensorId CellA(Builder* b, TensorId x) {
  Cell cell(b, "cell_a", 32);
  const TensorId c14 = cell.Conv(14, x);
  const TensorId concat0 = cell.Concat(0, {x, c14});
  const TensorId c17 = cell.Conv(17, c14);
  const TensorId c18 = cell.Conv(18, x);
  const TensorId concat5 = cell.Concat(5, {x, c18});
  const TensorId c19 = cell.Conv(19, c14);
  const TensorId c20 = cell.Conv(20, concat0);
  const TensorId concat1 = cell.Concat(1, {c19, c20});
  const TensorId concat3 = cell.Concat(3, {x, c18, c19, c20});
  const TensorId c21 = cell.Conv(21, concat1);
  const TensorId concat2 = cell.Concat(2, {c14, c21});
  const TensorId concat4 = cell.Concat(4, {c20, c21});
  const TensorId c23 = cell.Conv(23, concat2);
  const TensorId c24 = cell.Conv(24, concat3);
  const TensorId concat6 = cell.Concat(6, {c17, c20, c23, c24});
  const TensorId c25 = cell.Separable(25, c20);
  const TensorId c26 = cell.Separable(26, c23);
  const TensorId c27 = cell.Separable(27, concat4);
  const TensorId c28 = cell.Separable(28, concat5);
  const TensorId c29 = cell.Conv(29, concat6);
  const TensorId concat7 = cell.Concat(7, {c25, c26, c27, c28, c29});
  return cell.Projection(cell.Identity(x, 48), concat7);
}

TensorId CellB(Builder* b, TensorId x) {
  Cell cell(b, "cell_b", 48);
  const TensorId c43 = cell.Conv(43, x);
  const TensorId c48 = cell.Conv(48, x);
  const TensorId c49 = cell.Conv(49, x);
  const TensorId c50 = cell.Conv(50, x);
  const TensorId shortcut = cell.Identity(x, 80);
  const TensorId d45 = cell.Depth(45, c43);
  const TensorId d47 = cell.Depth(47, c43);
  const TensorId c45 = cell.Point(45, d45);
  const TensorId concat0 = cell.Concat(0, {c43, c45});
  const TensorId concat3 = cell.Concat(3, {c43, c45});
  const TensorId c51 = cell.Conv(51, concat0);
  const TensorId d59 = cell.Depth(59, concat3);
  const TensorId c47 = cell.Point(47, d47);
  const TensorId c52 = cell.Conv(52, cell.Concat(1, {c47, c48}));
  const TensorId c57 = cell.Conv(57, c48);
  const TensorId c54 = cell.Conv(54, cell.Concat(2, {x, c43, c45, c49}));
  const TensorId c55 = cell.Conv(55, c54);
  const TensorId c59 = cell.Point(59, d59);
  return cell.Projection(shortcut, cell.Concat(4, {c50, c51, c52, c55, c57, c59}));
}

TensorId CellC(Builder* b, TensorId x) {
  Cell cell(b, "cell_c", 64);
  const TensorId c67 = cell.Conv(67, x);
  const TensorId shortcut = cell.Identity(x, 76);
  const TensorId d71 = cell.Depth(71, c67);
  const TensorId c75 = cell.Conv(75, c67);
  const TensorId d81 = cell.Depth(81, c67);
  const TensorId c83 = cell.Conv(83, c67);
  const TensorId d87 = cell.Depth(87, c67);
  const TensorId d89 = cell.Depth(89, c67);
  const TensorId c71 = cell.Point(71, d71);
  const TensorId concat0 = cell.Concat(0, {x, c71});
  const TensorId concat1 = cell.Concat(1, {c67, c71});
  const TensorId c80 = cell.Conv(80, concat0);
  const TensorId d85 = cell.Depth(85, concat1);
  const TensorId d82 = cell.Depth(82, c75);
  const TensorId d84 = cell.Depth(84, c75);
  const TensorId c81 = cell.Point(81, d81);
  const TensorId c82 = cell.Point(82, d82);
  const TensorId c84 = cell.Point(84, d84);
  const TensorId c85 = cell.Point(85, d85);
  const TensorId c87 = cell.Point(87, d87);
  const TensorId c89 = cell.Point(89, d89);
  return cell.Projection(shortcut, cell.Concat(2, {c80, c81, c82, c83, c84, c85, c87, c89}));
}

Result<Network> BuildSwiftnet(const ZooOptions& options) {
  NEAP_CHECK_OK(RefuseSizes(options));
  Builder b("swiftnet", options.seed, options.weights);
  const auto pool = [&](const std::string& name, TensorId x) {
    return b.MaxPool(name, x, {.kernel = 2, .stride = 2, .padding = Padding::kSame});
  };
  TensorId x = b.SplitWhole("split", b.Input("input", {1, 3, 224, 224}));
  x = b.Conv(
      "conv_pre1", x,
      {.channels = 16, .kernel = 7, .stride = 4, .batch_norm = true, .padding = Padding::kSame});
  x = b.DepthwiseConv("conv_pre2/depthwise", x, {.kernel = 3, .batch_norm = true});
  x = b.Conv("conv_pre2/pointwise", x, {.channels = 32, .batch_norm = true});
  x = CellA(&b, pool("pool_1", x));
  x = CellB(&b, pool("pool_2", x));
  x = CellC(&b, pool("pool_3", x));
  x = b.Flatten("flat", b.GlobalAveragePool("avg", x));
  b.Output(b.Softmax("probabilities", b.Gemm("logits", x, 2)));
  return b.Finish();
}

Result<Network> BuildCellA(const ZooOptions& options) {
  NEAP_CHECK_OK(RefuseSizes(options));
  Builder b("swiftnet-cell-a", options.seed, options.weights);
  b.Output(CellA(&b, b.Input("input", {1, 32, 28, 28})));
  return b.Finish();
}

constexpr Entry kEntries[] = {
    {{"swiftnet",
      "SwiftNet of the Visual Wake Words Challenge, three cells, 224x224 (Zhang et al. 2019)"},
     BuildSwiftnet},
    {{"swiftnet-cell-a", "the first cell of swiftnet alone, input 1x32x28x28"}, BuildCellA},
};

}  // namespace

std::span<const Entry> SwiftnetEntries() { return kEntries; }

}  // namespace neap::zoo
