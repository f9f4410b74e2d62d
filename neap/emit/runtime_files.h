// SPDX-License-Identifier: Apache-2.0
//
// The files of runtime/, which are in the program as data. Private to neap/emit.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>

namespace neap::emit {

struct RuntimeFile {
  std::string_view name;  // "neap_rt.h"
  std::string_view text;
};

// All of them, by name. Made at build time.
std::span<const RuntimeFile> RuntimeFiles();

// The names of the files that contain `functions`, with all that those need. The function neap_x is
// in neap_x.c; the engine and the header are always there.
std::set<std::string> RuntimeFilesOf(const std::set<std::string>& functions);
std::string_view TextOf(const std::string& name);
// neap_rt.h. `little_flash`: where the size of drivers counts more than their speed.
std::string MainHeader(bool little_flash);

// The runtime and the tables of a program as one file: names that begin with neap_ get the prefix
// of the program, so that several such files can be linked into one program.
std::string SingleFile(const std::string& tables, const std::set<std::string>& files,
                       const std::string& prefix, bool little_flash);

}  // namespace neap::emit
