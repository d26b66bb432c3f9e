import { assert } from "../base/assert.ts";
import { EngineError } from "../base/error.ts";
import { hasUnprintable, unprintableMessage } from "../base/unprintable.ts";
import type { Attempt, StartCare } from "./attempt.ts";
import { DomainPool, type DomainOptions } from "./domain-pool.ts";
import { defaultAgingMs } from "./task-queue.ts";

/** Has what the declared domains leave of the global pool, unless it is declared itself. */
export const defaultDomain = "default";

export interface DomainPoolsOptions {
  /** Of the embedded worker's part; absent where there is no such worker. */
  readonly poolSize?: number;
  readonly poolSizeMax: number;
  readonly domains: Readonly<Record<string, DomainOptions>>;
  readonly agingMs?: number;
  /** The domains' sizes are limits that several members share; how much of each may run here is told by `setQuota`. */
  readonly isShared?: boolean;
}

/**
 * The global pool and its division. The pool is the embedded worker's, whose size is set, and the slots of the workers
 * that are connected. Standing alone, the sizes of the declared domains never sum up to more than the pool, unless it
 * shrinks because a worker leaves; a refused change changes nothing. Where domains are shared, their quotas come from
 * outside and may be anything: then too no more runs than the pool has slots, for the dispatcher looks at both.
 */
export class DomainPools {
  readonly #ownSizeMax: number;
  readonly #agingMs: number;
  readonly #isShared: boolean;
  readonly #byName = new Map<string, DomainPool>();
  #byPriority: readonly DomainPool[] = [];
  #ownSize: number;
  #size: number;

  /** POOL_SIZE_INVALID, OPTION_INVALID. */
  constructor(options: DomainPoolsOptions) {
    checkSize("the ceiling of the pool size", options.poolSizeMax, 1, Number.MAX_SAFE_INTEGER);
    this.#ownSizeMax = options.poolSizeMax;
    this.#agingMs = options.agingMs ?? defaultAgingMs;
    this.#isShared = options.isShared ?? false;
    if (options.poolSize !== undefined)
      checkSize("the pool size", options.poolSize, 1, options.poolSizeMax, ` ("poolSizeMax")`);
    this.#ownSize = options.poolSize ?? 0;
    this.#size = this.#ownSize;
    this.#shareOut();
    for (const [name, domain] of Object.entries(options.domains)) this.declare(name, domain);
  }

  /** Of the whole pool. */
  get size(): number {
    return this.#size;
  }

  /** Of the embedded worker's part. */
  get ownSize(): number {
    return this.#ownSize;
  }

  /** By priority, the highest first. */
  get all(): readonly DomainPool[] {
    return this.#byPriority;
  }

  /** Of the embedded worker's part. POOL_SIZE_INVALID. */
  resize(size: number): void {
    if (this.#ownSize === 0) {
      const message = "the pool is that of the workers that are connected: it has no size of its own to be set";
      throw new EngineError("POOL_SIZE_INVALID", message);
    }
    const connected = this.#size - this.#ownSize;
    const reserved = this.#isShared ? 0 : this.#reserved() - connected;
    const why = reserved > 1 ? ` (the sum of the domains is ${reserved})` : "";
    checkSize("the pool size", size, Math.max(1, reserved), this.#ownSizeMax, why);
    this.#ownSize = size;
    this.#size = size + connected;
    this.#shareOut();
  }

  /** Workers came or went: they have this many slots together. */
  setWorkerSlots(slots: number): void {
    this.#size = this.#ownSize + slots;
    this.#shareOut();
  }

  /** DOMAIN_UNKNOWN, POOL_SIZE_INVALID. */
  resizeDomain(name: string, size: number): void {
    const { priority } = this.getDeclared(name);
    this.declare(name, { size, priority });
  }

  /** Adds a domain or changes one. POOL_SIZE_INVALID, OPTION_INVALID. */
  declare(name: string, { size, priority = 0 }: DomainOptions): void {
    checkName(name);
    if (!Number.isFinite(priority)) {
      throw new EngineError(
        "OPTION_INVALID",
        `the priority of domain "${name}" must be a number, got ${show(priority)}`,
      );
    }
    this.#checkDomainSize(name, size);
    const pool = this.of(name);
    if (!this.#isShared) pool.quota = size;
    else if (!pool.declared) pool.quota = 0;
    pool.size = size;
    pool.priority = priority;
    pool.declared = true;
    this.#shareOut();
  }

  /** How much of a shared domain may run here. DOMAIN_UNKNOWN. */
  setQuota(name: string, quota: number): void {
    assert(this.#isShared, "quotas are of domains that are shared");
    assert(Number.isInteger(quota) && quota >= 0, "a quota is a whole number");
    const pool = this.getDeclared(name);
    assert(pool.declared, "what the quotas leave has none itself");
    pool.quota = quota;
    this.#shareOut();
  }

  /** The pool a run waits in, whether its domain is declared or not. */
  of(name: string): DomainPool {
    let pool = this.#byName.get(name);
    if (pool === undefined) {
      pool = new DomainPool(name, this.#agingMs);
      this.#byName.set(name, pool);
    }
    return pool;
  }

  has(name: string): boolean {
    return name === defaultDomain || this.#byName.get(name)?.declared === true;
  }

  /** DOMAIN_UNKNOWN. */
  getDeclared(name: string): DomainPool {
    if (this.has(name)) return this.of(name);
    const known = this.#byPriority.map((pool) => `"${pool.name}"`).join(", ");
    throw new EngineError("DOMAIN_UNKNOWN", `domain ${show(name)} is not declared; there are ${known}`);
  }

  hasNext(care: StartCare): boolean {
    return this.#byPriority.some((pool) => pool.hasNext(care));
  }

  take(now: number, mayStart: (care: StartCare) => boolean): Attempt | undefined {
    for (const pool of this.#byPriority) {
      const attempt = pool.take(now, mayStart);
      if (attempt !== undefined) return attempt;
    }
    return undefined;
  }

  /** Against the pool, where there is one to be divided: not before a worker is there, and not where others have a part. */
  #checkDomainSize(name: string, size: number): void {
    const what = `the size of domain "${name}"`;
    if (this.#isShared || this.#ownSize === 0) return checkSize(what, size, 1, Number.MAX_SAFE_INTEGER);
    const left = this.#size - this.#reserved(name);
    if (left < 1) {
      const message = `no slots are left for domain "${name}": the other domains take all of the pool's ${this.#size}`;
      throw new EngineError("POOL_SIZE_INVALID", message);
    }
    checkSize(what, size, 1, left, ` (what the other domains leave of the pool's ${this.#size})`);
  }

  #reserved(except?: string): number {
    let sum = 0;
    for (const pool of this.#byName.values()) if (pool.declared && pool.name !== except) sum += pool.quota;
    return sum;
  }

  #shareOut(): void {
    const rest = this.of(defaultDomain);
    if (!rest.declared) {
      // Quotas from outside may be more than the whole pool: what is in no domain has a chance all the same.
      rest.quota = Math.max(this.#isShared ? Math.min(1, this.#size) : 0, this.#size - this.#reserved());
      rest.size = rest.quota;
    }
    this.#byPriority = [...this.#byName.values()]
      .filter((pool) => this.has(pool.name))
      .toSorted((a, b) => b.priority - a.priority);
  }
}

function checkSize(what: string, size: unknown, min: number, max: number, why = ""): void {
  if (Number.isInteger(size) && (size as number) >= min && (size as number) <= max) return;
  const message = `${what} must be a whole number from ${min} to ${max}${why}, got ${show(size)}`;
  throw new EngineError("POOL_SIZE_INVALID", message);
}

function show(value: unknown): string {
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}

/** Domains are shown in logs, metrics and terminals. */
function checkName(name: string): void {
  if (name.trim() === "") throw new EngineError("OPTION_INVALID", "a domain needs a name that is not blank");
  if (!hasUnprintable(name)) return;
  throw new EngineError("OPTION_INVALID", `the name of a domain ${unprintableMessage}, got ${show(name)}`);
}
