/**
 * The child of a `SeedProcess`: runs the seeds that it receives, one at a time, and sends heartbeats. A source mutation
 * named by its argument is applied before anything of the engine is loaded.
 */
import type { SeedMessage, SeedRequest } from "./seed-process.ts";
import { installSource, sourceMutations } from "./source-mutations.ts";
import type { World } from "./world.ts";

const mutated = sourceMutations.find(({ name }) => name === process.argv[2]);
if (mutated?.source !== undefined) installSource(mutated.source);
const { runSeed } = await import("./main.ts");
const { findMutation } = await import("./mutations.ts");

const heartbeatMs = 1000;

process.on("message", (request) => void run(request as SeedRequest));

async function run({ seed, mutation, logLines, isLogged, ...options }: SeedRequest): Promise<void> {
  let world: World | undefined;
  let seen = 0;
  const heartbeat = setInterval(() => {
    const now = world?.scheduler.now ?? 0;
    if (now > seen) send({ heartbeat: now });
    seen = now;
  }, heartbeatMs);
  try {
    const { log, ...outcome } = await runSeed(seed, {
      ...options,
      ...(mutation !== undefined && { mutation: findMutation(mutation) }),
      onWorld: (each) => (world = each),
    });
    send({ report: { ...outcome, tail: outcome.violations.length > 0 || isLogged ? log(logLines) : [] } });
  } finally {
    clearInterval(heartbeat);
  }
}

function send(message: SeedMessage): void {
  process.send?.(message);
}
