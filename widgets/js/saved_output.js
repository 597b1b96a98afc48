// Updates of static views after a reload of the page: JupyterLab knows the outputs of cells that ran
// in this page only, and ignores updates of others, which would be saved in their old state.

/** Apply the kernel's updates to the notebook's outputs; return a function that stops it. */
export function updateSavedOutputs(manager) {
  const cells = manager?.context?.model?.cells;
  const messages = manager?.kernel?.iopubMessage;
  if (!cells || !messages?.connect) return () => {};
  const onMessage = (_, { header, content }) => {
    const name = header.msg_type === "update_display_data" && content.transient?.display_id;
    if (name && name.startsWith("labext-")) replaceOutputs(cells, name, content);
  };
  messages.connect(onMessage);
  return () => messages.disconnect(onMessage);
}

function replaceOutputs(cells, name, { data, metadata }) {
  for (const { outputs } of cells) {
    for (let index = 0; index < (outputs?.length ?? 0); index++) {
      const html = String(outputs.get(index).data["text/html"] ?? "");
      // Where JupyterLab has applied the update, the HTML is the same.
      if (html === data["text/html"] || !html.slice(0, html.indexOf(">")).includes(name)) continue;
      outputs.set(index, { output_type: "display_data", data, metadata });
    }
  }
}
