// SPDX-License-Identifier: Apache-2.0
#include "neap/compile/measured.h"

#include <utility>

#include "neap/compile/lower.h"

namespace neap::compile {

Result<Measured> Measure(const graph::Graph& graph, const plan::Profile& profile) {
  Measured measured{profile, RuntimeGraph(graph, profile), {}, {}};
  for (const graph::Subgraph& subgraph : measured.merged().subgraphs) {
    NEAP_TRY(TensorSizes sizes, SizesOf(subgraph, profile));
    measured.sizes.push_back(std::move(sizes));
    measured.file_orders.push_back(FileOrderOf(subgraph));
  }
  return measured;
}

}  // namespace neap::compile
