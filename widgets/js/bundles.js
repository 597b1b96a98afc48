// Where a view comes from: the hub's own, or a bundle that the kernel sends as a model when it opens
// the first view of that bundle. Its code is imported once, by a Blob's address.

import { views } from "./views.js";

const imported = new Map(); // id of the bundle's model -> its views, or the promise of them

/** The function that draws what `model` wants; undefined where there is none. */
export async function drawing(model, found) {
  const id = model.get("bundle");
  const among = id ? await bundle(id, found) : views;
  return among[model.get("view")];
}

async function bundle(id, found) {
  if (!imported.has(id)) imported.set(id, take(id, found));
  try {
    return await imported.get(id);
  } catch (error) {
    imported.delete(id);
    throw error;
  }
}

async function take(id, found) {
  const code = (await found(id)).get("code");
  const address = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  try {
    return (await import(address)).views;
  } finally {
    URL.revokeObjectURL(address);
  }
}
