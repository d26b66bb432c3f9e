import { execute, type ServerKind } from "../databases/databases.ts";

/** What the database itself has seen, in its own order: each stands here exactly if its transaction was committed. */
export type Audited = { readonly id: number } & (
  | {
      readonly what: "claim";
      readonly shard: number;
      readonly epoch: number;
      readonly batch: number;
      readonly owner: string;
      /** Its last owner had released it. */
      readonly released: boolean;
    }
  | { readonly what: "commit"; readonly shard: number; readonly epoch: number; readonly batch: number }
  | { readonly what: "joined" | "gone"; readonly member: string }
);

/**
 * Triggers write every version of the rows that say who owns what. A row's versions are written one after the other,
 * because their writers lock it, so their order is the true one.
 */
const statements: Readonly<Record<ServerKind, readonly string[]>> = {
  postgres: [
    `CREATE TABLE public.audit (
      id bigserial PRIMARY KEY, member text, shard bigint, epoch bigint, batch bigint, owner text,
      epoch_before bigint, batch_before bigint, released_before boolean
    )`,
    `CREATE FUNCTION public.note_member() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO public.audit (member, epoch) SELECT coalesce(NEW.id, OLD.id), (TG_OP = 'INSERT')::int;
      RETURN NULL;
    END $$`,
    `CREATE FUNCTION public.note_shard() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO public.audit (shard, epoch, batch, owner, epoch_before, batch_before, released_before)
      VALUES (NEW.shard, NEW.epoch, NEW.last_batch, NEW.owner, OLD.epoch, OLD.last_batch, OLD.released);
      RETURN NULL;
    END $$`,
    `CREATE TRIGGER note AFTER INSERT OR DELETE ON heddle.member
      FOR EACH ROW EXECUTE FUNCTION public.note_member()`,
    `CREATE TRIGGER note AFTER INSERT OR UPDATE ON heddle.shard
      FOR EACH ROW EXECUTE FUNCTION public.note_shard()`,
  ],
  mysql: [
    `CREATE TABLE audit (
      id BIGINT AUTO_INCREMENT PRIMARY KEY, member TEXT, shard BIGINT, epoch BIGINT, batch BIGINT, owner TEXT,
      epoch_before BIGINT, batch_before BIGINT, released_before BOOLEAN
    ) ENGINE = InnoDB`,
    `CREATE TRIGGER note_joined AFTER INSERT ON heddle_member FOR EACH ROW
      INSERT INTO audit (member, epoch) VALUES (NEW.id, 1)`,
    `CREATE TRIGGER note_gone AFTER DELETE ON heddle_member FOR EACH ROW
      INSERT INTO audit (member, epoch) VALUES (OLD.id, 0)`,
    `CREATE TRIGGER note_new_shard AFTER INSERT ON heddle_shard FOR EACH ROW
      INSERT INTO audit (shard, epoch, batch, owner) VALUES (NEW.shard, NEW.epoch, NEW.last_batch, NEW.owner)`,
    `CREATE TRIGGER note_shard AFTER UPDATE ON heddle_shard FOR EACH ROW
      INSERT INTO audit (shard, epoch, batch, owner, epoch_before, batch_before, released_before)
      VALUES (NEW.shard, NEW.epoch, NEW.last_batch, NEW.owner, OLD.epoch, OLD.last_batch, OLD.released)`,
  ],
};

/** On a database that has Heddle's tables. */
export async function keepAudit(kind: ServerKind, url: string): Promise<void> {
  for (const statement of statements[kind]) await execute(url, statement);
}

export async function readAudit(url: string): Promise<Audited[]> {
  const rows = (await execute(url, "SELECT * FROM audit ORDER BY id")) as Record<string, unknown>[];
  return rows.flatMap(toAudited);
}

function toAudited(row: Record<string, unknown>): Audited[] {
  const number = (name: string): number => Number(row[name] ?? 0);
  const id = number("id");
  if (typeof row["member"] === "string")
    return [{ id, what: number("epoch") === 1 ? "joined" : "gone", member: row["member"] }];
  const [shard, epoch, batch] = [number("shard"), number("epoch"), number("batch")];
  if (epoch > number("epoch_before")) {
    // Nobody has anything to release of a shard that is new.
    const released = number("epoch_before") === 0 || Boolean(row["released_before"]);
    return [{ id, what: "claim", shard, epoch, batch, owner: String(row["owner"]), released }];
  }
  return batch > number("batch_before") ? [{ id, what: "commit", shard, epoch, batch }] : [];
}
