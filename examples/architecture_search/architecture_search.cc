// SPDX-License-Identifier: Apache-2.0
//
// Draws random cells and decides for each whether it fits into a budget; each query ends as soon as
// the answer is known: architecture_search [COUNT]. A search keeps the largest network that fits.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include <neap/neap.h>

namespace {

// Operators in a chain with links from earlier ones, each with an output of `channels` x 32 x 32.
std::string RandomCell(std::mt19937* random, int operators) {
  std::string tensors = R"({"name": "in", "bytes": 3072})";
  std::string ops;
  for (int i = 0; i < operators; ++i) {
    const int channels = 8 + static_cast<int>((*random)() % 25);
    tensors += ",{\"bytes\": " + std::to_string(channels * 32 * 32) + "}";
    std::string inputs = std::to_string(i);
    if (i > 0 && (*random)() % 2 == 0) inputs += "," + std::to_string((*random)() % i);
    ops += std::string(i == 0 ? "" : ",") + R"({"inputs": [)" + inputs + R"(], "outputs": [)" +
           std::to_string(i + 1) + "]}";
  }
  return R"({"tensors": [)" + tensors + R"(], "inputs": [0], "outputs": [)" +
         std::to_string(operators) + R"(], "ops": [)" + ops + "]}";
}

}  // namespace

int main(int argc, char** argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 2000;
  constexpr std::int64_t kBudget = 96 * 1024;
  std::mt19937 random(7);
  int fit = 0;
  int unknown = 0;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i) {
    const auto model = neap::api::Model::Parse(RandomCell(&random, 20), "cell.json");
    if (!model) return std::fprintf(stderr, "%s\n", model.error().message.c_str()), 1;
    const auto fits = neap::api::Fits(*model, kBudget);
    if (!fits) return std::fprintf(stderr, "%s\n", fits.error().message.c_str()), 1;
    fit += *fits == true ? 1 : 0;
    unknown += fits->has_value() ? 0 : 1;
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::printf("%d of %d cells fit into %lld B, %d unknown; %.0f cells a second\n", fit, count,
              static_cast<long long>(kBudget), unknown, count / seconds.count());
  return unknown == 0 && fit > 0 && fit < count ? 0 : 1;
}
