// SPDX-License-Identifier: Apache-2.0
#include "neap/deliver/options.h"

#include <algorithm>
#include <utility>

#include "neap/compile/compile.h"
#include "neap/deliver/option_values.h"
#include "neap/ops/overlap.h"
#include "neap/plan/profile.h"
#include "neap/rewrite/rewrite.h"

namespace neap::deliver {
namespace {

constexpr std::int64_t kMostStates = 1'000'000'000'000;

constexpr std::string_view kCommon = "Common options";
constexpr std::string_view kOrder = "The order";
constexpr std::string_view kPlacement = "Addresses and memories";
constexpr std::string_view kRewriting = "Rewriting";
constexpr std::string_view kTiles = "Tiles";
constexpr std::string_view kStreams = "Streams";
constexpr std::string_view kLimits = "Limits";

std::vector<std::string_view> OverlapNames() {
  std::vector<std::string_view> names;
  for (const ops::KernelLibraryInfo& info : ops::KernelLibraries()) names.push_back(info.name);
  return names;
}

std::string RuntimeHelp() {
  std::string help = "what counts and who places; default: tflm for .tflite, else ideal";
  for (const plan::Profile& profile : plan::Profiles()) {
    help += "\n" + std::string(profile.name) + ": " + std::string(profile.summary);
  }
  return help;
}

std::string RulesHelp() {
  std::string help = "rewrites to use, or to leave out; default: all";
  for (const rewrite::RuleInfo& rule : rewrite::Rules()) {
    help += "\n" + std::string(rule.name) + ": " + std::string(rule.summary);
  }
  return help;
}

std::string DeviceHelp() {
  return "what cycles are counted on: a description in a file ending in .json, or one of " +
         JoinedBy(cascade::DevicePresets(), ", ") +
         "; default: " + std::string(cascade::DevicePresets().front());
}

void AddCommonOptions(std::vector<Option>* options) {
  options->push_back({"runtime", kCommon, "PROFILE", RuntimeHelp(), SetRuntime});
  options->push_back(
      {"budget", kCommon, "SIZE", "most bytes of the arena, such as 256KiB",
       [](std::string_view text, Words* words) { return SetBytes(text, &words->budget_bytes); }});
  options->push_back({"budget-total", kCommon, "SIZE",
                      "most bytes of TFLM's whole arena on a Cortex-M, what it keeps beside the "
                      "activations included",
                      [](std::string_view text, Words* words) {
                        return SetBytes(text, &words->budget_total_bytes);
                      }});
  options->push_back(
      {"overlap", kCommon, JoinedBy(OverlapNames(), "|"),
       "let outputs lie over inputs as far as these kernels allow it; the result is right under "
       "them alone; default: no overlap inside operators",
       [](std::string_view text, Words* words) {
         return SetName(text, OverlapNames(), &words->overlap);
       }});
  options->push_back(
      {"integer-io", kCommon, "inputs|outputs|both",
       "another interface: float inputs that go into a QUANTIZE, outputs of a DEQUANTIZE, or both "
       "become its integers, and the caller converts",
       [](std::string_view text, Words* words) {
         return SetName(text, {"inputs", "outputs", "both"}, &words->integer_io);
       }});
  options->push_back(
      {"time-limit", kCommon, "SECONDS",
       "seconds of all searches together; results may then differ between runs; 0, the default: "
       "none",
       SetTimeLimit});
}

void AddOrderOptions(std::vector<Option>* options) {
  options->push_back(
      {"order", kOrder, "NAME",
       "how the order is found, default exact: " + JoinedBy(compile::OrderStrategies(), ", "),
       [](std::string_view text, Words* words) {
         return SetName(text, compile::OrderStrategies(), &words->order);
       }});
  options->push_back(
      {"seed", kOrder, "N", "of an order strategy that draws; default: 0",
       [](std::string_view text, Words* words) {
         constexpr std::uint64_t kMost = 9'999'999'999'999'999'999U;
         if (SetNumber(text, std::uint64_t{0}, kMost, &words->seed)) return Status();
         return Status(Fail(UsageError("'" + std::string(text) +
                                       "' is no whole number from 0 on, of at most 19 digits")));
       }});
  options->push_back({"forced", kOrder, JoinedBy(compile::ForcedRules(), "|"),
                      "transitions that best-first takes without looking further; default: single; "
                      "sets and relaxed prove nothing",
                      [](std::string_view text, Words* words) {
                        return SetName(text, compile::ForcedRules(), &words->forced);
                      }});
  options->push_back(
      {"slack", kOrder, "SIZE",
       "bytes by which forced transitions may raise peak and live bytes, of relaxed ones",
       [](std::string_view text, Words* words) { return SetBytes(text, &words->slack_bytes); }});
  options->push_back({"step-states", kOrder, "N",
                      "states after which a search step of serenity times out; default: 10000",
                      [](std::string_view text, Words* words) {
                        return SetNumber(text, std::int64_t{1}, kMostStates, &words->step_states);
                      }});
  options->push_back({"soft-budget", kOrder, "SIZE",
                      "the soft budget (tau) of serenity, in place of the search for one: "
                      "schedules with a larger peak are dropped",
                      SetSoftBudget});
  options->push_back(
      {"order-only", kOrder, "", "do not place tensors", [](std::string_view, Words* words) {
         words->order_only = true;
         return Status();
       }});
}

void AddPlacementOptions(std::vector<Option>* options) {
  options->push_back({"no-memory-plan", kPlacement, "",
                      "tflm: write the order alone and leave the addresses to TFLM",
                      [](std::string_view, Words* words) {
                        words->no_memory_plan = true;
                        return Status();
                      }});
  options->push_back({"keep-inputs", kPlacement, "",
                      "with overlap: no output is placed over an input of the model",
                      [](std::string_view, Words* words) {
                        words->keep_inputs = true;
                        return Status();
                      }});
  options->push_back(
      {"memory", kPlacement, "NAME=SIZE,bw=N ...",
       "a memory with its bytes per cycle; several: every tensor gets the one that makes reading "
       "and writing fastest; stock runtimes cannot execute that, plan.json tells it",
       AddMemory});
  options->push_back(
      {"moves", kPlacement, "none|compact|best",
       "copies of live tensors where no placement fits the budget (or, without one, the peak): "
       "everything live moves down (compact), or the fewest bytes do (best); default: none",
       [](std::string_view text, Words* words) {
         return SetName(text, {"none", "compact", "best"}, &words->moves);
       }});
}

void AddRewritingOptions(std::vector<Option>* options) {
  options->push_back(
      {"rewrite", kRewriting, "none|bitwise|reassociate|serenity",
       "what rewriting the graph may do to the outputs: nothing at all (bitwise), "
       "or sums in another order (reassociate); none: the graph stays; serenity: "
       "the rules of SERENITY wherever they fit, accumulators of one byte",
       [](std::string_view text, Words* words) {
         return SetName(text, {"none", "bitwise", "reassociate", "serenity"}, &words->rewrite);
       }});
  options->push_back({"rules", kRewriting, "NAME,... or -NAME,...", RulesHelp(), SetRules});
  options->push_back(
      {"rewrite-work", kRewriting, "N",
       "operators and states that the search for rewrites may look at, in about microseconds; "
       "default: " +
           std::to_string(rewrite::SearchOptions().max_work),
       [](std::string_view text, Words* words) {
         return SetNumber(text, std::int64_t{1}, kMostStates, &words->rewrite_work);
       }});
  options->push_back(
      {"accumulator-bytes", kRewriting, "4|1",
       "neap: of an element of the partial sums of 8-bit convolutions; 4, the default, is exact; 1 "
       "requantises every part, as the accounting of SERENITY has it",
       [](std::string_view text, Words* words) {
         if (text != "1" && text != "4") return NotOneOf(text, "4|1");
         words->accumulator_bytes = text == "1" ? 1 : 4;
         return Status();
       }});
}

void AddTileOptions(std::vector<Option>* options) {
  options->push_back(
      {"cascade", kTiles, "auto|off",
       "run operators tile by tile where that needs less memory: the written model has slices, "
       "operators on tiles and concatenations; default: only where no other plan is within the "
       "budget",
       [](std::string_view text, Words* words) {
         return SetName(text, {"auto", "off"}, &words->cascade);
       }});
  options->push_back(
      {"cascade-bodies", kTiles, "clones|shared",
       "what equal tiles are made of in TensorFlow Lite Micro: operators of their own, or, where "
       "that needs less, a body that each of them calls by an IF, which the application must "
       "register; default: clones",
       [](std::string_view text, Words* words) {
         return SetName(text, {"clones", "shared"}, &words->cascade_bodies);
       }});
  options->push_back(
      {"device", kTiles, "NAME or FILE", DeviceHelp(), [](std::string_view text, Words* words) {
         words->device = text;
         return Status();
       }});
  options->push_back({"max-region-operators", kTiles, "N",
                      "operators in one region of tiles, at most; default: 24",
                      [](std::string_view text, Words* words) {
                        return SetNumber(text, std::size_t{1}, std::size_t{1000},
                                         &words->grids.most_operators);
                      }});
  constexpr std::int64_t kMostTiles = 4096;
  options->push_back({"max-region-tiles", kTiles, "N", "tiles of one region, at most; default: 64",
                      [](std::string_view text, Words* words) {
                        return SetNumber(text, std::int64_t{2}, kMostTiles,
                                         &words->grids.most_tiles);
                      }});
  options->push_back(
      {"max-tile-aspect", kTiles, "N",
       "where height and width are both cut, parts along the one for each part along the other, at "
       "most; default: 2",
       [](std::string_view text, Words* words) {
         return SetNumber(text, std::int64_t{1}, kMostTiles, &words->grids.most_aspect);
       }});
  options->push_back(
      {"tile-grids", kTiles, "auto|all",
       "grids that are tried: all, or (auto, the default) those that promise most: where slices of "
       "rows are free (TensorFlow Lite Micro) no cuts of the width alone, and at most 16 tiles "
       "where both axes are cut",
       SetTileGrids});
}

void AddStreamOptions(std::vector<Option>* options) {
  options->push_back(
      {"stream", kStreams, "auto|off",
       "neap: compute parts of the network block by block, so that a few rows of most tensors are "
       "enough; default: only where no other plan is within the budget",
       [](std::string_view text, Words* words) {
         return SetName(text, {"auto", "off"}, &words->stream);
       }});
  options->push_back(
      {"input", kStreams, "resident|external|rows",
       "of streams, where the inputs are: in the arena and counted (the default), in other memory "
       "that can be read at any place, or fed row by row",
       [](std::string_view text, Words* words) {
         return SetName(text, {"resident", "external", "rows"}, &words->input);
       }});
  options->push_back({"max-macs", kStreams, "RATIO",
                      "of streams: multiply-accumulates of the plan, as a multiple of the "
                      "network's, such as 1.02; default: 1",
                      SetMaxMacs});
  options->push_back(
      {"block-columns", kStreams, "N|row",
       "of streams: columns of a segment's result that a block computes; default: chosen for each "
       "segment",
       SetBlockColumns});
}

void AddLimitOptions(std::vector<Option>* options) {
  options->push_back(
      {"max-states", kLimits, "N",
       "states of the search, the same on every machine; default: a few seconds' worth, by the "
       "number of operators; with a time limit: none",
       [](std::string_view text, Words* words) {
         return SetNumber(text, std::int64_t{1}, kMostStates, &words->max_states);
       }});
  options->push_back({"max-memory", kLimits, "SIZE",
                      "of the tables in which the search keeps its states; what does not fit is "
                      "forgotten or ends the search, and the model itself comes on top; default: "
                      "4GiB",
                      [](std::string_view text, Words* words) {
                        return SetBytes(text, &words->max_memory_bytes);
                      }});
  options->push_back(
      {"threads", kLimits, "N",
       "most threads of the exact search; never changes the result; default: all cores",
       [](std::string_view text, Words* words) {
         return SetNumber(text, std::int64_t{1}, std::int64_t{1024}, &words->threads);
       }});
}

std::vector<Option> MakeOptions() {
  std::vector<Option> options;
  AddCommonOptions(&options);
  AddOrderOptions(&options);
  AddPlacementOptions(&options);
  AddRewritingOptions(&options);
  AddTileOptions(&options);
  AddStreamOptions(&options);
  AddLimitOptions(&options);
  return options;
}

}  // namespace

const std::vector<Option>& Options() {
  static const std::vector<Option> kOptions = MakeOptions();
  return kOptions;
}

const Option* OptionNamed(std::string_view name) {
  const std::vector<Option>& options = Options();
  const auto found = std::find_if(options.begin(), options.end(),
                                  [&](const Option& option) { return option.name == name; });
  return found == options.end() ? nullptr : &*found;
}

Status Set(std::string_view name, std::string_view text, Words* words) {
  const Option* const option = OptionNamed(name);
  if (option == nullptr) {
    return Fail(UsageError("there is no option '" + std::string(name) + "'"));
  }
  const Status status = option->set(text, words);
  if (!status) {
    Diagnostic diagnostic = status.error();
    const bool quotes = diagnostic.message.starts_with("'") ||
                        diagnostic.message.starts_with("is") ||
                        diagnostic.message.starts_with("names");
    diagnostic.message = words->Named(name) + (quotes ? " " : ": ") + diagnostic.message;
    return Fail(std::move(diagnostic));
  }
  words->given.insert(option->name);
  return {};
}

}  // namespace neap::deliver
