import { posix } from "node:path";
import { importsOf } from "./imports.ts";
import { finding, isTest } from "./source.ts";
import type { Finding, Source } from "./source.ts";

/**
 * The architecture: each folder of src/, and the folders it may see. Arrows point down, never up or across.
 * The doors (src/*.ts) may see everything and nobody sees a door.
 */
export const mayImport: Readonly<Record<string, readonly string[]>> = {
  base: [],
  kernel: ["base"],
  attempts: ["base"],
  stores: ["base", "kernel"],
  powerjob: ["base", "kernel"],
  expressions: ["base"],
  cluster: ["base", "stores"],
  authoring: ["base", "kernel"],
  dispatch: ["base", "kernel", "cluster", "authoring"],
  processes: ["base"],
  worker: ["base", "kernel", "cluster", "authoring", "dispatch", "processes"],
  code: ["base", "kernel", "authoring"],
  views: ["base", "kernel", "dispatch"],
  schedules: ["base", "kernel", "authoring"],
  durabletask: ["base", "kernel", "authoring"],
  runtime: ["base", "kernel", "expressions", "stores", "cluster", "authoring", "dispatch", "code", "views"],
  member: ["base", "kernel", "attempts", "stores", "cluster", "dispatch", "runtime"],
  engine: [
    "base",
    "kernel",
    "expressions",
    "stores",
    "cluster",
    "authoring",
    "dispatch",
    "worker",
    "code",
    "runtime",
    "member",
    "schedules",
    "views",
  ],
  transfer: ["base", "kernel", "stores", "runtime"],
  testing: ["base", "authoring"],
  api: ["base"],
  catalogue: ["base", "kernel", "stores", "authoring", "engine", "schedules"],
  telemetry: ["base", "kernel", "stores", "cluster", "engine", "views"],
  server: [
    "api",
    "base",
    "kernel",
    "stores",
    "cluster",
    "authoring",
    "dispatch",
    "engine",
    "schedules",
    "catalogue",
    "telemetry",
    "views",
    "durabletask",
  ],
  client: ["api", "base"],
  jobs: ["base", "authoring", "client", "processes"],
  "remote-worker": ["base", "authoring", "dispatch", "worker", "code", "engine", "client"],
  cli: [
    "api",
    "base",
    "authoring",
    "engine",
    "worker",
    "dispatch",
    "server",
    "client",
    "remote-worker",
    "jobs",
    "telemetry",
    "transfer",
    "schedules",
    "catalogue",
    "powerjob",
  ],
};

/** All that other folders see of the stores; only doors name a concrete one. */
const storeInterface = [
  "src/stores/store.ts",
  "src/stores/turn-text.ts",
  "src/stores/document-kinds.ts",
  "src/stores/wrap-store.ts",
  "src/stores/instance-key.ts",
  "src/stores/message-number.ts",
  "src/stores/rollback-detector.ts",
  "src/stores/row-counts.ts",
  "src/stores/mailbox.ts",
  "src/stores/notifier.ts",
  // A store that a thread opens for itself.
  "src/stores/lease-connection.ts",
  "src/stores/importer.ts",
];

/** Folders within a folder whose contents never see each other: the kernel's front ends, the stores' adapters. */
const siblings = ["kernel", "stores"];

/** Folders within such a folder that their siblings may see, and which see none of them. */
const shared = ["stores/sql"];

/** These must be able to run anywhere, so they see no package and nothing of Node's. */
const bare = ["base", "kernel"];

/** Packages that belong to one part: whoever embeds the engine loads none of the others'. */
const homes: Readonly<Record<string, readonly string[]>> = {
  pg: ["src/stores/postgres/", "src/jobs/"],
  mysql2: ["src/stores/mysql/", "src/jobs/"],
  "@nats-io/transport-node": ["src/cluster/nats/"],
  zod: ["src/api/", "src/server/", "src/jobs/"],
  "@grpc/grpc-js": ["src/server/durabletask/"],
  fastify: ["src/server/"],
  "@fastify/cors": ["src/server/"],
  "@fastify/websocket": ["src/server/"],
  pino: ["src/cli/"],
  commander: ["src/cli/"],
  "prom-client": ["src/telemetry/"],
  "@opentelemetry/api": ["src/telemetry/"],
  "@opentelemetry/sdk-trace-node": ["src/telemetry/otlp.ts"],
  "@opentelemetry/exporter-trace-otlp-http": ["src/telemetry/otlp.ts"],
};

export interface PackageNames {
  /** Those a user gets together with Heddle. */
  readonly dependencies: readonly string[];
}

export function importDirection(source: Source, packages: PackageNames): Finding[] {
  if (!source.path.startsWith("src/")) return [];
  const findings: Finding[] = [];
  for (const { specifier, offset } of importsOf(source)) {
    const wrong = specifier.startsWith(".")
      ? wrongFile(source.path, posix.join(posix.dirname(source.path), specifier))
      : wrongPackage(source.path, specifier, packages);
    if (wrong !== undefined) findings.push(finding(source, offset, `imports ${specifier}: ${wrong}`));
  }
  return findings;
}

function wrongFile(from: string, to: string): string | undefined {
  if (!to.startsWith("src/")) return "it is outside src";
  // A test may see any part, but the tests beside the sources need nothing of tests/.
  if (isTest(from)) return to.endsWith(".test.ts") ? "it is a test: what tests share is in a *.rig.ts" : undefined;
  if (isTest(to)) return "it is a test";
  const above = folderOf(from);
  const below = folderOf(to);
  if (above === undefined) return undefined;
  if (below === undefined) return "it is a door, made for users";
  const allowed = mayImport[above];
  if (allowed === undefined) return `${above}/ has no line in the table of tests/tidy/import-direction.ts`;
  if (above === below) return wrongSibling(above, from, to);
  if (!allowed.includes(below)) return `${above}/ may not see ${below}/`;
  if (below === "stores" && !storeInterface.includes(to)) return "of stores/, only the interface is seen from outside";
  return undefined;
}

function wrongSibling(folder: string, from: string, to: string): string | undefined {
  if (!siblings.includes(folder)) return undefined;
  const [, , one, inOne] = from.split("/");
  const [, , other, inOther] = to.split("/");
  const bothInside = inOne !== undefined && inOther !== undefined;
  if (shared.includes(`${folder}/${other}`)) return undefined;
  return bothInside && one !== other ? `${folder}/${one}/ and ${folder}/${other}/ do not know each other` : undefined;
}

function wrongPackage(from: string, specifier: string, packages: PackageNames): string | undefined {
  if (isTest(from)) return undefined;
  const folder = folderOf(from);
  if (folder !== undefined && bare.includes(folder)) return `${folder}/ sees no package and nothing of Node's`;
  if (specifier.startsWith("node:")) return undefined;
  const name = specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
  const home = homes[name];
  if (home?.some((path) => from.startsWith(path))) return undefined;
  if (home !== undefined) return `only ${home.join(" and ")} sees it`;
  return packages.dependencies.includes(name) ? undefined : "it is not among the dependencies of package.json";
}

/** `src/kernel/dag/graph.ts` → `kernel`; nothing for a door. */
function folderOf(path: string): string | undefined {
  const parts = path.split("/");
  return parts.length > 2 ? parts[1] : undefined;
}
