// Add a style sheet to the page once; a newer version replaces an older one.

export function addStyle(id, css) {
  let style = document.getElementById(id);
  if (!style) {
    style = Object.assign(document.createElement("style"), { id });
    document.head.append(style);
  }
  if (style.textContent !== css) style.textContent = css;
}
