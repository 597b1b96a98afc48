// The bundle of plots, sent when a plot is first displayed.

import { plot } from "./plot/view.js";

export const views = { plot };
