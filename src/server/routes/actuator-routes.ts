import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Role } from "../../api/route.ts";
import type { Engine } from "../../engine/engine.ts";
import type { Metrics } from "../../telemetry/metrics.ts";
import { HttpError } from "../request/http-error.ts";
import type { Readiness } from "../health/readiness.ts";
import type { Audit } from "../security/audit.ts";
import { auditEntryOf } from "../security/audit-entry.ts";
import { setCaller } from "../request/caller.ts";
import type { Guard } from "../security/guard.ts";

export interface ActuatorParts {
  readonly engine: Engine;
  readonly metrics: Metrics;
  readonly guard: Guard;
  readonly audit: Audit;
  readonly readiness: Readiness;
  readonly info: Readonly<Record<string, unknown>>;
  /** Begins a graceful stop. */
  readonly shutDown: () => void;
}

/** Endpoints for monitoring: health, metrics, info, shutdown. */
export function actuatorRoutes(app: FastifyInstance, parts: ActuatorParts): void {
  const { guard, metrics, info } = parts;
  const onlyFor = (role: Role) => ({
    onRequest: async (request: FastifyRequest): Promise<void> => {
      setCaller(request, guard.authorizeShared(request, role));
    },
  });
  const sendMetrics = async (_request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> =>
    reply.type(metrics.registry.contentType).send(await metrics.text());

  app.get("/metrics", onlyFor("viewer"), sendMetrics);
  app.get("/actuator/prometheus", onlyFor("viewer"), sendMetrics);
  app.get("/actuator/info", onlyFor("viewer"), async () => info);
  app.get("/actuator/metrics", onlyFor("viewer"), async () => ({
    names: (await metrics.registry.getMetricsAsJSON()).map(({ name }) => name),
  }));
  app.get<{ Params: { name: string } }>("/actuator/metrics/:name", onlyFor("viewer"), ({ params }) =>
    readMetric(metrics, params.name),
  );
  healthRoutes(app, parts);
  app.post("/actuator/shutdown", onlyFor("admin"), (request, reply) => shutDown(parts, request, reply));
}

/** Health endpoints need no token; the reason is shown with a valid token only. */
function healthRoutes(app: FastifyInstance, { engine, readiness, guard }: ActuatorParts): void {
  const answer = (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const { isReady, reason } = readiness.view();
    const status = isReady ? "UP" : "OUT_OF_SERVICE";
    const details = guard.recognizes(request) ? { reason, ...detailsOf(engine) } : {};
    return reply.code(isReady ? 200 : 503).send({ status, ...details });
  };
  app.get("/actuator/health", answer);
  app.get("/actuator/health/readiness", answer);
  app.get("/actuator/health/liveness", async () => ({ status: "UP" }));
}

/** A bus that is away makes the server slower and no less ready. */
function detailsOf({ health }: Engine): object {
  const { status, bus } = health;
  return { engine: status, ...(bus && { bus: { kind: bus.kind, connected: bus.isConnected } }) };
}

async function readMetric({ registry }: Metrics, name: string): Promise<object> {
  // The registry looks names up in a plain object, which also has "constructor".
  const isKnown = registry.getMetricsAsArray().some((each) => each.name === name);
  const metric = isKnown ? registry.getSingleMetric(name) : undefined;
  if (metric === undefined) throw new HttpError("NOT_FOUND", `no metric ${JSON.stringify(name)} is known`);
  const { help, type, values } = await metric.get();
  return { name, description: help, type, measurements: values };
}

async function shutDown(
  { audit, shutDown: begin }: ActuatorParts,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  await audit.append(auditEntryOf(request, { status: 200 }));
  await reply.send({ message: "stopping: what runs gets its time to finish" });
  begin();
  return reply;
}
