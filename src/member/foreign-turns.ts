import type { Clock, Timer } from "../base/clock.ts";
import { messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import { RecentMap } from "../cluster/recent-map.ts";
import type { CodeHost } from "../dispatch/code-host.ts";
import type { CodeHosts, OpenTurn, TurnOwner } from "../dispatch/code-hosts.ts";
import type { HistoryPage, TurnAnswer, TurnQuestion } from "../kernel/code/turn-question.ts";
import { QuestionHistory } from "../runtime/question-history.ts";
import { retryWhileUnavailable } from "../runtime/retry-while-unavailable.ts";
import type { Store } from "../stores/store.ts";
import {
  type CodeAnswerOf,
  type CodeQuestionOf,
  type CodeReply,
  type ForeignQuestion,
  replyMs,
} from "./code-question.ts";

/** A question that its owner has not asked about for this long is forgotten. */
const forgetMs = 20_000;

/** Instances of other members whose last host is remembered, because the code is in its memory. */
const warmMax = 20_000;
const warmMs = 1_800_000;

export interface ForeignTurnsParts {
  readonly hosts: CodeHosts;
  readonly store: Pick<Store, "loadHistory" | "loadPayloads">;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A question of another member that is put to hosts of this one. */
class ForeignTurn implements TurnOwner {
  readonly #parts: ForeignTurnsParts;
  readonly #history: QuestionHistory;
  readonly #onChanged: (by: CodeHost | undefined) => void;
  open: OpenTurn | undefined;
  /** What became of it; undefined while it is open. */
  end: Pick<CodeReply, "state" | "answer"> | undefined;
  askedAt = 0;
  /** The reply that its owner waits for. */
  reply: (() => void) | undefined;
  timer: Timer | undefined;

  constructor(parts: ForeignTurnsParts, key: number, onChanged: (by: CodeHost | undefined) => void) {
    this.#parts = parts;
    this.#onChanged = onChanged;
    const { clock, store } = parts;
    const isOver = (): boolean => this.end !== undefined;
    this.#history = new QuestionHistory(
      {
        readHistory: (instance) => retryWhileUnavailable(clock, () => store.loadHistory([instance]), isOver),
        readPayloads: (instance, refs) =>
          retryWhileUnavailable(clock, () => store.loadPayloads(instance, refs), isOver),
      },
      key,
    );
  }

  async history(question: TurnQuestion, from: number): Promise<HistoryPage | undefined> {
    try {
      return await this.#history.page(question, from);
    } catch (error) {
      // Its owner finds out whether the history is damaged, or the question is over.
      const fields = { instanceId: question.instanceId, error: messageOf(error) };
      this.#parts.logger.debug(fields, "the history of an instance of another member could not be read");
      this.finish({ state: "unreadable" }, undefined);
      return undefined;
    }
  }

  onAnswer(answer: TurnAnswer, host: CodeHost | undefined): void {
    this.finish({ state: "answered", answer }, host);
  }

  /** The owner counts losses, and decides whether it asks again. */
  onLost(): boolean {
    this.finish({ state: "lost" }, undefined);
    return false;
  }

  finish(end: NonNullable<ForeignTurn["end"]>, by: CodeHost | undefined): void {
    this.end ??= end;
    this.#onChanged(by);
  }
}

/**
 * Questions about code that other members have put to hosts of this one. Their owners repeat them until they are answered
 * or withdrawn, so that nothing here has to last: a reply that is lost leads to the question once more, and any answer to
 * it is right.
 */
export class ForeignTurns {
  readonly #parts: ForeignTurnsParts;
  readonly #turns = new Map<string, ForeignTurn>();
  readonly #warm: RecentMap<CodeHost>;

  constructor(parts: ForeignTurnsParts) {
    this.#parts = parts;
    this.#warm = new RecentMap({ clock: parts.clock, ageMsMax: warmMs, countMax: warmMax });
  }

  find({ needed }: CodeQuestionOf<"FindCode">): CodeAnswerOf<"FindCode"> {
    const { hosts } = this.#parts;
    const able = needed.flatMap((code, index) => (hosts.hasOwnCode(code) ? [index] : []));
    return { able, free: hosts.freeTurns };
  }

  async ask({ owner, number, asked }: CodeQuestionOf<"AskCode">): Promise<CodeReply> {
    const name = nameOf(owner, number);
    let turn = this.#turns.get(name);
    if (turn === undefined) {
      if (asked === undefined) return this.#replyOf("unknown");
      if (!this.#parts.hosts.hasOwnCode(asked.question)) return this.#replyOf("refused");
      turn = this.#begin(name, asked);
    }
    turn.askedAt = this.#parts.clock.monotonic();
    if (turn.end === undefined) await this.#wait(turn);
    return this.#reply(name, turn);
  }

  #begin(name: string, { question, key, losses }: ForeignQuestion): ForeignTurn {
    const { instanceId } = question;
    const turn = new ForeignTurn(this.#parts, key, (by) => {
      if (by !== undefined) this.#warm.set(instanceId, by);
      turn.reply?.();
    });
    this.#turns.set(name, turn);
    turn.open = this.#parts.hosts.ask(question, {
      owner: turn,
      key,
      losses,
      isForeign: true,
      warmHost: this.#warm.get(instanceId),
    });
    return turn;
  }

  /** A request that came before, and is repeated or replaced by this one, is replied to now. */
  async #wait(turn: ForeignTurn): Promise<void> {
    turn.reply?.();
    const { promise, resolve } = Promise.withResolvers<void>();
    const reply = (): void => {
      turn.timer?.cancel();
      turn.timer = turn.reply = undefined;
      resolve();
    };
    turn.reply = reply;
    turn.timer = this.#parts.clock.after(replyMs, reply);
    await promise;
  }

  #reply(name: string, turn: ForeignTurn): CodeReply {
    const { hosts } = this.#parts;
    const { end, open } = turn;
    if (end !== undefined) {
      this.#forget(name, turn);
      return { ...end, free: hosts.freeTurns };
    }
    if (open !== undefined && hosts.isStalled(open)) return this.#replyOf("stalled");
    if (open?.hosts.size !== 0 || hosts.hasOwnCode(open.question)) return this.#replyOf("open");
    this.#forget(name, turn);
    return this.#replyOf("refused");
  }

  #replyOf(state: CodeReply["state"]): CodeReply {
    return { state, free: this.#parts.hosts.freeTurns };
  }

  /** The owner does not want these answers any more. */
  drop(owner: string, numbers: readonly number[]): void {
    for (const number of numbers) {
      const name = nameOf(owner, number);
      const turn = this.#turns.get(name);
      if (turn !== undefined) this.#forget(name, turn);
    }
  }

  #forget(name: string, turn: ForeignTurn): void {
    if (this.#turns.get(name) === turn) this.#turns.delete(name);
    turn.end ??= { state: "unknown" };
    turn.reply?.();
    if (turn.open !== undefined) this.#parts.hosts.withdraw(turn.open);
  }

  /** Forgets what nobody has asked about for long. */
  sweep(): void {
    const since = this.#parts.clock.monotonic() - forgetMs;
    for (const [name, turn] of this.#turns) {
      if (turn.askedAt < since && turn.reply === undefined) this.#forget(name, turn);
    }
  }

  clear(): void {
    for (const [name, turn] of this.#turns) this.#forget(name, turn);
  }
}

function nameOf(owner: string, number: number): string {
  return `${owner} ${number}`;
}
