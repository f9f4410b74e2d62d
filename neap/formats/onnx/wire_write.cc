// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <optional>

#include "neap/formats/onnx/wire.h"

namespace neap::formats::onnx {
namespace {

using pb::Box;
using pb::Packed;
using pb::Text;
using pb::Unread;

constexpr unsigned kVarintType = 0;
constexpr unsigned kBytesType = 2;

template <typename T>
constexpr bool kIsFloating = std::is_floating_point_v<T>;
template <typename T>
constexpr unsigned kTypeOf = !kIsFloating<T>  ? kVarintType
                             : sizeof(T) == 4 ? 5
                                              : 1;

std::uint64_t SizeOfVarint(std::uint64_t value) {
  std::uint64_t size = 1;
  for (; value >= 128; value >>= 7U) ++size;
  return size;
}

std::uint64_t TagOf(int number, unsigned type) {
  return (static_cast<std::uint64_t>(number) << 3U) | type;
}
std::uint64_t SizeOfTag(int number) { return SizeOfVarint(TagOf(number, 0)); }

// Negative numbers of 32 bits are written as numbers of 64.
template <typename T>
std::uint64_t RawOf(T value) {
  if constexpr (std::is_signed_v<T>)
    return static_cast<std::uint64_t>(std::int64_t{value});
  else
    return value;
}

template <typename T>
std::uint64_t SizeOfNumber(T value) {
  if constexpr (kIsFloating<T>)
    return sizeof(T);
  else
    return SizeOfVarint(RawOf(value));
}

class Meter {
 public:
  explicit Meter(std::vector<std::uint64_t>* sizes) : sizes_(*sizes) {}

  template <typename M>
  std::uint64_t Message(const M& message) {
    const std::size_t slot = sizes_.size();
    sizes_.push_back(0);
    std::uint64_t size = 0;
    M::Visit(message, [&](int number, const auto& field) { size += Field(number, field); });
    if (message.unknown) size += message.unknown->size();
    sizes_[slot] = size;
    return size;
  }

 private:
  static std::uint64_t WithLength(int number, std::uint64_t size) {
    return SizeOfTag(number) + SizeOfVarint(size) + size;
  }

  static std::uint64_t Field(int number, const Text& field) {
    return field.present() ? WithLength(number, field.size()) : 0;
  }
  static std::uint64_t Field(int number, const Unread& field) { return Field(number, field.bytes); }
  template <typename T>
  static std::uint64_t Field(int number, const std::optional<T>& field) {
    return field ? SizeOfTag(number) + SizeOfNumber(*field) : 0;
  }
  template <typename T>
  std::uint64_t Field(int number, const Packed<T>& field) {
    if (field.values.empty()) return 0;
    std::uint64_t size = 0;
    for (const T value : field.values) size += SizeOfNumber(value);
    sizes_.push_back(size);
    return WithLength(number, size);
  }
  template <typename M>
  std::uint64_t Field(int number, const Box<M>& field) {
    return field ? WithLength(number, Message(*field)) : 0;
  }
  template <typename T>
  std::uint64_t Field(int number, const std::vector<T>& field) {
    std::uint64_t size = 0;
    for (const T& item : field) {
      if constexpr (std::is_arithmetic_v<T>)
        size += SizeOfTag(number) + SizeOfNumber(item);
      else if constexpr (std::is_same_v<T, Text>)
        size += WithLength(number, item.size());
      else if constexpr (std::is_same_v<T, Unread>)
        size += WithLength(number, item.bytes.size());
      else
        size += WithLength(number, Message(item));
    }
    return size;
  }

  std::vector<std::uint64_t>& sizes_;
};

class Printer {
 public:
  Printer(const std::vector<std::uint64_t>& sizes, std::byte* out) : sizes_(sizes), out_(out) {}

  // Takes the next size: a length is written before the message.
  std::uint64_t NextSize() { return sizes_[next_++]; }

  template <typename M>
  void Message(const M& message) {
    M::Visit(message, [&](int number, const auto& field) { Field(number, field); });
    if (message.unknown) Bytes(*message.unknown);
  }

 private:
  void Bytes(std::string_view bytes) {
    if (!bytes.empty()) std::memcpy(out_, bytes.data(), bytes.size());
    out_ += bytes.size();
  }
  void Varint(std::uint64_t value) {
    for (; value >= 128; value >>= 7U) *out_++ = static_cast<std::byte>((value & 127U) | 128U);
    *out_++ = static_cast<std::byte>(value);
  }
  template <typename T>
  void Number(T value) {
    if constexpr (kIsFloating<T>) {
      std::memcpy(out_, &value, sizeof(T));
      out_ += sizeof(T);
    } else {
      Varint(RawOf(value));
    }
  }
  void Length(int number, std::uint64_t size) {
    Varint(TagOf(number, kBytesType));
    Varint(size);
  }
  void Item(int number, std::string_view bytes) {
    Length(number, bytes.size());
    Bytes(bytes);
  }

  void Field(int number, const Text& field) {
    if (field.present()) Item(number, field.view());
  }
  void Field(int number, const Unread& field) { Field(number, field.bytes); }
  template <typename T>
  void Field(int number, const std::optional<T>& field) {
    if (!field) return;
    Varint(TagOf(number, kTypeOf<T>));
    Number(*field);
  }
  template <typename T>
  void Field(int number, const Packed<T>& field) {
    if (field.values.empty()) return;
    Length(number, NextSize());
    for (const T value : field.values) Number(value);
  }
  template <typename M>
  void Field(int number, const Box<M>& field) {
    if (!field) return;
    Length(number, NextSize());
    Message(*field);
  }
  template <typename T>
  void Field(int number, const std::vector<T>& field) {
    for (const T& item : field) {
      if constexpr (std::is_arithmetic_v<T>) {
        Varint(TagOf(number, kTypeOf<T>));
        Number(item);
      } else if constexpr (std::is_same_v<T, Text>) {
        Item(number, item.view());
      } else if constexpr (std::is_same_v<T, Unread>) {
        Item(number, item.bytes.view());
      } else {
        Length(number, NextSize());
        Message(item);
      }
    }
  }

  const std::vector<std::uint64_t>& sizes_;
  std::size_t next_ = 0;
  std::byte* out_;
};

}  // namespace

WireWriter::WireWriter(const pb::ModelProto& model) : model_(model) {
  Meter(&sizes_).Message(model);
}

std::vector<std::byte> WireWriter::Write() const {
  std::vector<std::byte> bytes(static_cast<std::size_t>(size()));
  Printer printer(sizes_, bytes.data());
  printer.NextSize();
  printer.Message(model_);
  return bytes;
}

}  // namespace neap::formats::onnx
