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
const margin = 20;
/** Names and second lines are read at this scale; below the lower one, names are too small to be read. */
const readable = 0.75;
const legible = 0.55;

/** The scale at which a graph is seen as a whole; never enlarged. */
export function wholeScale({ width, height }: Size, view: Size): number {
  const wide = (view.width - 2 * margin) / Math.max(1, width);
  const high = (view.height - 2 * margin) / Math.max(1, height);
  return Math.max(scaleMin, Math.min(1, wide, high));
}

/** Shows the whole graph; one of a few screens, which would be too small to read, begins at its left side instead. */
export function fitCamera(layout: Size, view: Size): Camera {
  const k = wholeScale(layout, view);
  const [width, height] = [layout.width * readable, layout.height * readable];
  if (k < legible && width < 5 * view.width && height < 2 * view.height) {
    const x = width < view.width ? (view.width - width) / 2 : margin;
    return { k: readable, x, y: (view.height - height) / 2 };
  }
  return { k, x: (view.width - layout.width * k) / 2, y: (view.height - layout.height * k) / 2 };
}

/** True if a part of the graph is outside the view. */
export function isCut(layout: Size, camera: Camera, view: Size): boolean {
  const { x, y, k } = camera;
  return x < 0 || y < 0 || x + layout.width * k > view.width || y + layout.height * k > view.height;
}

/** Zooms so that the point of the screen stays where it is. */
export function zoomAt(camera: Camera, at: { readonly x: number; readonly y: number }, factor: number): Camera {
  const k = Math.min(scaleMax, Math.max(scaleMin, camera.k * factor));
  const ratio = k / camera.k;
  return { k, x: at.x - (at.x - camera.x) * ratio, y: at.y - (at.y - camera.y) * ratio };
}

interface Area {
  readonly view: Size;
  readonly node: Size;
}

/** Moves the camera just enough to show a node; one that is in view stays where it is. */
export function reveal(camera: Camera, at: { readonly x: number; readonly y: number }, area: Area): Camera {
  const { view, node } = area;
  const x = camera.x + at.x * camera.k;
  const y = camera.y + at.y * camera.k;
  const shift = (value: number, size: number, extent: number): number => {
    const near = Math.min((extent / 2) * camera.k + margin, size / 3);
    if (value < near) return near - value;
    return value > size - near ? size - near - value : 0;
  };
  const [right, down] = [shift(x, view.width, node.width), shift(y, view.height, node.height)];
  return { k: camera.k, x: camera.x + right, y: camera.y + down };
}
