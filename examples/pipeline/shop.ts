/** A shop that never was: its tables are made from a seed, so that every run finds the same rows. */

export const tables = ["customers", "products", "orders", "order-lines", "payments", "shipments"] as const;
export type Table = (typeof tables)[number];

export interface Customer {
  readonly id: number;
  readonly country: string;
}

export interface Product {
  readonly id: number;
  readonly name: string;
  readonly cents: number;
  readonly currency: Currency;
}

export interface Order {
  readonly id: number;
  readonly customer: number;
  /** Of the month, from 1. */
  readonly day: number;
}

export interface OrderLine {
  readonly order: number;
  readonly product: number;
  readonly quantity: number;
}

export interface Payment {
  readonly order: number;
  readonly isPaid: boolean;
}

export interface Shipment {
  readonly order: number;
  readonly days: number;
}

export type Currency = "EUR" | "USD" | "GBP";

const counts = { customers: 2000, products: 300, orders: 8000 };
const countries = ["Austria", "Belgium", "Denmark", "Finland", "Greece", "Ireland", "Norway", "Spain"];
const currencies: readonly Currency[] = ["EUR", "USD", "GBP"];
const colours = ["red", "blue", "green", "grey", "natural", "black"];
const fibres = ["wool", "linen", "silk", "cotton", "hemp"];
const things = ["yarn", "shuttle", "heddle", "reed", "scarf", "blanket", "bobbin", "warp", "ribbon", "loom"];

/** Rows `from` up to `to` of a table, as parts of its whole: 0 is its beginning, 1 its end. */
export function readTable(table: Table, from: number, to: number): unknown[] {
  const count = table === "customers" || table === "products" ? counts[table] : counts.orders;
  const rows: unknown[] = [];
  for (let id = Math.round(count * from); id < Math.round(count * to); id++) rows.push(...rowsOf[table](id));
  return rows;
}

const rowsOf: Readonly<Record<Table, (id: number) => unknown[]>> = {
  customers: (id) => [{ id, country: pick(countries, chance("customers", id)) } satisfies Customer],
  products: (id) => [product(id)],
  orders: (id) => [order(id)],
  "order-lines": (id) => orderLines(id),
  payments: (id) => [{ order: id, isPaid: chance("payments", id) < 0.97 } satisfies Payment],
  shipments: (id) => [{ order: id, days: 1 + Math.floor(chance("shipments", id) ** 3 * 12) } satisfies Shipment],
};

function product(id: number): Product {
  const name = [colours, fibres, things].map((words, place) => pick(words, chance(`word ${place}`, id))).join(" ");
  const cents = 500 + Math.floor(chance("price", id) * 9500);
  return { id, name, cents, currency: pick(currencies, chance("currency", id)) };
}

function order(id: number): Order {
  const customer = Math.floor(chance("buyer", id) ** 2 * counts.customers);
  return { id, customer, day: 1 + Math.floor(chance("day", id) * 30) };
}

function orderLines(order: number): OrderLine[] {
  const count = 1 + Math.floor(chance("lines", order) * 4);
  return Array.from({ length: count }, (_, line) => ({
    order,
    product: Math.floor(chance(`product ${line}`, order) ** 2 * counts.products),
    quantity: 1 + Math.floor(chance(`quantity ${line}`, order) * 3),
  }));
}

function pick<T>(from: readonly T[], chance: number): T {
  return from[Math.floor(chance * from.length)] as T;
}

/** The same number for the same question, evenly spread over [0, 1). */
function chance(about: string, id: number): number {
  let hash = 0x811c9dc5 ^ id;
  for (let i = 0; i < about.length; i++) hash = Math.imul(hash ^ about.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  hash = Math.imul(hash ^ (hash >>> 12), 0x297a2d39);
  return ((hash ^ (hash >>> 15)) >>> 0) / 2 ** 32;
}
