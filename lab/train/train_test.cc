// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "lab/train/examples.h"
#include "lab/train/policy.h"
#include "lab/train/trainer.h"
#include "neap/io/file.h"
#include "neap/learn/reference_cases.h"

namespace neap::train {
namespace {

constexpr float kTolerance = 1e-5F;

std::vector<float> OfTorch(const learn::VectorCase& given) {
  Batch batch;
  batch.Add(given.rows, given.order, given.model.config.mask);
  return Policy(given.model).LogProbabilities(batch);
}

TEST(Policy, TheNetworkOfNeapAgreesWithLibtorch) {
  for (const learn::VectorCase& given : learn::VectorCases()) {
    const auto own = learn::ForcedLogProbabilities(learn::Network(given.model), given);
    EXPECT_THAT(own, testing::Pointwise(testing::FloatNear(kTolerance), OfTorch(given)))
        << given.name;
  }
}

// A batch is its graphs one by one.
TEST(Policy, GraphsOfABatchDoNotMix) {
  const learn::Model model = learn::InitialModel({.hidden = 16}, 4);
  Batch both;
  std::vector<float> apart;
  for (const std::uint64_t seed : {1, 2}) {
    const auto given = learn::CaseOf("", model, 12, seed);
    both.Add(given.rows, given.order, model.config.mask);
    const auto one = OfTorch(given);
    apart.insert(apart.end(), one.begin(), one.end());
  }
  EXPECT_THAT(Policy(model).LogProbabilities(both),
              testing::Pointwise(testing::FloatNear(kTolerance), apart));
}

// The gradient by differences: a step down it lowers the loss, and Adam's first step has the size
// of the learning rate.
TEST(Policy, AStepMakesTheOrderMoreProbable) {
  for (const std::uint32_t bits : {0U, 1U, 2U, 3U}) {
    learn::ModelConfig config;
    config.encoder = static_cast<learn::Coder>(bits & 1U);
    config.decoder = static_cast<learn::Coder>(bits >> 1U);
    config.hidden = 16;
    const auto given = learn::CaseOf("", learn::InitialModel(config, 4), 12, 3);
    Batch batch;
    batch.Add(given.rows, given.order, config.mask);
    Policy policy(given.model);
    const std::vector<float> factors = {1};
    const double before = policy.Step(batch, factors, 1e-3);
    for (int i = 0; i < 10; ++i) policy.Step(batch, factors, 1e-3);
    EXPECT_LT(policy.Step(batch, factors, 0), before - 0.5) << bits;
  }
}

class Training : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::temp_directory_path() / ("neap-train-test-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Settings Small(const std::string& name) const {
    Settings settings;
    settings.model.hidden = 16;
    settings.sampler.nodes = settings.test_sampler.nodes = 12;
    settings.sampler.min_levels = settings.test_sampler.min_levels = 4;
    settings.graphs = 50;
    settings.test_graphs = 20;
    settings.batch = 16;
    settings.supervised_steps = 20;
    settings.policy_steps = 20;
    settings.policy_rate = 1e-3;
    settings.epoch_steps = 5;
    settings.test_every = 7;
    settings.save_every = 3;
    settings.weights = (folder_ / (name + ".neapnet")).string();
    settings.curves = (folder_ / (name + ".csv")).string();
    return settings;
  }
  static void RunAll(const Settings& settings) {
    const auto result = Train(settings, [](const Point&, double) {});
    ASSERT_TRUE(result) << result.error().ToString();
  }
  static std::string Read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::filesystem::path folder_;
};

TEST_F(Training, AKilledRunGoesOnToTheSameWeights) {
  const Settings whole = Small("whole");
  RunAll(whole);
  Settings killed = Small("killed");
  killed.checkpoint = (folder_ / "killed.ckpt").string();
  for (const std::int64_t at : {4, 17, 31}) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      // Killed without any chance to tidy up, as soon as the test of that step or a later one is
      // reported.
      const auto ignored = Train(killed, [&](const Point& point, double) {
        if (point.step >= at) ::kill(::getpid(), SIGKILL);
      });
      ::_exit(ignored ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
  }
  const auto checkpoint =
      LoadCheckpoint(killed.checkpoint, killed.Fingerprint(), learn::CountWeights(killed.model));
  ASSERT_TRUE(checkpoint && *checkpoint);
  EXPECT_GE((*checkpoint)->step, 27);
  EXPECT_LT((*checkpoint)->step, 40);
  RunAll(killed);
  EXPECT_FALSE(Read(whole.weights).empty());
  EXPECT_EQ(Read(killed.weights), Read(whole.weights));
  EXPECT_EQ(Read(killed.curves), Read(whole.curves));
}

TEST_F(Training, ACheckpointOfOtherSettingsIsRefused) {
  Settings settings = Small("one");
  settings.checkpoint = (folder_ / "one.ckpt").string();
  RunAll(settings);
  settings.seed = 99;
  const auto result = Train(settings, [](const Point&, double) {});
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().ToString(), testing::HasSubstr("other settings"));
}

// Drawn graphs and the same graphs from a file train the same network; the labels of a file are
// those that are imitated.
TEST_F(Training, ADatasetFromAFileTrainsTheSameNetwork) {
  for (const bool peak : {false, true}) {
    Settings drawn = Small("drawn");
    drawn.model.task = peak ? learn::Task::kPeak : learn::Task::kStages;
    drawn.reward = Reward::kDirect;
    drawn.sampler.max_weight = 9'000;
    drawn.step_cap = 12'000;
    RunAll(drawn);
    Settings read = drawn;
    read.dataset = (folder_ / "train.txt").string();
    read.test_dataset = (folder_ / "test.txt").string();
    read.weights = (folder_ / "read.neapnet").string();
    read.curves = (folder_ / "read.csv").string();
    read.labels = LabelKind::kExact;  // of no effect: the file has the labels
    for (const bool test : {false, true}) {
      const auto graphs = GraphsOf(drawn, test);
      ASSERT_TRUE(graphs);
      ASSERT_TRUE(io::WriteFile(test ? read.test_dataset : read.dataset,
                                learn::SerializeDataset(*graphs), true));
    }
    RunAll(read);
    EXPECT_FALSE(Read(drawn.weights).empty());
    EXPECT_EQ(Read(drawn.weights), Read(read.weights));
    EXPECT_EQ(Read(drawn.curves), Read(read.curves));
  }
}

TEST_F(Training, ADatasetThatLacksWhatTheRewardNeedsIsRefused) {
  Settings settings = Small("lacks");
  const auto graphs = GraphsOf(settings, false);
  ASSERT_TRUE(graphs);
  settings.dataset = (folder_ / "lacks.txt").string();
  ASSERT_TRUE(io::WriteFile(settings.dataset, learn::SerializeDataset(*graphs), true));
  settings.reward = Reward::kDirect;
  const auto result = Train(settings, [](const Point&, double) {});
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().ToString(), testing::HasSubstr("no optima"));
  EXPECT_THAT(result.error().ToString(), testing::HasSubstr("lacks.txt"));
}

TEST_F(Training, ACheckpointOfAnotherDatasetIsRefused) {
  Settings settings = Small("other");
  settings.dataset = (folder_ / "other.txt").string();
  settings.checkpoint = (folder_ / "other.ckpt").string();
  for (const std::uint64_t seed : {1, 2}) {
    const auto graphs = DrawGraphs(settings, settings.sampler, 30, seed);
    ASSERT_TRUE(io::WriteFile(settings.dataset, learn::SerializeDataset(graphs), true));
    const auto result = Train(settings, [](const Point&, double) {});
    EXPECT_EQ(result.has_value(), seed == 1);
  }
}

// The memory cap decides labels.
TEST_F(Training, TheStepCapSpreadsLabels) {
  Settings settings = Small("cap");
  const auto wide = GraphsOf(settings, false);
  settings.step_cap = 2'000;
  const auto narrow = GraphsOf(settings, false);
  ASSERT_TRUE(wide && narrow);
  EXPECT_EQ(wide->front().dag.parents, narrow->front().dag.parents);
  EXPECT_NE(wide->front().labels, narrow->front().labels);
}

TEST_F(Training, ImitationIsLearned) {
  Settings settings = Small("learn");
  settings.supervised_steps = 150;
  settings.policy_steps = 0;
  settings.supervised_rate = 5e-3;
  std::vector<Point> points;
  const auto result = Train(settings, [&](const Point& point, double) { points.push_back(point); });
  ASSERT_TRUE(result);
  EXPECT_LT(points.back().test_mismatch, points.front().test_mismatch / 2);
  EXPECT_LT(points.back().test_cost, points.front().test_cost / 5);
}

TEST_F(Training, PolicyGradientLearnsFromNothing) {
  Settings settings = Small("policy");
  settings.model.queue = learn::Queue::kNumber;
  settings.supervised_steps = 0;
  settings.policy_steps = 200;
  settings.policy_rate = 5e-3;
  std::vector<Point> points;
  const auto result = Train(settings, [&](const Point& point, double) { points.push_back(point); });
  ASSERT_TRUE(result);
  EXPECT_LT(points.back().test_cost, points.front().test_cost / 2);
}

}  // namespace
}  // namespace neap::train
