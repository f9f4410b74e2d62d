// SPDX-License-Identifier: Apache-2.0
//
// The files page.css and memory.js as strings. Private to neap/show/picture.
#pragma once

namespace neap::picture {

extern const char* const kPageStyle;
// Defines neapMemory(top, data).
extern const char* const kMemoryScript;

}  // namespace neap::picture
