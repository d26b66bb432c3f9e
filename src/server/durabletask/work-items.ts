/** A work item that a stream has not answered yet. */
export interface PendingItem<Answer> {
  /** Identifies it in the answers of SDKs that echo it. */
  readonly token: string;
  /** Identifies it in the answers of all others: the orchestration, or the task. */
  readonly key: string;
  /** The name of the token whose stream got it. */
  readonly owner: string;
  readonly onAnswer: (answer: Answer) => void;
  /** The worker gives it back. */
  readonly onAbandoned: () => void;
}

/** What an answer says about its item, and whose token it came with. */
interface AnsweredItem {
  readonly token: string;
  readonly key?: string;
  readonly owner: string;
}

/** Work items of one kind in a namespace, by their tokens and keys. */
export class PendingItems<Answer> {
  readonly #byToken = new Map<string, PendingItem<Answer>>();
  readonly #byKey = new Map<string, PendingItem<Answer>>();

  add(item: PendingItem<Answer>): void {
    this.#byToken.set(item.token, item);
    this.#byKey.set(item.key, item);
  }

  delete(item: PendingItem<Answer>): void {
    this.#byToken.delete(item.token);
    if (this.#byKey.get(item.key) === item) this.#byKey.delete(item.key);
  }

  /**
   * Takes an item that its owner has answered; undefined for one that is not expected any more, or that somebody else has. A
   * token goes before the key.
   */
  take({ token, key, owner }: AnsweredItem): PendingItem<Answer> | undefined {
    const item = token === "" && key !== undefined ? this.#byKey.get(key) : this.#byToken.get(token);
    if (item?.owner !== owner) return undefined;
    this.delete(item);
    return item;
  }
}
