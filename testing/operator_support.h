// SPDX-License-Identifier: Apache-2.0
//
// Which operators tiles, streams and emitted C cut, found by trying: random operators of every kind
// that Neap's executor has a kernel for.
#pragma once

#include <string>

namespace neap::property {

// Rows of a table of Markdown, without its head: operators with the same support, the axes of tiles
// for stock runtimes, those of streams, and what emitted C does. `onnx`: of .onnx, without the last
// column. Deterministic.
std::string SupportRows(bool onnx);

}  // namespace neap::property
