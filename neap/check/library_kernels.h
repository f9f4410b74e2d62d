// SPDX-License-Identifier: Apache-2.0
//
// Walks of the kernels of CMSIS-NN, loop by loop. They share nothing with the distances of
// neap/ops/library_overlap.h but the geometry of windows. Private to neap/check.
#pragma once

#include "neap/check/kernel_tape.h"
#include "neap/graph/graph.h"
#include "neap/ops/overlap.h"

namespace neap::check {

// Whether `library`, CMSIS-NN or ESP-NN, has a kernel of known loops for this operator and these
// types.
bool HasLibraryKernel(const graph::Subgraph& subgraph, const graph::Op& op,
                      ops::KernelLibrary library);

// Notes reads of input 0 and writes of output 0; `library` is one of CMSIS-NN. False: the kernel is
// not known. May stop early, if the tape is not intact. O(reads of the kernel), runs counted once.
bool WalkCmsisNn(const graph::Subgraph& subgraph, const graph::Op& op, ops::KernelLibrary library,
                 Tape* tape);

}  // namespace neap::check
