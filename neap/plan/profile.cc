// SPDX-License-Identifier: Apache-2.0
#include "neap/plan/profile.h"

#include <array>
#include <cstddef>

namespace neap::plan {
namespace {

constexpr std::array<Profile, 6> kProfiles = {{
    {Runtime::kIdeal, "ideal", "exact bytes, no alignment, nothing shares an address", 1, false,
     false},
    {Runtime::kIdealInPlace, "ideal-inplace",
     "as ideal; element-wise and reshape-like operators write over an input that dies there", 1,
     true, false},
    {Runtime::kTflm, "tflm",
     "TensorFlow Lite Micro: 16-byte alignment, the written model carries the addresses", 16, false,
     true},
    {Runtime::kLitert, "litert",
     "LiteRT without delegates: 64-byte alignment, inputs kept, its own best-fit planner places",
     64, false, true, true, true, true, true},
    {Runtime::kOnnxRuntime, "onnxruntime",
     "ONNX Runtime: as ideal-inplace; where it puts tensors is not modelled", 1, true, true},
    {Runtime::kNeap, "neap",
     "neap run: 16-byte alignment, outputs over inputs as its own kernels allow, variables kept",
     16, true, false, false, false, true, false, ops::KernelLibrary::kNeap},
}};

}  // namespace

std::span<const Profile> Profiles() { return kProfiles; }

const Profile& ProfileOf(Runtime runtime) { return kProfiles[static_cast<std::size_t>(runtime)]; }

std::optional<Runtime> RuntimeNamed(std::string_view name) {
  for (const Profile& profile : kProfiles) {
    if (profile.name == name) return profile.runtime;
  }
  return std::nullopt;
}

}  // namespace neap::plan
