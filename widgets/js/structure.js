// The bundle of the structure viewer and the gallery of structures, sent at the first use of either.

import { gallery } from "./gallery.js";
import { mountCard } from "./structure/card.js";
import { structure } from "./structure/view.js";

const structureGallery = (root, handle) => gallery(root, handle, mountCard);

export const views = { structure, structure_gallery: structureGallery };
