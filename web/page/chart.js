// SPDX-License-Identifier: Apache-2.0
//
// Points in a plane: the one drawing that the program does not make. As wide as its container, as those are:
// shares of the width across, pixels down.
"use strict";

const chart = (() => {
  const NS = "http://www.w3.org/2000/svg";
  const LEFT = 60, RIGHT = 16, TOP = 16, HEIGHT = 210, BOTTOM = 44;

  function add(to, name, attributes, text) {
    const made = document.createElementNS(NS, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return to.appendChild(made);
  }

  // Round numbers within [low, high], about `most` of them.
  function ticks(low, high, most) {
    const wanted = (high - low) / most || 1, power = 10 ** Math.floor(Math.log10(wanted));
    const step = [1, 2, 5, 10].map(m => m * power).find(s => s >= wanted);
    const out = [];
    for (let k = Math.ceil(low / step); k * step <= high + step * 1e-9; ++k) out.push(k * step);
    return out;
  }

  const short = value => value >= 1e6 ? +(value / 1e6).toPrecision(3) + " M" : value >= 1e3 ? +(value / 1e3).toPrecision(3) + " k"
    : +value.toPrecision(4) + "";

  // `points`: [{x, y}]. x begins at 0, y at its least.
  function scatter(label, points, xTitle, yTitle) {
    const maxX = Math.max(...points.map(p => p.x)) * 1.05 || 1;
    const minY = Math.min(...points.map(p => p.y)), maxY = Math.max(...points.map(p => p.y));
    const pad = (maxY - minY || 0.1) * 0.1, low = minY - pad, high = maxY + pad;
    const figure = document.createElement("figure");
    const box = figure.appendChild(document.createElement("div"));
    box.className = "chart";
    box.setAttribute("role", "img");
    box.setAttribute("aria-label", label);
    box.style.padding = `${TOP}px ${RIGHT}px ${BOTTOM}px ${LEFT}px`;
    const plane = add(box, "svg", {class: "plane", width: "100%", height: HEIGHT});
    const X = x => 100 * x / maxX + "%", Y = y => HEIGHT * (1 - (y - low) / (high - low));
    for (const y of ticks(low, high, 5)) {
      add(plane, "line", {class: "axis", x1: 0, x2: "100%", y1: Y(y), y2: Y(y)});
      add(plane, "text", {x: -8, y: Y(y) + 4, "text-anchor": "end"}, short(y));
    }
    for (const x of ticks(0, maxX, 4)) {
      add(plane, "text", {x: X(x), y: HEIGHT + 18, "text-anchor": x > 0.93 * maxX ? "end" : "middle"}, short(x));
    }
    add(plane, "line", {class: "axis", x1: 0, x2: "100%", y1: HEIGHT, y2: HEIGHT});
    add(plane, "text", {x: "50%", y: HEIGHT + 38, "text-anchor": "middle"}, xTitle);
    add(plane, "text", {x: 4, y: 12}, yTitle);
    for (const point of points) {
      const dot = add(plane, "circle", {class: "dot", cx: X(point.x), cy: Y(point.y), r: 5});
      add(dot, "title", {}, `${view.count(point.x)} B, ${point.y.toFixed(4)}`);
    }
    return figure;
  }

  return {scatter};
})();
