// SPDX-License-Identifier: Apache-2.0
//
// node run_program.js BUILD OUT INPUT -- ARGS: one run of BUILD/neap.wasm as the page's worker does it, with the
// file INPUT, its files in the folder OUT, its text on standard output. The last line on standard error
// is JSON: seconds.
"use strict";
const fs = require("fs");
const path = require("path");

const [build, out, input, , ...args] = process.argv.slice(2);
const here = path.dirname(__filename);
const source = name => fs.readFileSync(path.join(here, "../../web/page", name), "utf8");
const runNeap = new Function(source("program.js") + "; return runNeap;")();
const expanded = new Function(source("gzip.js") + "; return expanded;")();
const createNeap = require(path.resolve(build, "neap.js"));

async function main() {
  const wasm = await WebAssembly.compile(fs.readFileSync(path.join(build, "neap.wasm")));
  const inputs = input === "" ? {} : {[path.basename(input)]: await expanded(new Uint8Array(fs.readFileSync(input)))};
  const start = process.hrtime.bigint();
  const result = await runNeap(createNeap, wasm, args, inputs, () => {});
  const seconds = Number(process.hrtime.bigint() - start) / 1e9;
  for (const [name, bytes] of Object.entries(result.files)) {
    fs.mkdirSync(path.dirname(path.join(out, name)), {recursive: true});
    fs.writeFileSync(path.join(out, name), bytes);
  }
  process.stdout.write(result.out);
  process.stderr.write((result.err === "" ? "" : result.err + "\n") + JSON.stringify({seconds}) + "\n");
  process.exitCode = result.code;
}
main();
