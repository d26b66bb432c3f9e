/** `node scripts/api-reference.ts`: writes docs/api/ from the comments and types of the public doors. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { apiReference } from "./api-reference/api-reference.ts";
import { root } from "./run.ts";

const folder = join(root, "docs/api");
const pages = await apiReference();
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
for (const [name, text] of pages) writeFileSync(join(folder, name), text);
