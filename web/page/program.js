// SPDX-License-Identifier: Apache-2.0
//
// One run of the program `neap` with files in memory. The worker of the page and the tests without a
// browser include it. createNeap() is emscripten's loader of neap.wasm.
"use strict";

// A byte at a time, as a terminal gets it: the report in whole, progress line by line. Progress lines
// begin with a carriage return and an erasing escape sequence.
function collector(onLine) {
  const bytes = [];
  let line = [];
  return {
    put(byte) {
      bytes.push(byte);
      if (byte !== 10 && byte !== 13) {
        line.push(byte);
        return;
      }
      const text = decodeText(line).replace(/\x1b\[[0-9;]*[A-Za-z]/g, "").trim();
      line = [];
      if (text !== "") onLine(text);
    },
    flush() {
      this.put(10);
      bytes.pop();
    },
    text: () => decodeText(bytes),
  };
}

function decodeText(bytes) {
  return new TextDecoder().decode(new Uint8Array(bytes));
}

// Progress and escape sequences taken out: what a terminal shows in the end.
function withoutProgress(text) {
  return text.split("\n").map(line => line.slice(line.lastIndexOf("\r") + 1)
    .replace(/\x1b\[[0-9;]*[A-Za-z]/g, "")).filter(line => line !== "").join("\n");
}

// The files below `path`, by their names relative to it.
function filesBelow(fs, path, prefix = "") {
  const found = {};
  for (const name of fs.readdir(path)) {
    if (name === "." || name === "..") continue;
    const whole = path + "/" + name;
    if (fs.isDir(fs.stat(whole).mode)) Object.assign(found, filesBelow(fs, whole, prefix + name + "/"));
    else found[prefix + name] = fs.readFile(whole);
  }
  return found;
}

// `wasm`: a WebAssembly.Module. `inputs`: {name: Uint8Array}, in the folder where the program runs.
// `onProgress(text)`: a line of progress. The result: {code, out, err, files}, files: those that the
// program has written there, by name.
async function runNeap(createNeap, wasm, args, inputs, onProgress) {
  const out = collector(() => {});
  const err = collector(onProgress);
  const neap = await createNeap({
    noInitialRun: true,
    quit: (_, status) => { throw status; },
    // Messages of emscripten itself, such as that of a full memory.
    print: text => { for (const c of new TextEncoder().encode(text + "\n")) out.put(c); },
    printErr: text => { for (const c of new TextEncoder().encode(text + "\n")) err.put(c); },
    instantiateWasm(imports, done) {
      const instance = new WebAssembly.Instance(wasm, imports);
      done(instance);
      return instance.exports;
    },
  });
  const fs = neap.FS;
  for (const [number, to] of [[1, out], [2, err]]) {
    const terminal = fs.streams[number].tty;
    terminal.ops = {...terminal.ops, put_char: (_, byte) => to.put(byte), flush() {}, fsync() {}};
  }
  fs.mkdir("/work");
  fs.chdir("/work");
  for (const [name, bytes] of Object.entries(inputs)) fs.writeFile(name, bytes);
  let code = 1;
  try {
    code = neap.callMain(args);
  } catch (error) {
    if (error && error.name === "ExitStatus") code = error.status;
    else {
      const memory = error instanceof RangeError || /memory/i.test(String(error));
      for (const c of new TextEncoder().encode("\nneap: " +
        (memory ? "the browser's memory is not enough" : "failed: " + error) + "\n")) err.put(c);
    }
  }
  err.flush();
  const files = filesBelow(fs, "/work");
  for (const name of Object.keys(inputs)) delete files[name];
  return {code, out: out.text(), err: withoutProgress(err.text()), files};
}
