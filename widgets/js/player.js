// The bundle of the podcast player: sent when the first one is opened.

import { player } from "./player/view.js";

export const views = { player };
