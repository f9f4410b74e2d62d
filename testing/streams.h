// SPDX-License-Identifier: Apache-2.0
//
// Random int8 networks, and streamed plans written by hand.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "neap/base/random.h"
#include "neap/graph/graph.h"
#include "neap/plan/plan.h"

namespace neap::stream::test {

// A network of images with one input: convolutions and pooling of many shapes, strides and
// paddings, element-wise operators, concatenations, skips that are joined again later, and
// sometimes a gate (a mean, a convolution of one pixel, a product with the image) or a classifier
// at the end. Every output but the last has a consumer.
graph::Graph RandomNetwork(Random* random, int operators);

// The same, in which half of the operators resample, move or spread pixels, or mix channels alone.
graph::Graph RandomNetworkOfMoves(Random* random, int operators);

// A network of ONNX, whose images have their channels first: convolutions, pooling, element-wise
// operators, concatenations along channels, rows and columns, softmax over channels.
graph::Graph RandomOnnxNetwork(Random* random, int operators);

// A network of ONNX over (1, channels, time): convolutions, pooling and batch normalisation over
// time, element-wise operators, gates, concatenations, splits, softmax over channels, products of
// time steps.
graph::Graph RandomOnnxAudio(Random* random, int operators);

// A network of floats whose tensors have two to four dimensions, in either format: tokens and their
// embedding, products of rows, attention, softmax, transposes and reshapes, batches, a mean of all
// places or the best channel at the end.
graph::Graph RandomSignals(Random* random, int operators, bool onnx);

// A network of ONNX with LSTM, GRU and RNN over time, of which every step, the last one or the last
// state is used; convolutions over time before it, products of time steps between and behind.
graph::Graph RandomRecurrent(Random* random, int operators);

// The same of .tflite, in float32 or int8: UNIDIRECTIONAL_SEQUENCE_LSTM, whose states are
// variables, with the time or the batch first.
graph::Graph RandomSequences(Random* random, int operators);

// One depthwise convolution of 3x3 that keeps the size.
graph::Graph Depthwise(Random* random, std::int64_t height, std::int64_t width,
                       std::int64_t channels);
// A chain of 2 * `depth` convolutions; the outputs of the first half are added to that of the last.
graph::Graph Nested(Random* random, std::int64_t side, std::int64_t channels, int depth);
// The same, the mean of its places, and a convolution of that.
graph::Graph Squeeze(Random* random, std::int64_t height, std::int64_t width,
                     std::int64_t channels);

// A plan of that entry for Neap's executor.
plan::Plan PlanOf(plan::EntryPlan entry);

// A plan of one entry with these segments, its numbers filled in.
plan::EntryPlan EntryWith(const graph::Graph& graph, std::vector<plan::StreamSegment> segments,
                          std::int64_t arena_bytes);

// The order of the file.
std::vector<graph::OpId> FileOrder(const graph::Graph& graph);

// What goes wrong in a run of the plan on random inputs: an error, a violation, outputs that are
// not those of the graph without a plan. Empty: nothing.
std::string ErrorOfRun(const graph::Graph& graph, const plan::EntryPlan& entry);

// Expects that the checker accepts the plan, and that a run of it computes the bytes of the graph
// without a plan, with the arena and the multiply-accumulates that it states. Of inputs of `seed`.
void ExpectExact(const graph::Graph& graph, const plan::EntryPlan& entry, std::uint64_t seed);

}  // namespace neap::stream::test
