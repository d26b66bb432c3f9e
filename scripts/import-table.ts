/** `node scripts/import-table.ts`: writes who may import whom into ARCHITECTURE.md, from the table that tests/tidy.test.ts holds. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { withImportTable } from "../tests/tidy/documents.ts";
import { root } from "./run.ts";

const file = join(root, "ARCHITECTURE.md");
writeFileSync(file, withImportTable(readFileSync(file, "utf8")));
