// Copy text to the clipboard, also on pages without a secure context.

export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyByCommand(text);
  }
}

function copyByCommand(text) {
  const focused = document.activeElement;
  const area = Object.assign(document.createElement("textarea"), { value: text });
  area.style.position = "fixed";
  document.body.append(area);
  area.select();
  const copied = document.execCommand("copy");
  area.remove();
  focused?.focus?.({ preventScroll: true });
  return copied;
}
