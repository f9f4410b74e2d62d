// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "neap/ops/op_rules.h"
#include "neap/ops/op_table.h"

namespace neap::ops {
namespace {

using enum OpKind;
using namespace trait;

constexpr auto kCustomRows = std::to_array<OpRow>({
    {.kind = kCircularBuffer,
     .name = "CIRCULAR_BUFFER",
     .traits = kStateful,
     .scratch = scratch::None},
    {.kind = kEthosU, .name = "ethos-u", .traits = kStateful},
    {.kind = kSignalDelay, .name = "SignalDelay", .traits = kStateful, .scratch = scratch::None},
    {.kind = kSignalEnergy, .name = "SignalEnergy", .traits = kStateful, .scratch = scratch::None},
    {.kind = kSignalFftAutoScale,
     .name = "SignalFftAutoScale",
     .traits = kStateful,
     .scratch = scratch::None},
    {.kind = kSignalFilterBank,
     .name = "SignalFilterBank",
     .traits = kStateful,
     .scratch = scratch::None},
    {.kind = kSignalFilterBankLog,
     .name = "SignalFilterBankLog",
     .traits = kStateful,
     .scratch = scratch::None},
    {.kind = kSignalFilterBankSpectralSubtraction,
     .name = "SignalFilterBankSpectralSubtraction",
     .traits = kStateful,
     .scratch = scratch::None},
    {.kind = kSignalFilterBankSquareRoot,
     .name = "SignalFilterBankSquareRoot",
     .traits = kStateful,
     .scratch = scratch::None},
    {.kind = kSignalFramer, .name = "SignalFramer", .traits = kStateful, .scratch = scratch::None},
    {.kind = kSignalIrfft, .name = "SignalIrfft", .traits = kStateful, .scratch = scratch::None},
    {.kind = kSignalOverlapAdd,
     .name = "SignalOverlapAdd",
     .traits = kStateful,
     .scratch = scratch::None},
    {.kind = kSignalPCAN, .name = "SignalPCAN", .traits = kStateful, .scratch = scratch::None},
    {.kind = kSignalRfft, .name = "SignalRfft", .traits = kStateful, .scratch = scratch::Rfft},
    {.kind = kSignalStacker,
     .name = "SignalStacker",
     .traits = kStateful,
     .scratch = scratch::None},
    {.kind = kSignalWindow, .name = "SignalWindow", .traits = kStateful, .scratch = scratch::None},
    {.kind = kDetectionPostprocess,
     .name = "TFLite_Detection_PostProcess",
     .scratch = scratch::DetectionPostprocess},
    {.kind = kTflmDecode, .name = "TFLM_DECODE", .traits = kStateful, .scratch = scratch::None},
});
static_assert(AreInOrder(kCustomRows));

constexpr auto kNeapRows = std::to_array<OpRow>({
    {.kind = kNeapAccumulate, .name = "ACCUMULATE"},
    {.kind = kNeapEnd, .name = "END"},
    {.kind = kNeapPart, .name = "PART"},
    {.kind = kNeapRequantize, .name = "REQUANTIZE"},
    {.kind = kNeapStart, .name = "START"},
});
static_assert(AreInOrder(kNeapRows));

}  // namespace

std::span<const OpRow> CustomRows() { return kCustomRows; }
std::span<const OpRow> NeapRows() { return kNeapRows; }

}  // namespace neap::ops
