// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/rewrite/rewrite.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "neap/check/runtime_check.h"
#include "neap/transform/rewrite/channels/dead.h"
#include "neap/transform/rewrite/compose.h"
#include "neap/transform/rewrite/draft.h"
#include "neap/transform/rewrite/rule.h"
#include "neap/transform/rewrite/rules/rules.h"

namespace neap::rewrite {

using graph::OpId;
using graph::SubgraphId;

std::span<const Rule> AllRules() {
  static const std::vector<Rule> kRules = {NoOpRule(),       ConcatRule(),      SliceRule(),
                                           KernelWiseRule(), ChannelWiseRule(), SumRule(),
                                           SplitConvRule(),  KeyBlocksRule()};
  return kRules;
}

std::span<const RuleInfo> Rules() {
  static const std::vector<RuleInfo> kInfos = [] {
    std::vector<RuleInfo> infos;
    for (const Rule& rule : AllRules()) infos.push_back(rule.info);
    infos.push_back(DeadChannelsRule());
    return infos;
  }();
  return kInfos;
}

std::vector<std::vector<std::string>> RuleSets(const std::vector<std::string>& wanted) {
  std::vector<std::string> harmless;
  bool fewer = false;
  for (const RuleInfo& rule : Rules()) {
    const std::string name(rule.name);
    const bool on = wanted.empty() ? !rule.on_demand
                                   : std::find(wanted.begin(), wanted.end(), name) != wanted.end();
    if (on && rule.always) harmless.push_back(name);
    fewer = fewer || (on && !rule.always);
  }
  std::vector<std::vector<std::string>> sets = {wanted};
  if (fewer && !harmless.empty()) sets.push_back(std::move(harmless));
  return sets;
}

const Rule* RuleNamed(std::string_view name) {
  for (const Rule& rule : AllRules()) {
    if (rule.info.name == name) return &rule;
  }
  return nullptr;
}

Settings SettingsFor(plan::Runtime runtime, Settings base) {
  base.runtime = check::StockRuntimeOf(runtime);
  base.max_concat_inputs = std::min(base.max_concat_inputs, ops::MaxConcatInputs(base.runtime));
  return base;
}

namespace {

// The inputs of open operators, also through operators that a rule replaces. One decision lets them
// read pieces, the other the whole. A bound must not count both as live, nor the larger one:
// consumers of such a value read pieces that cost nothing to join.
std::set<graph::TensorId> ReadByOpen(const Draft& draft, const std::vector<OpId>& order,
                                     const Choices& choices) {
  std::set<graph::TensorId> read;
  const auto add_inputs = [&](OpId id) {
    for (const graph::TensorId input : draft.SourceOp(id).inputs) {
      if (input.valid()) read.insert(input);
    }
  };
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    const auto chosen = choices.find(*id);
    if (chosen == choices.end() || chosen->second.rule == nullptr) continue;
    const auto& outputs = draft.SourceOp(*id).outputs;
    const bool passes = std::any_of(outputs.begin(), outputs.end(),
                                    [&](graph::TensorId out) { return read.contains(out); });
    if (!chosen->second.relaxed && !passes) continue;
    add_inputs(*id);
    if (chosen->second.relaxed) continue;
    // A rule may replace its operator together with the one before.
    for (const graph::TensorId input : draft.SourceOp(*id).inputs) {
      if (input.valid() && draft.ProducerOf(input).valid()) add_inputs(draft.ProducerOf(input));
    }
  }
  return read;
}

// One pass over the operators; afterwards the draft knows which values are needed whole.
std::optional<OpId> Pass(Draft* draft, const std::vector<OpId>& order, const Choices& choices,
                         std::vector<OpId>* applied,
                         std::map<OpId, plan::Exactness>* exactness = nullptr) {
  const bool relaxed = std::any_of(choices.begin(), choices.end(),
                                   [](const auto& entry) { return entry.second.relaxed; });
  if (relaxed) draft->Relax(ReadByOpen(*draft, order, choices));
  for (const OpId id : order) {
    const auto chosen = choices.find(id);
    const Choice* choice = chosen == choices.end() ? nullptr : &chosen->second;
    const bool may_fit = choice != nullptr && choice->rule != nullptr && draft->IsPlain(id);
    const auto match = may_fit ? choice->rule->match(*draft, id) : std::nullopt;
    if (match && exactness != nullptr) exactness->emplace(id, *match);
    if (match && draft->IsFreeInPlace(id)) {
      // Beside its input or in its place, the output has the same size.
      draft->Keep(id);
      applied->push_back(id);
    } else if (!match) {
      draft->Keep(id);
    } else if (choice->relaxed && choice->rule->relax != nullptr) {
      choice->rule->relax(draft, id);
      applied->push_back(id);
    } else {
      if (!choice->rule->apply(draft, id, choice->parameters)) return id;
      applied->push_back(id);
    }
    draft->Settle(id);
  }
  for (const graph::TensorId output : draft->from().outputs) draft->Readable(output);
  return std::nullopt;
}

}  // namespace

// Operators in an order that can be run: the file's where it is one. ONNX files may have another.
std::vector<OpId> RunnableOrder(const graph::Subgraph& subgraph) {
  IdVector<OpId, std::vector<OpId>> successors(subgraph.ops.size());
  IdVector<OpId, int> missing(subgraph.ops.size(), 0);
  const auto producer = graph::Producers(subgraph);
  for (const OpId id : subgraph.ops.Ids()) {
    for (const auto* list : {&subgraph.ops[id].inputs, &subgraph.ops[id].captures}) {
      for (const graph::TensorId input : *list) {
        if (!input.valid() || !producer[input].valid()) continue;
        successors[producer[input]].push_back(id);
        ++missing[id];
      }
    }
  }
  std::vector<OpId> order;
  std::vector<OpId> ready;
  const auto later = [](OpId a, OpId b) { return a > b; };
  for (const OpId id : subgraph.ops.Ids()) {
    if (missing[id] == 0) ready.push_back(id);
  }
  std::make_heap(ready.begin(), ready.end(), later);
  while (!ready.empty()) {
    std::pop_heap(ready.begin(), ready.end(), later);
    const OpId id = ready.back();
    ready.pop_back();
    order.push_back(id);
    for (const OpId next : successors[id]) {
      if (--missing[next] > 0) continue;
      ready.push_back(next);
      std::push_heap(ready.begin(), ready.end(), later);
    }
  }
  return order;
}

Composed Compose(const Facts& facts, const std::vector<OpId>& order, const Choices& choices,
                 const Settings& settings, Purpose purpose) {
  // The values that are needed whole are known only at the end, and change the number of parts of a
  // value: orders of parts are for the second pass.
  Choices any_order = choices;
  for (auto& [op, choice] : any_order) {
    if (choice.rule->variants == nullptr) choice.parameters.clear();
  }
  Composed composed;
  std::vector<OpId> unused;
  Draft first(facts, settings, Purpose::kOrder);
  composed.refused = Pass(&first, order, any_order, &unused);
  if (composed.refused) return composed;
  Draft second(facts, settings, purpose);
  second.ExpectNeeded(first.needed());
  composed.refused = Pass(&second, order, choices, &composed.applied, &composed.exactness);
  composed.limited = second.limited();
  composed.terms = second.terms();
  if (!composed.refused) composed.graph = second.Finish();
  return composed;
}

namespace {

// The rules change the outputs more than the application declares. A sum of floats with its terms
// in another order than the file's is added in another order.
bool ClaimsTooMuch(const plan::Rewrite& application, plan::Exactness exactness) {
  if (application.exactness != plan::Exactness::kBitwise) return false;
  const bool reordered =
      application.rule == SumRule().info.name &&
      !std::is_sorted(application.parameters.begin(), application.parameters.end());
  return exactness != plan::Exactness::kBitwise || reordered;
}

}  // namespace

Result<graph::Graph> Apply(const graph::Graph& graph, std::span<const plan::Rewrite> applications,
                           const Settings& settings) {
  if (graph.subgraphs.empty()) return Fail(BadInput("has no subgraph"));
  const auto is_dead = [](const plan::Rewrite& rewrite) { return rewrite.rule == kDeadChannels; };
  if (std::any_of(applications.begin(), applications.end(), is_dead)) {
    std::vector<plan::Rewrite> dead;
    std::vector<plan::Rewrite> others;
    for (const plan::Rewrite& application : applications) {
      (is_dead(application) ? dead : others).push_back(application);
    }
    NEAP_TRY(const graph::Graph narrowed, ApplyDeadChannels(graph, dead));
    return Apply(narrowed, others, settings);
  }
  const graph::Subgraph& subgraph = graph.subgraphs[SubgraphId(0)];
  Choices choices;
  for (const plan::Rewrite& application : applications) {
    const Rule* rule = RuleNamed(application.rule);
    if (rule == nullptr) return Fail(BadInput("uses the unknown rule '" + application.rule + "'"));
    if (!subgraph.ops.Has(application.op) ||
        !choices.emplace(application.op, Choice{rule, application.parameters, false}).second) {
      return Fail(BadInput("rewrites operator " + std::to_string(application.op.value()) +
                           ", which does not exist or is rewritten twice"));
    }
  }
  Composed composed =
      Compose(Facts(graph), RunnableOrder(subgraph), choices, settings, Purpose::kGraph);
  const bool all = !composed.refused && composed.applied.size() == choices.size();
  if (!all) {
    Diagnostic error = BadInput("a rewrite is not applicable to its operator");
    for (const auto& [op, choice] : choices) {
      const bool done =
          std::find(composed.applied.begin(), composed.applied.end(), op) != composed.applied.end();
      if (done && composed.refused != op) continue;
      error.op = graph::Describe(op, subgraph.ops[op]);
      break;
    }
    return Fail(std::move(error));
  }
  for (const plan::Rewrite& application : applications) {
    if (!ClaimsTooMuch(application, composed.exactness.at(application.op))) continue;
    Diagnostic error =
        BadInput("rewrite '" + application.rule + "' is marked bitwise, but it is not");
    error.op = graph::Describe(application.op, subgraph.ops[application.op]);
    return Fail(std::move(error));
  }
  NEAP_CHECK_OK(graph::Verify(composed.graph));
  return std::move(composed.graph);
}

}  // namespace neap::rewrite
