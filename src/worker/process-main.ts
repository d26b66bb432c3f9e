import type { FromRunner, ToRunner } from "./order-message.ts";
import { OrderRunner } from "./order-runner.ts";

const send = process.send?.bind(process);
// Jobs must not find it: they could end their own attempt.
delete process.send;
if (send !== undefined) {
  const runner = new OrderRunner((message: FromRunner) => void send(message));
  process.on("message", (message: ToRunner) => runner.receive(message));
  // The worker is gone: nobody takes the outcome. (A job that blocks this loop is killed by the worker's guard.)
  process.on("disconnect", () => {
    if (process.platform !== "win32") process.kill(-process.pid, "SIGKILL");
    process.kill(process.pid, "SIGKILL");
  });
}
