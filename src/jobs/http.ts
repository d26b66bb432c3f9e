import { z } from "zod";
import { defineJob, type Job } from "../authoring/job.ts";
import { messageOf } from "../base/error.ts";
import { checkHost } from "./host-list.ts";
import { JobFailure } from "./job-failure.ts";
import { inScope, type JobScope } from "./job-scope.ts";
import { isSecret, textOrReference } from "./reference.ts";
import { defaultSecretRules, type SecretRules } from "./secret-rules.ts";

const input = z.strictObject({
  url: textOrReference,
  method: z.enum(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]).default("GET"),
  headers: z.record(z.string().min(1).max(200), textOrReference).default({}),
  body: textOrReference.optional(),
  mediaType: z.string().max(200).optional().meta({ description: "The content-type of the body." }),
  expectStatus: z
    .array(z.number().int().min(100).max(599))
    .min(1)
    .optional()
    .meta({ description: "Statuses that count as success; default: 200 to 299." }),
  timeoutSeconds: z.number().positive().max(86_400).default(60),
  responseBytesMax: z.number().int().min(0).max(8_388_608).default(1_048_576),
});

/** The request, and which responses count as success; docs/jobs.md has the fields. */
export type HttpParams = z.output<typeof input>;

/** The response. */
export interface HttpResult {
  readonly status: number;
  readonly contentType: string | null;
  /** The value of a JSON body, the text of any other. */
  readonly body: unknown;
  /** True if the body was longer than `responseBytesMax`; it is text then. */
  readonly truncated: boolean;
}

/** Options of the job that sends HTTP requests. */
export interface HttpJobOptions {
  readonly secrets?: SecretRules;
  /** Hosts that requests may go to; default: all. */
  readonly allowedHosts?: readonly string[] | undefined;
}

const redirectsMax = 10;
const excerptLength = 500;

/** Statuses below 500 that a later attempt may not meet again. */
const passingStatuses = [408, 425, 429];

/** The job `http`: sends one request, and fails unless the status of the response is expected. */
export function httpJob({ secrets = defaultSecretRules, allowedHosts }: HttpJobOptions = {}): Job<
  HttpParams,
  HttpResult,
  z.input<typeof input>
> {
  const description = "Sends an HTTP request, and gives the status and the body of the response.";
  return defineJob(
    "http",
    { input, description },
    inScope(secrets, (params: HttpParams, scope) => sendRequest(params, scope, allowedHosts)),
  );
}

async function sendRequest(
  params: HttpParams,
  scope: JobScope,
  allowedHosts: HttpJobOptions["allowedHosts"],
): Promise<HttpResult> {
  const { references, redactor, log, ctx } = scope;
  const url = urlOf(await references.text(params.url));
  const headers = new Headers(await references.texts(params.headers));
  const body = params.body === undefined ? undefined : await references.text(params.body);
  if (body !== undefined && !headers.has("content-type")) {
    headers.set("content-type", params.mediaType ?? (isJson(body) ? "application/json" : "text/plain"));
  }
  if (ctx.traceparent !== undefined && !headers.has("traceparent")) headers.set("traceparent", ctx.traceparent);
  const { method } = params;
  if (method !== "GET" && method !== "HEAD" && !headers.has("idempotency-key")) {
    headers.set("idempotency-key", encodeURIComponent(ctx.attemptId));
  }
  const secretHeaders = Object.keys(params.headers).filter((name) => isSecret(params.headers[name]));
  const signal = AbortSignal.any([ctx.signal, AbortSignal.timeout(params.timeoutSeconds * 1000)]);
  try {
    const request = { method, headers, body, signal };
    const response = await follow(url, request, { allowedHosts, secretHeaders, isSecretBody: isSecret(params.body) });
    const { text: whole, truncated } = await readText(response, params.responseBytesMax);
    // A secret that stands where the text is cut would not be recognised afterwards.
    const text = truncated ? redactor.take(whole, 0, whole.length).piece : whole;
    log.info({ method, host: url.host, status: response.status, bytes: text.length }, "response");
    if (!isExpected(response.status, params.expectStatus)) throw unexpected(response, redactor.redact(text));
    const contentType = response.headers.get("content-type");
    return { status: response.status, contentType, body: truncated ? text : valueOf(text, contentType), truncated };
  } catch (error) {
    if (error instanceof JobFailure || ctx.signal.aborted) throw error;
    if (signal.aborted) throw failed(`no response within ${params.timeoutSeconds} seconds`);
    const cause = error instanceof Error && error.cause !== undefined ? `: ${messageOf(error.cause)}` : "";
    throw failed(`the request could not be made: ${messageOf(error)}${cause}`);
  }
}

interface Request {
  readonly method: string;
  readonly headers: Headers;
  readonly body: string | undefined;
  readonly signal: AbortSignal;
}

interface RedirectRules extends Pick<HttpJobOptions, "allowedHosts"> {
  readonly secretHeaders: readonly string[];
  readonly isSecretBody: boolean;
}

/** Follows redirects by hand: each host is checked, and no secret is sent to an origin that the workflow does not name. */
async function follow(
  first: URL,
  given: Request,
  { allowedHosts, secretHeaders, isSecretBody }: RedirectRules,
): Promise<Response> {
  let [url, request] = [first, given];
  for (let redirects = 0; redirects <= redirectsMax; redirects++) {
    checkHost(url, allowedHosts);
    const { method, headers, body = null, signal } = request;
    const response = await fetch(url, { method, headers, body, signal, redirect: "manual" });
    const location = response.headers.get("location");
    if (![301, 302, 303, 307, 308].includes(response.status) || location === null) return response;
    await response.body?.cancel();
    const next = urlOf(new URL(location, url).href);
    const kept = new Headers(headers);
    const isElsewhere = next.origin !== url.origin;
    if (isElsewhere) for (const name of [...secretHeaders, "authorization", "cookie"]) kept.delete(name);
    const isRepeated = response.status === 307 || response.status === 308 || method === "GET" || method === "HEAD";
    if (isElsewhere && isRepeated && isSecretBody && body !== null) {
      throw failed(
        `the server redirects to ${next.host}, where the secret in the body is not sent: name that address`,
        false,
      );
    }
    if (!isRepeated) kept.delete("content-type");
    request = isRepeated ? { ...request, headers: kept } : { method: "GET", headers: kept, body: undefined, signal };
    url = next;
  }
  throw failed(`more than ${redirectsMax} redirects`, false);
}

function urlOf(text: string): URL {
  const url = URL.parse(text);
  if (url !== null && (url.protocol === "http:" || url.protocol === "https:")) return url;
  throw failed("the url must begin with http:// or https://", false);
}

async function readText(response: Response, bytesMax: number): Promise<{ text: string; truncated: boolean }> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk as Uint8Array);
    bytes += (chunk as Uint8Array).byteLength;
    // The end of the loop cancels the stream.
    if (bytes > bytesMax) break;
  }
  const truncated = bytes > bytesMax;
  return { text: Buffer.concat(chunks).subarray(0, bytesMax).toString("utf8"), truncated };
}

function isExpected(status: number, expected: readonly number[] | undefined): boolean {
  return expected === undefined ? status >= 200 && status < 300 : expected.includes(status);
}

function unexpected({ status }: Response, text: string): JobFailure {
  const start = text.trim() === "" ? "" : `; the body begins: ${text.trim().slice(0, excerptLength)}`;
  return failed(`the server answered with status ${status}${start}`, status >= 500 || passingStatuses.includes(status));
}

function valueOf(text: string, contentType: string | null): unknown {
  if (!/^application\/(?:json|[\w.-]+\+json)\b/i.test(contentType ?? "")) return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // The server says JSON and sends something else: the text is all there is.
    return text;
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function failed(message: string, retryable = true): JobFailure {
  return new JobFailure("HttpFailed", message, { retryable });
}
