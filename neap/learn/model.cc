// SPDX-License-Identifier: Apache-2.0
#include "neap/learn/model.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <string_view>
#include <utility>

#include "neap/base/bit_cast.h"
#include "neap/base/check.h"
#include "neap/base/random.h"
#include "neap/learn/builtin_weights.h"

namespace neap::learn {
namespace {

constexpr std::string_view kMagic = "NEAPNET1";
constexpr std::size_t kFields = 8;  // the u32 of the header
constexpr std::size_t kChecked = kMagic.size() + kFields * 4;
constexpr std::size_t kHeaderBytes = kChecked + 8;
constexpr float kLargestWeight = 1e4F;  // beyond, sums could overflow

class TensorTable {
 public:
  explicit TensorTable(const ModelConfig& config) : hidden_(config.hidden) {
    Add("embed.w", FeaturesOf(config.embedding), hidden_);
    Add("embed.b", 1, hidden_);
    if (config.encoder == Coder::kLstm) {
      AddLstm("encoder");
    } else {
      AddTransformer("encoder", kEncoderLayers);
    }
    if (config.decoder == Coder::kLstm) {
      Add("decoder.first", 1, hidden_);
      AddLstm("decoder");
      AddAttention("glimpse");
      AddAttention("pointer");
    } else {
      AddTransformer("decoder", kDecoderLayers);
      Add("select.w", 1, hidden_);
      Add("select.b", 1, 1);
    }
  }
  std::vector<TensorSpec> Take() { return std::move(specs_); }

 private:
  void Add(std::string name, std::size_t rows, std::size_t columns) {
    specs_.push_back({std::move(name), rows, columns});
  }
  void AddLstm(const std::string& name) {
    Add(name + ".wx", hidden_, 4 * hidden_);
    Add(name + ".wh", hidden_, 4 * hidden_);
    Add(name + ".b", 1, 4 * hidden_);
  }
  void AddAttention(const std::string& name) {
    Add(name + ".ref", hidden_, hidden_);
    Add(name + ".query.w", hidden_, hidden_);
    Add(name + ".query.b", 1, hidden_);
    Add(name + ".v", 1, hidden_);
  }
  void AddTransformer(const std::string& name, std::size_t layers) {
    for (std::size_t i = 0; i < layers; ++i) {
      const std::string layer = name + "." + std::to_string(i);
      for (const char* part : {".q", ".k", ".v", ".o"}) {
        Add(layer + part + ".w", hidden_, hidden_);
        Add(layer + part + ".b", 1, hidden_);
      }
      Add(layer + ".norm1.scale", 1, hidden_);
      Add(layer + ".norm1.shift", 1, hidden_);
      Add(layer + ".up.w", hidden_, 2 * hidden_);
      Add(layer + ".up.b", 1, 2 * hidden_);
      Add(layer + ".down.w", 2 * hidden_, hidden_);
      Add(layer + ".down.b", 1, hidden_);
      Add(layer + ".norm2.scale", 1, hidden_);
      Add(layer + ".norm2.shift", 1, hidden_);
    }
  }

  std::size_t hidden_;
  std::vector<TensorSpec> specs_;
};

std::uint64_t Fnv1a(std::span<const std::byte> bytes, std::uint64_t hash) {
  for (const std::byte byte : bytes) {
    hash ^= std::to_integer<std::uint64_t>(byte);
    hash *= 0x100000001b3U;
  }
  return hash;
}

std::uint64_t ChecksumOf(std::span<const std::byte> file) {
  const std::uint64_t header = Fnv1a(file.first(kChecked), 0xcbf29ce484222325U);
  return Fnv1a(file.subspan(kHeaderBytes), header);
}

template <typename Word>
Word Read(std::span<const std::byte> bytes, std::size_t at) {
  Word word = 0;
  for (std::size_t i = 0; i < sizeof(Word); ++i) {
    word = static_cast<Word>(word | (std::to_integer<Word>(bytes[at + i]) << (8 * i)));
  }
  return word;
}

template <typename Word>
void Append(Word word, std::vector<std::byte>* out) {
  for (std::size_t i = 0; i < sizeof(Word); ++i) {
    out->push_back(static_cast<std::byte>((word >> (8 * i)) & 0xffU));
  }
}

tl::unexpected<Diagnostic> Refuse(const std::string& what) {
  return Fail(BadInput("not a usable weights file: " + what));
}

Result<ModelConfig> ParseConfig(std::span<const std::byte> bytes) {
  if (bytes.size() < kHeaderBytes) return Refuse("it ends inside its header");
  const auto* magic = reinterpret_cast<const char*>(bytes.data());
  if (std::string_view(magic, kMagic.size()) != kMagic) return Refuse("it has another signature");
  const auto field = [&](std::size_t i) {
    return Read<std::uint32_t>(bytes, kMagic.size() + 4 * i);
  };
  for (std::size_t i = 0; i < 6; ++i) {
    if (field(i) > 1) {
      return Refuse("field " + std::to_string(i) + " is " + std::to_string(field(i)) +
                    ", expected 0 or 1");
    }
  }
  ModelConfig config;
  config.encoder = static_cast<Coder>(field(0));
  config.decoder = static_cast<Coder>(field(1));
  config.embedding = static_cast<Embedding>(field(2));
  config.queue = static_cast<Queue>(field(3));
  config.mask = static_cast<Mask>(field(4));
  config.task = static_cast<Task>(field(5));
  config.hidden = field(6);
  if (config.hidden < 8 || config.hidden > kMaxHidden || config.hidden % 8 != 0) {
    return Refuse("its width is " + std::to_string(config.hidden) +
                  ", expected a multiple of 8 up to " + std::to_string(kMaxHidden));
  }
  if (field(7) != CountWeights(config)) {
    return Refuse("it declares " + std::to_string(field(7)) + " weights, expected " +
                  std::to_string(CountWeights(config)));
  }
  return config;
}

}  // namespace

std::vector<TensorSpec> TensorsOf(const ModelConfig& config) { return TensorTable(config).Take(); }

std::size_t CountWeights(const ModelConfig& config) {
  std::size_t count = 0;
  for (const TensorSpec& spec : TensorsOf(config)) count += spec.size();
  return count;
}

Model InitialModel(const ModelConfig& config, std::uint64_t seed) {
  Random random(seed);
  const double bound = 1 / std::sqrt(static_cast<double>(config.hidden));
  Model model{config, {}};
  for (const TensorSpec& spec : TensorsOf(config)) {
    const bool scale = spec.name.ends_with(".scale");
    const bool shift = spec.name.ends_with(".shift");
    for (std::size_t i = 0; i < spec.size(); ++i) {
      const auto drawn = static_cast<float>((2 * random.Unit() - 1) * bound);
      model.weights.push_back(scale ? 1.0F : shift ? 0.0F : drawn);
    }
  }
  return model;
}

Result<Model> ParseModel(std::span<const std::byte> bytes) {
  Model model;
  NEAP_TRY(model.config, ParseConfig(bytes));
  const std::size_t count = CountWeights(model.config);
  if (bytes.size() != kHeaderBytes + 4 * count) {
    return Refuse("it has " + std::to_string(bytes.size()) + " bytes, expected " +
                  std::to_string(kHeaderBytes + 4 * count));
  }
  if (Read<std::uint64_t>(bytes, kChecked) != ChecksumOf(bytes)) {
    return Refuse("its checksum does not agree with its contents");
  }
  model.weights.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto weight = BitCast<float>(Read<std::uint32_t>(bytes, kHeaderBytes + 4 * i));
    if (!(std::fabs(weight) <= kLargestWeight)) {
      return Refuse("weight " + std::to_string(i) + " is not a number of reasonable size");
    }
    model.weights[i] = weight;
  }
  return model;
}

std::vector<std::byte> SerializeModel(const Model& model) {
  NEAP_CHECK(model.weights.size() == CountWeights(model.config), "weights of another network");
  std::vector<std::byte> bytes;
  for (const char letter : kMagic) bytes.push_back(static_cast<std::byte>(letter));
  const ModelConfig& config = model.config;
  Append(static_cast<std::uint32_t>(config.encoder), &bytes);
  Append(static_cast<std::uint32_t>(config.decoder), &bytes);
  Append(static_cast<std::uint32_t>(config.embedding), &bytes);
  Append(static_cast<std::uint32_t>(config.queue), &bytes);
  Append(static_cast<std::uint32_t>(config.mask), &bytes);
  Append(static_cast<std::uint32_t>(config.task), &bytes);
  Append(config.hidden, &bytes);
  Append(static_cast<std::uint32_t>(model.weights.size()), &bytes);
  bytes.resize(kHeaderBytes);
  for (const float weight : model.weights) Append(BitCast<std::uint32_t>(weight), &bytes);
  std::vector<std::byte> checksum;
  Append(ChecksumOf(bytes), &checksum);
  std::copy(checksum.begin(), checksum.end(),
            bytes.begin() + static_cast<std::ptrdiff_t>(kChecked));
  return bytes;
}

bool HasBuiltinModels() { return !BuiltinWeights(Task::kPeak).empty(); }

const Model& BuiltinModel(Task task) {
  static const auto* const kModels = [] {
    auto* models = new std::array<Model, 2>();
    for (const Task each : {Task::kStages, Task::kPeak}) {
      auto model = ParseModel(BuiltinWeights(each));
      NEAP_CHECK(model.has_value() && model->config.task == each, "the built-in weights are wrong");
      (*models)[static_cast<std::size_t>(each)] = std::move(*model);
    }
    return models;
  }();
  return (*kModels)[static_cast<std::size_t>(task)];
}

}  // namespace neap::learn
