// SPDX-License-Identifier: Apache-2.0
//
// Parts that several JSON reports share. Private to neap/show/report.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "neap/compile/compile.h"
#include "neap/deliver/explain.h"
#include "neap/graph/graph.h"

namespace neap::report {

using Json = nlohmann::ordered_json;

double Microseconds(double seconds);  // rounded to a clock's precision
Json TensorJson(const graph::Graph& graph, graph::SubgraphId subgraph, graph::TensorId tensor);
// null where there is no operator
Json OpJson(const graph::Graph& graph, graph::SubgraphId subgraph, graph::OpId op);
Json PeakJson(const graph::Graph& graph, const compile::PeakCause& cause);
Json FeatureJson(const deliver::Feature& feature);
std::string Dump(const Json& json);  // indented, with a newline at the end

}  // namespace neap::report
