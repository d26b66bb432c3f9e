import { createHash, randomBytes } from "node:crypto";

/** Creates the secret of a token, which is shown once. */
export function newSecret(): string {
  return `hdl_${randomBytes(32).toString("base64url")}`;
}

/** The SHA-256 of a secret, in hexadecimal; a fast hash is safe for long random secrets. */
export function hashOf(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}
