// SPDX-License-Identifier: Apache-2.0
//
// Public .tflite files, where there are any: folder models/ of NEAP_SHARED.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <vector>

#include "neap/base/random.h"
#include "neap/formats/tflite/test_model.h"
#include "neap/io/file.h"
#include "neap/ops/state.h"

namespace neap::formats::tflite {
namespace {

namespace fs = std::filesystem;
using graph::OpId;
using graph::SubgraphId;
using Orders = IdVector<SubgraphId, std::vector<OpId>>;

std::vector<std::string> ModelFiles() {
  const char* shared = std::getenv("NEAP_SHARED");
  const char* source = std::getenv("NEAP_SOURCE_DIR");
  const fs::path folder =
      (shared != nullptr ? fs::path(shared)
                         : fs::path(source == nullptr ? "." : source) / "../shared") /
      "models";
  std::vector<std::string> files;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    if (at->path().extension() == ".tflite") files.push_back(at->path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

bool IsBad(const std::string& file) { return file.find("/bad/") != std::string::npos; }

// Of the operators that are ready, always the last of the file; `edges` are due as well.
std::vector<OpId> LatestFirst(const graph::Subgraph& subgraph,
                              std::vector<graph::ControlEdge> edges) {
  const auto producer = graph::Producers(subgraph);
  edges.insert(edges.end(), subgraph.control_edges.begin(), subgraph.control_edges.end());
  for (const OpId id : subgraph.ops.Ids()) {
    for (const graph::TensorId input : subgraph.ops[id].inputs) {
      if (input.valid() && producer[input].valid()) edges.push_back({producer[input], id});
    }
  }
  IdVector<OpId, std::vector<OpId>> next(subgraph.ops.size());
  IdVector<OpId, int> missing(subgraph.ops.size());
  for (const auto& edge : edges) {
    next[edge.before].push_back(edge.after);
    ++missing[edge.after];
  }
  std::set<OpId> ready;
  for (const OpId id : subgraph.ops.Ids()) {
    if (missing[id] == 0) ready.insert(id);
  }
  std::vector<OpId> order;
  while (!ready.empty()) {
    const OpId id = *ready.rbegin();
    ready.erase(id);
    order.push_back(id);
    for (const OpId other : next[id]) {
      if (--missing[other] == 0) ready.insert(other);
    }
  }
  return order;
}

TEST(PublicTflite, ReadsAndWritesThemAll) {
  const auto files = ModelFiles();
  if (files.empty()) GTEST_SKIP() << "no folder shared/models";
  // For looking at the written files with a runtime.
  const char* keep = std::getenv("NEAP_KEEP_REORDERED");
  int read = 0;
  int refused = 0;
  int moved = 0;
  for (const std::string& file : files) {
    const auto model = Load(file, {});
    if (!model) {
      ++refused;
      std::printf("  %s\n", model.error().ToString().c_str());
      EXPECT_TRUE(IsBad(file) || file.find("add_shared_tensors") != std::string::npos) << file;
      EXPECT_EQ(model.error().file, file);
      continue;
    }
    ++read;
    for (const auto& note : model->notes) {
      std::printf("  %s: note: %s\n", fs::path(file).filename().c_str(), note.c_str());
    }
    Orders same;
    Orders latest;
    const ops::StateTrace states(model->graph);
    for (const auto s : model->graph.subgraphs.Ids()) {
      const auto& subgraph = model->graph.subgraphs[s];
      same.push_back({});
      for (const OpId id : subgraph.ops.Ids()) same.back().push_back(id);
      latest.push_back(LatestFirst(subgraph, states.EdgesOf(subgraph, s)));
    }
    EXPECT_EQ(WriteReordered(*model, same).value(), *model->bytes) << file;
    const auto written = WriteReordered(*model, latest);
    ASSERT_TRUE(written) << written.error().ToString();
    EXPECT_EQ(written->size(), model->bytes->size());
    const auto again = test::LoadModel(*written);
    ASSERT_TRUE(again) << file << again.error().ToString();
    for (const SubgraphId s : latest.Ids()) {
      for (std::size_t k = 0; k < latest[s].size(); ++k) {
        EXPECT_EQ(again->graph.subgraphs[s].ops[OpId(k)].outputs,
                  model->graph.subgraphs[s].ops[latest[s][k]].outputs);
      }
    }
    if (*written == *model->bytes) continue;
    ++moved;
    if (keep == nullptr) continue;
    std::string name = fs::path(file).parent_path().filename().string() + "__" +
                       fs::path(file).filename().string();
    EXPECT_TRUE(io::WriteFile((fs::path(keep) / name).string(), *written, true));
  }
  std::printf("%zu files: %d read, %d refused, %d could be reordered\n", files.size(), read,
              refused, moved);
  EXPECT_GT(moved, 0);
}

TEST(PublicTflite, SurvivesTruncation) {
  Random random(3);
  int tried = 0;
  for (const std::string& file : ModelFiles()) {
    const std::string name = fs::path(file).filename().string();
    if (name != "vww_96_int8.tflite" && name != "mww_v2_vad.tflite" &&
        name != "nested_while.tflite") {
      continue;
    }
    const auto bytes = io::ReadFile(file);
    ASSERT_TRUE(bytes);
    int read = 0;
    for (int i = 0; i < 200; ++i) {
      const auto length = static_cast<std::ptrdiff_t>(random.Below((*bytes)->size()));
      if (test::LoadModel({(*bytes)->begin(), (*bytes)->begin() + length})) ++read;
    }
    std::printf("%s: %d of 200 truncations read\n", name.c_str(), read);
    EXPECT_LT(read, 200);
    ++tried;
  }
  if (tried == 0) GTEST_SKIP() << "no folder shared/models";
}

}  // namespace
}  // namespace neap::formats::tflite
