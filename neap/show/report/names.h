// SPDX-License-Identifier: Apache-2.0
//
// Short forms of tensor names for text and pages. JSON and tooltips carry the whole name.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "neap/graph/graph.h"

namespace neap::report {

// Fused operators concatenate the names of all their parts, and frameworks prefix scopes:
// "net/conv_14/bn/Relu6;net/conv_14/bn/add" is shown as "conv_14/.../Relu6". A short name consists
// of the last parts of the first fused name, as many as distinguish it from the other names given
// here.
class ShortNames {
 public:
  static constexpr std::size_t kMaxColumns = 32;

  // `names` may contain duplicates.
  explicit ShortNames(const std::vector<std::string>& names);

  // Printable, at most kMaxColumns wide. A name that the constructor did not receive is only cut
  // to that width.
  std::string Of(const std::string& name) const;
  // Of all tensors of a graph.
  static ShortNames OfTensors(const graph::Graph& graph);

 private:
  std::map<std::string, std::string, std::less<>> short_;
};

}  // namespace neap::report
