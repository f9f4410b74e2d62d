// SPDX-License-Identifier: Apache-2.0
/// @file
/// Neap for C++17 and later: the C interface of neap_c.h with types that own their handles.
/// neap_c.h documents the behaviour of each function. Needs neither exceptions nor run-time type
/// information.
///
///   auto model = neap::api::Model::Read("model.tflite");
///   if (!model) return Complain(model.error());
///   auto plan = neap::api::Plan::Make(*model, neap::api::Options().Set("budget", "256KiB"));
///   if (plan && plan->Check(*model)) Save(*plan->WriteModel(*model));
///
/// Dereference a Result only after testing that it is true. Models, options and plans can be moved
/// but not copied; a moved-from object may only be destroyed or assigned to.
#ifndef NEAP_NEAP_H
#define NEAP_NEAP_H

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "neap_c.h"

namespace neap::api {

/// Why an operation failed.
struct Error {
  neap_code code = NEAP_OK;  ///< its kind
  std::string message;       ///< one line
};

/// A value, or the error that prevented it.
template <typename T>
class [[nodiscard]] Result {
 public:
  /// Success.
  Result(T value) : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor)
  /// Failure.
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  /// Whether there is a value.
  explicit operator bool() const { return value_.has_value(); }
  /// The value; requires success.
  T& operator*() { return *value_; }
  /// The value; requires success.
  const T& operator*() const { return *value_; }
  /// The value; requires success.
  T* operator->() { return &*value_; }
  /// The value; requires success.
  const T* operator->() const { return &*value_; }
  /// The error; NEAP_OK after success.
  const Error& error() const { return error_; }

 private:
  std::optional<T> value_;
  Error error_;
};

/// Success, or an error.
class [[nodiscard]] Status {
 public:
  /// Success.
  Status() = default;
  /// Failure.
  Status(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  /// Whether it is a success.
  explicit operator bool() const { return error_.code == NEAP_OK; }
  /// The error; NEAP_OK after success.
  const Error& error() const { return error_; }

 private:
  Error error_;
};

namespace internal {

template <typename Handle, void (*kFree)(Handle*)>
struct Freer {
  void operator()(Handle* handle) const { kFree(handle); }
};
template <typename Handle, void (*kFree)(Handle*)>
using Owned = std::unique_ptr<Handle, Freer<Handle, kFree>>;

using OwnedBytes = Owned<neap_bytes, neap_bytes_free>;

inline Error Take(neap_error* error) {
  Error out{neap_error_code(error), neap_error_message(error)};
  neap_error_free(error);
  return out;
}

inline Result<std::string> TakeBytes(neap_bytes* bytes, neap_error* error) {
  if (bytes == nullptr) return Take(error);
  const OwnedBytes owned(bytes);
  return std::string(neap_bytes_data(bytes), neap_bytes_size(bytes));
}

inline std::vector<const char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<const char*> pointers;
  pointers.reserve(texts.size());
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  return pointers;
}

}  // namespace internal

/// A model file: its bytes and its graph.
class Model {
 public:
  /// Reads a file. `dims`: values of symbolic dimensions, such as "batch=1".
  static Result<Model> Read(const std::string& path, const std::vector<std::string>& dims = {}) {
    const auto pointers = internal::Pointers(dims);
    neap_error* error = nullptr;
    neap_model* const model = neap_model_read(path.c_str(), pointers.data(), dims.size(), &error);
    if (model == nullptr) return internal::Take(error);
    return Model(model);
  }
  /// Reads a model from memory, which is copied.
  static Result<Model> Parse(std::string_view bytes, const std::string& name,
                             const std::vector<std::string>& dims = {}) {
    const auto pointers = internal::Pointers(dims);
    neap_error* error = nullptr;
    neap_model* const model = neap_model_parse(bytes.data(), bytes.size(), name.c_str(),
                                               pointers.data(), dims.size(), &error);
    if (model == nullptr) return internal::Take(error);
    return Model(model);
  }

  /// The number of operators of the main graph.
  std::size_t num_operators() const { return neap_model_num_operators(handle_.get()); }
  /// For functions of neap_c.h; owned by this object.
  const neap_model* handle() const { return handle_.get(); }

 private:
  explicit Model(neap_model* handle) : handle_(handle) {}
  internal::Owned<neap_model, neap_model_free> handle_;
};

/// Options by name. The first error is kept, and Plan::Make() and Fits() fail with it.
class Options {
 public:
  Options() : handle_(neap_options_new()) {}
  /// Sets one option. The value of a flag is "".
  Options& Set(const std::string& name, const std::string& value = "") & {
    neap_error* error = nullptr;
    if (neap_options_set(handle_.get(), name.c_str(), value.c_str(), &error) == NEAP_OK) {
      return *this;
    }
    Error taken = internal::Take(error);
    if (error_.code == NEAP_OK) error_ = std::move(taken);
    return *this;
  }
  /// Sets one option of a temporary object.
  Options&& Set(const std::string& name, const std::string& value = "") && {
    return std::move(static_cast<Options&>(*this).Set(name, value));
  }
  /// The first error; NEAP_OK without one.
  const Error& error() const { return error_; }
  /// For functions of neap_c.h; owned by this object.
  const neap_options* handle() const { return handle_.get(); }

 private:
  internal::Owned<neap_options, neap_options_free> handle_;
  Error error_;
};

/// C99 source files and what they require.
struct Sources {
  /// A file.
  struct File {
    std::string name;  ///< relative to the output folder, with '/'
    std::string text;  ///< its content
  };
  std::vector<File> files;       ///< in the order of their names
  std::int64_t arena_bytes = 0;  ///< activations, lines, scratch, state
  std::int64_t stack_bytes = 0;  ///< the maximum of a run, with the compiler that the header names
};

/// A plan: the order of the operators, the offset of each tensor, proven bounds, and the edits of
/// the graph.
class Plan {
 public:
  /// The best plan found within the limits of `options`, checked: neap_plan_make().
  static Result<Plan> Make(const Model& model, const Options& options = Options()) {
    if (options.error().code != NEAP_OK) return options.error();
    neap_error* error = nullptr;
    neap_plan* const plan = neap_plan_make(model.handle(), options.handle(), &error);
    if (plan == nullptr) return internal::Take(error);
    return Plan(plan);
  }
  /// Reads a plan.json: neap_plan_parse().
  static Result<Plan> Parse(std::string_view json) {
    neap_error* error = nullptr;
    neap_plan* const plan = neap_plan_parse(json.data(), json.size(), &error);
    if (plan == nullptr) return internal::Take(error);
    return Plan(plan);
  }

  /// The bytes to reserve for activations: neap_plan_arena_bytes().
  std::int64_t arena_bytes() const { return neap_plan_arena_bytes(handle_.get()); }
  /// A proven lower bound of the arena: neap_plan_lower_bound_bytes().
  std::int64_t lower_bound_bytes() const { return neap_plan_lower_bound_bytes(handle_.get()); }
  /// The largest sum of live bytes over all steps.
  std::int64_t peak_bytes() const { return neap_plan_peak_bytes(handle_.get()); }
  /// Whether no order and no placement of the planned graph needs less.
  bool is_optimal() const { return neap_plan_is_optimal(handle_.get()) == 1; }
  /// The arena of the given model in file order; -1: unknown.
  std::int64_t file_order_arena_bytes() const {
    return neap_plan_file_order_arena_bytes(handle_.get());
  }
  /// The total arena of TensorFlow Lite Micro on a Cortex-M; -1: unknown.
  std::int64_t total_arena_bytes() const { return neap_plan_total_arena_bytes(handle_.get()); }
  /// Whether the plan is within all budgets; nullopt: its need is unknown.
  std::optional<bool> fits() const {
    const int fits = neap_plan_fits(handle_.get());
    return fits < 0 ? std::nullopt : std::optional<bool>(fits == 1);
  }
  /// Such as "rewritten and tiles": neap_plan_kind().
  std::string kind() const { return neap_plan_kind(handle_.get()); }

  /// The plan as plan.json.
  Result<std::string> Json() const {
    neap_error* error = nullptr;
    neap_bytes* const bytes = neap_plan_json(handle_.get(), &error);
    return internal::TakeBytes(bytes, error);
  }
  /// Checks the plan with code that shares nothing with the planner: neap_check().
  Status Check(const Model& model) const {
    neap_error* error = nullptr;
    if (neap_check(model.handle(), handle_.get(), &error) == NEAP_OK) return {};
    return internal::Take(error);
  }
  /// The planned model as the bytes of a file: neap_write_model().
  Result<std::string> WriteModel(const Model& model) const {
    neap_error* error = nullptr;
    neap_bytes* const bytes = neap_write_model(model.handle(), handle_.get(), &error);
    return internal::TakeBytes(bytes, error);
  }
  /// Executes the planned model and returns the bytes of each output: neap_run().
  Result<std::vector<std::string>> Run(const Model& model, const std::vector<std::string>& inputs,
                                       std::size_t num_outputs) const {
    std::vector<neap_span> spans;
    spans.reserve(inputs.size());
    for (const std::string& input : inputs) spans.push_back({input.data(), input.size()});
    std::vector<neap_bytes*> outputs(num_outputs, nullptr);
    neap_error* error = nullptr;
    const neap_code code = neap_run(model.handle(), handle_.get(), spans.data(), spans.size(),
                                    outputs.data(), num_outputs, &error);
    if (code != NEAP_OK) return internal::Take(error);
    std::vector<std::string> out;
    for (neap_bytes* const bytes : outputs) {
      out.push_back(*internal::TakeBytes(bytes, nullptr));
    }
    return out;
  }
  /// C99 that runs the planned model in its arena: neap_emit_c().
  Result<Sources> EmitC(const Model& model, const std::string& prefix = "",
                        bool single_file = false) const {
    neap_error* error = nullptr;
    const internal::Owned<neap_sources, neap_sources_free> made(
        neap_emit_c(model.handle(), handle_.get(), prefix.c_str(), single_file ? 1 : 0, &error));
    if (made == nullptr) return internal::Take(error);
    Sources sources;
    for (std::size_t i = 0; i < neap_sources_count(made.get()); ++i) {
      sources.files.push_back({neap_sources_name(made.get(), i), neap_sources_text(made.get(), i)});
    }
    sources.arena_bytes = neap_sources_arena_bytes(made.get());
    sources.stack_bytes = neap_sources_stack_bytes(made.get());
    return sources;
  }
  /// For functions of neap_c.h; owned by this object.
  const neap_plan* handle() const { return handle_.get(); }

 private:
  explicit Plan(neap_plan* handle) : handle_(handle) {}
  internal::Owned<neap_plan, neap_plan_free> handle_;
};

/// Whether some order has a peak of at most `budget_bytes`; nullopt: the limits ended the search
/// first.
inline Result<std::optional<bool>> Fits(const Model& model, std::int64_t budget_bytes,
                                        const Options& options = Options()) {
  if (options.error().code != NEAP_OK) return options.error();
  neap_error* error = nullptr;
  const int fits = neap_fits(model.handle(), budget_bytes, options.handle(), &error);
  if (fits == -2) return internal::Take(error);
  return fits < 0 ? std::optional<bool>() : std::optional<bool>(fits == 1);
}

}  // namespace neap::api

#endif  // NEAP_NEAP_H
