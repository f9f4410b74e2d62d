// SPDX-License-Identifier: Apache-2.0
#include "neap/deliver/boards.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "neap/deliver/price.h"
#include "neap/deliver/written_model.h"

namespace neap::deliver {
namespace {

using Fit = BoardAnswer::Fit;

std::int64_t BudgetOf(const target::Board& board, const Words& words) {
  return std::max<std::int64_t>(board.ram_bytes - words.reserve_bytes, 0);
}

// Of the model that is written for the plan.
Result<std::int64_t> FlashOf(const formats::SourceModel& planned, const Delivery& delivery,
                             const Request& request) {
  if (planned.format != formats::Format::kTflite) {
    return planned.bytes ? static_cast<std::int64_t>(planned.bytes->size()) : 0;
  }
  std::vector<std::string> notes;
  NEAP_TRY(const auto bytes,
           WrittenModel(planned, delivery.compiled, "model.tflite", request.load, &notes));
  return static_cast<std::int64_t>(bytes->size());
}

Result<BoardAnswer> AnswerOf(const Delivery& delivery, const Request& request,
                             const formats::SourceModel& source) {
  BoardAnswer answer;
  NEAP_TRY(answer.flash_bytes, FlashOf(delivery.Planned(source), delivery, request));
  const Price price = PriceOf(source, delivery.Planned(source), delivery.compiled);
  answer.macs = price.macs;
  answer.model_macs = price.model_macs;
  const Verdict verdict = VerdictOf(delivery.compiled, request.compile.place, request.budgets);
  answer.unknown = verdict.unknown;
  if (verdict.fit == Verdict::Fit::kUnknown) return answer;
  answer.arena_bytes = verdict.required_bytes;
  answer.fit = verdict.fit == Verdict::Fit::kExceeds ? Fit::kDoesNotFit
               : HasTiles(delivery.kind)             ? Fit::kFitsWithTiles
                                                     : Fit::kFits;
  return answer;
}

// An answer for a larger budget of a target that needs equal memory is the answer for this one, if
// its plan fits, too, or if even that budget is exceeded.
bool Holds(const BoardAnswer& larger, std::int64_t budget_bytes) {
  return larger.fit == Fit::kUnknown || larger.fit == Fit::kDoesNotFit ||
         larger.arena_bytes <= budget_bytes;
}

}  // namespace

Result<std::vector<BoardAnswer>> AnswersFor(const formats::SourceModel& source,
                                            const std::vector<const target::Board*>& boards,
                                            const Words& words, const formats::LoadOptions& load,
                                            const DeliverFunction& deliver) {
  std::vector<BoardAnswer> answers(boards.size());
  std::vector<std::size_t> order(boards.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return boards[a]->ram_bytes > boards[b]->ram_bytes;
  });
  // The last answer of each kind of target.
  std::vector<std::pair<const target::Target*, BoardAnswer>> known;
  for (const std::size_t at : order) {
    const target::Board& board = *boards[at];
    const target::Target* const target = target::TargetNamed(board.target);
    auto last = std::find_if(known.begin(), known.end(), [&](const auto& entry) {
      return target::HaveEqualMemory(*entry.first, *target);
    });
    const std::int64_t budget = BudgetOf(board, words);
    if (last == known.end() || !Holds(last->second, budget)) {
      Words own = words;
      own.board = board.name;
      own.runtime = "tflm";
      NEAP_TRY(Request request, RequestOf(own, source, load));
      NEAP_TRY(const Delivery delivery, deliver(source, &request));
      if (last == known.end()) last = known.emplace(known.end(), target, BoardAnswer());
      NEAP_TRY(last->second, AnswerOf(delivery, request, source));
    }
    answers[at] = last->second;
    answers[at].board = &board;
    answers[at].budget_bytes = budget;
    answers[at].fits_flash = answers[at].flash_bytes <= board.flash_bytes;
  }
  return answers;
}

}  // namespace neap::deliver
