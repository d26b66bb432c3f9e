import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

/** Media types of the files that the console's build makes, by extension. */
const mediaTypes: Readonly<Record<string, string>> = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** A file of the built console, compressed when it is first asked for. */
export class ConsoleFile {
  readonly type: string;
  readonly bytes: Buffer;
  #gzipped: Buffer | undefined;

  constructor(type: string, bytes: Buffer) {
    this.type = type;
    this.bytes = bytes;
  }

  get gzipped(): Buffer {
    this.#gzipped ??= gzipSync(this.bytes, { level: 9 });
    return this.#gzipped;
  }
}

/** The console as it was built. Its files are read at once, so that a later build does not mix with this one. */
export class ConsoleFiles {
  readonly document: string;
  /** By path below the folder; no other path is ever read. */
  readonly #files = new Map<string, ConsoleFile>();

  constructor(folder: string) {
    this.document = readFileSync(join(folder, "index.html"), "utf8");
    for (const path of globSync("assets/*", { cwd: folder })) {
      const type = mediaTypes[/\.\w+$/.exec(path)?.[0] ?? ""];
      if (type !== undefined) this.#files.set(path, new ConsoleFile(type, readFileSync(join(folder, path))));
    }
  }

  find(path: string): ConsoleFile | undefined {
    return this.#files.get(path);
  }
}

/** The folder of the built console: beside the built server, or in `dist` of a clone whose sources run. Undefined if it is not built. */
export function findConsoleFolder(): string | undefined {
  return ["../../ui/", "../../../dist/ui/"]
    .map((path) => fileURLToPath(new URL(path, import.meta.url)))
    .find((folder) => existsSync(join(folder, "index.html")));
}
