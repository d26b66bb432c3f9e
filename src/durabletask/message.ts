import { WireError, WireReader, type WireType, WireWriter, wireTypes } from "./wire.ts";

/**
 * A message of Protocol Buffers is a table of its fields, and the type of its values follows from the table. Unknown
 * fields are skipped. An absent scalar has its default; a message and a wrapper (`StringValue`) may be undefined.
 */
export interface Message<T> {
  /** `WireError` if the bytes are no such message. */
  decode(bytes: Uint8Array): T;
  /** Fields that are left out, at any depth, have their default. */
  encode(value: Given<T>): Buffer;
  readFrom(reader: WireReader): T;
}

/** A value to write: any of its fields may be left out. */
export type Given<T> = T extends readonly (infer Item)[]
  ? readonly Given<Item>[]
  : T extends ReadonlyMap<string, string>
    ? T
    : T extends object
      ? { readonly [K in keyof T]?: Given<T[K]> | undefined }
      : T;

/** The values of a message. */
export type ValueOf<M> = M extends Message<infer T> ? T : never;

/** One row of the table: the field's number, and how its value is read and written. */
export interface Field<T> {
  readonly number: number;
  readonly wireType: WireType;
  readonly initial: () => T;
  /** `before` is the value so far, made by `initial`; a repeated field is added to it, in place. */
  readonly read: (reader: WireReader, before: T) => T;
  /** Reads a repeated number that its sender did not pack. */
  readonly readUnpacked?: (reader: WireReader, before: T) => T;
  /** Returns what writes the values, each behind a tag of its own; nothing for the default. */
  readonly write: (value: Given<T>) => readonly Write[];
}

type Write = (writer: WireWriter) => void;

export type Fields<T> = { readonly [K in keyof T]: Field<T[K]> };

/** Limit of nested messages: failures have inner failures, and a sender could nest them until the stack is full. */
const depthMax = 64;

export function message<T extends object>(fields: Fields<T>): Message<T> {
  const names = Object.keys(fields) as (keyof T)[];
  const byNumber = new Map(names.map((name) => [fields[name].number, name]));
  const readFrom = (reader: WireReader): T => {
    if (reader.depth > depthMax) throw new WireError(`messages are nested more than ${depthMax} times`);
    const value: Partial<T> = {};
    for (const name of names) value[name] = fields[name].initial();
    while (!reader.isAtEnd) {
      const { number, wireType } = reader.readTag();
      const name = byNumber.get(number);
      const field = name === undefined ? undefined : fields[name];
      const read = field?.wireType === wireType ? field.read : unpackedReader(field, wireType);
      if (name === undefined || read === undefined) reader.skip(wireType);
      else value[name] = read(reader, value[name] as T[typeof name]);
    }
    return value as T;
  };
  return {
    decode: (bytes) => readFrom(new WireReader(bytes)),
    encode: (value) => {
      const writer = new WireWriter();
      for (const name of names) writeField(writer, fields[name], (value as { [K in keyof T]?: Given<T[K]> })[name]);
      return writer.finish();
    },
    readFrom,
  };
}

function unpackedReader<T>(field: Field<T> | undefined, wireType: number): Field<T>["readUnpacked"] {
  return wireType === wireTypes.varint ? field?.readUnpacked : undefined;
}

function writeField<T>(writer: WireWriter, { number, wireType, write }: Field<T>, value: Given<T> | undefined): void {
  if (value === undefined) return;
  for (const writeOne of write(value)) {
    writer.writeTag(number, wireType);
    writeOne(writer);
  }
}

// Scalars

export function text(number: number): Field<string> {
  return {
    number,
    wireType: wireTypes.bytes,
    initial: () => "",
    read: (reader) => reader.readText(),
    write: (value) => (value === "" ? [] : [(writer) => writer.writeText(value)]),
  };
}

export function flag(number: number): Field<boolean> {
  return {
    number,
    wireType: wireTypes.varint,
    initial: () => false,
    read: (reader) => reader.readVarint() !== 0n,
    write: (value) => (value ? [(writer) => writer.writeInteger(1)] : []),
  };
}

/** An `int32`, or an enum. */
export function integer(number: number): Field<number> {
  return {
    number,
    wireType: wireTypes.varint,
    initial: () => 0,
    read: (reader) => reader.readInteger(),
    write: (value) => (value === 0 ? [] : [(writer) => writer.writeInteger(value)]),
  };
}

// Messages and wrappers, which may be absent

export function optional<T>(number: number, of: Message<T>): Field<T | undefined> {
  return {
    number,
    wireType: wireTypes.bytes,
    initial: () => undefined,
    read: (reader) => of.readFrom(inner(reader)),
    write: (value) => (value === undefined ? [] : [nested(of, value as Given<T>)]),
  };
}

/** A `google.protobuf.StringValue`: a text that may be absent. */
export function optionalText(number: number): Field<string | undefined> {
  return converted(number, message({ value: text(1) }), { from: ({ value }) => value, to: (value) => ({ value }) });
}

/** A `google.protobuf.BoolValue`. */
export function optionalFlag(number: number): Field<boolean | undefined> {
  return converted(number, message({ value: flag(1) }), { from: ({ value }) => value, to: (value) => ({ value }) });
}

const nanosPerMs = 1_000_000;

/** A `google.protobuf.Timestamp`, as milliseconds since 1970. */
export function optionalTime(number: number): Field<number | undefined> {
  return converted(number, timestamp, {
    from: ({ seconds, nanos }) => Number(seconds) * 1000 + Math.floor(nanos / nanosPerMs),
    to: timestampOf,
  });
}

/** A `google.protobuf.Timestamp` at which something is due: never a fraction of a millisecond early. */
export function dueTime(number: number): Field<number | undefined> {
  return converted(number, timestamp, {
    from: ({ seconds, nanos }) => Number(seconds) * 1000 + Math.ceil(nanos / nanosPerMs),
    to: timestampOf,
  });
}

function timestampOf(ms: number): { seconds: bigint; nanos: number } {
  const seconds = Math.floor(ms / 1000);
  return { seconds: BigInt(seconds), nanos: Math.round((ms - seconds * 1000) * nanosPerMs) };
}

function signed64(number: number): Field<bigint> {
  return {
    number,
    wireType: wireTypes.varint,
    initial: () => 0n,
    read: (reader) => BigInt.asIntN(64, reader.readVarint()),
    write: (value) => (value === 0n ? [] : [(writer) => writer.writeVarint(value)]),
  };
}

const timestamp = message({ seconds: signed64(1), nanos: integer(2) });

interface Conversion<T, Value> {
  readonly from: (value: T) => Value;
  readonly to: (value: Value) => T;
}

/** A message that stands for a plain value. */
function converted<T, Value extends string | number | boolean>(
  number: number,
  of: Message<T>,
  { from, to }: Conversion<T, Value>,
): Field<Value | undefined> {
  return {
    number,
    wireType: wireTypes.bytes,
    initial: () => undefined,
    read: (reader) => from(of.readFrom(inner(reader))),
    write: (value) => (value === undefined ? [] : [nested(of, to(value as Value) as Given<T>)]),
  };
}

// Lists and maps

export function list<T>(number: number, of: Message<T>): Field<readonly T[]> {
  return {
    number,
    wireType: wireTypes.bytes,
    initial: () => [],
    read: (reader, before) => added(before, of.readFrom(inner(reader))),
    write: (values) => values.map((value) => nested(of, value)),
  };
}

export function texts(number: number): Field<readonly string[]> {
  return {
    number,
    wireType: wireTypes.bytes,
    initial: () => [],
    read: (reader, before) => added(before, reader.readText()),
    write: (values) => values.map((value) => (writer: WireWriter) => writer.writeText(value)),
  };
}

/** A repeated enum, packed into one field. */
export function integers(number: number): Field<readonly number[]> {
  return {
    number,
    wireType: wireTypes.bytes,
    initial: () => [],
    read: (reader, before) => {
      for (const values = inner(reader); !values.isAtEnd;) added(before, values.readInteger());
      return before;
    },
    readUnpacked: (reader, before) => added(before, reader.readInteger()),
    write: (values) => (values.length === 0 ? [] : [(writer) => writer.writeBytes(packed(values))]),
  };
}

function packed(values: readonly number[]): Buffer {
  const writer = new WireWriter();
  for (const value of values) writer.writeInteger(value);
  return writer.finish();
}

/** A `map<string, string>`. */
export function textMap(number: number): Field<ReadonlyMap<string, string>> {
  return {
    number,
    wireType: wireTypes.bytes,
    initial: () => new Map(),
    read: (reader, before) => {
      const { key, value } = mapEntry.readFrom(inner(reader));
      return (before as Map<string, string>).set(key, value);
    },
    write: (map) => [...map].map(([key, value]) => nested(mapEntry, { key, value })),
  };
}

const mapEntry = message({ key: text(1), value: text(2) });

function added<T>(values: readonly T[], value: T): readonly T[] {
  (values as T[]).push(value);
  return values;
}

function inner(reader: WireReader): WireReader {
  return new WireReader(reader.readBytes(), reader.depth + 1);
}

function nested<T>(of: Message<T>, value: Given<T>): Write {
  return (writer) => writer.writeBytes(of.encode(value));
}
