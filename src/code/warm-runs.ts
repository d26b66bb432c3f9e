import type { CodeWorkflow } from "../authoring/code-workflow.ts";
import { EngineError, hasCode, messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import { localName } from "../base/namespace.ts";
import { CodeState } from "../kernel/code/code-state.ts";
import { identityOf, recordedIdentity, type Step, type StepIdentity } from "../kernel/code/step.ts";
import type {
  HistoryPage,
  QueryReply,
  TurnAnswer,
  TurnError,
  TurnEvents,
  TurnQuestion,
} from "../kernel/code/turn-question.ts";
import type { Payload } from "../kernel/payload.ts";
import { arrivalOf, type PayloadReader } from "./code-arrival.ts";
import { identityOfRun, type PastEvent, replay } from "./code-replay.ts";
import { CodeRun, type RunServices } from "./code-run.ts";
import { deliverAndWait } from "./deliver-and-wait.ts";

export interface WarmRunsParts {
  readonly find: (workflow: string, version: string) => CodeWorkflow | undefined;
  readonly services: RunServices;
  readonly logger: Logger;
  /** Runs that are kept in memory between questions. */
  readonly runsMax: number;
}

/** Reads the history of the question from an event on. */
export type ReadHistory = (from: number) => Promise<HistoryPage>;

/** The code of one instance, as it stands after its last answer. */
interface WarmRun {
  readonly run: CodeRun;
  readonly generation: number;
  readonly input: Payload | undefined;
  /** The prefix that its last answer was about. */
  events: number;
  /** The number of steps on record in that prefix. */
  steps: number;
  /** The steps of its last answer. */
  answered: readonly Step[];
}

/** Events have large values as text. */
const noReferences: PayloadReader = {
  read: () => Promise.reject(new Error("an event came with a value by reference")),
};

/**
 * Answers questions about the code of workflows, in a process that does not own their instances.
 *
 * A run that is in memory is used only if it stands exactly where the question begins: its last answer was about a prefix
 * whose steps on record since are that answer's own. A count of steps would not do, because another build of the code may
 * have answered differently. Otherwise the code is replayed.
 */
export class WarmRuns {
  readonly #parts: WarmRunsParts;
  /** By instance; the one that was used last comes last. */
  readonly #runs = new Map<string, WarmRun>();
  /** The last question of each instance under way: an instance has one run at a time. */
  readonly #underWay = new Map<string, Promise<unknown>>();
  replays = 0;

  constructor(parts: WarmRunsParts) {
    this.#parts = parts;
  }

  /** The number of runs in memory. */
  get size(): number {
    return this.#runs.size;
  }

  async answer(question: TurnQuestion, read: ReadHistory): Promise<TurnAnswer> {
    const { instanceId } = question;
    const before = this.#underWay.get(instanceId);
    const answer = (before ?? Promise.resolve()).then(() => this.#answer(question, read));
    const settled = answer.catch(() => undefined);
    this.#underWay.set(instanceId, settled);
    try {
      return await answer;
    } finally {
      if (this.#underWay.get(instanceId) === settled) this.#underWay.delete(instanceId);
    }
  }

  async #answer(question: TurnQuestion, read: ReadHistory): Promise<TurnAnswer> {
    const { instanceId } = question;
    const known = this.#runs.get(instanceId);
    this.#runs.delete(instanceId);
    try {
      const news = known && newsSince(known, question);
      const warm =
        known !== undefined && news !== undefined
          ? await this.#goOn(known, question, news)
          : await this.#replay(question, read);
      if (warm.run.faults.error !== undefined) throw warm.run.faults.error;
      const answer: TurnAnswer = {
        steps: warm.answered.map(withoutBlankVersion),
        queries: question.queries.map(({ name, input }) => reply(warm.run, name, input)),
        canCancel: warm.run.canCancel,
        ...refusalOf(warm.run, question),
      };
      this.#keep(instanceId, warm);
      return answer;
    } catch (error) {
      known?.run.end();
      return { failure: failureOf(error) };
    }
  }

  /** Lets the code see what it has not seen yet. */
  async #goOn(warm: WarmRun, question: TurnQuestion, news: readonly TurnEvents[]): Promise<WarmRun> {
    if (warm.events === question.events) return warm;
    const steps: Step[] = [];
    const onSteps = (taken: readonly Step[]): void => void steps.push(...taken);
    for (const { events, at } of news) {
      for (const event of events) {
        const arrival = await arrivalOf(event, warm.input, noReferences);
        if (arrival !== undefined) await deliverAndWait(warm.run, arrival, at, onSteps);
      }
    }
    warm.events = question.events;
    warm.steps = question.steps;
    warm.answered = steps;
    return warm;
  }

  async #replay(question: TurnQuestion, read: ReadHistory): Promise<WarmRun> {
    const { find, services, logger } = this.#parts;
    const { instanceId, workflow: name, version, generation, seen } = question;
    const workflow = find(name, version);
    if (workflow === undefined) {
      const what = `the code of workflow "${localName(name)}" in version "${version}"`;
      throw new EngineError("WORKFLOW_UNKNOWN", `${what} is not registered with the worker`);
    }
    this.replays++;
    const state = new CodeState({ maxConcurrentTasks: Infinity, timeoutMs: undefined });
    const past: (PastEvent & { readonly isSeen: boolean })[] = [];
    for await (const { turn, at, firstEvent, events } of turnsOf(question, read)) {
      for (const [place, event] of events.entries()) {
        state.apply(event, at);
        past.push({ event, turn, at, isSeen: firstEvent + place < seen });
      }
    }
    const run = new CodeRun({
      ...identityOfRun(instanceId, state),
      workflow,
      logger,
      services,
      // The fault stays with the run, and is the answer to the next question.
      owner: { onStray: () => undefined },
    });
    const firstUnseen = past.findIndex(({ isSeen }) => !isSeen);
    const steps = await replay(run, past, state, noReferences, firstUnseen === -1 ? past.length : firstUnseen);
    const { events, steps: recorded } = question;
    return { run, generation, input: state.input, events, steps: recorded, answered: steps };
  }

  #keep(instanceId: string, warm: WarmRun): void {
    if (warm.run.isOver) return warm.run.end();
    this.#runs.set(instanceId, warm);
    for (const [oldest, { run }] of this.#runs) {
      if (this.#runs.size <= this.#parts.runsMax) return;
      run.end();
      this.#runs.delete(oldest);
    }
  }
}

/** The events that the run has not seen; undefined if it does not stand where the question begins. */
function newsSince(warm: WarmRun, { generation, events, steps, seen, news }: TurnQuestion): TurnEvents[] | undefined {
  if (warm.generation !== generation) return undefined;
  // It has answered this very question.
  if (warm.events === events && warm.steps === steps) return [];
  if (news === undefined || seen > warm.events || warm.events > events) return undefined;
  const beyond = news.flatMap((turn) => {
    const unseen = turn.events.slice(Math.max(0, warm.events - turn.firstEvent));
    return unseen.length === 0 ? [] : [{ ...turn, firstEvent: Math.max(turn.firstEvent, warm.events), events: unseen }];
  });
  const recorded = beyond.flatMap((turn) => turn.events.flatMap((event) => recordedIdentity(event) ?? []));
  if (warm.steps + recorded.length !== steps || recorded.length !== warm.answered.length) return undefined;
  const isOwn = warm.answered.every((step, place) => isSame(identityOf(step), recorded[place]));
  return isOwn ? beyond : undefined;
}

function isSame(a: StepIdentity, b: StepIdentity | undefined): boolean {
  return a.kind === b?.kind && a.name === b.name && a.input === b.input;
}

async function* turnsOf(question: TurnQuestion, read: ReadHistory): AsyncGenerator<TurnEvents> {
  const { first, events, seen, news } = question;
  const isNewsEnough = news !== undefined && seen <= first;
  if (isNewsEnough) {
    yield* news;
    return;
  }
  for (let from = first; from < events;) {
    const { turns, next } = await read(from);
    if (next <= from) throw new Error(`the history ends before event ${events}`);
    yield* turns;
    from = next;
  }
}

function reply(run: CodeRun, name: string, input: string | undefined): QueryReply {
  try {
    const output = run.answer(name, input);
    return output === undefined ? {} : { output };
  } catch (error) {
    const { instanceId } = run.parts;
    const message = `query "${name}" of instance "${localName(instanceId)}" threw: ${messageOf(error)}`;
    return { error: error instanceof EngineError ? errorOf(error) : { code: "HANDLER_FAILED", message } };
  }
}

function refusalOf(run: CodeRun, { update }: TurnQuestion): { updateRefusal?: TurnError } {
  if (update === undefined) return {};
  try {
    run.refuseUpdate(update.name, update.data);
    return {};
  } catch (error) {
    if (error instanceof EngineError) return { updateRefusal: errorOf(error) };
    const message = `update "${update.name}" was not let in: ${messageOf(error)}`;
    return { updateRefusal: { code: "INPUT_INVALID", message } };
  }
}

function errorOf({ code, message }: EngineError): TurnError {
  return { code, message };
}

function failureOf(error: unknown): TurnError {
  if (hasCode(error, "WORKFLOW_UNKNOWN") || hasCode(error, "WORKFLOW_NOT_DURABLE")) return errorOf(error);
  return { code: "WORKFLOW_CHANGED", message: messageOf(error) };
}

/** The server decides the version of a child whose workflow this process does not have. */
function withoutBlankVersion(step: Step): Step {
  if (step.type !== "child" || step.node.workflowVersion !== "") return step;
  const { workflowVersion: _, ...node } = step.node;
  return { ...step, node };
}
