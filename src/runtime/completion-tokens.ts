import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { assert } from "../base/assert.ts";
import type { Clock } from "../base/clock.ts";
import { EngineError } from "../base/error.ts";
import { parseStored } from "../base/stored-json.ts";
import { completionDocument } from "../stores/document-kinds.ts";
import type { Store } from "../stores/store.ts";

/** The attempt that a token stands for. The time of creation tells instances apart that had the same id. */
export interface CompletionTarget {
  readonly id: string;
  readonly createdAt: number;
  readonly generation: number;
  readonly task: number;
  readonly attempt: number;
}

const prefix = "hct_";
const documentName = "secret";
const secretBytes = 32;
const macBytes = 24;
/** Longer than the token of any instance: ids of nested instances grow with the names of the tasks above. */
const tokenLengthMax = 100_000;

/**
 * Makes and reads the tokens by which tasks are completed from outside. A token names its attempt and proves, by a secret
 * that all members read from the store, that an owner of the instance has made it; so a wrong one is refused before
 * anything is looked up, and an attempt that runs again has the same token. See decision 0036.
 */
export class CompletionTokens {
  #secret: Buffer | undefined;

  /** Reads the secret of the store; the first engine on a store makes it. */
  async load(store: Pick<Store, "findDocument" | "saveDocument">, clock: Clock): Promise<void> {
    while (this.#secret === undefined) {
      const stored = await store.findDocument(completionDocument, documentName);
      if (stored !== undefined) this.#secret = secretIn(stored.body);
      else {
        const body = JSON.stringify({ secret: randomBytes(secretBytes).toString("base64url") });
        // False if another member was faster: its secret is read.
        await store.saveDocument({
          kind: completionDocument,
          name: documentName,
          revision: 1,
          at: clock.now(),
          body,
        });
      }
    }
  }

  issue({ id, createdAt, generation, task, attempt }: CompletionTarget): string {
    const target = Buffer.from(JSON.stringify([id, createdAt, generation, task, attempt])).toString("base64url");
    return `${prefix}${target}.${this.#macOf(target).toString("base64url")}`;
  }

  /** `COMPLETION_TOKEN_INVALID`. */
  open(token: unknown): CompletionTarget {
    if (typeof token !== "string" || !token.startsWith(prefix) || token.length > tokenLengthMax) {
      throw invalid(`a token begins with ${prefix}; a job gets it from ctx.completeLater()`);
    }
    const [target = "", mac = ""] = token.slice(prefix.length).split(".");
    const given = Buffer.from(mac, "base64url");
    if (given.length !== macBytes || !timingSafeEqual(given, this.#macOf(target))) {
      throw invalid("the token was not made by an engine of this store, or a part of it is missing");
    }
    const fields = JSON.parse(Buffer.from(target, "base64url").toString()) as [string, number, number, number, number];
    const [id, createdAt, generation, task, attempt] = fields;
    return { id, createdAt, generation, task, attempt };
  }

  #macOf(target: string): Buffer {
    assert(this.#secret !== undefined, "the secret of tokens is read before any task runs");
    return createHmac("sha256", this.#secret).update(target).digest().subarray(0, macBytes);
  }
}

function secretIn(body: string): Buffer {
  const { secret } = parseStored(body, "the secret of completion tokens") as { readonly secret: string };
  return Buffer.from(secret, "base64url");
}

function invalid(problem: string): EngineError {
  return new EngineError("COMPLETION_TOKEN_INVALID", problem);
}
