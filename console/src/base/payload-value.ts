/** The payload of an event: JSON text as it is stored, or a reference to a large value. */
export function payloadValue(payload: unknown): unknown {
  if (typeof payload !== "string") return payload;
  try {
    return JSON.parse(payload) as unknown;
  } catch {
    // A text that is not JSON is shown as it is.
    return payload;
  }
}
