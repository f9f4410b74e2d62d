// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <utility>
#include <vector>

namespace neap {

// An index that cannot be mixed up with an index of another kind. Default: no such thing (-1).
template <typename Tag>
class Id {
 public:
  constexpr Id() = default;
  constexpr explicit Id(std::int32_t value) : value_(value) {}
  constexpr explicit Id(std::size_t value) : value_(static_cast<std::int32_t>(value)) {}
  constexpr std::int32_t value() const { return value_; }
  constexpr std::size_t index() const { return static_cast<std::size_t>(value_); }
  constexpr bool valid() const { return value_ >= 0; }
  friend constexpr auto operator<=>(Id, Id) = default;

 private:
  std::int32_t value_ = -1;
};

// A vector that is indexed by one kind of id only.
template <typename IdType, typename T>
class IdVector {
 public:
  IdVector() = default;
  explicit IdVector(std::size_t size, const T& value = T()) : items_(size, value) {}
  IdVector(std::initializer_list<T> items) : items_(items) {}
  decltype(auto) operator[](IdType id) { return items_[id.index()]; }
  decltype(auto) operator[](IdType id) const { return items_[id.index()]; }
  std::size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  bool Has(IdType id) const { return id.valid() && id.index() < items_.size(); }
  void resize(std::size_t size) { items_.resize(size); }
  void reserve(std::size_t size) { items_.reserve(size); }
  IdType push_back(T item) {
    items_.push_back(std::move(item));
    return IdType(items_.size() - 1);
  }
  T& back() { return items_.back(); }
  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }

  // for (TensorId id : tensors.Ids())
  class IdRange {
   public:
    class Iterator {
     public:
      explicit Iterator(std::size_t at) : at_(at) {}
      IdType operator*() const { return IdType(at_); }
      Iterator& operator++() {
        ++at_;
        return *this;
      }
      bool operator!=(const Iterator& other) const { return at_ != other.at_; }

     private:
      std::size_t at_;
    };
    explicit IdRange(std::size_t size) : size_(size) {}
    Iterator begin() const { return Iterator(0); }
    Iterator end() const { return Iterator(size_); }

   private:
    std::size_t size_;
  };
  IdRange Ids() const { return IdRange(items_.size()); }
  const std::vector<T>& Items() const { return items_; }

 private:
  std::vector<T> items_;
};

template <typename Tag>
bool Contains(const std::vector<Id<Tag>>& list, Id<Tag> id) {
  return std::find(list.begin(), list.end(), id) != list.end();
}

}  // namespace neap

template <typename Tag>
struct std::hash<neap::Id<Tag>> {
  std::size_t operator()(neap::Id<Tag> id) const noexcept {
    return std::hash<std::int32_t>()(id.value());
  }
};
