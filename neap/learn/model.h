// SPDX-License-Identifier: Apache-2.0
//
// A trained pointer network as a value, and its file ("docs/algorithms/learned.md", "The file of
// weights"):
//
//   bytes 0-7    "NEAPNET1"
//   bytes 8-31   six u32, little-endian: encoder, decoder, embedding, queue, mask, task
//   bytes 32-35  u32: hidden, the width of every layer
//   bytes 36-39  u32: number of weights
//   bytes 40-47  u64: FNV-1a over the header's bytes 0-39 and the bytes of the weights
//   then         float32, little-endian, the tensors of TensorsOf() one after another
//
// Everything but the values follows from the header, so a file is either exactly as long as its
// header requires, with finite numbers, or refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "neap/base/result.h"
#include "neap/learn/embedding.h"

namespace neap::learn {

enum class Coder : std::uint8_t { kLstm = 0, kTransformer = 1 };

// The nodes that the decoder may point at.
enum class Mask : std::uint8_t {
  kVisited = 0,  // every node that has not been taken, as in the document; then Repair() is needed
  kReady = 1,    // nodes whose parents have all been taken
};

// The task for which the network was trained.
enum class Task : std::uint8_t { kStages = 0, kPeak = 1 };

struct ModelConfig {
  Coder encoder = Coder::kLstm;
  Coder decoder = Coder::kLstm;
  Embedding embedding = Embedding::kRelative;
  Queue queue = Queue::kLevel;
  Mask mask = Mask::kVisited;
  Task task = Task::kStages;
  std::uint32_t hidden = 64;  // a multiple of 8, 8 to 512

  friend bool operator==(const ModelConfig&, const ModelConfig&) = default;
};

inline constexpr std::uint32_t kMaxHidden = 512;
inline constexpr std::size_t kEncoderLayers = 1;  // of a Transformer; as many heads
inline constexpr std::size_t kDecoderLayers = 2;

// A matrix, stored row by row; y = x W + b throughout, so that rows are inputs. One row: a vector.
struct TensorSpec {
  std::string name;
  std::size_t rows = 1;
  std::size_t columns = 0;
  std::size_t size() const { return rows * columns; }
};
// The weights of a network in the order of the file. Gates of an LSTM: input, forget, cell, output.
std::vector<TensorSpec> TensorsOf(const ModelConfig& config);
std::size_t CountWeights(const ModelConfig& config);

struct Model {
  ModelConfig config;
  std::vector<float> weights;  // CountWeights(config), finite
};

// An untrained network: uniform in +-1/sqrt(hidden), norms 1 and 0. The same for the same seed.
Model InitialModel(const ModelConfig& config, std::uint64_t seed);

// Fails with kBadInput on anything that Write() would not have written; reads no more than the
// bytes given and keeps no more than they hold. O(bytes).
Result<Model> ParseModel(std::span<const std::byte> bytes);
std::vector<std::byte> SerializeModel(const Model& model);

// The networks that come with the program (docs/algorithms/learned.md describes their training).
const Model& BuiltinModel(Task task);
// False in builds for web pages, whose download would grow by a fifth.
bool HasBuiltinModels();

}  // namespace neap::learn
