// SPDX-License-Identifier: Apache-2.0
//
// The metadata entry "OfflineMemoryAllocation": where TensorFlow Lite Micro is to put the tensors.
// Its bytes, as TFLM reads them: little-endian int32 words, a version (0), the number of subgraphs,
// the number of tensors of all subgraphs, and for each tensor, subgraph after subgraph, its byte
// offset in the arena or -1: planned online. Private to neap/formats/tflite.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "neap/formats/formats.h"
#include "neap/formats/tflite/model_view.h"
#include "neap/graph/graph.h"

namespace neap::formats::tflite {

inline constexpr char kMemoryPlanKey[] = "OfflineMemoryAllocation";

// Neap's own entry beside it: the name of the only kernels under which the plan is valid, because
// outputs overlap inputs. No such entry: any kernels.
inline constexpr char kOverlapKernelsKey[] = "neap.overlap_kernels";

// The entries of that name, as indices of Model.metadata. TFLM uses the last plan.
std::vector<std::uint32_t> MetadataEntries(const schema::Model& model, std::string_view name);
inline std::vector<std::uint32_t> MemoryPlanEntries(const schema::Model& model) {
  return MetadataEntries(model, kMemoryPlanKey);
}

// The contents of the entry for kernels; "": missing or unreadable.
std::string OverlapKernelsOf(std::span<const std::byte> file, const schema::Model& model);

// The contents of the last entry; nullopt: there is none. `file` has passed OpenModel(). O(bytes).
std::optional<CarriedPlan> ReadMemoryPlan(std::span<const std::byte> file);
std::optional<CarriedPlan> ReadMemoryPlan(std::span<const std::byte> file,
                                          const schema::Model& model);

// The bytes of such an entry.
std::vector<std::byte> MemoryPlanBytes(const graph::TensorOffsets& offsets);

// The bytes of the plan if they can be changed without changing anything else: the only entry of
// its name, in a separate buffer inside the FlatBuffer. Empty: there are none.
std::span<const std::byte> OwnMemoryPlanBytes(const schema::Model& model);

}  // namespace neap::formats::tflite
