import type { Audited } from "./audit.ts";
import type { ClaimCall, CommitCall, Testimony } from "./testimony.ts";

/**
 * A commit or claim that the database took, as the member tells it that sent it. Between when it was sent and when
 * anybody knew of it lies the moment at which it came to be durable.
 */
export interface Landing<Call> {
  readonly call: Call;
  /** Where it stands in the audit: once for each shard that it is of. */
  readonly audited: readonly Audited[];
  readonly sentAt: number;
  readonly knownAt: number;
}

export interface Landings {
  readonly commits: readonly Landing<CommitCall>[];
  readonly claims: readonly Landing<ClaimCall>[];
  /** Where members and database contradict each other. */
  readonly wrong: readonly string[];
}

/** Brings together what members say that they sent and what the database says that it took. */
export function findLandings(testimony: Testimony): Landings {
  const finder = new Finder(testimony);
  const commits = finder.commits();
  const claims = finder.claims();
  return { commits, claims, wrong: finder.wrong };
}

type Row = Extract<Audited, { what: "claim" | "commit" }>;

class Finder {
  readonly wrong: string[] = [];
  readonly #testimony: Testimony;
  readonly #commits = new Map<string, Row>();
  readonly #claims = new Map<string, Row>();
  /** The row of the same shard that follows. */
  readonly #next = new Map<Row, Row>();
  /** When it was certainly there: somebody had been told of it. */
  readonly #knownAt = new Map<Row, number>();
  /** By batch: when it was first sent, of the times that may have led to something. */
  readonly #sentAt = new Map<string, number>();

  constructor(testimony: Testimony) {
    this.#testimony = testimony;
    for (const call of testimony.commitCalls.toReversed())
      if (mayHaveLanded(call)) this.#sentAt.set(shown(call), call.sentAt);
    const last = new Map<number, Row>();
    for (const row of testimony.audit) {
      if (row.what !== "commit" && row.what !== "claim") continue;
      (row.what === "commit" ? this.#commits : this.#claims).set(nameOf(row), row);
      const before = last.get(row.shard);
      if (before !== undefined) this.#next.set(before, row);
      last.set(row.shard, row);
    }
    this.#noteAnswers();
  }

  commits(): Landing<CommitCall>[] {
    const told = new Map<Row, CommitCall>();
    for (const call of this.#testimony.commitCalls) {
      const rows = rowsOf(call, this.#commits);
      if (rows === undefined) {
        if (call.answeredAt !== undefined && call.code === undefined)
          this.wrong.push(`${shown(call)} was answered with success, and the database never took it`);
      } else if (mayHaveLanded(call)) {
        // The same again is the same; of several that differ, the last one that nobody refused.
        for (const row of rows) if (!wasAnswered(told.get(row))) told.set(row, call);
      }
    }
    for (const row of this.#commits.values())
      if (!told.has(row)) this.wrong.push(`the database took batch ${nameOf(row)}, and nobody sent it`);
    const calls = new Set(told.values());
    return inOrder([...calls].map((call) => this.#landing(call, rowsOf(call, this.#commits) ?? [])));
  }

  claims(): Landing<ClaimCall>[] {
    const { claimCalls } = this.#testimony;
    const answered = new Map(claimCalls.flatMap((call) => (call.claim ? [[claimName(call), call] as const] : [])));
    for (const [name, call] of answered)
      if (!this.#claims.has(name))
        this.wrong.push(`life ${call.life} was given ${name}, and the database knows nothing of it`);
    const landings = [...this.#claims.values()].flatMap((row) => {
      const call = answered.get(nameOf(row)) ?? this.#unanswered(row);
      if (call === undefined) this.wrong.push(`${nameOf(row)} was claimed, and nobody asked for it`);
      return call === undefined ? [] : [this.#landing(call, [row])];
    });
    return inOrder(landings);
  }

  /** A claim whose answer was lost. What it would have said is in the audit. */
  #unanswered(row: Row): ClaimCall | undefined {
    if (row.what !== "claim") return undefined;
    const { shard, epoch, batch: lastBatch, released, owner } = row;
    const asked = this.#testimony.claimCalls.find(
      (call) => call.shard === shard && call.owner === owner && call.claim === undefined && mayHaveLanded(call),
    );
    return asked && { ...asked, claim: { epoch, incarnation: 0, lastBatch, released, lastKey: 0, previousOwner: "" } };
  }

  #noteAnswers(): void {
    const { commitCalls, claimCalls } = this.#testimony;
    const note = (row: Row | undefined, at: number): void => {
      if (row !== undefined) this.#knownAt.set(row, Math.min(at, this.#knownAt.get(row) ?? Infinity));
    };
    for (const call of commitCalls) {
      if (!wasAnswered(call)) continue;
      for (const row of rowsOf(call, this.#commits) ?? []) note(row, call.answeredAt ?? Infinity);
    }
    for (const call of claimCalls) if (call.claim) note(this.#claims.get(claimName(call)), call.answeredAt ?? Infinity);
    // Whoever knows of a row knows of those before it.
    for (const row of [...this.#commits.values(), ...this.#claims.values()].sort((a, b) => b.id - a.id)) {
      const next = this.#next.get(row);
      note(row, next === undefined ? Infinity : (this.#knownAt.get(next) ?? Infinity));
    }
  }

  #landing<Call extends CommitCall | ClaimCall>(call: Call, audited: readonly Row[]): Landing<Call> {
    const knownAt = Math.min(...audited.map((row) => this.#knownAt.get(row) ?? Infinity));
    // The same batch may have been sent before, and have landed then.
    const sentAt = ("batch" in call ? this.#sentAt.get(shown(call)) : undefined) ?? call.sentAt;
    return { call, audited, sentAt, knownAt };
  }
}

function wasAnswered(call: CommitCall | ClaimCall | undefined): boolean {
  return call?.answeredAt !== undefined && call.code === undefined;
}

/** What is refused was not written; anything else that is not success means that nobody knows. */
function mayHaveLanded({ code }: CommitCall | ClaimCall): boolean {
  return code !== "STORE_FENCED" && code !== "STORE_DATA";
}

/** All of them or none: a batch of which only a part is there is not what was taken. */
function rowsOf({ batch }: CommitCall, commits: ReadonlyMap<string, Row>): Row[] | undefined {
  const rows = batch.fences.map(({ shard, epoch, number }) => commits.get(`${shard}/${epoch}/${number}`));
  return rows.includes(undefined) ? undefined : (rows as Row[]);
}

function nameOf(row: Row): string {
  return row.what === "claim" ? `shard ${row.shard} with epoch ${row.epoch}` : `${row.shard}/${row.epoch}/${row.batch}`;
}

function claimName({ shard, claim }: ClaimCall): string {
  return `shard ${shard} with epoch ${claim?.epoch}`;
}

function shown({ life, batch }: CommitCall): string {
  const fences = batch.fences.map(({ shard, epoch, number }) => `${shard}/${epoch}/${number}`);
  return `batch ${fences.join(" ")} of life ${life}`;
}

function inOrder<Call>(landings: readonly Landing<Call>[]): Landing<Call>[] {
  const place = ({ audited }: Landing<Call>): number => audited[0]?.id ?? 0;
  return landings.toSorted((a, b) => place(a) - place(b));
}
