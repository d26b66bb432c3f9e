import { fileURLToPath } from "node:url";

const ownFolder = fileURLToPath(new URL("..", import.meta.url));

/** Where a module of the user's is wrong, out of what Node says of it, with its line. */
export function loadPlace({ stack = "" }: Error): string | undefined {
  // Node's own modules are `node:internal/…`, so a path begins a word. The place of a syntax error stands before it; of what was thrown, the innermost call in the user's own code.
  for (const [, place = "", line = ""] of stack.matchAll(
    /(?<=^|[\s(])((?:file:\/\/)?\/[^\s():]+):(\d+)(?::\d+)?\)?$/gm,
  )) {
    const file = place.startsWith("file:") ? fileURLToPath(place) : place;
    if (!file.startsWith(ownFolder) && !file.includes("/node_modules/")) return `${file}:${line}`;
  }
  return undefined;
}
