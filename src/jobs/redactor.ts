const mask = "***";

/** A line of a secret with several lines is redacted by itself from this length on. Shorter ones, such as a brace, are in every text. */
const lineLengthMin = 4;

/** Replaces secrets in everything that leaves a job: log lines, errors and results. */
export class Redactor {
  readonly #secrets = new Set<string>();
  #lengthMax = 0;

  /** The length of the longest text that is replaced. */
  get lengthMax(): number {
    return this.#lengthMax;
  }

  /** Adds a secret, with the forms in which programs repeat it: in a URL, in JSON, in base64, and line by line. */
  add(secret: string): void {
    const lines = secret.split(/\r?\n/).filter((line) => line.length >= lineLengthMin);
    for (const form of [secret, secret.trim(), ...lines]) this.#addForms(form);
  }

  #addForms(text: string): void {
    const bytes = Buffer.from(text);
    const forms = [
      text,
      encodeURIComponent(text.toWellFormed()),
      JSON.stringify(text).slice(1, -1),
      bytes.toString("base64"),
      bytes.toString("base64url"),
    ];
    for (const form of forms) {
      if (form === "") continue;
      this.#secrets.add(form);
      this.#lengthMax = Math.max(this.#lengthMax, form.length);
    }
  }

  /** The first `covered` characters are known to be the end of a secret. */
  redact(text: string, covered = 0): string {
    let redacted = "";
    let end = 0;
    for (const found of this.#occurrences(text, covered)) {
      redacted += text.slice(end, found.start) + mask;
      end = found.end;
    }
    return end === 0 ? text : redacted + text.slice(end);
  }

  /** Redacts every text in a JSON value, names of fields included, and numbers that are written like a secret. */
  redactValue(value: unknown): unknown {
    if (this.#secrets.size === 0) return value;
    if (typeof value === "string") return this.redact(value);
    if (typeof value === "number") return this.#isIn(String(value)) ? mask : value;
    if (Array.isArray(value)) return value.map((each) => this.redactValue(each));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [this.redact(name), this.redactValue(each)] as const),
    );
  }

  /**
   * Takes a redacted piece of at most about `lengthMax` characters from a text whose end is still to come. No secret is cut, not
   * even one whose end is missing; of a run of secrets that is longer than the piece, `covered` says how far it goes on.
   */
  take(text: string, covered: number, lengthMax: number): { piece: string; rest: string; covered: number } {
    const limit = Math.min(lengthMax, text.length - Math.max(0, this.#lengthMax - 1));
    const across = this.#occurrences(text, covered).find(({ start, end }) => start < limit && limit < end);
    if (across?.start === 0) return { piece: mask, rest: text.slice(limit), covered: across.end - limit };
    const cut = across?.start ?? limit;
    return { piece: this.redact(text.slice(0, cut), covered), rest: text.slice(cut), covered: 0 };
  }

  #isIn(text: string): boolean {
    return [...this.#secrets].some((secret) => text.includes(secret));
  }

  /** The places of all secrets in order; those that touch each other are one. */
  #occurrences(text: string, covered: number): { start: number; end: number }[] {
    const found = covered === 0 ? [] : [{ start: 0, end: Math.min(covered, text.length) }];
    for (const secret of this.#secrets) {
      for (let start = text.indexOf(secret); start !== -1; start = text.indexOf(secret, start + 1)) {
        found.push({ start, end: start + secret.length });
      }
    }
    found.sort((a, b) => a.start - b.start);
    const merged: { start: number; end: number }[] = [];
    for (const each of found) {
      const last = merged.at(-1);
      if (last !== undefined && each.start <= last.end) last.end = Math.max(last.end, each.end);
      else merged.push({ ...each });
    }
    return merged;
  }
}
