// SPDX-License-Identifier: Apache-2.0
//
// Results as elements of the page. Text of models and of the program enters as text nodes alone.
"use strict";

const view = (() => {
  const count = n => n.toString().replace(/\B(?=(\d{3})+(?!\d))/g, ",");
  const bytes = n => n === null || n === undefined || n < 0 ? "-" : count(n);
  const percent = (now, before) => (100 * (before - now) / before).toFixed(1) + " %";

  function element(name, text = "", className = "") {
    const made = document.createElement(name);
    made.textContent = text;
    if (className) made.className = className;
    return made;
  }

  // The part that a line of progress states as done, from 0 to 1: "3 of 12", or how close the proven lower
  // bound is to the best plan. null: unknown.
  function share(text) {
    const part = /(explain: )?(\d+) of (\d+)/.exec(text), gap = /upper ([\d,]+) +lower ([\d,]+)/.exec(text);
    const number = digits => Number(digits.replace(/,/g, ""));
    // The feature that is named is not done yet.
    const done = part ? number(part[2]) - (part[1] ? 1 : 0) : 0;
    const found = part ? done / number(part[3]) : gap ? number(gap[2]) / number(gap[1]) : NaN;
    return found >= 0 && found <= 1 ? found : null;
  }

  function button(text, onClick) {
    const made = element("button", text);
    made.type = "button";
    made.addEventListener("click", onClick);
    return made;
  }

  // `head`: titles, those of numbers begin with "#". Cells are texts or elements.
  function table(label, head, rows) {
    const box = element("div", "", "scroll");
    box.tabIndex = 0;
    box.setAttribute("role", "region");
    box.setAttribute("aria-label", label);
    const made = box.appendChild(element("table"));
    const first = made.appendChild(element("tr"));
    const numeric = head.map(title => title.startsWith("#"));
    head.forEach((title, i) => {
      const cell = first.appendChild(element("th", title.replace("#", ""), numeric[i] ? "n" : ""));
      cell.scope = "col";
    });
    for (const row of rows) {
      const line = made.appendChild(element("tr", "", row.className || ""));
      (row.cells || row).forEach((cell, i) => {
        const at = line.appendChild(element("td", "", numeric[i] ? "n" : "name"));
        at.append(cell);
      });
    }
    return box;
  }

  // The sentences of the report of `neap explain` before its table, and the rest.
  function words(text) {
    const lines = text.split("\n");
    const table = lines.findIndex(line => line.startsWith("  feature") || line === "");
    const sentences = [];
    for (const line of lines.slice(0, table)) {
      if (line.startsWith("  ") && sentences.length > 0) sentences[sentences.length - 1] += " " + line.trim();
      else sentences.push(line);
    }
    return {sentences, rest: lines.slice(table).join("\n").trimEnd()};
  }

  function showWords(to, text) {
    const {sentences, rest} = words(text);
    const details = element("details");
    details.append(element("summary", "The report of neap explain"));
    const box = details.appendChild(element("div", "", "scroll"));
    box.tabIndex = 0;
    box.setAttribute("role", "region");
    box.setAttribute("aria-label", "Report of neap explain");
    box.append(element("pre", rest));
    to.replaceChildren(...sentences.map(line => element("p", line)), details);
  }

  // The first sentence on a plan.
  function headline(report) {
    const before = report.file_order.arena_bytes, after = report.plan.arena_bytes ?? report.plan.peak_bytes;
    const delivered = report.delivered?.arena_bytes, now = delivered > 0 ? delivered : after;
    if (!(before > now)) return `An arena of ${count(now)} bytes, as in file order.`;
    return `An arena of ${count(now)} bytes in place of ${count(before)}: ${percent(now, before)} less.`;
  }

  // The page of --html, its drawings in `to` and its script started.
  function showMemory(to, html) {
    const page = new DOMParser().parseFromString(html, "text/html");
    const main = document.createElement("div");
    main.append(...page.querySelector("main").childNodes);
    to.replaceChildren(...page.querySelectorAll("header p.soft"), main);
    neapMemory(to, JSON.parse(page.getElementById("neap-data").textContent));
  }

  const STATES = {
    "planned": "", "unfinished": "a limit ended the search", "not started": "not started yet",
    "not applicable": "not applicable",
  };

  // As `neap explain` rounds: only equal numbers are 1000.
  function thousandths(now, before) {
    const nearest = Math.round(1000 * now / before);
    return now > before ? Math.max(nearest, 1001) : now < before ? Math.min(nearest, 999) : 1000;
  }

  function showFeatures(to, report, onUse) {
    const before = report.file_order.arena_bytes;
    const rows = report.features.map(feature => {
      const planned = feature.arena_bytes !== null && feature.arena_bytes > 0;
      const macs = feature.macs === null || !feature.model_macs ? planned ? "1.000" : "-"
        : (thousandths(feature.macs, feature.model_macs) / 1000).toFixed(3);
      const notes = [feature.requires, feature.new_operators?.length ? "new operators: " + feature.new_operators.join(", ") : "",
                     planned && feature.status === "optimal" ? "proven optimal" : "",
                     STATES[feature.state] ?? feature.state, feature.reason].filter(Boolean).join("; ");
      const use = planned && feature.runtime === report.runtime && feature.options.length > 0
        ? button("Use", () => onUse(feature.options)) : "";
      if (use) use.setAttribute("aria-label", "Use " + feature.label);
      return {className: feature.options.length === 0 ? "base" : "",
              cells: [feature.label, planned ? count(feature.arena_bytes) : "-",
                      planned ? percent(feature.arena_bytes, before) : "-", bytes(feature.total_arena_bytes), macs,
                      feature.file_growth_bytes === null ? "-" : count(feature.file_growth_bytes), notes, use]};
    });
    to.replaceChildren(table("Features and their costs",
      ["feature", "#arena B", "#saved", "#total B", "#MACs", "#file B", "requires and notes", ""], rows));
  }

  function showBoards(to, report, onUse) {
    const answer = board => {
      const cell = element("span", board.answer, board.fits ? "yes" : "no");
      return cell;
    };
    const rows = report.boards.map(board => [board.title, bytes(board.budget_bytes), bytes(board.total_arena_bytes),
      answer(board), board.fits_flash === null ? "-" : board.fits_flash ? "yes" : "no",
      board.fits_as_code === null ? "-" : board.fits_as_code ? "yes" : "no", useBoard(board)]);
    function useBoard(board) {
      const made = button("Use", () => onUse(board.name));
      made.setAttribute("aria-label", "Use " + board.title);
      return made;
    }
    to.replaceChildren(
      element("p", `${report.boards.filter(board => board.fits).length} of ${report.boards.length} boards have enough memory ` +
        `for the model. The budget is the RAM without ${count(report.reserve_bytes)} bytes for the firmware.`),
      table("Boards", ["board", "#budget B", "#total arena B", "answer", "flash", "as C code", ""], rows));
  }

  function showPareto(to, report) {
    const points = report.points, fewest = Math.min(...points.map(point => point.cycles));
    const time = point => point.cycles / fewest;
    to.replaceChildren(
      element("p", "No other plan that requires no more has both a smaller arena and fewer cycles, as modelled for " +
        report.device + "."),
      chart.scatter("Arena against time of " + points.length + " plans",
        points.map(point => ({x: point.arena_bytes, y: time(point)})), "arena, bytes", "time relative to the fastest"),
      table("Plans that no other plan beats", ["plan", "#arena B", "#total B", "#MACs", "#time", "#tiles", "requires"],
        points.map(point => [point.kind, count(point.arena_bytes), bytes(point.total_arena_bytes),
          point.macs_ratio.toFixed(4), time(point).toFixed(4), count(point.tiles),
          [point.overlap ? "overlap " + point.overlap : "", point.requires].filter(Boolean).join("; ")])));
  }

  return {count, bytes, share, element, button, table, showWords, headline, showMemory, showFeatures, showBoards, showPareto};
})();
