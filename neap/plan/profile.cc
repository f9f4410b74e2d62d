// SPDX-License-Identifier: Apache-2.0
#include "neap/plan/profile.h"

#include <array>
#include <cstddef>

namespace neap::plan {
namespace {

constexpr std::array<Profile, 6> kProfiles = {{
    {Runtime::kIdeal, "ideal", "exact sizes, no alignment, no shared addresses", 1, false, false},
    {Runtime::kIdealInPlace, "ideal-inplace",
     "as ideal; element-wise and reshape-like operators overwrite an input at its last use", 1,
     true, false},
    {Runtime::kTflm, "tflm",
     "TensorFlow Lite Micro: 16-byte alignment, the written model contains the addresses", 16,
     false, true},
    {Runtime::kLitert, "litert",
     "LiteRT without delegates: 64-byte alignment, inputs live to the end, placed by its planner",
     64, false, true, true, true, true, true},
    {Runtime::kOnnxRuntime, "onnxruntime",
     "ONNX Runtime: as ideal-inplace; its placement is not modelled", 1, true, true},
    {Runtime::kNeap, "neap",
     "neap run: 16-byte alignment, overlaps that its own kernels allow, variables always live", 16,
     true, false, false, false, true, false, ops::KernelLibrary::kNeap},
}};

}  // namespace

std::span<const Profile> Profiles() { return kProfiles; }

const Profile& ProfileOf(Runtime runtime) { return kProfiles[static_cast<std::size_t>(runtime)]; }

Profile ProfileOf(Runtime runtime, const target::Target& target) {
  Profile profile = ProfileOf(runtime);
  if (runtime == Runtime::kTflm) profile.target = &target;
  return profile;
}

const target::Target& TargetOf(const Profile& profile) {
  return profile.target == nullptr ? target::DefaultTarget() : *profile.target;
}

std::optional<Runtime> RuntimeNamed(std::string_view name) {
  for (const Profile& profile : kProfiles) {
    if (profile.name == name) return profile.runtime;
  }
  return std::nullopt;
}

}  // namespace neap::plan
