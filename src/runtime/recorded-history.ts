import type { CodeWorkflow } from "../authoring/code-workflow.ts";
import { EngineError } from "../base/error.ts";
import { silentLogger } from "../base/logger.ts";
import { localName } from "../base/namespace.ts";
import { CodeRun, type RunServices } from "../code/code-run.ts";
import { CodeState } from "../kernel/code/code-state.ts";
import { describeStep, identityOf, type LastStep, type Step } from "../kernel/code/step.ts";
import { parseEvents } from "../kernel/event-text.ts";
import type { Event } from "../kernel/event.ts";
import { mapPayloads, payloadRefsIn } from "../kernel/event-payloads.ts";
import type { PayloadRef } from "../kernel/payload.ts";
import type { Store } from "../stores/store.ts";
import { identityOfRun, type PastEvent, replay } from "../code/code-replay.ts";

/** The history of an instance of code as a JSON document. */
export interface RecordedHistory {
  readonly instanceId: string;
  /** Oldest first, from the beginning of the instance or of its last generation. */
  readonly turns: readonly RecordedTurn[];
}

/** The events of one turn. */
export interface RecordedTurn {
  readonly turn: number;
  readonly at: number;
  readonly events: readonly Event[];
}

/** Reads the history of an instance, with the large values that the store keeps in rows of their own. */
export async function recordHistory(
  store: Store,
  { id, key }: { readonly id: string; readonly key: number },
): Promise<RecordedHistory> {
  const read = async ({ ref }: PayloadRef): Promise<string> => (await store.loadPayloads(key, [ref]))[0] as string;
  const turns: RecordedTurn[] = [];
  for (const { turn, at, events } of await store.loadHistory([key])) {
    const texts: Event[] = [];
    for (const event of parseEvents(events, `turn ${turn} of instance "${localName(id)}"`))
      texts.push(await withTexts(event, read));
    turns.push({ turn, at, events: texts });
  }
  return { instanceId: id, turns };
}

async function withTexts(event: Event, read: (payload: PayloadRef) => Promise<string>): Promise<Event> {
  const refs = payloadRefsIn(event);
  if (refs.length === 0) return event;
  const texts = new Map<number, string>();
  for (const each of refs) texts.set(each.ref, await read(each));
  return mapPayloads(event, (payload) => (typeof payload === "object" ? (texts.get(payload.ref) as string) : payload));
}

/**
 * Runs code over a recorded history, as after a restart. Resolves if an engine would continue it, and, where the code
 * had ended, if it ends now too. `WORKFLOW_CHANGED`, `WORKFLOW_NOT_DURABLE`; `OPTION_INVALID` for what is not the whole
 * history of such a workflow.
 */
export async function replayRecorded(
  workflow: CodeWorkflow,
  { instanceId, turns }: RecordedHistory,
  services: RunServices,
): Promise<void> {
  const past = turns.flatMap(({ turn, at, events }) => events.map((event): PastEvent => ({ event, turn, at })));
  refuseForeign(workflow, instanceId, past);
  const state = new CodeState({ maxConcurrentTasks: Infinity, timeoutMs: undefined });
  for (const { event, at } of past) state.apply(event, at);
  const run = new CodeRun({
    ...identityOfRun(instanceId, state),
    workflow,
    logger: silentLogger,
    services,
    // The replay throws the same error.
    owner: { onStray: () => undefined },
  });
  const reader = { read: (payload: PayloadRef) => Promise.reject(byReference(instanceId, payload)) };
  const beyond = await replay(run, past, state, reader);
  refuseOtherEnd(state, beyond);
}

function refuseForeign({ name }: CodeWorkflow, instanceId: string, past: readonly PastEvent[]): void {
  const what = `the history of instance "${localName(instanceId)}"`;
  const first = past[0]?.event;
  if (first?.type !== "InstanceCreated" && first?.type !== "InstanceContinued") {
    const found = first === undefined ? "is empty" : `begins with ${first.type}`;
    throw new EngineError("OPTION_INVALID", `${what} ${found}; a replay needs all of it, from the first turn on`);
  }
  if (first.workflow !== name) {
    throw new EngineError(
      "OPTION_INVALID",
      `${what} is one of workflow "${localName(first.workflow)}", not of "${name}"`,
    );
  }
  const gap = past.find(({ turn }, place) => turn > (past[place - 1]?.turn ?? turn) + 1);
  if (gap === undefined) return;
  throw new EngineError("OPTION_INVALID", `${what} has no turn ${gap.turn - 1}; a replay needs all of it`);
}

function byReference(instanceId: string, { bytes }: PayloadRef): EngineError {
  return new EngineError(
    "OPTION_INVALID",
    `the history of instance "${localName(instanceId)}" names a value of ${bytes} bytes but does not hold it; ` +
      `take it with engine.exportWorkflowInstanceHistory(), which puts such values in`,
  );
}

/** `WORKFLOW_CHANGED` where the code ended the instance before and does not do so now. */
function refuseOtherEnd(state: CodeState, beyond: readonly Step[]): void {
  const expected = endByCode(state);
  const [actual] = beyond;
  if (expected === undefined || actual?.type === expected) return;
  throw new EngineError(
    "WORKFLOW_CHANGED",
    `the code does not do what it did before: it ended the instance in ${state.status}, ` +
      `but now ${actual === undefined ? "waits for something" : `asks for ${describeStep(identityOf(actual))}`}`,
  );
}

/** The step by which the code ended the instance; undefined where it did not, or where others may have. */
function endByCode({ status, failure }: CodeState): LastStep["type"] | undefined {
  if (status === "Success") return "complete";
  return status === "Failed" && failure !== undefined && failure.type !== "WORKFLOW_TOO_LONG" ? "fail" : undefined;
}
