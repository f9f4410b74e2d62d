// SPDX-License-Identifier: Apache-2.0
//
// docs/reference/operators.md has what tiles, streams and emitted C do with every operator.
// NEAP_UPDATE=1 writes the tables into the page.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "testing/operator_support.h"

namespace neap::property {
namespace {

std::string TextOf(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The page with these rows under the table whose head is `head`; "" without such a table.
std::string WithRows(const std::string& page, const std::string& head, const std::string& rows) {
  const std::size_t at = page.find(head);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + head.size();
  std::size_t end = begin;
  while (end < page.size() && page[end] == '|') end = page.find('\n', end) + 1;
  return page.substr(0, begin) + rows + page.substr(end);
}

TEST(OperatorSupport, PageHasTheTables) {
  const char* const source = std::getenv("NEAP_SOURCE_DIR");
  const std::string path =
      std::string(source == nullptr ? "." : source) + "/docs/reference/operators.md";
  const std::string page = TextOf(path);
  const std::string tflite =
      "| operators of .tflite | tiles | streams | emitted C |\n|---|---|---|---|\n";
  const std::string onnx = "| operators of .onnx | tiles | streams |\n|---|---|---|\n";
  const std::string now =
      WithRows(WithRows(page, tflite, SupportRows(false)), onnx, SupportRows(true));
  ASSERT_NE(now, "") << path << " lacks a table";
  if (std::getenv("NEAP_UPDATE") != nullptr) std::ofstream(path) << now;
  EXPECT_EQ(TextOf(path), now) << "run property_test with NEAP_UPDATE=1";
}

}  // namespace
}  // namespace neap::property
