// SPDX-License-Identifier: Apache-2.0
//
// The names of all operators that the executor has a kernel for, from the tables that it looks them
// up in.
#pragma once

#include <string>
#include <vector>

#include "neap/execute/families.h"

namespace neap::execute {

struct KernelName {
  std::string domain;
  std::string type;
};

inline std::vector<KernelName> AllKernels() {
  std::vector<KernelName> names;
  const auto add = [&](const char* domain, std::span<const KernelEntry> entries) {
    for (const KernelEntry& entry : entries) names.push_back({domain, std::string(entry.type)});
  };
  for (const KernelFamily family : TfliteFamilies()) add("tflite", family());
  for (const KernelFamily family : OnnxFamilies()) add("", family());
  add("custom", tflite::CustomKernels());
  add("neap", NeapKernels());
  return names;
}

}  // namespace neap::execute
