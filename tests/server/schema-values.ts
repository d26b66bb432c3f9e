import * as fc from "fast-check";

/** As much of JSON Schema as the contract uses. */
export interface JsonSchema {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly JsonSchema[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
}

/** Words that lead somewhere: names that exist, and those that attackers try. */
const words = fc.constantFrom(
  "hello",
  "fails",
  "talk",
  "two",
  "first",
  "greet",
  "say",
  "small",
  "nightly",
  "1",
  "0 0 * * *",
  "UTC",
  "GET",
  "go",
  "__proto__",
  "constructor",
  "toString",
  "..",
  "../../etc/passwd",
  "a/b",
  "%00",
  "\u0000",
  "\ud800",
  "💥",
  "' OR 1=1 --",
  "{{7*7}}",
  "${1+1}",
  "-1",
  "9007199254740993",
  "1e309",
  "NaN",
  "null",
  "x".repeat(200),
  "x".repeat(201),
);

export const anyText: fc.Arbitrary<string> = fc.oneof(words, fc.string({ maxLength: 20, unit: "binary" }));

const anyNumber = fc.oneof(
  fc.integer({ min: -2, max: 5 }),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(Number.MAX_SAFE_INTEGER, 1e308, -1e308, 1e15),
);

export const anyJson: fc.Arbitrary<unknown> = fc.oneof(
  anyText,
  anyNumber,
  fc.boolean(),
  fc.constant(null),
  fc.array(fc.jsonValue({ maxDepth: 2 }), { maxLength: 3 }),
  fc.dictionary(anyText, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 4 }),
);

const nodeId = fc.oneof({ weight: 8, arbitrary: fc.integer({ min: 1, max: 4 }) }, { weight: 1, arbitrary: anyText });

const node = fc.record(
  {
    nodeId,
    nodeName: fc.oneof(fc.constantFrom("a", "b", "greet"), anyText),
    nodeType: fc.oneof(fc.constantFrom(1, 2, 3), anyNumber),
    jobName: fc.oneof(fc.constantFrom("say", "refuse", "pause"), anyText),
    nodeParams: fc.oneof(fc.constantFrom('"x"', "1 == 1", "context.size > 2", "a.b.c(", "size(x)"), anyText, anyJson),
    workflowName: anyText,
    domain: fc.constantFrom("default", "small", "none"),
    timeoutSeconds: anyNumber,
    heartbeatTimeoutSeconds: anyNumber,
    retryCount: anyNumber,
    retryPolicy: anyJson,
    enable: fc.boolean(),
    skipWhenFailed: fc.boolean(),
    dependsOn: anyJson,
  },
  { requiredKeys: ["nodeId"] },
);

const dagSpec = fc.record(
  {
    nodes: fc.array(node, { minLength: 1, maxLength: 4 }),
    edges: fc.array(fc.record({ from: nodeId, to: nodeId, property: anyText }, { requiredKeys: ["from", "to"] }), {
      maxLength: 3,
    }),
    context: anyJson,
    failurePolicy: fc.constantFrom("continue", "abort-running", "odd"),
    maxInstances: fc.oneof(fc.record({ max: anyNumber, policy: fc.constantFrom("queue", "skip", "fail") }), anyJson),
    timeoutSeconds: anyNumber,
    name: anyText,
  },
  { requiredKeys: ["nodes"] },
);

const cron = fc.oneof(
  fc.constantFrom("0 0 * * *", "0 0 12 ? * MON-FRI", "0 0 0 L * ?", "0 0 30 2 *", "* * * * *", "0 0 0 29 2 ? 2400"),
  fc
    .array(fc.constantFrom("*", "0", "?", "L", "*/5", "1-5", "W", "6#3", "99", "-1"), { minLength: 4, maxLength: 8 })
    .map((parts) => parts.join(" ")),
);

/** What a schema does not tell: values that get further than chance would. */
const hints: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  dagSpec,
  cron,
  cronExpr: cron,
  timeZone: fc.constantFrom("UTC", "Europe/Berlin", "America/New_York", "Mars/Olympus"),
  workflow: fc.constantFrom("hello", "two", "talk", "fails"),
  task: fc.constantFrom("greet", "a", "stumble"),
  name: fc.constantFrom("two", "three", "go", "add", "words", "small"),
  scheduleId: fc.constantFrom("nightly", "weekly"),
  rateMs: fc.constantFrom(60_000, 1e15, 0.5),
  delayMs: fc.constantFrom(60_000, 1e15, 0.5),
};

/** Values that fit mostly, and now and then do not. */
export function valueOf(schema: JsonSchema): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 12, arbitrary: fitting(schema) }, { weight: 1, arbitrary: anyJson });
}

function fitting(schema: JsonSchema): fc.Arbitrary<unknown> {
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.anyOf !== undefined) return fc.oneof(...schema.anyOf.map(valueOf));
  switch (schema.type) {
    case "string":
      return anyText;
    case "integer":
      return numberWithin(schema).map(Math.round);
    case "number":
      return numberWithin(schema);
    case "boolean":
      return fc.boolean();
    case "null":
      return fc.constant(null);
    case "array":
      return fc.array(valueOf(schema.items ?? {}), { maxLength: 4 });
    case "object":
      return objectOf(schema);
    default:
      return anyJson;
  }
}

function numberWithin({ minimum, maximum }: JsonSchema): fc.Arbitrary<number> {
  const min = minimum ?? -10;
  return fc.oneof(fc.integer({ min: Math.ceil(min), max: Math.min(maximum ?? 1000, min + 1000) }), anyNumber);
}

function objectOf({ properties = {}, required = [] }: JsonSchema): fc.Arbitrary<unknown> {
  const fields = Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => {
      const hint = hints[name];
      const value = hint === undefined ? valueOf(schema) : fc.oneof({ weight: 4, arbitrary: hint }, valueOf(schema));
      return [name, required.includes(name) ? value : fc.option(value, { nil: undefined, freq: 1 })];
    }),
  );
  const more = fc.option(fc.dictionary(anyText, fc.jsonValue({ maxDepth: 1 }), { maxKeys: 2 }), { nil: {}, freq: 1 });
  return fc.tuple(fc.record(fields), more).map(([known, extra]) => ({ ...extra, ...known }));
}
