// A table that is wider than its box says so: a bar at the bottom is not drawn on every system.
const markWide = () => {
  for (const box of document.querySelectorAll(".scroll")) {
    const wide = box.scrollWidth > box.clientWidth + 1;
    box.classList.toggle("more", wide);
    let cue = box.previousElementSibling;
    if (!cue || !cue.classList.contains("cue")) {
      if (!wide) continue;
      cue = document.createElement("p");
      cue.className = "cue";
      cue.textContent = "Wider than the page: scroll it sideways →";
      box.before(cue);
    }
    cue.hidden = !wide;
  }
};
markWide();
addEventListener("resize", markWide);
document.addEventListener("toggle", markWide, true); // what was folded has a width when it opens

// Click a column's head to sort by it; again to turn the order. Empty cells stay last.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = head.querySelector("button");
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (row) => row.cells[column].dataset.key;
      const compare = (a, b) => {
        const [one, two] = [key(a), key(b)], [m, n] = [Number(one), Number(two)];
        if (one === "" || two === "") return (one === "") - (two === "");
        const order = Number.isFinite(m) && Number.isFinite(n) ? m - n : one.localeCompare(two, undefined, { numeric: true });
        return down ? -order : order;
      };
      body.append(...[...body.rows].filter((row) => !row.classList.contains("fixed")).sort(compare));
      spoken.textContent = `Sorted by ${button.textContent.trim()}, ${down ? "descending" : "ascending"}`;
    });
  });
}
