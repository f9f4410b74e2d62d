// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include "neap/zoo/zoo.h"
namespace neap::zoo {
TEST(Tmp, Print) {
  for (const auto& r : Recipes()) {
    auto n = BuildNetwork(r.name, {.weights = false});
    if (!n) {
      printf("%s FAIL %s\n", r.name.data(), n.error().ToString().c_str());
      continue;
    }
    const Facts& f = n->facts;
    printf(
        "%-24s ops %4zu params %9ld pub %9ld keras %9ld macs %ld body V %ld deg %ld depth %ld "
        "params %ld macs %ld\n",
        r.name.data(), n->graph.subgraphs[graph::SubgraphId(0)].ops.size(), f.parameters,
        f.published_parameters, f.KerasParameters(), f.multiply_accumulates, f.body.layers + 2,
        f.body.degree, f.body.depth + 1, f.body.parameters, f.body.multiply_accumulates);
  }
}
}  // namespace neap::zoo
