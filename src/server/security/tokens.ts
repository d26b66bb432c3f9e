import { timingSafeEqual } from "node:crypto";
import type { Role } from "../../api/route.ts";
import type { Clock, Timer } from "../../base/clock.ts";
import { messageOf } from "../../base/error.ts";
import type { Logger } from "../../base/logger.ts";
import { preview } from "../../base/preview.ts";
import { tokenDocument } from "../../stores/document-kinds.ts";
import type { Store } from "../../stores/store.ts";
import { HttpError } from "../request/http-error.ts";
import type { TokenHolder } from "../request/caller.ts";
import { hashOf, newSecret } from "./secret.ts";

export interface GivenToken {
  readonly name: string;
  readonly role: Role;
  /** The namespace that it is bound to. */
  readonly namespace?: string | undefined;
  readonly sha256: string;
}

export interface TokenView {
  readonly name: string;
  readonly role: Role;
  /** The namespace that it is bound to; null if it may choose. */
  readonly namespace: string | null;
  /** Null for tokens of the configuration and the environment. */
  readonly createdAt: number | null;
  readonly expiresAt: number | null;
}

interface StoredToken extends TokenView {
  readonly sha256: string;
  /** Hash of the idempotency key that created it: a repeated request gives the same token a new secret. */
  readonly madeBy: string | null;
}

interface KnownToken extends TokenHolder {
  readonly hash: Buffer;
  readonly expiresAt: number | null;
}

const kind = tokenDocument;
const pageSize = 1000;

/** Poll interval for changes by other members. */
const pollMs = 5000;

export interface TokensParts {
  readonly store: Pick<Store, "findDocument" | "listDocuments" | "saveDocument" | "deleteDocument">;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Tokens of the configuration. */
  readonly given: readonly GivenToken[];
  /** Admin token of the environment. */
  readonly adminSecret: string | undefined;
}

/** The API tokens: of the store, the configuration and the environment. Only hashes are kept. */
export class Tokens {
  readonly #parts: TokensParts;
  readonly #fixed: readonly (readonly [string, KnownToken])[];
  #known = new Map<string, KnownToken>();
  #timer: Timer | undefined;
  #isStopped = false;

  constructor(parts: TokensParts) {
    this.#parts = parts;
    const { given, adminSecret } = parts;
    const ofEnvironment =
      adminSecret === undefined || adminSecret === ""
        ? []
        : [{ name: "environment", role: "admin" as const, sha256: hashOf(adminSecret) }];
    this.#fixed = [...given, ...ofEnvironment].map((token) => [token.sha256, known({ ...token, expiresAt: null })]);
  }

  /** Call after the store is open. */
  async start(): Promise<void> {
    await this.#load();
    this.#poll();
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  /** No token exists: a server on the loopback address then lets every local user in. */
  get isEmpty(): boolean {
    return this.#known.size === 0;
  }

  /** Finds a token by the hash of its secret, then compares in constant time. */
  find(secret: string): TokenHolder | undefined {
    const hash = hashOf(secret);
    const token = this.#known.get(hash);
    if (token === undefined || !timingSafeEqual(token.hash, Buffer.from(hash, "hex"))) return undefined;
    return token.expiresAt !== null && token.expiresAt <= this.#parts.clock.now() ? undefined : token;
  }

  async list(): Promise<TokenView[]> {
    const stored = await this.#readStored();
    const fixed = this.#fixed.map(([, token]) => viewOf({ ...token, createdAt: null }));
    return [...fixed, ...stored.map(viewOf)];
  }

  /**
   * Creates a token and returns its secret, once. `TOKEN_EXISTS`; `ADMIN_TOKEN_MISSING` for a token that would end the
   * open local access while no admin token exists: nobody could manage tokens any more.
   */
  async create(
    token: {
      readonly name: string;
      readonly role: Role;
      readonly namespace?: string | undefined;
      readonly expiresAt?: number | undefined;
    },
    key?: string,
  ): Promise<string> {
    const { store, clock } = this.#parts;
    const { name, role, namespace = null, expiresAt = null } = token;
    if (expiresAt !== null && expiresAt <= clock.now()) {
      throw new HttpError("REQUEST_INVALID", "expiresAt is in the past: the token would never be let in");
    }
    if ((role !== "admin" || namespace !== null) && !this.#hasAdmin()) throw needsAdminFirst(name, role);
    const madeBy = key === undefined ? null : hashOf(key);
    const there = await store.findDocument(kind, name);
    const isRepeat =
      there !== undefined && madeBy !== null && (JSON.parse(there.body) as StoredToken).madeBy === madeBy;
    if (this.#isFixed(name) || (there !== undefined && !isRepeat)) throw nameTaken(name);
    const secret = newSecret();
    const now = clock.now();
    const body: StoredToken = { name, role, namespace, createdAt: now, expiresAt, sha256: hashOf(secret), madeBy };
    const revision = (there?.revision ?? 0) + 1;
    const isSaved = await store.saveDocument({ kind, name, revision, at: now, body: JSON.stringify(body) });
    if (!isSaved) throw nameTaken(name);
    await this.#load();
    return secret;
  }

  /** Deletes a token; false if it does not exist. `TOKEN_CONFIGURED`; `TOKEN_LAST` for the last token, or the last admin token, without `force`. */
  async delete(name: string, { force }: { readonly force: boolean }): Promise<boolean> {
    if (this.#isFixed(name)) {
      throw new HttpError(
        "TOKEN_CONFIGURED",
        `token ${preview(name)} is one of the configuration: take it out there and start the server again`,
      );
    }
    const { store } = this.#parts;
    const there = await store.findDocument(kind, name);
    if (there !== undefined && !force) this.#keepLast(JSON.parse(there.body) as StoredToken);
    const isDeleted = there !== undefined && (await store.deleteDocument(kind, name, there.revision));
    await this.#load();
    return isDeleted;
  }

  #keepLast({ name, role, namespace, sha256 }: StoredToken): void {
    if (this.#known.size <= 1) throw last(name);
    if (role === "admin" && namespace === null && !this.#hasAdmin(sha256)) throw lastAdmin(name);
  }

  /** True if another valid admin token exists. One that is bound to a namespace manages no tokens. */
  #hasAdmin(exceptSha256?: string): boolean {
    const now = this.#parts.clock.now();
    const isLetIn = ({ role, namespace, expiresAt }: KnownToken): boolean =>
      role === "admin" && namespace === undefined && (expiresAt === null || expiresAt > now);
    return [...this.#known].some(([sha256, token]) => sha256 !== exceptSha256 && isLetIn(token));
  }

  #isFixed(name: string): boolean {
    return this.#fixed.some(([, token]) => token.name === name);
  }

  async #load(): Promise<void> {
    const stored = await this.#readStored();
    this.#known = new Map([...stored.map((token) => [token.sha256, known(token)] as const), ...this.#fixed]);
  }

  async #readStored(): Promise<StoredToken[]> {
    const found: StoredToken[] = [];
    for (let after: string | undefined; ;) {
      const page = await this.#parts.store.listDocuments(kind, {
        limit: pageSize,
        ...(after !== undefined && { after }),
      });
      for (const { body } of page) found.push(JSON.parse(body) as StoredToken);
      after = page.at(-1)?.name;
      if (page.length < pageSize) return found;
    }
  }

  #poll(): void {
    this.#timer = this.#parts.clock.after(pollMs, () => void this.#refresh());
  }

  async #refresh(): Promise<void> {
    try {
      await this.#load();
    } catch (error) {
      this.#parts.logger.warn({ error: messageOf(error) }, "the tokens could not be read; the known ones stay valid");
    }
    if (!this.#isStopped) this.#poll();
  }
}

function known(
  token: Omit<GivenToken, "namespace"> & {
    readonly namespace?: string | null | undefined;
    readonly expiresAt: number | null;
  },
): KnownToken {
  const { name, role, namespace, sha256, expiresAt } = token;
  return { name, role, namespace: namespace ?? undefined, hash: Buffer.from(sha256, "hex"), expiresAt };
}

function viewOf(token: Omit<TokenView, "namespace"> & { readonly namespace?: string | null | undefined }): TokenView {
  const { name, role, namespace = null, createdAt, expiresAt } = token;
  return { name, role, namespace, createdAt, expiresAt };
}

function last(name: string): HttpError {
  return new HttpError(
    "TOKEN_LAST",
    `token ${preview(name)} is the last one: without any, everybody who reaches the server on this machine is an admin, and on other hosts nobody is let in; make another one first, or delete it with force`,
  );
}

function lastAdmin(name: string): HttpError {
  return new HttpError(
    "TOKEN_LAST",
    `token ${preview(name)} is the last one of an admin: without it nobody could make or delete tokens; make another admin's first, or delete it with force`,
  );
}

function needsAdminFirst(name: string, role: Role): HttpError {
  return new HttpError(
    "ADMIN_TOKEN_MISSING",
    `token ${preview(name)} with the role ${role} would lock everybody out: with the first token this machine is no longer let in without one, and no token of an admin is there; make an admin's first ("heddle token create <name> --role admin"), or start the server with HEDDLE_TOKEN set to a secret of your own`,
  );
}

function nameTaken(name: string): HttpError {
  return new HttpError(
    "TOKEN_EXISTS",
    `there is a token ${preview(name)} already: delete it first, or take another name`,
  );
}
