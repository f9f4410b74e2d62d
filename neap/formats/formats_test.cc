// SPDX-License-Identifier: Apache-2.0
#include "neap/formats/formats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "neap/io/gzip.h"

namespace neap::formats {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kGraph =
    R"( {"tensors":[{"bytes":4}],"inputs":[0],"outputs":[0],"ops":[]})";

Result<Format> Recognise(std::string_view text, std::string_view path) {
  return RecogniseFormat(std::as_bytes(std::span(text)), path);
}
Result<SourceModel> LoadText(std::string_view text, const std::string& path,
                             const LoadOptions& options = {}) {
  const auto bytes = std::as_bytes(std::span(text));
  return LoadBytes(std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end()), path,
                   options);
}

TEST(Formats, RecognisesByContentThenByExtension) {
  const std::string tflite("\x1c\0\0\0TFL3", 8);
  EXPECT_EQ(Recognise(tflite, "-"), Format::kTflite);
  EXPECT_EQ(Recognise(tflite, "a.onnx"), Format::kTflite);
  EXPECT_EQ(Recognise("\n\t {", "-"), Format::kGraphJson);
  EXPECT_EQ(Recognise("\xEF\xBB\xBF{", "-"), Format::kGraphJson);
  EXPECT_EQ(Recognise("anything", "dir.v2/a.TFLITE"), Format::kTflite);
  EXPECT_EQ(Recognise("anything", "a.onnx"), Format::kOnnx);
  EXPECT_EQ(Recognise("anything", "a.json"), Format::kGraphJson);
  EXPECT_EQ(Recognise("\x08\x07\x12\x04test", "-"), Format::kOnnx);
  EXPECT_FALSE(Recognise("anything", "-"));
  EXPECT_FALSE(Recognise("anything", "dir.onnx/a"));
}

TEST(Formats, ReportsWhatIsNoModel) {
  EXPECT_THAT(Recognise("", "a.onnx").error().ToString(), HasSubstr("a.onnx: is empty"));
  EXPECT_THAT(
      Recognise("version https://git-lfs.github.com/spec/v1\noid", "a.tflite").error().ToString(),
      HasSubstr("git-lfs pointer"));
  EXPECT_THAT(Recognise("\x7f"
                        "ELF",
                        "a.out")
                  .error()
                  .ToString(),
              HasSubstr("expected .tflite, .onnx or graph JSON"));
}

TEST(Formats, LoadsWithHashAndPath) {
  const auto model = LoadText(kGraph, "g.json");
  ASSERT_TRUE(model) << model.error().ToString();
  EXPECT_EQ(model->format, Format::kGraphJson);
  EXPECT_EQ(model->path, "g.json");
  EXPECT_EQ(model->bytes->size(), kGraph.size());
  EXPECT_EQ(model->sha256, "34a4cd468448aedf9f1ceaface13fb5b7fff0e1ec5ce26b03a5094771de2a20b");
}

std::shared_ptr<const std::vector<std::byte>> Compressed(std::string_view text) {
  auto packed = io::CompressGzip(std::as_bytes(std::span(text)));
  EXPECT_TRUE(packed);
  return std::make_shared<const std::vector<std::byte>>(std::move(*packed));
}

TEST(Formats, ReadsCompressedGraphJson) {
  const auto packed = Compressed(kGraph);
  const auto model = LoadBytes(packed, "g.json.gz", {});
  ASSERT_TRUE(model) << model.error().ToString();
  EXPECT_EQ(model->format, Format::kGraphJson);
  EXPECT_EQ(model->bytes->size(), kGraph.size());
  EXPECT_EQ(model->sha256, LoadText(kGraph, "g.json")->sha256);
  auto cut = *packed;
  cut.resize(cut.size() / 2);
  const auto half = LoadBytes(std::make_shared<const std::vector<std::byte>>(cut), "g.json.gz", {});
  ASSERT_FALSE(half);
  EXPECT_EQ(half.error().ToString(), "g.json.gz: gzip data ends early");
}

TEST(Formats, CompressedModelsAreTheirContents) {
  // An empty ONNX graph with an operator set.
  const std::string text("\x08\x08\x3a\x00\x42\x02\x10\x11", 8);
  const auto model = LoadBytes(Compressed(text), "a.onnx.gz", {});
  ASSERT_TRUE(model) << model.error().ToString();
  EXPECT_EQ(model->format, Format::kOnnx);
  EXPECT_EQ(model->bytes->size(), text.size());
  EXPECT_EQ(RecogniseFormat({}, "b.onnx.gz").error().message, "is empty");
  EXPECT_THAT(LoadBytes(Compressed("abcdTFL3"), "a.tflite.gz", {}).error().ToString(),
              HasSubstr("a.tflite.gz: "));
}

TEST(Formats, RefusesOtherCompressedFiles) {
  const std::string once(reinterpret_cast<const char*>(Compressed(kGraph)->data()),
                         Compressed(kGraph)->size());
  EXPECT_EQ(LoadBytes(Compressed(once), "a.gz", {}).error().ToString(),
            "a.gz: is compressed with gzip more than once");
  EXPECT_EQ(LoadBytes(Compressed(""), "a.gz", {}).error().ToString(), "a.gz: is empty");
  EXPECT_THAT(LoadBytes(Compressed("nothing"), "a.gz", {}).error().ToString(),
              HasSubstr("a.gz: is in no format that Neap reads"));
}

// A few hundred KiB that expand to more than all memory that reading them may take.
TEST(Formats, RefusesToExpandWithoutBound) {
  const std::string spaces((std::size_t{256} << 20U) + 1, ' ');
  const auto packed = Compressed(spaces);
  EXPECT_LT(packed->size(), std::size_t{1} << 20U);
  const auto model = LoadBytes(packed, "bomb.json.gz", {});
  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().ToString(), HasSubstr("bomb.json.gz: expands to more than"));
  for (const char* head : {"\x08\x08\x3a", "abcdTFL3"}) {
    const auto large = LoadBytes(Compressed(head + spaces), "bomb.gz", {});
    ASSERT_FALSE(large);
    EXPECT_THAT(large.error().ToString(), HasSubstr("bomb.gz: expands to more than"));
  }
}

TEST(Formats, NamesTheFileInEveryError) {
  for (const std::string_view text : {"", "{", "nothing", "\x08\x07\x12\xff\xff\xff\xff\xff"}) {
    const auto model = LoadText(text, "some/file");
    ASSERT_FALSE(model) << text;
    EXPECT_EQ(model.error().file, "some/file") << text;
  }
  EXPECT_THAT(Load("/nonexistent/a.tflite", {}).error().ToString(),
              HasSubstr("/nonexistent/a.tflite: cannot be opened"));
}

// Sparse files of gigabytes: read whole they would take that much memory.
TEST(Formats, RefusesByTheFirstBytesWhatIsNoModel) {
  constexpr std::uintmax_t kBytes = std::uintmax_t{6} << 30;
  const std::filesystem::path folder(::testing::TempDir());
  std::string expected = "identifier TFL3";
  for (const char* name : {"head.tflite", "head.onnx"}) {
    const std::filesystem::path path = folder / name;
    std::ofstream(path) << "nothing";
    std::error_code error;
    std::filesystem::resize_file(path, kBytes, error);
    if (error) GTEST_SKIP() << "no sparse files here";
    const auto model = Load(path.string(), {});
    std::filesystem::remove(path);
    ASSERT_FALSE(model);
    EXPECT_EQ(model.error().file, path.string());
    EXPECT_THAT(model.error().ToString(), HasSubstr(expected));
    expected = "2 GiB";
  }
}

TEST(Formats, RefusesSizesOfSymbolsThatAFormatCannotHave) {
  const auto model = LoadText(kGraph, "g.json", {{{"batch", 1}}});
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, ErrorCode::kUsage);
}

TEST(Formats, DoesNotWriteGraphJson) {
  const auto model = LoadText(kGraph, "g.json");
  ASSERT_TRUE(model);
  const auto written = WriteReordered(*model, {});
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kUsage);
  EXPECT_EQ(written.error().file, "g.json");
}

}  // namespace
}  // namespace neap::formats
