// SPDX-License-Identifier: Apache-2.0
//
// Constants of a model: their type and shape, and the values of the small ones. Private to
// neap/formats/onnx.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "neap/base/result.h"
#include "neap/formats/onnx/model.h"
#include "neap/graph/graph.h"

namespace neap::formats::onnx {

// Constants with more elements keep type and shape only: weights cost no activation bytes, and no
// shape arithmetic reads them.
inline constexpr std::int64_t kMaxConstantElements = 4096;

// The files beside the model with the data of its constants. Nothing outside the folder of the
// model is ever opened.
class ExternalData {
 public:
  // `weights`: constants of any size keep their data.
  ExternalData(const std::string& model_path, bool weights);
  bool weights() const { return weights_; }

  // The `wanted` bytes that `tensor` refers to; nullopt: missing, or wanted is 0, which only checks
  // the path. An error: a path outside the folder.
  Result<std::optional<std::vector<std::byte>>> Read(const pb::TensorProto& tensor,
                                                     std::int64_t wanted);
  // A line on the location of the data, if there is any, and one for every missing file.
  void Report(std::vector<std::string>* notes) const;

 private:
  bool Usable(const std::string& location);

  std::filesystem::path folder_;
  bool weights_;
  std::map<std::string, bool> usable_;
  std::map<std::string, std::int64_t> missing_;  // constants that lack data, by file
};

// Type, shape, `constant`, and the data of small constants; of all constants if the external data
// requires it. Does not change the name.
Status ReadConstant(const pb::TensorProto& proto, ExternalData* external, graph::Tensor* tensor);

}  // namespace neap::formats::onnx
