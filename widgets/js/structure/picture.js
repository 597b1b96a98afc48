// Send a picture of a canvas to the kernel, which saves it with the notebook.

const WIDTH = 640; // pixels
const HEIGHT = 400;
const MAX_BYTES = 140_000;

/**
 * Send a PNG picture of at most `WIDTH` x `HEIGHT` pixels and `MAX_BYTES`; smaller if needed.
 *
 * The canvas has no size, and sends nothing, while its output is hidden or replaced.
 */
export async function sendPicture(source, handle) {
  if (!source.width || !source.height) return;
  for (const scale of [1, 0.75, 0.5]) {
    const blob = await draw(source, WIDTH * scale, HEIGHT * scale);
    if (!blob || blob.size > MAX_BYTES) continue;
    const buffer = await blob.arrayBuffer();
    handle.guard(() => handle.send({ do: "picture" }, [buffer]));
    return;
  }
}

/** Return a copy of a canvas as it looks now. */
export function copyPicture(source) {
  const copy = document.createElement("canvas");
  copy.width = Math.max(1, source.width);
  copy.height = Math.max(1, source.height);
  if (source.width && source.height) copy.getContext("2d").drawImage(source, 0, 0);
  return copy;
}

function draw(source, width, height) {
  const scale = Math.min(width / source.width, height / source.height);
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(source.width * scale));
  canvas.height = Math.max(1, Math.round(source.height * scale));
  const context = canvas.getContext("2d");
  context.imageSmoothingQuality = "high";
  context.drawImage(source, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}
