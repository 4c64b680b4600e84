import type { Bulk } from "../../src/bulk/bulk.ts";
import type { Owner } from "../../src/bulk/owner.ts";
import type { PlanInput } from "../../src/bulk/plan/make-plan.ts";
import type { Link } from "../../src/contract/links.ts";
import type { Job } from "../../src/state/jobs.ts";
import type { Plan, PlanRow } from "../../src/state/plans.ts";
import { addLink } from "../support/rows.ts";
import type { World } from "../support/world.ts";
import { openBulk } from "./timeless-bulk.ts";

/** Plans and jobs of a project's owner, on the real service with a separate state file. */

export type Planner = {
  readonly world: World;
  readonly bulk: Bulk;
  readonly owner: Owner;
  readonly calls: string[];
  readonly plan: (wanted: PlanInput) => Promise<PlanWithRows>;
  readonly run: (plan: Plan, by?: Owner) => Promise<Job>;
  readonly make: (fields: object) => Promise<Link>;
  /** Creates many links, by default a second apart, and returns their paths. */
  readonly makeMany: (count: number, prefix: string, step_ms?: number) => Promise<string[]>;
  readonly listLinks: () => Promise<readonly Link[]>;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

type PlanWithRows = { readonly plan: Plan; readonly rows: readonly PlanRow[] };

export async function openPlanner(): Promise<Planner> {
  const calls: string[] = [];
  const timeless = await openBulk({
    intercept: (call) => (endpoint, input, signal, options) => {
      calls.push(endpoint.tool);
      return call(endpoint, input, signal, options);
    },
  });
  const { world, bulk, owner, untilRest } = timeless;
  const plan: Planner["plan"] = async (wanted) => {
    const made = await bulk.plan(wanted, owner);
    return { plan: made, rows: await bulk.listRows(made, { limit: 10_000 }) };
  };
  return {
    world,
    bulk,
    owner,
    calls,
    plan,
    run: (made, by = owner) => untilRest(bulk.apply(made, by)),
    make: async (fields) => {
      // Links created at the same moment have no fixed order.
      world.advance(1000);
      return (await world.call("POST", "/links", { body: fields })).body;
    },
    makeMany: async (count, prefix, step_ms = 1000) => {
      const paths = Array.from({ length: count }, (_, index) => `${prefix}${index}`);
      await world.store.write(async (db) => {
        for (const path of paths) {
          world.advance(step_ms);
          const tenant = { db, projectId: world.project.id };
          await addLink(tenant, path, { now: world.now(), name: path });
        }
      });
      return paths;
    },
    listLinks: async () => {
      const query = "limit=100&q[s]=created_at asc";
      return (await world.call("GET", "/links", { query })).body.links;
    },
    [Symbol.asyncDispose]: timeless[Symbol.asyncDispose],
  };
}
