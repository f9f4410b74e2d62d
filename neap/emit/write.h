// SPDX-License-Identifier: Apache-2.0
//
// A program as C. Private to neap/emit.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "neap/base/result.h"
#include "neap/emit/emit.h"
#include "neap/emit/program.h"

namespace neap::emit {

// What the comments of the files name.
struct Origin {
  std::string neap_version;
  std::string model;
  std::string model_sha256;
  std::string plan_sha256;
  std::vector<std::string> memories;  // names; empty: one memory
};

// The end of the arena, behind the plan's bytes and scratch.
struct Extra {
  std::int64_t state = 0;  // offset
  std::int64_t arena_bytes = 0;
};

std::string HeaderText(const Program& program, const Origin& origin, const Extra& extra,
                       const Options& options);
// Fails where a number exceeds its field.
Result<std::string> SourceText(const Program& program, const Origin& origin, const Extra& extra,
                               const Options& options);
// Of the runtime's drivers and kernels that the program names.
std::set<std::string> FunctionsOf(const Program& program);
// Whether kernels of it are those of KernelSet::kMve.
bool HasMve(const Program& program);
// Whether it calls CMSIS-NN.
bool HasCmsisNn(const Program& program);
// Whether kernels of it call functions of floats of the C library.
bool HasFloats(const Program& program);
// Whether kernels of it get weights from slow memory.
bool HasSlowWeights(const Program& program);
// The header, the source, and the files of the runtime for `functions`.
std::vector<File> FilesOf(const std::string& header, const std::string& source,
                          const std::set<std::string>& functions, const Program& program,
                          const Options& options);

// Of received plans (network.h). Fails where a number exceeds its field.
struct Network;
Result<Emitted> WriteNetwork(const Network& network, const Program& program, const Origin& origin,
                             const Options& options);
// `body` between the first comment, the guard and its end.
std::string HeaderAround(const Origin& origin, const Options& options, const std::string& body);
std::string PortMacros(const std::string& name, const Port& port);
// A C expression for its address in `memory`; `qualifier`: "const " or "".
std::string PointerTo(const Port& port, const std::string& memory, const std::string& qualifier);
// The lines that include the headers of the runtime behind neap_rt.h.
std::string RuntimeIncludes(const Program& program);

// The bytes of Options::binary_weights.
std::string WeightsOf(const Program& program);

// "VWW" of "vww".
std::string UpperOf(const std::string& text);
// Text for a comment: one line, without an end of the comment.
std::string CommentOf(const std::string& text);
// The parameters of a function that gets all memories, then external inputs: "void *arena, const
// int8_t *input"; `qualifier` before each memory.
std::string ArgumentsOf(const Program& program, const Origin& origin, bool externals);
std::string PortName(const std::string& what, const std::vector<Port>& ports, std::size_t index);
std::string MemoryName(const Program& program, const Origin& origin, std::size_t index);
bool IsFed(const Program& program);
bool IsExternal(const Port& port);

}  // namespace neap::emit
