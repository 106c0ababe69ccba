// What people do to runs: forms become commands, which the collector carries out at its next tick.

const READ = {
  text: (text) => text,
  json: (text) => JSON.parse(text),
  list: (text) => (text.trim() ? text.split(",").map((one) => one.trim()).filter(Boolean) : null),
  after: (text, base) => (text.trim() ? base + Math.round(Number(text) * 1000) : null),
  before: (text, base) => (text.trim() ? base - Math.round(Number(text) * 1000) : null),
};

function payload(form) {
  const found = { kind: form.dataset.runOrder, run: Number(form.dataset.run) };
  for (const field of form.querySelectorAll("[name]")) {
    const value = READ[field.dataset.as](field.value, Number(field.dataset.base));
    const [group, name] = field.name.split(".");
    if (name) (found[group] ??= {})[name] = value;
    else found[group] = value;
  }
  return found;
}

// Send a command; {error} or {why} say what hindered it.
export async function send(order) {
  try {
    const answer = await fetch("/api/v1/runs/commands", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(order),
    });
    return await answer.json();
  } catch {
    return { error: "The server does not answer." };
  }
}

function go(address) {
  history.pushState({}, "", address);
  dispatchEvent(new CustomEvent("_dashprivate_pushstate"));
}

// done: called with the form once its command was carried out.
export function startOrders(done) {
  document.addEventListener("submit", async (event) => {
    const form = event.target.closest("form[data-run-order]");
    if (!form) return;
    event.preventDefault();
    if (form.dataset.ask && !confirm(form.dataset.ask)) return;
    const said = form.querySelector("[data-said]"), button = form.querySelector("button");
    button.disabled = true;
    said.textContent = "…";
    const { error, why } = await send(payload(form));
    button.disabled = false;
    said.textContent = error ?? why ?? "";
    if (error) return;
    if (form.dataset.then) go(form.dataset.then);
    else done(form);
  });
}
