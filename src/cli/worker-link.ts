import { withoutEndSlashes } from "../base/url-text.ts";
import type { Link, LinkListener } from "../dispatch/link.ts";

/** What is said before the connection stands is kept, up to this much. */
const keptMax = 1000;

/** The worker's end of a link to a server, over a WebSocket. */
export function connectWorker(
  { url, token }: { url: string; token: string | undefined },
  listener: LinkListener,
): Link {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const socket = new WebSocket(`${withoutEndSlashes(url.replace(/^http/, "ws"))}/ws/worker`, { headers });
  let early: string[] = [];
  let isClosed = false;
  socket.addEventListener("open", () => {
    for (const text of early) socket.send(text);
    early = [];
  });
  socket.addEventListener("message", ({ data }) => {
    if (!isClosed) listener.receive(String(data));
  });
  socket.addEventListener("close", ({ reason }) => {
    if (isClosed) return;
    isClosed = true;
    listener.closed(reason === "" ? undefined : reason);
  });
  return {
    send: (text) => {
      if (isClosed) return;
      if (socket.readyState === WebSocket.OPEN) socket.send(text);
      else if (socket.readyState === WebSocket.CONNECTING && early.length < keptMax) early.push(text);
    },
    close: () => {
      isClosed = true;
      socket.close();
    },
  };
}
