// SPDX-License-Identifier: Apache-2.0
#include "neap/deliver/options.h"

#include <algorithm>
#include <utility>

#include "neap/compile/compile.h"
#include "neap/deliver/option_values.h"
#include "neap/ops/overlap.h"
#include "neap/plan/profile.h"
#include "neap/target/target.h"
#include "neap/transform/rewrite/rewrite.h"

namespace neap::deliver {
namespace {

constexpr std::int64_t kMaxStates = 1'000'000'000'000;

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
  std::string help =
      "the runtime: what counts and who places; default: tflm for .tflite, otherwise ideal";
  for (const plan::Profile& profile : plan::Profiles()) {
    help += "\n" + std::string(profile.name) + ": " + std::string(profile.summary);
  }
  return help;
}

std::string TargetHelp() {
  std::vector<std::string_view> names;
  for (const target::Target& target : target::Targets()) names.push_back(target.name);
  return "tflm: the machine and its kernels, whose scratch is placed with the tensors and for "
         "which "
         "the total arena is predicted; default: that of the board or of the overlaps, otherwise " +
         std::string(target::DefaultTarget().name) + "; one of " + JoinedBy(names, ", ");
}

std::string RulesHelp() {
  std::string help =
      "rules to apply or, with -, to leave out; default: all, but dead-channels only where a class "
      "of rewrites is named";
  for (const rewrite::RuleInfo& rule : rewrite::Rules()) {
    help += "\n" + std::string(rule.name) + ": " + std::string(rule.summary);
  }
  return help;
}

std::string SkipHelp() {
  std::string help = "steps of planning to leave out; the result may need more memory";
  for (const OptionalStep& step : OptionalSteps()) {
    help += "\n" + std::string(step.name) + ": " + std::string(step.summary);
  }
  return help;
}

std::string DeviceHelp() {
  return "the device for which cycles are modelled, and whose memories are budgets of neap plan: a "
         "file ending in .json, or one of " +
         JoinedBy(cascade::DevicePresets(), ", ") +
         "; default: " + std::string(cascade::DevicePresets().front());
}

void AddCommonOptions(std::vector<Option>* options) {
  options->push_back({"runtime", kCommon, "PROFILE", RuntimeHelp(), SetRuntime});
  options->push_back({"target", kCommon, "TARGET", TargetHelp(), SetTarget});
  options->push_back(
      {"board", kCommon, "BOARD",
       "tflm: a board, which gives the target and, with its RAM less the reserve, the "
       "budget unless one is given; neap: the same budget, and with streams the "
       "fast memory less the reserve and the slow one of a board with several memories; neap "
       "boards prints all",
       SetBoard});
  options->push_back(
      {"reserve", kCommon, "SIZE",
       "the board's RAM for stack and other data of the firmware; default: 16KiB",
       [](std::string_view text, Words* words) { return SetBytes(text, &words->reserve_bytes); }});
  options->push_back(
      {"budget", kCommon, "SIZE",
       "maximum size of the arena, such as 256KiB; tflm: of the total arena on the target, "
       "activations and persistent data",
       [](std::string_view text, Words* words) { return SetBytes(text, &words->budget_bytes); }});
  options->push_back({"budget-activations", kCommon, "SIZE",
                      "tflm: maximum size of the activations in the arena",
                      [](std::string_view text, Words* words) {
                        return SetBytes(text, &words->budget_activations_bytes);
                      }});
  options->push_back(
      {"budget-total", kCommon, "SIZE",
       "tflm: an older name of the budget option, which the next minor version removes",
       [](std::string_view text, Words* words) {
         return SetBytes(text, &words->budget_total_bytes);
       }});
  options->push_back(
      {"overlap", kCommon, JoinedBy(OverlapNames(), "|"),
       "let an output reuse its input's memory wherever these kernels read each byte before they "
       "overwrite it; with other kernels the outputs are silently wrong; several joined by commas: "
       "right under each of them; default: no overlap (neap: its own kernels)",
       SetOverlap});
  options->push_back(
      {"integer-io", kCommon, "inputs|outputs|both",
       "change the interface: float inputs of a QUANTIZE and outputs of a DEQUANTIZE become "
       "integers, and the caller converts",
       [](std::string_view text, Words* words) {
         return SetName(text, {"inputs", "outputs", "both"}, &words->integer_io);
       }});
  options->push_back(
      {"effort", kCommon, "quick|default|thorough",
       "search with all features that no option decides on, cheapest first; quick: order, "
       "rewriting "
       "and overlap, below a second; default: tiles, moves and shared bodies, too, below 10 "
       "seconds; thorough: the same with more work; without a budget the fewest bytes; default: "
       "default with a budget, otherwise the features of the other options alone",
       [](std::string_view text, Words* words) {
         return SetName(text, {"quick", "default", "thorough"}, &words->effort);
       }});
  options->push_back(
      {"registered", kCommon, "none|all|TYPE,...",
       "tflm: operator types that the firmware registers beside those of the model; plans that "
       "need others are left out; with IF, equal tiles may share a body; default: not known, any "
       "type is added but IF",
       [](std::string_view text, Words* words) {
         words->registered = SplitAtCommas(text);
         return Status();
       }});
  options->push_back(
      {"time-limit", kCommon, "SECONDS",
       "time limit of all searches together; results may then differ between runs; default: 0, "
       "no limit",
       SetTimeLimit});
}

void AddOrderOptions(std::vector<Option>* options) {
  options->push_back({"order", kOrder, "NAME",
                      "strategy of the order search; default: exact; one of " +
                          JoinedBy(compile::OrderStrategyNames(), ", "),
                      [](std::string_view text, Words* words) {
                        return SetName(text, compile::OrderStrategyNames(), &words->order);
                      }});
  options->push_back(
      {"seed", kOrder, "N", "random seed of a strategy that uses one; default: 0",
       [](std::string_view text, Words* words) {
         constexpr std::uint64_t kMaxSeed = 9'999'999'999'999'999'999U;
         if (SetNumber(text, std::uint64_t{0}, kMaxSeed, &words->seed)) return Status();
         return Status(Fail(
             UsageError("'" + std::string(text) + "' is not a whole number of at most 19 digits")));
       }});
  options->push_back({"forced", kOrder, JoinedBy(compile::ForcedRuleNames(), "|"),
                      "transitions that best-first takes without a search; default: single; "
                      "sets and relaxed give no proof",
                      [](std::string_view text, Words* words) {
                        return SetName(text, compile::ForcedRuleNames(), &words->forced);
                      }});
  options->push_back(
      {"slack", kOrder, "SIZE",
       "with forced relaxed: bytes by which a forced transition may increase peak and live bytes",
       [](std::string_view text, Words* words) { return SetBytes(text, &words->slack_bytes); }});
  options->push_back({"step-states", kOrder, "N",
                      "with order serenity: states after which a search step ends; default: 10000",
                      [](std::string_view text, Words* words) {
                        return SetNumber(text, std::int64_t{1}, kMaxStates, &words->step_states);
                      }});
  options->push_back({"soft-budget", kOrder, "SIZE",
                      "with order serenity: a fixed soft budget (tau) instead of a search for one; "
                      "orders with a larger peak are dropped",
                      SetSoftBudget});
  options->push_back(
      {"order-only", kOrder, "", "do not place tensors", [](std::string_view, Words* words) {
         words->order_only = true;
         return Status();
       }});
}

void AddPlacementOptions(std::vector<Option>* options) {
  options->push_back({"no-memory-plan", kPlacement, "",
                      "tflm: write only the order; TFLM's own planner places the tensors",
                      [](std::string_view, Words* words) {
                        words->no_memory_plan = true;
                        return Status();
                      }});
  options->push_back({"keep-inputs", kPlacement, "",
                      "with overlap: do not overwrite inputs of the model",
                      [](std::string_view, Words* words) {
                        words->keep_inputs = true;
                        return Status();
                      }});
  options->push_back(
      {"memory", kPlacement, "NAME=SIZE,bw=N ...",
       "a memory and its bandwidth in bytes per cycle; with several, every tensor is assigned to "
       "one so that access time is minimal; only plan.json and the C header contain such a plan",
       AddMemory});
  options->push_back(
      {"moves", kPlacement, "none|compact|best",
       "copy live tensors where no placement reaches the budget (without a budget, the peak): all "
       "live tensors move down (compact), or as few bytes as possible (best); default: none",
       [](std::string_view text, Words* words) {
         return SetName(text, {"none", "compact", "best"}, &words->moves);
       }});
}

void AddRewritingOptions(std::vector<Option>* options) {
  options->push_back(
      {"rewrite", kRewriting, "none|bitwise|reassociate|serenity",
       "rewrite the graph: with the same output bytes (bitwise), also with sums in another order "
       "(reassociate), as SERENITY does wherever its rules apply, with accumulators of one byte "
       "(serenity), or not at all (none)",
       [](std::string_view text, Words* words) {
         return SetName(text, {"none", "bitwise", "reassociate", "serenity"}, &words->rewrite);
       }});
  options->push_back({"rules", kRewriting, "NAME,... or -NAME,...", RulesHelp(), SetRules});
  options->push_back(
      {"rewrite-work", kRewriting, "N",
       "limit of the search for rewrites, in operators and states (about one microsecond each); "
       "default: " +
           std::to_string(rewrite::SearchOptions().max_work),
       [](std::string_view text, Words* words) {
         return SetNumber(text, std::int64_t{1}, kMaxStates, &words->rewrite_work);
       }});
  options->push_back(
      {"accumulator-bytes", kRewriting, "4|1",
       "neap: bytes per element of the partial sums of 8-bit convolutions; 4 is exact; 1 rounds "
       "every partial sum, as SERENITY counts; default: 4",
       [](std::string_view text, Words* words) {
         if (text != "1" && text != "4") return NotOneOf(text, "4|1");
         words->accumulator_bytes = text == "1" ? 1 : 4;
         return Status();
       }});
}

void AddRepetitionOptions(std::vector<Option>* options) {
  options->push_back(
      {"recompute", kRewriting, "RATIO",
       "run operators again where that lowers the peak: maximum total cost as a multiple of all "
       "operators' cost, such as 1.2; with a budget, the least extra cost within it; the cost of "
       "an operator is its MACs, or the elements that it writes if those are more; in graph JSON "
       "its \"cost\"; default: no operator runs again",
       SetRecompute});
}

void AddTileOptions(std::vector<Option>* options) {
  options->push_back(
      {"cascade", kTiles, "auto|off",
       "run operators tile by tile where that needs less memory; the written model has slices, "
       "operators on tiles and concatenations; default: only if no other plan is within the "
       "budget",
       [](std::string_view text, Words* words) {
         return SetName(text, {"auto", "off"}, &words->cascade);
       }});
  options->push_back(
      {"cascade-bodies", kTiles, "clones|shared",
       "tflm: equal tiles have operators of their own (clones) or, where that needs less memory, "
       "call a shared body by an IF, which the application has to register; default: clones",
       [](std::string_view text, Words* words) {
         return SetName(text, {"clones", "shared"}, &words->cascade_bodies);
       }});
  options->push_back(
      {"device", kTiles, "NAME or FILE", DeviceHelp(), [](std::string_view text, Words* words) {
         words->device = text;
         return Status();
       }});
  options->push_back({"max-region-operators", kTiles, "N",
                      "maximum number of operators in a region of tiles; default: 24",
                      [](std::string_view text, Words* words) {
                        return SetNumber(text, std::size_t{1}, std::size_t{1000},
                                         &words->grids.max_operators);
                      }});
  constexpr std::int64_t kMaxTiles = 4096;
  options->push_back({"max-region-tiles", kTiles, "N",
                      "maximum number of tiles of a region; default: 64",
                      [](std::string_view text, Words* words) {
                        return SetNumber(text, std::int64_t{2}, kMaxTiles, &words->grids.max_tiles);
                      }});
  options->push_back({"max-tile-aspect", kTiles, "N",
                      "if height and width are both cut, maximum ratio of the numbers of parts "
                      "along the two axes; "
                      "default: 2",
                      [](std::string_view text, Words* words) {
                        return SetNumber(text, std::int64_t{1}, kMaxTiles,
                                         &words->grids.max_aspect);
                      }});
  options->push_back(
      {"tile-grids", kTiles, "auto|all",
       "grids that are tried: all, or the most promising (auto): under tflm, where slices of rows "
       "are free, no cuts of the width alone, and at most 16 tiles if both axes are cut; default: "
       "auto",
       SetTileGrids});
}

void AddStreamOptions(std::vector<Option>* options) {
  options->push_back(
      {"stream", kStreams, "auto|off",
       "neap: compute parts of the network block by block and store a few rows of most tensors; "
       "default: only if no other plan is within the budget",
       [](std::string_view text, Words* words) {
         return SetName(text, {"auto", "off"}, &words->stream);
       }});
  options->push_back(
      {"input", kStreams, "resident|external|rows",
       "with streams: model inputs are in the arena and counted (resident), in other memory with "
       "random access (external), or passed row by row (rows); default: resident",
       [](std::string_view text, Words* words) {
         return SetName(text, {"resident", "external", "rows"}, &words->input);
       }});
  options->push_back(
      {"fast", kStreams, "SIZE",
       "with streams: two memories; the arena is fast memory of this size, model inputs and "
       "outputs "
       "and tensors that do not fit are in slow memory, and the bytes read from and written to it "
       "are the fewest that are found",
       [](std::string_view text, Words* words) { return SetBytes(text, &words->fast_bytes); }});
  options->push_back({"prefetch", kStreams, "",
                      "with two memories: begin copies from slow memory one block ahead, where "
                      "fast memory is free",
                      [](std::string_view, Words* words) {
                        words->prefetch = true;
                        return Status();
                      }});
  options->push_back({"slow-weights", kStreams, "",
                      "with two memories: weights are in slow memory, too, have a place in fast "
                      "memory while they are read, and their bytes count; default: operators read "
                      "weights where they are, and they do not count",
                      [](std::string_view, Words* words) {
                        words->slow_weights = true;
                        return Status();
                      }});
  options->push_back({"max-macs", kStreams, "RATIO",
                      "with streams: maximum number of MACs as a multiple of the network's, such "
                      "as 1.02; default: 1",
                      SetMaxMacs});
  options->push_back({"block-columns", kStreams, "N|row",
                      "with streams: columns of a segment's output that a block computes; default: "
                      "chosen for each "
                      "segment",
                      SetBlockColumns});
}

void AddLimitOptions(std::vector<Option>* options) {
  options->push_back(
      {"max-states", kLimits, "N",
       "maximum number of states of the search, the same on every machine; default: enough for a "
       "few seconds, by the number of operators; with a time limit: no limit",
       [](std::string_view text, Words* words) {
         return SetNumber(text, std::int64_t{1}, kMaxStates, &words->max_states);
       }});
  options->push_back({"max-memory", kLimits, "SIZE",
                      "maximum size of the search's tables, without the model; a full table drops "
                      "states or ends the search; default: 4GiB",
                      [](std::string_view text, Words* words) {
                        return SetBytes(text, &words->max_memory_bytes);
                      }});
  options->push_back(
      {"threads", kLimits, "N",
       "maximum number of threads of the searches; the result is always the same; default: all "
       "cores",
       [](std::string_view text, Words* words) {
         return SetNumber(text, std::int64_t{1}, std::int64_t{1024}, &words->threads);
       }});
  options->push_back({"skip", kLimits, "STEP,...", SkipHelp(), SetSkippedSteps});
}

std::vector<Option> MakeOptions() {
  std::vector<Option> options;
  AddCommonOptions(&options);
  AddOrderOptions(&options);
  AddPlacementOptions(&options);
  AddRewritingOptions(&options);
  AddRepetitionOptions(&options);
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
