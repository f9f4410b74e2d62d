// SPDX-License-Identifier: Apache-2.0
//
// The solvers on arrays: orders of graphs, placements of buffers.
#include "python/bindings.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "neap/base/limits.h"
#include "neap/base/work.h"
#include "neap/solve/arena/arena.h"
#include "neap/solve/arena/problem.h"
#include "neap/solve/schedule/problem.h"
#include "neap/solve/schedule/question.h"
#include "neap/solve/schedule/schedule.h"
#include "python/errors.h"
#include "python/waiting.h"

namespace neap::python {
namespace {

using Numbers = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Pairs = nb::ndarray<const std::int64_t, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;

// Of one call without a limit of states; about half a minute of one core.
constexpr std::int64_t kDefaultWork = 30'000'000'000;
constexpr std::size_t kMaxElements = std::size_t{1} << 30U;

[[noreturn]] void RaiseMalformed(const std::string& why) { Raise(UsageError(why)); }

Limits LimitsOf(std::int64_t max_states, const Search& search) {
  Limits limits;
  limits.max_states = max_states > 0 ? max_states : kStatesForAFewSeconds;
  limits.stop = search.Stop();
  return limits;
}

// A graph of nodes as a problem of operators: nodes that are inputs have none.
struct OrderProblem {
  schedule::Problem problem;
  std::vector<std::int32_t> node_of_op;
};

std::size_t NodeOf(std::int64_t value, std::size_t num_nodes, const char* what) {
  if (value < 0 || static_cast<std::size_t>(value) >= num_nodes) {
    RaiseMalformed(std::string(what) + " names node " + std::to_string(value) + ", the graph has " +
                   std::to_string(num_nodes));
  }
  return static_cast<std::size_t>(value);
}

OrderProblem ProblemOf(const Numbers& sizes, const std::optional<Pairs>& edges,
                       const Numbers& inputs, const std::optional<Numbers>& outputs,
                       const std::optional<Numbers>& scratch) {
  const std::size_t num_nodes = sizes.shape(0);
  const std::size_t num_edges = edges ? edges->shape(0) : 0;
  if (num_nodes > kMaxElements || num_edges > kMaxElements) {
    RaiseMalformed("the graph has more than 2^30 elements");
  }
  OrderProblem out;
  schedule::Problem& problem = out.problem;
  problem.buffers.resize(num_nodes);
  std::vector<std::int32_t> op_of_node(num_nodes, 0);
  for (std::size_t i = 0; i < inputs.shape(0); ++i) {
    const std::size_t node = NodeOf(inputs(i), num_nodes, "inputs");
    op_of_node[node] = -1;
    problem.buffers[node].live_at_start = true;
  }
  for (std::size_t node = 0; node < num_nodes; ++node) {
    schedule::Buffer& buffer = problem.buffers[node];
    buffer.bytes = sizes(node);
    if (op_of_node[node] < 0) continue;
    op_of_node[node] = problem.num_ops++;
    out.node_of_op.push_back(static_cast<std::int32_t>(node));
    buffer.users.push_back(op_of_node[node]);
  }
  std::vector<char> is_read(num_nodes, 0);
  for (std::size_t e = 0; e < num_edges; ++e) {
    const std::size_t from = NodeOf((*edges)(e, 0), num_nodes, "an edge");
    const std::size_t to = NodeOf((*edges)(e, 1), num_nodes, "an edge");
    if (op_of_node[to] < 0) {
      RaiseMalformed("node " + std::to_string(to) + " is an input and has a predecessor");
    }
    is_read[from] = 1;
    problem.buffers[from].users.push_back(op_of_node[to]);
    if (op_of_node[from] >= 0) problem.precedences.emplace_back(op_of_node[from], op_of_node[to]);
  }
  for (schedule::Buffer& buffer : problem.buffers) {
    std::sort(buffer.users.begin(), buffer.users.end());
    buffer.users.erase(std::unique(buffer.users.begin(), buffer.users.end()), buffer.users.end());
  }
  if (outputs) {
    for (std::size_t i = 0; i < outputs->shape(0); ++i) {
      problem.buffers[NodeOf((*outputs)(i), num_nodes, "outputs")].live_at_end = true;
    }
  } else {
    for (std::size_t node = 0; node < num_nodes; ++node) {
      problem.buffers[node].live_at_end = is_read[node] == 0;
    }
  }
  if (scratch) {
    if (scratch->shape(0) != num_nodes) {
      RaiseMalformed("scratch has " + std::to_string(scratch->shape(0)) +
                     " elements, the graph has " + std::to_string(num_nodes) + " nodes");
    }
    for (const std::int32_t node : out.node_of_op) {
      problem.scratch_bytes.push_back((*scratch)(static_cast<std::size_t>(node)));
    }
  }
  if (const auto why = schedule::Validate(problem))
    RaiseMalformed("the graph is malformed: " + *why);
  return out;
}

using Peak = std::tuple<std::int64_t, std::int64_t, std::vector<std::int32_t>>;

Peak FindPeak(const Numbers& sizes, const std::optional<Pairs>& edges, const Numbers& inputs,
              const std::optional<Numbers>& outputs, const std::optional<Numbers>& scratch,
              std::int64_t max_states, std::optional<std::int64_t> budget_bytes) {
  const OrderProblem problem = ProblemOf(sizes, edges, inputs, outputs, scratch);
  Search search(OnInterrupt::kRaise);
  const schedule::Outcome outcome = search.Run([&] {
    std::optional<WorkScope> work;
    if (max_states <= 0) work.emplace(kDefaultWork);
    const Limits limits = LimitsOf(max_states, search);
    if (!budget_bytes) return schedule::Solve(problem.problem, limits);
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() - 1;
    const std::int64_t below = std::max<std::int64_t>(std::min(*budget_bytes, kMost) + 1, 1);
    return schedule::SolveBelow(problem.problem, limits, below);
  });
  std::vector<std::int32_t> order;
  order.reserve(outcome.order.size());
  for (const schedule::OpIndex op : outcome.order) {
    order.push_back(problem.node_of_op[static_cast<std::size_t>(op)]);
  }
  return {outcome.peak_bytes, outcome.lower_bound_bytes, std::move(order)};
}

arena::Problem ProblemOf(const Numbers& lower, const Numbers& upper, const Numbers& sizes,
                         const std::optional<Numbers>& alignment) {
  const std::size_t count = sizes.shape(0);
  if (lower.shape(0) != count || upper.shape(0) != count ||
      (alignment && alignment->shape(0) != count)) {
    RaiseMalformed("the arrays have different lengths");
  }
  if (count > kMaxElements) RaiseMalformed("there are more than 2^30 buffers");
  constexpr std::int64_t kMaxStep = std::int64_t{1} << 30U;
  arena::Problem problem;
  for (std::size_t i = 0; i < count; ++i) {
    if (lower(i) < 0 || upper(i) > kMaxStep || lower(i) > upper(i)) {
      RaiseMalformed("buffer " + std::to_string(i) + " is live in [" + std::to_string(lower(i)) +
                     ", " + std::to_string(upper(i)) +
                     "), expected steps from 0 to 2^30, the first before the last");
    }
    problem.buffers.push_back({sizes(i),
                               static_cast<arena::Step>(lower(i)),
                               static_cast<arena::Step>(upper(i)),
                               alignment ? (*alignment)(i) : 1,
                               {}});
  }
  if (const auto why = arena::Validate(problem)) {
    RaiseMalformed("the buffers are malformed: " + *why);
  }
  return problem;
}

using Placement = std::tuple<std::int64_t, std::int64_t, std::vector<std::int64_t>>;

Placement Place(const Numbers& lower, const Numbers& upper, const Numbers& sizes,
                const std::optional<Numbers>& alignment, std::int64_t max_states) {
  const arena::Problem problem = ProblemOf(lower, upper, sizes, alignment);
  Search search(OnInterrupt::kRaise);
  arena::Outcome outcome = search.Run([&] {
    std::optional<WorkScope> work;
    if (max_states <= 0) work.emplace(kDefaultWork);
    return arena::Solve(problem, LimitsOf(max_states, search));
  });
  return {outcome.placement.height_bytes, outcome.lower_bound_bytes,
          std::move(outcome.placement.offsets)};
}

}  // namespace

void BindGraphs(nb::module_* module) {
  module->def("peak", &FindPeak, nb::arg("sizes").noconvert(), nb::arg("edges").none().noconvert(),
              nb::arg("inputs").noconvert(), nb::arg("outputs").none().noconvert(),
              nb::arg("scratch").none().noconvert(), nb::arg("max_states"),
              nb::arg("budget").none());
  module->def("place", &Place, nb::arg("lower").noconvert(), nb::arg("upper").noconvert(),
              nb::arg("sizes").noconvert(), nb::arg("alignment").none().noconvert(),
              nb::arg("max_states"));
}

}  // namespace neap::python
