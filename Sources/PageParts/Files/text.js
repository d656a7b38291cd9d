// Numbers and rows as people read them. All text goes into a page as text, never as markup.

export const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 4 });
export const rateText = (rate) => (rate > 0 && rate < 10 ? rate.toFixed(1) : whole.format(rate));
// Totals of ten digits do not fit beside each other.
export const totalText = (total) => (total < 10_000_000 ? whole.format(total) : short.format(total));

export function put(id, text, title = "") {
  const element = document.getElementById(id);
  if (element.textContent !== text) element.textContent = text;
  if (title && element.title !== title) element.title = title;
}

// Fills a table's body. A cell is a text, or { text, className, title }; it has its column's head as a label, for pages
// too narrow for columns. Keeps rows that are there, so that nothing flickers and a selection stays.
export function fill(id, rows) {
  const { tBodies: [body], tHead: head } = document.getElementById(id);
  while (body.rows.length > rows.length) body.deleteRow(-1);
  rows.forEach((cells, index) => {
    const row = body.rows[index] ?? body.insertRow();
    cells.forEach((content, column) => {
      const { text, className = "", title = "" } = typeof content === "string" ? { text: content } : content;
      let cell = row.cells[column];
      if (!cell) {
        cell = document.createElement(column === 0 ? "th" : "td");
        if (column === 0) cell.scope = "row";
        cell.dataset.label = head.rows[0].cells[column].textContent;
        row.append(cell);
      }
      const wanted = className || (column === 0 ? "" : "n");
      if (cell.className !== wanted) cell.className = wanted;
      if (cell.textContent !== text) cell.textContent = text;
      const hint = title || (column === 0 ? text : "");
      if (cell.title !== hint) cell.title = hint;
    });
  });
}
