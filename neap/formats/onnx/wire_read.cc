// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "neap/formats/onnx/wire.h"

namespace neap::formats::onnx {
namespace {

using pb::Box;
using pb::Packed;
using pb::Text;
using pb::Unread;

enum WireType : std::uint32_t {
  kVarint = 0,
  kFixed64 = 1,
  kLengthDelimited = 2,
  kStartGroup = 3,
  kEndGroup = 4,
  kFixed32 = 5,
};

constexpr int kMaxVarintBytes = 10;
constexpr int kMaxTagBytes = 5;

template <typename T>
constexpr bool kIsFixed = std::is_floating_point_v<T>;
template <typename T>
constexpr std::uint32_t kWireTypeOf = !kIsFixed<T>     ? kVarint
                                      : sizeof(T) == 4 ? kFixed32
                                                       : kFixed64;

template <typename M>
concept HasKinds = requires(M m) { m.KeepOnly(1); };

class Parser {
 public:
  Parser(std::string_view bytes, std::int64_t max_message_bytes)
      : begin_(bytes.data()), at_(begin_), end_(begin_ + bytes.size()), room_(max_message_bytes) {}

  template <typename M>
  bool ReadMessage(M* message) {
    while (at_ < end_) {
      const char* const start = at_;
      std::uint32_t tag = 0;
      if (!ReadTag(&tag)) return false;
      const int number = static_cast<int>(tag >> 3U);
      const std::uint32_t type = tag & 7U;
      bool known = false;
      bool read = true;
      M::Visit(*message, [&](int of, auto& field) {
        if (of != number || !Accepts(field, type)) return;
        known = true;
        read = Read(type, &field);
      });
      if (!known) {
        read = Skip(tag);
        if (read) message->unknown.Make().append(start, at_);
      } else if constexpr (HasKinds<M>) {
        message->KeepOnly(number);
      }
      if (!read) return false;
    }
    return true;
  }

  WireError Error() && { return {static_cast<std::size_t>(at_ - begin_), std::move(reason_)}; }

 private:
  bool Refuse(std::string reason) {
    reason_ = std::move(reason);
    return false;
  }

  bool Charge(std::int64_t bytes) {
    room_ -= bytes;
    return room_ >= 0 || Refuse("it has more fields than fit in the memory allowed for them");
  }

  // ---- values ----

  bool ReadVarint(int max_bytes, std::uint64_t* value) {
    *value = 0;
    for (int i = 0; i < max_bytes; ++i) {
      if (at_ == end_) return Refuse("a number has no end");
      const auto byte = static_cast<unsigned char>(*at_++);
      *value |= std::uint64_t{byte & 0x7fU} << (7 * i);
      if (byte < 0x80U) return true;
    }
    return Refuse("a number is longer than " + std::to_string(max_bytes) + " bytes");
  }

  bool ReadTag(std::uint32_t* tag) {
    std::uint64_t value = 0;
    if (!ReadVarint(kMaxTagBytes, &value)) return false;
    *tag = static_cast<std::uint32_t>(value);
    if (value >> 3U == 0 || value > std::numeric_limits<std::uint32_t>::max()) {
      return Refuse("a field has no valid number");
    }
    return true;
  }

  bool ReadBytes(std::string_view* bytes) {
    std::uint64_t size = 0;
    if (!ReadVarint(kMaxVarintBytes, &size)) return false;
    if (size > static_cast<std::uint64_t>(end_ - at_)) {
      return Refuse("a field is longer than the message that contains it");
    }
    *bytes = std::string_view(at_, static_cast<std::size_t>(size));
    at_ += size;
    return true;
  }

  bool Advance(std::size_t bytes) {
    if (static_cast<std::size_t>(end_ - at_) < bytes) {
      return Refuse("a field is longer than the message that contains it");
    }
    at_ += bytes;
    return true;
  }

  template <typename T>
  bool ReadNumber(T* value) {
    if constexpr (kIsFixed<T>) {
      const char* const from = at_;
      if (!Advance(sizeof(T))) return false;
      std::memcpy(value, from, sizeof(T));
    } else {
      std::uint64_t raw = 0;
      if (!ReadVarint(kMaxVarintBytes, &raw)) return false;
      *value = static_cast<T>(raw);
    }
    return true;
  }

  // Over a field that the message does not declare, of any type.
  bool Skip(std::uint32_t tag) {
    std::vector<std::uint32_t> groups;  // open ones, by number
    while (true) {
      std::uint64_t number = 0;
      std::string_view bytes;
      bool read = true;
      switch (tag & 7U) {
        case kVarint:
          read = ReadVarint(kMaxVarintBytes, &number);
          break;
        case kFixed64:
          read = Advance(8);
          break;
        case kLengthDelimited:
          read = ReadBytes(&bytes);
          break;
        case kStartGroup:
          if (depth_ + static_cast<int>(groups.size()) >= kMaxMessageDepth) return RefuseDepth();
          groups.push_back(tag >> 3U);
          break;
        case kEndGroup:
          if (groups.empty() || groups.back() != tag >> 3U) {
            return Refuse("a group ends without a start");
          }
          groups.pop_back();
          break;
        case kFixed32:
          read = Advance(4);
          break;
        default:
          return Refuse("a field has a type that does not exist");
      }
      if (!read) return false;
      if (groups.empty()) return true;
      if (!ReadTag(&tag)) return false;
    }
  }

  bool RefuseDepth() {
    return Refuse("its messages are nested more than " + std::to_string(kMaxMessageDepth) +
                  " deep");
  }

  // ---- fields: which wire types each accepts, and how it is read ----

  template <typename T>
  static bool Accepts(const std::optional<T>& /*field*/, std::uint32_t type) {
    return type == kWireTypeOf<T>;
  }
  template <typename T>
  static bool Accepts(const Packed<T>& /*field*/, std::uint32_t type) {
    return type == kLengthDelimited || type == kWireTypeOf<T>;
  }
  template <typename T>
  static bool Accepts(const std::vector<T>& /*field*/, std::uint32_t type) {
    if constexpr (std::is_arithmetic_v<T>) {
      return type == kLengthDelimited || type == kWireTypeOf<T>;
    } else {
      return type == kLengthDelimited;
    }
  }
  template <typename T>
  static bool Accepts(const T& /*field*/, std::uint32_t type) {
    return type == kLengthDelimited;
  }

  bool Read(std::uint32_t /*type*/, Text* field) {
    std::string_view bytes;
    if (!ReadBytes(&bytes)) return false;
    *field = Text::Of(bytes);
    return true;
  }

  // Its fields have to be whole; those inside of them are not looked at.
  bool Read(std::uint32_t /*type*/, Unread* field) {
    std::string_view bytes;
    if (!ReadBytes(&bytes)) return false;
    const char* const end = std::exchange(end_, at_);
    at_ -= bytes.size();
    while (at_ < end_) {
      std::uint32_t tag = 0;
      if (!ReadTag(&tag) || !Skip(tag)) return false;
    }
    end_ = end;
    if (field->bytes.present()) {
      field->bytes.Append(bytes);
    } else {
      field->bytes = Text::Of(bytes);
    }
    return true;
  }

  template <typename T>
  bool Read(std::uint32_t /*type*/, std::optional<T>* field) {
    return ReadNumber(&field->emplace());
  }

  template <typename T>
  bool Read(std::uint32_t type, Packed<T>* field) {
    return ReadNumbers(type, &field->values);
  }

  template <typename M>
  bool Read(std::uint32_t /*type*/, Box<M>* field) {
    if (!*field && !Charge(sizeof(M))) return false;
    return ReadInner(&field->Make());
  }

  template <typename T>
  bool Read(std::uint32_t type, std::vector<T>* field) {
    if constexpr (std::is_arithmetic_v<T>) {
      return ReadNumbers(type, field);
    } else {
      if (!Charge(sizeof(T))) return false;
      if constexpr (std::is_same_v<T, Text> || std::is_same_v<T, Unread>)
        return Read(type, &field->emplace_back());
      else
        return ReadInner(&field->emplace_back());
    }
  }

  template <typename T>
  bool ReadNumbers(std::uint32_t type, std::vector<T>* values) {
    if (type != kLengthDelimited) return Charge(sizeof(T)) && ReadNumber(&values->emplace_back());
    std::string_view bytes;
    if (!ReadBytes(&bytes)) return false;
    if constexpr (kIsFixed<T>) {
      if (bytes.size() % sizeof(T) != 0) return Refuse("a run of numbers ends within one");
      const std::size_t before = values->size();
      values->resize(before + bytes.size() / sizeof(T));
      if (!bytes.empty()) std::memcpy(values->data() + before, bytes.data(), bytes.size());
      return true;
    } else {
      const auto ends = [](char byte) { return static_cast<unsigned char>(byte) < 0x80U; };
      const auto count = static_cast<std::size_t>(std::count_if(bytes.begin(), bytes.end(), ends));
      const auto size = static_cast<std::int64_t>(bytes.size());
      if (!Charge(static_cast<std::int64_t>(count * sizeof(T)) -
                  std::min<std::int64_t>(size, static_cast<std::int64_t>(count * sizeof(T))))) {
        return false;
      }
      values->reserve(values->size() + count);
      const char* const end = std::exchange(end_, at_);
      at_ -= bytes.size();
      while (at_ < end_) {
        if (!ReadNumber(&values->emplace_back())) return false;
      }
      end_ = end;
      return true;
    }
  }

  template <typename M>
  bool ReadInner(M* message) {
    std::string_view bytes;
    if (!ReadBytes(&bytes)) return false;
    if (depth_ >= kMaxMessageDepth) return RefuseDepth();
    ++depth_;
    const char* const end = std::exchange(end_, at_);
    at_ -= bytes.size();
    if (!ReadMessage(message)) return false;
    end_ = end;
    --depth_;
    return true;
  }

  const char* begin_;
  const char* at_;
  const char* end_;  // of the innermost message
  int depth_ = 0;
  std::int64_t room_;  // what is left of the memory for fields
  std::string reason_;
};

}  // namespace

bool ParseMessage(std::string_view bytes, pb::ModelProto* model, WireError* error,
                  std::int64_t max_message_bytes) {
  Parser parser(bytes, max_message_bytes);
  if (parser.ReadMessage(model)) return true;
  *error = std::move(parser).Error();
  return false;
}

}  // namespace neap::formats::onnx
