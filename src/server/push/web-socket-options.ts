/** How the server takes WebSockets; what one message may have beyond that, each route says itself. */
export const webSocketOptions = {
  maxPayload: 16 * 1024 * 1024,
  // A token that came as a subprotocol is not said back.
  handleProtocols: (offered: ReadonlySet<string>): string | false => (offered.has("heddle") ? "heddle" : false),
};
