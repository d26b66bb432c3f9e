import { createHash, randomBytes } from "node:crypto";

/** A token is told once, to whoever made it. */
export function newSecret(): string {
  return `hdl_${randomBytes(32).toString("base64url")}`;
}

/** Tokens are long and random, so a fast hash tells nothing about them. Hexadecimal. */
export function hashOf(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}
