// SPDX-License-Identifier: Apache-2.0
//
// Adds a memory plan to a file without serialising it again. Offsets in a FlatBuffer point forward
// only, so new parts have to come first: a root table with the fields of the old one, the lists of
// buffers and of metadata with one more entry each, the plan, and then the old file, byte for byte,
// K bytes further back. Private to neap/formats/tflite.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "neap/base/result.h"
#include "neap/formats/tflite/model_view.h"

namespace neap::formats::tflite {

// K is a multiple of this: no alignment inside the old file changes.
inline constexpr std::size_t kSpliceAlignment = 64;

// `file` with `plan` as the data of its only metadata entry "OfflineMemoryAllocation" and, unless
// it is empty, `kernels` as the data of its only entry "neap.overlap_kernels". Earlier entries of
// these names are removed from the list; their bytes remain in the file. Positions relative to the
// start of the file (Buffer.offset, Operator.large_custom_options_offset, an appended ZIP) grow by
// K = size of the result - size of `file`. Fails with kBadInput for a root table with unknown
// fields, and for a ZIP that would exceed its 32-bit offsets. `model` is OpenModel(file).
Result<std::vector<std::byte>> SpliceMemoryPlan(std::span<const std::byte> file,
                                                const schema::Model& model,
                                                std::span<const std::byte> plan,
                                                std::string_view kernels);

// `out` ends with a copy of `file` that is `shift` bytes further back: adds `shift` to every
// position in the copy that is relative to the start of the file (as listed for SpliceMemoryPlan).
// Fails like SpliceMemoryPlan.
Status ShiftOldFile(std::span<const std::byte> file, const schema::Model& model, std::size_t shift,
                    std::vector<std::byte>* out);

}  // namespace neap::formats::tflite
