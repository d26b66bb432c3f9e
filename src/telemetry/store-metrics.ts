import { Counter, Gauge, Histogram, type Registry } from "prom-client";

/** Buckets from an in-memory read to a server that hardly answers. */
const buckets = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30];

/** Durations and errors of store calls. */
export class StoreMetrics {
  readonly #duration: Histogram<"operation">;
  readonly #errors: Counter<"operation" | "code">;
  #active = 0;

  constructor(registry: Registry) {
    const registers = [registry];
    const active = (): number => this.#active;
    this.#duration = new Histogram({
      name: "db_query_duration_seconds",
      help: "Duration of store calls, including failed ones.",
      labelNames: ["operation"],
      buckets,
      registers,
    });
    this.#errors = new Counter({
      name: "db_query_error_total",
      help: "Store calls that failed.",
      labelNames: ["operation", "code"],
      registers,
    });
    const collect = function (this: Gauge): void {
      this.set(active());
    };
    const name = "db_connection_active";
    const help = "Calls to the store that wait for their answer.";
    registry.registerMetric(new Gauge({ name, help, collect, registers: [] }));
  }

  /** The metrics of one operation; its time series are looked up once. */
  operation(name: string): StoreOperation {
    const duration = this.#duration.labels(name);
    const end = (startedAt: number): void => {
      this.#active--;
      duration.observe((performance.now() - startedAt) / 1000);
    };
    return {
      begin: () => {
        this.#active++;
        return performance.now();
      },
      end,
      fail: (startedAt, error) => {
        end(startedAt);
        this.#errors.inc({ operation: name, code: codeOf(error) });
      },
    };
  }
}

export interface StoreOperation {
  /** Returns the start time, for `end` and `fail`. */
  begin(): number;
  end(startedAt: number): void;
  fail(startedAt: number, error: unknown): void;
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "UNKNOWN";
}
