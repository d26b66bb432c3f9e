import { stat } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { defineJob, type Job } from "../authoring/job.ts";
import { messageOf } from "../base/error.ts";
import { HeddleClient } from "../client/client.ts";
import { HeddleClientError } from "../client/client-error.ts";
import { checkHost } from "./host-list.ts";
import { JobFailure } from "./job-failure.ts";
import { inScope, type JobScope } from "./job-scope.ts";
import { textOrReference } from "./reference.ts";
import { defaultSecretRules, type SecretRules } from "./secret-rules.ts";

const input = z
  .strictObject({
    url: textOrReference
      .optional()
      .meta({ description: "Waits until a GET of this address is answered with 200 to 299." }),
    file: z.string().min(1).max(4096).optional().meta({ description: "Waits until this file of the worker exists." }),
    instance: z
      .strictObject({
        id: textOrReference,
        server: z.string().default("http://127.0.0.1:7411"),
        token: textOrReference.optional(),
        namespace: z.string().max(63).optional(),
      })
      .optional()
      .meta({ description: "Waits until this instance has ended, and fails unless it succeeded." }),
    everySeconds: z.number().min(0.1).max(3600).default(5),
    timeoutSeconds: z.number().positive().max(2_000_000).default(3600),
  })
  .refine(({ url, file, instance }) => [url, file, instance].filter((each) => each !== undefined).length === 1, {
    message: "give one of url, file and instance",
  });

/** What it waits for: an address, a file, or the end of an instance; docs/jobs.md has the fields. */
export type WaitForParams = z.output<typeof input>;

/** What was found, and how often it was looked for. */
export interface WaitForResult {
  readonly checks: number;
  /** The status of the response, or of the instance. */
  readonly status: string | null;
}

/** Options of the job that waits. */
export interface WaitForJobOptions {
  readonly secrets?: SecretRules;
  /** Hosts that requests may go to; default: all. */
  readonly allowedHosts?: readonly string[] | undefined;
}

const requestMs = 30_000;
/** The maximum of a server's answer about an instance. */
const answerBytesMax = 16 * 1024 * 1024;

/** The job `wait-for`: waits for an address, a file or an instance. It takes a slot of its worker while it waits. */
export function waitForJob({ secrets = defaultSecretRules, allowedHosts }: WaitForJobOptions = {}): Job<
  WaitForParams,
  WaitForResult,
  z.input<typeof input>
> {
  const description = "Waits until an address answers, a file exists or an instance has ended.";
  return defineJob(
    "wait-for",
    { input, description },
    inScope(secrets, (params: WaitForParams, scope) => waitFor(params, scope, allowedHosts)),
  );
}

/** The status if it is there, `undefined` to look again later. */
type Check = () => Promise<string | undefined>;

async function waitFor(
  params: WaitForParams,
  scope: JobScope,
  allowedHosts: WaitForJobOptions["allowedHosts"],
): Promise<WaitForResult> {
  const { ctx, log } = scope;
  const check = await checkOf(params, scope, allowedHosts);
  const deadline = performance.now() + params.timeoutSeconds * 1000;
  for (let checks = 1; ; checks++) {
    const status = await check();
    if (status !== undefined) return { checks, status: status === "" ? null : status };
    if (performance.now() + params.everySeconds * 1000 > deadline) {
      throw new JobFailure("WaitTimeout", `it did not come within ${params.timeoutSeconds} seconds`, {
        retryable: true,
      });
    }
    if (checks === 1) log.info("not there yet");
    await delay(params.everySeconds * 1000, undefined, { signal: ctx.signal });
  }
}

async function checkOf(
  { url, file, instance, timeoutSeconds }: WaitForParams,
  { references, log, ctx }: JobScope,
  allowedHosts: WaitForJobOptions["allowedHosts"],
): Promise<Check> {
  const signalOfRequest = (): AbortSignal =>
    AbortSignal.any([ctx.signal, AbortSignal.timeout(Math.min(requestMs, timeoutSeconds * 1000))]);
  if (url !== undefined) {
    const address = addressOf(await references.text(url));
    checkHost(address, allowedHosts);
    return async () => {
      try {
        const response = await fetch(address, { signal: signalOfRequest(), redirect: "manual" });
        await response.body?.cancel();
        log.debug({ status: response.status }, "checked");
        return response.ok ? String(response.status) : undefined;
      } catch (error) {
        if (ctx.signal.aborted) throw error;
        log.debug({ error: messageOf(error) }, "checked");
        return undefined;
      }
    };
  }
  if (file !== undefined) {
    return async () =>
      await stat(file).then(
        () => "",
        () => undefined,
      );
  }
  checkHost(addressOf(instance?.server ?? ""), allowedHosts);
  const send: typeof fetch = (address, init) => fetchBounded(address, { ...init, signal: signalOfRequest() });
  return await checkOfInstance(instance as NonNullable<typeof instance>, { references, log }, send);
}

/** No server makes the worker wait without end, keep any amount of bytes, or go on to a host that is not allowed. */
async function fetchBounded(address: Parameters<typeof fetch>[0], init: RequestInit): Promise<Response> {
  const { body, status, headers } = await fetch(address, { ...init, redirect: "manual" });
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    chunks.push(chunk as Uint8Array);
    bytes += (chunk as Uint8Array).byteLength;
    if (bytes > answerBytesMax) throw new Error(`the server's answer is longer than ${answerBytesMax} bytes`);
  }
  return new Response(bytes === 0 ? null : Buffer.concat(chunks), { status, headers });
}

async function checkOfInstance(
  { id, server, token, namespace }: NonNullable<WaitForParams["instance"]>,
  { references, log }: Pick<JobScope, "references" | "log">,
  send: typeof fetch,
): Promise<Check> {
  const client = new HeddleClient({
    url: server,
    fetch: send,
    // The job itself looks again.
    retriesMax: 0,
    ...(token !== undefined && { token: await references.text(token) }),
    ...(namespace !== undefined && { namespace }),
  });
  const instanceId = await references.text(id);
  return async () => {
    const status = await client.call("getInstance", { params: { id: instanceId } }).then(
      (found) => found.status,
      (error: unknown) => {
        // An instance that nobody has started yet is waited for as well, and so is a server that restarts.
        const mayCome = error instanceof HeddleClientError && (error.status === 404 || error.code === "UNREACHABLE");
        if (!mayCome) throw failed(`the server refuses to tell the status: ${messageOf(error)}`);
        log.debug({ error: messageOf(error) }, "checked");
        return undefined;
      },
    );
    if (status === "Failed" || status === "Terminated") throw failed(`instance ${instanceId} ended with ${status}`);
    return status === "Success" ? status : undefined;
  };
}

function addressOf(text: string): URL {
  const url = URL.parse(text);
  if (url !== null && (url.protocol === "http:" || url.protocol === "https:")) return url;
  throw failed("the address must begin with http:// or https://");
}

function failed(message: string): JobFailure {
  return new JobFailure("WaitFailed", message, { retryable: false });
}
