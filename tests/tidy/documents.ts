import { mayImport } from "./import-direction.ts";
import type { Finding } from "./source.ts";

const architecture = "ARCHITECTURE.md";
const row = /^\| `src\/([\w-]+)\/` \| (.*) \| ([^|]*) \|$/gm;

/** ARCHITECTURE.md with the last column of its table of folders written from `mayImport`. `node scripts/import-table.ts` saves it. */
export function withImportTable(text: string, table: Readonly<Record<string, readonly string[]>> = mayImport): string {
  return text.replaceAll(row, (line, folder: string, what: string) => {
    const below = table[folder];
    return below === undefined ? line : `| \`src/${folder}/\` | ${what} | ${inWords(below)} |`;
  });
}

function inWords(folders: readonly string[]): string {
  return folders.length === 0
    ? "nothing"
    : folders.map((each) => (each === "stores" ? "stores' interface" : each)).join(", ");
}

/** The table has a row for each folder, the rows stand in the order of imports, and their last column is what is tested. */
export function importTable(text: string, table: Readonly<Record<string, readonly string[]>> = mayImport): Finding[] {
  const rows = Array.from(text.matchAll(row), ([, folder = ""]) => folder);
  const findings: string[] = [];
  for (const [folder, below] of Object.entries(table)) {
    const place = rows.indexOf(folder);
    if (place === -1) findings.push(`src/${folder}/ is not in the table of folders`);
    for (const each of below) {
      const other = rows.indexOf(each);
      if (other !== -1 && other < place)
        findings.push(`src/${folder}/ imports from src/${each}/, which stands above it`);
    }
  }
  for (const folder of rows) if (!(folder in table)) findings.push(`src/${folder}/ is in the table, but is no folder`);
  if (withImportTable(text, table) !== text)
    findings.push("its table is not what is tested: node scripts/import-table.ts");
  return findings.map((what) => ({ path: architecture, line: 0, what }));
}

/** CONTRIBUTING.md says of every folder of src/ what is in it, and the files and folders that it names are there. */
export function contributing(text: string, folders: readonly string[], files: ReadonlySet<string>): Finding[] {
  const findings = folders
    .filter((folder) => !text.includes(`\`src/${folder}/\``))
    .map((folder) => `does not say what is in src/${folder}/`);
  for (const [, path = ""] of text.matchAll(/`((?:src|tests|docs|scripts|bench|examples)\/[\w./-]+)`/g)) {
    const isThere = path.endsWith("/") ? [...files].some((file) => file.startsWith(path)) : files.has(path);
    if (!isThere) findings.push(`names ${path}, which is not there`);
  }
  return findings.map((what) => ({ path: "CONTRIBUTING.md", line: 0, what }));
}
