import { type MessagePort, workerData } from "node:worker_threads";
import type { ToRunner } from "./order-message.ts";
import { OrderRunner } from "./order-runner.ts";

/** The worker data is removed below, because jobs in this thread can read it and must not find the port. */
const data = workerData as { port?: MessagePort } | null;
const port = data?.port;
delete data?.port;
if (port !== undefined) {
  const runner = new OrderRunner((message) => port.postMessage(message, []));
  port.on("message", (message: ToRunner) => runner.receive(message));
}
