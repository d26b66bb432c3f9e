/** A job that ends its process, in the way that the first argument names. */
import { defineJob, Engine } from "../../../src/index.ts";
import { memoryStore } from "../../../src/testing.ts";

const ways: Record<string, () => void> = {
  rejection: () => void Promise.reject(new Error("floating")),
  "late rejection": () => void sleep(5).then(() => Promise.reject(new Error("floating"))),
  timer: () => void setTimeout(() => fail(), 5),
  tick: () => process.nextTick(fail),
};

function fail(): never {
  throw new Error("floating");
}

async function sleep(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
}

const floating = defineJob("floating", async () => {
  await sleep(1);
  ways[process.argv[2] ?? ""]?.();
  await sleep(5000);
});
const engine = new Engine({ storage: memoryStore(), jobs: [floating] });
await engine.start();
await (await engine.runJob(floating, undefined, { instanceId: "f" })).result();
process.stdout.write("it went on\n");
