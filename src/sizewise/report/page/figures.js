// Each figure: its selector, its legend, its panels, and what hovering, dragging and keys do.
const tooltip = document.getElementById("tooltip"), spoken = document.getElementById("spoken");
const hideTooltip = () => { tooltip.hidden = true; };
const showTooltip = (text, px, py) => {
  tooltip.textContent = text;
  tooltip.hidden = false;
  const box = tooltip.getBoundingClientRect();
  tooltip.style.left = Math.max(4, Math.min(px + 14, innerWidth - box.width - 8)) + "px";
  tooltip.style.top = (py - box.height - 12 < 4 ? py + 16 : py - box.height - 12) + "px";
};

class FigureOnPage {
  constructor(node, data) {
    Object.assign(this, { node, data, view: 0, hidden: new Set(), zooms: [], drawn: false });
    this.panels = node.querySelector(".panels");
    this.legend = node.querySelector(".legend");
    this.control = node.querySelector(".view-control");
    if (this.control) this.control.addEventListener("input", () => { this.choose(Number(this.control.value)); });
    node.querySelector(".reset").addEventListener("click", () => { hideTooltip(); this.zooms = []; this.draw(); });
  }

  choose(view) {
    hideTooltip();
    this.view = view;
    this.zooms = [];
    this.draw();
  }

  draw() {
    this.drawn = true;
    const { panels } = this.data.views[this.view];
    this.panels.classList.toggle("many", panels.length > 1);
    while (this.panels.children.length > panels.length) this.panels.lastChild.remove();
    while (this.panels.children.length < panels.length) this.panels.appendChild(this.makePanel());
    panels.forEach((panel, at) => this.drawPanel(panel, at));
    this.drawLegend(panels);
    this.node.querySelector(".reset").hidden = !this.zooms.some(Boolean);
  }

  makePanel() {
    const box = document.createElement("div");
    box.className = "panel";
    box.innerHTML = "<h4></h4>";
    const svg = shape("svg", { tabindex: "0", role: "img" }, box);
    const at = this.panels.children.length;
    svg.addEventListener("pointermove", (event) => this.hover(at, event));
    svg.addEventListener("pointerleave", hideTooltip);
    svg.addEventListener("blur", hideTooltip);
    svg.addEventListener("keydown", (event) => this.key(at, event));
    svg.addEventListener("dblclick", () => { this.zooms[at] = null; this.draw(); });
    svg.addEventListener("pointerdown", (event) => this.startDrag(at, event));
    return box;
  }

  drawPanel(panel, at) {
    const box = this.panels.children[at], svg = box.querySelector("svg"), title = box.querySelector("h4");
    title.textContent = panel.title;
    title.hidden = !panel.title;
    const width = Math.max(260, box.clientWidth || 640);
    const height = this.data.names_down ? 27 * panel.y_ticks.length + 62 : Math.round(Math.min(panel.bare && !panel.stretch ? 460 : 420, Math.max(230, width * (this.data.height || 0.7))));
    svg.setAttribute("width", width);
    svg.setAttribute("height", height);
    svg.setAttribute("aria-label", `${this.data.title}. ${panel.title || ""} ${this.data.views[this.view].label}. Arrow keys step through the points.`);
    box.scene = paintPanel(svg, panel, { width, height, hidden: this.hidden, zoom: panel.bare ? null : this.zooms[at] });
    box.scene.bare = panel.bare;
    box.focus = -1;
  }

  drawLegend(panels) {
    const labels = new Map(), dots = new Map();
    for (const panel of panels) for (const mark of panel.marks) if (mark.kind === "points" && mark.label && !mark.faint) dots.set(mark.label, mark);
    for (const panel of panels) for (const mark of panel.marks) if (mark.label && mark.listed !== false && !labels.has(mark.label)) labels.set(mark.label, mark);
    this.legend.replaceChildren();
    if (labels.size < 1) return;
    for (const [label, mark] of labels) {
      const button = document.createElement("button");
      button.type = "button";
      button.setAttribute("aria-pressed", String(!this.hidden.has(label)));
      button.title = "Show or hide";
      const swatch = shape("svg", { width: 26, height: 12, viewBox: "0 0 26 12", "aria-hidden": "true" }, button);
      const group = shape("g", { class: styleClass(mark) + (mark.kind === "area" ? " area" : " line") }, swatch);
      if (mark.kind === "area") shape("path", { d: "M1,1H25V11H1z" }, group);
      else if (mark.kind === "line") shape("path", { d: "M1,6H25", "stroke-dasharray": dashOf(mark) }, group);
      if (dots.has(label)) shape("path", { d: markerOf(mark)(4), transform: "translate(13 6)" }, shape("g", { class: styleClass(mark) + " points" }, swatch));
      button.appendChild(document.createTextNode(label));
      button.addEventListener("click", () => {
        hideTooltip();
        if (!this.hidden.delete(label)) this.hidden.add(label);
        this.draw();
        [...this.legend.children].find((one) => one.textContent === label)?.focus();
      });
      this.legend.appendChild(button);
    }
  }

  local(svg, event) { const box = svg.getBoundingClientRect(), view = svg.viewBox.baseVal; return [(event.clientX - box.left) * view.width / box.width, (event.clientY - box.top) * view.height / box.height]; }

  hover(at, event) {
    const box = this.panels.children[at], [px, py] = this.local(box.querySelector("svg"), event);
    let best = null, least = 26 ** 2;
    for (const point of box.scene.points) { const d = (point.px - px) ** 2 + (point.py - py) ** 2; if (d < least) { least = d; best = point; } }
    if (best) { this.ring(box, best); showTooltip(best.text, event.clientX, event.clientY); } else { this.ring(box, null); hideTooltip(); }
  }

  ring(box, point) {
    box.querySelector(".ring")?.remove();
    if (point) shape("circle", { cx: point.px, cy: point.py, r: 7, class: "ring" }, box.querySelector("svg"));
  }

  key(at, event) {
    const box = this.panels.children[at], { points } = box.scene, svg = box.querySelector("svg");
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && points.length) {
      event.preventDefault();
      box.focus = (Math.max(box.focus, step > 0 ? -1 : 0) + step + points.length) % points.length;
      const point = points[box.focus], frame = svg.getBoundingClientRect();
      this.ring(box, point);
      showTooltip(point.text, frame.left + point.px, frame.top + point.py);
      spoken.textContent = point.text;
    } else if (event.key === "Escape") { this.zooms = []; this.draw(); }
    else if ((event.key === "+" || event.key === "-") && !box.scene.bare) {
      const { frame, x, y } = box.scene, share = event.key === "+" ? 0.2 : -0.33;
      this.zoomTo(at, frame.left + share * (frame.right - frame.left), frame.right - share * (frame.right - frame.left), frame.bottom - share * (frame.bottom - frame.top), frame.top + share * (frame.bottom - frame.top));
    }
  }

  zoomTo(at, left, right, bottom, top) {
    hideTooltip();
    const { x, y } = this.panels.children[at].scene;
    this.zooms[at] = { x: [x.invert(left), x.invert(right)], y: [y.invert(bottom), y.invert(top)] };
    this.draw();
  }

  startDrag(at, event) {
    const box = this.panels.children[at], svg = box.querySelector("svg");
    if (box.scene.bare || event.pointerType === "touch" || event.button) return; // a finger scrolls the page
    const from = this.local(svg, event), band = shape("rect", { class: "band" }, svg);
    const move = (later) => {
      const to = this.local(svg, later);
      const values = { x: Math.min(from[0], to[0]), y: Math.min(from[1], to[1]), width: Math.abs(to[0] - from[0]), height: Math.abs(to[1] - from[1]) };
      for (const key in values) band.setAttribute(key, values[key]);
    };
    const stop = (later) => {
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", stop);
      const to = this.local(svg, later);
      band.remove();
      if (Math.abs(to[0] - from[0]) > 12 && Math.abs(to[1] - from[1]) > 12)
        this.zoomTo(at, Math.min(from[0], to[0]), Math.max(from[0], to[0]), Math.max(from[1], to[1]), Math.min(from[1], to[1]));
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", stop);
  }
}

// A figure is drawn when it comes near the screen, so that a long report opens at once; all of them before printing.
const figuresOnPage = [...document.querySelectorAll("figure[data-figure]")].map((node) => new FigureOnPage(node, JSON.parse(document.getElementById("data-" + node.dataset.figure).textContent)));
const near = new IntersectionObserver((entries) => {
  for (const entry of entries) if (entry.isIntersecting) { const one = figuresOnPage.find((f) => f.node === entry.target); if (one && !one.drawn) one.draw(); }
}, { rootMargin: "400px" });
figuresOnPage.forEach((one) => near.observe(one.node));
let lastWidth = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === lastWidth) return;
  lastWidth = innerWidth;
  clearTimeout(window.redrawing);
  window.redrawing = setTimeout(() => figuresOnPage.forEach((one) => one.drawn && one.panels.clientWidth && one.draw()), 120);
});
addEventListener("beforeprint", () => figuresOnPage.forEach((one) => one.draw()));
