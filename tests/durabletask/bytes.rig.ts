/**
 * Messages by hand, as bytes: the format of Protocol Buffers without the tables that the server reads and writes with, so
 * that a mistake in a table does not hide itself.
 */
type Part = Buffer;

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  return Buffer.from([...bytes, rest]);
}

/** A number; the default, 0, is not sent. */
export function int(field: number, value: number): Part {
  return value === 0 ? Buffer.alloc(0) : Buffer.concat([varint(field << 3), varint(value)]);
}

/** A message, or any other field with a length. */
export function part(field: number, ...parts: readonly Part[]): Part {
  const bytes = Buffer.concat(parts);
  return Buffer.concat([varint((field << 3) | 2), varint(bytes.length), bytes]);
}

export function text(field: number, value: string): Part {
  return part(field, Buffer.from(value));
}

/** A text in a `StringValue`. */
export function wrapped(field: number, value: string): Part {
  return part(field, text(1, value));
}

/** Fields of a message by their numbers, in the order in which they were sent. */
export type Read = ReadonlyMap<number, readonly (number | Buffer)[]>;

export function read(bytes: Buffer): Read {
  const fields = new Map<number, (number | Buffer)[]>();
  let at = 0;
  const number = (): number => {
    let [value, scale] = [0, 1];
    for (;;) {
      const byte = bytes[at++] ?? 0;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 128;
    }
  };
  while (at < bytes.length) {
    const tag = number();
    let value: number | Buffer = number();
    if ((tag & 7) === 2) {
      value = bytes.subarray(at, at + value);
      at += value.length;
    }
    fields.set(tag >>> 3, [...(fields.get(tag >>> 3) ?? []), value]);
  }
  return fields;
}

export function messageIn(fields: Read, field: number, place = 0): Read {
  const value = fields.get(field)?.[place];
  if (!Buffer.isBuffer(value)) throw new Error(`the message has no message ${place} in field ${field}`);
  return read(value);
}

export function textIn(fields: Read, field: number): string {
  const value = fields.get(field)?.[0] ?? Buffer.alloc(0);
  return Buffer.isBuffer(value) ? value.toString() : String(value);
}

/** A field that is not there is 0. */
export function intIn(fields: Read, field: number): number {
  return Number(fields.get(field)?.[0] ?? 0);
}
