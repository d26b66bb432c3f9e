import { basename } from "node:path/posix";
import { finding, nodes } from "./source.ts";
import type { Finding, Source } from "./source.ts";

/** Words that only we would use, each with the field's. */
const banned: Readonly<Record<string, string>> = {
  caretaker: "maintenance",
  chance: "random",
  courier: "router",
  disown: "release or detach",
  entrance: "starter",
  holdings: "hosted attempts",
  letter: "message",
  letters: "messages",
  mailroom: "inbound messages",
  onlooker: "listener",
  parked: "quarantined, unassigned or suspended",
  parking: "quarantine",
  patiently: "with retries, or retry while …",
  pen: "fencing token",
  pens: "fencing tokens",
  resident: "loaded, or in memory",
  residents: "instance table",
  vouch: "renew (a lease)",
  vouched: "renewed (of a lease)",
};

/** The terms that are Heddle's own. Each has an entry in docs/glossary.md, and no other word has. */
export const ownTerms: readonly string[] = [
  "admission",
  "arrival",
  "attempt",
  "attention",
  "call",
  "cautious start",
  "change feed",
  "command",
  "complete",
  "delegated attempt",
  "document",
  "domain",
  "effect",
  "epoch",
  "gate",
  "generation",
  "graph",
  "hint",
  "host",
  "hosted attempt",
  "interruption",
  "key",
  "lane",
  "line",
  "member",
  "node",
  "passed",
  "reaction",
  "region",
  "release",
  "shard",
  "step",
  "sub-task",
  "suspect",
  "timetable",
  "trim",
  "turn",
];

/** `isLastTry` → is, last, try. */
function wordsOf(name: string): string[] {
  return name.split(/(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+/).map((word) => word.toLowerCase());
}

export function vocabulary(source: Source): Finding[] {
  if (!source.path.startsWith("src/")) return [];
  const findings = wrongWords(basename(source.path)).map((what) => ({ path: source.path, line: 0, what }));
  // Walking all nodes takes long, and hardly a file has such a word in it at all.
  if (!anyBanned.test(source.text)) return findings;
  const said = new Set<string>();
  for (const { node } of nodes(source)) {
    if ((node.type !== "Identifier" && node.type !== "PrivateIdentifier") || said.has(node.name)) continue;
    said.add(node.name);
    for (const what of wrongWords(node.name)) findings.push(finding(source, node.start, what));
  }
  return findings;
}

const anyBanned = new RegExp(Object.keys(banned).join("|"), "i");

function wrongWords(name: string): string[] {
  return wordsOf(name)
    .filter((word) => Object.hasOwn(banned, word))
    .map((word) => `${name}: the field's word for ${word} is ${banned[word]}`);
}

/** The glossary has an entry for each own term, in order, and none for other words; each term occurs in the code. */
export function glossary(text: string, sources: readonly Source[], terms: readonly string[] = ownTerms): Finding[] {
  const entries = Array.from(
    text.matchAll(/^\| (?!word \|)([a-z][a-z -]*) \| .+ \| .+ \|$/gm),
    ([, word = ""]) => word,
  );
  const code = sources.filter(({ path }) => path.startsWith("src/")).map((source) => source.text.toLowerCase());
  const findings = [
    ...terms.filter((term) => !entries.includes(term)).map((term) => `has no entry for ${term}`),
    ...entries.filter((entry) => !terms.includes(entry)).map((entry) => `${entry} is none of our own terms`),
    ...entries.filter((entry, place) => entry < (entries[place - 1] ?? "")).map((entry) => `${entry} is out of order`),
    ...terms
      .filter((term) => !term.split(/[ -]/).every((word) => code.some((each) => each.includes(word))))
      .map((term) => `${term} does not occur in the code`),
  ];
  return findings.map((what) => ({ path: "docs/glossary.md", line: 0, what }));
}
