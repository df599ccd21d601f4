// Hides the rows that do not fit the form above the table. Without scripts every row is shown.
const form = document.querySelector("form");
const rows = [...document.querySelectorAll("tbody tr")];
const count = document.querySelector("#count");
function filter() {
  const words = form.words.value.toLowerCase().split(/\s+/);
  const fits = (row, name) => !form[name].value || row.dataset[name].split(" ").includes(form[name].value);
  let shown = 0;
  for (const row of rows) {
    const text = row.textContent.toLowerCase();
    const kept = words.every((word) => text.includes(word)) && ["kind", "status", "level", "product"].every((name) => fits(row, name));
    row.hidden = !kept;
    shown += kept ? 1 : 0;
  }
  count.textContent = `${shown} of ${rows.length}`;
}
form.hidden = false;
form.addEventListener("input", filter);
form.addEventListener("submit", (event) => event.preventDefault());
filter();
