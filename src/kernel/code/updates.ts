import type { KeptAnswer } from "../event.ts";

/** An update that the code has not answered. */
export interface OpenUpdate {
  readonly update: string;
  readonly name: string;
  /** Time of the request. */
  readonly at: number;
}

/** Updates that an instance has accepted, by id, with their answers once they have one. */
export class Updates {
  readonly #answers = new Map<string, KeptAnswer | undefined>();
  /** Updates without an answer, by id. */
  readonly #open = new Map<string, OpenUpdate>();
  /** Answers that an earlier generation gave. */
  readonly #inherited: ReadonlySet<KeptAnswer>;

  constructor(inherited: readonly KeptAnswer[] = []) {
    this.#inherited = new Set(inherited);
    for (const answer of inherited) this.answer(answer);
  }

  request(open: OpenUpdate): void {
    this.#answers.set(open.update, undefined);
    this.#open.set(open.update, open);
  }

  answer(answer: KeptAnswer): void {
    this.#open.delete(answer.update);
    this.#answers.set(answer.update, answer);
  }

  /** Updates that the code has not answered, the earliest first. */
  get open(): readonly OpenUpdate[] {
    return [...this.#open.values()];
  }

  has(update: string): boolean {
    return this.#answers.has(update);
  }

  answerTo(update: string): KeptAnswer | undefined {
    return this.#answers.get(update);
  }

  /**
   * Answers that the next generation is to know, in the order they were given: the last ones, and all since that time.
   * Large ones are kept for one generation: the rows of their values would keep all that came after them.
   */
  answersToKeep({ max, since }: { max: number; since: number }): KeptAnswer[] {
    const answers = [...this.#answers.values()].filter((answer) => answer !== undefined);
    const small = answers.filter((each) => typeof each.output !== "object" || !this.#inherited.has(each));
    return small.filter(({ at = 0 }, place) => place >= small.length - max || at > since);
  }
}
