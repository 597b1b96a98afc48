// The hub: one headless widget a kernel. It keeps a Live for every view whose id the kernel lists,
// and one MutationObserver that tells them when the page has changed.

import { drawing } from "./bundles.js";
import { kernelGone } from "./kernel.js";
import { Live } from "./live.js";
import css from "./style.css";
import { addStyle } from "./style.js";

const TRIES = 6; // a page that was reloaded restores its models one after the other

export default {
  initialize({ model }) {
    addStyle("labext-style", css);
    const lives = new Map();
    let open = true;

    const scan = () => {
      for (const live of lives.values()) live?.scan();
    };
    let frame = 0;
    const observer = new MutationObserver(() => {
      // What was replaced gets its view back before it is painted; the rest waits for the frame.
      for (const live of lives.values()) if (live?.adrift) live.scan();
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        scan();
      });
    });

    const drop = (id) => {
      lives.get(id)?.close();
      lives.delete(id);
    };

    const follow = async () => {
      const wanted = new Set(model.get("views"));
      for (const id of lives.keys()) if (!wanted.has(id)) drop(id);
      for (const id of wanted) {
        if (lives.has(id)) continue;
        lives.set(id, null);
        const view = await found(model.widget_manager, id);
        const draw = view && (await drawn(view));
        if (!open || !lives.has(id)) continue;
        if (!draw) {
          lives.delete(id);
          continue;
        }
        const live = new Live(view, draw);
        lives.set(id, live);
        view.on("comm:close", () => drop(id));
        view.on("comm_live_update", () => view.comm_live || drop(id));
        live.scan();
      }
    };

    // Without its bundle a view can't be drawn: the picture stays, and the kernel is told why.
    const drawn = async (view) => {
      try {
        return await drawing(view, (id) => found(model.widget_manager, id));
      } catch (error) {
        console.error("[labext]", error);
        view.send({ kind: "error", message: String(error?.stack ?? error).slice(0, 4000) });
        return null;
      }
    };

    const close = () => {
      open = false;
      observer.disconnect();
      cancelAnimationFrame(frame);
      for (const id of [...lives.keys()]) drop(id);
      forget();
    };

    const forget = kernelGone(model.widget_manager, close);
    observer.observe(document.body, { childList: true, subtree: true });
    model.on("change:views", follow);
    follow();
    return close;
  },
};

async function found(manager, id) {
  for (let tried = 0; tried < TRIES; tried++) {
    try {
      return await manager.get_model(id);
    } catch {
      await new Promise((wait) => setTimeout(wait, 500));
    }
  }
  return null;
}
