import { EngineError } from "../base/error.ts";
import { preview } from "../base/preview.ts";
import { type AlertKind, alertKinds } from "./alert.ts";
import { type AlertTemplate, alertTemplates } from "./alert-request.ts";

/** One webhook and the alerts it receives. */
export interface AlertRule {
  /** The webhook. */
  readonly url: string;
  readonly on: readonly AlertKind[];
  /** Names of workflows; default: all. */
  readonly workflows?: readonly string[];
  /** Format of the body. Default `generic`. */
  readonly template?: AlertTemplate;
  /** Required for `long-run`: the running time after which an alert is sent. */
  readonly longRunSeconds?: number;
  /** Key of the request signature. */
  readonly secret?: string;
}

/** Validates the rules. `OPTION_INVALID` names the place of the problem. */
export function checkAlertRules(rules: readonly AlertRule[]): void {
  for (const [place, rule] of rules.entries()) {
    const problem = problemOf(rule);
    if (problem !== undefined) throw new EngineError("OPTION_INVALID", `alerts[${place}].${problem}`);
  }
}

function problemOf({ url, on, template, longRunSeconds }: AlertRule): string | undefined {
  const { protocol } = URL.parse(url) ?? {};
  // The URL of a webhook is a secret and is not repeated in messages.
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
