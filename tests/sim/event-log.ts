/** Values that differ between runs of one seed: generated ids of builders, and signatures of completion tokens. */
const randomIds = /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/g;

const signatures = /(?<=\bhct_[\w-]+\.)[\w-]{32}/g;

/** One line of the log. */
interface Line {
  readonly at: number;
  readonly text: string;
}

/**
 * The log of a run, and a hash of it: two runs with the same hash were the same run. Scheduler events are hashed but
 * not kept, because there are too many.
 */
export class EventLog {
  #high = 0x9e3779b9;
  #low = 0x85ebca6b;
  readonly #lines: Line[] = [];
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Adds a line. `details` are hashed but not kept. */
  note(text: string, details = ""): void {
    const at = this.#now();
    this.#lines.push({ at, text });
    this.mix(at);
    this.#mixText(repeatable(text));
    if (details !== "") this.#mixText(repeatable(details));
  }

  /** Adds a number to the hash. */
  mix(value: number): void {
    const whole = Math.floor(value);
    this.#mixWord(whole | 0);
    this.#mixWord(((value - whole) * 0x40000000) | 0);
  }

  get hash(): string {
    const hex = (word: number): string => (word >>> 0).toString(16).padStart(8, "0");
    return hex(this.#high) + hex(this.#low);
  }

  /** The last lines, or all, oldest first. */
  lines(count = Infinity): string[] {
    return this.#lines
      .slice(-Math.min(count, this.#lines.length))
      .map(({ at, text }) => `${at.toFixed(2).padStart(10)}  ${text}`);
  }

  #mixText(text: string): void {
    let high = this.#high;
    let low = this.#low;
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i);
      low = Math.imul(low ^ unit, 0x01000193);
      high = Math.imul(high ^ unit ^ (low >>> 13), 0x5bd1e995);
    }
    this.#high = high;
    this.#low = low;
    this.#mixWord(text.length);
  }

  #mixWord(word: number): void {
    this.#low = Math.imul(this.#low ^ word ^ (this.#low >>> 15), 0x2c1b3c6d);
    this.#high = Math.imul(this.#high ^ this.#low ^ (this.#high >>> 13), 0x297a2d39);
  }
}

/** Makes the text equal in all processes that run the same seed. */
function repeatable(text: string): string {
  if (text.length < 36) return text;
  const plain = text.replaceAll(randomIds, "");
  return plain.includes("hct_") ? plain.replaceAll(signatures, "") : plain;
}
