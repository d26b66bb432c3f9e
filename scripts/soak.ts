/**
 * `npm run soak`: several members, each a process of its own, on a real database server, with faults; see tests/soak/.
 *
 * - `--storage postgresql` or `--storage mysql`: on which server. One of its own is started.
 * - `--minutes 5`, `--members 3`: for how long, and how many.
 * - `--seed 123`: the same work and the same draws of what goes wrong; where exactly it hits is the machine's chance.
 * - `--mutation name`: with a bug of the simulator's put in on purpose. `--calm`: without faults.
 * - `--keep`: what members and database said is kept, as it is when anything is wrong.
 *
 * Ends with 1 if anything is wrong.
 */
import { randomInt } from "node:crypto";
import { readFlags } from "./command-line.ts";
import type { ServerKind } from "../tests/databases/databases.ts";
import { soak } from "../tests/soak/soak.ts";

const values = readFlags(import.meta.url, {
  storage: { type: "string", default: "postgresql" },
  minutes: { type: "string", default: "5" },
  members: { type: "string", default: "3" },
  seed: { type: "string" },
  mutation: { type: "string" },
  calm: { type: "boolean", default: false },
  keep: { type: "boolean", default: false },
});

const kinds: Readonly<Record<string, ServerKind>> = { postgresql: "postgres", mysql: "mysql" };
const kind = kinds[values.storage];
if (kind === undefined) throw new Error(`--storage is postgresql or mysql, not ${values.storage}`);

const { violations } = await soak({
  kind,
  minutes: Number(values.minutes),
  memberCount: Number(values.members),
  seed: Number(values.seed ?? randomInt(2 ** 31)),
  mutation: values.mutation,
  isCalm: values.calm,
  isKept: values.keep,
  say: (line) => console.log(line),
});
if (violations.length > 0) process.exitCode = 1;
