// SPDX-License-Identifier: Apache-2.0
//
// Received plans: any bytes are refused, or executed without a read or write outside of the arena,
// and then with the outputs of the network. The network is a small one whose kernels know the value
// that every byte of a tensor must have.
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "runtime/neap_rt.h"
#include "tests/fuzz/require.h"

#include "runtime/neap_plan_apply.c"

namespace {

using neap::fuzz::Require;

// input 0 -> op 0 -> 1; 1 -> op 1 -> 2 (in place), with scratch; 1 -> op 2 -> 3 (may start 8
// below); 2, 3 -> op 3 -> 4, which holds 3 from byte 16 on; 4 -> op 4 -> 5, which reads from byte
// 12 on.
constexpr std::array<std::uint32_t, 6> kBytes = {24, 16, 16, 8, 24, 10};
constexpr std::uint32_t kHeldFrom = 16;

std::int8_t ValueOf(std::uint32_t tensor, std::uint32_t at) {
  if (tensor == 4 && at >= kHeldFrom) return ValueOf(3, at - kHeldFrom);
  return static_cast<std::int8_t>(tensor * 37 + at * 11 + 1);
}

struct Kernel {
  std::uint32_t output;
  std::array<std::int32_t, 2> inputs;  // -1: none
  std::uint32_t read_from;
  std::uint32_t scratch;
};
constexpr std::array<Kernel, 5> kKernels = {{{1, {0, -1}, 0, 0},
                                             {2, {1, -1}, 0, 12},
                                             {3, {1, -1}, 0, 0},
                                             {4, {2, 3}, 0, 0},
                                             {5, {4, -1}, 12, 0}}};

void RequireValue(const neap_frame* frame, std::uint32_t tensor, std::uint32_t at) {
  Require(frame->memories[1 + tensor][at] == ValueOf(tensor, at), "an input has its value");
}

// Reads as late, and writes as early, as the rules of the operator allow.
int Drive(const neap_op* op, const neap_frame* frame, std::uint32_t, std::uint32_t, std::uint32_t) {
  const Kernel& kernel = *static_cast<const Kernel*>(op->params);
  const std::uint32_t size = kBytes.at(kernel.output);
  if (kernel.scratch > 0) std::memset(frame->memories[0], 0x55, kernel.scratch);
  for (std::uint32_t i = 0; i < size; ++i) {
    if (kernel.output == 2) RequireValue(frame, 1, i);
    // Eight bytes behind.
    if (kernel.output == 3) RequireValue(frame, 1, i + 8);
    if (kernel.output == 3 && i == 0) {
      for (std::uint32_t k = 0; k < 8; ++k) RequireValue(frame, 1, k);
    }
    frame->memories[1 + kernel.output][i] = ValueOf(kernel.output, i);
  }
  if (kernel.output == 2 || kernel.output == 3) return NEAP_OK;
  for (const std::int32_t input : kernel.inputs) {
    if (input < 0) continue;
    const auto tensor = static_cast<std::uint32_t>(input);
    for (std::uint32_t i = kernel.read_from; i < kBytes.at(tensor); ++i) {
      RequireValue(frame, tensor, i);
    }
  }
  return NEAP_OK;
}

constexpr std::array<std::uint16_t, 2> kOneRow = {0, 1};
constexpr neap_op CallOf(const Kernel* kernel) {
  return {Drive, nullptr, kernel, nullptr, nullptr, kOneRow.data(), kOneRow.data(), 0, 1, 1, 1, 1};
}
const std::array<neap_op, 5> kCalls = {CallOf(&kKernels[0]), CallOf(&kKernels[1]),
                                       CallOf(&kKernels[2]), CallOf(&kKernels[3]),
                                       CallOf(&kKernels[4])};
constexpr std::array<std::uint16_t, 11> kTensors = {1, 0, 2, 1, 3, 1, 4, 2, 3, 5, 4};
constexpr std::array<neap_rule, 4> kRules = {{{0, NEAP_IN_PLACE, 0, 0},
                                              {8, NEAP_STARTS_BELOW, 0, 0},
                                              {kHeldFrom, NEAP_HOLDS_INPUT, 1, 0},
                                              {12, NEAP_READS_FROM, 0, 0}}};
const std::array<neap_network_op, 5> kOps = {{
    {&kCalls[0], &kTensors[0], nullptr, 0, 1, 1, 1, 0},
    {&kCalls[1], &kTensors[2], &kRules[0], 12, 1, 1, 1, 1},
    {&kCalls[2], &kTensors[4], &kRules[1], 0, 1, 1, 1, 1},
    {&kCalls[3], &kTensors[6], &kRules[2], 0, 1, 1, 2, 1},
    {&kCalls[4], &kTensors[9], &kRules[3], 0, 1, 1, 1, 1},
}};
constexpr std::array<std::uint16_t, 1> kInput = {0};
constexpr std::array<std::uint16_t, 2> kOutputs = {5, 2};
constexpr std::array<std::uint8_t, 32> kModel = {};
const neap_network kNetwork = {
    kOps.data(), kBytes.data(), kInput.data(), kOutputs.data(), kModel.data(), 5, 6, 1, 2};

void Apply(const std::vector<std::uint8_t>& plan) {
  constexpr std::uint32_t kCapacity = 256;
  std::array<std::int8_t*, 7> memories = {};
  std::array<neap_place, 6> places = {};
  std::array<const std::int8_t*, 4> taps = {};
  const neap_plan_work work = {memories.data(), places.data(), taps.data()};
  const auto bytes = static_cast<std::uint32_t>(plan.size());
  const int checked = neap_plan_check(&kNetwork, plan.data(), bytes, kCapacity, &work);
  // On the heap, with exactly the bytes that the plan states: the sanitizer watches its ends.
  const std::uint32_t needed = checked == NEAP_OK ? neap_plan_u32(plan.data() + 12) : kCapacity;
  std::vector<std::uint32_t> arena((needed + 3) / 4, 0x5a5a5a5a);
  std::vector<std::int8_t> input(kBytes[0]);
  for (std::uint32_t i = 0; i < kBytes[0]; ++i) input[i] = ValueOf(0, i);
  const void* const inputs[] = {input.data()};
  const void* outputs[2] = {};
  const int applied =
      neap_plan_apply(&kNetwork, plan.data(), bytes, arena.data(), needed, &work, inputs, outputs);
  Require(applied == checked, "what is checked is what is applied");
  if (applied != NEAP_OK) return;
  for (std::size_t o = 0; o < kOutputs.size(); ++o) {
    for (std::uint32_t i = 0; i < kBytes.at(kOutputs.at(o)); ++i) {
      Require(static_cast<const std::int8_t*>(outputs[o])[i] == ValueOf(kOutputs.at(o), i),
              "an accepted plan computes the outputs");
    }
  }
}

void Put(std::vector<std::uint8_t>* plan, std::size_t at, std::uint32_t value) {
  for (std::size_t i = 0; i < 4; ++i) {
    (*plan)[at + i] = static_cast<std::uint8_t>(value >> 8 * i);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::uint8_t> plan(data, data + size);
  Apply(plan);
  // The same with a header and a checksum that are right, so that the records are reached.
  constexpr std::size_t kLeast = NEAP_PLAN_HEADER + NEAP_PLAN_CHECKSUM;
  if (size < kLeast) return 0;
  std::memcpy(plan.data(), "NEAP\1\0", 6);
  Put(&plan, 8, static_cast<std::uint32_t>(size));
  std::memset(plan.data() + 16, 0, 32);
  Put(&plan, 48, 6 | 5U << 16U);
  Put(&plan, size - 4, neap_plan_crc(plan.data(), static_cast<std::uint32_t>(size - 4)));
  Apply(plan);
  return 0;
}
