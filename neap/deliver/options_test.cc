// SPDX-License-Identifier: Apache-2.0
#include "neap/deliver/options.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "neap/deliver/dims.h"
#include "neap/formats/formats.h"
#include "neap/plan/profile.h"

namespace neap::deliver {
namespace {

using Said = std::vector<std::pair<std::string_view, std::string_view>>;

// The first error, "" where there is none.
std::string ErrorOf(const Said& said, const std::string& prefix = "") {
  Words words;
  words.prefix = prefix;
  for (const auto& [name, text] : said) {
    if (const Status status = Set(name, text, &words); !status) return status.error().message;
  }
  const Status status = CheckWords(words);
  return status ? "" : status.error().message;
}

formats::SourceModel Model(formats::Format format) {
  formats::SourceModel model;
  model.format = format;
  model.graph.subgraphs.push_back(graph::Subgraph());
  return model;
}

TEST(OptionsTest, EveryOptionIsListedOnce) {
  std::set<std::string_view> names;
  std::string_view group;
  std::set<std::string_view> groups;
  for (const Option& option : Options()) {
    EXPECT_TRUE(names.insert(option.name).second) << option.name;
    EXPECT_FALSE(option.help.empty()) << option.name;
    EXPECT_EQ(OptionNamed(option.name), &option);
    if (option.group == group) continue;
    group = option.group;
    EXPECT_TRUE(groups.insert(group).second) << group << " is in two pieces";
  }
  EXPECT_EQ(OptionNamed("speed"), nullptr);
}

// Where the help lists the words, each is taken and no other.
TEST(OptionsTest, ListedWordsAreTaken) {
  int lists = 0;
  for (const Option& option : Options()) {
    const bool is_list =
        option.value.find('|') != std::string::npos &&
        option.value.find_first_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") == std::string::npos;
    if (!is_list) continue;
    ++lists;
    std::size_t begin = 0;
    while (begin <= option.value.size()) {
      const std::size_t end = std::min(option.value.find('|', begin), option.value.size());
      Words words;
      EXPECT_TRUE(option.set(option.value.substr(begin, end - begin), &words)) << option.name;
      begin = end + 1;
    }
    Words words;
    EXPECT_FALSE(option.set("nonsense", &words)) << option.name;
  }
  EXPECT_GT(lists, 8);
}

TEST(OptionsTest, Values) {
  EXPECT_EQ(ErrorOf({{"budget", "64KiB"}, {"max-states", "5"}, {"time-limit", "0.5"}}), "");
  EXPECT_NE(ErrorOf({{"budget", "64 apples"}}).find("budget '64 apples' is not a size"),
            std::string::npos);
  EXPECT_EQ(ErrorOf({{"max-states", "0"}}),
            "max-states '0' is not a whole number from 1 to 1000000000000");
  EXPECT_EQ(ErrorOf({{"time-limit", "-1"}}, "--"),
            "--time-limit is not a number of seconds of at least 0");
  EXPECT_EQ(ErrorOf({{"max-macs", "0.9"}}),
            "max-macs '0.9' is not a ratio of at least 1 such as 1.02");
  EXPECT_EQ(ErrorOf({{"rules", "sum,-concat"}}),
            "rules names rules to apply and rules to leave out (-NAME), expected only one kind");
  EXPECT_EQ(ErrorOf({{"memory", "a=1KiB,bw=1"}, {"memory", "a=2KiB,bw=1"}}),
            "memory names 'a' twice");
  EXPECT_EQ(ErrorOf({{"speed", "high"}}), "there is no option 'speed'");
  Words words;
  ASSERT_TRUE(Set("memory", "psram=8MiB,bw=0.5", &words));
  EXPECT_EQ(words.memories.front().bytes_per_kilocycle, 500);
  ASSERT_TRUE(Set("max-macs", "1.02", &words));
  EXPECT_EQ(words.max_macs_permille, 1020);
}

// Messages name options as the caller does.
TEST(OptionsTest, WhatDoesNotGoTogether) {
  EXPECT_EQ(ErrorOf({{"slack", "5"}}), "slack requires forced relaxed");
  EXPECT_EQ(ErrorOf({{"slack", "5"}}, "--"), "--slack requires --forced relaxed");
  EXPECT_EQ(ErrorOf({{"keep-inputs", ""}}), "keep-inputs requires overlap");
  EXPECT_EQ(ErrorOf({{"device", "cortex-m4"}}), "device requires cascade auto");
  EXPECT_EQ(ErrorOf({{"tile-grids", "all"}}), "tile-grids requires cascade auto");
  EXPECT_EQ(ErrorOf({{"input", "rows"}}), "input, max-macs and block-columns require stream auto");
  EXPECT_EQ(ErrorOf({{"rewrite", "none"}, {"rewrite-work", "5"}}),
            "rules, rewrite-work and accumulator-bytes require rewrite, which is none here");
  EXPECT_EQ(ErrorOf({{"cascade", "auto"}, {"order", "beam"}}),
            "cascade auto cannot be combined with order-only, order or scratch");
  EXPECT_EQ(ErrorOf({{"cascade", "auto"}, {"device", "cortex-m4"}, {"overlap", "tflm-reference"}}),
            "");
}

// Every optional step is accepted by its name and left out of the request.
TEST(OptionsTest, SkippedSteps) {
  const auto steps_without = [&](const std::string& steps) {
    Words words;
    EXPECT_TRUE(Set("runtime", "neap", &words));  // the only one with streams
    EXPECT_TRUE(Set("budget", "1KiB", &words));   // with which extras are tried
    if (!steps.empty()) {
      EXPECT_TRUE(Set("skip", steps, &words)) << steps;
    }
    const auto request = RequestOf(words, Model(formats::Format::kTflite), {});
    EXPECT_TRUE(request) << steps;
    const auto has = [&](std::string_view step) {
      const auto& skipped = request->skipped;
      return std::find(skipped.begin(), skipped.end(), step) == skipped.end();
    };
    return std::vector<bool>{request->rewriting.any,
                             request->streaming.use != Use::kNever,
                             request->tiling.use != Use::kNever,
                             has("rewritten and streamed"),
                             has("rewritten and tiles"),
                             request->use_extras != Use::kNever,
                             has("overlap"),
                             has("moves"),
                             has("shared bodies"),
                             request->compile.arena_order,
                             request->compile.joint_search};
  };
  EXPECT_EQ(steps_without(""), std::vector<bool>(OptionalSteps().size(), true));
  std::string all;
  for (std::size_t i = 0; i < OptionalSteps().size(); ++i) {
    const std::string name(OptionalSteps()[i].name);
    std::vector<bool> expected(OptionalSteps().size(), true);
    expected[i] = false;
    EXPECT_EQ(steps_without(name), expected) << name;
    all += (all.empty() ? "" : ",") + name;
  }
  EXPECT_EQ(steps_without(all), std::vector<bool>(OptionalSteps().size(), false));
  EXPECT_EQ(ErrorOf({{"skip", "order"}}), "skip: there is no optional step 'order'");
  EXPECT_EQ(ErrorOf({{"skip", "stream"}, {"stream", "auto"}}),
            "stream auto cannot be combined with skip stream");
  EXPECT_EQ(ErrorOf({{"skip", "tiles,rewrite"}, {"cascade", "auto"}}),
            "cascade auto cannot be combined with skip tiles");
  EXPECT_EQ(ErrorOf({{"skip", "rewrite"}, {"rewrite", "reassociate"}}),
            "rewrite and rules cannot be combined with skip rewrite");
}

// A target on which the overlaps are right, or an error.
TEST(OptionsTest, OverlapsChooseTheTarget) {
  const auto target_of = [](const std::vector<std::pair<std::string_view, std::string_view>>& set) {
    Words words;
    for (const auto& [name, value] : set) EXPECT_TRUE(Set(name, value, &words));
    const auto target = TargetOf(words);
    return target ? std::string((*target)->name) : target.error().message;
  };
  EXPECT_EQ(target_of({}), "cortex-m4+reference");
  EXPECT_EQ(target_of({{"overlap", "copies"}}), "cortex-m4+reference");
  EXPECT_EQ(target_of({{"overlap", "cmsis-nn"}}), "cortex-m4+cmsis-nn");
  EXPECT_EQ(target_of({{"overlap", "cmsis-nn-mve"}}), "cortex-m55+cmsis-nn");
  EXPECT_EQ(target_of({{"overlap", "esp-nn"}}), "esp32+esp-nn");
  EXPECT_EQ(target_of({{"overlap", "cmsis-nn,tflm-reference"}}), "cortex-m4+reference");
  EXPECT_EQ(target_of({{"board", "pico"}, {"overlap", "cmsis-nn"}}), "cortex-m0+cmsis-nn");
  EXPECT_EQ(
      target_of({{"target", "cortex-m55+cmsis-nn"}, {"overlap", "cmsis-nn-dsp"}}),
      "overlap cmsis-nn-dsp is wrong on target 'cortex-m55+cmsis-nn', which has other kernels");
  EXPECT_EQ(target_of({{"board", "xiao-esp32s3"}, {"overlap", "esp-nn"}}),
            "overlap esp-nn is wrong on target 'esp32s3+esp-nn', which has other kernels");
}

TEST(OptionsTest, Runtimes) {
  Words words;
  const auto request = RequestOf(words, Model(formats::Format::kTflite), {});
  ASSERT_TRUE(request);
  EXPECT_EQ(request->compile.runtime, plan::Runtime::kTflm);
  EXPECT_EQ(request->streaming.use, Use::kNever);
  EXPECT_EQ(request->tiling.use, Use::kIfNeeded);
  EXPECT_EQ(RequestOf(words, Model(formats::Format::kOnnx), {})->compile.runtime,
            plan::Runtime::kIdeal);
  ASSERT_TRUE(Set("budget-total", "64KiB", &words));
  const auto refused = RequestOf(words, Model(formats::Format::kOnnx), {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "budget-total requires runtime tflm");
  EXPECT_EQ(RequestOf(words, Model(formats::Format::kTflite), {})->budgets.total_bytes, 65536);
  words = {};
  ASSERT_TRUE(Set("budget", "64KiB", &words));
  EXPECT_EQ(RequestOf(words, Model(formats::Format::kTflite), {})->budgets.total_bytes, 65536);
  EXPECT_EQ(RequestOf(words, Model(formats::Format::kOnnx), {})->budgets.arena_bytes, 65536);
  ASSERT_TRUE(Set("budget-activations", "32KiB", &words));
  EXPECT_EQ(RequestOf(words, Model(formats::Format::kTflite), {})->budgets.arena_bytes, 32768);
  words = {};
  ASSERT_TRUE(Set("runtime", "neap", &words));
  EXPECT_EQ(RequestOf(words, Model(formats::Format::kTflite), {})->streaming.use, Use::kIfNeeded);
  EXPECT_TRUE(RequestOf(words, Model(formats::Format::kTflite), {})->rewriting.sums_in_place);
  ASSERT_TRUE(Set("moves", "best", &words));
  EXPECT_EQ(RequestOf(words, Model(formats::Format::kTflite), {}).error().message,
            "moves is not applicable to runtime neap, where tensors share addresses");
}

// What a budget and an effort search beside the features of the other options.
TEST(OptionsTest, AnEffortSetsTheFeaturesThatNoOptionDecidesOn) {
  const auto request_of = [](const Said& said) {
    Words words;
    for (const auto& [name, text] : said) EXPECT_TRUE(Set(name, text, &words)) << name;
    auto request = RequestOf(words, Model(formats::Format::kTflite), {});
    EXPECT_TRUE(request);
    return *std::move(request);
  };
  const auto plain = request_of({});
  EXPECT_EQ(plain.use_extras, Use::kNever);
  EXPECT_EQ(plain.tiling.use, Use::kIfNeeded) << "without a budget never";
  const auto budget = request_of({{"budget", "64KiB"}});
  EXPECT_EQ(budget.use_extras, Use::kIfNeeded);
  EXPECT_EQ(budget.tiling.use, Use::kIfNeeded);
  EXPECT_EQ(budget.extras,
            (Extras{ops::KernelLibrary::kCopies, compile::MoveStrategy::kBest, false}));
  const auto effort = request_of({{"effort", "default"}});
  EXPECT_EQ(effort.use_extras, Use::kAlways);
  EXPECT_EQ(effort.tiling.use, Use::kAlways);
  const auto quick = request_of({{"effort", "quick"}, {"budget", "64KiB"}});
  EXPECT_EQ(quick.tiling.use, Use::kNever);
  EXPECT_EQ(quick.extras,
            (Extras{ops::KernelLibrary::kCopies, compile::MoveStrategy::kNone, false}));
  EXPECT_EQ(request_of({{"effort", "quick"}, {"cascade", "auto"}}).tiling.use, Use::kAlways);
  EXPECT_EQ(request_of({{"effort", "default"}, {"cascade", "off"}}).tiling.use, Use::kNever);
  EXPECT_EQ(request_of({{"board", "nano-33-ble"}}).extras.kernels, ops::KernelLibrary::kCmsisNnDsp)
      << "the kernels of a named target";
  EXPECT_EQ(request_of({{"effort", "default"}, {"overlap", "copies"}}).extras.kernels,
            ops::KernelLibrary::kNone);
  EXPECT_FALSE(plain.registered);
  const auto registered = request_of({{"effort", "default"}, {"registered", "IF,SLICE"}});
  EXPECT_TRUE(registered.extras.shared_bodies);
  EXPECT_EQ(registered.registered, (std::set<std::string>{"IF", "SLICE"}));
  const auto all = request_of({{"effort", "default"}, {"registered", "all"}});
  EXPECT_TRUE(all.extras.shared_bodies);
  EXPECT_FALSE(all.registered);
  EXPECT_EQ(ErrorOf({{"registered", "IF"}, {"order-only", ""}}),
            "registered limits plans with addresses, which order-only leaves out");
}

TEST(OptionsTest, WorkByEffort) {
  const auto work_of = [](const Said& said) {
    Words words;
    for (const auto& [name, text] : said) EXPECT_TRUE(Set(name, text, &words)) << name;
    return DefaultWorkOf(words);
  };
  EXPECT_LT(work_of({{"effort", "quick"}}), work_of({{"effort", "default"}}));
  EXPECT_LT(work_of({{"effort", "default"}}), work_of({{"effort", "thorough"}}));
  EXPECT_EQ(work_of({{"budget", "1KiB"}}), work_of({{"effort", "default"}}));
  EXPECT_EQ(work_of({{"effort", "thorough"}}), kDefaultWork);
  EXPECT_EQ(work_of({{"effort", "quick"}, {"max-states", "5"}}), 0);
}

// A requested limit replaces the default one.
TEST(OptionsTest, LimitsOfSearches) {
  const formats::SourceModel model = Model(formats::Format::kOnnx);
  Words words;
  EXPECT_EQ(DefaultWorkOf(words), kDefaultWork);
  EXPECT_EQ(RequestOf(words, model, {})->compile.limits.max_states, kStatesForAFewSeconds);
  EXPECT_FALSE(RequestOf(words, model, {})->compile.limits.deadline);
  ASSERT_TRUE(Set("time-limit", "60", &words));
  EXPECT_EQ(DefaultWorkOf(words), 0);
  EXPECT_EQ(RequestOf(words, model, {})->compile.limits.max_states, 0);
  EXPECT_TRUE(RequestOf(words, model, {})->compile.limits.deadline);
}

TEST(DimsTest, NamesAndValues) {
  const auto dims = DimsOf({"batch=2", "a=b=3"}, "");
  ASSERT_TRUE(dims);
  EXPECT_EQ(dims->at("batch"), 2);
  EXPECT_EQ(dims->at("a=b"), 3);
  for (const char* const bad : {"batch", "=1", "batch=", "batch=0", "batch=-1", "batch=1x"}) {
    const auto refused = DimsOf({bad}, "--");
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().message,
              "--dim '" + std::string(bad) + "' is not NAME=N with a positive whole number N");
  }
  EXPECT_EQ(DimsOf({"n=1", "n=2"}, "").error().message, "dim 'n' is given twice");
}

}  // namespace
}  // namespace neap::deliver
