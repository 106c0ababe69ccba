// Runs before anything is painted: the chosen theme, or the system's, stands on the root element at once.
(function () {
  const chosen = localStorage.getItem("tachograph-theme");
  const dark = chosen === "dark" || (chosen !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.setAttribute("data-theme", dark ? "dark" : "light");
})();
