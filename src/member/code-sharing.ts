import type { Clock, Timer } from "../base/clock.ts";
import { messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import { codeAmong } from "../cluster/member-about.ts";
import type { NeededCode } from "../dispatch/code-hosts.ts";
import type { SessionCode } from "../dispatch/session-turns.ts";
import type { Hint } from "../runtime/call.ts";
import type { Region } from "../runtime/region.ts";
import type { ClusterView, Store } from "../stores/store.ts";
import type { AskMemberCode, CodeAnswerOf, CodeQuestionOf, CodeQuestionType } from "./code-question.ts";
import { ForeignTurns } from "./foreign-turns.ts";
import type { KnownMembers } from "./known-members.ts";
import { MemberHost } from "./member-host.ts";

/** Time in which a host of this member may take a question before others are asked. */
const patienceMs = 20;

/** Interval at which members are asked again while questions wait. */
const searchMs = 1000;

/** Members that are asked at a time: the next ones follow a second later. */
const membersMax = 32;

/** Workflows that are asked for at a time. */
const neededMax = 500;

const sweepMs = 500;

/** Time after which the reply of a member is not waited for any longer. */
const unansweredMs = 10_000;

export interface CodeSharingParts {
  readonly code: Pick<SessionCode, "hosts" | "learn">;
  readonly store: Pick<Store, "loadHistory" | "loadPayloads">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly members: Pick<KnownMembers, "isLiving" | "isSuspected">;
  readonly member: () => string;
  readonly region: () => Pick<Region, "onCodeHosted" | "stoppedCode">;
  readonly ask: (member: string, question: unknown, limits: { timeoutMs: number; holdMs: number }) => Promise<unknown>;
  readonly hint: (member: string, hint: Hint) => void;
}

type Answers = {
  readonly [T in CodeQuestionType]: (question: CodeQuestionOf<T>) => CodeAnswerOf<T> | Promise<CodeAnswerOf<T>>;
};

/**
 * Lets the code of an instance run on workers of any member. A member publishes with its heartbeat how many hosts of code
 * have connected to it; while questions wait, their owner asks such members whether they have the code, and puts
 * questions to those that do. See decision 0078.
 */
export class CodeSharing {
  readonly #parts: CodeSharingParts;
  readonly #foreign: ForeignTurns;
  readonly #answers: Answers;
  /** The members that have or had code for instances of this one. */
  readonly #hosts = new Map<string, MemberHost>();
  /** What the other members publish: how many hosts have connected to them. */
  #published: ReadonlyMap<string, number> = new Map();
  /** Members to which hosts have connected since workflows were last read. */
  readonly #news = new Set<string>();
  #isLearning = false;
  readonly #asking = new Set<string>();
  #searchTimer: Timer | undefined;
  #sweepTimer: Timer | undefined;
  #turn = 0;
  #lastNumber = 0;
  #isStopped = false;

  constructor(parts: CodeSharingParts) {
    this.#parts = parts;
    this.#foreign = new ForeignTurns({ ...parts, hosts: parts.code.hosts });
    this.#answers = {
      FindCode: (question) => this.#foreign.find(question),
      AskCode: (question) => this.#foreign.ask(question),
    };
  }

  /** Answers another member. Undefined if the question is not about code. */
  answer(body: unknown): { readonly value: unknown } | undefined {
    return this.#isQuestion(body) ? { value: this.#answerTo(body) } : undefined;
  }

  #answerTo<T extends CodeQuestionType>(question: CodeQuestionOf<T>): unknown {
    return this.#answers[question.type](question);
  }

  #isQuestion(body: unknown): body is CodeQuestionOf<CodeQuestionType> {
    const type = typeof body === "object" && body !== null && "type" in body ? body.type : undefined;
    return typeof type === "string" && Object.hasOwn(this.#answers, type);
  }

  /** The owner of questions does not want their answers any more. */
  drop(owner: string, numbers: readonly number[]): void {
    this.#foreign.drop(owner, numbers);
  }

  /** Hosts may have connected to other members, perhaps with code that is missing here, or was stopped. */
  onView({ members }: ClusterView): void {
    const before = this.#published;
    const own = this.#parts.member();
    const others = codeAmong(members).filter(({ member }) => member !== own);
    this.#published = new Map(others.map(({ member, code }) => [member, code]));
    for (const { member, code } of others) if (before.get(member) !== code) this.#news.add(member);
    if (this.#news.size > 0 && !this.#isLearning) void this.#learn();
  }

  async #learn(): Promise<void> {
    const { code, region, logger } = this.#parts;
    const members = [...this.#news];
    this.#news.clear();
    this.#isLearning = true;
    try {
      await code.learn();
      const needed = [...region().stoppedCode(), ...code.hosts.needed];
      for (const member of members) void this.#find(member, needed, "stopped too");
    } catch (error) {
      for (const member of members) this.#news.add(member);
      logger.debug({ error: messageOf(error) }, "workflows that other members know could not be read; they are later");
    } finally {
      this.#isLearning = false;
    }
  }

  /** Questions wait here. */
  onWaiting(): void {
    if (!this.#isStopped) this.#searchTimer ??= this.#parts.clock.after(patienceMs, () => this.#search());
  }

  #search(): void {
    this.#searchTimer = undefined;
    const { needed } = this.#parts.code.hosts;
    if (this.#isStopped || needed.length === 0) return;
    for (const member of this.#choose()) void this.#find(member, needed);
    this.#searchTimer = this.#parts.clock.after(searchMs, () => this.#search());
  }

  /** Members that were able before, and some of the others, in turn. */
  #choose(): string[] {
    const reached = [...this.#published.keys()].filter((member) => this.#isReachable(member)).toSorted();
    const [known, others] = [reached.filter((id) => this.#hosts.has(id)), reached.filter((id) => !this.#hosts.has(id))];
    const places = Math.max(1, membersMax - known.length);
    const first = others.length === 0 ? 0 : (this.#turn++ * places) % others.length;
    return [...known, ...[...others.slice(first), ...others.slice(0, first)].slice(0, places)].slice(0, membersMax);
  }

  async #find(member: string, all: readonly NeededCode[], whom?: "stopped too"): Promise<void> {
    const needed = all.slice(0, neededMax);
    if (needed.length === 0 || this.#asking.has(member)) return;
    this.#asking.add(member);
    try {
      const { able, free } = await this.#ask(member, { type: "FindCode", needed }, 0);
      if (!this.#isStopped && this.#isReachable(member)) this.#onFound(member, needed, { able: new Set(able), free });
      const host = this.#hosts.get(member);
      if (whom !== undefined && host !== undefined) this.#parts.region().onCodeHosted(host);
    } catch (error) {
      this.#parts.logger.debug({ member, error: messageOf(error) }, "a member did not say whether it has code");
    } finally {
      this.#asking.delete(member);
    }
  }

  #onFound(
    member: string,
    needed: readonly NeededCode[],
    { able, free }: { readonly able: ReadonlySet<number>; readonly free: number },
  ): void {
    let host = this.#hosts.get(member);
    if (host === undefined && able.size === 0) return;
    if (host === undefined) this.#hosts.set(member, (host = this.#newHost(member)));
    for (const [index, code] of needed.entries()) host.noteCode(code, able.has(index));
    host.noteFree(free);
    this.#parts.code.hosts.onReady(host);
  }

  #newHost(member: string): MemberHost {
    return new MemberHost(member, {
      clock: this.#parts.clock,
      logger: this.#parts.logger,
      member: this.#parts.member,
      newNumber: () => ++this.#lastNumber,
      ask: this.#ask,
      drop: (host, number) =>
        this.#parts.hint(host, { type: "CodeTurnsOver", owner: this.#parts.member(), numbers: [number] }),
    });
  }

  readonly #ask: AskMemberCode = async (member, question, holdMs) =>
    // A member of the same cluster has answered the question.
    (await this.#parts.ask(member, question, { timeoutMs: unansweredMs, holdMs })) as CodeAnswerOf<
      typeof question.type
    >;

  #isReachable(member: string): boolean {
    const { members } = this.#parts;
    return members.isLiving(member) && !members.isSuspected(member);
  }

  start(): void {
    this.#sweepTimer = this.#parts.clock.after(sweepMs, () => {
      this.#foreign.sweep();
      for (const host of this.#hosts.values()) this.#check(host);
      this.start();
    });
  }

  /** Questions of a member that is out of touch are put to another one, and again when it is gone. */
  #check(host: MemberHost): void {
    const { code, members } = this.#parts;
    const { hosts } = code;
    const isReachable = this.#isReachable(host.address);
    if (!members.isLiving(host.address)) {
      this.#hosts.delete(host.address);
      host.abandon();
      // Its workers live, and connect to another member.
      hosts.remove(host, "left");
    } else if (host.isReachable !== isReachable) {
      host.isReachable = isReachable;
      if (isReachable) hosts.onReady(host);
      else hosts.onUnreachable(host);
    }
  }

  /** This member was removed: others own its shards, and it answers nobody under its earlier id. */
  clear(): void {
    this.#foreign.clear();
    for (const host of this.#hosts.values()) {
      host.abandon();
      this.#parts.code.hosts.remove(host, "left");
    }
    this.#hosts.clear();
  }

  stop(): void {
    this.#isStopped = true;
    this.#searchTimer?.cancel();
    this.#sweepTimer?.cancel();
    this.clear();
  }
}
