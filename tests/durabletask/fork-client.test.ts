import { describe, test } from "node:test";
import { control, startAndWait } from "./clients.rig.ts";
import { forkClient } from "./sdk.rig.ts";

describe("the Durable Task protocol, for the client of @dapr/durabletask-js [8.5]", () => {
  test("starts code, raises events, waits and reads input, output and custom status", (t) =>
    startAndWait(t, forkClient));
  test("suspends, resumes, terminates and purges", (t) => control(t, forkClient));
});
