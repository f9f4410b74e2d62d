// SPDX-License-Identifier: Apache-2.0
#include "lab/train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "lab/train/examples.h"
#include "lab/train/policy.h"
#include "neap/base/random.h"
#include "neap/io/file.h"
#include "neap/learn/network.h"
#include "neap/learn/repair.h"

namespace neap::train {
namespace {

using learn::Node;

// One-sided 5 % of a normal distribution, which Student's is for as many graphs as are tested.
constexpr double kSignificant = 1.645;
constexpr double kUnknown = -1;  // a cost of the baseline that has not been computed

class Trainer {
 public:
  Trainer(const Settings& settings, PointObserver observer)
      : settings_(settings), observer_(std::move(observer)) {}

  Result<std::optional<Point>> Run() {
    NEAP_CHECK_OK(Begin());
    const std::int64_t last = settings_.supervised_steps + settings_.policy_steps;
    for (; state_.step < last; ++state_.step) {
      if (!settings_.checkpoint.empty() && state_.step % settings_.save_every == 0) {
        NEAP_CHECK_OK(Save());
      }
      if (state_.step % settings_.test_every == 0) Test();
      const bool supervised = state_.step < settings_.supervised_steps;
      const double loss = supervised ? SupervisedStep() : PolicyStep();
      state_.loss_sum += loss;
      ++state_.loss_count;
    }
    if (state_.points.empty() || state_.points.back().step < last) Test();
    NEAP_CHECK_OK(Finish());
    return state_.points.empty() ? std::optional<Point>() : state_.points.back();
  }

 private:
  Status Begin() {
    learn::Model model = learn::InitialModel(settings_.model, settings_.seed);
    if (!settings_.initial.empty()) {
      NEAP_TRY(const auto bytes, io::ReadFile(settings_.initial));
      NEAP_TRY(learn::Model read, learn::ParseModel(*bytes));
      if (read.config != settings_.model) {
        Diagnostic diagnostic = BadInput("weights of another network");
        diagnostic.file = settings_.initial;
        return Fail(std::move(diagnostic));
      }
      model = std::move(read);
    }
    policy_ = std::make_unique<Policy>(model);
    NEAP_CHECK_OK(MakeGraphs());
    if (!settings_.checkpoint.empty()) {
      NEAP_TRY(auto loaded,
               LoadCheckpoint(settings_.checkpoint, state_.fingerprint, model.weights.size()));
      if (loaded) {
        state_ = std::move(*loaded);
        policy_->SetState(state_.policy);
      }
    }
    ForgetBaselineCosts();
    return {};
  }

  // Datasets decide the result by their contents, not by their names.
  Status MakeGraphs() {
    state_.fingerprint = settings_.Fingerprint();
    for (const bool test : {false, true}) {
      NEAP_TRY(const auto graphs, GraphsOf(settings_, test));
      const std::string& path = test ? settings_.test_dataset : settings_.dataset;
      if (!path.empty()) {
        const std::string text = learn::SerializeDataset(graphs);
        state_.fingerprint += fmt::format(" {}={}", test ? "test_dataset" : "dataset",
                                          io::Sha256(std::as_bytes(std::span(text))));
      }
      (test ? tests_ : examples_) = MakeExamples(settings_, graphs);
    }
    return {};
  }

  Status Save() {
    state_.policy = policy_->State();
    return SaveCheckpoint(settings_.checkpoint, state_);
  }

  Status Finish() {
    if (!settings_.checkpoint.empty()) NEAP_CHECK_OK(Save());
    if (!settings_.weights.empty()) {
      NEAP_CHECK_OK(
          io::WriteFile(settings_.weights, learn::SerializeModel(policy_->ModelNow()), true));
    }
    if (!settings_.curves.empty()) {
      const std::string text = settings_.curves.ends_with(".json")
                                   ? CurvesJson(state_.points, state_.fingerprint)
                                   : CurvesCsv(state_.points);
      NEAP_CHECK_OK(io::WriteFile(settings_.curves, text, true));
    }
    return {};
  }

  // The graphs of a step: a new shuffle every time all have been used.
  std::vector<std::size_t> Choose() {
    const auto count = examples_.size();
    std::vector<std::size_t> chosen;
    for (std::int64_t i = 0; i < settings_.batch; ++i) {
      const auto place = static_cast<std::uint64_t>(state_.step * settings_.batch + i);
      const std::uint64_t round = place / count;
      if (permutation_.empty() || round != permutation_round_) {
        permutation_.resize(count);
        for (std::size_t k = 0; k < count; ++k) permutation_[k] = k;
        Random(SeedOf(settings_.seed, 3, round)).Shuffle(permutation_);
        permutation_round_ = round;
      }
      chosen.push_back(permutation_[place % count]);
    }
    return chosen;
  }

  double SupervisedStep() {
    Batch batch;
    for (const std::size_t index : Choose()) {
      batch.Add(examples_[index].rows, examples_[index].target, settings_.model.mask);
    }
    const std::vector<float> factors(static_cast<std::size_t>(batch.graphs),
                                     1.0F / static_cast<float>(batch.rows));
    return policy_->Step(batch, factors, settings_.supervised_rate);
  }

  double CostOf(const Example& example, const std::vector<std::size_t>& rows) const {
    const std::vector<Node> order = NodesOf(example.rows, rows);
    if (settings_.reward == Reward::kCosine) {
      return 1 - learn::CosineReward(example.labels, order);
    }
    const auto achieved = static_cast<double>(Achieved(settings_, example, order));
    return achieved > 0 ? 1 - static_cast<double>(example.optimum) / achieved : 0;
  }

  void ForgetBaselineCosts() { baseline_costs_.assign(examples_.size(), kUnknown); }

  double PolicyStep() {
    const learn::Model model = policy_->ModelNow();
    const learn::Network network(model);
    if (state_.baseline.empty()) state_.baseline = model.weights;
    const std::int64_t into = state_.step - settings_.supervised_steps;
    if (into > 0 && into % settings_.epoch_steps == 0) CompareWithBaseline(model);
    const learn::Model baseline{settings_.model, state_.baseline};
    const learn::Network baseline_network(baseline);
    Random random(SeedOf(settings_.seed, 4, static_cast<std::uint64_t>(state_.step)));
    Batch batch;
    std::vector<float> factors;
    double cost_sum = 0;
    for (const std::size_t index : Choose()) {
      const Example& example = examples_[index];
      const auto order = network.Decode(
          example.rows, [&](std::span<const std::size_t> rows, std::span<const float> logs) {
            return Draw(rows.size(), logs, &random);
          });
      double& baseline_cost = baseline_costs_[index];
      if (baseline_cost == kUnknown) {
        baseline_cost = CostOf(example, baseline_network.Greedy(example.rows));
      }
      const double cost = CostOf(example, order);
      cost_sum += cost;
      // Step() goes down -factor * log probability: orders that cost less become more probable.
      factors.push_back(static_cast<float>(baseline_cost - cost));
      batch.Add(example.rows, order, settings_.model.mask);
    }
    policy_->Step(batch, factors, settings_.policy_rate);
    return cost_sum / static_cast<double>(settings_.batch);
  }

  static std::size_t Draw(std::size_t count, std::span<const float> logs, Random* random) {
    double left = random->Unit();
    for (std::size_t i = 0; i + 1 < count; ++i) {
      left -= std::exp(static_cast<double>(logs[i]));
      if (left < 0) return i;
    }
    return count - 1;
  }

  // The baseline becomes the network of today where that is significantly better on the tests.
  void CompareWithBaseline(const learn::Model& model) {
    const learn::Model baseline{settings_.model, state_.baseline};
    double sum = 0;
    double squares = 0;
    for (const Example& test : tests_) {
      const double gain = CostOf(test, learn::Network(baseline).Greedy(test.rows)) -
                          CostOf(test, learn::Network(model).Greedy(test.rows));
      sum += gain;
      squares += gain * gain;
    }
    const auto count = static_cast<double>(tests_.size());
    const double mean = sum / count;
    const double variance = std::max(squares / count - mean * mean, 0.0) / (count - 1);
    if (mean <= 0 || mean < kSignificant * std::sqrt(variance)) return;
    state_.baseline = model.weights;
    ForgetBaselineCosts();
  }

  void Test() {
    if (!state_.points.empty() && state_.points.back().step == state_.step) return;
    const learn::Model model = policy_->ModelNow();
    const learn::Network network(model);
    Point point;
    point.step = state_.step;
    point.phase = state_.step < settings_.supervised_steps ? "supervised" : "policy";
    point.train_loss =
        state_.loss_count > 0 ? state_.loss_sum / static_cast<double>(state_.loss_count) : 0;
    state_.loss_sum = 0;
    state_.loss_count = 0;
    const auto count = static_cast<double>(tests_.size());
    for (const Example& test : tests_) {
      const std::vector<Node> order = NodesOf(test.rows, network.Greedy(test.rows));
      point.test_cost += (1 - learn::CosineReward(test.labels, order)) / count;
      point.test_mismatch += learn::Mismatch(test.labels, order) / count;
      point.test_violations += learn::Violations(test.dag, order) / count;
      if (test.optimum == 0) continue;
      point.test_ratio += static_cast<double>(test.optimum) /
                          static_cast<double>(Achieved(settings_, test, order)) / count;
    }
    state_.points.push_back(point);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start_;
    observer_(point, seconds.count());
  }

  const Settings& settings_;
  PointObserver observer_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::unique_ptr<Policy> policy_;
  Checkpoint state_;
  std::vector<Example> examples_;
  std::vector<Example> tests_;
  std::vector<double> baseline_costs_;
  std::vector<std::size_t> permutation_;
  std::uint64_t permutation_round_ = 0;
};

}  // namespace

Result<std::optional<Point>> Train(const Settings& settings, const PointObserver& observer) {
  return Trainer(settings, observer).Run();
}

std::string CurvesCsv(const std::vector<Point>& points) {
  std::string text = "step,phase,train_loss,test_cost,test_mismatch,test_violations,test_ratio\n";
  for (const Point& point : points) {
    text += fmt::format("{},{},{:.6f},{:.6f},{:.4f},{:.4f},{:.6f}\n", point.step, point.phase,
                        point.train_loss, point.test_cost, point.test_mismatch,
                        point.test_violations, point.test_ratio);
  }
  return text;
}

std::string CurvesJson(const std::vector<Point>& points, const std::string& fingerprint) {
  nlohmann::ordered_json json = {{"schema_version", 1}, {"settings", fingerprint}};
  json["points"] = nlohmann::ordered_json::array();
  for (const Point& point : points) {
    json["points"].push_back({{"step", point.step},
                              {"phase", point.phase},
                              {"train_loss", point.train_loss},
                              {"test_cost", point.test_cost},
                              {"test_mismatch", point.test_mismatch},
                              {"test_violations", point.test_violations},
                              {"test_ratio", point.test_ratio}});
  }
  return json.dump(1) + "\n";
}

}  // namespace neap::train
