// SPDX-License-Identifier: Apache-2.0
//
// Stack frames of runtime/ on a Cortex-M55. Private to stack.cc.
#pragma once

#include "neap/emit/stack_frame.h"

namespace neap::emit {

// -fstack-usage of arm-none-eabi-gcc 12.2 -mcpu=cortex-m55 -O2. The test emit.test_stack compares
// them with the compiler, where it is installed.
inline constexpr Frame kM55Frames[] = {
    {"neap_add_linear_s8", 80},
    {"neap_add_mve_s8", 176},
    {"neap_add_s8", 64},
    {"neap_add_u8", 64},
    {"neap_average_pool_s8", 48},
    {"neap_average_pool_u8", 48},
    {"neap_concatenate_pixels", 32},
    {"neap_concatenate_rescaled", 32},
    {"neap_conv_mve_s8", 4, 372},
    {"neap_conv_packed_s8", 120, 140},
    {"neap_conv_s8", 160, 152},
    {"neap_conv_small_s8", 160, 120},
    {"neap_conv_u8", 160, 160},
    {"neap_copy_pixels", 32},
    {"neap_depthwise_mve_s8", 192, 32},
    {"neap_depthwise_packed_s8", 128, 64},
    {"neap_depthwise_s8", 144, 96},
    {"neap_depthwise_small_s8", 144, 136},
    {"neap_depthwise_u8", 152, 96},
    {"neap_drive_bilinear", 96},
    {"neap_drive_blocks", 112},
    {"neap_drive_mean", 144},
    {"neap_drive_nearest", 104},
    {"neap_drive_pixels", 96},
    {"neap_drive_points", 96},
    {"neap_drive_planes", 136},
    {"neap_drive_input_rows", 64},
    {"neap_drive_rows", 64},
    {"neap_drive_runs", 104},
    {"neap_drive_slow_weights", 136, 288},
    {"neap_drive_spread", 120},
    {"neap_drive_strip", 104},
    {"neap_drive_sums", 128},
    {"neap_drive_transfer", 56},
    {"neap_drive_wait", 8},
    {"neap_drive_window", 96},
    {"neap_find_edge", 120},
    {"neap_find_row", 28},
    {"neap_find_taps", 120},
    {"neap_finish_mean", 48},
    {"neap_fully_connected_f32", 64},
    {"neap_lookup", 24},
    {"neap_lstm_f32", 128, 112},
    {"neap_lstm_s8", 144},
    {"neap_max_pool_s8", 36},
    {"neap_max_pool_u8", 36},
    {"neap_mul_s8", 48},
    {"neap_mul_u8", 48},
    {"neap_select_s8", 48},
    {"neap_select_u8", 48},
    {"neap_softmax_f32", 64},
    {"neap_softmax_s8", 64},
    {"neap_softmax_small_s8", 64, 64},
    {"neap_softmax_u8", 56},
    {"neap_spread_s8", 64},
};

}  // namespace neap::emit
