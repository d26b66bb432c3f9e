import { assert } from "../base/assert.ts";
import { EngineError } from "../base/error.ts";
import { hasUnprintable, unprintableMessage } from "../base/unprintable.ts";
import { localName, namespaceOf, qualify } from "../base/namespace.ts";
import type { Attempt, StartCare } from "./attempt.ts";
import { DomainPool, type DomainOptions, type StartRule } from "./domain-pool.ts";
import { defaultAgingMs } from "./task-queue.ts";

/** The domain that gets what the declared domains leave of the global pool, unless it is declared itself. */
export const defaultDomain = "default";

/** The qualified name of a domain. All namespaces share the domain `default`: what the others leave of the pool. */
export function qualifyDomain(namespace: string, domain: string): string {
  return domain === defaultDomain ? domain : qualify(namespace, domain);
}

export interface DomainPoolsOptions {
  /** The slots of the embedded worker; absent if there is none. */
  readonly poolSize?: number;
  readonly poolSizeMax: number;
  readonly domains: Readonly<Record<string, DomainOptions>>;
  readonly agingMs?: number;
  /** Several members share the domains; `setQuota` says how much of each may run here. */
  readonly isShared?: boolean;
}

/**
 * Divides the global pool among the domains. The pool consists of the slots of the embedded worker, which are configured,
 * and those of connected workers. For a single engine, the sizes of the declared domains never exceed the pool, unless it
 * shrinks because a worker leaves; a refused change changes nothing. Quotas of shared domains come from the allocators and
 * may exceed the pool; the dispatcher checks both limits.
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

  /** The slots of the whole pool. */
  get size(): number {
    return this.#size;
  }

  /** The slots of the embedded worker. */
  get ownSize(): number {
    return this.#ownSize;
  }

  /** All domains by priority, the highest first. */
  get all(): readonly DomainPool[] {
    return this.#byPriority;
  }

  /** Sets the slots of the embedded worker. POOL_SIZE_INVALID. */
  resize(size: number): void {
    if (this.#ownSize === 0) {
      const message =
        "the pool has no size of its own: this process runs no jobs, its slots are those of connected workers";
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

  /** Sets the number of slots of all connected workers. */
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
        `the priority of domain "${localName(name)}" must be a number, got ${show(priority)}`,
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

  /** Sets how many attempts of a shared domain may run here. DOMAIN_UNKNOWN. */
  setQuota(name: string, quota: number): void {
    assert(this.#isShared, "only shared domains have quotas");
    assert(Number.isInteger(quota) && quota >= 0, "a quota is a whole number");
    const pool = this.getDeclared(name);
    assert(pool.declared, "the default domain has no quota unless it is declared");
    pool.quota = quota;
    this.#shareOut();
  }

  /** The pool of a domain, declared or not. */
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

  /** The pool of a declared domain. DOMAIN_UNKNOWN. */
  getDeclared(name: string): DomainPool {
    if (this.has(name)) return this.of(name);
    const namespace = namespaceOf(name);
    const own = this.#byPriority.filter((pool) => pool.name === defaultDomain || namespaceOf(pool.name) === namespace);
    const known = own.map((pool) => `"${localName(pool.name)}"`).join(", ");
    throw new EngineError("DOMAIN_UNKNOWN", `domain ${show(localName(name))} is not declared; there are ${known}`);
  }

  hasNext(care: StartCare): boolean {
    for (const pool of this.#byPriority) if (pool.hasNext(care)) return true;
    return false;
  }

  take(now: number, isolation: StartRule): Attempt | undefined {
    for (const pool of this.#byPriority) {
      const attempt = pool.take(now, isolation);
      if (attempt !== undefined) return attempt;
    }
    return undefined;
  }

  /** Checks a size against the pool; only for a single engine with an embedded worker, whose pool is divided. */
  #checkDomainSize(name: string, size: number): void {
    const what = `the size of domain "${localName(name)}"`;
    if (this.#isShared || this.#ownSize === 0) return checkSize(what, size, 1, Number.MAX_SAFE_INTEGER);
    const left = this.#size - this.#reserved(name);
    if (left < 1) {
      const message = `no slots are left for domain "${localName(name)}": the other domains take all of the pool's ${this.#size}`;
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
      // Quotas may exceed the whole pool; the default domain must not starve then.
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

/** Refuses unprintable names, because domains are shown in logs, metrics and terminals. */
function checkName(name: string): void {
  if (name.trim() === "") throw new EngineError("OPTION_INVALID", "a domain needs a name that is not blank");
  if (!hasUnprintable(name)) return;
  throw new EngineError("OPTION_INVALID", `the name of a domain ${unprintableMessage}, got ${show(name)}`);
}
