import { DBOS } from "@dbos-inc/dbos-sdk";
import type { Peer } from "./peer.ts";

const poolSize = 20;

async function noOp(): Promise<void> {}

const oneStep = DBOS.registerWorkflow(async () => await DBOS.runStep(noOp, { name: "only" }), { name: "one-step" });

const manySteps = DBOS.registerWorkflow(
  async (steps: number) => {
    for (let step = 0; step < steps; step++) await DBOS.runStep(noOp, { name: `step ${step}` });
  },
  { name: "many-steps" },
);

export async function startDbos(url: string): Promise<Peer> {
  DBOS.setConfig({
    name: "bench",
    systemDatabaseUrl: url,
    systemDatabasePoolSize: poolSize,
    logLevel: "error",
  });
  await DBOS.launch();
  return {
    setup: `${poolSize} connections; workflows are started directly, which is faster than by a queue`,
    run: async () => await (await DBOS.startWorkflow(oneStep)()).getResult(),
    runSteps: async (steps) => await (await DBOS.startWorkflow(manySteps)(steps)).getResult(),
  };
}
