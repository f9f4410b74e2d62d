// SPDX-License-Identifier: Apache-2.0
#include "neap/show/picture/page.h"

#include "neap/show/picture/svg.h"

namespace neap::picture {
namespace {

// Eight hues that differ in lightness as well, for readers who cannot distinguish all colours; each
// has a contrast of at least 3 to 1 with the card, text at least 4.5 to 1.
constexpr const char* kStyle = R"css(
:root{color-scheme:light dark;--page:#fbfbf9;--card:#fff;--ink:#1c1e21;--soft:#5d6470;--line:#d5d8dc;
--accent:#0b63b0;--area:#b5d1eb;--bad:#b3261e;--good:#20713a;--edge:#fff;
--c0:#33608f;--c1:#d9622b;--c2:#2f8f63;--c3:#a68a00;--c4:#8a3f72;--c5:#1f95bd;--c6:#7a5a3f;--c7:#5f6873}
@media(prefers-color-scheme:dark){:root{--page:#14161a;--card:#1b1e23;--ink:#e7e9ec;--soft:#a0a8b4;
--line:#383e47;--accent:#7db8f0;--area:#31587c;--bad:#ff8a80;--good:#7fd39a;--edge:#14161a;
--c0:#5b8fc4;--c1:#d97a58;--c2:#4fae80;--c3:#b3a43a;--c4:#b86a9a;--c5:#4fb0d0;--c6:#a8876a;--c7:#7d8794}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1.5rem clamp(.8rem,3vw,2.5rem) 3rem;max-width:84rem;background:var(--page);
color:var(--ink);font:1rem/1.5 system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
h1{font-size:1.45rem;margin:.2rem 0 .4rem;overflow-wrap:anywhere;line-height:1.25}
p,figcaption,summary,#verdict{overflow-wrap:anywhere}
h2{font-size:1.15rem;margin:2rem 0 .5rem}h3{font-size:1rem;margin:1.2rem 0 .3rem}
p{margin:.4rem 0 .8rem;max-width:62rem}.soft{color:var(--soft);font-size:.9rem}
.big{font-size:1.15rem;font-weight:600}.bad{color:var(--bad)}.good{color:var(--good)}
code{font-family:ui-monospace,"DejaVu Sans Mono",monospace;font-size:.9em;overflow-wrap:anywhere}
.runs{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,34rem),1fr));gap:1.2rem}
.card{background:var(--card);border:1px solid var(--line);border-radius:.5rem;padding:.8rem 1rem;min-width:0}
.card h2{margin:.1rem 0 .3rem}
figure{margin:.6rem 0 1rem}figcaption{color:var(--soft);font-size:.9rem;margin-bottom:.2rem}
.scroll:focus-visible,summary:focus-visible,input:focus-visible,button:focus-visible,a:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
.chart{font:13px system-ui,"DejaVu Sans",sans-serif}
svg text{fill:var(--soft)}svg .strong{fill:var(--ink);font-weight:600;paint-order:stroke;stroke:var(--card);stroke-width:4px;stroke-linejoin:round}
.plane{display:block;overflow:visible}.thin{vector-effect:non-scaling-stroke}.ground{fill:none;pointer-events:all}
.axis{stroke:var(--line);stroke-width:1}.area{fill:var(--area)}.top{fill:none;stroke:var(--accent);stroke-width:1.5}
.peak{fill:var(--bad);stroke:var(--bad)}.bound{stroke:var(--good);stroke-dasharray:2 3}.budget{stroke:var(--bad);stroke-width:1.5;stroke-dasharray:7 4}
.over{fill:var(--bad);opacity:.55}.cursor{fill:var(--ink);stroke:var(--ink);opacity:.16}
.b{stroke:var(--edge);stroke-width:.7}.dense .b{stroke:none}.b.lit,.dense .b.lit{stroke:var(--ink);stroke-width:2}
.c0{fill:var(--c0)}.c1{fill:var(--c1)}.c2{fill:var(--c2)}.c3{fill:var(--c3)}.c4{fill:var(--c4)}.c5{fill:var(--c5)}.c6{fill:var(--c6)}.c7{fill:var(--c7)}
.l0{stroke:var(--c0)}.l1{stroke:var(--c1)}.l2{stroke:var(--c2)}.l3{stroke:var(--c3)}.l4{stroke:var(--c4)}.l5{stroke:var(--c5)}.l6{stroke:var(--c6)}.l7{stroke:var(--c7)}
.curve{fill:none;stroke-width:2}
.scroll{overflow-x:auto}table{border-collapse:collapse;font-size:.9rem;margin:.3rem 0 1rem;font-variant-numeric:tabular-nums}
th,td{padding:.22rem .55rem;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}
th{font-weight:600;border-bottom:2px solid var(--line)}td.n,th.n{text-align:right}td.n{white-space:nowrap}th{vertical-align:bottom}th.n{min-width:4.2rem}td:first-child:not(.name){white-space:nowrap}
td.name{overflow-wrap:anywhere;min-width:7rem}td.name span[title]{text-decoration:underline dotted var(--soft)}
@media(max-width:30rem){.card{padding:.6rem .6rem}th,td{padding:.22rem .3rem}th.n{min-width:0}td.name{min-width:5.5rem}td:first-child:not(.name):not(.n){white-space:normal}}
.key{display:flex;flex-wrap:wrap;gap:.2rem 1.1rem;font-size:.9rem;margin:.2rem 0 .5rem}
.key i{display:inline-block;width:.8em;height:.8em;border-radius:.15em;margin-right:.4em;vertical-align:-.05em}
.key .c0{background:var(--c0)}.key .c1{background:var(--c1)}.key .c2{background:var(--c2)}.key .c3{background:var(--c3)}
.key .c4{background:var(--c4)}.key .c5{background:var(--c5)}.key .c6{background:var(--c6)}.key .c7{background:var(--c7)}
.key .rule{width:1.6em;height:0;border-radius:0;vertical-align:.25em;border-top:2px dotted var(--good)}.key .rule.budget{border-top:2px dashed var(--bad)}
.slider,.control{display:none}.js .slider{display:block}.slider input{width:min(100%,40rem);accent-color:var(--accent);display:block}
.js .control{display:flex;flex-wrap:wrap;align-items:center;gap:.3rem .7rem;font-size:.9rem}.control input{flex:1 1 9rem;min-width:0;accent-color:var(--accent)}
button{font:inherit;color:var(--ink);background:var(--page);border:1px solid var(--soft);border-radius:.3rem;padding:.15rem .6rem;cursor:pointer}
.shown{display:none}.js .shown{display:block;min-height:3.2em;margin:.3rem 0;font-size:.9rem;overflow-wrap:anywhere}
nav{font-size:.9rem;display:flex;flex-wrap:wrap;gap:.2rem 1rem;margin:.5rem 0 1rem}a{color:var(--accent)}
summary{cursor:pointer;margin:.4rem 0}
@media print{:root{--page:#fff;--card:#fff;--ink:#000;--soft:#333;--line:#999;--edge:#fff}
body{max-width:none;padding:0}.slider,.control,.shown,.nojsprint{display:none!important}.card{break-inside:avoid;border:0;padding:0}
.runs{grid-template-columns:1fr 1fr}figure,table{break-inside:avoid}
.area,.b,.peak,.c0,.c1,.c2,.c3,.c4,.c5,.c6,.c7{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
)css";

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
      parts.title + "</title>\n<style>" + kStyle + "</style>\n</head>\n<body>\n" + parts.body;
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
