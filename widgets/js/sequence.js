// The bundle of the sequence viewer: too large for the hub, sent when the first viewer is opened.

import { sequence } from "./sequence/view.js";

export const views = { sequence };
