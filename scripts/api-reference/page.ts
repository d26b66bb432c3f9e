import type { Declaration, Member } from "./declarations.ts";

export interface Door {
  /** As users import it: `heddle/dag`. */
  readonly name: string;
  /** The name of its page: `dag.md`. */
  readonly page: string;
  readonly doc: string;
  readonly declarations: readonly Declaration[];
}

/** Topics of the pages, in their order, by the folder of the source. */
const topics: readonly (readonly [title: string, folders: readonly string[]])[] = [
  ["The engine", ["engine"]],
  ["Jobs and workflows", ["authoring", "code"]],
  ["Instances, tasks and waits", ["views", "dispatch", "runtime", "worker"]],
  ["Times of schedules", ["schedules"]],
  ["Definitions, events and statuses", ["kernel"]],
  ["Clusters", ["cluster", "member"]],
  ["Stores", ["stores"]],
  ["Errors, logs and clocks", ["base", "testing"]],
];

const byName = (a: Declaration, b: Declaration): number =>
  Number(a.kind === "type") - Number(b.kind === "type") || a.name.localeCompare(b.name, "en");

/** Where a name is described, from the page of a door. Undefined for names that no door has. */
type LinkTo = (name: string) => string | undefined;

/** One door as a page of Markdown, with links to the names of all doors. */
export function pageOf(door: Door, doors: readonly Door[]): string {
  const linkTo: LinkTo = (name) => {
    const owner = [door, ...doors].find(({ declarations }) => declarations.some((each) => each.name === name));
    if (owner === undefined) return undefined;
    return `[${name}](${owner === door ? "" : owner.page}#${anchorOf(headingOf(name, owner))})`;
  };
  const sections = sectionsOf(door);
  const parts = [
    `# ${door.name}`,
    written,
    door.doc,
    ...sections.map(({ title, declarations }) => {
      return `**${title}:** ${declarations.map(({ name }) => linkTo(name)).join(", ")}`;
    }),
    ...sections.flatMap(({ title, declarations }) => [
      `## ${title}`,
      ...declarations.flatMap((each) => [`### ${headingOf(each.name, door)}`, ...partsOf(each, linkTo)]),
    ]),
  ];
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`;
}

/** A type that differs from a function in upper and lower case alone says so: headings with one anchor cannot both be linked to. */
function headingOf(name: string, { declarations }: Door): string {
  const others = declarations.filter((each) => each.name !== name && each.kind !== "type");
  return others.some((each) => each.name.toLowerCase() === name.toLowerCase()) && /^[A-Z]/.test(name)
    ? `${name} (type)`
    : name;
}

function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^a-z0-9 ]/g, "")
    .replaceAll(" ", "-");
}

/** The list of the pages. */
export function indexOf(doors: readonly Door[]): string {
  const rows = doors.map((door) => `| [\`${door.name}\`](${door.page}) | ${purposeOf(door)} |`);
  return [
    "# API reference",
    written,
    "[The guide](../guide.md) explains these names in context, with examples; here each is listed with its type and its comment.",
    ["| import from | what it has |", "|---|---|", ...rows].join("\n"),
    "",
  ]
    .join("\n\n")
    .trimEnd()
    .concat("\n");
}

const written = "Written by `node scripts/api-reference.ts` from the comments and types of the sources.";

/** The first sentence of what describes a door, or its only function. */
function purposeOf(door: Door): string {
  const first = door.declarations.find(({ kind }) => kind !== "type");
  const text = door.doc === "" ? (first?.doc ?? "") : door.doc;
  return (/^.*?(?::(?=\n)|[.](?=\s|$))/s.exec(text)?.[0] ?? text).replaceAll(/\s+/g, " ").replace(/:$/, ".");
}

interface Section {
  readonly title: string;
  readonly declarations: readonly Declaration[];
}

/** A door with few names has two sections; others have topics. */
function sectionsOf({ declarations }: Door): Section[] {
  const sorted = declarations.toSorted(byName);
  const all: Section[] =
    sorted.length > 40
      ? topics.map(([title, folders]) => ({
          title,
          declarations: sorted.filter(({ file }) => folders.includes(folderOf(file))),
        }))
      : [
          { title: "Functions and classes", declarations: sorted.filter(({ kind }) => kind !== "type") },
          { title: "Types", declarations: sorted.filter(({ kind }) => kind === "type") },
        ];
  const lost = sorted.find((each) => !all.some((section) => section.declarations.includes(each)));
  if (lost !== undefined)
    throw new Error(`${lost.file} belongs to no topic: add its folder in ${import.meta.filename}`);
  return all.filter((section) => section.declarations.length > 0);
}

function folderOf(file: string): string {
  return file.split("/")[1] ?? "";
}

function partsOf(declaration: Declaration, linkTo: LinkTo): string[] {
  const { doc, file, signatures, members } = declaration;
  const related = mentionsOf(declaration).flatMap((each) => linkTo(each) ?? []);
  // Not a link: the package has the pages, and not the sources.
  const source = `\`${file}\``;
  return [
    ["```typescript", ...signatures, "```"].join("\n"),
    doc,
    members.map(lineOf).join("\n"),
    related.length === 0 ? source : `${source}; see ${related.join(", ")}`,
  ];
}

/** A member as an item of a list; its comment follows on the same line, examples below. */
function lineOf({ signature, doc }: Member): string {
  const code = signature.includes("`") ? `\`\` ${signature} \`\`` : `\`${signature}\``;
  return doc === "" ? `- ${code}` : `- ${code}\\\n  ${doc.replaceAll("\n", "\n  ")}`;
}

function mentionsOf({ name, signatures, members }: Declaration): string[] {
  const text = [...signatures, ...members.map(({ signature }) => signature)].join("\n");
  const words = [...new Set(text.match(/\b[A-Z]\w+/g))].filter((each) => each !== name);
  return words.toSorted((a, b) => a.localeCompare(b, "en"));
}
