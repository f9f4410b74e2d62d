// SPDX-License-Identifier: Apache-2.0
//
// A network for received plans: its operators without addresses, and the facts by which a device
// checks a plan (runtime/neap_rt.h, neap_network). Private to neap/emit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "neap/base/result.h"
#include "neap/emit/lowering.h"
#include "neap/emit/program.h"
#include "neap/emit/segments.h"
#include "neap/emit/write.h"

namespace neap::emit {

// A neap_rule.
struct NetworkRule {
  std::string kind;  // "NEAP_STARTS_BELOW"
  std::int64_t input = 0;
  std::int64_t output = 0;
  std::int64_t bytes = 0;
};

struct NetworkOp {
  std::vector<std::int64_t> outputs;  // tensors, by Network::tensors
  std::vector<std::int64_t> inputs;   // without constants
  std::vector<NetworkRule> rules;
  std::int64_t scratch_bytes = 0;
};

struct Network {
  std::vector<graph::TensorId> tensors;  // inputs and outputs of operators, by index
  std::vector<std::int64_t> tensor_bytes;
  std::vector<std::int64_t> inputs;  // of the model
  std::vector<std::int64_t> outputs;
  std::vector<NetworkOp> ops;     // by index
  std::vector<Segment> segments;  // one for each operator

  // -1: none.
  std::int64_t NumberOf(graph::TensorId tensor) const;
};

// Operators that cannot be emitted are added to *refusals.
Network NetworkOf(Lowering* lowering, Refusals* refusals);

// The tables behind those of the program's operators and segments, and the functions.
Result<std::string> NetworkText(const Network& network, const Program& program,
                                const Origin& origin, const Options& options);
std::string NetworkHeader(const Network& network, const Program& program, const Options& options);

}  // namespace neap::emit
