// SPDX-License-Identifier: Apache-2.0
//
// Files for the user: downloads, archives, drawings as pictures.
"use strict";

const files = (() => {
  function save(name, parts, type = "application/octet-stream") {
    const url = URL.createObjectURL(new Blob(parts, {type}));
    const link = document.createElement("a");
    link.href = url;
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 60000);
  }

  const table = Uint32Array.from({length: 256}, (_, n) => {
    for (let k = 0; k < 8; ++k) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
    return n >>> 0;
  });
  function crc32(bytes) {
    let crc = 0xffffffff;
    for (const byte of bytes) crc = table[(crc ^ byte) & 255] ^ (crc >>> 8);
    return (crc ^ 0xffffffff) >>> 0;
  }

  // A ZIP archive of {name: Uint8Array}, stored without compression, dated 1980-01-01: equal files give
  // equal bytes. Parts for a Blob.
  function zip(contents) {
    const parts = [], directory = [];
    let at = 0, directoryBytes = 0;
    const record = (signature, fields, name) => {
      const size = 4 + fields.reduce((sum, [bytes]) => sum + bytes, 0);
      const view = new DataView(new ArrayBuffer(size));
      view.setUint32(0, signature, true);
      let offset = 4;
      for (const [bytes, value] of fields) {
        if (bytes === 2) view.setUint16(offset, value, true);
        else view.setUint32(offset, value, true);
        offset += bytes;
      }
      return [new Uint8Array(view.buffer), name];
    };
    const UTF8_NAMES = 0x800, VERSION = 20, DATE = 0x21;
    for (const [text, bytes] of Object.entries(contents)) {
      const name = new TextEncoder().encode(text);
      const shared = [[2, VERSION], [2, UTF8_NAMES], [2, 0], [2, 0], [2, DATE], [4, crc32(bytes)],
                      [4, bytes.length], [4, bytes.length], [2, name.length], [2, 0]];
      const local = record(0x04034b50, shared, name);
      const central = record(0x02014b50, [[2, VERSION], ...shared, [2, 0], [2, 0], [2, 0], [4, 0], [4, at]], name);
      parts.push(...local, bytes);
      at += local[0].length + name.length + bytes.length;
      directory.push(...central);
      directoryBytes += central[0].length + name.length;
    }
    const count = directory.length / 2;
    const end = record(0x06054b50, [[2, 0], [2, 0], [2, count], [2, count], [4, directoryBytes], [4, at], [2, 0]]);
    return [...parts, ...directory, end[0]];
  }

  // The colours of the page, so that the drawing is the same without it.
  const PROPERTIES = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-size", "font-family",
                      "font-weight", "text-anchor", "paint-order", "vector-effect", "visibility"];
  function inlined(from, to) {
    const style = getComputedStyle(from);
    for (const property of PROPERTIES) {
      const value = style.getPropertyValue(property);
      if (value) to.setAttribute(property, value);
    }
    to.removeAttribute("class");
    [...from.children].forEach((child, i) => inlined(child, to.children[i]));
  }

  const svgElement = (name, attributes) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };
  const color = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // Drawings of the page as one SVG file, in the colours of the page: `columns` side by side, each a title
  // and its charts, one below the other.
  function svgOf(columns) {
    const TITLE = 40, GAP = 16;
    const whole = svgElement("svg", {xmlns: "http://www.w3.org/2000/svg"});
    let x = 0, height = 0;
    whole.append(svgElement("rect", {width: "100%", height: "100%", fill: color("--card")}));
    for (const {title, charts} of columns) {
      const text = svgElement("text", {x: x + GAP, y: 27, fill: color("--ink"), "font-size": 17, "font-weight": 600,
                                       "font-family": "system-ui, sans-serif"});
      text.textContent = title;
      whole.append(text);
      let y = TITLE, width = 0;
      for (const chart of charts) {
        const plane = chart.querySelector(".plane"), outer = chart.getBoundingClientRect();
        const style = getComputedStyle(chart), left = parseFloat(style.paddingLeft), top = parseFloat(style.paddingTop);
        const copy = plane.cloneNode(true);
        inlined(plane, copy);
        for (const [key, value] of Object.entries({x: x + left, y: y + top,
          width: outer.width - left - parseFloat(style.paddingRight), overflow: "visible"})) copy.setAttribute(key, value);
        whole.append(copy);
        y += outer.height + GAP;
        width = Math.max(width, outer.width);
      }
      x += width + GAP;
      height = Math.max(height, y);
    }
    const size = {width: Math.ceil(x), height: Math.ceil(height)};
    whole.setAttribute("width", size.width);
    whole.setAttribute("height", size.height);
    return {text: new XMLSerializer().serializeToString(whole), ...size};
  }

  // The same as PNG, two pixels for one.
  function pngOf(columns) {
    const {text, width, height} = svgOf(columns);
    const url = URL.createObjectURL(new Blob([text], {type: "image/svg+xml"}));
    return new Promise((resolve, reject) => {
      const image = new Image();
      image.onload = () => {
        const canvas = document.createElement("canvas");
        canvas.width = 2 * width;
        canvas.height = 2 * height;
        canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
        URL.revokeObjectURL(url);
        canvas.toBlob(resolve, "image/png");
      };
      image.onerror = () => reject(new Error("the drawing cannot be converted"));
      image.src = url;
    });
  }

  return {save, zip, svgOf, pngOf};
})();
