// SPDX-License-Identifier: Apache-2.0
#include "neap/show/report/flash_text.h"

#include <fmt/format.h>

#include <set>

#include "neap/base/bytes.h"

namespace neap::report {

FlashReport FlashOf(const graph::Graph& graph, std::int64_t file_bytes) {
  FlashReport flash;
  flash.file_bytes = file_bytes;
  std::set<const std::byte*> counted;
  for (const graph::Subgraph& subgraph : graph.subgraphs) {
    for (const graph::Tensor& tensor : subgraph.tensors) {
      if (!tensor.constant || !tensor.data || tensor.data->bytes.empty()) continue;
      if (!counted.insert(tensor.data->bytes.data()).second) continue;
      const auto bytes = static_cast<std::int64_t>(tensor.data->bytes.size());
      const int bits = graph::BitsOf(tensor.type);
      if (tensor.compressed) {
        flash.compressed_bytes += bytes;
      } else if (bits > 0 && bits <= 8) {
        flash.weights_bytes += bytes;
      } else {
        flash.constants_bytes += bytes;
      }
    }
  }
  flash.structure_bytes =
      file_bytes - flash.weights_bytes - flash.constants_bytes - flash.compressed_bytes;
  return flash;
}

std::string FlashText(const PlanReport& report) {
  const FlashReport& flash = report.flash;
  if (flash.file_bytes <= 0 || flash.structure_bytes < 0) return "";
  std::string out =
      fmt::format("  flash: model {}: weights {} B, other constants {} B, structure {} B",
                  FormatBytes(flash.file_bytes), FormatCount(flash.weights_bytes),
                  FormatCount(flash.constants_bytes), FormatCount(flash.structure_bytes));
  if (flash.compressed_bytes > 0) {
    return out + fmt::format(
                     "; compressed constants {} B, which kernels unpack; the others are "
                     "read in place\n",
                     FormatCount(flash.compressed_bytes));
  }
  return out + "; all read in place\n";
}

}  // namespace neap::report
