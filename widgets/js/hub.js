// The hub: one headless widget per kernel. It keeps a LiveView for each view model listed by the
// kernel, and one MutationObserver that rescans the page for placeholders.

import { resolveRender } from "./bundles.js";
import { onKernelGone } from "./kernel_status.js";
import { LiveView } from "./live_view.js";
import { reserveKey } from "./mount.js";
import { SavedOutputs } from "./saved_output.js";
import css from "./style.css";
import { addStyle } from "./style.js";

const ATTEMPTS = 6; // after a page reload the models are restored one after the other
const RETRY_DELAY = 500; // ms

export default {
  initialize({ model }) {
    addStyle("labext-style", css);
    const liveViews = new Map(); // model id -> LiveView, or null while it is loading
    let open = true;

    const scan = () => {
      for (const liveView of liveViews.values()) liveView?.scan();
    };
    let frame = 0;
    const observer = new MutationObserver(() => {
      // A replaced placeholder gets its view back before it is painted; others at the next frame.
      for (const liveView of liveViews.values()) if (liveView?.detached) liveView.scan();
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        scan();
      });
    });

    const remove = (id) => {
      liveViews.get(id)?.close();
      liveViews.delete(id);
    };

    const update = async () => {
      const ids = new Set(model.get("views"));
      for (const id of liveViews.keys()) if (!ids.has(id)) remove(id);
      for (const id of ids) {
        if (liveViews.has(id)) continue;
        liveViews.set(id, null);
        const view = await getModel(model.widget_manager, id);
        const render = view && (await load(view));
        if (!open || !liveViews.has(id)) continue;
        if (!render) {
          liveViews.delete(id);
          continue;
        }
        const liveView = new LiveView(view, render);
        liveViews.set(id, liveView);
        view.on("comm:close", () => remove(id));
        view.on("comm_live_update", () => view.comm_live || remove(id));
        liveView.scan();
        view.send({ kind: "loaded" });
      }
    };

    // If the bundle cannot be loaded, the view fails like one that cannot be rendered.
    const load = async (view) => {
      try {
        return await resolveRender(view, (id) => getModel(model.widget_manager, id));
      } catch (error) {
        return () => {
          throw error;
        };
      }
    };

    // JupyterLab reports a cell as deleted that is back by Undo, or was cut and pasted.
    const reportRemoved = (deleted) => {
      const cells = [...(model.widget_manager?.context?.model?.cells ?? [])].map(({ id }) => id);
      model.send({ removed: deleted.filter((id) => !cells.includes(id)) });
    };

    const onMessage = ({ deleted, updated }) => {
      if (deleted) reportRemoved(deleted);
      if (updated) savedOutputs.replace(updated.name, updated);
    };

    const close = () => {
      open = false;
      observer.disconnect();
      removeEventListener("keydown", reserveKey, true);
      cancelAnimationFrame(frame);
      for (const id of [...liveViews.keys()]) remove(id);
      unsubscribe();
      savedOutputs.close();
    };

    const unsubscribe = onKernelGone(model.widget_manager, close);
    const savedOutputs = new SavedOutputs(model.widget_manager);
    observer.observe(document.body, { childList: true, subtree: true });
    addEventListener("keydown", reserveKey, true);
    model.on("change:views", update);
    model.on("msg:custom", onMessage);
    update();
    return close;
  },
};

async function getModel(manager, id) {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    try {
      return await manager.get_model(id);
    } catch {
      await new Promise((resolve) => setTimeout(resolve, RETRY_DELAY));
    }
  }
  return null;
}
