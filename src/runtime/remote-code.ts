import { EngineError } from "../base/error.ts";
import { namespaceOf, qualify } from "../base/namespace.ts";
import { isArrival } from "../code/code-arrival.ts";
import type { CodeHost } from "../dispatch/code-host.ts";
import type { CodeHosts, OpenTurn, TurnOwner } from "../dispatch/code-hosts.ts";
import type { CodeMachine } from "../kernel/code/code-machine.ts";
import { recordedIdentity, type Step } from "../kernel/code/step.ts";
import { findStepProblem } from "../kernel/code/step-problem.ts";
import type {
  HistoryPage,
  QueryReply,
  TurnAnswer,
  TurnError,
  TurnEvents,
  TurnQuestion,
  TurnSteps,
} from "../kernel/code/turn-question.ts";
import type { Event, KeptEvent, KeptUpdate } from "../kernel/event.ts";
import type { HistoryRow } from "../stores/store.ts";
import type { ActorTurn, InstanceActor } from "./instance-actor.ts";
import type { InputMessage, Message, QueryMessage } from "./message.ts";
import { QuestionHistory } from "./question-history.ts";
import { CrashLoop } from "./reaction-caution.ts";
import { hasArrival, hasReferences, lengthOf, since, turnsOf } from "./turn-events.ts";

/** News above this many characters are left out of a question, and read with the history. */
const newsLengthMax = 1_000_000;
const queriesMax = 100;

const wake: QueryMessage = {
  query: () => undefined,
  reply: { resolve: () => undefined, reject: () => undefined },
};

/** A question, and the messages that its answer settles. */
interface Asked {
  readonly question: Omit<TurnQuestion, "news">;
  readonly queries: readonly QueryMessage[];
  readonly update: InputMessage | undefined;
}

/** What an answer does to the turn that takes it. */
export interface AnswerTaker {
  takeSteps(steps: readonly Step[]): void;
  /** Adds a message whose answer is released with the turn. */
  settle(message: Message): void;
  /** The code cannot go on. */
  stop(problem: TurnError): void;
}

/**
 * The code of an instance, where this process does not have it: hosts of code are asked for its steps.
 *
 * - T1 There is one open question at most. It is asked when all its events are durable, and stays the same until it is
 *   answered.
 * - T3 Its answer is recorded with a turn of its own, whatever was recorded meanwhile. An update is let in, and a held
 *   cancel takes effect, only with an answer that has seen everything.
 */
export class RemoteCode implements TurnOwner {
  readonly #actor: InstanceActor<CodeMachine>;
  readonly #hosts: CodeHosts;
  /** The number of the generation's first event. */
  #first = 0;
  /** Counts steps of the generation. */
  #steps = 0;
  /** The code has seen the events before this one. */
  #seen = 0;
  /** Events from `#seen` on. */
  #news: TurnEvents[] = [];
  #hasUnseen = false;
  readonly #queries: QueryMessage[] = [];
  readonly #updates: InputMessage[] = [];
  #asked: Asked | undefined;
  #open: OpenTurn | undefined;
  #answer: { readonly asked: Asked; readonly answer: TurnAnswer } | undefined;
  /** The reply of the code to the query that is being answered. */
  #reply: QueryReply | undefined;
  #warmHost: CodeHost | undefined;
  #losses = 0;
  /** The history of the open question. */
  #past: QuestionHistory;
  #since: number | undefined;

  constructor(actor: InstanceActor<CodeMachine>, hosts: CodeHosts) {
    this.#actor = actor;
    this.#hosts = hosts;
    this.#past = this.#newPast();
  }

  #newPast(): QuestionHistory {
    const { shard, key } = this.#actor;
    return new QuestionHistory(shard, key);
  }

  /** True while the code has something to do. */
  get isBusy(): boolean {
    return this.#hasUnseen || this.#asked !== undefined || this.owesAnswers;
  }

  get hasUnseen(): boolean {
    return this.#hasUnseen && !this.#actor.hasEnded;
  }

  get owesAnswers(): boolean {
    return this.#queries.length > 0 || this.#updates.length > 0 || this.#asked !== undefined;
  }

  /** Why the code does not go on, if no connected host has it. */
  get missing(): { readonly text: string; readonly since: number | undefined } | undefined {
    const { name, version } = this.#actor.definition;
    if (this.#open === undefined || this.#open.hosts.size > 0 || this.#hosts.hasCode(name, version)) return undefined;
    return { text: "and no connected worker has it", since: this.#since };
  }

  /** The host that the open question was put to, if any. */
  get host(): string | undefined {
    const [host] = this.#open?.hosts ?? [];
    return host?.address;
  }

  /** True while an answer is waited for. */
  get isAsking(): boolean {
    return this.#asked !== undefined && this.#answer === undefined;
  }

  // What has happened

  restore(history: readonly HistoryRow[]): void {
    const turns = turnsOf(history);
    this.#first = turns[0]?.firstEvent ?? 0;
    this.#seen = this.#first;
    for (const { firstEvent, events } of turns) {
      for (const [place, event] of events.entries()) {
        if (recordedIdentity(event) === undefined) continue;
        this.#steps++;
        this.#seen = firstEvent + place + 1;
      }
    }
    this.#news = since(turns, this.#seen);
    this.#hasUnseen = hasArrival(this.#news);
  }

  /**
   * Asks about an instance whose shard was opened. What came while its last question was open stands in the history before
   * the steps of the answer, like what the code had seen, so nobody knows whether the code has seen all of it.
   */
  askAgain(): void {
    this.#hasUnseen = this.#actor.machine.state.generation > 0;
  }

  /** Called with each turn before it is written. */
  noteTurn({ turn: { events, at }, number: turn, beginsAnew }: ActorTurn, firstEvent: number): void {
    if (events.length === 0) return;
    if (beginsAnew) {
      this.#first = this.#seen = firstEvent;
      this.#steps = 0;
      this.#news = [];
      this.#hasUnseen = false;
    }
    this.#news.push({ turn, at, firstEvent, events: [...events] });
    for (const event of events) {
      if (recordedIdentity(event) !== undefined) this.#steps++;
      this.#hasUnseen ||= isArrival(event);
    }
  }

  /** Keeps a query or a new update for the next question. */
  add(message: Message): void {
    if ("query" in message) this.#queries.push(message);
    else this.#updates.push(message);
  }

  /** All that is noted is durable. `mayAsk`: the code is not stopped. */
  onCommitted(mayAsk: boolean): void {
    const { machine, hasEnded } = this.#actor;
    const { generation, status } = machine.state;
    if (this.#asked !== undefined && (hasEnded || this.#asked.question.generation !== generation)) this.#withdraw();
    if (hasEnded) for (const update of this.#updates.splice(0)) this.#actor.tell(update);
    if (this.#answer !== undefined && status === "Running") this.#actor.tell(wake);
    if (mayAsk && this.#isWanted) this.#ask();
  }

  get #isWanted(): boolean {
    const { status, startedAt } = this.#actor.machine.state;
    if (this.#asked !== undefined || startedAt === undefined) return false;
    if (this.#queries.length > 0 || this.#updates.length > 0) return true;
    return this.#hasUnseen && status === "Running";
  }

  forgetLosses(): void {
    this.#losses = 0;
  }

  /** Gives up everything; returns the messages that were not answered. */
  abandon(): Message[] {
    if (this.#open !== undefined) this.#hosts.withdraw(this.#open);
    this.#requeue();
    this.#hasUnseen = false;
    return [...this.#queries.splice(0), ...this.#updates.splice(0)];
  }

  #withdraw(): void {
    if (this.#open !== undefined) this.#hosts.withdraw(this.#open);
    this.#requeue();
  }

  #requeue(): void {
    if (this.#asked === undefined) return;
    this.#queries.unshift(...this.#asked.queries);
    if (this.#asked.update !== undefined) this.#updates.unshift(this.#asked.update);
    this.#close();
  }

  #close(): void {
    this.#asked = undefined;
    this.#open = undefined;
    this.#answer = undefined;
    this.#past = this.#newPast();
  }

  // The question

  #ask(): void {
    const { id, definition, machine, eventCount, shard } = this.#actor;
    const queries = this.#queries.splice(0, queriesMax);
    const update = this.#updates.shift();
    const question: Asked["question"] = {
      instanceId: id,
      workflow: definition.name,
      version: definition.version,
      generation: machine.state.generation,
      first: this.#first,
      events: eventCount,
      steps: this.#steps,
      seen: this.#seen,
      queries: queries.map(({ codeQuery }) => codeQuery ?? { name: "" }),
      ...(update !== undefined && { update: updateOf(update) }),
    };
    const asked: Asked = { question, queries, update };
    this.#asked = asked;
    this.#since = shard.clock.now();
    // Turns that are noted while values are read are not durable, and none of this question.
    const news = [...this.#news];
    if (!hasReferences(news)) return this.#put(asked, news);
    this.#past.withTexts(news).then(
      (texts) => this.#put(asked, texts),
      (error: unknown) => {
        if (this.#asked === asked) shard.onReadFailed(this.#actor, error);
      },
    );
  }

  #put(asked: Asked, news: readonly TurnEvents[]): void {
    if (this.#asked !== asked) return;
    const isShort = lengthOf(news) <= newsLengthMax;
    const question: TurnQuestion = { ...asked.question, news: isShort ? news : undefined };
    this.#open = this.#hosts.ask(question, {
      owner: this,
      key: this.#actor.key,
      losses: this.#losses,
      warmHost: this.#warmHost,
    });
    // A host may answer at once.
    if (this.#open.isOver) this.#open = undefined;
  }

  async history(question: TurnQuestion, from: number): Promise<HistoryPage | undefined> {
    try {
      return await this.#past.page(question, from);
    } catch (error) {
      // Values of a question that is over may be gone: its answer began a new generation, or its shard has another owner.
      if (this.#open?.question === question) this.#actor.shard.onReadFailed(this.#actor, error);
      return undefined;
    }
  }

  // The answer

  onAnswer(answer: TurnAnswer, host: CodeHost | undefined): void {
    this.#open = undefined;
    if (this.#asked === undefined) return;
    this.#answer = { asked: this.#asked, answer };
    this.#warmHost = host;
    this.#losses = 0;
    this.#actor.tell(wake);
  }

  /** The instance is quarantined with its next turn if its code has ended too many workers. */
  onLost(losses: number): boolean {
    this.#losses = losses;
    if (losses <= this.#actor.shard.limits.interruptionsMax) return true;
    this.#actor.tell(wake);
    return false;
  }

  /** `CrashLoop`. */
  refuseCrashLoop(): void {
    if (this.#losses <= this.#actor.shard.limits.interruptionsMax) return;
    throw new CrashLoop(this.#losses, this.#steps, "its worker");
  }

  /** The reply to the query that is being answered. */
  get reply(): QueryReply | undefined {
    return this.#reply;
  }

  /**
   * Carries out the answer in an open turn, if there is one. Steps are kept while the instance is paused. Resolves when
   * values were read that it needs; undefined if nothing had to be read.
   */
  takeAnswer(open: ActorTurn, taker: AnswerTaker): Promise<void> | undefined {
    if (this.#answer === undefined) return undefined;
    const { asked, answer } = this.#answer;
    const { state } = this.#actor.machine;
    if (this.#actor.hasEnded ? asked.question.queries.length === 0 : state.generation !== asked.question.generation) {
      this.#requeue();
      return undefined;
    }
    if ("failure" in answer) return this.#takeFailure(asked, answer.failure, open, taker);
    if (state.status === "Paused" && answer.steps.length > 0) return undefined;
    const problem = this.#actor.hasEnded ? undefined : findStepProblem(answer.steps, state, this.#actor.id);
    if (problem !== undefined) {
      const message = `a worker answered with steps that cannot be: ${problem}`;
      return this.#takeFailure(asked, { code: "WORKFLOW_CHANGED", message }, open, taker);
    }
    const { learn } = this.#actor.shard.code;
    if (learn === undefined || this.#lackingChild(answer.steps) === undefined)
      return this.#takeKnown(asked, answer, open, taker);
    return learn().then(() => this.#takeKnown(asked, answer, open, taker));
  }

  /** Takes steps whose children this process should know. */
  #takeKnown(asked: Asked, answer: TurnSteps, open: ActorTurn, taker: AnswerTaker): Promise<void> | undefined {
    const lacking = this.#lackingChild(answer.steps);
    if (lacking !== undefined) return this.#takeFailure(asked, unknownChild(lacking), open, taker);
    const beyond = since(this.#news, asked.question.events);
    const last = answer.steps.at(-1);
    if (last?.type !== "continue" || !beyond.some(({ events }) => events.some(isKept))) {
      this.#takeSteps(asked, answer, answer.steps, open, taker);
      return undefined;
    }
    return this.#past.withTexts(beyond).then((turns) => {
      const completed = completeContinue(last, turns);
      this.#takeSteps(asked, answer, [...answer.steps.slice(0, -1), completed], open, taker);
    });
  }

  #takeFailure(asked: Asked, failure: TurnError, open: ActorTurn, taker: AnswerTaker): undefined {
    this.#close();
    taker.stop(failure);
    this.#answerQueries(asked, [], open, taker);
    const { update } = asked;
    if (update === undefined) return;
    taker.settle(update);
    open.refuse(update, new EngineError("INSTANCE_STATE", failure.message));
  }

  #takeSteps(asked: Asked, answer: TurnSteps, steps: readonly Step[], open: ActorTurn, taker: AnswerTaker): void {
    const { question } = asked;
    this.#close();
    this.#seen = question.events;
    this.#news = since(this.#news, this.#seen);
    this.#hasUnseen = hasArrival(this.#news);
    if (steps.length > 0) taker.takeSteps(steps.map((step) => this.#settled(step)));
    this.#answerQueries(asked, answer.queries, open, taker);
    const { state } = this.#actor.machine;
    const hasSeenAll = !this.#hasUnseen && !open.turn.events.some(isArrival);
    const goesOn = hasSeenAll && state.status === "Running" && state.generation === question.generation;
    if (goesOn && answer.canCancel && state.isCancelHeld) this.#deliverCancel(open);
    if (asked.update !== undefined) this.#decideUpdate(asked.update, { answer, open, taker });
  }

  #deliverCancel(open: ActorTurn): void {
    const { machine } = this.#actor;
    machine.handle({ type: "CancelInstance", reason: machine.state.cancelReason ?? "" }, open.turn);
    this.#actor.collectCommands(open);
  }

  /** Lets an update in whose validator has seen everything; otherwise it is asked about again. */
  #decideUpdate(
    update: InputMessage,
    { answer, open, taker }: { answer: TurnSteps; open: ActorTurn; taker: AnswerTaker },
  ): void {
    const refusal = answer.updateRefusal;
    const hasSeenAll = !this.#hasUnseen && !open.turn.events.some(isArrival);
    if (this.#actor.hasEnded || (refusal === undefined && !hasSeenAll)) return void this.#updates.unshift(update);
    taker.settle(update);
    if (refusal === undefined) this.#actor.take(update, open);
    else open.refuse(update, new EngineError(refusal.code, refusal.message));
  }

  #answerQueries({ queries }: Asked, replies: readonly QueryReply[], open: ActorTurn, taker: AnswerTaker): void {
    for (const [place, query] of queries.entries()) {
      this.#reply = replies[place];
      taker.settle(query);
      open.answer(query);
    }
    this.#reply = undefined;
  }

  /** Adds what depends on the cluster: the version of a child, and whether a domain exists. */
  #settled(step: Step): Step {
    const { code } = this.#actor.shard;
    if (step.type === "activity") {
      const { domain } = step.node;
      if (domain === undefined || code.hasDomain(this.#qualify(domain))) return step;
      const message = `it belongs to domain "${domain}", which is not declared in the engine's "domains"`;
      return { ...step, refusal: { type: "DOMAIN_UNKNOWN", message, retryable: false } };
    }
    if (step.type !== "child" || step.node.workflowVersion !== undefined) return step;
    const version = code.versionOf(this.#qualify(step.node.workflowName ?? ""));
    return version === undefined ? step : { ...step, node: { ...step.node, workflowVersion: version } };
  }

  /** The name of a child workflow without a version that this process does not know. */
  #lackingChild(steps: readonly Step[]): string | undefined {
    const { code } = this.#actor.shard;
    for (const step of steps) {
      if (step.type !== "child" || step.node.workflowVersion !== undefined) continue;
      const name = step.node.workflowName ?? "";
      if (code.versionOf(this.#qualify(name)) === undefined) return name;
    }
    return undefined;
  }

  #qualify(name: string): string {
    return qualify(namespaceOf(this.#actor.id), name);
  }
}

function unknownChild(name: string): TurnError {
  const message = `child workflow "${name}" is not known to this server: no worker has announced it, and it is not among the engine's "workflows"`;
  return { code: "WORKFLOW_UNKNOWN", message };
}

function updateOf({ input }: InputMessage): { name: string; data?: string } {
  if (input.type !== "RequestUpdate") return { name: "" };
  return { name: input.name, ...(typeof input.data === "string" && { data: input.data }) };
}

/** Events and updates that the code of a generation that is over has not seen pass to the next one. */
function completeContinue(step: Extract<Step, { type: "continue" }>, beyond: readonly TurnEvents[]): Step {
  const events: KeptEvent[] = [...step.events];
  const updates: KeptUpdate[] = [...(step.updates ?? [])];
  for (const event of beyond.flatMap((turn) => turn.events)) {
    if (event.type === "EventRaised") events.push(keptOf(event));
    if (event.type === "UpdateRequested") updates.push({ update: event.update, ...keptOf(event) });
  }
  return { ...step, events, updates };
}

function keptOf({ name, data }: KeptEvent): KeptEvent {
  return { name, ...(data !== undefined && { data }) };
}

function isKept({ type }: Event): boolean {
  return type === "EventRaised" || type === "UpdateRequested";
}
