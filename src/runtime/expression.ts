import { createContext, Script } from "node:vm";
import { Environment, EvaluationError, ParseError, TypeError as CelTypeError } from "@marcbachmann/cel-js";
import type { ParseResult } from "@marcbachmann/cel-js";
import { UnsignedInt } from "@marcbachmann/cel-js/evaluator";
import { EngineError } from "../base/error.ts";
import { shown } from "../base/shown.ts";

/** What an expression sees. JSON values. */
export interface ExpressionScope {
  readonly context: Readonly<Record<string, unknown>>;
  /** By task name. */
  readonly outputs: Readonly<Record<string, unknown>>;
}

const programsMax = 1000;
const lengthMax = 10_000;
const astNodesMax = 2000;

/**
 * The decisions' language, CEL: no loops without an end, no access to anything but the scope. Whole numbers are CEL ints,
 * as in the user's JSON, and may be mixed with doubles in arithmetic and comparisons.
 *
 * A hostile author is held off by limits: on the expression's length and nodes, and on time wherever an expression could
 * take long, that is where it walks lists or matches a pattern (JavaScript's, which may backtrack for ever).
 */
export class Expressions {
  readonly #environment = celEnvironment();
  readonly #timeLimit: TimeLimit;
  /** Parsed programs, the one used last at the end. */
  readonly #programs = new Map<string, ParseResult>();

  constructor(options: { readonly timeoutMs?: number } = {}) {
    this.#timeLimit = new TimeLimit(options.timeoutMs ?? 1000);
  }

  /** Fails with DECISION_INVALID, saying why and where, if the expression can not be read or can never be evaluated. */
  check(expression: string): void {
    const { valid, error } = this.#program(expression).check();
    if (!valid) throw invalid(expression, "is not valid", error);
  }

  /** Fails with DECISION_INVALID, also where the scope has not what the expression asks for. */
  evaluate(expression: string, scope: ExpressionScope): unknown {
    const program = this.#program(expression);
    const variables = { context: new JsonMap(scope.context), outputs: new JsonMap(scope.outputs) };
    const run = (): unknown => program(variables);
    try {
      return fromCel(mayTakeLong.test(expression) ? this.#timeLimit.run(run) : run());
    } catch (error) {
      // A program that was interrupted may have stopped anywhere.
      this.#programs.delete(expression);
      throw invalid(expression, "could not be evaluated", error);
    }
  }

  #program(expression: string): ParseResult {
    const known = this.#programs.get(expression);
    const program = known ?? this.#parse(expression);
    this.#programs.delete(expression);
    this.#programs.set(expression, program);
    if (this.#programs.size > programsMax) this.#programs.delete(this.#programs.keys().next().value as string);
    return program;
  }

  #parse(expression: string): ParseResult {
    if (expression.trim() === "") throw new EngineError("DECISION_INVALID", "the expression is blank");
    if (expression.length > lengthMax) {
      throw new EngineError(
        "DECISION_INVALID",
        `the expression ${shown(expression)} has more than ${lengthMax} characters`,
      );
    }
    try {
      return this.#environment.parse(expression);
    } catch (error) {
      throw invalid(expression, "is not valid", error);
    }
  }
}

function celEnvironment(): Environment {
  const environment = new Environment({
    homogeneousAggregateLiterals: false,
    limits: { maxAstNodes: astNodesMax },
  })
    .registerVariable("context", "map")
    .registerVariable("outputs", "map");
  // JSON has one kind of number, CEL has two and no int * double: without these `context.price * 1.2` would work for a
  // price of 9.5 and fail for one of 10.
  for (const operands of ["int OP double", "double OP int"]) {
    const register = (operator: string, result: string, apply: (a: number, b: number) => unknown): void => {
      const signature = `${operands.replace("OP", operator)}: ${result}`;
      environment.registerOperator(signature, (a: bigint | number, b: bigint | number) => apply(Number(a), Number(b)));
    };
    register("+", "double", (a, b) => a + b);
    register("-", "double", (a, b) => a - b);
    register("*", "double", (a, b) => a * b);
    register("/", "double", (a, b) => a / b);
  }
  environment.registerOperator("int == double: bool", (a: bigint, b: number) => Number(a) === b);
  return environment;
}

/** The words of all that walks lists or matches patterns. One in a name or a text only costs the guard. */
const mayTakeLong = /\b(?:all|exists|exists_one|filter|map|matches)\b/;

/** Ends what runs too long. It costs the start of a thread, most of a millisecond, so it is for the few who need it. */
class TimeLimit {
  readonly #timeoutMs: number;
  readonly #global: { call?: () => unknown } = {};
  readonly #script = new Script("call()");
  #realm: ReturnType<typeof createContext> | undefined;

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  run(call: () => unknown): unknown {
    this.#realm ??= createContext(this.#global);
    this.#global.call = call;
    try {
      return this.#script.runInContext(this.#realm, { timeout: this.#timeoutMs });
    } catch (error) {
      // Made in the other realm, so no `instanceof`.
      const timedOut = isObject(error) && error["code"] === "ERR_SCRIPT_EXECUTION_TIMEOUT";
      throw timedOut ? new Error(`it took longer than ${this.#timeoutMs} ms`, { cause: error }) : error;
    } finally {
      delete this.#global.call;
    }
  }
}

/**
 * A JSON object as a CEL map. What it holds is converted when it is asked for: an expression looks at a few values of a
 * context that may have megabytes. A map, not an object, because then no key is special: not even "constructor".
 * The map proper holds what has been converted; the methods below are all that the library calls.
 */
class JsonMap extends Map<string, unknown> {
  readonly #object: Readonly<Record<string, unknown>>;

  constructor(object: Readonly<Record<string, unknown>>) {
    super();
    this.#object = object;
  }

  override get size(): number {
    return Object.keys(this.#object).length;
  }

  override has(key: string): boolean {
    return Object.hasOwn(this.#object, key);
  }

  override get(key: string): unknown {
    if (!super.has(key) && this.has(key)) super.set(key, toCel(this.#object[key]));
    return super.get(key);
  }

  override keys(): MapIterator<string> {
    return new Map(Object.entries(this.#object)).keys();
  }

  override entries(): MapIterator<[string, unknown]> {
    return new Map(Object.keys(this.#object).map((key) => [key, this.get(key)])).entries();
  }

  override [Symbol.iterator](): MapIterator<[string, unknown]> {
    return this.entries();
  }
}

// The library knows a map by its constructor.
Object.defineProperty(JsonMap.prototype, "constructor", { value: Map });

function toCel(value: unknown): unknown {
  if (Number.isSafeInteger(value)) return BigInt(value as number);
  if (Array.isArray(value)) return value.map(toCel);
  return isObject(value) ? new JsonMap(value) : value;
}

/** Numbers, lists and maps as JSON has them; a timestamp or another of CEL's own types stays what it is. */
function fromCel(value: unknown): unknown {
  if (typeof value === "bigint" || value instanceof UnsignedInt) return Number(value);
  if (Array.isArray(value)) return value.map(fromCel);
  const entries = entriesOf(value);
  return entries === undefined ? value : Object.fromEntries(entries.map(([key, item]) => [key, fromCel(item)]));
}

/** Of a map: one of the scope's, or one that the expression wrote itself. */
function entriesOf(value: unknown): [string, unknown][] | undefined {
  if (value instanceof JsonMap) return [...value];
  return isObject(value) && value.constructor === Object ? Object.entries(value) : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function invalid(expression: string, what: string, cause: unknown): EngineError {
  return new EngineError(
    "DECISION_INVALID",
    `the expression ${shown(expression)} ${what}: ${reason(expression, cause)}`,
    {
      cause,
    },
  );
}

function reason(expression: string, cause: unknown): string {
  if (cause instanceof ParseError || cause instanceof EvaluationError || cause instanceof CelTypeError) {
    return cause.range === undefined ? cause.summary : `${cause.summary} (${position(expression, cause.range.start)})`;
  }
  return cause instanceof Error ? cause.message : String(cause);
}

function position(expression: string, offset: number): string {
  const lines = expression.slice(0, offset).split("\n");
  return `line ${lines.length}, column ${(lines.at(-1) ?? "").length + 1}`;
}
