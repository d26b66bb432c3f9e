import assert from "node:assert/strict";
import { test } from "node:test";
import * as client from "@nats-io/transport-node";
import { loadNatsClient, type NatsClient } from "./nats-client.ts";

test("the package has what the types here say, and is loaded when it is needed", async () => {
  const same: NatsClient = client;
  const loaded = await loadNatsClient();
  for (const name of ["connect", "credsAuthenticator", "nkeyAuthenticator"] as const) {
    assert.equal(typeof loaded[name], "function");
    assert.equal(loaded[name], same[name]);
  }
});
