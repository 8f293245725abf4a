// A table of the record is sorted by a column when its head is clicked, or with Enter or Space on it, and the other way
// round at the next click. Nothing is loaded: the page works as a file.
(function () {
  function value(cell) {
    const text = cell.innerText.trim().replace(/−/g, "-").replace(/,(?=\d{3})/g, "");
    const number = text.match(/^(?:× ?)?([+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?:\s*(ms|s)\b)?/);
    if (number) return Number(number[1]) * (number[2] === "ms" ? 0.001 : 1);
    return text.toLowerCase();
  }

  function compare(a, b) {
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
    return typeof a === "number" ? a - b : a.localeCompare(b);
  }

  function sort(head, column) {
    const body = head.closest("table").tBodies[0];
    const down = head.getAttribute("aria-sort") === "ascending";
    const rows = Array.from(body.rows, (row) => [value(row.cells[column]), row]);
    rows.sort(([a], [b]) => (a === "" || b === "" ? (a === "") - (b === "") : down ? compare(b, a) : compare(a, b)));
    for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    body.append(...rows.map(([, row]) => row));
  }

  function prepare() {
    for (const head of document.querySelectorAll(".record table thead th")) {
      const column = Array.from(head.parentNode.cells).indexOf(head);
      head.tabIndex = 0;
      head.title = "Sort by this column";
      head.style.cursor = "pointer";
      head.addEventListener("click", () => sort(head, column));
      head.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        sort(head, column);
      });
    }
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", prepare);
  else prepare();
})();
