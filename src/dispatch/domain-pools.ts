import { EngineError } from "../base/error.ts";
import type { Attempt, Care } from "./attempt.ts";
import { DomainPool, type DomainOptions } from "./domain-pool.ts";
import { defaultAgingMs } from "./task-queue.ts";

/** Has what the declared domains leave of the global pool, unless it is declared itself. */
export const defaultDomain = "default";

export interface DomainPoolsOptions {
  readonly poolSize: number;
  readonly poolSizeMax: number;
  readonly domains: Readonly<Record<string, DomainOptions>>;
  readonly agingMs?: number;
}

/**
 * The global pool and its division. The sizes of the declared domains never sum up to more than the global size; a
 * refused change changes nothing.
 */
export class DomainPools {
  readonly #sizeMax: number;
  readonly #agingMs: number;
  readonly #byName = new Map<string, DomainPool>();
  #byPriority: readonly DomainPool[] = [];
  #size: number;

  /** POOL_SIZE_INVALID, OPTION_INVALID. */
  constructor(options: DomainPoolsOptions) {
    checkSize("the ceiling of the pool size", options.poolSizeMax, 1, Number.MAX_SAFE_INTEGER);
    this.#sizeMax = options.poolSizeMax;
    this.#agingMs = options.agingMs ?? defaultAgingMs;
    checkSize("the pool size", options.poolSize, 1, options.poolSizeMax);
    this.#size = options.poolSize;
    this.#shareOut();
    for (const [name, domain] of Object.entries(options.domains)) this.declare(name, domain);
  }

  get size(): number {
    return this.#size;
  }

  /** By priority, the highest first. */
  get all(): readonly DomainPool[] {
    return this.#byPriority;
  }

  /** POOL_SIZE_INVALID. */
  resize(size: number): void {
    const reserved = this.#reserved();
    const why = reserved > 1 ? ` (the sum of the domains is ${reserved})` : "";
    checkSize("the pool size", size, Math.max(1, reserved), this.#sizeMax, why);
    this.#size = size;
    this.#shareOut();
  }

  /** DOMAIN_UNKNOWN, POOL_SIZE_INVALID. */
  resizeDomain(name: string, size: number): void {
    const { priority } = this.declared(name);
    this.declare(name, { size, priority });
  }

  /** Adds a domain or changes one. POOL_SIZE_INVALID, OPTION_INVALID. */
  declare(name: string, { size, priority = 0 }: DomainOptions): void {
    if (name === "") throw new EngineError("OPTION_INVALID", "a domain needs a name");
    if (!Number.isFinite(priority)) {
      throw new EngineError(
        "OPTION_INVALID",
        `the priority of domain "${name}" must be a number, got ${show(priority)}`,
      );
    }
    const left = this.#size - this.#reserved(name);
    if (left < 1) {
      const message = `no slots are left for domain "${name}": the other domains take all of the pool's ${this.#size}`;
      throw new EngineError("POOL_SIZE_INVALID", message);
    }
    const why = ` (what the other domains leave of the pool's ${this.#size})`;
    checkSize(`the size of domain "${name}"`, size, 1, left, why);
    const pool = this.of(name);
    pool.size = size;
    pool.priority = priority;
    pool.declared = true;
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
  declared(name: string): DomainPool {
    if (this.has(name)) return this.of(name);
    const known = this.#byPriority.map((pool) => `"${pool.name}"`).join(", ");
    throw new EngineError("DOMAIN_UNKNOWN", `domain ${show(name)} is not declared; there are ${known}`);
  }

  hasNext(care: Care): boolean {
    return this.#byPriority.some((pool) => pool.hasNext(care));
  }

  take(now: number, mayStart: (care: Care) => boolean): Attempt | undefined {
    for (const pool of this.#byPriority) {
      const attempt = pool.take(now, mayStart);
      if (attempt !== undefined) return attempt;
    }
    return undefined;
  }

  #reserved(except?: string): number {
    let sum = 0;
    for (const pool of this.#byName.values()) if (pool.declared && pool.name !== except) sum += pool.size;
    return sum;
  }

  #shareOut(): void {
    const rest = this.of(defaultDomain);
    if (!rest.declared) rest.size = this.#size - this.#reserved();
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
