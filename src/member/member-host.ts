import type { Clock } from "../base/clock.ts";
import { messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { AskedTurn, CodeHost } from "../dispatch/code-host.ts";
import type { NeededCode } from "../dispatch/code-hosts.ts";
import { lengthOf } from "../runtime/turn-events.ts";
import { type AskMemberCode, type CodeReply, type ForeignQuestion, replyMs } from "./code-question.ts";

/** News above this many characters are left to the history, which the other member reads from the store. */
const newsLengthMax = 100_000;

/** Time after which a member that did not answer is asked again. */
const retryMs = 500;

export interface MemberHostParts {
  readonly clock: Clock;
  readonly logger: Logger;
  /** The present id of this member. */
  readonly member: () => string;
  /** A number that names a question among all of this member. */
  readonly newNumber: () => number;
  readonly ask: AskMemberCode;
  /** Tells the other member, which may not hear it, that a question is over. */
  readonly drop: (host: string, number: number) => void;
}

/** Another member as a host of code: it puts questions to hosts that are connected to it. */
export class MemberHost implements CodeHost {
  readonly isElsewhere = true;
  readonly address: string;
  readonly #parts: MemberHostParts;
  readonly #able = new Set<string>();
  readonly #asked = new Map<AskedTurn, number>();
  /** Questions that it takes at a time, by what it last said. */
  #turnsMax = 0;
  isReachable = true;

  constructor(address: string, parts: MemberHostParts) {
    this.address = address;
    this.#parts = parts;
  }

  get freeTurns(): number {
    return this.isReachable ? Math.max(0, this.#turnsMax - this.#asked.size) : 0;
  }

  canRun(workflow: string, version: string): boolean {
    return this.#able.has(keyOf({ workflow, version }));
  }

  noteFree(free: number): void {
    this.#turnsMax = this.#asked.size + free;
  }

  noteCode(code: NeededCode, isAble: boolean): void {
    if (isAble) this.#able.add(keyOf(code));
    else this.#able.delete(keyOf(code));
  }

  ask(turn: AskedTurn): void {
    const number = this.#parts.newNumber();
    this.#asked.set(turn, number);
    void this.#deliver(turn, number);
  }

  withdraw(turn: AskedTurn): void {
    const number = this.#asked.get(turn);
    if (number === undefined) return;
    this.#asked.delete(turn);
    this.#parts.drop(this.address, number);
  }

  /** The member is gone: nothing is repeated any more. */
  abandon(): void {
    this.isReachable = false;
    this.#asked.clear();
  }

  /** Repeats the question until it is over here. */
  async #deliver(turn: AskedTurn, number: number): Promise<void> {
    let isKnown = false;
    while (this.#asked.get(turn) === number) {
      const reply = await this.#put(number, isKnown ? undefined : questionOf(turn));
      if (this.#asked.get(turn) !== number) return;
      if (reply !== undefined) {
        isKnown = reply.state === "open" || reply.state === "stalled";
        this.#onReply(turn, reply);
      }
      if (reply === undefined) await new Promise<void>((resolve) => this.#parts.clock.after(retryMs, resolve));
    }
  }

  /** Undefined if the member did not answer. */
  async #put(number: number, asked: ForeignQuestion | undefined): Promise<CodeReply | undefined> {
    const { ask, member, logger } = this.#parts;
    try {
      const question = { type: "AskCode", owner: member(), number, ...(asked !== undefined && { asked }) } as const;
      return await ask(this.address, question, replyMs);
    } catch (error) {
      logger.debug(
        { member: this.address, error: messageOf(error) },
        "a member did not reply to a question about code",
      );
      return undefined;
    }
  }

  #onReply(turn: AskedTurn, { state, answer, free }: CodeReply): void {
    if (state === "stalled") turn.giveBack(this, "stalled");
    if (state === "open" || state === "stalled" || state === "unknown") return this.noteFree(free);
    this.#asked.delete(turn);
    this.noteFree(free);
    if (answer !== undefined) return turn.answer(answer, this);
    if (state === "unreadable") void turn.history(turn.question.first);
    if (state !== "lost") this.noteCode(turn.question, false);
    turn.giveBack(this, state === "lost" ? "lost" : "refused");
  }
}

function questionOf({ question, key, losses }: AskedTurn): ForeignQuestion {
  const { news } = question;
  const isShort = news === undefined || lengthOf(news) <= newsLengthMax;
  return { question: isShort ? question : { ...question, news: undefined }, key, losses };
}

function keyOf({ workflow, version }: NeededCode): string {
  return `${version} ${workflow}`;
}
