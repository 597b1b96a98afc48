// Update an element to new HTML, keeping the nodes that can stay, so that bars grow smoothly instead
// of being redrawn. The HTML is rendered by labext, which escapes all text from services.

export function morph(element, html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  morphChildren(element, template.content);
}

function morphChildren(node, target) {
  const children = [...target.childNodes];
  children.forEach((child, i) => {
    const current = node.childNodes[i];
    if (!current) node.append(child);
    else if (current.nodeName !== child.nodeName) current.replaceWith(child);
    else if (current.nodeType === Node.TEXT_NODE) {
      if (current.data !== child.data) current.data = child.data;
    } else {
      morphAttributes(current, child);
      morphChildren(current, child);
    }
  });
  while (node.childNodes.length > children.length) node.lastChild.remove();
}

function morphAttributes(node, target) {
  for (const { name } of [...node.attributes]) {
    if (!target.hasAttribute(name)) node.removeAttribute(name);
  }
  for (const { name, value } of target.attributes) {
    if (node.getAttribute(name) !== value) node.setAttribute(name, value);
  }
}
