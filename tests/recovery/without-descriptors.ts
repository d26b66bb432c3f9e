import { spawnSync } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { thisMachine } from "../../src/cluster/process-stamp.ts";

/** Run by src/cluster/process-stamp.test.ts under a low limit of file descriptors: uses up all of them, then judges two processes. */
const [, , living = ""] = process.argv;
const { hasDied } = thisMachine();
const [boot, space] = living.split("/");
const ended = `${boot}/${space}/${spawnSync("true").pid}/1`;
const open: number[] = [];
let code: unknown;
while (code === undefined) {
  try {
    open.push(openSync("/dev/null", "r"));
  } catch (error) {
    code = (error as NodeJS.ErrnoException).code;
  }
}
const judged = { code, living: hasDied(living), ended: hasDied(ended) };
for (const descriptor of open) closeSync(descriptor);
process.stdout.write(JSON.stringify(judged));
