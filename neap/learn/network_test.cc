// SPDX-License-Identifier: Apache-2.0
//
// The network forward, and the file of its weights.
#include "neap/learn/network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>

#include "neap/learn/kernels.h"
#include "neap/learn/reference_cases.h"
#include "neap/learn/repair.h"

namespace neap::learn {
namespace {

using testing::HasSubstr;

// The kernels against the standard library, over the range in which networks move.
TEST(Kernels, TangentAndExponential) {
  for (const Kernels* kernels : {&BestKernels(), &PlainKernels()}) {
    for (float x = -20; x < 20; x += 0.0137F) {
      EXPECT_NEAR(kernels->tangent(x), std::tanh(x), 2e-7) << x;
      float power[1] = {x};
      kernels->exponentials(1, 1, power);
      EXPECT_NEAR(power[0] / std::exp(x - 1), 1, 1e-6) << x;
    }
  }
}

TEST(Kernels, EveryInstructionSetGivesTheSameBits) {
  for (const VectorCase& given : VectorCases()) {
    EXPECT_EQ(ForcedLogProbabilities(Network(given.model), given),
              ForcedLogProbabilities(Network(given.model, PlainKernels()), given))
        << given.name;
  }
}

// neap-train --vectors wrote libtorch's results; this test runs without libtorch.
TEST(Network, AgreesWithWhatLibtorchSaid) {
  const char* source = std::getenv("NEAP_SOURCE_DIR");
  ASSERT_NE(source, nullptr);
  std::ifstream file(std::string(source) + "/neap/learn/testdata/libtorch_vectors.txt");
  ASSERT_TRUE(file) << "the stored vectors are missing";
  std::map<std::string, std::vector<float>> stored;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    for (float value = 0; words >> value;) stored[name].push_back(value);
  }
  const auto cases = VectorCases();
  EXPECT_EQ(stored.size(), cases.size());
  for (const VectorCase& given : cases) {
    EXPECT_THAT(ForcedLogProbabilities(Network(given.model), given),
                testing::Pointwise(testing::FloatNear(1e-5F), stored[given.name]))
        << given.name;
  }
}

TEST(Network, PointsAtEveryRowOnceAndGreedilyAtTheMostProbable) {
  for (const VectorCase& given : VectorCases()) {
    const Network network(given.model);
    std::vector<std::size_t> order = network.Greedy(given.rows);
    const auto again = network.Decode(
        given.rows, [](std::span<const std::size_t> rows, std::span<const float> logs) {
          EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end()));
          double sum = 0;
          std::size_t best = 0;
          for (std::size_t i = 0; i < logs.size(); ++i) {
            sum += std::exp(static_cast<double>(logs[i]));
            if (logs[i] > logs[best]) best = i;
          }
          EXPECT_NEAR(sum, 1, 1e-5);
          return best;
        });
    EXPECT_EQ(order, again) << given.name;
    if (given.model.config.mask == Mask::kReady) {
      std::vector<char> taken(order.size(), 0);
      for (const std::size_t row : order) {
        for (const std::size_t parent : given.rows.parents[row]) EXPECT_EQ(taken[parent], 1);
        taken[row] = 1;
      }
    }
    std::sort(order.begin(), order.end());
    for (std::size_t i = 0; i < order.size(); ++i) EXPECT_EQ(order[i], i);
  }
}

TEST(Network, EmptyAndSingleGraphs) {
  const Model model = InitialModel({}, 1);
  EXPECT_TRUE(GreedyNodes(Network(model), Dag()).empty());
  Dag one;
  one.parents = {{}};
  EXPECT_THAT(GreedyNodes(Network(model), one), testing::ElementsAre(0));
}

// The largest weights that a file may have still end in an order.
TEST(Network, HugeWeightsEndInAnOrder) {
  for (VectorCase given : VectorCases()) {
    for (std::size_t i = 0; i < given.model.weights.size(); ++i) {
      given.model.weights[i] = i % 2 == 0 ? 1e4F : -1e4F;
    }
    EXPECT_EQ(Network(given.model).Greedy(given.rows).size(), given.rows.size());
  }
}

class File : public testing::Test {
 protected:
  static std::string ErrorOf(std::span<const std::byte> bytes) {
    const auto model = ParseModel(bytes);
    return model ? "" : model.error().ToString();
  }
  // With a checksum that agrees.
  static std::vector<std::byte> Written(const ModelConfig& config, float weight) {
    Model model = InitialModel(config, 1);
    model.weights[3] = weight;
    return SerializeModel(model);
  }
};

TEST_F(File, RoundTrip) {
  for (const VectorCase& given : VectorCases()) {
    const auto read = ParseModel(SerializeModel(given.model));
    ASSERT_TRUE(read) << read.error().ToString();
    EXPECT_EQ(read->config, given.model.config);
    EXPECT_EQ(read->weights, given.model.weights);
  }
}

TEST_F(File, EveryLengthButItsOwnIsRefused) {
  std::vector<std::byte> bytes = SerializeModel(InitialModel({.hidden = 8}, 1));
  for (std::size_t size = 0; size < bytes.size(); size += size < 64 ? 1 : 97) {
    EXPECT_NE(ErrorOf(std::span(bytes).first(size)), "") << size;
  }
  bytes.push_back(std::byte{0});
  EXPECT_THAT(ErrorOf(bytes), HasSubstr("bytes, expected"));
}

TEST_F(File, EveryChangedByteIsRefused) {
  const std::vector<std::byte> bytes = SerializeModel(InitialModel({.hidden = 8}, 1));
  for (std::size_t i = 0; i < bytes.size(); i += i < 64 ? 1 : 13) {
    std::vector<std::byte> changed = bytes;
    changed[i] ^= std::byte{0x10};
    const std::string error = ErrorOf(changed);
    EXPECT_NE(error, "") << i;
    EXPECT_EQ(error.find('\n'), std::string::npos);
  }
}

TEST_F(File, NumbersThatAreNoneAreRefused) {
  EXPECT_EQ(ErrorOf(Written({.hidden = 8}, 1e4F)), "");
  for (const float weight :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), -2e4F}) {
    EXPECT_THAT(ErrorOf(Written({.hidden = 8}, weight)), HasSubstr("weight 3 is not a number"));
  }
}

// A header that declares more than the file contains causes no allocation.
TEST_F(File, WidthsAreBounded) {
  std::vector<std::byte> bytes = SerializeModel(InitialModel({.hidden = 8}, 1));
  for (const unsigned width : {0U, 4U, 12U, 520U, 0xffffffffU}) {
    for (std::size_t i = 0; i < 4; ++i) {
      bytes[32 + i] = static_cast<std::byte>((width >> (8 * i)) & 0xffU);
    }
    EXPECT_THAT(ErrorOf(bytes), HasSubstr("its width is"));
  }
}

TEST_F(File, BuiltinModelsAreWhatTheirNamesSay) {
  for (const Task task : {Task::kStages, Task::kPeak}) {
    const Model& model = BuiltinModel(task);
    EXPECT_EQ(model.config.task, task);
    EXPECT_EQ(model.config.decoder, Coder::kLstm);
    EXPECT_LT(model.weights.size() * sizeof(float), std::size_t{2} << 20);
  }
}

}  // namespace
}  // namespace neap::learn
