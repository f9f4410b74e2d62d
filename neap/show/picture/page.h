// SPDX-License-Identifier: Apache-2.0
//
// The frame of every page: one file, no network, light and dark, printable. Private to
// neap/picture.
#pragma once

#include <string>

namespace neap::picture {

struct PageParts {
  std::string title;   // escaped
  std::string body;    // markup
  std::string json;    // data for the script and for tests, as <script id="neap-data">; may be ""
  std::string script;  // may be ""
};

std::string Page(const PageParts& parts);

}  // namespace neap::picture
