import { EngineError } from "../base/error.ts";
import { preview } from "../base/preview.ts";
import { type AlertKind, alertKinds } from "./alert.ts";
import { type AlertTemplate, alertTemplates } from "./alert-request.ts";

/** Where alerts go, and which. */
export interface AlertRule {
  /** The webhook. */
  readonly url: string;
  readonly on: readonly AlertKind[];
  /** By name. Without it, of all workflows. */
  readonly workflows?: readonly string[];
  /** Whose format the body has. Default `generic`. */
  readonly template?: AlertTemplate;
  /** Of `long-run`, and needed with it: how long an instance may run. */
  readonly longRunSeconds?: number;
  /** Requests are signed with it. */
  readonly secret?: string;
}

/** `OPTION_INVALID` with the place of what is wrong. */
export function checkAlertRules(rules: readonly AlertRule[]): void {
  for (const [place, rule] of rules.entries()) {
    const problem = problemOf(rule);
    if (problem !== undefined) throw new EngineError("OPTION_INVALID", `alerts[${place}].${problem}`);
  }
}

function problemOf({ url, on, template, longRunSeconds }: AlertRule): string | undefined {
  const { protocol } = URL.parse(url) ?? {};
  // The address of a webhook is a secret: it is not repeated.
  if (protocol !== "http:" && protocol !== "https:") return "url must be the address of a webhook: http:// or https://";
  if (on.length === 0) return `on must name what to tell: ${alertKinds.join(", ")}`;
  const unknown = on.find((kind) => !alertKinds.includes(kind));
  if (unknown !== undefined) return `on must hold ${alertKinds.join(", ")}, got ${preview(unknown)}`;
  if (template !== undefined && !alertTemplates.includes(template)) {
    return `template must be ${alertTemplates.join(", ")}, got ${preview(template)}`;
  }
  if (on.includes("long-run") && !(longRunSeconds !== undefined && longRunSeconds > 0)) {
    return `longRunSeconds must be a number of seconds above 0, because on holds long-run, got ${preview(longRunSeconds)}`;
  }
  return undefined;
}
