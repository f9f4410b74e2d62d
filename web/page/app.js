// SPDX-License-Identifier: Apache-2.0
//
// The page: a model from a file or a sample, settings, one plan, and on request the features, the boards
// and the plans of least memory and time. Every result is that of the program's own commands.
"use strict";

(() => {
  const at = id => document.getElementById(id);
  const {element, button} = view;

  // Networks of neap zoo that are made within seconds: name in the link, text, arguments of zoo.
  const SAMPLES = [
    ["ds-cnn", "keyword spotting, DS-CNN, 8 bits", ["ds-cnn", "--int8"]],
    ["resnet8", "image classification, ResNet-8, 8 bits", ["resnet8", "--int8"]],
    ["mobilenet-v1-vww", "person detection, MobileNet v1 0.25, 8 bits", ["mobilenet-v1-vww", "--int8"]],
    ["mobilenet-v2-96", "MobileNet v2 0.35, 96x96, 8 bits",
      ["mobilenet-v2", "--width-multiplier", "0.35", "--resolution", "96", "--int8"]],
    ["swiftnet-cell-a", "a cell of SwiftNet, float", ["swiftnet-cell-a", "--format", "tflite"]],
    ["randwire-cell-ws", "a randomly wired cell of RandWire, float", ["randwire-cell-ws", "--format", "tflite"]],
  ];
  const FIELDS = ["runtime", "board", "budget", "effort", "options"];
  const field = name => at(name === "budget" ? "budget-size" : name);

  let model = null;      // {name, bytes}
  let result = null;     // of the last plan
  let running = new Set();
  let generation = 0;    // of the model and its settings: answers of an older one are dropped

  // --- settings and the link ---

  function settings() {
    return Object.fromEntries(FIELDS.map(name => [name, field(name).value.trim()]));
  }

  // Arguments as the program reads them; quotes keep spaces together.
  function split(text) {
    return [...text.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(m => m[1] ?? m[2] ?? m[3]);
  }

  function planArguments() {
    const now = settings(), args = [];
    for (const name of FIELDS.slice(0, 4)) if (now[name] !== "") args.push("--" + name, now[name]);
    return [...args, ...split(now.options)];
  }

  function fragment() {
    const pairs = Object.entries(settings()).filter(([, value]) => value !== "");
    if (at("sample").value) pairs.push(["sample", at("sample").value]);
    return pairs.map(pair => pair.map(encodeURIComponent).join("=")).join("&");
  }

  function showSettings() {
    at("settings-text").textContent = planArguments().join(" ");
    const text = fragment();
    if (location.hash.slice(1) !== text) history.replaceState(null, "", text === "" ? location.pathname + location.search : "#" + text);
  }

  function readLink() {
    const pairs = new URLSearchParams(location.hash.slice(1));
    for (const name of FIELDS) {
      const control = field(name), value = pairs.get(name) ?? "";
      control.value = value;
      // A value that this list lacks goes to the program, which names it.
      if (control.value !== value) control.append(new Option(value, value, true, true));
    }
    const sample = pairs.get("sample") ?? "";
    at("sample").value = SAMPLES.some(([name]) => name === sample) ? sample : "";
    if (FIELDS.some(name => pairs.get(name))) at("settings").open = true;
    showSettings();
    if (at("sample").value) takeSample();
  }

  // --- runs ---

  function fail(text) {
    at("error").textContent = text;
    at("error").hidden = text === "";
  }

  function showWork() {
    at("work").hidden = running.size === 0;
    at("progress").textContent = [...running].filter(job => job.text !== "").map(job => job.text).join(" · ");
    const share = [...running].map(job => view.share(job.text)).find(found => found !== null) ?? null;
    if (share === null) at("bar").removeAttribute("value");
    else at("bar").value = share;
    at("share").textContent = share === null ? "" : Math.floor(100 * share) + " %";
  }

  function showFirst(text) {
    at("first").textContent = text;
    at("first").hidden = text === "";
  }

  function cancelAll() {
    for (const job of running) job.cancel();
    running.clear();
    showFirst("");
    showWork();
  }

  // One command; its result, or null where it was cancelled or another model has come. Without a title it
  // runs unseen.
  async function run(title, args, inputs) {
    const mine = generation;
    const job = runner.run(args, inputs, text => { if (title !== "") job.text = title + ": " + text; showWork(); });
    job.text = title;
    running.add(job);
    showWork();
    try {
      const done = await job.done;
      return done === runner.CANCELLED || mine !== generation ? null : done;
    } catch (error) {
      if (mine === generation && title !== "") fail(title + ": " + error.message);
      return null;
    } finally {
      running.delete(job);
      showWork();
    }
  }

  // --- the model ---

  const plainName = () => model.name.replace(/\.gz$/i, "");
  const stem = () => plainName().replace(/\.[^.]*$/, "");
  // As the program recognises formats: by content, then by name.
  function format() {
    if (String.fromCharCode(...model.bytes.slice(4, 8)) === "TFL3") return "tflite";
    const found = /\.(onnx|json)$/i.exec(plainName());
    return found ? found[1].toLowerCase() : "tflite";
  }
  const fileName = name => {
    const plain = [...name.split(/[\\/]/).pop()].filter(c => c.codePointAt(0) > 31 && c !== "\x7f").join("");
    return plain === "" || plain.startsWith("-") || plain.startsWith(".") ? "model" + plain : plain;
  };

  function take(name, bytes) {
    model = {name: fileName(name), bytes};
    at("model").textContent = `${model.name}, ${view.count(bytes.length)} bytes` + (/\.gz$/i.test(name) ? " expanded" : "");
    plan();
  }

  // Before another model: the results of the last one disappear.
  function begin() {
    generation++;
    cancelAll();
    fail("");
    at("results").hidden = true;
    at("model").textContent = "";
    model = result = null;
    return generation;
  }

  async function takeFile(file) {
    at("sample").value = "";
    showSettings();
    const mine = begin();
    try {
      const bytes = await expanded(new Uint8Array(await file.arrayBuffer()));
      if (mine === generation) take(file.name, bytes);
    } catch {
      fail(`${file.name} cannot be read.`);
    }
  }

  async function takeSample() {
    const sample = SAMPLES.find(([name]) => name === at("sample").value);
    if (!sample) return;
    begin();
    const name = sample[0] + ".tflite";
    const made = await run("making " + sample[0], ["zoo", ...sample[2], "-o", name, "--quiet"], {});
    if (!made) return;
    if (made.code !== 0) return fail(made.err);
    take(name, made.files[name]);
  }

  // --- the plan ---

  const OVER_BUDGET = 3;

  async function plan() {
    if (!model) return;
    generation++;
    cancelAll();
    fail("");
    at("results").hidden = true;
    result = null;
    const out = stem() + "-planned." + format(), header = stem() + "_arena.h", extra = planArguments();
    const writes = format() === "json" ? [] : ["-o", out, "--emit-c", header];
    const args = ["plan", model.name, ...writes, "--plan", "plan.json", "--html", "memory.html", "--json", ...extra];
    firstAnswer();
    let done = await run("planning", args, {[model.name]: model.bytes});
    showFirst("");
    if (!done) return;
    // Some plans have no model file; the message names the reason.
    let note = "";
    if (done.code === 2 && writes.length > 0 && done.out === "") {
      note = done.err;
      done = await run("planning", args.filter(arg => !writes.includes(arg)), {[model.name]: model.bytes});
      if (!done) return;
    }
    if (done.out === "") {
      fail(done.err);
      offerSymbols(done.err);
      return;
    }
    result = {report: JSON.parse(done.out), files: done.files, out, header};
    if (done.code === OVER_BUDGET || note !== "") fail(done.code === OVER_BUDGET ? done.err : note);
    show(extra);
    if (at("report-box").open) planText();
    explain(true);
  }

  // Beside the plan, a quick one of order and addresses, shown until the plan is there.
  async function firstAnswer() {
    const now = settings(), mine = generation, args = ["plan", model.name, "--json", "--rewrite", "none"];
    for (const name of ["runtime", "board"]) if (now[name] !== "") args.push("--" + name, now[name]);
    const done = await run("", [...args, ...dimensions()], {[model.name]: model.bytes});
    if (!done || done.out === "" || mine !== generation || result !== null || running.size === 0) return;
    showFirst("Order and addresses alone: " + view.headline(JSON.parse(done.out)));
  }

  // Symbols without a size, as the message lists them, with a size of one.
  function offerSymbols(text) {
    const found = /bind every symbol of the inputs: ((?:--dim [^\s=]+=1 ?)+)\)/.exec(text);
    if (!found) return;
    at("error").append(" ", button("Plan with " + found[1], () =>
      setSettings({options: (settings().options + " " + found[1]).trim()})));
  }

  // The options --dim among the further options: every command needs them.
  function dimensions() {
    const args = split(settings().options);
    return args.flatMap((arg, i) => arg === "--dim" ? args.slice(i, i + 2) : arg.startsWith("--dim=") ? [arg] : []);
  }

  // The report as text, when its box is opened.
  async function planText() {
    if (!result || at("report").textContent !== "") return;
    const text = await run("report", ["plan", model.name, "--color", "never", ...planArguments()], {[model.name]: model.bytes});
    if (text) at("report").textContent = text.out;
  }

  function show(extra) {
    at("headline").textContent = view.headline(result.report);
    at("words").replaceChildren();
    at("report").textContent = "";
    at("command").textContent = ["neap plan", model.name, "-o", result.out, ...extra].join(" ");
    view.showMemory(at("map"), new TextDecoder().decode(result.files["memory.html"]));
    offerFiles();
    offer("features-out", "Search the saving of every feature (about 20 seconds)", () => explain(false));
    if (format() === "tflite") offer("boards-out", "Find the boards with enough memory (about 20 seconds)", boards);
    else at("boards-out").replaceChildren(element("p", "Boards run TensorFlow Lite Micro, which reads .tflite alone.", "soft"));
    offer("pareto-out", "Find plans of less memory and more time", pareto);
    at("results").hidden = false;
  }

  function offer(id, text, action) {
    at(id).replaceChildren(button(text, action));
  }

  function setSettings(change) {
    for (const [name, value] of Object.entries(change)) field(name).value = value;
    at("settings").open = true;
    showSettings();
    plan();
    at("answer-title").focus();
  }

  function quoted(word) {
    return /\s/.test(word) ? `"${word}"` : word;
  }

  // --- further questions ---

  async function ask(id, title, args) {
    const into = at(id), kept = [...into.childNodes];
    for (const one of into.querySelectorAll("button")) one.disabled = true;
    const done = await run(title, args, {[model.name]: model.bytes});
    if (done && done.out !== "") return JSON.parse(done.out);
    if (done) fail(done.err);
    into.replaceChildren(...kept);
    for (const one of into.querySelectorAll("button")) one.disabled = false;
    return null;
  }

  // `soon`: what is known after a second.
  async function explain(soon) {
    const args = ["explain", model.name, "--json", ...dimensions()], runtime = settings().runtime;
    if (runtime !== "") args.push("--runtime", runtime);
    if (soon) args.push("--time-limit", "1");
    const report = await ask("features-out", soon ? "explaining" : "features", args);
    if (!report) return;
    view.showWords(at("words"), report.text);
    view.showFeatures(at("features-out"), report, options => setSettings({options: options.map(quoted).join(" ")}));
    if (soon) {
      at("features-out").prepend(element("p", "The searches were ended after a second.", "soft"),
        button("Search in full (about 20 seconds)", () => explain(false)));
    }
  }

  async function boards() {
    const report = await ask("boards-out", "boards", ["boards", model.name, "--json"]);
    if (report) view.showBoards(at("boards-out"), report, name => setSettings({board: name}));
  }

  async function pareto() {
    const args = ["pareto", model.name, "--json", ...dimensions()], runtime = settings().runtime;
    if (runtime !== "") args.push("--runtime", runtime);
    const report = await ask("pareto-out", "memory against time", args);
    if (report) view.showPareto(at("pareto-out"), report);
  }

  // --- files ---

  function offerFiles() {
    const buttons = [], add = (text, action) => buttons.push(button(text, async () => {
      try {
        at("saved").textContent = await action() ?? "";
      } catch (error) {
        fail(error.message);
      }
    }));
    const has = name => result.files[name] !== undefined;
    const save = (name, from, type) => { files.save(name, [from], type); return name + " saved"; };
    if (has(result.out)) add("Planned model", () => save(result.out, result.files[result.out]));
    if (has("plan.json")) add("plan.json", () => save(stem() + "-plan.json", result.files["plan.json"], "application/json"));
    if (has(result.header)) add("C header", () => save(result.header, result.files[result.header], "text/plain"));
    add("C code", saveCode);
    add("Drawing, SVG", () => save(stem() + "-memory.svg", files.svgOf(drawing()).text, "image/svg+xml"));
    add("Drawing, PNG", async () => save(stem() + "-memory.png", await files.pngOf(drawing()), "image/png"));
    if (has("memory.html")) add("Memory report", () => save(stem() + "-memory.html", result.files["memory.html"], "text/html"));
    at("files").replaceChildren(...buttons);
    at("saved").textContent = "";
  }

  // Live bytes and map, before and after.
  function drawing() {
    return [...at("map").querySelectorAll("section[data-run]")].map(section => ({
      title: `${model.name}: ${section.querySelector("h2").textContent}`, charts: [...section.querySelectorAll("figure.steps .chart")]}));
  }

  async function saveCode() {
    const done = await run("C code", ["emit", model.name, "-o", "code", "--quiet", ...dimensions()], {[model.name]: model.bytes});
    if (!done) return "";
    if (done.code !== 0) throw new Error(done.err);
    const code = Object.fromEntries(Object.entries(done.files).map(([name, bytes]) => [name.replace(/^code\//, stem() + "/"), bytes]));
    files.save(stem() + "-c.zip", files.zip(code), "application/zip");
    return `${Object.keys(code).length} files of C saved in ${stem()}-c.zip`;
  }

  // --- the page itself ---

  at("file").addEventListener("change", () => {
    const file = at("file").files[0];
    at("file").value = "";  // the same file can be chosen again
    if (file) takeFile(file);
  });
  at("sample").addEventListener("change", () => { showSettings(); takeSample(); });
  at("cancel").addEventListener("click", cancelAll);
  at("form").addEventListener("submit", event => { event.preventDefault(); plan(); });
  at("form").addEventListener("input", showSettings);
  at("report-box").addEventListener("toggle", () => { if (at("report-box").open) planText(); });
  at("copy").addEventListener("click", async () => {
    showSettings();
    try {
      await navigator.clipboard.writeText(location.href);
      at("copied").textContent = "copied";
    } catch {
      at("copied").textContent = location.href;
    }
  });
  const root = document.documentElement;
  for (const name of ["dragenter", "dragover"]) {
    addEventListener(name, event => { event.preventDefault(); root.classList.add("over"); });
  }
  addEventListener("dragleave", event => { if (!event.relatedTarget) root.classList.remove("over"); });
  addEventListener("drop", event => {
    event.preventDefault();
    root.classList.remove("over");
    const file = event.dataTransfer.files[0];
    if (file) takeFile(file);
  });
  addEventListener("hashchange", readLink);
  addEventListener("error", event => { root.dataset.error = String(event.message); });
  addEventListener("unhandledrejection", event => { root.dataset.error = String(event.reason); });

  async function start() {
    root.classList.add("js");
    for (const [name, text] of SAMPLES) at("sample").append(new Option(text, name));
    try {
      const table = await runner.run(["boards", "--json"], {}).done;
      for (const board of JSON.parse(table.out).boards) at("board").append(new Option(board.title, board.name));
      at("version").textContent = "Version " + (await runner.run(["--version"], {}).done).out.replace("neap ", "").trim() + ".";
    } catch (error) {
      return fail("This browser cannot run the page: " + error.message);
    }
    readLink();
    root.dataset.ready = String(Math.round(performance.now()));
  }
  start();
})();
