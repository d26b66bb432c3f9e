/** The child of a `SeedProcess`: runs the seeds that it is sent, one at a time, and says that it makes progress. */
import { runSeed } from "./main.ts";
import { findMutation } from "./mutations.ts";
import type { SeedMessage, SeedRequest } from "./seed-process.ts";
import type { World } from "./world.ts";

const heartbeatMs = 1000;
const tailLines = 60;

process.on("message", (request) => void run(request as SeedRequest));

async function run({ seed, mutation, ...options }: SeedRequest): Promise<void> {
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
    send({ report: { ...outcome, tail: outcome.violations.length > 0 ? log(tailLines) : [] } });
  } finally {
    clearInterval(heartbeat);
  }
}

function send(message: SeedMessage): void {
  process.send?.(message);
}
