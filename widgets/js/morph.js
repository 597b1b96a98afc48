// Change what stands in an element into other HTML, keeping every node that can stay, so that a bar
// grows instead of being drawn anew. The HTML is labext's own: whatever came from a service was
// escaped where it was drawn.

export function morph(element, html) {
  const wanted = document.createElement("template");
  wanted.innerHTML = html;
  children(element, wanted.content);
}

function children(node, wanted) {
  const to = [...wanted.childNodes];
  to.forEach((child, i) => {
    const old = node.childNodes[i];
    if (!old) node.append(child);
    else if (old.nodeName !== child.nodeName) old.replaceWith(child);
    else if (old.nodeType === Node.TEXT_NODE) {
      if (old.data !== child.data) old.data = child.data;
    } else {
      attributes(old, child);
      children(old, child);
    }
  });
  while (node.childNodes.length > to.length) node.lastChild.remove();
}

function attributes(node, wanted) {
  for (const { name } of [...node.attributes]) {
    if (!wanted.hasAttribute(name)) node.removeAttribute(name);
  }
  for (const { name, value } of wanted.attributes) {
    if (node.getAttribute(name) !== value) node.setAttribute(name, value);
  }
}
