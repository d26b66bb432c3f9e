/** A new UUID of version 7, so that ids sort by the time they were made. It works in browsers too, which `SystemRandom` does not. */
export function uuid(nowMs: number): string {
  const time = nowMs.toString(16).padStart(12, "0");
  // Version 4 has 122 random bits; the time takes the place of the first 48 of them.
  return `${time.slice(0, 8)}-${time.slice(8)}-7${crypto.randomUUID().slice(15)}`;
}
