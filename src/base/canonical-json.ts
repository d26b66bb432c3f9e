const word = /^\w+$/;

const nothing: ReadonlySet<string> = new Set();

/**
 * Canonical JSON: the keys of every object are sorted, and some top-level keys are left out. The value is plain data, as
 * `JSON.parse` returns it. Optimized, because a definition may have a hundred thousand nodes.
 */
export function canonicalJson(value: unknown, leaveOut: ReadonlySet<string> = nothing): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item)).join(",")}]`;
  const object = value as Readonly<Record<string, unknown>>;
  let text = "{";
  for (const key of Object.keys(object).sort()) {
    const field = object[key];
    if (field === undefined || leaveOut.has(key)) continue;
    if (text.length > 1) text += ",";
    text += `${quoted(key)}:${typeof field === "number" ? numberText(field) : canonicalJson(field)}`;
  }
  return `${text}}`;
}

/** Matches keys that need no escaping, as most do. */
function quoted(key: string): string {
  return word.test(key) ? `"${key}"` : JSON.stringify(key);
}

function numberText(value: number): string {
  return Number.isFinite(value) ? String(value) : "null";
}
