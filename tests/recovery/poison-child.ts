/**
 * `node poison-child.ts <database> <log> <life> <scene>`: plays a scene of poison-scenes.ts on an engine with the usual
 * limit of interruptions, and ends by itself when every instance of the scene has. SIGTERM stops it in good order.
 */
import { Engine, hasCode } from "../../src/index.ts";
import { sqlite } from "../../src/sqlite.ts";
import { poisonJobs } from "./poison-jobs.ts";
import { scenes } from "./poison-scenes.ts";
import type { Scene } from "./poison-scenes.ts";
import { SideEffectLog } from "./side-effects.ts";

const [file = "", logFile = "", life = "", scene = ""] = process.argv.slice(2);
const log = new SideEffectLog(logFile, Number(life));
log.write("born", "process");
const engine = new Engine({ storage: sqlite(file), jobs: poisonJobs(log) });
await engine.start();
log.write("up", "process");
process.on("SIGTERM", () => void engine.stop());
process.stdout.write("up\n");
for (const { id, workflow } of scenes[scene as Scene]) {
  try {
    await engine.submitWorkflow(workflow, { instanceId: id });
    log.write("accepted", id);
  } catch (error) {
    // An earlier life has submitted it.
    if (!hasCode(error, "INSTANCE_EXISTS")) throw error;
  }
}
process.stdout.write("submitted\n");
try {
  await Promise.all(scenes[scene as Scene].map(async ({ id }) => await ended(id)));
  await engine.stop();
} catch (error) {
  // SIGTERM came first: the instances go on in the next life.
  if (!hasCode(error, "ENGINE_STATE")) throw error;
}

async function ended(id: string): Promise<void> {
  try {
    await engine.awaitWorkflowInstance(id);
  } catch (error) {
    if (!hasCode(error, "WORKFLOW_FAILED")) throw error;
  }
  log.write("finished", id);
}
