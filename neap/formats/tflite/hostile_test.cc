// SPDX-License-Identifier: Apache-2.0
//
// Damaged files. Reading must end, with a graph or an error, without a finding of the sanitizers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "neap/base/random.h"
#include "neap/formats/tflite/test_model.h"

namespace neap::formats::tflite {
namespace {

using test::Code;
using test::LoadModel;
using test::TestModel;
using ::testing::HasSubstr;

// Everything that the reader looks at.
TestModel Rich() {
  TestModel model = test::Diamond();
  model.subgraphs[0].ops[0] = {Code::IF, {0}, {1}, {1, 2}};
  model.subgraphs[0].ops[1].mutating = {1, 0};
  model.subgraphs[0].ops[3] = {Code::CUSTOM, {1}, {4}, {}, "MyOp", {}, 8, 8};
  model.subgraphs[0].tensors[2].signature = {-1, 4};
  for (int i = 0; i < 2; ++i) model.subgraphs.push_back(test::Diamond().subgraphs[0]);
  model.buffers = {{}, {{1, 2, 3, 4}}, {{1, 3, 1, 2, 4, 0, 0}}, {{}, 8, 4}};
  model.subgraphs[1].tensors.push_back({"w", {{4}}, test::Type::INT8, 1});
  model.subgraphs[1].tensors.push_back({"v", {{4}}, test::Type::INT8, 3});
  model.metadata = {{"model_control_dependencies", 2}};
  model.signatures = {{"serve", 0}};
  return model;
}

// Reads and, where that works, writes in the same order.
bool Survives(std::vector<std::byte> bytes) {
  const auto model = LoadModel(std::move(bytes));
  if (!model) {
    EXPECT_FALSE(model.error().message.empty());
    return false;
  }
  return WriteReordered(*model, {}).has_value();
}

TEST(HostileTflite, EveryTruncation) {
  const auto bytes = Rich().Build();
  ASSERT_TRUE(Survives(bytes));
  std::size_t read = 0;
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    if (Survives({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length)})) ++read;
  }
  // Only padding at the end can be missing without an error.
  EXPECT_LE(read, 16U);
}

TEST(HostileTflite, RandomBytes) {
  const auto bytes = Rich().Build();
  Random random(1);
  std::size_t read = 0;
  constexpr int kFiles = 4000;
  for (int i = 0; i < kFiles; ++i) {
    auto changed = bytes;
    for (std::int64_t flips = random.Between(1, 8); flips > 0; --flips) {
      changed[random.Below(changed.size())] = static_cast<std::byte>(random.Below(256));
    }
    if (Survives(changed)) ++read;
  }
  EXPECT_GT(read, 0U);
  EXPECT_LT(read, std::size_t{kFiles});
}

TEST(HostileTflite, RandomWords) {
  const auto bytes = Rich().Build();
  Random random(2);
  for (std::size_t place = 0; place + 4 <= bytes.size(); place += 4) {
    for (const std::uint32_t word : {0U, 1U, 0x7fffffffU, 0x80000000U, 0xffffffffU,
                                     static_cast<std::uint32_t>(random.Below(bytes.size()))}) {
      auto changed = bytes;
      flatbuffers::WriteScalar(changed.data() + place, word);
      Survives(changed);
    }
  }
}

// Subgraphs without end that are all one: 4 bytes each in the file, thousands in memory.
TEST(HostileTflite, RefusesOneTableMetAgainAndAgain) {
  flatbuffers::FlatBufferBuilder b;
  std::vector<flatbuffers::Offset<schema::Tensor>> tensors(
      3000, schema::CreateTensor(b, 0, test::Type::INT8, 0, b.CreateString("name")));
  const auto tensor_list = b.CreateVector(tensors);
  std::vector<flatbuffers::Offset<schema::SubGraph>> subgraphs(
      3000, schema::CreateSubGraph(b, tensor_list));
  b.Finish(schema::CreateModel(b, 3, 0, b.CreateVector(subgraphs)), schema::ModelIdentifier());
  const auto* begin = reinterpret_cast<const std::byte*>(b.GetBufferPointer());
  EXPECT_FALSE(Survives({begin, begin + b.GetSize()}));
}

TEST(HostileTflite, RefusesAListMetAgainAndAgain) {
  flatbuffers::FlatBufferBuilder b;
  const auto inputs = b.CreateVector(std::vector<std::int32_t>(20'000, -1));
  const auto op = schema::CreateOperator(b, 0, inputs);
  const std::vector<flatbuffers::Offset<schema::Operator>> ops(20'000, op);
  const auto op_list = b.CreateVector(ops);
  const auto subgraph = schema::CreateSubGraph(b, 0, 0, 0, op_list);
  const auto code = schema::CreateOperatorCode(b);
  const auto codes = b.CreateVector(&code, 1);
  b.Finish(schema::CreateModel(b, 3, codes, b.CreateVector(&subgraph, 1)),
           schema::ModelIdentifier());
  const auto* begin = reinterpret_cast<const std::byte*>(b.GetBufferPointer());
  const auto model = LoadModel({begin, begin + b.GetSize()});
  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().ToString(), HasSubstr("many times larger than the file"));
}

}  // namespace
}  // namespace neap::formats::tflite
