import { createHmac } from "node:crypto";
import { type Alert, linesOf, titleOf } from "./alert.ts";

export const alertTemplates = ["generic", "slack", "dingtalk", "feishu"] as const;

export type AlertTemplate = (typeof alertTemplates)[number];

export interface AlertRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * Builds the HTTP request of an alert. With a secret, `x-heddle-signature` is the HMAC-SHA256 of the time in `x-heddle-timestamp`, a dot and
 * the body; DingTalk and Feishu also get their own signatures.
 */
export function requestOf(
  alert: Alert,
  rule: { readonly url: string; readonly template?: AlertTemplate; readonly secret?: string },
  now: number,
): AlertRequest {
  const { template = "generic", secret } = rule;
  const signed = secret === undefined ? {} : (templates[template].sign?.(secret, now) ?? {});
  const body = JSON.stringify({ ...templates[template].body(alert), ...signed.body });
  const headers = { "content-type": "application/json; charset=utf-8" };
  if (secret === undefined) return { url: rule.url, headers, body };
  const signature = `sha256=${hmac(secret, `${now}.${body}`).toString("hex")}`;
  return {
    url: withQuery(rule.url, signed.query ?? {}),
    headers: { ...headers, "x-heddle-timestamp": String(now), "x-heddle-signature": signature },
    body,
  };
}

/** The refusal that a receiver reports in the body of a 200. */
export function refusalIn(answer: string): string | undefined {
  try {
    const { errcode, errmsg, code, msg } = JSON.parse(answer) as Record<string, unknown>;
    if (typeof errcode === "number" && errcode !== 0) return `errcode ${errcode}: ${String(errmsg)}`;
    return typeof code === "number" && code !== 0 ? `code ${code}: ${String(msg)}` : undefined;
  } catch {
    // The answer is not JSON: a plain text such as Slack's "ok".
    return undefined;
  }
}

interface Signed {
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: Readonly<Record<string, string>>;
}

interface Template {
  body(alert: Alert): Record<string, unknown>;
  sign?(secret: string, now: number): Signed;
}

const templates: Readonly<Record<AlertTemplate, Template>> = {
  generic: { body: (alert) => ({ title: titleOf(alert), ...alert }) },
  slack: {
    // Names and reasons are user input: escaped, so that they are neither markup nor mentions.
    body: (alert) => ({ text: textOf(alert, escapeSlack).join("\n"), mrkdwn: false }),
  },
  dingtalk: {
    body: (alert) => ({
      msgtype: "markdown",
      markdown: {
        title: flat(titleOf(alert)),
        text: textOf(alert, escapeMarkdown)
          .map((line, index) => (index === 0 ? `### ${line}` : `- ${line}`))
          .join("\n"),
      },
    }),
    sign: (secret, now) => {
      const sign = hmac(secret, `${now}\n${secret}`).toString("base64");
      return { query: { timestamp: String(now), sign } };
    },
  },
  feishu: {
    body: (alert) => ({ msg_type: "text", content: { text: textOf(alert, escapeTags).join("\n") } }),
    sign: (secret, now) => {
      const timestamp = String(Math.floor(now / 1000));
      return { body: { timestamp, sign: hmac(`${timestamp}\n${secret}`, "").toString("base64") } };
    },
  },
};

/** Title and lines of an alert as text. */
function textOf(alert: Alert, escape: (text: string) => string): string[] {
  return [titleOf(alert), ...linesOf(alert)].map((line) => escape(flat(line)));
}

/** Replaces line ends, control characters and bidirectional overrides. */
function flat(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]+/gu, " ");
}

function escapeSlack(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function escapeMarkdown(text: string): string {
  return text.replaceAll(/[\\`*_{}[\]()#+!|<>~]/g, String.raw`\$&`);
}

/** Feishu has no escape for its tags, so their characters are replaced. */
function escapeTags(text: string): string {
  return text.replaceAll("<", "＜").replaceAll(">", "＞");
}

function hmac(key: string, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}

function withQuery(url: string, query: Readonly<Record<string, string>>): string {
  const extended = new URL(url);
  for (const [name, value] of Object.entries(query)) extended.searchParams.set(name, value);
  return extended.href;
}
