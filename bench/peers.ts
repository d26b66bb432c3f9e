import { readFileSync } from "node:fs";
import { join } from "node:path";
import { inChild } from "./child.ts";
import { type Figure, figure, type Goal, noGoal, type Settings } from "./figure.ts";
import { peersFolder } from "./install-peers.ts";
import type { PeerFigures } from "./peer-figures.ts";
import type { ServerName, Servers } from "./servers/servers.ts";
import { PostgresStorage } from "./storages/postgres-storage.ts";

interface Peer {
  readonly package: string;
  /** What it keeps its work in. */
  readonly server: ServerName;
  /** How many times its one-task workflows the engine is to run in the same time. A queue is no yardstick, and has none. */
  readonly timesMin?: number;
}

export const peers: Readonly<Record<string, Peer>> = {
  dbos: { package: "@dbos-inc/dbos-sdk", server: "postgresql", timesMin: 10 },
  openworkflow: { package: "openworkflow", server: "postgresql", timesMin: 10 },
  restate: { package: "@restatedev/restate-server", server: "restate", timesMin: 3 },
  bullmq: { package: "bullmq", server: "redis", timesMin: 2 },
  "graphile-worker": { package: "graphile-worker", server: "postgresql" },
};

/** The same work done by somebody else's engine, in a process of its own. */
export async function measurePeer(
  name: string,
  { servers, runs, quick }: Settings & { servers: Servers },
): Promise<PeerFigures> {
  const peer = peers[name];
  if (peer === undefined) throw new Error(`no peer is called "${name}"`);
  const measure = (address: string): Promise<PeerFigures> => {
    return inChild("peers/main.ts", [name, address, String(runs), quick ? "quick" : "full"]);
  };
  const url = await servers.urlOf(peer.server);
  return await (peer.server === "postgresql" ? new PostgresStorage(url).inDatabase(measure) : measure(url));
}

/** With its version, as the lock file has it. */
export function titleOf(name: string): string {
  const { dependencies } = JSON.parse(readFileSync(join(peersFolder, "package.json"), "utf8")) as {
    dependencies: Readonly<Record<string, string>>;
  };
  const { package: packageName = name } = peers[name] ?? {};
  return `${packageName} ${dependencies[packageName]}`;
}

/** What this run measured of the engine, beside a peer: the ceiling of these figures is the peer's. */
export function besidePeer(name: string, theirs: PeerFigures, ours: readonly Figure[]): Figure[] {
  const { workflowsPerSecond, stepsPerSecond, p50Ms, p99Ms } = theirs;
  const timesMin = peers[name]?.timesMin;
  const atLeast = (times: number): Goal => ({ target: `≥ ${times} × ${name}`, isMet: (_, ratio) => ratio >= times });
  const below: Goal = { target: `< ${name}`, isMet: (_, ratio) => ratio < 1 };
  return ours.flatMap((our): Figure[] => {
    const beside = (measured: { value: number; ceiling: number; unit: string }, goal: Goal): Figure[] => {
      return [figure(`${our.name} ${name}`, measured, goal)];
    };
    switch (our.name) {
      case "one-task": {
        const measured = { value: our.value, ceiling: workflowsPerSecond, unit: our.unit };
        return beside(measured, timesMin === undefined ? noGoal : atLeast(timesMin));
      }
      case "chain":
        if (stepsPerSecond === undefined) return [];
        return beside({ value: our.value, ceiling: 1e6 / stepsPerSecond, unit: our.unit }, noGoal);
      case "latency-p50":
        return beside({ value: our.value, ceiling: p50Ms, unit: our.unit }, timesMin === undefined ? noGoal : below);
      case "latency-p99":
        return beside({ value: our.value, ceiling: p99Ms, unit: our.unit }, noGoal);
      default:
        return [];
    }
  });
}
