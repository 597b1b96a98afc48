// Detect that a kernel has restarted, died or been shut down, by JupyterLab's widget manager. Live
// views are closed then, so that no button remains that nothing responds to.

const GONE = new Set(["restarting", "autorestarting", "terminating", "dead"]);

/** Call `callback` when the manager's kernel is gone; return a function that unsubscribes. */
export function onKernelGone(manager, callback) {
  const kernel = manager?.kernel;
  if (!kernel?.statusChanged?.connect) return () => {};
  const onStatus = (_, status) => GONE.has(status) && callback();
  kernel.statusChanged.connect(onStatus);
  kernel.disposed?.connect(callback);
  return () => {
    kernel.statusChanged.disconnect(onStatus);
    kernel.disposed?.disconnect(callback);
  };
}
