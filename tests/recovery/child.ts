/**
 * The process that is killed: `node child.ts <database> <log> <life> <seed> <instances> <submitEveryMs>`. Says "up" when
 * its engine is, and ends by itself when every instance has.
 */
import { sqlite } from "../../src/sqlite.ts";
import { live } from "./live.ts";
import { workload } from "./workload.ts";

const [file = "", logFile = "", ...numbers] = process.argv.slice(2);
const [life = 0, seed = 0, instances = 0, submitEveryMs = 0] = numbers.map(Number);
await live({
  storage: sqlite(file),
  logFile,
  life,
  scenarios: workload(seed, instances),
  submitEveryMs,
  poolSize: 20,
  onUp: () => void process.stdout.write("up\n"),
});
