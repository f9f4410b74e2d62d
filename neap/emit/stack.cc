// SPDX-License-Identifier: Apache-2.0
#include "neap/emit/stack.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "neap/base/check.h"
#include "neap/emit/stack_frame.h"
#include "neap/emit/stack_m55.h"
#include "neap/emit/taps.h"
#include "neap/emit/write.h"

namespace neap::emit {
namespace {

// -fstack-usage of arm-none-eabi-gcc 12.2 -mcpu=cortex-m4 -O2, for the files of runtime/. The test
// emit.test_stack compares them with the compiler, where it is installed.
constexpr Frame kFrames[] = {
    {"neap_add_linear_s8", 80},
    {"neap_add_mve_s8", 0},
    {"neap_add_s8", 64},
    {"neap_add_u8", 64},
    {"neap_average_pool_s8", 48},
    {"neap_average_pool_u8", 48},
    {"neap_concatenate_pixels", 32},
    {"neap_concatenate_rescaled", 32},
    {"neap_conv_mve_s8", 0, 348},
    {"neap_conv_packed_s8", 120, 140},
    {"neap_conv_s8", 160, 144},
    {"neap_conv_small_s8", 160, 120},
    {"neap_conv_u8", 160, 152},
    {"neap_copy_pixels", 32},
    {"neap_depthwise_mve_s8", 56, 32},
    {"neap_depthwise_packed_s8", 128, 64},
    {"neap_depthwise_s8", 144, 64},
    {"neap_depthwise_small_s8", 144, 136},
    {"neap_depthwise_u8", 152, 64},
    {"neap_drive_bilinear", 96},
    {"neap_drive_blocks", 112},
    {"neap_drive_cmsis_nn_average_pool", 152},
    {"neap_drive_cmsis_nn_conv", 200},
    {"neap_drive_cmsis_nn_depthwise", 192},
    {"neap_drive_cmsis_nn_fully_connected", 200},
    {"neap_drive_cmsis_nn_max_pool", 152},
    {"neap_drive_mean", 128},
    {"neap_drive_nearest", 104},
    {"neap_drive_pixels", 96},
    {"neap_drive_points", 96},
    {"neap_drive_planes", 136},
    {"neap_drive_input_rows", 64},
    {"neap_drive_rows", 64},
    {"neap_drive_runs", 104},
    {"neap_drive_slow_weights", 136, 288},
    {"neap_drive_spread", 112},
    {"neap_drive_strip", 96},
    {"neap_drive_sums", 128},
    {"neap_drive_transfer", 64},
    {"neap_drive_wait", 8},
    {"neap_drive_window", 96},
    {"neap_find_edge", 120},
    {"neap_find_row", 28},
    {"neap_find_taps", 120},
    {"neap_finish_mean", 40},
    {"neap_fully_connected_f32", 64},
    {"neap_lookup", 24},
    {"neap_lstm_f32", 128, 112},
    {"neap_lstm_s8", 136},
    {"neap_max_pool_s8", 36},
    {"neap_max_pool_u8", 36},
    {"neap_mul_s8", 56},
    {"neap_mul_u8", 56},
    {"neap_select_s8", 48},
    {"neap_select_u8", 48},
    {"neap_softmax_f32", 64},
    {"neap_softmax_s8", 48},
    {"neap_softmax_small_s8", 56, 28},
    {"neap_softmax_u8", 48},
    {"neap_spread_s8", 64},
};
// neap_run or neap_step.
constexpr std::int64_t kEngine = 80;
// run(): saved registers, the frame, memories and external inputs; each pointer has four bytes.
constexpr std::int64_t kEntry = 48;
constexpr std::int64_t kPointer = 4;

// How much more drivers need that are compiled for size, and how much more on top of that where
// they find taps.
constexpr std::int64_t kLittleDriver = 16;
constexpr std::int64_t kLittleFinder = 24;

// The frames for the processor that the program's kernels are for.
using Frames = std::span<const Frame>;
Frames FramesFor(const Program& program) {
  return HasMve(program) ? Frames(kM55Frames) : Frames(kFrames);
}

const Frame& FrameOf(Frames frames, std::string_view function) {
  const auto found = std::find_if(frames.begin(), frames.end(),
                                  [&](const Frame& row) { return row.function == function; });
  NEAP_CHECK(found != frames.end(),
             "a function of runtime/ has no row in the table of stack frames");
  return *found;
}
std::int64_t DeepestOf(Frames frames, std::string_view function) {
  const Frame& frame = FrameOf(frames, function);
  return frame.bytes + frame.below;
}

// What finds the taps of a call.
std::int64_t FinderOf(Frames frames, const Call& call) {
  if (!IsOfRuns(call) && call.driver != "neap_drive_strip") {
    return DeepestOf(frames, "neap_find_taps");
  }
  return DeepestOf(frames, "neap_find_edge") + DeepestOf(frames, "neap_find_row");
}

}  // namespace

std::int64_t StackBytes(const Program& program) {
  const Frames frames = FramesFor(program);
  std::int64_t deepest = 0;
  for (const Segment& segment : program.segments) {
    for (const Call& call : segment.calls) {
      std::int64_t below = call.kernel.empty() ? 0 : DeepestOf(frames, call.kernel);
      const bool finds_taps =
          call.window && call.driver != "neap_drive_mean" && call.driver != "neap_drive_spread";
      if (finds_taps) {
        below = std::max(below, FinderOf(frames, call) +
                                    (program.little_flash && IsOfRuns(call) ? kLittleFinder : 0));
      }
      std::int64_t above = program.little_flash && IsOfRuns(call) ? kLittleDriver : 0;
      if (call.weights) {
        const Frame& through = FrameOf(frames, "neap_drive_slow_weights");
        above += through.bytes;
        below += call.weights->block > 0 ? through.below : 0;
      }
      deepest = std::max(deepest, above + FrameOf(frames, call.driver).bytes + below);
    }
  }
  const auto inputs = static_cast<std::int64_t>(program.inputs.size());
  const auto memories = static_cast<std::int64_t>(program.memory_bytes.size());
  return kEntry + (TapsOf(program) + inputs + memories) * kPointer + kEngine + deepest;
}

std::string StackMacros(const Program& program, const std::string& upper) {
  const std::string core = HasMve(program) ? "Cortex-M55" : "Cortex-M4";
  return "/* The most stack of a run, compiled with arm-none-eabi-gcc 12.2, -O2, for " + core +
         ". Add\n * that of the caller, start-up code, interrupts" +
         (HasCmsisNn(program) ? ", functions of CMSIS-NN" : "") +
         (HasFloats(program) ? ", expf and tanhf" : "") + " and a row function. */\n#define " +
         upper + "_STACK_BYTES " + std::to_string(StackBytes(program)) + "\n";
}

}  // namespace neap::emit
