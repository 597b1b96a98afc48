// Updates of static views after a reload of the page: JupyterLab knows the outputs of cells that ran
// in this page only, and ignores updates of others, which would be saved in their old state.

const PATIENCE = 5000; // ms for another page of a shared notebook to apply an update

/** The outputs of the notebook that a widget manager belongs to, if it is JupyterLab's. */
export class SavedOutputs {
  #notebook;
  #messages;
  #updates = new Map(); // name of a display -> its last update, which another page may apply

  constructor(manager) {
    this.#notebook = manager?.context?.model;
    this.#messages = manager?.kernel?.iopubMessage;
    this.#messages?.connect?.(this.#onMessage);
  }

  /**
   * Replace the output of a display.
   *
   * An output that two pages of a shared notebook replace at the same time is doubled. Therefore the
   * page in which the cell ran replaces it, and another one only if that does not happen.
   */
  replace(name, content) {
    if (!this.#notebook?.collaborative) return this.#replaceNow(name, content);
    if (!this.#updates.has(name)) this.#wait(name, this.#savedHtml(name));
    this.#updates.set(name, content);
  }

  /** Stop following the messages of the kernel. */
  close() {
    this.#messages?.disconnect?.(this.#onMessage);
  }

  #onMessage = (_, { header, content }) => {
    const name = header.msg_type === "update_display_data" && content.transient?.display_id;
    if (name && name.startsWith("labext-")) this.replace(name, content);
  };

  /** Apply the last update of a display once no other page has replaced its output for a while. */
  #wait(name, before) {
    const { awareness } = this.#notebook.sharedModel;
    const rank = [...awareness.getStates().keys()].sort().indexOf(awareness.clientID);
    const apply = () => {
      if (this.#notebook.isDisposed) return;
      const now = this.#savedHtml(name);
      if (now !== before) return this.#wait(name, now);
      this.#replaceNow(name, this.#updates.get(name));
      this.#updates.delete(name);
    };
    setTimeout(apply, PATIENCE * (1 + rank));
  }

  #replaceNow(name, { data, metadata = {} }) {
    for (const [outputs, index, html] of this.#outputs(name)) {
      // Where JupyterLab has applied the update, the HTML is the same.
      if (html === data["text/html"]) continue;
      outputs.set(index, { output_type: "display_data", data, metadata });
    }
  }

  #savedHtml(name) {
    for (const [, , html] of this.#outputs(name)) return html;
  }

  *#outputs(name) {
    for (const { outputs, sharedModel } of this.#notebook?.cells ?? []) {
      for (let index = 0; index < (outputs?.length ?? 0); index++) {
        const html = outputHtml(outputs.get(index));
        if (!html.slice(0, html.indexOf(">")).includes(name)) continue;
        // JupyterLab 4.6 has the outputs of a shared notebook in another order after some updates.
        if (html === outputHtml(sharedModel.outputs[index])) yield [outputs, index, html];
      }
    }
  }
}

function outputHtml(output) {
  const html = output?.data?.["text/html"] ?? "";
  return Array.isArray(html) ? html.join("") : String(html);
}
