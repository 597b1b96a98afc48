// The bundle of the alignment and tree views, sent when one is first opened.

import { alignment } from "./alignment/view.js";

export const views = { alignment };
