import { sql, type Kysely } from "kysely";
import { whileAwaited } from "../../src/sql/long-reads.ts";
import { isOnPostgres } from "./store-place.ts";

/** A statement that ends only because nobody waits for it any more. */
export async function countForEver<Tables>(db: Kysely<Tables>): Promise<void> {
  await (isOnPostgres ? sleeping : counting).execute(db);
}

/** The server can end any statement. */
const sleeping = sql`select pg_sleep(3600)`;

const counting = sql`
  with recursive numbers(number) as (select 1 union all select number + 1 from numbers)
  select count(*) from numbers where ${whileAwaited(sql`number`)}
`;
