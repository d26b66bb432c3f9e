import type { Socket } from "node:net";
import type { Refusal } from "../../api/envelope.ts";

const statusOf: Readonly<Record<string, string>> = {
  ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
};

const lingerMs = 1000;

/** Answers invalid HTTP with the error envelope, and closes the connection. */
export function answerClientError(error: Error & { readonly code?: string }, socket: Socket): void {
  // The client has disconnected.
  if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy();
  const refusal = refusalOf(error);
  const body = JSON.stringify(refusal);
  const head = [
    `HTTP/1.1 ${statusOf[error.code ?? ""] ?? "400 Bad Request"}`,
    "content-type: application/json; charset=utf-8",
    `content-length: ${Buffer.byteLength(body)}`,
    "connection: close",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
  // Closes the connection of a client that keeps sending.
  setTimeout(() => socket.destroy(), lingerMs).unref();
}

function refusalOf(error: Error & { readonly code?: string }): Refusal {
  if (error.code === "ERR_HTTP_REQUEST_TIMEOUT") {
    return {
      code: "REQUEST_TIMEOUT",
      message: "the request did not arrive completely in time: send all of it at once",
    };
  }
  return { code: "REQUEST_INVALID", message: `that is not a request of HTTP: ${error.message}` };
}
