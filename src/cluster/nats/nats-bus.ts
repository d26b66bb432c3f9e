import { EngineError, messageOf } from "../../base/error.ts";
import type { Bus, BusConnection, BusListener, BusParts } from "../bus.ts";
import { atMost, type BusSession, SessionKeeper } from "../session-keeper.ts";
import { type NatsAddress, subjectOf } from "./nats-address.ts";
import type { NatsClient, NatsConnection } from "./nats-client.ts";
import { readLogin } from "./nats-login.ts";

/** Timeout of connecting and logging in. */
const connectMs = 5000;

/** Time that a connection has to send the last messages before it is closed. */
const goodbyeMs = 500;

/** A connection that is silently cut off is detected after two probes without an answer. */
const probeMs = 5000;
const probesMax = 2;

/** Servers end a connection that sends a longer line than 4096 bytes, and the subject is part of one. */
const subjectLengthMax = 3000;

/** Bytes that the server has not confirmed, above which nothing more is taken; and above which a confirmation is asked for. */
const unconfirmedMax = 16 * 1024 * 1024;
const confirmAbove = 256 * 1024;

/**
 * Members over a NATS server: each listens on the subject of its address, so a message is a publication there, and an
 * answer one to the subject of the sender. Core NATS only, no stream: what a member does not hear is lost, as on any bus.
 */
export class NatsBus implements Bus {
  readonly kind = "nats";
  readonly #address: NatsAddress;
  readonly #load: () => Promise<NatsClient>;
  #opened: { client: NatsClient; parts: BusParts } | undefined;

  constructor(address: NatsAddress, load: () => Promise<NatsClient>) {
    this.#address = address;
    this.#load = load;
  }

  /** `OPTION_INVALID` if the package is missing, or a file of the login cannot be read. */
  async open(parts: BusParts): Promise<void> {
    const client = await this.#load();
    await readLogin(this.#address, client);
    this.#opened = { client, parts };
  }

  connect(address: string, listener: BusListener, onChanged: () => void = () => undefined): BusConnection {
    if (this.#opened === undefined) throw new EngineError("ENGINE_STATE", "the NATS bus was not opened");
    const { client, parts } = this.#opened;
    const { prefix, place } = this.#address;
    const subject = subjectOf(prefix, address);
    const keeper = new SessionKeeper({
      parts,
      bus: { kind: this.kind, place },
      open: () => NatsSession.open(client, { address: this.#address, name: address, subject, listener, parts }),
      onChanged,
    });
    return {
      get isConnected() {
        return keeper.session !== undefined;
      },
      send: (to, text) => keeper.session?.publish(subjectOf(prefix, to), text) ?? false,
      close: () => keeper.close(),
    };
  }
}

interface SessionOptions {
  readonly address: NatsAddress;
  /** Name of the connection in the server's monitoring. */
  readonly name: string;
  readonly subject: string;
  readonly listener: BusListener;
  readonly parts: BusParts;
}

/** One connection to a NATS server, subscribed to one subject. */
class NatsSession implements BusSession {
  readonly lost: Promise<unknown>;
  readonly #connection: NatsConnection;
  readonly #parts: BusParts;
  #isClosed = false;
  /** The error of the server that denies the subscription. */
  #refusal: Error | undefined;
  #unconfirmed = 0;
  #isConfirming = false;

  private constructor(connection: NatsConnection, { subject, listener, parts }: SessionOptions) {
    this.#connection = connection;
    this.#parts = parts;
    const { promise: refused, resolve: refuse } = Promise.withResolvers<Error>();
    this.lost = Promise.race([refused, this.#watchErrors(), connection.closed()]);
    connection.subscribe(subject, {
      callback: (error, message) => {
        if (error === null) return this.#deliver(listener, message.data);
        this.#refusal = error;
        refuse(error);
      },
    });
  }

  /** Resolves when the server has the subscription. Throws the client's errors. */
  static async open(client: NatsClient, options: SessionOptions): Promise<NatsSession> {
    const { address, name } = options;
    const connection = await client.connect({
      ...(await readLogin(address, client)),
      servers: [...address.servers],
      name: `heddle ${name}`,
      timeout: connectMs,
      pingInterval: probeMs,
      maxPingOut: probesMax,
      // The keeper of the session connects again.
      reconnect: false,
    });
    const session = new NatsSession(connection, options);
    try {
      // A connection that ends does not settle its flush.
      await Promise.race([connection.flush(), session.lost]);
      if (session.#refusal !== undefined) throw session.#refusal;
      if (connection.isClosed()) throw new Error("the server closed the connection");
      return session;
    } catch (error) {
      await session.close();
      throw error;
    }
  }

  /** False if the server's limit of a subject or a message, or that of unconfirmed bytes, is passed. */
  publish(subject: string, text: string): boolean {
    // Whoever sends a message says how it is called.
    if (subject.length > subjectLengthMax) return false;
    const bytes = Buffer.from(text);
    const lengthMax = this.#connection.info?.max_payload ?? 0;
    if (bytes.length > lengthMax || this.#unconfirmed > unconfirmedMax || this.#connection.isClosed()) return false;
    this.#connection.publish(subject, bytes);
    this.#unconfirmed += bytes.length;
    if (this.#unconfirmed > confirmAbove) void this.#confirm();
    return true;
  }

  /** Sends what was published before, if that takes no time. */
  async close(): Promise<void> {
    this.#isClosed = true;
    try {
      if (!this.#connection.isClosed()) await atMost(this.#parts.clock, goodbyeMs, this.#connection.flush());
      await this.#connection.close();
    } catch (error) {
      this.#parts.logger.debug({ error: messageOf(error) }, "the connection to NATS could not be closed gracefully");
    }
  }

  /** A server that confirms slowly is one that cannot keep up: nothing more is sent to it for a while. */
  async #confirm(): Promise<void> {
    if (this.#isConfirming) return;
    this.#isConfirming = true;
    const sent = this.#unconfirmed;
    try {
      await this.#connection.flush();
      this.#unconfirmed -= sent;
    } catch (error) {
      // The connection is lost, and this session with it.
      this.#parts.logger.debug({ error: messageOf(error) }, "NATS did not confirm what was sent");
    }
    this.#isConfirming = false;
  }

  /** The byte order mark is a character like others, so no `TextDecoder`. */
  #deliver(listener: BusListener, data: Uint8Array): void {
    if (this.#isClosed) return;
    try {
      listener(Buffer.from(data.buffer, data.byteOffset, data.length).toString("utf8"));
    } catch (error) {
      this.#parts.logger.error({ error: messageOf(error) }, "a listener on the bus threw");
    }
  }

  /** Resolves with the error when the server denies a subject: members would wait for messages that never come. */
  async #watchErrors(): Promise<unknown> {
    for await (const status of this.#connection.status()) {
      if (status.error?.name === "PermissionViolationError") return status.error;
    }
    return await this.#connection.closed();
  }
}
