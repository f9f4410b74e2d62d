// SPDX-License-Identifier: Apache-2.0
//
// The tables of kernels, one function a file. Private to neap/execute.
#pragma once

#include <span>

#include "neap/execute/kernel.h"

namespace neap::execute {

using KernelFamily = std::span<const KernelEntry> (*)();

std::span<const KernelFamily> TfliteFamilies();
std::span<const KernelFamily> OnnxFamilies();

// Operators that only Neap's executor has (domain "neap"): partial convolutions that add to an
// accumulator in place.
std::span<const KernelEntry> NeapKernels();

namespace tflite {
std::span<const KernelEntry> ConvKernels();
std::span<const KernelEntry> MatmulKernels();
std::span<const KernelEntry> PoolKernels();
std::span<const KernelEntry> BinaryKernels();
std::span<const KernelEntry> UnaryKernels();
std::span<const KernelEntry> MoveKernels();
std::span<const KernelEntry> IndexKernels();
std::span<const KernelEntry> ReduceKernels();
std::span<const KernelEntry> SoftmaxKernels();
std::span<const KernelEntry> ResizeKernels();
std::span<const KernelEntry> QuantizeKernels();
std::span<const KernelEntry> TransposeConvKernels();
std::span<const KernelEntry> RecurrentKernels();
// Custom operators (domain "custom").
std::span<const KernelEntry> CustomKernels();
}  // namespace tflite

namespace onnx {
std::span<const KernelEntry> ConvKernels();
std::span<const KernelEntry> PoolKernels();
std::span<const KernelEntry> MatmulKernels();
std::span<const KernelEntry> UnaryKernels();
std::span<const KernelEntry> BinaryKernels();
std::span<const KernelEntry> MoveKernels();
std::span<const KernelEntry> ReduceKernels();
std::span<const KernelEntry> NormalizeKernels();
std::span<const KernelEntry> QuantizeKernels();
std::span<const KernelEntry> VendorKernels();
std::span<const KernelEntry> ResizeKernels();
std::span<const KernelEntry> RecurrentKernels();
}  // namespace onnx

}  // namespace neap::execute
