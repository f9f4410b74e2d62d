// SPDX-License-Identifier: Apache-2.0
//
// Values of the fields of protocol buffer messages. Private to neap/formats/onnx.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace neap::formats::onnx::pb {

// A value on the heap, absent at first, that copies as a value. `T` may be incomplete where a Box
// is a member.
template <typename T>
class Box {
 public:
  Box() = default;
  Box(const Box& other) : value_(other.value_ ? std::make_unique<T>(*other.value_) : nullptr) {}
  Box(Box&& other) noexcept = default;
  Box& operator=(const Box& other) {
    if (this != &other) value_ = other.value_ ? std::make_unique<T>(*other.value_) : nullptr;
    return *this;
  }
  Box& operator=(Box&& other) noexcept = default;
  ~Box() = default;

  explicit operator bool() const { return value_ != nullptr; }
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return value_.get(); }
  const T* operator->() const { return value_.get(); }
  // The value, created if it is absent.
  T& Make() {
    if (!value_) value_ = std::make_unique<T>();
    return *value_;
  }
  void Clear() { value_.reset(); }

 private:
  std::unique_ptr<T> value_;
};

// A string or bytes: a view of the parsed file, which must outlive it, or its own copy.
class Text {
 public:
  Text() = default;  // absent
  explicit Text(std::string text) { *this = std::move(text); }
  // A view.
  static Text Of(std::string_view bytes) {
    Text text;
    text.data_ = bytes.data();
    text.size_ = bytes.size();
    return text;
  }
  Text& operator=(std::string text) {
    own_.Make() = std::move(text);
    return *this;
  }

  // Present and empty are different things in a file.
  bool present() const { return data_ != nullptr || own_; }
  std::string_view view() const {
    return own_ ? std::string_view(*own_) : std::string_view(data_, size_);
  }
  std::string str() const { return std::string(view()); }
  bool empty() const { return view().empty(); }
  std::size_t size() const { return view().size(); }
  const char* data() const { return view().data(); }

  void Append(std::string_view bytes) {
    if (!own_) own_.Make() = std::string(data_, size_);
    own_->append(bytes);
  }
  void Clear() { *this = Text(); }

  friend bool operator==(const Text& a, std::string_view b) { return a.view() == b; }

 private:
  const char* data_ = nullptr;
  std::size_t size_ = 0;
  Box<std::string> own_;
};

// A message that Neap does not read: its bytes as in the file. Several of them in the place of one
// are one message, whose bytes follow one another.
struct Unread {
  Text bytes;
};

// Numbers that are written as one run of bytes. Both forms are read.
template <typename T>
struct Packed {
  std::vector<T> values;
};

// Fields that the message has in the file and not in its declaration, with their tags.
using Unknown = Box<std::string>;

}  // namespace neap::formats::onnx::pb
