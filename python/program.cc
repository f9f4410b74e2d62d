// SPDX-License-Identifier: Apache-2.0
//
// Reports, networks of the zoo, and the command line.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "lab/zoo/zoo.h"
#include "neap/base/bytes.h"
#include "neap/deliver/dims.h"
#include "neap/deliver/explain.h"
#include "neap/deliver/options.h"
#include "neap/formats/formats.h"
#include "neap/session/session.h"
#include "neap/show/report/explain_report.h"
#include "neap/show/report/text.h"
#include "python/bindings.h"
#include "python/errors.h"
#include "python/model.h"
#include "python/waiting.h"
#include "tools/pareto.h"
#include "tools/program.h"
#include "tools/zoo_model.h"

namespace neap::python {
namespace {

// Text for people, JSON, and whether an interrupt ended the search.
using Report = std::tuple<std::string, std::string, bool>;

Result<Report> Explain(const session::Model& model, const std::string& runtime,
                       double time_limit_seconds, Search* search) {
  const session::Hooks hooks = search->Hooks();
  deliver::ExplainRequest request;
  request.runtime = runtime;
  request.time_limit_seconds = time_limit_seconds;
  request.load = model.load;
  request.stop = hooks.stop;
  request.search_observer = hooks.observer;
  request.tiles_observer = hooks.tiles_observer;
  auto explained = deliver::Explain(model.source, request);
  if (!explained) {
    Diagnostic diagnostic =
        deliver::WithAllSymbols(std::move(explained).error(), model.source.graph, "");
    if (diagnostic.file.empty()) diagnostic.file = model.source.path;
    return Fail(std::move(diagnostic));
  }
  const deliver::Explanation& explanation = *explained;
  report::ExplainReport report;
  report.source = &model.source;
  report.explanation = &explanation;
  for (const auto& [name, value] : model.load.dims) {
    report.dims.push_back(name + "=" + std::to_string(value));
  }
  report.notes = model.source.notes;
  report::Style style;
  style.ascii = false;
  style.columns = report::kExplainColumns;
  return Report{report::ExplainText(report, style), report::ExplainJson(report),
                explanation.interrupted};
}

Result<Report> Pareto(const session::Model& model, tools::ParetoOptions options, Search* search) {
  options.output.json = true;
  options.output.quiet = true;  // no progress on standard error
  NEAP_TRY(const tools::ParetoReport text,
           tools::MakePareto(options, model.source, model.load, search->Stop()));
  return Report{"", text.text, text.interrupted};
}

nb::bytes Zoo(const std::string& name, const std::string& format, bool int8, std::uint64_t seed,
              std::int64_t width_thousandths, std::int64_t resolution, std::int64_t width,
              std::int64_t nodes) {
  zoo::ZooOptions options;
  options.seed = seed;
  options.width = width;
  options.nodes = nodes;
  options.width_thousandths = width_thousandths;
  options.resolution = resolution;
  if (format != "onnx" && format != "tflite") {
    Raise(UsageError("format is '" + format + "', expected onnx or tflite"));
  }
  if (int8 && format != "tflite") Raise(UsageError("int8 requires the format tflite"));
  Search search(OnInterrupt::kRaise);
  const tools::ZooModel model = ValueOrRaise(search.Run([&] {
    return tools::MakeZooModel(
        name, options, format == "onnx" ? formats::Format::kOnnx : formats::Format::kTflite, int8);
  }));
  return nb::bytes(model.bytes.data(), model.bytes.size());
}

}  // namespace

void BindProgram(nb::module_* module) {
  module->def(
      "explain",
      [](const Model& model, const std::string& runtime, double time_limit, nb::object progress) {
        Search search(OnInterrupt::kReturnBest, std::move(progress));
        return ValueOrRaise(
            search.Run([&] { return Explain(*model.Shared(), runtime, time_limit, &search); }));
      },
      nb::arg("model"), nb::arg("runtime"), nb::arg("time_limit"), nb::arg("progress").none());
  module->def(
      "pareto",
      [](const Model& model, const Options& words, const std::string& criteria,
         const std::string& features, const std::string& input, double time_limit) {
        tools::ParetoOptions options;
        options.features = features;
        options.model.words = WordsOf(words);
        options.criteria = criteria;
        options.input = input;
        options.time_limit_seconds = time_limit;
        Search search(OnInterrupt::kReturnBest);
        return ValueOrRaise(search.Run([&] { return Pareto(*model.Shared(), options, &search); }));
      },
      nb::arg("model"), nb::arg("options"), nb::arg("criteria"), nb::arg("features"),
      nb::arg("input"), nb::arg("time_limit"));
  module->def("zoo", &Zoo, nb::arg("name"), nb::arg("format"), nb::arg("int8"), nb::arg("seed"),
              nb::arg("width_thousandths"), nb::arg("resolution"), nb::arg("width"),
              nb::arg("nodes"));
  module->def("zoo_names", [] {
    std::vector<std::pair<std::string, std::string>> names;
    for (const zoo::Recipe& recipe : zoo::Recipes()) {
      names.emplace_back(recipe.name, recipe.summary);
    }
    return names;
  });
  module->def("option_names", [] {
    std::vector<std::pair<std::string, std::string>> names;
    for (const deliver::Option& option : deliver::Options()) {
      names.emplace_back(option.name, option.value);
    }
    return names;
  });
  module->def(
      "parse_bytes", [](const std::string& text) { return ValueOrRaise(ParseBytes(text)); },
      nb::arg("text"));
  module->def("format_bytes", &FormatBytes, nb::arg("count"));
  module->def(
      "run_program",
      [](std::vector<std::string> args) {
        const nb::gil_scoped_release release;
        return tools::RunProgram(std::move(args));
      },
      nb::arg("args"));
}

}  // namespace neap::python
