// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "neap/plan/stream.h"

namespace neap::plan {
namespace {

using graph::TensorId;
using Integers = std::vector<std::int64_t>;

constexpr std::int64_t kFloat = 4;

class Maker {
 public:
  TensorId Tensor(graph::Shape shape) {
    graph::Tensor tensor;
    tensor.type = graph::ElementType::kFloat32;
    tensor.shape = std::move(shape);
    return subgraph_.tensors.push_back(std::move(tensor));
  }
  void Op(const std::string& type, std::vector<TensorId> inputs, TensorId out, Integers perm = {}) {
    graph::Op op;
    op.type = type;
    op.inputs = std::move(inputs);
    op.outputs = {out};
    if (!perm.empty()) op.attributes["perm"] = std::move(perm);
    subgraph_.ops.push_back(std::move(op));
  }
  StreamImages Images() const { return ImagesOf(subgraph_); }

 private:
  graph::Subgraph subgraph_;
};

void ExpectRows(const StreamImage& image, std::int64_t height, std::int64_t width,
                std::int64_t channels, bool channels_first) {
  EXPECT_EQ(image.height, height);
  EXPECT_EQ(image.width, width);
  EXPECT_EQ(image.pixel_bytes, channels * kFloat);
  EXPECT_EQ(image.channels_first, channels_first);
}

TEST(StreamImages, RowsOfConvolutionsOverTimeAreTimeSteps) {
  Maker maker;
  const TensorId input = maker.Tensor({1, 3, 20});
  const TensorId bent = maker.Tensor({1, 3, 20});
  const TensorId convolved = maker.Tensor({1, 8, 20});
  const TensorId sum = maker.Tensor({1, 8, 20});
  const TensorId tokens = maker.Tensor({1, 20, 8});
  const TensorId other = maker.Tensor({1, 20, 8});
  maker.Op("Relu", {input}, bent);
  maker.Op("Conv", {bent}, convolved);
  maker.Op("Add", {convolved, convolved}, sum);
  maker.Op("Transpose", {sum}, tokens, {0, 2, 1});
  maker.Op("Relu", {tokens}, other);
  const StreamImages images = maker.Images();
  ExpectRows(images[input], 20, 1, 3, true);
  ExpectRows(images[bent], 20, 1, 3, true);
  ExpectRows(images[convolved], 20, 1, 8, true);
  ExpectRows(images[sum], 20, 1, 8, true);
  // Time steps are first.
  ExpectRows(images[tokens], 20, 1, 8, false);
  ExpectRows(images[other], 20, 1, 8, false);
}

TEST(StreamImages, GroupedChannelsKeepRowsAndColumns) {
  Maker maker;
  const TensorId image = maker.Tensor({1, 6, 5, 7});
  const TensorId grouped = maker.Tensor({1, 2, 3, 5, 7});
  const TensorId exchanged = maker.Tensor({1, 3, 2, 5, 7});
  const TensorId heads = maker.Tensor({1, 2, 5, 7, 3});
  const TensorId line = maker.Tensor({1, 6, 35});
  const TensorId free = maker.Tensor({1, 2, 3, 5, 7});  // of no image
  maker.Op("Reshape", {image}, grouped);
  maker.Op("Transpose", {grouped}, exchanged, {0, 2, 1, 3, 4});
  maker.Op("Transpose", {grouped}, heads, {0, 1, 3, 4, 2});
  maker.Op("Reshape", {image}, line);
  maker.Op("Relu", {free}, maker.Tensor({1, 2, 3, 5, 7}));
  const StreamImages images = maker.Images();
  ExpectRows(images[image], 5, 7, 6, true);
  ExpectRows(images[grouped], 5, 7, 6, true);
  ExpectRows(images[exchanged], 5, 7, 6, true);
  ExpectRows(images[heads], 2, 1, 5 * 7 * 3, false);
  ExpectRows(images[line], 35, 1, 6, true);
  ExpectRows(images[free], 2, 1, 3 * 5 * 7, false);
}

}  // namespace
}  // namespace neap::plan
