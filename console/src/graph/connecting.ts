import { type PointerEvent, useState } from "react";
import type { Camera } from "./camera.ts";
import type { Layout, Point } from "./layout.ts";

/** Distance from a port within which a pointer grabs it, in pixels of the screen. */
const portReach = 12;

interface Parts {
  readonly layout: Layout;
  readonly camera: Camera;
  /** Undefined where the graph is only looked at. */
  readonly onConnect: ((from: number, to: number) => void) | undefined;
}

type Pointer = PointerEvent<HTMLCanvasElement>;

function pointOf(event: Pointer): Point {
  const box = event.currentTarget.getBoundingClientRect();
  return { x: event.clientX - box.left, y: event.clientY - box.top };
}

/** The place of a node's port on the screen: the middle of its right side. */
export function portOf({ layout, camera }: Pick<Parts, "layout" | "camera">, number: number): Point {
  return {
    x: camera.x + ((layout.x[number] ?? 0) + layout.node.width / 2) * camera.k,
    y: camera.y + (layout.y[number] ?? 0) * camera.k,
  };
}

/** An edge that is drawn by hand, from the port of one node to another node. */
export function useConnecting(parts: Parts) {
  const { layout, onConnect } = parts;
  const [edge, setEdge] = useState<{ readonly from: number; readonly to: Point }>();
  const portAt = (event: Pointer): number | undefined => {
    if (onConnect === undefined) return undefined;
    const { x, y } = pointOf(event);
    const found = layout.x.findIndex((_at, number) => {
      const port = portOf(parts, number);
      return Math.hypot(port.x - x, port.y - y) <= portReach;
    });
    return found === -1 ? undefined : found;
  };
  return {
    edge,
    portAt,
    /** True if an edge begins here. */
    begin: (event: Pointer): boolean => {
      const from = portAt(event);
      if (from === undefined) return false;
      event.currentTarget.setPointerCapture(event.pointerId);
      setEdge({ from, to: pointOf(event) });
      return true;
    },
    move: (event: Pointer): boolean => {
      if (edge === undefined) return false;
      setEdge({ ...edge, to: pointOf(event) });
      return true;
    },
    /** True if an edge was being drawn; it ends at the node, if there is one. */
    end: (to: number | undefined): boolean => {
      if (edge === undefined) return false;
      if (to !== undefined && to !== edge.from) onConnect?.(edge.from, to);
      setEdge(undefined);
      return true;
    },
  };
}
