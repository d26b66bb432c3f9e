import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { HeddleClient } from "./client.ts";

interface Sent {
  readonly url: string;
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body: unknown;
}

/** A server that gives these answers, one after the other; an error is a connection that broke. */
function answering(...answers: (Response | Error)[]): { client: HeddleClient; sent: Sent[] } {
  const sent: Sent[] = [];
  const fetch = (url: unknown, init?: RequestInit): Promise<Response> => {
    const { method = "", headers, body } = init ?? {};
    sent.push({ url: String(url), method, headers: headers as Record<string, string>, body });
    const answer = answers.shift() ?? new Error("nothing more was expected");
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
  };
  const client = new HeddleClient({ url: "http://h/", token: "t", fetch });
  return { client, sent };
}

function refusal(status: number, code: string, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify({ code, message: "no" }), { status, headers });
}

const ok = (data: unknown): Response => new Response(JSON.stringify({ code: 0, data }));
const broken = (code: string): Error =>
  new TypeError("fetch failed", { cause: Object.assign(new Error(code), { code }) });

describe("a call", () => {
  test("goes where the contract says, with the token and what it is given", async () => {
    const { client, sent } = answering(ok({ done: true }));
    const params = { id: "a/b", name: "go on" };
    await client.call("raiseEvent", { params, body: { x: 1 } });
    assert.deepEqual(sent, [
      {
        url: "http://h/api/instance/a%2Fb/event/go%20on",
        method: "POST",
        headers: { accept: "application/json", "content-type": "application/json", authorization: "Bearer t" },
        body: '{"x":1}',
      },
    ]);
  });

  test("that makes something has one key, also when it is repeated", async () => {
    const { client, sent } = answering(
      broken("ECONNRESET"),
      refusal(503, "CALL_UNANSWERED"),
      refusal(429, "RATE_LIMITED", { "retry-after": "0.01" }),
      ok({ instanceId: "i" }),
    );
    assert.equal(await client.start("w", 1), "i");
    const keys = new Set(sent.map(({ headers }) => headers["idempotency-key"]));
    assert.deepEqual([sent.length, keys.size], [4, 1]);
    assert.match([...keys][0] ?? "", /^[0-9a-f-]{36}$/);
    assert.equal(new Set(sent.map(({ url }) => url)).size, 1, "and one id");
  });

  test("that looks is repeated whatever happened to it", async () => {
    const { client, sent } = answering(broken("ECONNRESET"), new Response("<html>", { status: 502 }), ok({ count: 1 }));
    assert.deepEqual(await client.call("countOwnTasks"), { count: 1 });
    assert.equal(sent.length, 3);
  });

  test("that does something is not said twice if it may have been carried out", async () => {
    for (const answer of [broken("ECONNRESET"), refusal(503, "CALL_UNANSWERED")]) {
      const { client, sent } = answering(answer);
      await assert.rejects(client.call("pauseInstance", { params: { id: "i" } }));
      assert.equal(sent.length, 1);
    }
    for (const answer of [broken("ECONNREFUSED"), refusal(503, "STORE_UNAVAILABLE"), refusal(429, "QUEUE_FULL")]) {
      const { client, sent } = answering(answer, ok({ done: true }));
      await client.call("pauseInstance", { params: { id: "i" } });
      assert.equal(sent.length, 2);
    }
  });

  test("is not repeated when it was refused for good", async () => {
    const { client, sent } = answering(refusal(409, "INSTANCE_STATE"));
    await assert.rejects(client.start("w"), { code: "INSTANCE_STATE", status: 409, message: "no" });
    assert.equal(sent.length, 1);
  });

  test("that something else answers says so", async () => {
    const { client } = answering(new Response('{"hello":"world"}', { status: 200 }));
    const params = { id: "i" };
    await assert.rejects(client.call("pauseInstance", { params }), {
      code: "ANSWER_INVALID",
      message: /right address/,
    });
  });

  test("ends with its signal, also while it waits to be repeated", async () => {
    const stop = new AbortController();
    const { client } = answering(broken("ECONNREFUSED"), broken("ECONNREFUSED"));
    const call = client.call("countOwnTasks", { signal: stop.signal });
    setTimeout(() => stop.abort(new Error("enough")), 10);
    await assert.rejects(call, /enough/);
  });
});
