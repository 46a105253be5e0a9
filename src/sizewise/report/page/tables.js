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
