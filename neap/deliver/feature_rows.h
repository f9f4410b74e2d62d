// SPDX-License-Identifier: Apache-2.0
//
// The table of features that are planned to explain a model's need and to advise on a missed
// budget. Private to neap/deliver.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "neap/deliver/explain.h"
#include "neap/formats/formats.h"
#include "neap/graph/graph.h"
#include "neap/plan/plan.h"

namespace neap::deliver {

// Sets of runtimes and of formats, as bits.
using Set32 = std::uint32_t;
constexpr Set32 In(plan::Runtime runtime) { return 1U << static_cast<Set32>(runtime); }
constexpr Set32 In(formats::Format format) { return 1U << static_cast<Set32>(format); }

constexpr Set32 kTflm = In(plan::Runtime::kTflm);
constexpr Set32 kNeap = In(plan::Runtime::kNeap);
constexpr Set32 kIdeal = In(plan::Runtime::kIdeal) | In(plan::Runtime::kIdealInPlace);
constexpr Set32 kRuntimePlaces = In(plan::Runtime::kLitert) | In(plan::Runtime::kOnnxRuntime);
constexpr Set32 kStock = kTflm | kIdeal | kRuntimePlaces;
constexpr Set32 kAnyRuntime = kStock | kNeap;

constexpr Set32 kTflite = In(formats::Format::kTflite);
constexpr Set32 kModels = kTflite | In(formats::Format::kOnnx);
constexpr Set32 kAnyFormat = kModels | In(formats::Format::kGraphJson);

// A row of the table: options that are planned together.
struct FeatureRow {
  std::string_view label;
  std::array<FeatureOption, 3> options;  // a name "" ends them
  Set32 runtimes;                        // for which the model is explained
  Set32 formats;
  std::string_view requires_text;
  bool is_free = false;
  int weight = 1;  // share of the limits; lighter rows first, their unused share goes to the others
  // Whether the row applies to the model, and the reason if not; nullptr: it always applies.
  bool (*applies)(const graph::Graph& graph) = nullptr;
  std::string_view lacks = "";
};

// In the order of reports.
std::span<const FeatureRow> FeatureRows();
inline bool AppliesTo(const FeatureRow& row, plan::Runtime runtime, formats::Format format) {
  return (row.runtimes & In(runtime)) != 0 && (row.formats & In(format)) != 0;
}

// A feature of the row, with nothing planned, of a model that is explained for `runtime`.
Feature FeatureOf(const FeatureRow& row, plan::Runtime runtime);

// Sets what is known of the plan. `writes_model`: as a file, too; without one where none can be
// written.
void Describe(const formats::SourceModel& source, const Delivery& delivery,
              const formats::LoadOptions& load, bool writes_model, Feature* feature);

}  // namespace neap::deliver
