// SPDX-License-Identifier: Apache-2.0
#include "neap/io/file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

namespace neap::io {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class FileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "neap-io-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  static std::string Text(const std::string& path) {
    const auto bytes = ReadFile(path);
    if (!bytes) return bytes.error().ToString();
    return {reinterpret_cast<const char*>((*bytes)->data()), (*bytes)->size()};
  }
  // The files of the folder, including temporary ones.
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  fs::path folder_;
};

TEST_F(FileTest, WritesAndReadsBack) {
  std::string text(1'000'000, 'x');
  text[500'000] = '\0';
  ASSERT_TRUE(WriteFile(Path("a"), text, false));
  EXPECT_EQ(Text(Path("a")), text);
  ASSERT_TRUE(WriteFile(Path("empty"), "", false));
  EXPECT_EQ(Text(Path("empty")), "");
  EXPECT_EQ(Names(), (std::vector<std::string>{"a", "empty"}));
}

TEST_F(FileTest, LeavesAnExistingFileAloneUnlessForced) {
  ASSERT_TRUE(WriteFile(Path("a"), "old", false));
  const auto refused = WriteFile(Path("a"), "new", false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kIo);
  EXPECT_THAT(refused.error().ToString(), HasSubstr("use another name or allow overwriting"));
  EXPECT_EQ(Text(Path("a")), "old");
  ASSERT_TRUE(WriteFile(Path("a"), "new", true));
  EXPECT_EQ(Text(Path("a")), "new");
  EXPECT_EQ(Names(), std::vector<std::string>{"a"});
}

TEST_F(FileTest, GivesTheRightsOfAnOrdinaryFile) {
  const mode_t old_mask = ::umask(027);
  ASSERT_TRUE(WriteFile(Path("a"), "x", false));
  ::umask(old_mask);
  struct stat status = {};
  ASSERT_EQ(::stat(Path("a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0640U);
}

TEST_F(FileTest, ReplacesTheFileBehindALinkAndNotTheLink) {
  ASSERT_TRUE(WriteFile(Path("a"), "old", false));
  fs::create_symlink(Path("a"), Path("link"));
  EXPECT_FALSE(WriteFile(Path("link"), "new", false));
  ASSERT_TRUE(WriteFile(Path("link"), "new", true));
  EXPECT_TRUE(fs::is_symlink(Path("link")));
  EXPECT_EQ(Text(Path("a")), "new");
}

TEST_F(FileTest, NamesWhatIsMissing) {
  EXPECT_THAT(Text(Path("none")), HasSubstr("cannot be opened: No such file"));
  EXPECT_THAT(Text(Path("none")), HasSubstr(Path("none")));
  EXPECT_THAT(Text(folder_.string()), HasSubstr("is a folder"));
  EXPECT_THAT(WriteFile(Path("no/such/a"), "x", false).error().ToString(),
              HasSubstr("there is no folder"));
  EXPECT_THAT(WriteFile(folder_.string(), "x", true).error().ToString(), HasSubstr("is a folder"));
  EXPECT_TRUE(Names().empty());
}

TEST_F(FileTest, TakesBackTheTemporaryWhenTheMoveFails) {
  // A name too long for the file system fails only at the rename.
  EXPECT_FALSE(WriteFile(Path(std::string(300, 'n')), "x", false));
  EXPECT_TRUE(Names().empty());
}

TEST_F(FileTest, ReadsAPipeToItsEnd) {
  ASSERT_EQ(::mkfifo(Path("pipe").c_str(), 0600), 0);
  const std::string text(300'000, 'p');
  std::thread writer([&] { EXPECT_TRUE(WriteFile(Path("pipe"), text, false)); });
  EXPECT_EQ(Text(Path("pipe")), text);
  writer.join();
  EXPECT_EQ(Names(), std::vector<std::string>{"pipe"});
}

TEST_F(FileTest, WritesToADevice) {
  EXPECT_TRUE(WriteFile("/dev/null", "x", true));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(FileTest, RefusesWhatIsTooLarge) {
  ASSERT_TRUE(WriteFile(Path("a"), "", false));
  std::error_code error;
  fs::resize_file(Path("a"), static_cast<std::uintmax_t>(kMaxFileBytes) + 1, error);
  if (error) GTEST_SKIP() << "no sparse files here";
  EXPECT_THAT(Text(Path("a")), HasSubstr("is too large"));
}

TEST_F(FileTest, AsksAboutTheHeadBeforeTheRest) {
  ASSERT_TRUE(WriteFile(Path("a"), std::string(5000, 'a'), false));
  std::size_t seen = 0;
  std::int64_t reported = 0;
  const auto refuse = [&](std::span<const std::byte> head, std::int64_t file_bytes) -> Status {
    seen = head.size();
    reported = file_bytes;
    return Fail(BadInput("no"));
  };
  const auto refused = ReadFile(Path("a"), refuse);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "no");
  EXPECT_EQ(seen, 4096U);
  EXPECT_EQ(reported, 5000);
  const auto accepted = ReadFile(Path("a"), [](auto, auto) { return Status{}; });
  ASSERT_TRUE(accepted);
  EXPECT_EQ((*accepted)->size(), 5000U);
}

TEST(Sha256, MatchesPublishedVectors) {
  // FIPS 180-2, appendix B.
  EXPECT_EQ(Sha256({}), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  const std::string abc = "abc";
  EXPECT_EQ(Sha256(std::as_bytes(std::span(abc))),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace neap::io
