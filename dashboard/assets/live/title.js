// The title of the browser's tab: the page's own name first, so that tabs differ, then what the cluster does.

// The name of the page that stands here: its heading, else what leads to it is called.
export function pageName(root = document) {
  const heading = root.querySelector("#react-entry-point .page h1")?.textContent.trim();
  return heading || root.querySelector('.menu-link[aria-current="page"]')?.textContent.trim() || "";
}

// What the tab says once nothing comes any more: the last words would go on being said. said: as `age.js` judges it.
export function titleOf(what, said, linked) {
  if (!said.stale) return what;
  return `⚠ ${linked ? "Collector silent" : "The server does not answer"} · Tachograph`;
}

// what: "21.4 tok/s · Tachograph", as the message of a tick has it; null before the first, when the title stays.
export function showTitle(what) {
  if (!what) return;
  const name = pageName(), title = name ? `${name} · ${what}` : what;
  if (document.title !== title) document.title = title;
}
