// SPDX-License-Identifier: Apache-2.0
//
// neap boards: on which boards a model fits; without a model the table of boards.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "neap/base/bytes.h"
#include "neap/deliver/boards.h"
#include "neap/formats/formats.h"
#include "neap/show/report/report.h"
#include "neap/show/report/text.h"
#include "neap/target/board.h"
#include "neap/target/target.h"
#include "tools/common.h"
#include "tools/delivering.h"
#include "tools/emitting.h"
#include "tools/words.h"

namespace neap::tools {
namespace {

using deliver::BoardAnswer;
using Json = nlohmann::ordered_json;
using Fit = BoardAnswer::Fit;

constexpr const char* kBoardsFooter =
    "Examples:\n"
    "  neap boards\n"
    "  neap boards model.tflite\n"
    "  neap boards model.tflite --reserve 32KiB --json | jq -r '.boards[] | select(.fits).name'\n"
    "\n"
    "RAM and flash are those of public board definitions. docs/reference/boards.md has them with "
    "the\n"
    "boards' full names.\n"
    "Exit: 0 done, also where no board fits; 1 bad input or failure; 2 usage.\n";

// Emitted C streams tensors that TFLM allocates as a whole.
bool FitsOn(const report::CodeNeed& code, const BoardAnswer& answer) {
  return code.arena_bytes + code.stack_bytes <= answer.board->ram_bytes &&
         code.arena_bytes <= answer.budget_bytes && code.weights_bytes <= answer.board->flash_bytes;
}

struct BoardsOptions {
  ModelOptions model;
  OutputOptions output;
};

std::string KiB(std::int64_t bytes) {
  return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / 1024);
}

// "fits", "fits with tiles at 1.02x MACs", "does not fit: 12.0 KiB missing, the least known is ..."
std::string AnswerText(const BoardAnswer& answer) {
  std::string text;
  switch (answer.fit) {
    case Fit::kUnknown:
      return "unknown: " + report::Printable(answer.unknown, 200);
    case Fit::kFits:
      text = fmt::format("fits: {} B", FormatCount(answer.arena_bytes));
      break;
    case Fit::kFitsWithTiles:
      text = fmt::format("fits with tiles at {:.2f}x MACs: {} B",
                         static_cast<double>(answer.macs) /
                             static_cast<double>(std::max<std::int64_t>(answer.model_macs, 1)),
                         FormatCount(answer.arena_bytes));
      break;
    case Fit::kDoesNotFit:
      text = fmt::format("does not fit: {} missing, the least known is {} B",
                         KiB(answer.arena_bytes - answer.budget_bytes),
                         FormatCount(answer.arena_bytes));
      break;
  }
  if (answer.fits_flash) return text;
  const bool ram = answer.fit != Fit::kDoesNotFit;
  return (ram ? "does not fit" : text) + fmt::format("{} flash: the model has {}, the board {}",
                                                     ram ? ":" : ";", KiB(answer.flash_bytes),
                                                     KiB(answer.board->flash_bytes));
}

std::string CodeText(const std::optional<report::CodeNeed>& code,
                     const std::vector<BoardAnswer>& answers) {
  if (!code) return "";
  std::string more;
  for (const BoardAnswer& answer : answers) {
    if (answer.IsYes() || !FitsOn(*code, answer)) continue;
    more += fmt::format("{}{}", more.empty() ? "" : ", ", answer.board->name);
  }
  std::string out = fmt::format(
      "As C code (neap emit) it needs {} B, a stack of {} B and {} of flash for weights.\n",
      FormatCount(code->arena_bytes), FormatCount(code->stack_bytes), KiB(code->weights_bytes));
  if (!more.empty()) {
    out += report::Wrapped(fmt::format("Boards on which only that fits: {}.\n", more), 100);
  }
  return out;
}

std::string AnswersText(const std::vector<BoardAnswer>& answers, std::int64_t reserve_bytes) {
  std::string out = fmt::format(
      "Total arena on each board, with the scratch of its kernels (CMSIS-NN or ESP-NN).\n"
      "RAM for arena: RAM of the board less {} for stack and other data (--reserve).\n\n"
      "  {:<20} {:>13}  answer\n",
      KiB(reserve_bytes), "board", "RAM for arena");
  std::size_t yes = 0;
  for (const BoardAnswer& answer : answers) {
    yes += answer.IsYes() ? 1 : 0;
    out += Hanging(fmt::format("  {:<20} {:>13}  ", answer.board->name, KiB(answer.budget_bytes)),
                   AnswerText(answer));
  }
  return out + fmt::format("\nFits on {} of {} boards.\n", yes, answers.size());
}

Json MemoriesJson(const target::Board& board) {
  Json out = Json::array();
  for (const target::BoardMemory& memory : MemoriesOf(board)) {
    out.push_back({{"name", memory.name},
                   {"bytes", memory.bytes > 0 ? Json(memory.bytes) : Json(nullptr)},
                   {"source", memory.source}});
  }
  return out;
}

Json TableJson(const target::Board& board) {
  return {{"name", board.name},           {"title", board.title},
          {"chip", board.chip},           {"target", board.target},
          {"ram_bytes", board.ram_bytes}, {"flash_bytes", board.flash_bytes},
          {"source", board.source},       {"memories", MemoriesJson(board)}};
}

std::string_view NameOf(Fit fit) {
  switch (fit) {
    case Fit::kFits:
      return "fits";
    case Fit::kFitsWithTiles:
      return "fits with tiles";
    case Fit::kDoesNotFit:
      return "does not fit";
    case Fit::kUnknown:
      break;
  }
  return "unknown";
}

Json AnswerJson(const BoardAnswer& answer, const std::optional<report::CodeNeed>& code) {
  Json out = TableJson(*answer.board);
  const bool known = answer.fit != Fit::kUnknown;
  out["budget_bytes"] = answer.budget_bytes;
  out["answer"] = NameOf(answer.fit);
  out["fits"] = known ? Json(answer.IsYes()) : Json(nullptr);
  out["total_arena_bytes"] = known ? Json(answer.arena_bytes) : Json(nullptr);
  out["model_bytes"] = answer.flash_bytes;
  out["fits_flash"] = answer.fits_flash;
  out["macs"] = answer.macs;
  out["model_macs"] = answer.model_macs;
  out["unknown"] = known ? Json(nullptr) : Json(answer.unknown);
  out["fits_as_code"] = code ? Json(FitsOn(*code, answer)) : Json(nullptr);
  return out;
}

// "DTCM 128.0 KiB, AXI SRAM 512.0 KiB".
std::string MemoriesText(const target::Board& board) {
  std::string out;
  for (const target::BoardMemory& memory : board.memories) {
    out += fmt::format("{}{}{}", out.empty() ? "" : ", ", memory.name,
                       memory.bytes > 0 ? " " + KiB(memory.bytes) : " of any size");
  }
  return out;
}

std::string BoardsTable() {
  std::string out =
      fmt::format("  {:<20} {:>10}  {:>10}  {:<18}  chip\n", "board", "RAM", "flash", "target");
  for (const target::Board& board : target::Boards()) {
    out += fmt::format("  {:<20} {:>10}  {:>10}  {:<18}  {}\n", board.name, KiB(board.ram_bytes),
                       KiB(board.flash_bytes), board.target, board.chip);
  }
  out += "\nMemories for plans of the runtime neap, the fastest first:\n";
  for (const auto table : {target::Boards(), target::MemorySystems()}) {
    for (const target::Board& board : table) {
      if (board.memories.size() > 1) {
        out += fmt::format("  {:<20} {}\n", board.name, MemoriesText(board));
      }
    }
  }
  return out;
}

Result<int> Boards(BoardsOptions& options) {
  std::vector<const target::Board*> boards;
  for (const target::Board& board : target::Boards()) boards.push_back(&board);
  Json out;
  out["schema_version"] = report::kReportVersion;
  out["model"] = nullptr;
  out["code"] = nullptr;
  out["reserve_bytes"] = options.model.words.reserve_bytes;
  out["boards"] = Json::array();
  out["systems"] = Json::array();
  for (const target::Board& system : target::MemorySystems()) {
    out["systems"].push_back(
        {{"name", system.name}, {"title", system.title}, {"memories", MemoriesJson(system)}});
  }
  if (options.model.input.empty()) {
    for (const target::Board* board : boards) out["boards"].push_back(TableJson(*board));
    NEAP_CHECK_OK(Print(stdout, options.output.json ? out.dump(2) + "\n" : BoardsTable()));
    return kDone;
  }
  formats::LoadOptions load;
  NEAP_TRY(load.dims, ParseDims(options.model.dims));
  NEAP_TRY(const formats::SourceModel source, formats::Load(options.model.input, load));
  const bool shows = !options.output.quiet && ::isatty(::fileno(stderr)) != 0;
  NEAP_TRY(const std::vector<BoardAnswer> answers,
           AnswersFor(source, boards, options.model.words, load,
                      [&](const formats::SourceModel& model, deliver::Request* request) {
                        return DeliverWithProgress(model, shows, request);
                      }));
  std::optional<report::CodeNeed> code;
  const bool all = std::all_of(answers.begin(), answers.end(),
                               [](const BoardAnswer& answer) { return answer.IsYes(); });
  if (!all) code = NeedOfCode(options.model.input, load, 0, shows);
  if (options.output.json) {
    out["model"] = source.path;
    if (code) {
      out["code"] = {{"arena_bytes", code->arena_bytes},
                     {"stack_bytes", code->stack_bytes},
                     {"weights_bytes", code->weights_bytes}};
    }
    for (const BoardAnswer& answer : answers) out["boards"].push_back(AnswerJson(answer, code));
    NEAP_CHECK_OK(Print(stdout, out.dump(2) + "\n"));
  } else if (!options.output.quiet) {
    NEAP_CHECK_OK(Print(
        stdout, AnswersText(answers, options.model.words.reserve_bytes) + CodeText(code, answers)));
  }
  return kDone;
}

}  // namespace

int BoardsCommand(std::vector<std::string> args) {
  BoardsOptions options;
  CLI::App app("Show on which boards a model fits under TensorFlow Lite Micro.", "neap boards");
  app.footer(kBoardsFooter);
  app.add_option("model", options.model.input, "a model; without one, the table of boards")
      ->option_text("MODEL");
  app.add_option("--dim", options.model.dims, "value of a symbolic dimension, such as batch=1")
      ->option_text("NAME=VALUE");
  AddWords(&app, &options.model.words,
           {"reserve", "cascade", "cascade-bodies", "max-states", "time-limit", "max-memory"});
  AddOutputOptions(&app, &options.output);
  if (const auto code = Parse(&app, std::move(args))) return *code;
  const Result<int> code = Boards(options);
  return code ? *code : Report("boards", code.error());
}

}  // namespace neap::tools
