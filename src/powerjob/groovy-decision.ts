/**
 * Translates the Groovy script of a PowerJob decision into CEL: one expression over `context`, as most decisions are.
 * Everything else (statements, closures, classes, interpolated text) is left to people.
 */
export function translateDecision(groovy: string): string | undefined {
  const tokens = tokensOf(groovy);
  if (tokens === undefined) return undefined;
  try {
    return new Translation(tokens).whole();
  } catch (error) {
    if (error instanceof Untranslatable) return undefined;
    throw error;
  }
}

/** The script is more than an expression that both languages know. */
class Untranslatable extends Error {}

type Token = { readonly kind: "name" | "number" | "text" | "sign"; readonly text: string };

const tokenPattern =
  /\s+|\/\/[^\n]*|\/\*[\s\S]*?\*\/|(?<name>[A-Za-z_]\w*)|(?<number>\d+(?:\.\d+)?)[lLdDfFgG]?|(?<text>"(?:[^"\\$]|\\.)*"|'(?:[^'\\]|\\.)*')|(?<sign>\|\||&&|[=!<>]=|[!<>+\-*/%()[\].,;?:])/y;

function tokensOf(script: string): Token[] | undefined {
  const tokens: Token[] = [];
  tokenPattern.lastIndex = 0;
  for (let at = 0; at < script.length; at = tokenPattern.lastIndex) {
    const groups = tokenPattern.exec(script)?.groups;
    if (groups === undefined) return undefined;
    for (const kind of ["name", "number", "text", "sign"] as const) {
      const text = groups[kind];
      if (text !== undefined) tokens.push({ kind, text });
    }
  }
  return tokens;
}

/** Operators from the loosest to the tightest. */
const levels: readonly (readonly string[])[] = [
  ["||"],
  ["&&"],
  ["==", "!="],
  ["<", "<=", ">", ">="],
  ["+", "-"],
  ["*", "/", "%"],
];

/** Conversions of Groovy, as functions, methods and types of `as`, and what CEL calls them. */
const conversions: Readonly<Record<string, string>> = {
  "Integer.valueOf": "int",
  "Integer.parseInt": "int",
  "Long.valueOf": "int",
  "Long.parseLong": "int",
  "Double.valueOf": "double",
  "Double.parseDouble": "double",
  "Boolean.valueOf": "bool",
  "Boolean.parseBoolean": "bool",
  "String.valueOf": "string",
  toInteger: "int",
  toLong: "int",
  toDouble: "double",
  toBoolean: "bool",
  toString: "string",
  Integer: "int",
  int: "int",
  Long: "int",
  long: "int",
  Double: "double",
  double: "double",
  Boolean: "bool",
  boolean: "bool",
  String: "string",
};

const sameMethods = ["contains", "startsWith", "endsWith"];
const identifier = /^[A-Za-z_]\w*$/;

class Translation {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  whole(): string {
    this.#take("return");
    const cel = this.#choice();
    while (this.#take(";"));
    if (this.#at < this.#tokens.length) throw new Untranslatable();
    return cel;
  }

  #choice(): string {
    const condition = this.#binary(0);
    if (!this.#take("?")) return condition;
    const yes = this.#choice();
    this.#expect(":");
    return `${condition} ? ${yes} : ${this.#choice()}`;
  }

  #binary(level: number): string {
    const operators = levels[level];
    if (operators === undefined) return this.#unary();
    let left = this.#binary(level + 1);
    for (let sign = this.#takeOneOf(operators); sign !== undefined; sign = this.#takeOneOf(operators)) {
      left = joined(left, sign, this.#binary(level + 1));
    }
    return left;
  }

  #unary(): string {
    const sign = this.#takeOneOf(["!", "-"]);
    if (sign !== undefined) return `${sign}${this.#unary()}`;
    const value = this.#postfix();
    if (!this.#take("as")) return value;
    return converted(conversions[this.#name()], value);
  }

  #postfix(): string {
    let value = this.#primary();
    for (;;) {
      if (this.#take("[")) {
        value = `${value}[${this.#choice()}]`;
        this.#expect("]");
      } else if (this.#take(".")) {
        const name = this.#name();
        value = this.#take("(") ? called(value, name, this.#arguments()) : `${value}.${name}`;
      } else return value;
    }
  }

  #primary(): string {
    const token = this.#next();
    if (token.kind === "number") return token.text;
    if (token.kind === "text") return quoted(token.text);
    if (token.text === "(") {
      const inner = this.#choice();
      this.#expect(")");
      return `(${inner})`;
    }
    if (["context", "true", "false", "null"].includes(token.text)) return token.text;
    return this.#conversion(token);
  }

  /** `Integer.valueOf(x)`: the only classes that a decision may name. */
  #conversion({ kind, text }: Token): string {
    if (kind !== "name") throw new Untranslatable();
    this.#expect(".");
    const cel = conversions[`${text}.${this.#name()}`];
    this.#expect("(");
    const [value, ...others] = this.#arguments();
    if (value === undefined || others.length > 0) throw new Untranslatable();
    return converted(cel, value);
  }

  #arguments(): string[] {
    const given: string[] = [];
    if (this.#take(")")) return given;
    do given.push(this.#choice());
    while (this.#take(","));
    this.#expect(")");
    return given;
  }

  #next(): Token {
    const token = this.#tokens[this.#at++];
    if (token === undefined) throw new Untranslatable();
    return token;
  }

  #name(): string {
    const { kind, text } = this.#next();
    if (kind !== "name") throw new Untranslatable();
    return text;
  }

  #take(text: string): boolean {
    const token = this.#tokens[this.#at];
    if (token?.text !== text || token.kind === "text") return false;
    this.#at++;
    return true;
  }

  #takeOneOf(signs: readonly string[]): string | undefined {
    return signs.find((sign) => this.#take(sign));
  }

  #expect(text: string): void {
    if (!this.#take(text)) throw new Untranslatable();
  }
}

/** A missing key is null in Groovy, and an error in CEL: a comparison with null asks whether the key is there. */
function joined(left: string, sign: string, right: string): string {
  if (right === "null" && /^context\.\w+$/.test(left)) {
    if (sign === "==") return `!has(${left})`;
    if (sign === "!=") return `has(${left})`;
  }
  return `${left} ${sign} ${right}`;
}

function called(value: string, method: string, given: readonly string[]): string {
  const [argument] = given;
  if (argument === undefined) {
    if (method === "size" || method === "length") return `size(${value})`;
    if (method === "isEmpty") return `(size(${value}) == 0)`;
    return converted(conversions[method], value);
  }
  if (given.length > 1) throw new Untranslatable();
  if (value === "context" && method === "get") return memberOf(value, argument);
  if (value === "context" && method === "containsKey") return `(${argument} in context)`;
  if (method === "equals") return `(${value} == ${argument})`;
  if (sameMethods.includes(method)) return `${value}.${method}(${argument})`;
  throw new Untranslatable();
}

function memberOf(value: string, key: string): string {
  const name = key.startsWith('"') ? (JSON.parse(key) as string) : "";
  return identifier.test(name) ? `${value}.${name}` : `${value}[${key}]`;
}

function converted(cel: string | undefined, value: string): string {
  if (cel === undefined) throw new Untranslatable();
  return `${cel}(${value})`;
}

/** Text in single quotes becomes JSON text, which CEL reads alike. */
function quoted(text: string): string {
  const inner = text.slice(1, -1).replaceAll(/\\(.)/g, (whole, sign: string) => (/["'\\$]/.test(sign) ? sign : whole));
  if (/\\/.test(inner)) throw new Untranslatable();
  return JSON.stringify(inner);
}
