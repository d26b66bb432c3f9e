const lengthMax = 100;

/** A value as messages show it: enough to recognise it, and never a page of it. */
export function preview(value: unknown): string {
  if (typeof value === "string")
    return JSON.stringify(value.length > lengthMax ? `${value.slice(0, lengthMax)}…` : value);
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "function") return "a function";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object" && value !== null) return "an object";
  return String(value);
}
