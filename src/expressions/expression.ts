import { Environment, EvaluationError, ParseError, TypeError as CelTypeError } from "@marcbachmann/cel-js";
import type { ParseResult } from "@marcbachmann/cel-js";
import { UnsignedInt } from "@marcbachmann/cel-js/evaluator";
import { EngineError, hasCode } from "../base/error.ts";
import { preview } from "../base/preview.ts";
import { type ExpressionShape, SizeLimits, type TimeBudget, TimeLimit } from "./expression-cost.ts";

/** Variables of an expression: JSON texts. Those that it looks at are parsed. */
export interface ExpressionScope {
  readonly context: Readonly<Record<string, string>>;
  /** Outputs by task name. */
  readonly outputs: Readonly<Record<string, string>>;
}

interface Program extends ExpressionShape {
  readonly run: ParseResult;
}

const programsMax = 1000;
const lengthMax = 10_000;
const astNodesMax = 2000;
const reasonLengthMax = 500;
const invalidPattern = "Invalid regular expression: ";
/** Nodes of the expression times characters of the scope: below it, evaluation takes some milliseconds at most. */
const quickWorkMax = 1_000_000;

/**
 * The decisions' language, CEL: no loops without an end, no access to anything but the scope. Whole numbers are CEL ints,
 * as in the user's JSON, and may be mixed with doubles in arithmetic and comparisons.
 *
 * Hostile expressions and inputs meet limits: on the expression's length and nodes, on the sizes of values it makes, and on
 * time. Only an expression that is sure to be quick, by its shape and the size of its scope, runs without a time limit.
 */
export class Expressions {
  readonly #environment = celEnvironment();
  readonly #sizeLimits = new SizeLimits();
  readonly #timeLimit = new TimeLimit();
  /** Parsed programs, the one used last at the end. */
  readonly #programs = new Map<string, Program>();

  /** Fails with DECISION_INVALID, saying why and where, if the expression can not be read or can never be evaluated. */
  check(expression: string): void {
    const { valid, error } = this.#program(expression).run.check();
    if (!valid) throw invalid(expression, "is not valid", error);
  }

  /**
   * Fails with DECISION_INVALID, also where the scope has not what the expression asks for, and with
   * DECISION_TOO_EXPENSIVE when the budget is used up or a value grows too large.
   */
  evaluate(expression: string, scope: ExpressionScope, budget: TimeBudget): unknown {
    const program = this.#program(expression);
    const run = (): unknown => {
      return fromCel(
        program.run({ context: new JsonMap(scope.context, parse), outputs: new JsonMap(scope.outputs, parse) }),
      );
    };
    this.#sizeLimits.reset();
    try {
      return isQuick(program, scope) ? run() : this.#timeLimit.run(run, budget);
    } catch (error) {
      // A program that was interrupted may have stopped anywhere.
      this.#programs.delete(expression);
      throw invalid(expression, "could not be evaluated", error);
    }
  }

  #program(expression: string): Program {
    const known = this.#programs.get(expression);
    const program = known ?? this.#parse(expression);
    this.#programs.delete(expression);
    this.#programs.set(expression, program);
    if (this.#programs.size > programsMax) this.#programs.delete(this.#programs.keys().next().value as string);
    return program;
  }

  #parse(expression: string): Program {
    if (expression.trim() === "") throw new EngineError("DECISION_INVALID", "the expression is blank");
    if (expression.length > lengthMax) {
      throw new EngineError(
        "DECISION_INVALID",
        `the expression ${preview(expression)} has more than ${lengthMax} characters`,
      );
    }
    try {
      const run = this.#environment.parse(expression);
      return { run, ...this.#sizeLimits.guard(run.ast) };
    } catch (error) {
      throw invalid(expression, "is not valid", error);
    }
  }
}

function isQuick({ nodes, isLinear }: Program, { context, outputs }: ExpressionScope): boolean {
  return isLinear && nodes * (sizeOf(context) + sizeOf(outputs)) <= quickWorkMax;
}

function sizeOf(texts: Readonly<Record<string, string>>): number {
  let size = 0;
  for (const key in texts) size += key.length + (texts[key] as string).length;
  return size;
}

/** Exported for the test that tries every function and operator of it. */
export function celEnvironment(): Environment {
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

/**
 * A JSON object as a CEL map. What it holds is converted when it is asked for: an expression looks at a few values of a
 * context that may have megabytes. A map, not an object, because then no key is special: not even "constructor".
 * The map proper holds what has been converted; the methods below are all that the library calls.
 */
class JsonMap<T> extends Map<string, unknown> {
  readonly #object: Readonly<Record<string, T>>;
  readonly #convert: (value: T) => unknown;

  constructor(object: Readonly<Record<string, T>>, convert: (value: T) => unknown) {
    super();
    this.#object = object;
    this.#convert = convert;
  }

  override get size(): number {
    return Object.keys(this.#object).length;
  }

  override has(key: string): boolean {
    return Object.hasOwn(this.#object, key);
  }

  override get(key: string): unknown {
    if (!super.has(key) && this.has(key)) super.set(key, this.#convert(this.#object[key] as T));
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
  return isObject(value) ? new JsonMap(value, toCel) : value;
}

function parse(text: string): unknown {
  return toCel(JSON.parse(text));
}

/** Numbers, lists and maps as JSON has them; a timestamp or another of CEL's own types stays what it is. */
function fromCel(value: unknown): unknown {
  if (typeof value === "bigint" || value instanceof UnsignedInt) return Number(value);
  if (Array.isArray(value)) return value.map(fromCel);
  const entries = entriesOf(value);
  return entries === undefined ? value : Object.fromEntries(entries.map(([key, item]) => [key, fromCel(item)]));
}

/** Entries of a map: one of the scope's, or one that the expression wrote itself. */
function entriesOf(value: unknown): [string, unknown][] | undefined {
  if (value instanceof JsonMap) return [...value];
  return isObject(value) && value.constructor === Object ? Object.entries(value) : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function invalid(expression: string, what: string, cause: unknown): EngineError {
  const code = hasCode(cause, "DECISION_TOO_EXPENSIVE") ? cause.code : "DECISION_INVALID";
  const why = reason(expression, cause);
  const brief = why.length > reasonLengthMax ? `${why.slice(0, reasonLengthMax)}…` : why;
  return new EngineError(code, `the expression ${preview(expression)} ${what}: ${brief}`, { cause });
}

function reason(expression: string, cause: unknown): string {
  if (cause instanceof ParseError || cause instanceof EvaluationError || cause instanceof CelTypeError) {
    const summary = explainPattern(cause.summary);
    return cause.range === undefined ? summary : `${summary} (${position(expression, cause.range.start)})`;
  }
  return cause instanceof Error ? cause.message : String(cause);
}

/** The library calls every pattern invalid that cannot be matched, also one that is too much for the machine. */
function explainPattern(summary: string): string {
  const pattern = summary.startsWith(invalidPattern) ? summary.slice(invalidPattern.length) : undefined;
  if (pattern === undefined || !isPattern(pattern)) return summary;
  return `the regular expression ${preview(pattern)} is too large or too complex for the text that it is matched with`;
}

function isPattern(text: string): boolean {
  try {
    return new RegExp(text).source !== "";
  } catch {
    return false;
  }
}

function position(expression: string, offset: number): string {
  const lines = expression.slice(0, offset).split("\n");
  return `line ${lines.length}, column ${(lines.at(-1) ?? "").length + 1}`;
}
