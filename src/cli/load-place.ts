import { fileURLToPath } from "node:url";

const ownFolder = fileURLToPath(new URL("..", import.meta.url));

/** Finds the file and line in the user's module that made it fail to load, from the error's stack. */
export function loadPlace({ stack = "" }: Error): string | undefined {
  // Node's own modules are `node:internal/…`, so only paths at the beginning of a word count. A syntax error has its place before the message; for a thrown error it is the innermost frame in the user's own code.
  for (const [, place = "", line = ""] of stack.matchAll(
    /(?<=^|[\s(])((?:file:\/\/)?\/[^\s():]+):(\d+)(?::\d+)?\)?$/gm,
  )) {
    const file = place.startsWith("file:") ? fileURLToPath(place) : place;
    if (!file.startsWith(ownFolder) && !file.includes("/node_modules/")) return `${file}:${line}`;
  }
  return undefined;
}
