// SPDX-License-Identifier: Apache-2.0
//
// Which boards a model runs on under TensorFlow Lite Micro: the total arena on the board's target
// beside its RAM, the model file beside its flash.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "neap/base/result.h"
#include "neap/deliver/deliver.h"
#include "neap/deliver/options.h"
#include "neap/formats/formats.h"
#include "neap/target/board.h"

namespace neap::deliver {

struct BoardAnswer {
  enum class Fit : std::uint8_t {
    kFits,
    kFitsWithTiles,  // at a cost in MACs
    kDoesNotFit,     // `arena_bytes` is the least known
    kUnknown,        // what TFLM allocates is not known: `unknown`
  };
  const target::Board* board = nullptr;
  Fit fit = Fit::kUnknown;
  std::int64_t budget_bytes = 0;  // RAM less what is reserved
  std::int64_t arena_bytes = -1;  // the total arena; -1: unknown
  std::int64_t flash_bytes = 0;   // of the model file as planned
  bool fits_flash = true;
  // Multiply-accumulates of the plan and of the model as given.
  std::int64_t macs = 0;
  std::int64_t model_macs = 0;
  std::string unknown;

  bool IsYes() const { return (fit == Fit::kFits || fit == Fit::kFitsWithTiles) && fits_flash; }
};

// Deliver(), or the same with progress.
using DeliverFunction =
    std::function<Result<Delivery>(const formats::SourceModel& source, Request* request)>;

// One answer for each of `boards`, in their order. `words` are for each of them, without a board,
// a target and a budget. Boards whose targets need equal memory share plans. Fails as RequestOf()
// and Deliver() do.
Result<std::vector<BoardAnswer>> AnswersFor(const formats::SourceModel& source,
                                            const std::vector<const target::Board*>& boards,
                                            const Words& words, const formats::LoadOptions& load,
                                            const DeliverFunction& deliver);

}  // namespace neap::deliver
