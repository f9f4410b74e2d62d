// SPDX-License-Identifier: Apache-2.0
#include "lab/train/checkpoint.h"

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "neap/io/file.h"

namespace neap::train {
namespace {

constexpr std::string_view kMagic = "NEAPTRN1";

class Writer {
 public:
  template <typename T>
  void Number(T value) {
    const auto* from = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), from, from + sizeof(value));
  }
  void Text(std::string_view text) {
    Number<std::uint64_t>(text.size());
    const auto* from = reinterpret_cast<const std::byte*>(text.data());
    bytes_.insert(bytes_.end(), from, from + text.size());
  }
  void Floats(const std::vector<float>& values) {
    Number<std::uint64_t>(values.size());
    for (const float value : values) Number(value);
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

// Reads the available bytes; after the end everything is zero and ok() is false.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  bool ok() const { return ok_; }
  bool AtEnd() const { return ok_ && at_ == bytes_.size(); }

  template <typename T>
  T Number() {
    T value = 0;
    if (bytes_.size() - at_ < sizeof(value)) {
      ok_ = false;
      return value;
    }
    std::memcpy(&value, bytes_.data() + at_, sizeof(value));
    at_ += sizeof(value);
    return value;
  }
  std::string Text() {
    const std::size_t size = Count(1);
    std::string text(reinterpret_cast<const char*>(bytes_.data() + at_), size);
    at_ += size;
    return text;
  }
  std::vector<float> Floats() {
    std::vector<float> values(Count(sizeof(float)));
    for (float& value : values) value = Number<float>();
    return values;
  }
  std::size_t Count(std::size_t bytes_each) {
    const auto count = Number<std::uint64_t>();
    if (ok_ && count <= (bytes_.size() - at_) / bytes_each) return count;
    ok_ = false;
    return 0;
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

Point ReadPoint(Reader* reader) {
  Point point;
  point.step = reader->Number<std::int64_t>();
  point.phase = reader->Text();
  for (double* value : {&point.train_loss, &point.test_cost, &point.test_mismatch,
                        &point.test_violations, &point.test_ratio}) {
    *value = reader->Number<double>();
  }
  return point;
}

}  // namespace

Status SaveCheckpoint(const std::string& path, const Checkpoint& checkpoint) {
  Writer writer;
  writer.Text(kMagic);
  writer.Text(checkpoint.fingerprint);
  writer.Number(checkpoint.step);
  writer.Floats(checkpoint.policy.weights);
  writer.Floats(checkpoint.policy.first_moment);
  writer.Floats(checkpoint.policy.second_moment);
  writer.Number(checkpoint.policy.steps);
  writer.Floats(checkpoint.baseline);
  writer.Number(checkpoint.loss_sum);
  writer.Number(checkpoint.loss_count);
  writer.Number<std::uint64_t>(checkpoint.points.size());
  for (const Point& point : checkpoint.points) {
    writer.Number(point.step);
    writer.Text(point.phase);
    for (const double value : {point.train_loss, point.test_cost, point.test_mismatch,
                               point.test_violations, point.test_ratio}) {
      writer.Number(value);
    }
  }
  return io::WriteFile(path, writer.bytes(), true);
}

Result<std::optional<Checkpoint>> LoadCheckpoint(const std::string& path,
                                                 const std::string& fingerprint,
                                                 std::size_t weights) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::optional<Checkpoint>();
  NEAP_TRY(const auto bytes, io::ReadFile(path));
  const auto refuse = [&](const char* what) {
    Diagnostic diagnostic = BadInput(what);
    diagnostic.file = path;
    return Fail(std::move(diagnostic));
  };
  Reader reader(*bytes);
  if (reader.Text() != kMagic) return refuse("not a checkpoint of neap-train");
  Checkpoint checkpoint;
  checkpoint.fingerprint = reader.Text();
  if (checkpoint.fingerprint != fingerprint) return refuse("a checkpoint of other settings");
  checkpoint.step = reader.Number<std::int64_t>();
  checkpoint.policy.weights = reader.Floats();
  checkpoint.policy.first_moment = reader.Floats();
  checkpoint.policy.second_moment = reader.Floats();
  checkpoint.policy.steps = reader.Number<std::int64_t>();
  checkpoint.baseline = reader.Floats();
  checkpoint.loss_sum = reader.Number<double>();
  checkpoint.loss_count = reader.Number<std::int64_t>();
  constexpr std::size_t kMinPointBytes = 56;
  const std::size_t points = reader.Count(kMinPointBytes);
  for (std::size_t i = 0; i < points && reader.ok(); ++i) {
    checkpoint.points.push_back(ReadPoint(&reader));
  }
  const PolicyState& policy = checkpoint.policy;
  const bool sizes = policy.weights.size() == weights && policy.first_moment.size() == weights &&
                     policy.second_moment.size() == weights &&
                     (checkpoint.baseline.empty() || checkpoint.baseline.size() == weights);
  if (!reader.AtEnd() || !sizes) return refuse("a damaged checkpoint");
  return checkpoint;
}

}  // namespace neap::train
