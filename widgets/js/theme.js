const THEME_ATTRIBUTES = ["data-jp-theme-name", "data-jp-theme-light", "class"];

/**
 * Call `listener` in the frame after the theme of the page changed; return a function that stops it.
 *
 * JupyterLab hides the notebook while it changes the theme: a view measured before the next frame has
 * no size, and no resize is observed afterwards.
 */
export function observeTheme(listener) {
  let frame = 0;
  const observer = new MutationObserver(() => {
    frame ||= requestAnimationFrame(() => {
      frame = 0;
      listener();
    });
  });
  observer.observe(document.body, { attributeFilter: THEME_ATTRIBUTES });
  return () => {
    cancelAnimationFrame(frame);
    observer.disconnect();
  };
}
