// SPDX-License-Identifier: Apache-2.0
#include "neap/show/picture/page.h"

#include "neap/show/picture/page_files.h"
#include "neap/show/picture/svg.h"

namespace neap::picture {
namespace {

// A failing script reports it in the page, for users and tests.
constexpr const char* kGuard = R"js(
"use strict";
window.addEventListener("error",function(e){document.documentElement.dataset.error=String(e.message)});
)js";

}  // namespace

std::string Page(const PageParts& parts) {
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
      "<title>" +
      parts.title + "</title>\n<style>" + kPageStyle + "</style>\n</head>\n<body>\n" + parts.body;
  if (!parts.json.empty()) {
    out += "\n<script type=\"application/json\" id=\"neap-data\">" + ForScript(parts.json) +
           "</script>\n";
  }
  if (!parts.script.empty()) {
    out += "<script>" + std::string(kGuard) + parts.script + "</script>\n";
  }
  return out + "</body>\n</html>\n";
}

}  // namespace neap::picture
