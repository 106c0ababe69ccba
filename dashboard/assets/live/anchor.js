// An address like /alerts#rule-gpu_hot leads to what the server writes only after the page stands.

let led = null;

// Open the rule that the address names, once, as soon as it is there.
export function leadTo(place) {
  const name = location.hash.startsWith("#rule-") ? location.hash.slice(6) : null;
  if (name === null) led = null;
  if (name === null || led === location.href) return;
  const found = place.querySelector(`[data-rule="${CSS.escape(name)}"]`);
  if (!found) return;
  led = location.href;
  found.open = true;
  found.scrollIntoView();
}
