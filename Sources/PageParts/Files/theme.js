// Dark or light: as the system has it, until the user chooses on the page.

// Lets the page's button switch; `onChange` is called when colours change, and once at the start.
export function theme(onChange = () => {}) {
  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: light)");
  const stored = () => {
    try { return localStorage.getItem("belfry-theme"); } catch { return null; }
  };
  let chosen = stored();
  const apply = () => {
    const name = chosen ?? (system.matches ? "light" : "dark");
    document.documentElement.dataset.theme = name;
    const other = name === "light" ? "dark" : "light";
    button.textContent = other === "light" ? "Light" : "Dark";
    button.setAttribute("aria-label", `Switch to the ${other} theme`);
    onChange();
  };
  system.addEventListener("change", apply);
  button.addEventListener("click", () => {
    chosen = document.documentElement.dataset.theme === "light" ? "dark" : "light";
    try { localStorage.setItem("belfry-theme", chosen); } catch { /* It holds for this visit. */ }
    apply();
  });
  apply();
}
