import { Script, createContext } from "node:vm";
import { EngineError } from "../base/error.ts";

const slowMs = 50;

/** The time that the decisions of one turn may take together. Expressions that are sure to be quick do not use it. */
export class TimeBudget {
  readonly limitMs: number;
  #usedMs = 0;

  constructor(limitMs = 1000) {
    this.limitMs = limitMs;
  }

  get isSlow(): boolean {
    return this.#usedMs > slowMs;
  }

  get remainingMs(): number {
    return Math.max(0, Math.floor(this.limitMs - this.#usedMs));
  }

  use(ms: number): void {
    this.#usedMs += ms;
  }
}

/**
 * Ends a call when its time budget is used up, also inside a regular expression. It starts a thread, which takes about
 * 0.2 ms, so cheap expressions run without it. It cannot interrupt a single built-in function of JavaScript; the limits of
 * `SizeLimits` keep each of those short.
 */
export class TimeLimit {
  readonly #global: { call?: () => unknown } = {};
  readonly #script = new Script("call()");
  #realm: ReturnType<typeof createContext> | undefined;

  run(call: () => unknown, budget: TimeBudget): unknown {
    const timeout = budget.remainingMs;
    if (timeout < 1) throw overBudget(budget);
    this.#realm ??= createContext(this.#global);
    this.#global.call = call;
    const startedAt = performance.now();
    try {
      return this.#script.runInContext(this.#realm, { timeout });
    } catch (error) {
      // The error belongs to the other realm, so `instanceof` does not know it.
      const timedOut = typeof error === "object" && error !== null && "code" in error;
      throw timedOut && error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT" ? overBudget(budget) : error;
    } finally {
      delete this.#global.call;
      budget.use(Math.max(1, performance.now() - startedAt));
    }
  }
}

function overBudget({ limitMs }: TimeBudget): EngineError {
  return tooExpensive(`the decisions of one turn may take ${limitMs} ms together, and took longer`);
}

function tooExpensive(message: string): EngineError {
  return new EngineError("DECISION_TOO_EXPENSIVE", message);
}

/** Maximum size of texts and lists that an expression makes, together: characters and items. */
const producedMax = 64 * 1024 * 1024;
/** Length of the text times length of the part: the worst case of a search by JavaScript's own functions. */
const searchMax = 100_000_000;
const patternLengthMax = 10_000;
const numberLengthMax = 1000;

/** A node of a parsed expression, as the library has it. */
interface CelNode {
  readonly op: string;
  readonly args: unknown;
  readonly meta: { readonly evaluate: Evaluate; readonly alternate?: unknown; readonly macro?: unknown };
  /** Present in a call, once it has been type-checked. */
  readonly receiverWithArgs?: readonly CelNode[];
  readonly handle: (...args: unknown[]) => unknown;
  evaluate: Evaluate;
}

interface Evaluator {
  run(node: CelNode, context: unknown): unknown;
}

type Evaluate = (evaluator: Evaluator, node: CelNode, context: unknown) => unknown;

/** Functions whose work is in proportion to the size of what they are given, with a small factor. */
const cheapCalls = new Set(["has", "size", "type", "int", "uint", "bool", "string", "dyn", "startsWith", "endsWith"]);

export interface ExpressionShape {
  readonly nodes: number;
  /** Each of its nodes is evaluated once, in time proportional to the size of what it looks at. */
  readonly isLinear: boolean;
}

/**
 * Keeps values small while expressions run: `guard` has every node that makes a text or a list, or calls a function whose
 * built-in implementation could take long, check sizes first.
 */
export class SizeLimits {
  #produced = 0;

  /** Resets the size limits; called before each evaluation. */
  reset(): void {
    this.#produced = 0;
  }

  guard(root: unknown): ExpressionShape {
    let isLinear = true;
    let nodes = 0;
    const open: unknown[] = [root];
    while (open.length > 0) {
      const next = open.pop();
      if (Array.isArray(next)) open.push(...(next as unknown[]));
      else if (isNode(next)) {
        nodes++;
        if (!this.#guardNode(next)) isLinear = false;
        if (next.op !== "value") open.push(next.args);
      }
    }
    return { nodes, isLinear };
  }

  /** Returns whether the node's work is linear. */
  #guardNode(node: CelNode): boolean {
    if (node.op === "+") {
      const { evaluate } = node.meta;
      node.evaluate = (evaluator, ast, context) => this.#produce(evaluate(evaluator, ast, context));
      return true;
    }
    if (node.op !== "call" && node.op !== "rcall") return true;
    const [name] = node.args as [string];
    // Macros are no calls: their parts are guarded one by one.
    if (node.meta.alternate === undefined && node.meta.macro === undefined) this.#guardCall(name, node);
    return cheapCalls.has(name);
  }

  #guardCall(name: string, node: CelNode): void {
    const check = this.#checks[name];
    if (check === undefined) return;
    node.evaluate = (evaluator, ast, context) => {
      const operands = ast.receiverWithArgs ?? (ast.args as [string, CelNode[]])[1];
      const values = operands.map((operand) => evaluator.run(operand, context));
      check(values);
      return ast.receiverWithArgs === undefined
        ? ast.handle(values, ast, evaluator)
        : ast.handle(values, evaluator, ast);
    };
  }

  readonly #checks: Readonly<Record<string, (values: readonly unknown[]) => void>> = {
    contains: (values) => checkSearch("contains", values),
    indexOf: (values) => checkSearch("indexOf", values),
    lastIndexOf: (values) => checkSearch("lastIndexOf", values),
    split: (values) => {
      checkSearch("split", values);
      this.#produce(values[0]);
    },
    join: ([list, separator]) => this.#add(joinedLength(list, sizeOf(separator))),
    trim: ([text]) => this.#produce(text),
    lowerAscii: ([text]) => this.#produce(text),
    upperAscii: ([text]) => this.#produce(text),
    bytes: ([text]) => this.#produce(text),
    string: ([value]) => this.#produce(value),
    json: ([bytes]) => this.#produce(bytes),
    base64: ([bytes]) => this.#add(2 * sizeOf(bytes)),
    hex: ([bytes]) => this.#add(2 * sizeOf(bytes)),
    matches: ([, pattern]) => checkLength("the pattern of matches", pattern, patternLengthMax),
    duration: ([text]) => checkLength("the text of duration", text, numberLengthMax / 10),
    double: ([text]) => checkLength("the text of double", text, numberLengthMax),
  };

  #produce(value: unknown): unknown {
    this.#add(sizeOf(value));
    return value;
  }

  #add(size: number): void {
    this.#produced += size;
    if (this.#produced > producedMax) {
      throw tooExpensive(
        `the texts and lists that it makes have more than ${producedMax} characters and items together`,
      );
    }
  }
}

function isNode(value: unknown): value is CelNode {
  return typeof value === "object" && value !== null && "op" in value && "args" in value;
}

function sizeOf(value: unknown): number {
  return typeof value === "string" || Array.isArray(value) || value instanceof Uint8Array ? value.length : 0;
}

function joinedLength(list: unknown, separator: number): number {
  if (!Array.isArray(list)) return 0;
  let length = 0;
  for (const item of list) length += sizeOf(item) + separator;
  return length;
}

function checkSearch(name: string, [text, part]: readonly unknown[]): void {
  if (sizeOf(text) * sizeOf(part) <= searchMax) return;
  throw tooExpensive(
    `${name} searches ${sizeOf(text)} characters for ${sizeOf(part)}; multiplied these may be ${searchMax} at most`,
  );
}

function checkLength(what: string, text: unknown, max: number): void {
  if (sizeOf(text) > max) throw tooExpensive(`${what} has ${sizeOf(text)} characters; ${max} are allowed`);
}
