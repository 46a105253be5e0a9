// Dark or light: what the system says, until the reader chooses.
const themeButton = document.getElementById("theme");
const isDark = () => (document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
const remember = { get: () => { try { return localStorage.getItem("sizewise-theme"); } catch { return null; } }, set: (value) => { try { localStorage.setItem("sizewise-theme", value); } catch { /* a file may have no storage */ } } };
const nameTheme = () => { themeButton.textContent = isDark() ? "Light" : "Dark"; themeButton.setAttribute("aria-label", `Switch to ${isDark() ? "light" : "dark"} colours`); };
if (remember.get()) document.documentElement.dataset.theme = remember.get();
nameTheme();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", nameTheme);
themeButton.addEventListener("click", () => {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  remember.set(document.documentElement.dataset.theme);
  nameTheme();
});
