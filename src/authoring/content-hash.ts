import { createHash } from "node:crypto";

/** The number of hex digits of SHA-256 that are kept: 128 bits, so that collisions do not occur. */
const hashLength = 32;

export function textHash(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, hashLength);
}
