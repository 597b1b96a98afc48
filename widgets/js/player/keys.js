// The player by keyboard, wherever in it the focus is.

const STEP = 5; // seconds

export function keys(event, act) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("select")) return;
  const steps = {
    " ": act.toggle,
    k: act.toggle,
    ArrowLeft: () => act.by(-STEP),
    ArrowRight: () => act.by(STEP),
    ArrowUp: () => act.turn(-1),
    p: () => act.turn(-1),
    ArrowDown: () => act.turn(1),
    n: () => act.turn(1),
    Home: () => act.seek(0),
    End: () => act.seek(Infinity),
  };
  const step = steps[event.key];
  if (!step) return;
  event.preventDefault();
  if (!(event.repeat && step === act.toggle)) step();
}
