// SPDX-License-Identifier: Apache-2.0
#include "neap/deliver/advice.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "neap/base/work.h"
#include "neap/deliver/feature_rows.h"

namespace neap::deliver {
namespace {

// Budgets of TFLM's arena are those of the executor's arena, which needs nothing beside it.
void MoveToExecutor(Words* words) {
  // Neap's executor alone runs these plans: no file can contain them.
  words->writes_model = false;
  std::optional<std::int64_t> least = words->budget_bytes;
  const auto count = [&](const std::optional<std::int64_t>& bytes) {
    if (bytes) least = std::min(least.value_or(*bytes), *bytes);
  };
  count(words->budget_activations_bytes);
  count(words->budget_total_bytes);
  if (const target::Board* const board = target::BoardNamed(words->board)) {
    count(std::max<std::int64_t>(board->ram_bytes - words->reserve_bytes, 0));
  }
  words->budget_bytes = least;
  words->budget_activations_bytes.reset();
  words->budget_total_bytes.reset();
  words->board.clear();
  words->target.clear();
  words->registered.clear();
  words->given.erase("reserve");
}

// The words with the options of a feature; nullopt: they decide on one of them already.
std::optional<Words> WordsWith(const Words& words, const Feature& feature) {
  Words with = words;
  for (const FeatureOption& option : feature.options) {
    if (words.Has(option.name) || !Set(option.name, option.value, &with)) return std::nullopt;
  }
  if (feature.runtime == plan::Runtime::kNeap && !words.Has("runtime")) MoveToExecutor(&with);
  return with;
}

// Without a consent they are tried for the budget as they are.
bool NeedsConsent(const FeatureRow& row) {
  const auto& options = row.options;
  const bool cuts = std::any_of(options.begin(), options.end(), [](const FeatureOption& option) {
    return option.name == "cascade";
  });
  return !row.requires_text.empty() && !cuts && row.options[0].name != "moves";
}

std::optional<Feature> PlanFeature(const formats::SourceModel& source, const AdviceRequest& request,
                                   const Words& words, Feature feature) {
  auto planned = RequestOf(words, source, request.load);
  if (!planned) return std::nullopt;  // the options exclude each other
  planned->compile.limits.stop = request.stop;
  if (request.feature_observer) request.feature_observer(feature.label);
  const auto delivery = Deliver(source, *planned);
  if (!delivery) return std::nullopt;
  const bool writes =
      source.format != formats::Format::kGraphJson && feature.runtime != plan::Runtime::kNeap;
  Describe(source, *delivery, request.load, writes, &feature);
  if (!feature.HasPlan()) return std::nullopt;
  using Fit = Verdict::Fit;
  const Fit fit = VerdictOf(delivery->compiled, planned->compile.place, planned->budgets).fit;
  feature.fits = fit == Fit::kFits || fit == Fit::kNoBudget;
  return feature;
}

}  // namespace

std::vector<Feature> Advise(const formats::SourceModel& source, const AdviceRequest& request) {
  std::vector<Feature> advice;
  const auto runtime = RuntimeOf(request.words, source.format);
  if (!runtime) return advice;
  std::optional<WorkScope> work;
  if (DefaultWorkOf(request.words) != 0) work.emplace(kAdviceWork);
  std::vector<std::pair<Feature, Words>> wanted;
  for (const FeatureRow& row : FeatureRows()) {
    if (!AppliesTo(row, *runtime, source.format) || !NeedsConsent(row)) continue;
    if (row.applies != nullptr && !row.applies(source.graph)) continue;
    Feature feature = FeatureOf(row, *runtime);
    if (auto with = WordsWith(request.words, feature)) {
      wanted.emplace_back(std::move(feature), *std::move(with));
    }
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (request.stop != nullptr && *request.stop) break;
    const WorkScope share(1, static_cast<std::int64_t>(wanted.size() - i));
    if (IsOutOfWork()) break;
    auto planned = PlanFeature(source, request, wanted[i].second, std::move(wanted[i].first));
    if (planned) advice.push_back(*std::move(planned));
  }
  return advice;
}

}  // namespace neap::deliver
