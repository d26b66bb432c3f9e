import type { DagMachine } from "../kernel/dag/dag-machine.ts";
import { Phase } from "../kernel/task-state.ts";
import { EngineError, type ErrorCode } from "../base/error.ts";
import { joinedBytesMax, type Payload, payloadBytes, type PayloadRef } from "../kernel/payload.ts";

export type Payloads = Readonly<Record<string, Payload>>;

export const noPayloads: Readonly<Record<string, string>> = Object.freeze({});

/** Outputs of the tasks that it depends on, by name: its predecessors and their sub-tasks, or a sub-task's parent. */
export function predecessorOutputs(machine: DagMachine, task: number): Payloads {
  const { state } = machine;
  // The first task of an instance has nothing before it.
  const degree = state.graph.inDegree(task);
  if (degree === 0 && task < state.graph.size) return noPayloads;
  const outputs: [string, Payload][] = [];
  const collect = (from: number): void => {
    const output = state.record(from)?.output;
    if (output !== undefined && state.phase(from) === Phase.success)
      outputs.push([state.definition(from).name, output]);
  };
  const parent = state.parentOf(task);
  if (parent !== undefined) {
    collect(parent);
    for (const sibling of state.siblingsBefore(task)) collect(sibling);
  } else {
    for (let place = 0; place < degree; place++) {
      const edge = state.graph.inEdge(task, place);
      if (state.isEdgeOff(edge)) continue;
      for (const from of withSubTasks(machine, state.graph.edgeFrom[edge] as number)) collect(from);
    }
  }
  return outputs.length === 0 ? noPayloads : Object.fromEntries(outputs);
}

/** Outputs of all tasks that succeeded with one, by name. */
export function allOutputs(machine: DagMachine): Payloads {
  const { state } = machine;
  const outputs: [string, Payload][] = [];
  for (let task = 0; task < state.size; task++) {
    const output = state.record(task)?.output;
    if (output !== undefined && state.phase(task) === Phase.success)
      outputs.push([state.definition(task).name, output]);
  }
  return outputs.length === 0 ? noPayloads : Object.fromEntries(outputs);
}

function withSubTasks(machine: DagMachine, task: number): number[] {
  const tasks = [task];
  for (const each of tasks) tasks.push(...machine.state.subTasksOf(each));
  return tasks;
}

export function bytesOf(payloads: Payloads): number {
  let bytes = 0;
  for (const key in payloads) bytes += payloadBytes(payloads[key] as Payload);
  return bytes;
}

/** Checks the recorded sizes before anything is read. `what` begins the message, `instead` ends it. */
export function refuseLargeJoin(
  payloads: readonly Payloads[],
  refusal: () => { readonly code: ErrorCode; readonly what: string; readonly instead: string },
): void {
  const bytes = payloads.reduce((sum, each) => sum + bytesOf(each), 0);
  if (bytes <= joinedBytesMax) return;
  const { code, what, instead } = refusal();
  throw new EngineError(
    code,
    `${what} take ${bytes} bytes together; at most ${joinedBytesMax} are put together; ${instead}`,
  );
}

/** The texts, if none is a reference; otherwise undefined: they have to be read. */
export function textsAtHand(payloads: Payloads): Readonly<Record<string, string>> | undefined {
  for (const key in payloads) if (typeof payloads[key] !== "string") return undefined;
  return payloads as Readonly<Record<string, string>>;
}

export async function readTexts(
  payloads: Payloads,
  read: (refs: readonly number[]) => Promise<string[]>,
): Promise<Readonly<Record<string, string>>> {
  const atHand = textsAtHand(payloads);
  if (atHand !== undefined) return atHand;
  const refs = Object.values(payloads).filter((payload): payload is PayloadRef => typeof payload !== "string");
  const bodies = await read(refs.map(({ ref }) => ref));
  let next = 0;
  return Object.fromEntries(
    Object.entries(payloads).map(([key, payload]) => [
      key,
      typeof payload === "string" ? payload : (bodies[next++] as string),
    ]),
  );
}

export function parseTexts(texts: Readonly<Record<string, string>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, JSON.parse(text) as unknown]));
}

export async function readText(
  payload: Payload | undefined,
  read: (refs: readonly number[]) => Promise<string[]>,
): Promise<string | undefined> {
  return payload === undefined || typeof payload === "string" ? payload : (await read([payload.ref]))[0];
}

/** Joins JSON texts to one JSON object. */
export function objectText(texts: Readonly<Record<string, string>>): string {
  return `{${Object.entries(texts)
    .map(([key, text]) => `${JSON.stringify(key)}:${text}`)
    .join(",")}}`;
}

/** The context that a DAG starts with: the keys of an object, or any other value as `initParams`. */
export function asContext(params: unknown): Readonly<Record<string, unknown>> {
  const isMap = typeof params === "object" && params !== null && !Array.isArray(params);
  return isMap ? (params as Record<string, unknown>) : { initParams: params };
}

/** Returns the same context, made from the JSON text that code passes as input. */
export function contextOfInput(input: string): Record<string, string> {
  const context = asContext(JSON.parse(input));
  return Object.fromEntries(Object.entries(context).map(([key, each]) => [key, JSON.stringify(each)]));
}
