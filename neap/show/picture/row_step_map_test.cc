// SPDX-License-Identifier: Apache-2.0
//
// Compares the footprint of streamed segments with a count pixel by pixel.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "neap/compile/compile.h"
#include "neap/show/picture/picture.h"
#include "neap/transform/stream/entries.h"

namespace neap::picture {
namespace {

using testing::HasSubstr;
using testing::Not;

// Convolutions of 3x3, one after the other, that keep the size.
graph::Graph Convolutions(std::int64_t height, std::int64_t width,
                          const std::vector<std::int64_t>& channels) {
  graph::Graph graph;
  graph.subgraphs.push_back({});
  graph::Subgraph& subgraph = graph.subgraphs.back();
  const auto add = [&](graph::Shape shape, bool constant) {
    graph::Tensor tensor;
    tensor.name = "<b>" + std::to_string(subgraph.tensors.size());
    tensor.type = graph::ElementType::kInt8;
    tensor.shape = std::move(shape);
    tensor.constant = constant;
    return subgraph.tensors.push_back(tensor);
  };
  graph::TensorId last = add({1, height, width, channels[0]}, false);
  subgraph.inputs = {last};
  for (std::size_t i = 1; i < channels.size(); ++i) {
    graph::Op op;
    op.type = "CONV_2D";
    op.domain = "tflite";
    op.inputs = {last, add({channels[i], 3, 3, channels[i - 1]}, true)};
    last = add({1, height, width, channels[i]}, false);
    op.outputs = {last};
    op.attributes = {
        {"padding", std::int64_t{0}}, {"stride_h", std::int64_t{1}}, {"stride_w", std::int64_t{1}}};
    op.source_index = static_cast<std::int32_t>(i - 1);
    subgraph.ops.push_back(op);
  }
  subgraph.outputs = {last};
  return graph;
}

compile::Compiled Streamed(const graph::Graph& graph) {
  compile::Options options;
  options.runtime = plan::Runtime::kNeap;
  auto compiled = stream::CompileStreamed(graph, options, {});
  EXPECT_TRUE(compiled);
  EXPECT_TRUE(compiled->plan.entries.front().stream);
  return std::move(*compiled);
}

// When each pixel of a tensor is written and read last, block by block.
struct Times {
  std::map<std::int64_t, int> written;
  std::map<std::int64_t, int> read;
};

using Bytes = std::map<Holds, std::set<std::int64_t>>;  // addresses

class Counter {
 public:
  Counter(const graph::Graph& graph, const plan::Stream& stream, int segment)
      : subgraph_(graph.subgraphs[graph::SubgraphId(0)]),
        segment_(stream.segments[static_cast<std::size_t>(segment)]),
        columns_(static_cast<int>(segment_.ops[0].columns.size())),
        last_(subgraph_.ops[segment_.ops.back().op].outputs[0]) {
    for (int i = 0; i < static_cast<int>(segment_.ops[0].rows.size()); ++i) {
      for (int j = 0; j < columns_; ++j) {
        for (const plan::StreamOp& step : segment_.ops) Run(step, i, j);
      }
    }
  }

  Bytes At(int row_step, int block) const {
    Bytes bytes;
    const int now = row_step * columns_ + block;
    for (const plan::StreamArea& area : segment_.areas) {
      const graph::Shape& shape = *subgraph_.tensors[area.tensor].shape;
      const Times& times = times_.at(area.tensor);
      for (std::int64_t pixel = 0; pixel < shape[1] * shape[2]; ++pixel) {
        const auto written = times.written.find(pixel);
        const auto read = times.read.find(pixel);
        Holds holds = Holds::kInput;
        if (!times.written.empty()) {
          if (written->second > now) continue;
          holds = written->second == now                        ? Holds::kBlock
                  : written->second / columns_ < now / columns_ ? Holds::kLine
                                                                : Holds::kHalo;
        }
        if (area.tensor == last_) {
          holds = Holds::kOutput;
        } else if (read == times.read.end() || read->second < now) {
          continue;
        }
        const std::int64_t apart = area.columns;
        const std::int64_t count = static_cast<std::int64_t>(area.rings.size()) / apart;
        const std::int64_t y = pixel / shape[2];
        const std::int64_t x = pixel % shape[2];
        const plan::StreamRing& ring =
            area.rings[static_cast<std::size_t>(y % count * apart + x % apart)];
        const std::int64_t per_row = (shape[2] + apart - 1) / apart;
        const std::int64_t place = (y / count * per_row + x / apart) % ring.pixels;
        for (std::int64_t c = 0; c < shape[3]; ++c) {
          bytes[holds].insert(ring.offset + place * shape[3] + c);
        }
      }
    }
    return bytes;
  }

 private:
  void Run(const plan::StreamOp& step, int i, int j) {
    const graph::Op& op = subgraph_.ops[step.op];
    const graph::Shape& shape = *subgraph_.tensors[op.outputs[0]].shape;
    const plan::StreamRange rows = step.rows[static_cast<std::size_t>(i)];
    const plan::StreamRange columns = step.columns[static_cast<std::size_t>(j)];
    for (std::int64_t y = rows.first; y < rows.last; ++y) {
      for (std::int64_t x = columns.first; x < columns.last; ++x) {
        times_[op.outputs[0]].written[y * shape[2] + x] = i * columns_ + j;
        for (std::int64_t v = std::max<std::int64_t>(y - 1, 0); v < std::min(y + 2, shape[1]);
             ++v) {
          for (std::int64_t u = std::max<std::int64_t>(x - 1, 0); u < std::min(x + 2, shape[2]);
               ++u) {
            times_[op.inputs[0]].read[v * shape[2] + u] = i * columns_ + j;
          }
        }
      }
    }
  }

  const graph::Subgraph& subgraph_;
  const plan::StreamSegment& segment_;
  int columns_;
  graph::TensorId last_;
  std::map<graph::TensorId, Times> times_;
};

TEST(RowStepMap, HoldsWhatACountPixelByPixelFinds) {
  const graph::Graph graph = Convolutions(14, 11, {3, 6, 8, 4, 2});
  const compile::Compiled compiled = Streamed(graph);
  const auto run = RunOf(graph, compiled, "x");
  ASSERT_TRUE(run);
  ASSERT_FALSE(run->row_step_maps.empty());
  std::set<Holds> seen;
  for (const RowStepMap& map : run->row_step_maps) {
    const Counter counter(graph, *compiled.plan.entries.front().stream, map.segment);
    for (int block = 0; block < map.blocks; ++block) {
      Bytes drawn;
      for (const RowStepMap::Part& part : map.parts) {
        seen.insert(part.holds);
        for (const RowStepMap::Stretch& stretch : part.stretches) {
          if (block < stretch.first || block >= stretch.last) continue;
          for (std::int64_t b = 0; b < stretch.bytes; ++b) {
            drawn[part.holds].insert(stretch.offset + b);
          }
        }
      }
      EXPECT_EQ(drawn, counter.At(map.row_step, block)) << map.title << ", " << block;
    }
  }
  EXPECT_THAT(seen, testing::IsSupersetOf({Holds::kInput, Holds::kOutput, Holds::kLine,
                                           Holds::kHalo, Holds::kBlock}));
}

TEST(RowStepMap, StepsAreSegments) {
  const graph::Graph graph = Convolutions(14, 11, {3, 6, 8, 4, 2});
  const compile::Compiled compiled = Streamed(graph);
  const auto run = RunOf(graph, compiled, "x");
  ASSERT_TRUE(run);
  const plan::EntryPlan& entry = compiled.plan.entries.front();
  EXPECT_TRUE(run->streamed);
  ASSERT_EQ(run->steps.size(), entry.stream->segments.size());
  std::int64_t most = 0;
  for (const Step& step : run->steps) most = std::max(most, step.live_bytes);
  EXPECT_EQ(most, entry.arena_bytes);
  for (const Buffer& buffer : run->buffers) {
    EXPECT_LE(buffer.offset + buffer.bytes, entry.arena_bytes);
  }
}

TEST(RowStepMap, IsDrawnWithoutScript) {
  const graph::Graph graph = Convolutions(14, 11, {3, 6, 8, 4, 2});
  const compile::Compiled compiled = Streamed(graph);
  Picture page;
  page.runs = {*RunOf(graph, compiled, "x")};
  const std::string html = MemoryPage(page);
  const std::string body = html.substr(0, html.find("<script"));
  EXPECT_THAT(body, HasSubstr("Inside the largest segments"));
  for (const char* const what :
       {"input not read yet", "output computed so far", "lines: rows of earlier row steps",
        "halos: pixels of earlier blocks of this row step", "computed in this block"}) {
    EXPECT_THAT(body, HasSubstr(what));
  }
  EXPECT_THAT(body, HasSubstr("<path class=\"c0\" d=\"M"));
  EXPECT_THAT(body, HasSubstr("&lt;b&gt;0"));
  EXPECT_THAT(body, Not(HasSubstr("<b>")));
}

// Segments that run layer by layer have none.
TEST(RowStepMap, OnlyOfStreams) {
  const graph::Graph graph = Convolutions(5, 5, {3, 2});
  const auto compiled = compile::Compile(graph, {});
  ASSERT_TRUE(compiled);
  const auto run = RunOf(graph, *compiled, "x");
  ASSERT_TRUE(run);
  EXPECT_FALSE(run->streamed);
  EXPECT_TRUE(run->row_step_maps.empty());
}

}  // namespace
}  // namespace neap::picture
