// Keyboard shortcuts of the player.

const SEEK_STEP = 5; // seconds

export function handleKey(event, actions) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("select")) return;
  const shortcuts = {
    " ": actions.toggle,
    k: actions.toggle,
    ArrowLeft: () => actions.skip(-SEEK_STEP),
    ArrowRight: () => actions.skip(SEEK_STEP),
    ArrowUp: () => actions.skipTurns(-1),
    p: () => actions.skipTurns(-1),
    ArrowDown: () => actions.skipTurns(1),
    n: () => actions.skipTurns(1),
    Home: () => actions.seek(0),
    End: () => actions.seek(Infinity),
  };
  const action = shortcuts[event.key];
  if (!action) return;
  event.preventDefault();
  if (!(event.repeat && action === actions.toggle)) action();
}
