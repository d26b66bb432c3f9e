import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect, type Socket } from "node:net";

/** A WebSocket that speaks the protocol by hand, and reads when it is told to. */
export async function openRaw(server: { readonly url: string }, path = "/ws", token = ""): Promise<Socket> {
  const { hostname, port, host } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  const key = randomBytes(16).toString("base64");
  socket.write(
    `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\n${token === "" ? "" : `Authorization: Bearer ${token}\r\n`}\r\n`,
  );
  const [head] = (await once(socket, "data")) as [Buffer];
  const accepted = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
  assert.ok(head.toString().includes(accepted), head.toString());
  return socket;
}

export const opcodes = { text: 0x1, close: 0x8, ping: 0x9, pong: 0xa } as const;

/** A whole frame of a client, masked with zeros. */
export function frameOf(opcode: number, payload: Buffer | string): Buffer {
  const bytes = Buffer.from(payload);
  return Buffer.concat([frameHead(opcode, bytes.length), bytes]);
}

/** The head of a frame that announces so many bytes. */
export function frameHead(opcode: number, length: number): Buffer {
  const mask = Buffer.alloc(4);
  if (length < 126) return Buffer.concat([Buffer.from([0x80 | opcode, 0x80 | length]), mask]);
  const size = Buffer.alloc(8);
  size.writeBigUInt64BE(BigInt(length));
  return Buffer.concat([Buffer.from([0x80 | opcode, 0xff]), size, mask]);
}

export function textFrame(text: string): Buffer {
  return frameOf(opcodes.text, text);
}

/** Code and reason of the frame that closes the socket. Reads on until it comes. */
export async function closeOf(socket: Socket): Promise<{ code: number; reason: string }> {
  let tail = Buffer.alloc(0);
  const read = (chunk: Buffer): void => void (tail = Buffer.concat([tail, chunk]).subarray(-4096));
  socket.on("data", read);
  socket.on("error", () => undefined);
  socket.resume();
  await once(socket, "end");
  // The last frame: 0x88, its length, a code of two bytes, and the reason.
  for (let at = tail.length - 2; at >= 0; at--) {
    if (tail[at] !== 0x88 || tail[at + 1] !== tail.length - at - 2) continue;
    return { code: tail.readUInt16BE(at + 2), reason: tail.subarray(at + 4).toString() };
  }
  throw new Error("it was closed without a word");
}
