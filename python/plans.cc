// SPDX-License-Identifier: Apache-2.0
//
// Models and plans.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "neap/deliver/options.h"
#include "neap/emit/emit.h"
#include "neap/execute/run.h"
#include "neap/formats/formats.h"
#include "neap/graph/graph.h"
#include "neap/plan/plan.h"
#include "neap/plan/plan_json.h"
#include "neap/plan/profile.h"
#include "neap/session/session.h"
#include "python/bindings.h"
#include "python/errors.h"
#include "python/model.h"
#include "python/waiting.h"
#include "tools/pictures.h"

namespace neap::python {
namespace {

using Texts = std::vector<std::string>;

// name, element type, shape (None: unknown; -1: an unknown dimension)
using TensorInfo = std::tuple<std::string, std::string, std::optional<std::vector<std::int64_t>>>;
// index, name, offset, bytes, first step, step after the last, memory
using PlacedTensor = std::tuple<std::int32_t, std::string, std::int64_t, std::int64_t, std::int32_t,
                                std::int32_t, std::int32_t>;

TensorInfo InfoOf(const graph::Tensor& tensor) {
  return {tensor.name, std::string(graph::NameOf(tensor.type)), tensor.shape};
}

std::vector<TensorInfo> InfosOf(const graph::Subgraph& subgraph,
                                const std::vector<graph::TensorId>& ids) {
  std::vector<TensorInfo> infos;
  for (const graph::TensorId id : ids) infos.push_back(InfoOf(subgraph.tensors[id]));
  return infos;
}

class Plan {
 public:
  Plan(std::shared_ptr<const session::Model> model, session::Planned planned)
      : model_(std::move(model)), planned_(std::move(planned)) {
    if (!planned_.delivery) {
      replayed_ = ValueOrRaise(session::PlannedModel(*model_, planned_.plan, false));
    }
  }

  const session::Planned& Planned() const { return planned_; }
  const session::Model& Given() const { return *model_; }
  const formats::SourceModel& PlannedModel() const {
    return replayed_ ? *replayed_ : planned_.delivery->Planned(model_->source);
  }
  const plan::EntryPlan& Entry() const { return plan::LargestEntry(planned_.plan); }
  const graph::Subgraph& Graph() const { return PlannedModel().graph.subgraphs[Entry().subgraph]; }

  std::vector<std::int32_t> Order() const {
    std::vector<std::int32_t> order;
    for (const plan::Step& step : Entry().steps) {
      if (step.op.valid() && step.subgraph == Entry().subgraph) order.push_back(step.op.value());
    }
    return order;
  }

  std::vector<PlacedTensor> Tensors() const {
    std::vector<PlacedTensor> tensors;
    for (const plan::TensorPlacement& place : Entry().tensors) {
      if (place.subgraph != Entry().subgraph) continue;
      tensors.emplace_back(place.tensor.value(), Graph().tensors[place.tensor].name, place.offset,
                           place.bytes, place.first, place.last, place.memory);
    }
    return tensors;
  }

  std::vector<std::string> OperatorTypes() const {
    std::vector<std::string> types;
    for (const graph::Op& op : Graph().ops) types.push_back(op.type);
    return types;
  }

  std::string Page() const {
    if (!planned_.delivery) Raise(UsageError("a plan that was read has no picture: plan again"));
    const nb::gil_scoped_release release;
    auto page = tools::PageOf(model_->source, *planned_.delivery, planned_.budget_bytes);
    const nb::gil_scoped_acquire acquire;
    return ValueOrRaise(std::move(page));
  }

 private:
  std::shared_ptr<const session::Model> model_;
  session::Planned planned_;
  std::optional<formats::SourceModel> replayed_;  // of a plan that was read
};

Model ReadModel(const std::string& path, const Texts& dims) {
  std::optional<Result<session::Model>> model;
  {
    const nb::gil_scoped_release release;
    model = session::ReadModel(path, dims);
  }
  return Model(ValueOrRaise(*std::move(model)));
}

Model ParseModel(const nb::bytes& data, const std::string& name, const Texts& dims) {
  const auto* const first = static_cast<const std::byte*>(data.data());
  const std::size_t size = data.size();
  std::optional<Result<session::Model>> model;
  {
    const nb::gil_scoped_release release;
    auto bytes = std::make_shared<const std::vector<std::byte>>(first, first + size);
    model = session::ParseModel(std::move(bytes), name, dims);
  }
  return Model(ValueOrRaise(*std::move(model)));
}

std::unique_ptr<Plan> MakePlan(const Model& model, const Options& options, nb::object progress) {
  const deliver::Words words = WordsOf(options);
  Search search(OnInterrupt::kReturnBest, std::move(progress));
  auto planned =
      search.Run([&] { return session::MakePlan(*model.Shared(), words, search.Hooks()); });
  return std::make_unique<Plan>(model.Shared(), ValueOrRaise(std::move(planned)));
}

std::unique_ptr<Plan> ParsePlan(const Model& model, const std::string& json) {
  return std::make_unique<Plan>(model.Shared(), ValueOrRaise(session::ParsePlan(json)));
}

std::tuple<std::int64_t, std::int64_t, std::vector<std::int32_t>> FindPeakWithin(
    const Model& model, std::int64_t budget_bytes, const Options& options) {
  const deliver::Words words = WordsOf(options);
  Search search(OnInterrupt::kRaise);
  const auto peak = ValueOrRaise(search.Run([&] {
    return session::FindPeakWithin(*model.Shared(), budget_bytes, words, search.Hooks());
  }));
  std::vector<std::int32_t> order;
  for (const graph::OpId op : peak.order) order.push_back(op.value());
  return {peak.peak_bytes, peak.lower_bound_bytes, std::move(order)};
}

nb::bytes BytesOf(std::string_view text) { return nb::bytes(text.data(), text.size()); }

Texts Check(const Plan& plan) {
  std::optional<Result<Texts>> violations;
  {
    const nb::gil_scoped_release release;
    violations = session::Violations(plan.Given(), plan.Planned().plan);
  }
  return ValueOrRaise(*std::move(violations));
}

void RequireFit(const Plan& plan) {
  if (Status status = plan.Planned().RequireFit(); !status) {
    status.error().file = plan.Given().source.path;
    Raise(status.error());
  }
}

nb::bytes WrittenModel(const Plan& plan) {
  std::optional<Result<std::string>> text;
  {
    const nb::gil_scoped_release release;
    text = session::WrittenModel(plan.Given(), plan.Planned());
  }
  return BytesOf(ValueOrRaise(*std::move(text)));
}

// The outputs as (element type, shape, bytes), and everything that went wrong.
using Output = std::tuple<std::string, std::vector<std::int64_t>, nb::bytes>;
std::pair<std::vector<Output>, Texts> RunPlan(const Plan& plan,
                                              const std::vector<nb::bytes>& inputs) {
  std::vector<std::string_view> spans;
  for (const nb::bytes& input : inputs) {
    spans.emplace_back(static_cast<const char*>(input.data()), input.size());
  }
  std::optional<Result<execute::RunResult>> result;
  {
    const nb::gil_scoped_release release;
    result = session::RunPlan(plan.Given(), plan.Planned().plan, spans);
  }
  const execute::RunResult run = ValueOrRaise(*std::move(result));
  std::vector<Output> outputs;
  for (const execute::Value& value : run.outputs) {
    outputs.emplace_back(std::string(graph::NameOf(value.type)), value.shape,
                         nb::bytes(value.bytes.data(), value.bytes.size()));
  }
  return {std::move(outputs), run.violations};
}

// File name -> bytes; the bytes of the arena; the bytes of the stack.
std::tuple<std::map<std::string, std::string>, std::int64_t, std::int64_t> EmitC(
    const Plan& plan, const std::string& prefix, bool single_file) {
  emit::Options options;
  options.prefix = prefix;
  options.single_file = single_file;
  std::optional<Result<emit::Emitted>> emitted;
  {
    const nb::gil_scoped_release release;
    emitted = session::EmittedC(plan.Given(), plan.Planned().plan, options);
  }
  emit::Emitted code = ValueOrRaise(*std::move(emitted));
  std::map<std::string, std::string> files;
  for (emit::File& file : code.files) files.emplace(std::move(file.name), std::move(file.bytes));
  return {std::move(files), code.arena_bytes, code.stack_bytes};
}

nb::dict FilesAsBytes(const std::map<std::string, std::string>& files) {
  nb::dict out;
  for (const auto& [name, text] : files) out[name.c_str()] = BytesOf(text);
  return out;
}

void BindModel(nb::module_* module) {
  nb::class_<Model>(*module, "Model")
      .def_prop_ro("name", [](const Model& m) { return m.Source().path; })
      .def_prop_ro("sha256", [](const Model& m) { return m.Source().sha256; })
      .def_prop_ro("format",
                   [](const Model& m) { return std::string(formats::NameOf(m.Source().format)); })
      .def_prop_ro("num_operators",
                   [](const Model& m) {
                     return m.Source().graph.subgraphs[graph::SubgraphId(0)].ops.size();
                   })
      .def_prop_ro("notes", [](const Model& m) { return m.Source().notes; });
  module->def("read_model", &ReadModel, nb::arg("path"), nb::arg("dims"));
  module->def("parse_model", &ParseModel, nb::arg("data"), nb::arg("name"), nb::arg("dims"));
  module->def("peak_within", &FindPeakWithin, nb::arg("model"), nb::arg("budget"),
              nb::arg("options"));
}

}  // namespace

void BindPlans(nb::module_* module) {
  BindModel(module);
  nb::class_<Plan>(*module, "Plan")
      .def_prop_ro("arena_bytes", [](const Plan& p) { return p.Planned().ArenaBytes(); })
      .def_prop_ro("peak_bytes", [](const Plan& p) { return p.Planned().PeakBytes(); })
      .def_prop_ro("lower_bound_bytes", [](const Plan& p) { return p.Planned().LowerBoundBytes(); })
      .def_prop_ro("optimal", [](const Plan& p) { return p.Planned().IsOptimal(); })
      .def_prop_ro("file_order_arena_bytes",
                   [](const Plan& p) { return p.Planned().FileOrderArenaBytes(); })
      .def_prop_ro("total_arena_bytes", [](const Plan& p) { return p.Planned().TotalArenaBytes(); })
      .def_prop_ro("fits", [](const Plan& p) { return p.Planned().Fits(); })
      .def("require_fit", &RequireFit)
      .def_prop_ro("placed", [](const Plan& p) { return p.Planned().placed; })
      .def_prop_ro("kind", [](const Plan& p) { return std::string(p.Planned().Kind()); })
      .def_prop_ro("interrupted", [](const Plan& p) { return p.Planned().IsInterrupted(); })
      .def_prop_ro(
          "runtime",
          [](const Plan& p) { return std::string(plan::ProfileOf(p.Planned().plan.runtime).name); })
      .def_prop_ro("order", &Plan::Order)
      .def_prop_ro("operator_types", &Plan::OperatorTypes)
      .def_prop_ro("tensors", &Plan::Tensors)
      .def_prop_ro("inputs", [](const Plan& p) { return InfosOf(p.Graph(), p.Graph().inputs); })
      .def_prop_ro("outputs", [](const Plan& p) { return InfosOf(p.Graph(), p.Graph().outputs); })
      .def_prop_ro("notes",
                   [](const Plan& p) {
                     return p.Planned().delivery ? p.Planned().delivery->notes : Texts();
                   })
      .def("json", [](const Plan& p) { return plan::ToJson(p.Planned().plan); })
      .def("check", &Check)
      .def("model_bytes", &WrittenModel)
      .def("run", &RunPlan, nb::arg("inputs"))
      .def("page", &Plan::Page)
      .def(
          "emit_c",
          [](const Plan& p, const std::string& prefix, bool single_file) {
            const auto [files, arena_bytes, stack_bytes] = EmitC(p, prefix, single_file);
            return nb::make_tuple(FilesAsBytes(files), arena_bytes, stack_bytes);
          },
          nb::arg("prefix"), nb::arg("single_file"));
  module->def("make_plan", &MakePlan, nb::arg("model"), nb::arg("options"),
              nb::arg("progress").none());
  module->def("parse_plan", &ParsePlan, nb::arg("model"), nb::arg("json"));
}

}  // namespace neap::python
