/** Wire types of Protocol Buffers. */
export const wireTypes = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;
export type WireType = (typeof wireTypes)[keyof typeof wireTypes];

/** A message that is not in the format: a fault of its sender. */
export class WireError extends Error {
  override readonly name = "WireError";
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** A varint has at most ten bytes, seven bits in each. */
const varintBytesMax = 10;

/** Bytes of a varint that fit into a small integer. */
const smallBytesMax = 4;

/** Reads the fields of one message. */
export class WireReader {
  readonly #bytes: Uint8Array;
  /** Number of messages around this one. */
  readonly depth: number;
  #at = 0;

  constructor(bytes: Uint8Array, depth = 0) {
    this.#bytes = bytes;
    this.depth = depth;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  /** A whole number of up to 64 bits, without its sign. */
  readVarint(): bigint {
    let value = 0n;
    for (let place = 0; place < varintBytesMax; place++) {
      const byte = this.#byte();
      value |= BigInt(byte & 0x7f) << BigInt(7 * place);
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
    throw new WireError(`a number has more than ${varintBytesMax} bytes`);
  }

  /** An `int32`: negative numbers take ten bytes. */
  readInteger(): number {
    return this.#small() ?? Number(BigInt.asIntN(32, this.readVarint()));
  }

  readTag(): { readonly number: number; readonly wireType: number } {
    const tag = this.#size();
    return { number: Math.floor(tag / 8), wireType: tag % 8 };
  }

  readBytes(): Uint8Array {
    const length = this.#size();
    if (length > this.#bytes.length - this.#at) throw new WireError("the message ends inside a field");
    return this.#bytes.subarray(this.#at, (this.#at += length));
  }

  readText(): string {
    const bytes = this.readBytes();
    try {
      return utf8.decode(bytes);
    } catch (error) {
      throw new WireError("a text is not UTF-8", { cause: error });
    }
  }

  /** Skips a field that is not in the table of the message. */
  skip(wireType: number): void {
    switch (wireType) {
      case wireTypes.varint:
        this.readVarint();
        break;
      case wireTypes.fixed64:
        this.#at += 8;
        break;
      case wireTypes.bytes:
        this.readBytes();
        break;
      case wireTypes.fixed32:
        this.#at += 4;
        break;
      default:
        throw new WireError(`a field has the unknown wire type ${wireType}`);
    }
    if (this.#at > this.#bytes.length) throw new WireError("the message ends inside a field");
  }

  #size(): number {
    return this.#small() ?? Number(this.readVarint());
  }

  /** A number of at most 28 bits; undefined, with nothing read, if there are more. */
  #small(): number | undefined {
    let value = 0;
    for (let place = 0; place < smallBytesMax; place++) {
      const byte = this.#bytes[this.#at + place];
      if (byte === undefined) throw new WireError("the message ends inside a number");
      value |= (byte & 0x7f) << (7 * place);
      if (byte < 0x80) {
        this.#at += place + 1;
        return value;
      }
    }
    return undefined;
  }

  #byte(): number {
    const byte = this.#bytes[this.#at++];
    if (byte === undefined) throw new WireError("the message ends inside a number");
    return byte;
  }
}

/** Writes the fields of one message. */
export class WireWriter {
  readonly #parts: Uint8Array[] = [];
  #length = 0;

  /** Numbers below zero are written with 64 bits, as the format has it. */
  writeVarint(value: bigint): void {
    const bytes: number[] = [];
    let rest = BigInt.asUintN(64, value);
    do {
      const low = Number(rest & 0x7fn);
      rest >>= 7n;
      bytes.push(rest === 0n ? low : low | 0x80);
    } while (rest !== 0n);
    this.#add(Uint8Array.from(bytes));
  }

  writeInteger(value: number): void {
    if (value < 0 || value > 0x0f_ff_ff_ff) return this.writeVarint(BigInt(value));
    const bytes: number[] = [];
    let rest = value;
    for (; rest > 0x7f; rest >>= 7) bytes.push((rest & 0x7f) | 0x80);
    bytes.push(rest);
    this.#add(Uint8Array.from(bytes));
  }

  writeTag(number: number, wireType: WireType): void {
    this.writeInteger(number * 8 + wireType);
  }

  writeBytes(bytes: Uint8Array): void {
    this.writeInteger(bytes.length);
    this.#add(bytes);
  }

  writeText(text: string): void {
    this.writeBytes(Buffer.from(text, "utf8"));
  }

  finish(): Buffer {
    return Buffer.concat(this.#parts, this.#length);
  }

  #add(bytes: Uint8Array): void {
    this.#parts.push(bytes);
    this.#length += bytes.length;
  }
}
