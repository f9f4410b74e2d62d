// SPDX-License-Identifier: Apache-2.0
//
// Scratch of the kernels of CMSIS-NN: the results of its functions arm_*_get_buffer_size() and
// arm_*_get_buffer_size_{dsp,mve}(), in bytes. Facts from the library's sources of 2026 (version 7,
// Source/*Functions/arm_*_get_buffer_sizes_*.c), compiled with GCC: with Arm Compiler 6, a 1x1
// convolution on a core with DSP takes 4 bytes for each input channel.
// tests/conformance/test_kernel_libraries.py compares each with the library itself.
#pragma once

#include <cstdint>

#include "neap/target/target.h"
#include "neap/target/window_sizes.h"

namespace neap::target::cmsis_nn {

// arm_convolve_wrapper_s8, s16.
std::int64_t ConvolveS8(Simd simd, const Convolution& conv);
std::int64_t ConvolveS16(Simd simd, const Convolution& conv);
// arm_depthwise_conv_wrapper_s8, s4.
std::int64_t DepthwiseS8(Simd simd, const Convolution& conv);
std::int64_t DepthwiseS4(Simd simd, const Convolution& conv);
// arm_transpose_conv_s8; its filter turned around. `padding` and `dilation` do not count.
std::int64_t TransposeConvS8(Simd simd, const Convolution& conv);
std::int64_t TransposeConvReverseS8(const Convolution& conv);
// arm_avgpool_s8, s16.
std::int64_t AveragePool(Simd simd, std::int64_t channels);
// arm_fully_connected_s8: a sum for each output.
std::int64_t FullyConnectedS8(Simd simd, std::int64_t out_channels);
// arm_svdf_s8: a sum for each filter.
std::int64_t SvdfS8(Simd simd, std::int64_t filters);

}  // namespace neap::target::cmsis_nn
