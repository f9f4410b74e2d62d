// SPDX-License-Identifier: Apache-2.0
#include "neap/plan/stream.h"

#include <algorithm>

#include "neap/ops/macs.h"

namespace neap::plan {
std::string_view NameOf(StreamInput input) {
  switch (input) {
    case StreamInput::kResident:
      return "resident";
    case StreamInput::kExternal:
      return "external";
    case StreamInput::kRows:
      return "rows";
  }
  return "";
}

StreamImage ImageOf(const graph::Tensor& tensor, std::int64_t bytes) {
  constexpr std::size_t kRank = 4;
  const StreamImage whole{1, 1, bytes};
  if (!tensor.shape || tensor.shape->size() != kRank) return whole;
  const graph::Shape& shape = *tensor.shape;
  if (shape[0] != 1 || shape[1] < 1 || shape[2] < 1 || shape[3] < 1) return whole;
  const StreamImage image{shape[1], shape[2], bytes / shape[1] / shape[2]};
  return image.pixel_bytes > 0 && image.bytes() == bytes ? image : whole;
}

std::int64_t MacsOfPixel(const graph::Subgraph& subgraph, const graph::Op& op) {
  if (op.outputs.empty() || !op.outputs[0].valid()) return 0;
  const graph::Tensor& output = subgraph.tensors[op.outputs[0]];
  const auto bytes = graph::TensorBytes(output);
  if (!bytes) return 0;
  const StreamImage image = ImageOf(output, *bytes);
  constexpr std::int64_t kMax = std::int64_t{1} << 40;
  return std::min(ops::MultiplyAccumulates(subgraph, op) / (image.height * image.width), kMax);
}

}  // namespace neap::plan
