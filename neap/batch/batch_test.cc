// SPDX-License-Identifier: Apache-2.0
#include "neap/batch/batch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "neap/base/random.h"

namespace neap::batch {
namespace {

// Two branches, wide inside and narrow at the end: 110 in the file's order, else 80 (in + wide +
// narrow), with tensors named by `prefix`.
std::string Branches(const std::string& prefix, std::int64_t wide = 50) {
  const auto name = [&](int i) { return "\"" + prefix + std::to_string(i) + "\""; };
  std::string tensors;
  for (const std::int64_t bytes :
       {std::int64_t{20}, wide, wide, std::int64_t{10}, std::int64_t{10}, std::int64_t{5}}) {
    tensors += (tensors.empty() ? "" : ",") + std::string("{\"bytes\":") + std::to_string(bytes);
    tensors +=
        ",\"name\":" + name(static_cast<int>(std::count(tensors.begin(), tensors.end(), '}')));
    tensors += "}";
  }
  const auto op = [&](const std::string& inputs, int output) {
    return "{\"inputs\":[" + inputs + "],\"outputs\":[" + name(output) + "]}";
  };
  return "{\"tensors\":[" + tensors + "],\"inputs\":[0],\"outputs\":[5],\"ops\":[" + op("0", 1) +
         "," + op("0", 2) + "," + op("1", 3) + "," + op("2", 4) + "," + op("3,4", 5) + "]}";
}

std::string Line(const std::string& id, const std::string& graph) {
  return "{\"id\":\"" + id + "\",\"graph\":" + graph + "}\n";
}

TEST(AnswerLine, HasTheNumbers) {
  Options options;
  EXPECT_EQ(AnswerLine(Line("x", Branches("t")), options),
            "{\"id\":\"x\",\"peak_bytes\":80,\"peak_lower_bound_bytes\":80,\"arena_bytes\":80,"
            "\"delivered_arena_bytes\":null,"
            "\"status\":\"optimal\",\"error\":null}\n");
  options.place = false;
  EXPECT_EQ(AnswerLine(Line("x", Branches("t")), options),
            "{\"id\":\"x\",\"peak_bytes\":80,\"peak_lower_bound_bytes\":80,\"arena_bytes\":null,"
            "\"delivered_arena_bytes\":null,"
            "\"status\":\"optimal\",\"error\":null}\n");
  options.runtime = plan::Runtime::kTflm;
  EXPECT_NE(AnswerLine(Line("x", Branches("t")), options).find("\"peak_bytes\":112"),
            std::string::npos);
}

TEST(AnswerLine, ReportsWhatIsWrong) {
  const Options options;
  for (const auto& [line, text] : std::vector<std::pair<std::string, std::string>>{
           {"nonsense", "not a JSON object"},
           {R"({"id":"x","path":"/nonexistent/model.onnx"})", "/nonexistent/model.onnx"},
           {R"({"id":"x","path":"/dev/zero"})", "not a regular file"},
           {R"({"id":"x","path":"/"})", "not a regular file"},
           {R"({"id":"x","path":"-"})", "cannot be opened"},
           {R"({"id":"x","graph":{}})", "graph: has no 'tensors'"},
           {Line("x", Branches("t", 1'000'000'000'000'000'000)), "graph: operator #1"},
           {R"({"id":"x","graph":{"tensors":[}})", "ends too early"},
           {R"({"id":"x","graph":{"tensors":[,]}})", "is not JSON"},
           {"{\"id\":\"x\",\"graph\":{\"a\":" + std::string(100'000, '[') +
                std::string(100'000, ']') + "}}",
            "nested"}}) {
    const std::string answer = AnswerLine(line, options);
    EXPECT_NE(answer.find(text), std::string::npos) << answer;
    EXPECT_NE(
        answer.find("\"peak_bytes\":null,\"peak_lower_bound_bytes\":null,"
                    "\"arena_bytes\":null,\"delivered_arena_bytes\":null,\"status\":\"error\""),
        std::string::npos)
        << answer;
  }
}

class BatchFiles : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "neap-batch-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string PathOf(const std::string& name) const { return folder_ + "/" + name; }

  static void Write(const std::string& path, const std::string& text) {
    std::FILE* file = std::fopen(path.c_str(), "wb");
    std::fwrite(text.data(), 1, text.size(), file);
    std::fclose(file);
  }
  static std::string Read(const std::string& path) {
    std::string text(std::filesystem::file_size(path), '\0');
    std::FILE* file = std::fopen(path.c_str(), "rb");
    EXPECT_EQ(std::fread(text.data(), 1, text.size(), file), text.size());
    std::fclose(file);
    return text;
  }

  // Runs with the manifest that `text` is; answers are in `answers_` then.
  Result<Counts> RunBatch(const std::string& text, Task task, const Observer& observer = {}) {
    Write(PathOf("in"), text);
    const int in = ::open(PathOf("in").c_str(), O_RDONLY);
    const int out = ::open(PathOf("out").c_str(), O_RDWR | O_CREAT, 0600);
    if (!task.resume) {
      EXPECT_EQ(::ftruncate(out, 0), 0);
    }
    task.manifest = in;
    task.answers = out;
    auto counts = batch::Run(task, Options{}, observer);
    ::close(in);
    ::close(out);
    answers_ = Read(PathOf("out"));
    return counts;
  }

  std::string folder_;
  std::string answers_;
};

// Different graphs, repeated ones and broken lines; the last one has no end.
std::string Mixed() {
  Random random(7);
  std::string text;
  for (int i = 0; i < 60; ++i) {
    const auto wide = static_cast<int>(random.Between(30, 60));
    if (i % 9 == 4)
      text += "broken " + std::to_string(i) + "\n";
    else if (i % 13 == 5)
      text += "\n";
    else
      text += Line("g" + std::to_string(i), Branches("t" + std::to_string(i) + "_", wide));
  }
  return text + "last";
}

TEST_F(BatchFiles, GivesTheSameBytesForAnyNumberOfJobs) {
  Task task;
  const auto counts = RunBatch(Mixed(), task);
  ASSERT_TRUE(counts) << counts.error().ToString();
  EXPECT_EQ(counts->answered, 61);
  EXPECT_EQ(counts->errors, 12);
  EXPECT_GT(counts->repeated, 10);
  EXPECT_FALSE(counts->stopped);
  const std::string expected = answers_;
  std::string one_by_one;
  std::string text = Mixed() + "\n";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    one_by_one += AnswerLine(text.substr(at, end - at), Options{});
    at = end + 1;
  }
  EXPECT_EQ(expected, one_by_one);
  for (const int jobs : {2, 5}) {
    task.jobs = jobs;
    ASSERT_TRUE(RunBatch(Mixed(), task));
    EXPECT_EQ(answers_, expected);
  }
}

TEST_F(BatchFiles, ComputesGraphsThatDifferInNamesOnce) {
  std::string text;
  for (int i = 0; i < 10; ++i) text += Line("a", Branches("n" + std::to_string(i)));
  Task task;
  task.jobs = 3;
  const auto counts = RunBatch(text, task);
  ASSERT_TRUE(counts);
  EXPECT_EQ(counts->repeated, 9);
}

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1);
    lines.push_back(text.substr(at, end + 1 - at));
    at = end + 1;
  }
  return lines;
}

TEST_F(BatchFiles, ShardsAreAPartition) {
  Task task;
  ASSERT_TRUE(RunBatch(Mixed(), task));
  const auto whole = LinesOf(answers_);
  std::vector<std::string> woven(whole.size());
  task.shard_count = 3;
  for (task.shard_index = 0; task.shard_index < 3; ++task.shard_index) {
    ASSERT_TRUE(RunBatch(Mixed(), task));
    auto at = static_cast<std::size_t>(task.shard_index);
    for (const std::string& line : LinesOf(answers_)) {
      ASSERT_LT(at, woven.size());
      woven[at] = line;
      at += 3;
    }
  }
  EXPECT_EQ(woven, whole);
}

TEST_F(BatchFiles, ResumesFromEveryByte) {
  Task task;
  std::string text;
  for (int i = 0; i < 3; ++i) text += Line("g" + std::to_string(i), Branches("t", 40 + i));
  text += "broken\n";
  ASSERT_TRUE(RunBatch(text, task));
  const std::string expected = answers_;
  task.resume = true;
  for (std::size_t bytes = 0; bytes <= expected.size(); ++bytes) {
    Write(PathOf("out"), expected.substr(0, bytes));
    const auto counts = RunBatch(text, task);
    ASSERT_TRUE(counts) << counts.error().ToString();
    ASSERT_EQ(answers_, expected) << bytes;
    ASSERT_EQ(counts->kept + counts->answered, 4);
    ASSERT_EQ(counts->errors, 1);
    if (bytes == expected.size()) {
      EXPECT_EQ(counts->kept, 4);
    }
  }
}

TEST_F(BatchFiles, DoesNotResumeSomethingElse) {
  Task task;
  const std::string text = Line("a", Branches("t")) + Line("b", Branches("t"));
  ASSERT_TRUE(RunBatch(text, task));
  const std::string expected = answers_;
  task.resume = true;
  for (const auto& [manifest, answers] : std::vector<std::pair<std::string, std::string>>{
           {Line("b", Branches("t")) + Line("a", Branches("t")), expected},
           {Line("a", Branches("t")), expected},
           {"", expected},
           {text, text},
           {text, "precious notes\n"},
           {text, "{}\n" + expected}}) {
    Write(PathOf("out"), answers);
    EXPECT_FALSE(RunBatch(manifest, task)) << manifest;
    EXPECT_EQ(answers_, answers);
  }
}

TEST_F(BatchFiles, StopsBetweenLines) {
  std::atomic<bool> stop{false};
  Task task;
  task.jobs = 2;
  task.stop = &stop;
  std::string text;
  for (int i = 0; i < 2000; ++i) text += Line("g", Branches("t", 30 + i));
  const auto counts = RunBatch(text, task, [&](const Counts& seen) { stop = seen.answered >= 5; });
  ASSERT_TRUE(counts);
  EXPECT_TRUE(counts->stopped);
  EXPECT_GE(counts->answered, 5);
  EXPECT_LT(counts->answered, 1000);
  EXPECT_EQ(LinesOf(answers_).size(), static_cast<std::size_t>(counts->answered));
}

TEST_F(BatchFiles, AnswersALineThatIsTooLong) {
  Task task;
  const auto counts =
      RunBatch(Line("a", Branches("t")) + "{\"id\":\"" + std::string(kMaxLineBytes, ' ') + "\n" +
                   Line("b", Branches("t")),
               task);
  ASSERT_TRUE(counts);
  EXPECT_EQ(counts->answered, 3);
  EXPECT_EQ(counts->errors, 1);
  EXPECT_NE(answers_.find("longer than 67108864 bytes"), std::string::npos);
}

TEST_F(BatchFiles, FailsWhenAnswersCannotBeWritten) {
  Write(PathOf("in"), Mixed());
  Task task;
  task.manifest = ::open(PathOf("in").c_str(), O_RDONLY);
  task.answers = ::open("/dev/full", O_WRONLY);
  task.answers_name = "full";
  const auto counts = batch::Run(task, Options{}, {});
  ::close(task.manifest);
  ::close(task.answers);
  ASSERT_FALSE(counts);
  EXPECT_EQ(counts.error().file, "full");
}

TEST_F(BatchFiles, FailsWhenTheManifestCannotBeRead) {
  Task task;
  task.manifest = ::open(folder_.c_str(), O_RDONLY);
  task.manifest_name = "folder";
  const auto counts = batch::Run(task, Options{}, {});
  ::close(task.manifest);
  ASSERT_FALSE(counts);
  EXPECT_EQ(counts.error().file, "folder");
}

}  // namespace
}  // namespace neap::batch
