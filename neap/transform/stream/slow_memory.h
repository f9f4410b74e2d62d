// SPDX-License-Identifier: Apache-2.0
//
// The slow memory of an assembled plan: places of its tensors, bytes read and written, and the
// bytes that every plan reads and writes.
#pragma once

#include <cstdint>

#include "neap/transform/stream/network.h"

namespace neap::stream {

// Of a network whose images have their homes. `slow_weights`: weights are in slow memory, too.
plan::SlowMemory SlowMemoryOf(const graph::Subgraph& subgraph, const Network& network,
                              const plan::Stream& stream, std::int64_t fast_bytes,
                              bool slow_weights);

}  // namespace neap::stream
