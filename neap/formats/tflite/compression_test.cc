// SPDX-License-Identifier: Apache-2.0
#include "neap/formats/tflite/compression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "neap/formats/tflite/test_model.h"

namespace neap::formats::tflite {
namespace {

using test::Code;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

// The bytes of a metadata entry: `tensors` of each subgraph are compressed.
std::vector<std::uint8_t> EntryOf(const std::vector<std::vector<std::int32_t>>& tensors,
                                  std::uint32_t version = 1) {
  flatbuffers::FlatBufferBuilder b;
  std::vector<flatbuffers::Offset<schema::CompressedSubgraph>> subgraphs;
  for (const auto& list : tensors) {
    std::vector<flatbuffers::Offset<schema::LutTensor>> lut;
    for (const std::int32_t tensor : list) lut.push_back(schema::CreateLutTensor(b, tensor, 3, 2));
    subgraphs.push_back(schema::CreateCompressedSubgraph(b, b.CreateVector(lut)));
  }
  b.Finish(schema::CreateCompressionMetadata(b, version, b.CreateVector(subgraphs)));
  return {b.GetBufferPointer(), b.GetBufferPointer() + b.GetSize()};
}

// in -> 0 (weights 1) -> 2 -> 1 (weights 3) -> out; buffers 1 and 2 contain weights, 3 the entry.
test::TestModel TwoLayers(std::vector<std::uint8_t> entry) {
  test::TestSubgraph graph;
  graph.tensors = {{"in"}, {"packed"}, {"middle"}, {"plain"}, {"out"}};
  graph.tensors[1].buffer = 1;
  graph.tensors[3].buffer = 2;
  graph.ops = {{Code::FULLY_CONNECTED, {0, 1, -1}, {2}}, {Code::FULLY_CONNECTED, {2, 3, -1}, {4}}};
  graph.inputs = {0};
  graph.outputs = {4};
  test::TestModel model{{graph}};
  model.buffers = {{}, {{0x1b}}, {{1, 2, 3, 4}}, {std::move(entry)}};
  model.metadata = {{kCompressionKey, 3}};
  return model;
}

SourceModel Loaded(const test::TestModel& model) {
  auto loaded = test::LoadModel(model.Build());
  EXPECT_TRUE(loaded) << loaded.error().ToString();
  return std::move(*loaded);
}

const graph::Tensor& TensorOf(const SourceModel& model, std::int32_t id) {
  return model.graph.subgraphs[graph::SubgraphId(0)].tensors[graph::TensorId(id)];
}

TEST(CompressionTest, TensorsOfTheEntryAndNoOthersAreCompressed) {
  const SourceModel model = Loaded(TwoLayers(EntryOf({{1}})));
  EXPECT_TRUE(TensorOf(model, 1).compressed);
  EXPECT_TRUE(TensorOf(model, 1).constant);
  EXPECT_FALSE(TensorOf(model, 1).data);
  EXPECT_FALSE(TensorOf(model, 3).compressed);
  EXPECT_TRUE(TensorOf(model, 3).data);
  EXPECT_THAT(model.notes, Contains(HasSubstr("1 constant is compressed")));
}

TEST(CompressionTest, IndicesAreNoValuesEvenWhereTheyAreAsManyBytes) {
  test::TestModel model = TwoLayers(EntryOf({{1}}));
  model.buffers[1].data = {1, 2, 3, 4};
  EXPECT_FALSE(TensorOf(Loaded(model), 1).data);
}

TEST(CompressionTest, AModelWithoutTheEntryHasNone) {
  test::TestModel model = TwoLayers(EntryOf({{1}}));
  model.metadata.clear();
  EXPECT_FALSE(TensorOf(Loaded(model), 1).compressed);
}

// TFLM takes every entry whose name begins so.
TEST(CompressionTest, EntriesAddUp) {
  test::TestModel model = TwoLayers(EntryOf({{1}}));
  model.buffers.push_back({EntryOf({{3}})});
  model.metadata.push_back({std::string(kCompressionKey) + "2", 4});
  const SourceModel loaded = Loaded(model);
  EXPECT_TRUE(TensorOf(loaded, 1).compressed);
  EXPECT_TRUE(TensorOf(loaded, 3).compressed);
}

TEST(CompressionTest, AnEntryThatCannotBeReadMayBeAboutEveryConstant) {
  auto cut = EntryOf({{1}});
  cut.resize(cut.size() / 2);
  for (const auto& entry : {cut, EntryOf({{1}}, 2), std::vector<std::uint8_t>{}}) {
    const SourceModel model = Loaded(TwoLayers(entry));
    EXPECT_TRUE(TensorOf(model, 1).compressed);
    EXPECT_TRUE(TensorOf(model, 3).compressed);
    EXPECT_FALSE(TensorOf(model, 0).compressed) << "no constant";
    EXPECT_THAT(model.notes,
                Contains(AllOf(HasSubstr(kCompressionKey), HasSubstr("cannot be read"))));
  }
}

// No index into the model is trusted, and the entry may start at any address.
TEST(CompressionTest, DamagedEntriesAreReadOrRefused) {
  const auto entry = EntryOf({{1, -7, 1 << 30}, {0}, {}});
  for (std::size_t at = 0; at < entry.size(); ++at) {
    for (const int change : {1, 0x80, 0xff}) {
      auto damaged = entry;
      damaged[at] = static_cast<std::uint8_t>(damaged[at] ^ change);
      Loaded(TwoLayers(damaged));
    }
  }
}

TEST(CompressionTest, OperatorsOfACompressedModelAreReorderedButNotReplaced) {
  const SourceModel model = Loaded(TwoLayers(EntryOf({{1}})));
  const auto edited = WriteEdited(model, model.graph, {});
  ASSERT_FALSE(edited);
  EXPECT_EQ(edited.error().code, ErrorCode::kBadInput);
  EXPECT_THAT(edited.error().message, HasSubstr("compressed"));
  IdVector<graph::SubgraphId, std::vector<graph::OpId>> order;
  order.push_back({graph::OpId(0), graph::OpId(1)});
  EXPECT_TRUE(WriteReordered(model, order));
}

}  // namespace
}  // namespace neap::formats::tflite
