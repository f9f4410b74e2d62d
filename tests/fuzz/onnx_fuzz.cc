// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/model_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  neap::fuzz::TryModel(data, size, "fuzz.onnx");
  return 0;
}
