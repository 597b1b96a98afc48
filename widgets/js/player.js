// The bundle of the podcast player, sent when a player is first opened.

import { player } from "./player/view.js";

export const views = { player };
