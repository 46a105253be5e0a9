// Paints one panel of a figure as SVG. Words of the user's only ever become textContent.
const SVG = "http://www.w3.org/2000/svg";
const shape = (name, attributes, parent) => {
  const node = document.createElementNS(SVG, name);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  if (parent) parent.appendChild(node);
  return node;
};
const words = (text, attributes, parent) => { const node = shape("text", attributes, parent); node.textContent = text; return node; };
const shorten = (text, most) => (text.length > most ? text.slice(0, most - 1) + "…" : text);

const MARKERS = [
  (r) => `M${-r},0a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0`,
  (r) => `M${-r},${-r}h${2 * r}v${2 * r}h${-2 * r}z`,
  (r) => `M0,${-1.2 * r}L${1.1 * r},${0.9 * r}H${-1.1 * r}z`,
  (r) => `M0,${-1.3 * r}L${1.3 * r},0L0,${1.3 * r}L${-1.3 * r},0z`,
  (r) => `M0,${1.2 * r}L${1.1 * r},${-0.9 * r}H${-1.1 * r}z`,
  (r) => `M${-r / 2},${-1.2 * r}h${r}v${0.7 * r}h${0.7 * r}v${r}h${-0.7 * r}v${0.7 * r}h${-r}v${-0.7 * r}h${-0.7 * r}v${-r}h${0.7 * r}z`,
  (r) => `M${-r},${-r}L0,${-r / 3}L${r},${-r}L${r / 3},0L${r},${r}L0,${r / 3}L${-r},${r}L${-r / 3},0z`,
  (r) => `M0,${-1.4 * r}L${0.45 * r},${-0.45 * r}L${1.4 * r},0L${0.45 * r},${0.45 * r}L0,${1.4 * r}L${-0.45 * r},${0.45 * r}L${-1.4 * r},0L${-0.45 * r},${-0.45 * r}z`,
];
const DASHES = ["", "7 3", "2 2", "8 3 2 3"];
const markerOf = (mark) => MARKERS[mark.style < 0 ? 0 : (mark.style + 3 * Math.floor(mark.style / 8)) % 8];
const styleClass = (mark) => (mark.style < 0 ? "grey" : "c" + (mark.style % 8));
const dashOf = (mark) => (mark.dashed ? "5 4" : mark.style < 0 ? "" : DASHES[Math.floor(mark.style / 8) % 4]);

// Returns the points that can be hovered and reached by keyboard: {px, py, text, mark}.
const paintPanel = (svg, panel, { width, height, hidden, zoom }) => {
  svg.replaceChildren();
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const marks = panel.marks.filter((mark) => !mark.label || !hidden.has(mark.label));
  const xs = zoom ? zoom.x : extent(panel, panel.marks, "x"), ys = zoom ? zoom.y : extent(panel, panel.marks, "y");
  const narrow = width < 380;
  const turned = (panel.x_ticks || []).reduce((sum, [, name]) => sum + Math.min(name.length, 18) + 2, 0) * 6.4 > width - 70;
  const yNames = (panel.y_ticks || []).map(([, name]) => name.length);
  const left = panel.bare ? 8 : yNames.length ? Math.min(narrow ? 118 : 290, 20 + 6.2 * Math.max(...yNames)) + (panel.y_label ? 16 : 0) : 56;
  const bottom = panel.bare ? 8 : (turned ? 78 : 26) + (panel.x_label ? 18 : 0), top = 8;
  const right = panel.bare ? 8 : 14 + 6.6 * Math.max(0, ...(panel.y_ends || []).map(([, text]) => text.length));
  let x0 = left, x1 = width - right, y0 = height - bottom, y1 = top;
  if (panel.bare && !panel.stretch) { // one unit is equally long both ways
    const unit = Math.min((x1 - x0) / (xs[1] - xs[0]), (y0 - y1) / (ys[1] - ys[0]));
    const cx = (x0 + x1) / 2, cy = (y0 + y1) / 2, dx = (unit * (xs[1] - xs[0])) / 2, dy = (unit * (ys[1] - ys[0])) / 2;
    [x0, x1, y0, y1] = [cx - dx, cx + dx, cy + dy, cy - dy];
  }
  const x = makeScale(xs[0], xs[1], x0, x1, panel.x_log), y = makeScale(ys[0], ys[1], y0, y1, panel.y_log);
  if (!panel.bare) paintAxes(svg, panel, { x, y, xs, ys, left, right, top, bottom, width, height, turned });
  const clipName = "clip-" + (paintPanel.count = (paintPanel.count || 0) + 1);
  if (!panel.bare) {
    const clip = shape("clipPath", { id: clipName }, shape("defs", {}, svg));
    shape("rect", { x: left - 1, y: top - 6, width: Math.max(1, width - left - right + 8), height: Math.max(1, height - top - bottom + 7) }, clip);
  }
  const layer = shape("g", panel.bare ? {} : { "clip-path": `url(#${clipName})` }, svg);
  const points = [];
  for (const mark of marks) paintMark(layer, mark, { x, y, points, panel, width });
  return { points, x, y, frame: { left, top, right: width - right, bottom: height - bottom } };
};

const paintAxes = (svg, panel, { x, y, xs, ys, left, right, top, bottom, width, height, turned }) => {
  const axes = shape("g", { class: "axes" }, svg);
  const inside = (at, range) => at >= Math.min(...range) - 1e-12 && at <= Math.max(...range) + 1e-12;
  const xTicks = panel.x_ticks && panel.x_ticks.length ? panel.x_ticks : niceTicks(xs[0], xs[1], Math.max(3, (width - left) / 75), panel.x_log, panel.x_whole).map((v) => [v, showNumber(v)]);
  const yTicks = panel.y_ticks && panel.y_ticks.length ? panel.y_ticks : niceTicks(ys[0], ys[1], Math.max(4, (height - bottom) / 48), panel.y_log).map((v) => [v, showNumber(v)]);
  for (const [at, name] of xTicks) {
    if (!inside(at, xs)) continue;
    shape("line", { x1: x(at), x2: x(at), y1: top, y2: height - bottom, class: "grid" }, axes);
    const spot = turned ? { x: x(at), y: height - bottom + 14, transform: `rotate(-35 ${x(at)} ${height - bottom + 14})`, "text-anchor": "end" }
      : { x: x(at), y: height - bottom + 17, "text-anchor": "middle" };
    words(shorten(name, turned && width < 500 ? 12 : 18), spot, axes);
  }
  for (const [at, name] of yTicks) {
    if (!inside(at, ys)) continue;
    shape("line", { x1: left, x2: width - right, y1: y(at), y2: y(at), class: "grid" }, axes);
    words(shorten(name, Math.min(40, Math.floor((left - 8 - (panel.y_label ? 16 : 0)) / 6.8))), { x: left - 7, y: y(at) + 4, "text-anchor": "end" }, axes);
  }
  for (const [at, text] of panel.y_ends || []) if (inside(at, ys)) words(text, { x: width - right + 6, y: y(at) + 4 }, axes);
  shape("path", { d: `M${left},${top}V${height - bottom}H${width - right}`, class: "axis" }, axes);
  if (panel.x_label) words(panel.x_label, { x: (left + width - right) / 2, y: height - 5, "text-anchor": "middle", class: "axis-label" }, axes);
  if (panel.y_label) words(panel.y_label, { transform: `translate(13 ${(top + height - bottom) / 2}) rotate(-90)`, "text-anchor": "middle", class: "axis-label" }, axes);
};

// A word that would leave the picture loses its end; hovering tells it whole.
const fit = (node, text, room) => {
  let kept = text;
  while (kept.length > 3 && node.getComputedTextLength() > room) { kept = kept.slice(0, -1); node.textContent = kept.trimEnd() + "…"; }
  if (kept !== text) shape("title", {}, node).textContent = text;
};

const paintMark = (layer, mark, { x, y, points, panel, width }) => {
  const known = (v, log) => v !== null && v !== undefined && (!log || v > 0);
  const group = shape("g", { class: `${styleClass(mark)} ${mark.kind}${mark.faint ? " faint" : ""}${mark.thick ? " thick" : ""}${mark.hollow ? " hollow" : ""}` }, layer);
  const place = (i) => (known(mark.x[i], panel.x_log) && known(mark.y[i], panel.y_log) ? [x(mark.x[i]), y(mark.y[i])] : null);
  const remember = (i, spot) => {
    const text = (mark.text && mark.text[i]) || (mark.label ? `${mark.label}: ${showNumber(mark.y[i])} at ${showNumber(mark.x[i])}` : "");
    if (text && mark.kind !== "words") points.push({ px: spot[0], py: spot[1], text, label: mark.label });
  };
  if (mark.kind === "line" || mark.kind === "area") {
    let path = "", pen = false;
    mark.x.forEach((_, i) => {
      const spot = place(i);
      if (spot) { path += `${pen ? "L" : "M"}${spot[0].toFixed(1)},${spot[1].toFixed(1)}`; if (mark.label && mark.kind === "line" && !mark.faint) remember(i, spot); }
      pen = !!spot;
    });
    if (mark.kind === "area") path += "Z";
    const line = shape("path", { d: path }, group);
    if (mark.kind === "line" && dashOf(mark)) line.setAttribute("stroke-dasharray", dashOf(mark));
  } else if (mark.kind === "points") {
    const radius = !mark.faint ? 4.2 : mark.x.length > 60 ? 2.2 : 3.4, // few dots are seen by their size
      glyph = markerOf(mark)(radius);
    let cloud = "";
    mark.x.forEach((_, i) => {
      const spot = place(i);
      if (!spot) return;
      if (mark.low && known(mark.low[i], panel.y_log) && known(mark.high[i], panel.y_log))
        shape("line", { x1: spot[0], x2: spot[0], y1: y(mark.low[i]), y2: y(mark.high[i]), class: "whisker" }, group);
      if (mark.faint) cloud += `M${(spot[0] - radius).toFixed(1)},${spot[1].toFixed(1)}a${radius},${radius} 0 1,0 ${2 * radius},0a${radius},${radius} 0 1,0 ${-2 * radius},0`;
      else shape("path", { d: glyph, transform: `translate(${spot[0].toFixed(1)} ${spot[1].toFixed(1)})` }, group);
      remember(i, spot);
    });
    if (cloud) shape("path", { d: cloud }, group); // thousands of dots are one node
  } else {
    mark.x.forEach((_, i) => {
      const spot = place(i), anchor = mark.anchor || "start";
      if (!spot) return;
      const room = { start: width - spot[0], end: spot[0], middle: 2 * Math.min(spot[0], width - spot[0]) }[anchor];
      fit(words(mark.text[i], { x: spot[0], y: spot[1] + 4, "text-anchor": anchor }, group), mark.text[i], room);
    });
  }
};
