// SPDX-License-Identifier: Apache-2.0
#include "tools/plan_options.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "tools/words.h"

namespace neap::tools {
namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  neap plan model.tflite                          the smallest arena found, with its bound\n"
    "  neap plan model.tflite -o small.tflite          write the model in that order, with its\n"
    "                                                  memory plan for TensorFlow Lite Micro\n"
    "  neap model.tflite small.tflite                  the same, shorter\n"
    "  neap plan model.onnx --dim batch=1 --plan plan.json\n"
    "  neap plan model.tflite -o small.tflite --budget 256KiB || echo 'too large'\n"
    "  neap plan model.tflite -o small.tflite --emit-c model_arena.h\n"
    "  neap plan model.tflite -o small.tflite --overlap tflm-reference\n"
    "  neap plan model.tflite --runtime neap --stream auto --plan plan.json\n"
    "  neap plan model.tflite -o small.tflite --integer-io both     the caller converts\n"
    "  neap plan model.tflite -o small.tflite --cascade auto --budget 64KiB\n"
    "  neap plan model.tflite -o small.tflite --rewrite reassociate\n"
    "  neap plan model.tflite --runtime neap --rewrite bitwise --plan plan.json\n"
    "  neap plan model.tflite --runtime neap --rewrite serenity --order serenity   after SERENITY\n"
    "  neap plan model.onnx --time-limit 60 --require-optimal --json > report.json\n"
    "\n"
    "Exit: 0 done, 1 bad input or failure, 2 usage, 3 over budget or unknown (no model is "
    "written),\n"
    "4 no proof within the limits (only with --require-optimal), 130 interrupted: the best plan\n"
    "found so far is written, and the report shows its gap.\n";

constexpr const char* kOutputs = "Inputs and outputs";

// With --force, the model may replace the one that is read, but nothing else may.
Status CheckFiles(const PlanOptions& options) {
  std::vector<NamedFile> written = {{"--plan", options.plan_out}, {"--emit-c", options.c_out}};
  const std::vector<NamedFile> pictures = options.pictures.Files();
  written.insert(written.end(), pictures.begin(), pictures.end());
  NEAP_CHECK_OK(CheckDistinct({{"the model", options.model.input}}, written));
  written.insert(written.begin(), {"-o", options.model_out});
  return CheckDistinct({{"--scratch", options.scratch}, {"--device", options.model.words.device}},
                       written);
}

Status CheckStandardOutput(const PlanOptions& options) {
  const int on_stdout = (options.model_out == "-" ? 1 : 0) + (options.plan_out == "-" ? 1 : 0) +
                        (options.c_out == "-" ? 1 : 0) + (options.output.json ? 1 : 0) +
                        (options.pictures.TakesStdout() ? 1 : 0);
  if (on_stdout <= 1) return {};
  return Fail(UsageError(
      "only one of -o -, --plan -, --emit-c -, --html -, --svg - and --json can use standard "
      "output"));
}

}  // namespace

std::optional<int> ParsePlanOptions(std::vector<std::string> args, bool short_form,
                                    PlanOptions* options) {
  CLI::App app("Find the order of minimum peak with its proof, and place the tensors.",
               "neap plan");
  app.footer(kFooter);
  AddInputOptions(&app, &options->model);
  app.add_option(short_form ? "-o,--output,OUTPUT" : "-o,--output", options->model_out,
                 "write the model in the planned order; - is stdout")
      ->option_text("OUT");
  app.add_option("--plan", options->plan_out, "write plan.json: order, addresses and bounds")
      ->option_text("FILE");
  app.add_option("--emit-c", options->c_out,
                 "write a C header for firmware: arena size and offsets")
      ->option_text("FILE.h");
  AddPageOptions(&app, &options->pictures);
  app.add_option("--scratch", options->scratch,
                 "scratch of operators: lines OPERATOR,BYTES, where OPERATOR is an index or a type")
      ->option_text("FILE");
  app.add_flag("--require-optimal", options->require_optimal,
               "exit with 4 unless the arena (of an order alone, the peak) is proven optimal");
  app.add_flag("--force", options->force, "overwrite existing outputs");
  AddOutputOptions(&app, &options->output);
  std::vector<std::string_view> names;
  for (const deliver::Option& option : deliver::Options()) names.push_back(option.name);
  AddWords(&app, &options->model.words, names);
  const auto code = Parse(&app, std::move(args));
  deliver::Words& words = options->model.words;
  words.has_scratch = !options->scratch.empty();
  words.writes_model = !options->model_out.empty();
  words.writes_header = !options->c_out.empty();
  return code;
}

Status CheckPlanOptions(const PlanOptions& options) {
  NEAP_CHECK_OK(CheckStandardOutput(options));
  NEAP_CHECK_OK(CheckFiles(options));
  NEAP_CHECK_OK(deliver::CheckWords(options.model.words));
  NEAP_CHECK_OK(CheckOutput(options.model_out, options.force));
  NEAP_CHECK_OK(CheckOutput(options.plan_out, options.force));
  NEAP_CHECK_OK(CheckOutput(options.c_out, options.force));
  return CheckPictures(options.pictures, options.force);
}

}  // namespace neap::tools
