import { formOf, toneOf } from "../base/status.ts";
import type { Camera, Size } from "./camera.ts";
import type { Colours } from "./colours.ts";
import type { Layout } from "./layout.ts";
import type { GraphEdge, GraphModel, GraphNode } from "./model.ts";
import {
  arrowsFrom,
  detailsFrom,
  fitDetail,
  fitText,
  type Measure,
  namesFrom,
  textSize,
  wrapName,
} from "./node-text.ts";

export interface Scene {
  readonly model: GraphModel;
  readonly layout: Layout;
  /** Numbers of the nodes at both ends of each edge. */
  readonly ends: readonly (readonly [number, number])[];
  readonly camera: Camera;
  readonly view: Size;
  readonly colours: Colours;
  readonly selected: number | undefined;
  readonly hovered: number | undefined;
  /** Nodes that an operation would touch, or the way up from the selected node; empty for none. */
  readonly lit: ReadonlySet<number>;
  readonly isMoving: boolean;
}

const forms = new Map<string, Path2D>();

function formPath(status: string): Path2D {
  const known = forms.get(status);
  if (known !== undefined) return known;
  const made = new Path2D(formOf(status));
  forms.set(status, made);
  return made;
}

export function drawScene(context: CanvasRenderingContext2D, scene: Scene, ratio: number): void {
  const { camera, view } = scene;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, view.width, view.height);
  context.translate(camera.x, camera.y);
  context.scale(camera.k, camera.k);
  const area = {
    left: -camera.x / camera.k,
    top: -camera.y / camera.k,
    right: (view.width - camera.x) / camera.k,
    bottom: (view.height - camera.y) / camera.k,
  };
  drawEdges(context, scene, area);
  const { x, y, node: box } = scene.layout;
  scene.model.nodes.forEach((node, number) => {
    const left = (x[number] ?? 0) - box.width / 2;
    const top = (y[number] ?? 0) - box.height / 2;
    if (left > area.right || left + box.width < area.left || top > area.bottom || top + box.height < area.top) return;
    if (camera.k < namesFrom) drawBlock(context, node, { left, top, scene, number });
    else drawNode(context, node, { left, top, scene, number });
  });
}

interface Area {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

function drawEdges(context: CanvasRenderingContext2D, scene: Scene, area: Area): void {
  const { colours, camera, model } = scene;
  const isCoarse = camera.k < namesFrom || (scene.isMoving && model.edges.length > 1500);
  const width = Math.max(1.25, 0.6 / camera.k);
  const styles = {
    pending: { colour: colours.line, dash: [] },
    taken: { colour: colours.lineStrong, dash: [] },
    inferred: { colour: colours.lineStrong, dash: [4, 4] },
    off: { colour: colours.lineStrong, dash: [3, 5] },
  } as const;
  for (const state of ["pending", "off", "inferred", "taken"] as const) {
    context.beginPath();
    model.edges.forEach((edge, number) => {
      if (edge.state === state && isSeen(scene, number, area)) traceEdge(context, scene, number, isCoarse);
    });
    context.strokeStyle = state === "pending" ? colours.lineStrong : styles[state].colour;
    context.globalAlpha = state === "pending" ? 0.75 : 1;
    context.setLineDash(isCoarse ? [] : [...styles[state].dash]);
    context.lineWidth = state === "taken" ? width * 1.3 : width;
    if (state === "taken") context.strokeStyle = colours.quiet;
    context.stroke();
  }
  context.globalAlpha = 1;
  context.setLineDash([]);
  if (!isCoarse && camera.k >= arrowsFrom) {
    model.edges.forEach((edge, number) => isSeen(scene, number, area) && drawEdgeEnd(context, scene, edge, number));
  }
}

function isSeen({ layout, ends }: Scene, number: number, area: Area): boolean {
  const [a = 0, b = 0] = ends[number] ?? [];
  const { x, y } = layout;
  const [ax = 0, ay = 0, bx = 0, by = 0] = [x[a], y[a], x[b], y[b]];
  const isBeside = Math.max(ax, bx) < area.left || Math.min(ax, bx) > area.right;
  const reach = 200;
  return !isBeside && Math.max(ay, by) > area.top - reach && Math.min(ay, by) < area.bottom + reach;
}

function traceEdge(context: CanvasRenderingContext2D, scene: Scene, number: number, isCoarse: boolean): void {
  const { x, y, bends, node } = scene.layout;
  const [a = 0, b = 0] = scene.ends[number] ?? [];
  const [ax, ay] = [(x[a] ?? 0) + node.width / 2, y[a] ?? 0];
  const [bx, by] = [(x[b] ?? 0) - node.width / 2, y[b] ?? 0];
  context.moveTo(ax, ay);
  if (isCoarse) {
    context.lineTo(bx, by);
    return;
  }
  const inner = bends[number]?.slice(1, -1) ?? [];
  let [fromX, fromY] = [ax, ay];
  for (const point of inner.length > 1 ? inner : []) {
    curveTo(context, [fromX, fromY], [point.x, point.y]);
    [fromX, fromY] = [point.x, point.y];
  }
  curveTo(context, [fromX, fromY], [bx, by]);
}

function curveTo(context: CanvasRenderingContext2D, [ax, ay]: [number, number], [bx, by]: [number, number]): void {
  const bend = Math.max(12, (bx - ax) / 2);
  context.bezierCurveTo(ax + bend, ay, bx - bend, by, bx, by);
}

function drawEdgeEnd(context: CanvasRenderingContext2D, scene: Scene, edge: GraphEdge, number: number): void {
  const { x, y, node } = scene.layout;
  const [a = 0, b = 0] = scene.ends[number] ?? [];
  const [bx, by] = [(x[b] ?? 0) - node.width / 2, y[b] ?? 0];
  context.fillStyle = edge.state === "taken" ? scene.colours.quiet : scene.colours.lineStrong;
  context.beginPath();
  context.moveTo(bx, by);
  context.lineTo(bx - 6, by - 3.5);
  context.lineTo(bx - 6, by + 3.5);
  context.fill();
  if (edge.label === undefined) return;
  const [ax, ay] = [(x[a] ?? 0) + node.width / 2, y[a] ?? 0];
  const [cx, cy] = [ax + (bx - ax) * 0.5, ay + (by - ay) * 0.5];
  const size = textSize(11, scene.camera.k);
  const measure = measureWith(context, size);
  const label = fitText(edge.label, bx - ax - 8, measure);
  const width = measure(label) + 8;
  context.fillStyle = scene.colours.page;
  context.fillRect(cx - width / 2, cy - size * 0.7, width, size * 1.4);
  context.fillStyle = scene.colours.quiet;
  context.textAlign = "center";
  context.fillText(label, cx, cy + size * 0.36);
  context.textAlign = "left";
}

function isBoxed({ kind }: GraphNode): boolean {
  return kind === "job" || kind === "map" || kind === "nested" || kind === "fold";
}

interface Placed {
  readonly left: number;
  readonly top: number;
  readonly scene: Scene;
  readonly number: number;
}

function drawBlock(context: CanvasRenderingContext2D, node: GraphNode, { left, top, scene, number }: Placed): void {
  const { colours } = scene;
  const { width: nodeWidth, height: nodeHeight } = scene.layout.node;
  context.fillStyle = node.status === undefined ? colours.lineStrong : colours.fill[toneOf(node.status)];
  context.globalAlpha = isDimmed(scene, number) ? 0.3 : 1;
  context.fillRect(left, top, nodeWidth, nodeHeight);
  context.globalAlpha = 1;
  if (scene.selected !== number) return;
  context.strokeStyle = colours.focus;
  context.lineWidth = 3 / scene.camera.k;
  context.strokeRect(left, top, nodeWidth, nodeHeight);
}

function isDimmed({ lit }: Scene, number: number): boolean {
  return lit.size > 0 && !lit.has(number);
}

function drawNode(context: CanvasRenderingContext2D, node: GraphNode, placed: Placed): void {
  const { left, top, scene, number } = placed;
  const { colours } = scene;
  const { width: nodeWidth, height: nodeHeight } = scene.layout.node;
  const tone = node.status === undefined ? undefined : toneOf(node.status);
  context.globalAlpha = isDimmed(scene, number) ? 0.35 : 1;
  traceOutline(context, node, placed);
  context.fillStyle = scene.hovered === number ? colours.raised : colours.card;
  context.fill();
  const isBox = isBoxed(node);
  if (tone !== undefined && tone !== "off" && isBox) {
    context.save();
    context.clip();
    context.fillStyle = colours.fill[tone];
    context.fillRect(left, top, 4, nodeHeight);
    if (node.progress !== undefined) context.fillRect(left, top + nodeHeight - 3, nodeWidth * node.progress, 3);
    context.restore();
  }
  drawBorder(context, node, placed);
  const isNarrow = scene.layout.node.width < 150;
  const inset = (node.status === undefined ? 10 : isNarrow ? 27 : 32) + (node.kind === "decision" ? 4 : 0);
  if (node.status !== undefined) {
    drawForm(context, node.status, left + inset - 21, top + nodeHeight / 2 - 8, colours);
  }
  drawText(context, node, { ...placed, left: left + inset, room: nodeWidth - inset - (isBox ? 6 : 14) });
  context.globalAlpha = 1;
}

/** The name, in two lines where nodes are narrow, and the second line, as a block in the middle of the node's height. */
function drawText(
  context: CanvasRenderingContext2D,
  node: GraphNode,
  { left, top, scene, room }: Placed & { readonly room: number },
): void {
  const { colours, camera, layout } = scene;
  const isNarrow = layout.node.width < 150;
  const size = textSize(13, camera.k);
  const measure = measureWith(context, size);
  const lines = isNarrow ? wrapName(node.label, room, measure) : [fitText(node.label, room, measure)];
  const detailSize = textSize(11, camera.k);
  const hasDetail = camera.k >= detailsFrom && (node.counts !== undefined || node.detail !== "");
  const height = lines.length * size * 1.2 + (hasDetail ? detailSize * 1.25 : 0);
  let baseline = top + (layout.node.height - height) / 2 + size * 0.95;
  context.fillStyle = node.status !== undefined && toneOf(node.status) === "off" ? colours.ink.off : colours.text;
  context.textBaseline = "alphabetic";
  for (const line of lines) {
    context.fillText(line, left, baseline);
    baseline += size * 1.2;
  }
  if (!hasDetail) return;
  baseline += (detailSize - size) * 0.95;
  const measureDetail = measureWith(context, detailSize);
  context.fillStyle = colours.quiet;
  if (node.counts !== undefined) drawCounts(context, node.counts, { left, baseline, room, colours });
  else context.fillText(fitDetail(node.detail, room, measureDetail), left, baseline);
}

/** Sets the font. */
function measureWith(context: CanvasRenderingContext2D, size: number): Measure {
  context.font = `${size}px ${fontOf()}`;
  return (text) => context.measureText(text).width;
}

interface CountsPlace {
  readonly left: number;
  readonly baseline: number;
  readonly room: number;
  readonly colours: Colours;
}

/** A stacked bar of the sub-tasks' statuses. */
function drawCounts(
  context: CanvasRenderingContext2D,
  counts: Readonly<Record<string, number>>,
  { left, baseline, room, colours }: CountsPlace,
): void {
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const done = total - (counts["Pending"] ?? 0) - (counts["Running"] ?? 0);
  const label = `${done}/${total}`;
  const width = Math.max(16, room - context.measureText(label).width - 6);
  let at = left;
  for (const status of ["Success", "Skipped", "Failed", "TimeoutFailed", "Stopped", "Running", "Canceled", "Pending"]) {
    const part = ((counts[status] ?? 0) / Math.max(1, total)) * width;
    context.fillStyle = status === "Pending" ? colours.line : colours.fill[toneOf(status)];
    context.fillRect(at, baseline - 7, part, 6);
    at += part;
  }
  context.fillStyle = colours.quiet;
  context.fillText(label, left + width + 6, baseline);
}

function drawBorder(context: CanvasRenderingContext2D, node: GraphNode, placed: Placed): void {
  const { left, top, scene, number } = placed;
  const { colours, selected } = scene;
  const { width: nodeWidth, height: nodeHeight } = scene.layout.node;
  const tone = node.status === undefined ? undefined : toneOf(node.status);
  const isBox = isBoxed(node);
  const isStrong = tone !== undefined && tone !== "off" && (tone === "running" || tone === "failed" || !isBox);
  traceOutline(context, node, placed);
  context.setLineDash(tone === "off" ? [4, 3] : []);
  context.strokeStyle = isStrong ? colours.fill[tone] : colours.lineStrong;
  context.lineWidth = 1.1;
  if (selected === number) {
    context.setLineDash([]);
    context.strokeStyle = colours.focus;
    context.lineWidth = 2.5;
  }
  context.stroke();
  context.setLineDash([]);
  if (node.kind !== "nested" && node.kind !== "fold" && node.kind !== "map") return;
  // A second border: there is more inside.
  context.strokeStyle = colours.lineStrong;
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(left + 6, top + nodeHeight + 3);
  context.lineTo(left + nodeWidth + 3 - 4, top + nodeHeight + 3);
  context.quadraticCurveTo(left + nodeWidth + 3, top + nodeHeight + 3, left + nodeWidth + 3, top + nodeHeight - 1);
  context.lineTo(left + nodeWidth + 3, top + 6);
  context.stroke();
}

function traceOutline(context: CanvasRenderingContext2D, node: GraphNode, { left, top, scene }: Placed): void {
  const { width: nodeWidth, height: nodeHeight } = scene.layout.node;
  context.beginPath();
  if (node.kind === "decision") {
    const cut = 11;
    const [right, bottom] = [left + nodeWidth, top + nodeHeight];
    context.moveTo(left + cut, top);
    context.lineTo(right - cut, top);
    context.lineTo(right, top + nodeHeight / 2);
    context.lineTo(right - cut, bottom);
    context.lineTo(left + cut, bottom);
    context.lineTo(left, top + nodeHeight / 2);
    context.closePath();
    return;
  }
  const isCapsule = node.kind === "timer" || node.kind === "event" || node.kind === "start" || node.kind === "end";
  context.roundRect(left, top, nodeWidth, nodeHeight, isCapsule ? nodeHeight / 2 : 6);
}

function drawForm(
  context: CanvasRenderingContext2D,
  status: string,
  left: number,
  top: number,
  colours: Colours,
): void {
  context.save();
  context.translate(left, top);
  context.strokeStyle = colours.ink[toneOf(status)];
  context.lineWidth = 1.6;
  context.lineCap = "round";
  context.lineJoin = "round";
  context.stroke(formPath(status));
  context.restore();
}

let font: string | undefined;

function fontOf(): string {
  font ??= getComputedStyle(document.documentElement).getPropertyValue("--font").trim();
  return font;
}
