// Resolve the function that renders a view: from the hub's bundle, or from a separate bundle that
// the kernel sends as a model. A separate bundle is imported once, from a Blob URL.

import { views } from "./views.js";

const imports = new Map(); // model id of a bundle -> promise of its views

/** Return the render function of a view model. */
export async function resolveRender(model, getModel) {
  const id = model.get("bundle");
  const available = id ? await importBundle(id, getModel) : views;
  const name = model.get("view");
  if (!available?.[name]) throw new Error(`there is no view ${name}`);
  return available[name];
}

async function importBundle(id, getModel) {
  if (!imports.has(id)) imports.set(id, importCode(id, getModel));
  try {
    return await imports.get(id);
  } catch (error) {
    imports.delete(id);
    throw error;
  }
}

async function importCode(id, getModel) {
  const code = (await getModel(id))?.get("code");
  if (!code) throw new Error("its code has not arrived");
  const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  try {
    return (await import(url)).views;
  } finally {
    URL.revokeObjectURL(url);
  }
}
