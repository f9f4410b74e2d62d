// SPDX-License-Identifier: Apache-2.0
//
// The program `neap-train`.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <map>
#include <string>

#include "lab/train/examples.h"
#include "lab/train/trainer.h"
#include "lab/train/vectors.h"
#include "neap/io/file.h"
#include "neap/learn/peak.h"

namespace neap::train {
namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  neap-train --labels asap --supervised 500 --policy 500 --weights asap.neapnet\n"
    "  neap-train --task peak --labels exact --mask ready --supervised 2000 --policy 500 \\\n"
    "             --reward direct --weights peak.neapnet --checkpoint run.ckpt --curves run.csv\n"
    "  neap-train --labels asap --most-weight 8000 --step-cap 20000 --write-dataset train.txt\n"
    "  neap-train --dataset train.txt --policy 500 --weights asap.neapnet\n"
    "\n"
    "A run whose checkpoint exists goes on where that was written.\n";

template <typename Enum>
CLI::Option* AddChoice(CLI::App* app, const std::string& name, Enum* value,
                       const std::map<std::string, Enum>& names, const std::string& what) {
  return app->add_option(name, *value, what)
      ->transform(CLI::CheckedTransformer(names))
      ->default_str("");
}

void AddModel(CLI::App* app, learn::ModelConfig* model) {
  using learn::Coder;
  const std::map<std::string, Coder> coders = {{"lstm", Coder::kLstm},
                                               {"transformer", Coder::kTransformer}};
  AddChoice<learn::Task>(app, "--task", &model->task,
                         {{"stages", learn::Task::kStages}, {"peak", learn::Task::kPeak}},
                         "what orders are for; default: stages");
  AddChoice<Coder>(app, "--encoder", &model->encoder, coders, "default: lstm");
  AddChoice<Coder>(app, "--decoder", &model->decoder, coders, "default: lstm");
  AddChoice<learn::Embedding>(
      app, "--embedding", &model->embedding,
      {{"document", learn::Embedding::kDocument}, {"relative", learn::Embedding::kRelative}},
      "default: relative");
  AddChoice<learn::Queue>(app, "--queue", &model->queue,
                          {{"number", learn::Queue::kNumber}, {"level", learn::Queue::kLevel}},
                          "order in which nodes are read; default: level");
  AddChoice<learn::Mask>(app, "--mask", &model->mask,
                         {{"visited", learn::Mask::kVisited}, {"ready", learn::Mask::kReady}},
                         "what the decoder may not point at; default: visited");
  app->add_option("--hidden", model->hidden, "width of all layers; default: 64")
      ->check(CLI::Range(8U, learn::kMaxHidden));
}

void AddSampler(CLI::App* app, const std::string& prefix, learn::SamplerOptions* sampler) {
  app->add_option("--" + prefix + "nodes", sampler->nodes, "default: 30")
      ->check(CLI::Range(2, learn::kMaxLearnedNodes));
  app->add_option("--" + prefix + "degree", sampler->degree, "most parents; default: 6")
      ->check(CLI::Range(1, 64));
  app->add_option("--" + prefix + "least-levels", sampler->min_levels, "default: 10");
  app->add_option("--" + prefix + "most-levels", sampler->max_levels, "default: 25");
  app->add_option("--" + prefix + "most-weight", sampler->max_weight,
                  "memory of a node: uniform from 1 to this, in thousandths; default: 5000")
      ->check(CLI::Range(std::int64_t{1}, learn::kMaxWeight));
}

// Files to write instead of training.
struct DatasetFiles {
  std::string train;
  std::string test;
  bool any() const { return !train.empty() || !test.empty(); }
};

void AddDatasets(CLI::App* app, Settings* settings, DatasetFiles* written) {
  app->add_option("--step-cap", settings->step_cap,
                  "most memory of a step of ASAP and ALAP labels, in thousandths; default: 35000")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  app->add_option("--dataset", settings->dataset,
                  "file of training graphs with their labels, in place of drawn graphs");
  app->add_option("--test-dataset", settings->test_dataset, "file of test graphs, likewise");
  app->add_option("--write-dataset", written->train,
                  "write the training graphs with their labels and exit without training");
  app->add_option("--write-test-dataset", written->test, "the same for the test graphs");
}

Status WriteDatasets(const Settings& settings, const DatasetFiles& written) {
  for (const bool test : {false, true}) {
    const std::string& path = test ? written.test : written.train;
    if (path.empty()) continue;
    NEAP_TRY(const auto graphs, GraphsOf(settings, test));
    NEAP_CHECK_OK(io::WriteFile(path, learn::SerializeDataset(graphs), true));
  }
  return {};
}

void AddTraining(CLI::App* app, Settings* settings) {
  AddChoice<LabelKind>(
      app, "--labels", &settings->labels,
      {{"asap", LabelKind::kAsap}, {"alap", LabelKind::kAlap}, {"exact", LabelKind::kExact}},
      "what is imitated; default: asap");
  AddChoice<Reward>(app, "--reward", &settings->reward,
                    {{"cosine", Reward::kCosine}, {"direct", Reward::kDirect}},
                    "of the policy gradient; direct: optimum over achieved, after repair and cut");
  const auto count = CLI::Range(std::int64_t{1}, std::int64_t{1} << 40);
  const auto steps = CLI::Range(std::int64_t{0}, std::int64_t{1} << 40);
  app->add_option("--graphs", settings->graphs, "training graphs; default: 4096")->check(count);
  app->add_option("--test-graphs", settings->test_graphs, "default: 256")
      ->check(CLI::Range(2, 1 << 24));
  app->add_option("--stages", settings->stages, "of task stages; default: 4")
      ->check(CLI::Range(1, 64));
  app->add_option("--batch", settings->batch, "graphs a step; default: 64")
      ->check(CLI::Range(1, 1 << 16));
  app->add_option("--supervised", settings->supervised_steps, "steps on the labels' own order")
      ->check(steps);
  app->add_option("--policy", settings->policy_steps, "steps of policy gradient, after those")
      ->check(steps);
  app->add_option("--supervised-rate", settings->supervised_rate, "default: 1e-3");
  app->add_option("--policy-rate", settings->policy_rate, "default: 1e-4");
  app->add_option("--epoch", settings->epoch_steps, "steps between looks at the baseline")
      ->check(count);
  app->add_option("--seed", settings->seed, "of everything that is drawn; default: 1");
  app->add_option("--test-every", settings->test_every, "steps; default: 50")->check(count);
  app->add_option("--save-every", settings->save_every, "steps; default: 50")->check(count);
  app->add_option("--initial", settings->initial, "file of weights to go on from");
  app->add_option("--weights", settings->weights, "file of weights to write");
  app->add_option("--checkpoint", settings->checkpoint, "where the run stands; read if it exists");
  app->add_option("--curves", settings->curves, "the curves, as CSV or .json");
}

int Run(int argc, char** argv) {
  Settings settings;
  CLI::App app("Trains the pointer networks of neap on synthetic graphs.", "neap-train");
  app.footer(kFooter);
  AddModel(&app, &settings.model);
  AddSampler(&app, "", &settings.sampler);
  AddSampler(&app, "test-", &settings.test_sampler);
  AddTraining(&app, &settings);
  DatasetFiles datasets;
  AddDatasets(&app, &settings, &datasets);
  std::string vectors;
  app.add_option("--vectors", vectors,
                 "write what libtorch says in the cases of the tests, and do nothing else");
  CLI11_PARSE(app, argc, argv);
  if (!vectors.empty()) {
    const auto written = io::WriteFile(vectors, LibtorchVectors(), true);
    if (!written) fmt::print(stderr, "neap-train: {}\n", written.error().ToString());
    return written ? 0 : 1;
  }
  if (datasets.any()) {
    const auto written = WriteDatasets(settings, datasets);
    if (!written) fmt::print(stderr, "neap-train: {}\n", written.error().ToString());
    return written ? 0 : 1;
  }
  if (settings.model.hidden % 8 != 0) {
    fmt::print(stderr, "neap-train: --hidden {} is not a multiple of 8\n", settings.model.hidden);
    return 2;
  }
  fmt::print("{}\n", settings.Fingerprint());
  fmt::print("{:>6} {:>10} {:>10} {:>9} {:>9} {:>10} {:>7} {:>8}\n", "step", "phase", "loss",
             "cost", "mismatch", "violations", "ratio", "seconds");
  const auto result = Train(settings, [](const Point& point, double seconds) {
    fmt::print("{:>6} {:>10} {:>10.5f} {:>9.5f} {:>9.3f} {:>10.3f} {:>7.4f} {:>8.1f}\n", point.step,
               point.phase, point.train_loss, point.test_cost, point.test_mismatch,
               point.test_violations, point.test_ratio, seconds);
    std::fflush(stdout);
  });
  if (!result) {
    fmt::print(stderr, "neap-train: {}\n", result.error().ToString());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace neap::train

int main(int argc, char** argv) {
  try {
    return neap::train::Run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "neap-train: {}\n", error.what());
    return 1;
  }
}
