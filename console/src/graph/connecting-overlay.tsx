import type { Camera } from "./camera.ts";
import { portOf } from "./connecting.ts";
import type { Layout, Point } from "./layout.ts";

interface OverlayProps {
  readonly layout: Layout;
  readonly camera: Camera;
  /** Nodes whose ports are shown. */
  readonly nodes: readonly (number | undefined)[];
  readonly edge: { readonly from: number; readonly to: Point } | undefined;
}

/** The ports of the nodes in question, and the edge that is being drawn. */
export function ConnectingOverlay({ layout, camera, nodes, edge }: OverlayProps) {
  const shown = new Set([...nodes, edge?.from].filter((number) => number !== undefined));
  const ports = [...shown].map((number) => ({ number, ...portOf({ layout, camera }, number) }));
  const start = edge && portOf({ layout, camera }, edge.from);
  return (
    <svg className="graph-overlay" aria-hidden="true">
      {edge !== undefined && start !== undefined && (
        <path className="graph-new-edge" d={`M${start.x} ${start.y}L${edge.to.x} ${edge.to.y}`} />
      )}
      {ports.map(({ number, x, y }) => (
        <g key={number} className="graph-port" transform={`translate(${x} ${y})`}>
          <circle r="8" />
          <path d="M-3.5 0h7M0 -3.5v7" />
        </g>
      ))}
    </svg>
  );
}
