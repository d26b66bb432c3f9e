import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useMemo } from "react";
import { call } from "../api/client.ts";
import type { GraphModel } from "../graph/model.ts";
import { Card, Loaded, Loading, PageHead } from "../parts/page.tsx";
import { StatusTag } from "../parts/status-tag.tsx";
import { useText } from "../text/define-text.ts";
import { shellText } from "../text/shell-text.ts";
import { systemText } from "../text/system-text.ts";

const GraphView = lazy(() => import("../graph/graph-view.tsx").then((m) => ({ default: m.GraphView })));

const ignore = (): void => undefined;

/** A member's or worker's status by the palette. */
function toneStatus(status: string): string {
  if (/^up$/i.test(status)) return "Success";
  return /suspect|unreach|down|dead/i.test(status) ? "Failed" : "Paused";
}

export function ClusterPage() {
  const text = useText(systemText);
  const title = useText(shellText).cluster;
  const cluster = useQuery({ queryKey: ["cluster"], queryFn: () => call("getCluster"), refetchInterval: 3000 });
  return (
    <>
      <PageHead title={title} />
      <div className="stack">
        <Loaded result={cluster}>
          {({ members, selfAddress, leader }) => (
            <Card flush>
              <table className="table">
                <thead>
                  <tr>
                    <th className="fit">{text.status}</th>
                    <th>{text.member}</th>
                    <th>{text.roles}</th>
                    <th className="hide-narrow">{text.version}</th>
                    <th aria-label={text.oldest} />
                  </tr>
                </thead>
                <tbody>
                  {members.map(({ address, status, roles, version }) => (
                    <tr key={address}>
                      <td className="fit">
                        <StatusTag status={toneStatus(status)} label={status} />
                      </td>
                      <td className="mono">{address}</td>
                      <td className="quiet">{roles.join(", ")}</td>
                      <td className="hide-narrow quiet mono">{version}</td>
                      <td className="quiet">
                        {[address === leader && text.oldest, address === selfAddress && text.self]
                          .filter((word) => word !== false)
                          .join(" · ")}
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </Card>
          )}
        </Loaded>
        <Topology />
      </div>
    </>
  );
}

function Topology() {
  const text = useText(systemText);
  const topology = useQuery({
    queryKey: ["cluster", "topology"],
    queryFn: () => call("getClusterTopology"),
    refetchInterval: 3000,
  });
  const model = useMemo<GraphModel>(() => {
    const { nodes = [], links = [] } = topology.data ?? {};
    return {
      nodes: nodes.map(({ id, status, kind, runningTasks }) => ({
        id,
        label: id,
        detail: `${kind} · ${text.tasks} ${runningTasks}`,
        status: toneStatus(status),
        kind: kind === "server" ? "nested" : "job",
        attempt: 0,
      })),
      edges: links.map(({ from, to }) => ({ from, to, state: "taken" as const })),
    };
  }, [topology.data, text]);
  return (
    <Card title={text.topology} flush className="topology">
      <Suspense fallback={<Loading />}>
        {model.nodes.length > 0 && <GraphView model={model} selected={undefined} onSelect={ignore} />}
      </Suspense>
    </Card>
  );
}
