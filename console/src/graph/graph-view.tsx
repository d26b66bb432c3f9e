import { Tooltip } from "antd";
import { type KeyboardEvent, type PointerEvent, useEffect, useMemo, useRef, useState } from "react";
import { usePreferences } from "../base/preferences.ts";
import { toneOf } from "../base/status.ts";
import { Icon, type IconName } from "../parts/icon.tsx";
import { useIsDark } from "../shell/theme.ts";
import { useKeys } from "../shell/keys.ts";
import { useText } from "../text/define-text.ts";
import { graphText } from "../text/graph-text.ts";
import { type Camera, fitCamera, isCut, reveal, type Size, zoomAt } from "./camera.ts";
import { readColours } from "./colours.ts";
import { useConnecting } from "./connecting.ts";
import { ConnectingOverlay } from "./connecting-overlay.tsx";
import { drawScene, type Scene } from "./draw.ts";
import { Minimap } from "./minimap.tsx";
import { type Layout, layoutGraph } from "./layout.ts";
import type { GraphModel } from "./model.ts";
import "../styles/graph.css";

export interface GraphViewProps {
  readonly model: GraphModel;
  readonly selected: string | undefined;
  readonly onSelect: (id: string | undefined) => void;
  readonly onOpen?: (id: string) => void;
  /** Nodes have ports, from which edges are drawn. */
  readonly onConnect?: ((from: string, to: string) => void) | undefined;
}

const minimapFrom = 60;
const noNodes: ReadonlySet<number> = new Set();

interface Structure {
  readonly layout: Layout;
  readonly numberOf: ReadonlyMap<string, number>;
  readonly ends: readonly (readonly [number, number])[];
}

/** Positions depend on the nodes, the edges and the view, so that a change of status moves nothing. */
function useStructure(model: GraphModel, view: Size, hasMoved: { readonly current: boolean }): Structure {
  const before = useRef<{ readonly key: string; readonly structure: Structure }>(undefined);
  const key = `${model.nodes.map(({ id }) => id).join(" ")}|${model.edges.map(({ from, to }) => `${from}>${to}`).join(" ")}`;
  return useMemo(() => {
    // A graph that somebody has moved keeps its shape while the view changes its size.
    if (hasMoved.current && before.current?.key === key) return before.current.structure;
    const ids = model.nodes.map(({ id }) => id);
    const numberOf = new Map(ids.map((id, number) => [id, number]));
    const ends = model.edges.map(({ from, to }) => [numberOf.get(from) ?? 0, numberOf.get(to) ?? 0] as const);
    const structure = { layout: layoutGraph(ids, model.edges, view), numberOf, ends };
    before.current = { key, structure };
    return structure;
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- the key stands for the nodes and edges
  }, [key, view]);
}

function useSize(): [Size, (element: HTMLElement | null) => void] {
  const [size, setSize] = useState<Size>({ width: 0, height: 0 });
  const [element, setElement] = useState<HTMLElement | null>(null);
  useEffect(() => {
    if (element === null) return undefined;
    const observer = new ResizeObserver(() => {
      setSize({ width: element.clientWidth, height: element.clientHeight });
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [element]);
  return [size, setElement];
}

/** All nodes on the ways that lead to a node. */
function upstreamOf(number: number, ends: Structure["ends"]): ReadonlySet<number> {
  const found = new Set([number]);
  const before = new Map<number, number[]>();
  for (const [a, b] of ends) before.set(b, [...(before.get(b) ?? []), a]);
  for (const each of found) for (const previous of before.get(each) ?? []) found.add(previous);
  return found;
}

function useWay(number: number | undefined, ends: Structure["ends"]): ReadonlySet<number> {
  return useMemo(() => (number === undefined ? noNodes : upstreamOf(number, ends)), [number, ends]);
}

interface CameraParts {
  readonly layout: Layout;
  readonly view: Size;
  readonly selected: number | undefined;
  /** The node to show first if the graph is larger than the view. */
  readonly first: number | undefined;
  readonly hasMoved: { current: boolean };
}

/** The camera fits the graph until it is moved, and follows the selection. */
function useCamera({ layout, view, selected, first, hasMoved }: CameraParts) {
  const [camera, setCamera] = useState<Camera>({ x: 0, y: 0, k: 1 });
  const latestFirst = useRef(first);
  latestFirst.current = first;
  const showNode = (current: Camera, number: number): Camera => {
    const at = { x: layout.x[number] ?? 0, y: layout.y[number] ?? 0 };
    return reveal(current, at, { view, node: layout.node });
  };
  const fitted = (): Camera => {
    const whole = fitCamera(layout, view);
    const number = latestFirst.current;
    return number !== undefined && isCut(layout, whole, view) ? showNode(whole, number) : whole;
  };
  const fit = (): void => {
    hasMoved.current = false;
    setCamera(fitted());
  };
  useEffect(() => {
    if (view.width > 0 && !hasMoved.current) setCamera(fitted());
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- the layout and the view are all that a fit depends on
  }, [layout, view]);
  useEffect(() => {
    if (selected === undefined || view.width === 0) return;
    setCamera((current) => showNode(current, selected));
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- the same
  }, [selected, layout, view]);
  return { camera, setCamera, fit };
}

/** The node that somebody who opens the graph looks for: the first that failed, or the first that runs. */
function firstOfInterest({ nodes }: GraphModel): number | undefined {
  for (const tone of ["failed", "running"]) {
    const found = nodes.findIndex(({ status }) => status !== undefined && toneOf(status) === tone);
    if (found !== -1) return found;
  }
  return undefined;
}

/** Draws the scene once a frame, whenever something in it has changed. */
function useScene(canvas: { readonly current: HTMLCanvasElement | null }, scene: Omit<Scene, "colours">): void {
  const isDark = useIsDark();
  const { palette } = usePreferences();
  const { model, layout, ends, camera, view, selected, hovered, lit, isMoving } = scene;
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (context === null || context === undefined || view.width === 0) return undefined;
    const frame = requestAnimationFrame(() => {
      const ratio = window.devicePixelRatio;
      const { canvas: target } = context;
      const [width, height] = [Math.round(view.width * ratio), Math.round(view.height * ratio)];
      if (target.width !== width) target.width = width;
      if (target.height !== height) target.height = height;
      const colours = readColours();
      drawScene(context, { model, layout, ends, camera, view, selected, hovered, lit, isMoving, colours }, ratio);
    });
    return () => cancelAnimationFrame(frame);
    // The theme and the palette change the colours that are read.
  }, [canvas, model, layout, ends, camera, view, selected, hovered, lit, isMoving, isDark, palette]);
}

/** The node under a point of the screen. */
function hitTest(
  canvas: HTMLCanvasElement | null,
  event: { readonly clientX: number; readonly clientY: number },
  { layout, camera }: { readonly layout: Layout; readonly camera: Camera },
): number | undefined {
  const box = canvas?.getBoundingClientRect();
  if (box === undefined) return undefined;
  const x = (event.clientX - box.left - camera.x) / camera.k;
  const y = (event.clientY - box.top - camera.y) / camera.k;
  const found = layout.x.findIndex((at, number) => {
    return Math.abs(at - x) <= layout.node.width / 2 && Math.abs((layout.y[number] ?? 0) - y) <= layout.node.height / 2;
  });
  return found === -1 ? undefined : found;
}

/** A graph on a canvas: five thousand nodes move as smoothly as five. */
export function GraphView({ model, selected, onSelect, onOpen, onConnect }: GraphViewProps) {
  const text = useText(graphText);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [view, setFrame] = useSize();
  const hasMoved = useRef(false);
  const structure = useStructure(model, view, hasMoved);
  const { layout, numberOf, ends } = structure;
  const [hovered, setHovered] = useState<number>();
  const [showsWay, setShowsWay] = useState(false);
  const selectedNumber = selected === undefined ? undefined : numberOf.get(selected);
  const lit = useWay(showsWay ? selectedNumber : undefined, ends);
  const first = firstOfInterest(model);
  const { camera, setCamera, fit } = useCamera({ layout, view, selected: selectedNumber, first, hasMoved });
  const pan = usePan({ canvas, camera, setCamera, hasMoved });

  const { isMoving } = pan;
  useScene(canvas, { model, layout, ends, camera, view, selected: selectedNumber, hovered, lit, isMoving });
  const nodeAt = (event: { clientX: number; clientY: number }): number | undefined => {
    return hitTest(canvas.current, event, { layout, camera });
  };
  const idOf = (number: number | undefined): string | undefined => {
    return number === undefined ? undefined : model.nodes[number]?.id;
  };
  const connect = onConnect && ((from: number, to: number) => onConnect(idOf(from) ?? "", idOf(to) ?? ""));
  const link = useConnecting({ layout, camera, onConnect: connect });
  useKeys({ "0": fit, n: () => onSelect(nextFailed(model, selectedNumber)) });
  const onKey = (event: KeyboardEvent): void => {
    const next = neighbour({ event, selected: selectedNumber, structure });
    if (event.key === "Enter" && selected !== undefined) onOpen?.(selected);
    else if (event.key === "Escape") onSelect(undefined);
    else if (next !== undefined) onSelect(idOf(next));
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const move = (next: Camera): void => {
    hasMoved.current = true;
    setCamera(next);
  };
  return (
    <div className="graph" ref={setFrame}>
      <canvas
        ref={canvas}
        role="img"
        tabIndex={0}
        aria-label={text.label(model.nodes.length)}
        className={hovered === undefined ? "" : "graph-over"}
        onKeyDown={onKey}
        {...pointerHandlers({ pan, link, nodeAt, setHovered, onClick: (over) => onSelect(idOf(over)) })}
        onDoubleClick={(event) => onOpen?.(idOf(nodeAt(event)) ?? "")}
      />
      {onConnect !== undefined && (
        <ConnectingOverlay layout={layout} camera={camera} nodes={[hovered, selectedNumber]} edge={link.edge} />
      )}
      <Tools
        onZoom={(factor) => move(zoomAt(camera, { x: view.width / 2, y: view.height / 2 }, factor))}
        onFit={fit}
        {...(selectedNumber !== undefined && { way: { isOn: showsWay, onChange: setShowsWay } })}
      />
      {(model.nodes.length >= minimapFrom || isCut(layout, camera, view)) && (
        <Minimap model={model} layout={layout} camera={camera} view={view} onMove={move} />
      )}
    </div>
  );
}

interface PointerParts {
  readonly pan: ReturnType<typeof usePan>;
  readonly link: ReturnType<typeof useConnecting>;
  readonly nodeAt: (event: { clientX: number; clientY: number }) => number | undefined;
  readonly setHovered: (number: number | undefined) => void;
  readonly onClick: (number: number | undefined) => void;
}

/** A drag from a port draws an edge, any other drag pans, and a click selects. */
function pointerHandlers({ pan, link, nodeAt, setHovered, onClick }: PointerParts) {
  return {
    onPointerDown: (event: PointerEvent<HTMLCanvasElement>): void => {
      if (!link.begin(event)) pan.onDown(event);
    },
    onPointerMove: (event: PointerEvent<HTMLCanvasElement>): void => {
      if (!link.move(event)) pan.onMove(event);
      setHovered(link.portAt(event) ?? nodeAt(event));
    },
    onPointerUp: (event: PointerEvent<HTMLCanvasElement>): void => {
      const over = nodeAt(event);
      if (!link.end(over) && pan.onUp(event)) onClick(over);
    },
    onPointerCancel: (event: PointerEvent<HTMLCanvasElement>): void => {
      if (!link.end(undefined)) pan.onUp(event);
    },
    onPointerLeave: (): void => setHovered(undefined),
  };
}

/** The next failed node after the selected one, or the first. */
function nextFailed({ nodes }: GraphModel, selected: number | undefined): string | undefined {
  const failed = [...nodes.keys()].filter((number) => toneOf(nodes[number]?.status ?? "") === "failed");
  const next = failed.find((number) => number > (selected ?? -1)) ?? failed[0];
  return next === undefined ? undefined : nodes[next]?.id;
}

interface ToolsProps {
  readonly onZoom: (factor: number) => void;
  readonly onFit: () => void;
  /** Lights the way that leads to the selected node. */
  readonly way?: { readonly isOn: boolean; readonly onChange: (isOn: boolean) => void };
}

function Tools({ onZoom, onFit, way }: ToolsProps) {
  const text = useText(graphText);
  return (
    <div className="graph-tools">
      <Tool icon="plus" label={text.zoomIn} onClick={() => onZoom(1.3)} />
      <Tool icon="minus" label={text.zoomOut} onClick={() => onZoom(1 / 1.3)} />
      <Tool icon="fit" label={text.fit} onClick={onFit} />
      {way !== undefined && (
        <Tool icon="left" label={text.way} onClick={() => way.onChange(!way.isOn)} isOn={way.isOn} />
      )}
    </div>
  );
}

interface ToolProps {
  readonly icon: IconName;
  readonly label: string;
  readonly onClick: () => void;
  readonly isOn?: boolean;
}

function Tool({ icon, label, onClick, isOn }: ToolProps) {
  return (
    <Tooltip title={label} placement="right">
      <button type="button" aria-label={label} onClick={onClick} aria-pressed={isOn}>
        <Icon name={icon} size={14} />
      </button>
    </Tooltip>
  );
}

interface PanParts {
  readonly canvas: { readonly current: HTMLCanvasElement | null };
  readonly camera: Camera;
  readonly setCamera: (change: (camera: Camera) => Camera) => void;
  readonly hasMoved: { current: boolean };
}

const clickSlack = 4;

/** Drag to pan, wheel or pinch to zoom. */
function usePan({ canvas, camera, setCamera, hasMoved }: PanParts) {
  const fingers = useRef(new Map<number, { x: number; y: number }>());
  const travelled = useRef(0);
  const [isMoving, setMoving] = useState(false);
  const latest = useRef(camera);
  latest.current = camera;
  useEffect(() => {
    const element = canvas.current;
    if (element === null) return undefined;
    let settle: ReturnType<typeof setTimeout> | undefined;
    // React listens passively to wheels, and the page would scroll.
    const onWheel = (event: WheelEvent): void => {
      event.preventDefault();
      hasMoved.current = true;
      setMoving(true);
      clearTimeout(settle);
      settle = setTimeout(() => setMoving(false), 150);
      const box = element.getBoundingClientRect();
      const at = { x: event.clientX - box.left, y: event.clientY - box.top };
      const factor = Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0015));
      setCamera((current) => zoomAt(current, at, factor));
    };
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => {
      element.removeEventListener("wheel", onWheel);
      clearTimeout(settle);
    };
  }, [canvas, hasMoved, setCamera]);
  return {
    isMoving,
    onDown: (event: PointerEvent<HTMLCanvasElement>): void => {
      event.currentTarget.setPointerCapture(event.pointerId);
      fingers.current.set(event.pointerId, { x: event.clientX, y: event.clientY });
      travelled.current = 0;
    },
    onMove: (event: PointerEvent<HTMLCanvasElement>): void => {
      const from = fingers.current.get(event.pointerId);
      if (from === undefined) return;
      const [dx, dy] = [event.clientX - from.x, event.clientY - from.y];
      const other = [...fingers.current.entries()].find(([id]) => id !== event.pointerId)?.[1];
      fingers.current.set(event.pointerId, { x: event.clientX, y: event.clientY });
      travelled.current += Math.abs(dx) + Math.abs(dy);
      if (travelled.current < clickSlack) return;
      hasMoved.current = true;
      setMoving(true);
      if (other === undefined) setCamera((current) => ({ ...current, x: current.x + dx, y: current.y + dy }));
      else {
        const before = Math.hypot(from.x - other.x, from.y - other.y);
        const after = Math.hypot(event.clientX - other.x, event.clientY - other.y);
        const box = event.currentTarget.getBoundingClientRect();
        const at = { x: (event.clientX + other.x) / 2 - box.left, y: (event.clientY + other.y) / 2 - box.top };
        setCamera((current) => zoomAt(current, at, after / Math.max(1, before)));
      }
    },
    /** True if it was a click. */
    onUp: (event: PointerEvent<HTMLCanvasElement>): boolean => {
      fingers.current.delete(event.pointerId);
      setMoving(false);
      return travelled.current < clickSlack;
    },
  };
}

interface Step {
  readonly event: KeyboardEvent;
  readonly selected: number | undefined;
  readonly structure: Structure;
}

/** The node that an arrow key leads to: along an edge, or up and down among those nearby. */
function neighbour({ event, selected, structure }: Step): number | undefined {
  const { ends, layout } = structure;
  const isArrow = /^Arrow(?:Left|Right|Up|Down)$/.test(event.key);
  if (!isArrow) return undefined;
  if (selected === undefined) return layout.x.length > 0 ? 0 : undefined;
  const [x = 0, y = 0] = [layout.x[selected], layout.y[selected]];
  if (event.key === "ArrowRight") return ends.find(([from]) => from === selected)?.[1];
  if (event.key === "ArrowLeft") return ends.find(([, to]) => to === selected)?.[0];
  const sign = event.key === "ArrowDown" ? 1 : -1;
  let best: { number: number; distance: number } | undefined;
  layout.y.forEach((at, number) => {
    if ((at - y) * sign <= 0) return;
    const distance = Math.abs(at - y) + 3 * Math.abs((layout.x[number] ?? 0) - x);
    if (best === undefined || distance < best.distance) best = { number, distance };
  });
  return best?.number;
}
