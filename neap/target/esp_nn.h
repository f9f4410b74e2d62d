// SPDX-License-Identifier: Apache-2.0
//
// Scratch of the int8 kernels of ESP-NN 1.2.6. On an ESP32-S3: the results of its functions
// esp_nn_get_*_scratch_size_esp32s3(), in bytes (src/convolution/*_esp32s3.c,
// src/softmax/*_esp32s3.c). tests/conformance/test_kernel_libraries.py compares each with the
// library itself. The same kernels in C (ESP32, ESP32-C3) need scratch in SOFTMAX alone, as much as
// here (src/softmax/esp_nn_softmax_opt.c).
#pragma once

#include <cstdint>

#include "neap/target/window_sizes.h"

namespace neap::target::esp_nn {

// Dilation does not count: a dilated convolution requests the same and runs the reference kernel.
std::int64_t ConvolveS8(const Convolution& conv);
std::int64_t DepthwiseS8(const Convolution& conv);
std::int64_t SoftmaxS8(std::int64_t width);

}  // namespace neap::target::esp_nn
