import { type Layout, nodeHeight, nodeWidth } from "./layout.ts";

/** Screen position of the graph's origin, and its scale. */
export interface Camera {
  readonly x: number;
  readonly y: number;
  readonly k: number;
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

const scaleMin = 0.02;
const scaleMax = 2.5;
const margin = 28;
/** At this scale names are read with ease; below the lower one not at all. */
const readable = 0.6;
const legible = 0.45;

/** Shows the whole graph, though never enlarged; a graph that would be too small to read begins at its left side. */
export function fitCamera(layout: Pick<Layout, "width" | "height">, view: Size): Camera {
  const wide = (view.width - 2 * margin) / Math.max(1, layout.width);
  const high = (view.height - 2 * margin) / Math.max(1, layout.height);
  const k = Math.max(scaleMin, Math.min(1, wide, high));
  // A graph of a few screens is read from its left side; a smaller or larger one is looked at as a whole.
  if (k < legible && layout.width * readable < 4 * view.width && layout.height * readable < view.height) {
    return { k: readable, x: margin, y: (view.height - layout.height * readable) / 2 };
  }
  return { k, x: (view.width - layout.width * k) / 2, y: (view.height - layout.height * k) / 2 };
}

/** Zooms so that the point of the screen stays where it is. */
export function zoomAt(camera: Camera, at: { readonly x: number; readonly y: number }, factor: number): Camera {
  const k = Math.min(scaleMax, Math.max(scaleMin, camera.k * factor));
  const ratio = k / camera.k;
  return { k, x: at.x - (at.x - camera.x) * ratio, y: at.y - (at.y - camera.y) * ratio };
}

/** Moves the camera just enough to show a node; one that is in view stays where it is. */
export function reveal(camera: Camera, at: { readonly x: number; readonly y: number }, view: Size): Camera {
  const x = camera.x + at.x * camera.k;
  const y = camera.y + at.y * camera.k;
  const shift = (value: number, size: number, extent: number): number => {
    const near = Math.min((extent / 2) * camera.k + margin, size / 3);
    if (value < near) return near - value;
    return value > size - near ? size - near - value : 0;
  };
  const [right, down] = [shift(x, view.width, nodeWidth), shift(y, view.height, nodeHeight)];
  return { k: camera.k, x: camera.x + right, y: camera.y + down };
}
