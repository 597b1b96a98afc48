// JupyterLab's widget manager knows its kernel. A kernel that restarts, dies or is shut down takes
// its live views with it, so that no button stays that nothing answers.

const GONE = new Set(["restarting", "autorestarting", "terminating", "dead"]);

/** Call `gone` when the manager's kernel is; return a function that stops listening. */
export function kernelGone(manager, gone) {
  const kernel = manager?.kernel;
  if (!kernel?.statusChanged?.connect) return () => {};
  const onStatus = (_, status) => GONE.has(status) && gone();
  kernel.statusChanged.connect(onStatus);
  kernel.disposed?.connect(gone);
  return () => {
    kernel.statusChanged.disconnect(onStatus);
    kernel.disposed?.disconnect(gone);
  };
}
