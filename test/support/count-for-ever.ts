import { sql, type Kysely } from "kysely";
import { whileAwaited } from "../../src/sql/long-reads.ts";

/** A statement that ends only because nobody waits for it any more. */
export async function countForEver<Tables>(db: Kysely<Tables>): Promise<void> {
  await sql`
    with recursive numbers(number) as (select 1 union all select number + 1 from numbers)
    select count(*) from numbers where ${whileAwaited(sql`number`)}
  `.execute(db);
}
