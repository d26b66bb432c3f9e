/**
 * Allows the server's own files only, no frames and no referrer. A nonce also allows style elements that carry it; scripts
 * are never inline.
 */
export function contentSecurityPolicy({ styleNonce }: { readonly styleNonce?: string } = {}): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self'${styleNonce === undefined ? "" : ` 'nonce-${styleNonce}'`}`,
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

/** Headers of every response. */
export const securityHeaders: Readonly<Record<string, string>> = {
  "cache-control": "no-store",
  "content-security-policy": contentSecurityPolicy(),
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
};

/** Additional headers if the server uses TLS itself. */
export const tlsHeaders: Readonly<Record<string, string>> = {
  "strict-transport-security": "max-age=31536000",
};
