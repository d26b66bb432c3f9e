import { type PointerEvent, useEffect, useRef } from "react";
import { toneOf } from "../base/status.ts";
import type { Camera, Size } from "./camera.ts";
import { readColours } from "./colours.ts";
import type { Layout } from "./layout.ts";
import type { GraphModel } from "./model.ts";

const box: Size = { width: 168, height: 104 };

interface MinimapProps {
  readonly model: GraphModel;
  readonly layout: Layout;
  readonly camera: Camera;
  readonly view: Size;
  readonly onMove: (camera: Camera) => void;
}

/** The whole graph, and the part of it that is seen; a drag moves that part. */
export function Minimap({ model, layout, camera, view, onMove }: MinimapProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const scale = Math.min(box.width / Math.max(1, layout.width), box.height / Math.max(1, layout.height));
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (context === null || context === undefined) return;
    const ratio = window.devicePixelRatio;
    context.canvas.width = box.width * ratio;
    context.canvas.height = box.height * ratio;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const colours = readColours();
    model.nodes.forEach((node, number) => {
      context.fillStyle = node.status === undefined ? colours.lineStrong : colours.fill[toneOf(node.status)];
      const [x, y] = [
        (layout.x[number] ?? 0) - layout.node.width / 2,
        (layout.y[number] ?? 0) - layout.node.height / 2,
      ];
      context.fillRect(
        x * scale,
        y * scale,
        Math.max(1, layout.node.width * scale),
        Math.max(1, layout.node.height * scale),
      );
    });
    context.strokeStyle = colours.focus;
    context.lineWidth = 1.5;
    const [left, top] = [(-camera.x / camera.k) * scale, (-camera.y / camera.k) * scale];
    context.strokeRect(left, top, (view.width / camera.k) * scale, (view.height / camera.k) * scale);
  }, [model, layout, camera, view, scale]);
  const move = (event: PointerEvent<HTMLCanvasElement>): void => {
    if (event.buttons === 0) return;
    const place = event.currentTarget.getBoundingClientRect();
    const x = (event.clientX - place.left) / scale;
    const y = (event.clientY - place.top) / scale;
    onMove({ k: camera.k, x: view.width / 2 - x * camera.k, y: view.height / 2 - y * camera.k });
  };
  return <canvas ref={canvas} className="minimap" aria-hidden="true" onPointerDown={move} onPointerMove={move} />;
}
