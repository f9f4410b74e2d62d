// SPDX-License-Identifier: Apache-2.0
//
// Messages are written here byte by byte: a tag is the number of the field times 8, plus its type
// (0 a number, 1 eight bytes, 2 a length and bytes, 3 and 4 a group, 5 four bytes).
#include "neap/formats/onnx/wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace neap::formats::onnx {
namespace {

using namespace std::string_literals;
using testing::ElementsAre;
using testing::HasSubstr;

std::string Varint(std::uint64_t value) {
  std::string text;
  for (; value >= 128; value >>= 7U) text += static_cast<char>((value & 127U) | 128U);
  return text + static_cast<char>(value);
}
std::string Number(int field, std::uint64_t value) {
  return Varint(static_cast<std::uint64_t>(field) << 3U) + Varint(value);
}
std::string Bytes(int field, const std::string& bytes) {
  return Varint((static_cast<std::uint64_t>(field) << 3U) | 2U) + Varint(bytes.size()) + bytes;
}
// A model with one node of one attribute, or with one initializer.
std::string WithAttribute(const std::string& attribute) {
  return Bytes(7, Bytes(1, Bytes(5, attribute)));
}
std::string WithTensor(const std::string& tensor) { return Bytes(7, Bytes(5, tensor)); }

struct Parsed {
  explicit Parsed(std::string text, std::int64_t max_bytes = kMaxMessageBytes)
      : bytes(std::move(text)), good(ParseMessage(bytes, &model, &error, max_bytes)) {}
  const pb::AttributeProto& attribute() const { return model.graph->node.at(0).attribute.at(0); }
  const pb::TensorProto& tensor() const { return model.graph->initializer.at(0); }
  std::string Written() const {
    const std::vector<std::byte> out = WireWriter(model).Write();
    return {reinterpret_cast<const char*>(out.data()), out.size()};
  }

  std::string bytes;
  pb::ModelProto model;
  WireError error;
  bool good;
};

TEST(OnnxWire, NumbersAreReadInBothForms) {
  const std::string run = Varint(1) + Varint(300);
  // int64_data of a tensor is written as a run, ints of an attribute one by one.
  const Parsed tensor(WithTensor(Bytes(7, run) + Number(7, 5)));
  ASSERT_TRUE(tensor.good) << tensor.error.reason;
  EXPECT_THAT(tensor.tensor().int64_data.values, ElementsAre(1, 300, 5));
  EXPECT_EQ(tensor.Written(), WithTensor(Bytes(7, run + Varint(5))));
  const Parsed attribute(WithAttribute(Bytes(8, run) + Number(8, 5)));
  ASSERT_TRUE(attribute.good) << attribute.error.reason;
  EXPECT_THAT(attribute.attribute().ints, ElementsAre(1, 300, 5));
  EXPECT_EQ(attribute.Written(), WithAttribute(Number(8, 1) + Number(8, 300) + Number(8, 5)));
  const std::string one("\0\0\x80\x3f", 4);
  const Parsed floats(WithAttribute(Bytes(7, one + one) + "\x3d"s + one));
  ASSERT_TRUE(floats.good) << floats.error.reason;
  EXPECT_THAT(floats.attribute().floats, ElementsAre(1, 1, 1));
  EXPECT_EQ(floats.Written(), WithAttribute("\x3d"s + one + "\x3d" + one + "\x3d" + one));
}

TEST(OnnxWire, NegativeNumbersHaveTenBytes) {
  const Parsed parsed(
      WithTensor(Number(2, ~std::uint64_t{0}) + Bytes(5, Varint(~std::uint64_t{1}))));
  ASSERT_TRUE(parsed.good) << parsed.error.reason;
  EXPECT_EQ(parsed.tensor().data_type, -1);
  EXPECT_THAT(parsed.tensor().int32_data.values, ElementsAre(-2));
  EXPECT_EQ(parsed.Written(), parsed.bytes);
}

TEST(OnnxWire, PresentAndEmptyDiffersFromAbsent) {
  const Parsed parsed(WithAttribute(Bytes(1, "") + Number(3, 0) + Bytes(4, "") + Bytes(5, "")));
  ASSERT_TRUE(parsed.good) << parsed.error.reason;
  EXPECT_TRUE(parsed.attribute().s.present() && parsed.attribute().s.empty());
  EXPECT_FALSE(parsed.attribute().doc_string.present());
  EXPECT_EQ(parsed.Written(), parsed.bytes);
}

// A later number or string replaces, a later message adds its fields.
TEST(OnnxWire, RepeatedSingleFields) {
  const Parsed parsed(WithAttribute(Bytes(1, "a") + Bytes(1, "b") + Bytes(5, Bytes(8, "t")) +
                                    Bytes(5, Number(2, 1)) + Bytes(14, Number(1, 1)) +
                                    Bytes(14, Bytes(6, "x"))));
  ASSERT_TRUE(parsed.good) << parsed.error.reason;
  EXPECT_EQ(parsed.Written(), WithAttribute(Bytes(1, "b") + Bytes(5, Number(2, 1) + Bytes(8, "t")) +
                                            Bytes(14, Number(1, 1) + Bytes(6, "x"))));
}

TEST(OnnxWire, OfAlternativesTheLastCounts) {
  const auto with_type = [](const std::string& type) {
    return Bytes(7, Bytes(11, Bytes(1, "x") + Bytes(2, type)));
  };
  const auto with_dim = [&](const std::string& dim) {
    return with_type(Bytes(1, Bytes(2, Bytes(1, dim))));
  };
  const std::string tensor = Bytes(1, Number(1, 1));
  EXPECT_EQ(Parsed(with_type(tensor + Bytes(4, "") + Bytes(6, "d"))).Written(),
            with_type(Bytes(4, "") + Bytes(6, "d")));
  EXPECT_EQ(Parsed(with_type(Bytes(4, "") + Bytes(9, "") + tensor)).Written(), with_type(tensor));
  EXPECT_EQ(Parsed(with_dim(Number(1, 3) + Bytes(2, "n"))).Written(), with_dim(Bytes(2, "n")));
  EXPECT_EQ(Parsed(with_dim(Bytes(2, "n") + Bytes(3, "d") + Number(1, 3))).Written(),
            with_dim(Number(1, 3) + Bytes(3, "d")));
}

TEST(OnnxWire, UnknownFieldsOfAnyTypeAreKept) {
  const std::string group = "\xbb\x06"s + Number(1, 7) + "\x13" + Bytes(2, "in") + "\x14\xbc\x06";
  const std::string unknown =
      Number(90, 5) + "\xd9\x05" + "eight..." + "\xe5\x05" + "four" + Bytes(94, "bytes") + group;
  const std::string wrong_type =
      "\x09"
      "12345678"s;  // field 1, a string
  const Parsed parsed(WithAttribute(wrong_type + Bytes(1, "name") + unknown) + unknown);
  ASSERT_TRUE(parsed.good) << parsed.error.reason;
  EXPECT_EQ(parsed.Written(), WithAttribute(Bytes(1, "name") + wrong_type + unknown) + unknown);
}

TEST(OnnxWire, DamageIsRefusedWithItsPlace) {
  const auto reason = [](const std::string& bytes) {
    const Parsed parsed(bytes);
    EXPECT_FALSE(parsed.good);
    EXPECT_LE(parsed.error.at, bytes.size());
    return std::to_string(parsed.error.at) + " " + parsed.error.reason;
  };
  EXPECT_EQ(reason("\x3a\x05zzz"), "2 a field is longer than the message that contains it");
  EXPECT_EQ(reason(Bytes(7, "\x0a\x05zzz")),
            "4 a field is longer than the message that contains it");
  EXPECT_EQ(reason("\x08"), "1 a number has no end");
  EXPECT_EQ(reason("\x08" + std::string(10, '\xff') + "\x01"),
            "11 a number is longer than 10 bytes");
  EXPECT_EQ(reason(std::string(6, '\xff')), "5 a number is longer than 5 bytes");
  EXPECT_EQ(reason("\x00\x00"s), "1 a field has no valid number");
  EXPECT_EQ(reason("\x0e"), "1 a field has a type that does not exist");
  EXPECT_EQ(reason("\x0c"), "1 a group ends without a start");
  EXPECT_EQ(reason("\xbb\x06\xc4\x06"), "4 a group ends without a start");
  EXPECT_EQ(reason("\xbb\x06"), "2 a number has no end");
  EXPECT_EQ(reason(WithTensor(Bytes(4, "12345"))), "11 a run of numbers ends within one");
  EXPECT_EQ(reason(WithTensor(Bytes(7, "\x80"))), "7 a number has no end");
}

// Neap does not read the types of an attribute (14 and 15), but they have to be messages.
TEST(OnnxWire, UnreadMessagesAreWhole) {
  const Parsed whole(WithAttribute(Bytes(15, Number(1, 1) + Bytes(6, "x")) + Bytes(15, "")));
  ASSERT_TRUE(whole.good) << whole.error.reason;
  EXPECT_EQ(whole.Written(), whole.bytes);
  for (const std::string& cut : {"mode"s, "\x0a\x05zzz"s, "\x08"s, "\xbb\x06"s}) {
    EXPECT_FALSE(Parsed(WithAttribute(Bytes(15, cut))).good) << cut;
    EXPECT_FALSE(Parsed(WithAttribute(Bytes(14, cut))).good) << cut;
  }
}

TEST(OnnxWire, DepthIsLimited) {
  std::string graph;
  for (int i = 0; i < 40; ++i) graph = Bytes(1, Bytes(5, Bytes(6, graph)));
  EXPECT_THAT(Parsed(Bytes(7, graph)).error.reason, HasSubstr("nested more than 100 deep"));
  // Start tags of a group, each inside of the last one.
  std::string groups;
  for (int i = 0; i < 100000; ++i) groups += "\xbb\x06";
  EXPECT_THAT(Parsed(groups).error.reason, HasSubstr("nested more than 100 deep"));
}

// Two bytes of a file are an operator.
TEST(OnnxWire, MemoryIsLimited) {
  std::string nodes;
  for (int i = 0; i < 10000; ++i) nodes += Bytes(1, "");
  constexpr std::int64_t kEnough = std::int64_t{10000} * sizeof(pb::NodeProto) + 4096;
  EXPECT_TRUE(Parsed(Bytes(7, nodes), kEnough).good);
  EXPECT_THAT(Parsed(Bytes(7, nodes), kEnough / 2).error.reason, HasSubstr("more fields than fit"));
  // Numbers of one byte, which take eight; in both forms.
  EXPECT_FALSE(Parsed(WithTensor(Bytes(7, std::string(100000, '\1'))), 500000).good);
  EXPECT_TRUE(Parsed(WithTensor(Bytes(7, std::string(100000, '\1'))), 1000000).good);
  std::string ones;
  for (int i = 0; i < 100000; ++i) ones += Number(7, 1);
  EXPECT_FALSE(Parsed(WithTensor(ones), 500000).good);
  // Weights of any size are fine: they stay where they are.
  EXPECT_TRUE(Parsed(WithTensor(Bytes(9, std::string(1000000, 'w'))), 4096).good);
}

TEST(OnnxWire, CopiesOutliveTheFile) {
  pb::AttributeProto copy;
  {
    Parsed parsed(WithAttribute(Bytes(1, "name") + Bytes(5, Bytes(8, "t"))));
    parsed.model.graph->node[0].attribute[0].name = "other";
    copy = parsed.attribute();
    EXPECT_EQ(parsed.Written(), WithAttribute(Bytes(1, "other") + Bytes(5, Bytes(8, "t"))));
    copy.t->name = "u";
    EXPECT_EQ(parsed.attribute().t->name, "t");
  }
  EXPECT_EQ(copy.name, "other");
  EXPECT_EQ(copy.t->name, "u");
}

}  // namespace
}  // namespace neap::formats::onnx
