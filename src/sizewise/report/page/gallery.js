// Cases with what each loss made of them: worst, median and best first, then one by one.
const galleryNode = document.getElementById("gallery");
if (galleryNode) {
  const groups = JSON.parse(document.getElementById("data-gallery").textContent);
  const part = (name) => galleryNode.querySelector(`[data-part=${name}]`);
  const state = { group: 0, at: 0, layer: "errors" };
  const picture = (base, over, heading, note) => {
    const card = document.createElement("div");
    card.className = "card";
    const stack = document.createElement("div");
    stack.className = "stack";
    for (const [source, name] of [[base, "base"], [over, "over"]]) {
      if (!source) continue;
      const image = document.createElement("img");
      image.src = source;
      image.alt = name === "base" ? "" : heading;
      image.className = name;
      stack.appendChild(image);
    }
    const title = document.createElement("strong"), small = document.createElement("span");
    title.textContent = heading;
    small.textContent = note;
    card.append(stack, title, small);
    return card;
  };
  const draw = () => {
    const group = groups[state.group], count = group.cases.length, one = group.cases[state.at];
    part("name").textContent = one.case;
    part("place").textContent = `${state.at + 1} of ${count}, from worst to best` + (group.total > count ? ` (${count} of ${group.total} cases are on this page)` : "");
    const cards = part("cards");
    cards.replaceChildren(picture(one.image, state.layer === "none" ? "" : one.truth, "ground truth", one.note));
    for (const shown of one.shown) cards.appendChild(picture(one.image, state.layer === "none" ? "" : shown[state.layer], shown.loss, shown.note));
    part("legend-errors").hidden = state.layer !== "errors";
    const legend = part("legend-classes");
    legend.textContent = state.layer === "labels" ? "Classes:" : "Ground truth:";
    for (const { swatch: background, name } of group.classes) {
      const swatch = document.createElement("span");
      swatch.className = "swatch";
      swatch.style.background = background;
      const key = document.createElement("span");
      key.className = "key";
      key.append(swatch, name);
      legend.append(key, " ");
    }
    const spots = { worst: 0, median: Math.floor((count - 1) / 2), best: count - 1 };
    for (const name in spots) part(name).setAttribute("aria-pressed", String(spots[name] === state.at));
  };
  const go = (to) => { const count = groups[state.group].cases.length; state.at = (to + count) % count; draw(); spoken.textContent = part("name").textContent; };
  part("worst").addEventListener("click", () => go(0));
  part("median").addEventListener("click", () => go(Math.floor((groups[state.group].cases.length - 1) / 2)));
  part("best").addEventListener("click", () => go(-1));
  part("previous").addEventListener("click", () => go(state.at - 1));
  part("next").addEventListener("click", () => go(state.at + 1));
  part("group")?.addEventListener("input", (event) => { state.group = Number(event.target.value); go(0); });
  part("layer").addEventListener("input", (event) => { state.layer = event.target.value; draw(); });
  part("opacity").addEventListener("input", (event) => galleryNode.style.setProperty("--over", event.target.value));
  part("cards").addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step) { event.preventDefault(); go(state.at + step); }
  });
  draw();
}
