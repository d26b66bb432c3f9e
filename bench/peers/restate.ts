import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { type ClientHttp2Session, connect, createServer, type IncomingHttpHeaders } from "node:http2";
import type { AddressInfo } from "node:net";
import { type Context, createEndpointHandler, service } from "@restatedev/restate-sdk";
import type { Peer } from "./peer.ts";

const bench = service({
  name: "bench",
  handlers: {
    oneStep: async (context: Context) => {
      await context.run("only", () => undefined);
    },
    manySteps: async (context: Context, steps: number) => {
      for (let step = 0; step < steps; step++) await context.run(`step ${step}`, () => undefined);
    },
  },
});

/** The address names where calls go, and the socket of its admin interface. */
export async function startRestate(url: string): Promise<Peer> {
  const { origin, searchParams } = new URL(url);
  const server = createServer(createEndpointHandler({ services: [bench], logger: () => undefined }));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await register(searchParams.get("admin") ?? "", `http://127.0.0.1:${port}`);
  const session = connect(origin);
  return {
    setup: "4 partitions; calls over one HTTP/2 connection, which is faster than its own client",
    run: async () => await call(session, "oneStep"),
    runSteps: async (steps) => await call(session, "manySteps", steps),
  };
}

async function call(session: ClientHttp2Session, handler: string, input?: number): Promise<void> {
  const type = input === undefined ? {} : { "content-type": "application/json" };
  const stream = session.request({ ":method": "POST", ":path": `/bench/${handler}`, ...type });
  stream.end(JSON.stringify(input));
  const [headers] = (await once(stream, "response")) as [IncomingHttpHeaders & { ":status": number }];
  stream.resume();
  await once(stream, "end");
  if (headers[":status"] !== 200) throw new Error(`Restate answered ${headers[":status"]} to ${handler}`);
}

async function register(socketPath: string, uri: string): Promise<void> {
  const headers = { "content-type": "application/json" };
  const deployment = request({ socketPath, path: "/deployments", method: "POST", headers });
  deployment.end(JSON.stringify({ uri }));
  const [answer] = (await once(deployment, "response")) as [IncomingMessage];
  answer.resume();
  if (answer.statusCode !== 201) throw new Error(`Restate answered ${answer.statusCode} to the deployment`);
}
