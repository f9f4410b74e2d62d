// SPDX-License-Identifier: Apache-2.0
#include "neap/execute/families.h"

namespace neap::execute {

std::span<const KernelFamily> OnnxFamilies() {
  static constexpr KernelFamily kFamilies[] = {
      onnx::ConvKernels,     onnx::PoolKernels,   onnx::MatmulKernels, onnx::UnaryKernels,
      onnx::BinaryKernels,   onnx::MoveKernels,   onnx::ReduceKernels, onnx::NormalizeKernels,
      onnx::QuantizeKernels, onnx::VendorKernels, onnx::ResizeKernels, onnx::RecurrentKernels,
  };
  return kFamilies;
}

}  // namespace neap::execute
