/**
 * Maximum depth of a JSON value. Sensible values are not nested deeper, and recursive code overflows the stack a few
 * thousand levels down.
 */
export const depthMax = 1000;

const quote = 0x22;
const backslash = 0x5c;
const opening = new Set([0x5b, 0x7b]);
const closing = new Set([0x5d, 0x7d]);

/** Takes JSON text, whether or not it is sound otherwise. */
export function isTooDeep(text: string): boolean {
  // Each level has two brackets.
  if (text.length <= 2 * depthMax) return false;
  let depth = 0;
  let isInText = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (isInText) {
      if (code === backslash) at++;
      else if (code === quote) isInText = false;
    } else if (code === quote) isInText = true;
    else if (opening.has(code) && ++depth > depthMax) return true;
    else if (closing.has(code)) depth--;
  }
  return false;
}
