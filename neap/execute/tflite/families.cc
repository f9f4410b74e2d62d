// SPDX-License-Identifier: Apache-2.0
#include "neap/execute/families.h"

namespace neap::execute {

std::span<const KernelFamily> TfliteFamilies() {
  static constexpr KernelFamily kFamilies[] = {
      tflite::ConvKernels,      tflite::MatmulKernels,   tflite::PoolKernels,
      tflite::BinaryKernels,    tflite::UnaryKernels,    tflite::MoveKernels,
      tflite::ReduceKernels,    tflite::SoftmaxKernels,  tflite::IndexKernels,
      tflite::ResizeKernels,    tflite::QuantizeKernels, tflite::TransposeConvKernels,
      tflite::RecurrentKernels,
  };
  return kFamilies;
}

}  // namespace neap::execute
