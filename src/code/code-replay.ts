import { EngineError, hasCode } from "../base/error.ts";
import type { CodeRun, RunParts } from "./code-run.ts";
import { deliverAndWait } from "./deliver-and-wait.ts";
import type { CodeState } from "../kernel/code/code-state.ts";
import { RecordedSteps } from "../kernel/code/recorded-steps.ts";
import type { Step } from "../kernel/code/step.ts";
import type { Event } from "../kernel/event.ts";
import { hasEnded } from "../kernel/status.ts";
import { arrivalOf, type PayloadReader } from "./code-arrival.ts";

/** An event of an earlier turn, and the number and time of that turn. */
export interface PastEvent {
  readonly event: Event;
  readonly turn: number;
  readonly at: number;
}

/** The identity of a run of code: the same whenever the code is replayed. */
export function identityOfRun(
  id: string,
  { generation, parent, forkedFrom }: CodeState,
): Pick<RunParts, "instanceId" | "generation" | "parentInstanceId" | "randomOf"> {
  return {
    instanceId: id,
    generation,
    parentInstanceId: parent?.id,
    randomOf: forkedFrom?.randomOf ?? forkedFrom,
  };
}

/**
 * Replays the code over its history, whose fold is `state`. Returns the steps that are not on record. Events from
 * `firstUnseen` on, by their place in `past`, are news to the code, and no replay.
 * `WORKFLOW_CHANGED`, `WORKFLOW_NOT_DURABLE`.
 */
export async function replay(
  run: CodeRun,
  past: readonly PastEvent[],
  state: CodeState,
  reader: PayloadReader,
  firstUnseen = Infinity,
): Promise<Step[]> {
  try {
    return await stepsBeyond(run, past, state, { reader, firstUnseen });
  } catch (error) {
    if (!hasCode(error, "WORKFLOW_CHANGED") || run.faults.unsteadyCalls === "") throw error;
    throw new EngineError("WORKFLOW_CHANGED", `${error.message}${run.faults.unsteadyCalls}`, { cause: error });
  }
}

async function stepsBeyond(
  run: CodeRun,
  past: readonly PastEvent[],
  { input, forkedFrom, status }: CodeState,
  { reader, firstUnseen }: { readonly reader: PayloadReader; readonly firstUnseen: number },
): Promise<Step[]> {
  const recorded = new RecordedSteps();
  const copiedAt = forkedFrom === undefined ? undefined : past[0]?.turn;
  for (const { event, turn } of past) recorded.add(event, { isCopied: turn === copiedAt });
  run.markedPatches = new Set(past.flatMap(({ event }) => (event.type === "PatchMarked" ? event.patch : [])));
  const steps: Step[] = [];
  const onSteps = (taken: readonly Step[]): void => {
    for (const step of taken) if (!recorded.match(step, run.compensation.thrown)) steps.push(step);
  };
  const unseenTurn = firstUnseenTurn(past);
  run.isReplaying = true;
  for (const [place, { event, turn, at }] of past.entries()) {
    // Events that were copied from another instance have their time there, and were seen there.
    const copiedTime = forkedFrom?.times?.[place];
    if ((turn === unseenTurn || place >= firstUnseen) && copiedTime === undefined) run.isReplaying = false;
    const arrival = await arrivalOf(event, input, reader);
    if (arrival !== undefined) await deliverAndWait(run, arrival, copiedTime ?? at, onSteps);
  }
  recorded.refuseMissing();
  run.isReplaying = false;
  if (hasEnded(status)) run.end();
  return steps;
}

/** The first turn that only recorded its messages, before a reaction that has not come through yet. */
function firstUnseenTurn(past: readonly PastEvent[]): number | undefined {
  let unseen: number | undefined;
  for (const { event, turn } of past) {
    if (event.type === "ReactionStarted") unseen ??= turn;
    else if (event.type === "ReactionEnded") unseen = undefined;
  }
  return unseen;
}
