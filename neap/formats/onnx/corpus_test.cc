// SPDX-License-Identifier: Apache-2.0
//
// Real models of the shared collection, where there is one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "neap/base/random.h"
#include "neap/formats/onnx/onnx.h"

namespace neap::formats {
namespace {

namespace fs = std::filesystem;

std::optional<fs::path> SharedFolder() {
  fs::path folder;
  if (const char* shared = std::getenv("NEAP_SHARED")) {
    folder = shared;
  } else if (const char* source = std::getenv("NEAP_SOURCE_DIR")) {
    folder = fs::path(source) / ".." / "shared";
  }
  return !folder.empty() && fs::is_directory(folder / "models") ? std::optional(folder)
                                                                : std::nullopt;
}

std::vector<fs::path> OnnxFiles(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".onnx") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::shared_ptr<const std::vector<std::byte>> Slurp(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  auto bytes = std::make_shared<std::vector<std::byte>>(text.size());
  if (!text.empty()) std::memcpy(bytes->data(), text.data(), text.size());
  return bytes;
}

Result<graph::Graph> ReadAndVerify(std::shared_ptr<const std::vector<std::byte>> bytes,
                                   const fs::path& path) {
  std::vector<std::string> notes;
  auto graph = onnx::Read(std::move(bytes), path, {}, &notes);
  if (graph) {
    if (const Status status = graph::Verify(*graph); !status) return Fail(status.error());
  }
  return graph;
}

bool IsBad(const fs::path& path) { return path.parent_path().filename() == "bad"; }

TEST(OnnxCorpus, ReadsEveryModelAndKeepsItsBytes) {
  const auto shared = SharedFolder();
  if (!shared) GTEST_SKIP() << "no shared models: set NEAP_SHARED";
  std::vector<fs::path> files = OnnxFiles(*shared / "models");
  for (const fs::path& path : OnnxFiles(*shared / "graphs")) files.push_back(path);
  ASSERT_FALSE(files.empty());
  for (const fs::path& path : files) {
    SourceModel model;
    model.path = path;
    model.bytes = Slurp(path);
    auto graph = ReadAndVerify(model.bytes, path);
    if (!graph) {
      EXPECT_TRUE(IsBad(path)) << graph.error().ToString();
      EXPECT_EQ(graph.error().ToString().find('\n'), std::string::npos);
      continue;
    }
    model.graph = std::move(*graph);
    IdVector<graph::SubgraphId, std::vector<graph::OpId>> order(model.graph.subgraphs.size());
    for (const graph::SubgraphId id : model.graph.subgraphs.Ids()) {
      for (const graph::OpId op : model.graph.subgraphs[id].ops.Ids()) order[id].push_back(op);
    }
    const auto written = onnx::WriteReordered(model, order);
    ASSERT_TRUE(written.has_value()) << written.error().ToString();
    if (!IsBad(path)) {
      EXPECT_TRUE(*written == *model.bytes) << path;
    }
  }
}

// The networks without weights declare every size; the declaration counts.
TEST(OnnxCorpus, GraphsAreSized) {
  const auto shared = SharedFolder();
  if (!shared) GTEST_SKIP() << "no shared graphs: set NEAP_SHARED";
  for (const fs::path& path : OnnxFiles(*shared / "graphs")) {
    const auto graph = ReadAndVerify(Slurp(path), path);
    ASSERT_TRUE(graph.has_value()) << graph.error().ToString();
    for (const graph::Tensor& tensor : graph->subgraphs[graph::SubgraphId(0)].tensors) {
      EXPECT_TRUE(graph::TensorBytes(tensor).has_value()) << path << " " << tensor.name;
    }
  }
}

TEST(OnnxCorpus, SurvivesTruncation) {
  const auto shared = SharedFolder();
  if (!shared) GTEST_SKIP() << "no shared models: set NEAP_SHARED";
  Random random(7);
  for (const char* name :
       {"models/NVIDIA+TensorRT/polygraphy_loop.onnx", "models/sonos+tract/qlstm.onnx",
        "models/microsoft+Windows-Machine-Learning/mnist.onnx"}) {
    const fs::path path = *shared / name;
    const auto whole = Slurp(path);
    ASSERT_FALSE(whole->empty()) << path;
    for (int i = 0; i < 200; ++i) {
      const auto size = static_cast<std::ptrdiff_t>(random.Below(whole->size()));
      const auto part =
          std::make_shared<const std::vector<std::byte>>(whole->begin(), whole->begin() + size);
      const auto graph = ReadAndVerify(part, path);
      if (!graph) {
        EXPECT_FALSE(graph.error().ToString().empty());
      }
    }
  }
}

}  // namespace
}  // namespace neap::formats
