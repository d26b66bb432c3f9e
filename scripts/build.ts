/**
 * `npm run build`: compiles src/ into dist/, with types and source maps, puts the SQL files and the page beside the code
 * that reads them, and builds the console into dist/ui.
 */
import { cpSync, globSync, rmSync } from "node:fs";
import { join } from "node:path";
import { root, run } from "./run.ts";

const out = join(root, "dist");
rmSync(out, { recursive: true, force: true });

if (run("tsc", ["-p", "tsconfig.build.json"])) {
  const src = join(root, "src");
  for (const file of globSync(["**/*.sql", "server/page/*.{html,css,js}"], { cwd: src })) {
    cpSync(join(src, file), join(out, file));
  }
  if (!run(process.execPath, ["scripts/build-console.ts"])) process.exitCode = 1;
} else {
  process.exitCode = 1;
}
