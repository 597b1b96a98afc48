// The hub's own views by the names that Python gives (`Placeholder.live(view=…)`).
//
// Larger ones have a bundle of their own, which exports `views` like this (`bundles.js`).
//
// A view is a function `(element, handle)`. It fills the element, follows `handle.onState`, and
// returns a function that ends it, or `{unmount, moved}`: `moved` runs after the element was moved
// to another place on the page, which stops sound and resets what the browser keeps.

import { answer } from "./answer.js";
import { progress } from "./progress.js";

export const views = { answer, progress };
