import assert from "node:assert/strict";
import { test } from "node:test";
import type { Outcome } from "../input.ts";
import { DagRig, decision, failed, nested } from "./dag.rig.ts";
import { Graph } from "./graph.ts";

test("an instance knows its address and status", () => {
  const { machine } = DagRig.started("a");
  assert.deepEqual(machine.address, { id: "i", key: 7, generation: 1 });
  assert.equal(machine.status, "Running");
});

test("what was in flight is known after a restart", () => {
  const rig = DagRig.started("a b d n", { maxConcurrentTasks: 3, nodes: { d: decision, n: nested } }).begin("a");
  const { machine } = rig.replayed();
  assert.deepEqual(machine.jobsInFlight(), [0, 1]);
  assert.deepEqual(machine.decisionsInFlight(), [2]);
  rig.terminate();
  assert.deepEqual([rig.machine.jobsInFlight(), rig.machine.decisionsInFlight()], [[], []]);
});

test("a message of no known kind is refused like those of code workflows", () => {
  assert.equal(DagRig.started("a").refusal({ type: "Dance" }).code, "INSTANCE_STATE");
});

/** Counts how many edges are looked at. */
class CountingGraph extends Graph {
  looks = 0;

  override outEdges(task: number): Int32Array {
    const edges = super.outEdges(task);
    this.looks += 1 + edges.length;
    return edges;
  }

  override outDegree(task: number): number {
    this.looks++;
    return super.outDegree(task);
  }

  override outEdge(task: number, place: number): number {
    this.looks++;
    return super.outEdge(task, place);
  }
}

/** Every root fails, or succeeds, into one long chain: the edges looked at, per node. */
function looksPerNode(size: number, outcome: Outcome): number {
  const nodes = Array.from({ length: 2 * size }, (_, nodeId) => ({ nodeId }));
  const into = Array.from({ length: size }, (_, from) => ({ from, to: size }));
  const chain = Array.from({ length: size - 1 }, (_, place) => ({ from: size + place, to: size + place + 1 }));
  const graph = new CountingGraph({ nodes, edges: [...into, ...chain], failurePolicy: "continue" });
  const rig = new DagRig(graph).start();
  const queue = [...rig.handedOut];
  for (const name of queue) queue.push(...rig.complete(name, outcome).handedOut);
  assert.notEqual(rig.status, "Running");
  return graph.looks / nodes.length;
}

test("finishing a task costs its out-degree, never the size of the graph; so does failing", () => {
  for (const outcome of [failed, { kind: "success" } as const]) {
    const small = looksPerNode(20, outcome);
    const large = looksPerNode(2000, outcome);
    assert.ok(large < small * 1.5, `${outcome.kind}: ${small} looks per node, ${large} in a graph 100 times as large`);
  }
});

test("a large graph runs through, whatever its shape", () => {
  const size = 3000;
  const nodes = Array.from({ length: size }, (_, nodeId) => ({ nodeId }));
  const shapes = {
    chain: nodes.slice(1).map(({ nodeId }) => ({ from: nodeId - 1, to: nodeId })),
    fan: nodes.slice(1, -1).flatMap(({ nodeId }) => [
      { from: 0, to: nodeId },
      { from: nodeId, to: size - 1 },
    ]),
    ladder: nodes.slice(2).flatMap(({ nodeId }) => [
      { from: nodeId - 1, to: nodeId },
      { from: nodeId - 2, to: nodeId },
    ]),
  };
  for (const [shape, edges] of Object.entries(shapes)) {
    const rig = new DagRig(new Graph({ nodes, edges })).start();
    const queue = [...rig.handedOut];
    for (const name of queue) queue.push(...rig.succeed(name).handedOut);
    assert.deepEqual([rig.status, queue.length], ["Success", size], shape);
  }
});
