// The bundle of the sequence viewer, sent when a viewer is first opened.

import { sequence } from "./sequence/view.js";

export const views = { sequence };
