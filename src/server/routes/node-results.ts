import type { InstanceView } from "../../views/instance-view.ts";
import type { DagSpec } from "../../kernel/dag/dag-spec.ts";
import { firstItemNumber } from "../../kernel/dag/map-items.ts";
import type { Event } from "../../kernel/event.ts";
import type { NodeId, NodeSpec } from "../../kernel/node-spec.ts";
import { hasEnded } from "../../kernel/status.ts";
import { joinedBytesMax, type Payload, type PayloadRef } from "../../kernel/payload.ts";
import type { RouteParts } from "./route-parts.ts";

const pageSize = 1000;
const resultPath = "GET /api/instance/{id}/result?task=<name>";

/** The outputs of an instance's tasks so far. A later look reads only the turns since the one before. */
export class NodeResults {
  readonly #results: Results;
  #afterTurn = -1;
  /** The ended instance of which all turns were read: the same view has no more. */
  #wholeOf: InstanceView | undefined;

  constructor(spec: DagSpec | undefined) {
    this.#results = new Results(spec?.nodes ?? []);
  }

  /** Approximate size of the outputs that are kept. */
  get size(): number {
    return this.#results.byNode.reduce((sum, [, output]) => sum + (typeof output === "string" ? output.length : 0), 0);
  }

  /** Returns the outputs by node id. */
  async read(parts: Pick<RouteParts, "engine" | "store">, view: InstanceView): Promise<ReadonlyMap<NodeId, unknown>> {
    if (view !== this.#wholeOf) await this.#readTurns(parts, view);
    return await readValues(parts, view, this.#results.byNode);
  }

  async #readTurns({ engine }: Pick<RouteParts, "engine">, view: InstanceView): Promise<void> {
    for (;;) {
      const page = { afterTurn: this.#afterTurn, limit: pageSize };
      const turns = await engine.getWorkflowInstanceHistory(view.instanceId, page);
      // Another look may have read the same turns meanwhile.
      for (const { turn, events } of turns) {
        if (turn <= this.#afterTurn) continue;
        this.#afterTurn = turn;
        for (const event of events) this.#results.take(event);
      }
      if (turns.length < pageSize) break;
    }
    if (hasEnded(view.status)) this.#wholeOf = view;
  }
}

/** Outputs by task number: tasks of the definition first, then sub-tasks. */
class Results {
  readonly #definition: readonly NodeSpec[];
  #nodes: NodeId[] = [];
  #outputs = new Map<number, Payload>();

  constructor(nodes: readonly NodeSpec[]) {
    this.#definition = nodes;
    this.#begin();
  }

  get byNode(): [NodeId, Payload][] {
    return [...this.#outputs].map(([task, output]) => [this.#nodes[task] ?? task, output]);
  }

  take(event: Event): void {
    switch (event.type) {
      case "TaskSucceeded":
        this.#set(event.task, event.output);
        for (const { nodeId } of event.subTasks ?? []) this.#nodes.push(nodeId);
        return;
      case "DecisionMade":
        return this.#set(event.task, event.result);
      case "TaskAdded":
        return void this.#nodes.push(event.node.nodeId);
      case "InstanceReopened":
        for (const task of [...event.reset, ...(event.removed ?? [])]) this.#outputs.delete(task);
        for (const { task, output } of event.settled ?? []) this.#set(task, output);
        return;
      case "InstanceContinued":
        return this.#begin();
      default:
    }
  }

  #begin(): void {
    this.#nodes = this.#definition.map(({ nodeId }) => nodeId);
    this.#outputs = new Map();
  }

  /** Results of the items of maps are read by page. */
  #set(task: number, output: Payload | undefined): void {
    if (task >= firstItemNumber) return;
    if (output === undefined) this.#outputs.delete(task);
    else this.#outputs.set(task, output);
  }
}

/** Reads large values from their own rows. If they exceed the limit together, only their sizes are returned. */
async function readValues(
  { engine, store }: Pick<RouteParts, "engine" | "store">,
  { instanceId, createdAt }: InstanceView,
  outputs: readonly [NodeId, Payload][],
): Promise<ReadonlyMap<NodeId, unknown>> {
  const large = outputs.filter((pair): pair is [NodeId, PayloadRef] => typeof pair[1] === "object");
  const texts = new Map(outputs.filter((pair): pair is [NodeId, string] => typeof pair[1] === "string"));
  if (large.reduce((sum, [, { bytes }]) => sum + bytes, 0) > joinedBytesMax) {
    for (const [node, { bytes }] of large)
      texts.set(node, JSON.stringify(`an output of ${bytes} bytes: see ${resultPath}`));
    return parseAll(texts);
  }
  if (large.length > 0) {
    const found = await engine.listWorkflowInstances({
      idPrefix: instanceId,
      createdFrom: createdAt,
      createdTo: createdAt,
      limit: pageSize,
    });
    const key = found.find(({ id }) => id === instanceId)?.key;
    // The instance may have been purged meanwhile.
    const refs = large.map(([, { ref }]) => ref);
    const bodies = key === undefined ? [] : await store.loadPayloads(key, refs);
    for (const [at, [node]] of large.entries()) texts.set(node, bodies[at] ?? "null");
  }
  return parseAll(texts);
}

function parseAll(texts: ReadonlyMap<NodeId, string>): ReadonlyMap<NodeId, unknown> {
  return new Map(Array.from(texts, ([node, text]) => [node, JSON.parse(text) as unknown]));
}
