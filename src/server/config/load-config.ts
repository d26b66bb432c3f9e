import { readFileSync } from "node:fs";
import { dirname, isAbsolute, join, relative, resolve } from "node:path";
import { didYouMean } from "../../base/closest-name.ts";
import { messageOf } from "../../base/error.ts";
import { preview } from "../../base/preview.ts";
import { type ConfigKey, configKeys, flagOf, type KeyKind, keyNames, variableOf } from "./config-key.ts";
import { at, sentences, unusable, type Where } from "./config-problem.ts";
import { type GivenConfig, type ServerConfig, serverConfigSchema } from "./server-config.ts";

/** Where the settings of a server come from. The first source that sets a key wins. */
export interface ConfigSources {
  /** Flags as text; they take precedence. */
  readonly flags?: Partial<Readonly<Record<ConfigKey, string>>>;
  /** Environment variables, after flags. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Configuration file, after variables; default: `heddle.config.json` in the folder, if it exists. Null for none. */
  readonly file?: string | null | undefined;
  /** Defaults that replace those of the schema. */
  readonly defaults?: Partial<Readonly<Record<ConfigKey, string>>>;
  /** The working folder, to which paths in flags and variables are relative. Paths in a file are relative to its own folder. */
  readonly folder?: string;
}

/** Variables of Heddle that are not server settings. */
const otherVariables = ["HEDDLE_CONFIG", "HEDDLE_TOKEN", "HEDDLE_URL"];

const defaultFile = "heddle.config.json";

/** A value with its source. */
interface Setting {
  readonly key: ConfigKey;
  readonly value: unknown;
  readonly from: string;
}

/** Loads and validates the configuration. `OPTION_INVALID` names every invalid key, its source, and the allowed values. */
export function loadConfig(sources: ConfigSources = {}): ServerConfig {
  const { flags = {}, environment = {}, defaults = {}, folder = process.cwd() } = sources;
  const problems: string[] = [];
  const named = sources.file ?? environment["HEDDLE_CONFIG"];
  const file = sources.file === null ? undefined : readConfigFile(named, folder);
  const inFile = file === undefined ? { settings: [], rest: {} } : settingsOfFile(file);
  const settings = [
    ...settingsOfFlags(defaults, folder, problems),
    ...inFile.settings,
    ...settingsOfEnvironment(environment, folder, problems),
    ...settingsOfFlags(flags, folder, problems),
  ];
  const given = structuredClone(inFile.rest);
  const origins = new Map<string, string>();
  for (const setting of settings) {
    put(given, setting.key.split("."), setting.value);
    origins.set(setting.key, setting.from);
  }
  return checkedConfig(given, { where: { origins, whole: file?.name ?? "the configuration" }, folder, problems });
}

/** Validates a configuration object and adds the defaults. `OPTION_INVALID`. */
export function serverConfig(given: GivenConfig = {}, folder: string = process.cwd()): ServerConfig {
  return checkedConfig(given, { where: { origins: new Map(), whole: "serverConfig" }, folder, problems: [] });
}

function checkedConfig(
  given: object,
  { where, folder, problems }: { where: Where; folder: string; problems: string[] },
): ServerConfig {
  const checked = serverConfigSchema.safeParse(given);
  if (!checked.success) problems.push(...checked.error.issues.flatMap((issue) => sentences(issue, given, where)));
  if (problems.length > 0 || !checked.success) throw unusable(problems);
  const data = resolve(folder, checked.data.data);
  return { ...checked.data, data, storage: addressOf(checked.data.storage) ?? `sqlite:${join(data, "heddle.db")}` };
}

// The file

interface ConfigFile {
  readonly name: string;
  readonly folder: string;
  readonly content: Record<string, unknown>;
}

function readConfigFile(named: string | undefined, folder: string): ConfigFile | undefined {
  const path = resolve(folder, named ?? defaultFile);
  const short = relative(folder, path);
  const name = short.startsWith("..") ? path : short;
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (named === undefined && (error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw unusable([`${name} cannot be read: ${messageOf(error)}`]);
  }
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch (error) {
    throw unusable([`${name} is not JSON: ${messageOf(error)}`]);
  }
  if (typeof content !== "object" || content === null || Array.isArray(content)) {
    throw unusable([`${name} must hold one object, such as { "port": 7411 }, and holds ${preview(content)}`]);
  }
  const { $schema: _schema, ...rest } = content as Record<string, unknown>;
  return { name, folder: dirname(path), content: rest };
}

/** The settings of a file; unknown keys are left to the schema, which refuses them. */
function settingsOfFile({ name, folder, content }: ConfigFile): { settings: Setting[]; rest: Record<string, unknown> } {
  const rest = structuredClone(content);
  const settings = keyNames.flatMap((key): Setting[] => {
    const value = at(content, key.split("."));
    return value === undefined ? [] : [{ key, value: fromFolder(key, value, folder), from: `${name}: ${key}` }];
  });
  return { settings, rest };
}

// Variables and flags

function settingsOfEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
  folder: string,
  problems: string[],
): Setting[] {
  const known = keyNames.map(variableOf);
  for (const name of Object.keys(environment)) {
    if (!name.startsWith("HEDDLE_") || known.includes(name) || otherVariables.includes(name)) continue;
    // Secrets of ready-made jobs.
    if (name.startsWith("HEDDLE_SECRET_")) continue;
    // Orchestrators use the prefix too, for variables named after services. Only near misses are refused.
    const meant = didYouMean(name, known);
    if (meant !== "") problems.push(`the variable ${name} is not a setting${meant}`);
  }
  return keyNames.flatMap((key) => {
    const name = variableOf(key);
    const text = environment[name] ?? "";
    return text === "" ? [] : readText({ key, text, from: `the variable ${name}` }, folder, problems);
  });
}

function settingsOfFlags(
  flags: Partial<Readonly<Record<ConfigKey, string>>>,
  folder: string,
  problems: string[],
): Setting[] {
  return keyNames.flatMap((key) => {
    const text = flags[key];
    return text === undefined ? [] : readText({ key, text, from: `the flag ${flagOf(key)}` }, folder, problems);
  });
}

function readText(
  { key, text, from }: { key: ConfigKey; text: string; from: string },
  folder: string,
  problems: string[],
): Setting[] {
  try {
    return [{ key, value: fromFolder(key, valueOf(text, configKeys[key]), folder), from }];
  } catch (error) {
    problems.push(`${key} (${from}) ${messageOf(error)}`);
    return [];
  }
}

function valueOf(text: string, kind: KeyKind): unknown {
  switch (kind) {
    case "number":
      // An empty text would count as 0; the schema refuses other texts.
      return text.trim() === "" || Number.isNaN(Number(text)) ? text : Number(text);
    case "switch":
      return { true: true, false: false, 1: true, 0: false }[text.toLowerCase()] ?? text;
    case "list":
    case "paths":
      return text
        .split(",")
        .map((each) => each.trim())
        .filter((each) => each !== "");
    case "json":
      try {
        return JSON.parse(text) as unknown;
      } catch {
        throw new Error("must be JSON, and is not");
      }
    default:
      return text;
  }
}

/** Resolves paths against the folder of their source. */
function fromFolder(key: ConfigKey, value: unknown, folder: string): unknown {
  const kind: KeyKind = configKeys[key];
  if (kind === "path" && typeof value === "string" && value !== "") return resolve(folder, value);
  if (kind === "paths" && Array.isArray(value)) {
    return value.map((each: unknown) => (typeof each === "string" && each !== "" ? resolve(folder, each) : each));
  }
  if (key === "storage") return storageFrom(value, folder);
  return value;
}

/** Converts a storage object to an address. */
function addressOf(storage: GivenConfig["storage"]): string | undefined {
  if (typeof storage !== "object") return storage;
  return storage.databaseType === "sqlite" ? `sqlite:${storage.url.replace(/^sqlite:/i, "")}` : storage.url;
}

/** Resolves the path of a SQLite address; other values are left to the schema. */
function storageFrom(value: unknown, folder: string): unknown {
  const isFile = at(value, ["databaseType"]) === "sqlite" && typeof at(value, ["url"]) === "string";
  const address = isFile ? addressOf(value as GivenConfig["storage"]) : value;
  return typeof address === "string" ? fileFrom(address, folder) : value;
}

function fileFrom(address: string, folder: string): string {
  const file = /^sqlite:(.+)$/i.exec(address)?.[1];
  if (file === undefined || file === ":memory:" || isAbsolute(file)) return address;
  return `sqlite:${resolve(folder, file)}`;
}

function put(target: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const [first = "", ...rest] = path;
  if (rest.length === 0) {
    target[first] = value;
    return;
  }
  const inner = target[first];
  const isObject = typeof inner === "object" && inner !== null && !Array.isArray(inner);
  const object = isObject ? (inner as Record<string, unknown>) : {};
  target[first] = object;
  put(object, rest, value);
}
