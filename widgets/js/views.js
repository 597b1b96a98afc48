// The views in the hub's bundle, by the names used in Python (`Placeholder.live(view=…)`).
//
// Larger views have their own bundle, which exports `views` like this module (`bundles.js`).
//
// A view is a function `(element, handle)`. It renders into the element, subscribes to
// `handle.onState`, and returns a function that cleans up, if needed.

import { answer } from "./answer.js";
import { sourcePages } from "./document.js";
import { progress } from "./progress.js";

export const views = { answer, document: sourcePages, progress };
