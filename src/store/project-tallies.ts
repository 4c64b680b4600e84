import { sql } from "kysely";
import { prepareQuery } from "./prepared-query.ts";
import { createIndex } from "./trigram-index.ts";
import type { Tables } from "./tables.ts";
import type { Tenant } from "./tenant.ts";

/** From this many links on, a project's `cont` filters are worth an index (storage.md §4). */
export const indexFrom = 20_000;

/** The project was deleted after the caller's key was read: nothing may be written for it. */
export class ProjectGone extends Error {
  override readonly name = "ProjectGone";
}

const none = { links: 0, generation: 0, indexed_to: null, clicked: 0, webhooks: 0 } as const;

export type Tally = Omit<Tables["tallies"], "project_id">;

export async function readTally(tenant: Tenant): Promise<Tally> {
  return (await findTally(tenant)) ?? none;
}

/** Undefined where the project was deleted. */
export async function findTally({ db, projectId }: Tenant): Promise<Tally | undefined> {
  return selectTally(db, [projectId]);
}

const selectTally = prepareQuery((db) =>
  db
    .selectFrom("tallies")
    .select(["links", "generation", "indexed_to", "clicked", "webhooks"])
    .where("project_id", "=", ""),
);

/**
 * Counts a write in the transaction that makes it: the number of links stays exact, and every
 * process sees that a count that it kept of this project is old.
 */
export async function tallyWrite(tenant: Tenant, added: -1 | 0 | 1): Promise<Tally> {
  const tally = await countWrite(tenant.db, [added, tenant.projectId]);
  if (tally === undefined) throw new ProjectGone("the project was deleted");
  const isDue = added === 1 && tally.links >= indexFrom && tally.indexed_to === null;
  if (isDue) await createIndex(tenant);
  return tally;
}

const countWrite = prepareQuery(() => {
  return sql<Tally>`
    update tallies set links = links + ${0}, generation = generation + 1
    where project_id = ${""}
    returning links, generation, indexed_to, clicked, webhooks
  `;
});
