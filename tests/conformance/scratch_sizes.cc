// SPDX-License-Identifier: Apache-2.0
//
// Prints Neap's sizes of scratch for test_kernel_libraries.py, which compiles this file. A line of
// input is a function, the instruction set and its numbers; a line of output is a size in bytes.
#include <cstdint>
#include <iostream>
#include <map>
#include <string>

#include "neap/target/cmsis_nn.h"
#include "neap/target/esp_nn.h"

namespace {

using neap::target::Convolution;
using neap::target::Simd;

Convolution Read(std::istream& in) {
  Convolution c;
  in >> c.batches >> c.in.height >> c.in.width >> c.in_channels >> c.filter.height >>
      c.filter.width >> c.out.height >> c.out.width >> c.out_channels >> c.stride.height >>
      c.stride.width >> c.dilation.height >> c.dilation.width >> c.padding.height >>
      c.padding.width;
  return c;
}

std::int64_t SizeOf(const std::string& function, Simd simd, std::istream& in) {
  using namespace neap::target;
  if (function == "cmsis.conv_s8") return cmsis_nn::ConvolveS8(simd, Read(in));
  if (function == "cmsis.conv_s16") return cmsis_nn::ConvolveS16(simd, Read(in));
  if (function == "cmsis.depthwise_s8") return cmsis_nn::DepthwiseS8(simd, Read(in));
  if (function == "cmsis.depthwise_s4") return cmsis_nn::DepthwiseS4(simd, Read(in));
  if (function == "cmsis.transpose_s8") return cmsis_nn::TransposeConvS8(simd, Read(in));
  if (function == "cmsis.reverse_s8") return cmsis_nn::TransposeConvReverseS8(Read(in));
  if (function == "esp.conv_s8") return esp_nn::ConvolveS8(Read(in));
  if (function == "esp.depthwise_s8") return esp_nn::DepthwiseS8(Read(in));
  std::int64_t number = 0;
  in >> number;
  if (function == "cmsis.average_pool") return cmsis_nn::AveragePool(simd, number);
  if (function == "cmsis.fully_connected_s8") return cmsis_nn::FullyConnectedS8(simd, number);
  if (function == "cmsis.svdf_s8") return cmsis_nn::SvdfS8(simd, number);
  if (function == "esp.softmax_s8") return esp_nn::SoftmaxS8(number);
  return -1;
}

}  // namespace

int main() {
  const std::map<std::string, Simd> simds = {
      {"SCALAR", Simd::kNone}, {"DSP", Simd::kDsp}, {"MVE", Simd::kMve}, {"S3", Simd::kEsp32S3}};
  std::string function;
  std::string simd;
  while (std::cin >> function >> simd) {
    std::cout << SizeOf(function, simds.at(simd), std::cin) << '\n';
  }
}
