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
}  // namespace tflite

}  // namespace neap::execute
