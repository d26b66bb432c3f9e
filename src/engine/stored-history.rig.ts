/** The history of an instance of a DAG, in the hands of a test. */
import { textOfEvents } from "../kernel/event-text.ts";
import type { Event } from "../kernel/event.ts";
import type { DagSpec } from "../kernel/dag/dag-spec.ts";
import { Graph } from "../kernel/dag/graph.ts";
import type { HistoryRow } from "../stores/store.ts";
import type { HistorySource } from "./folded-history.ts";

const spec: DagSpec = { nodes: [{ nodeId: 1, nodeName: "a", jobName: "work" }], edges: [] };

/** An instance that is created and then paused and resumed, turn by turn. */
export class StoredHistory {
  readonly rows: HistoryRow[] = [];
  reads = 0;
  /** The store is away while this is set. */
  fault: Error | undefined;

  readonly source: HistorySource = {
    store: {
      listHistory: async (_key, { afterTurn, limit }) => {
        this.reads++;
        await Promise.resolve();
        if (this.fault !== undefined) throw this.fault;
        return this.rows.filter(({ turn }) => turn > afterTurn).slice(0, limit);
      },
    },
    definitions: {
      load: (name, version) => Promise.resolve({ kind: "dag", name, version, spec, graph: new Graph(spec) }),
    },
  };

  constructor(turns: number) {
    for (let turn = 0; turn < turns; turn++) this.append();
  }

  /** The events of the next turn, which are stored. */
  append(): { readonly turn: number; readonly at: number; readonly events: readonly Event[] } {
    const turn = this.rows.length;
    const at = 1000 + turn;
    const events = eventsOf(turn);
    this.rows.push({ instance: 1, turn, at, firstEvent: turn === 0 ? 0 : turn + 1, events: textOfEvents(events) });
    return { turn, at, events };
  }
}

function eventsOf(turn: number): Event[] {
  if (turn > 0) return [{ type: turn % 2 === 1 ? "InstancePaused" : "InstanceResumed" }];
  return [
    {
      type: "InstanceCreated",
      workflow: "w",
      version: "1",
      generation: 1,
      context: {},
      maxConcurrentTasks: 0,
      trigger: "api",
    },
    { type: "InstanceStarted" },
  ];
}
