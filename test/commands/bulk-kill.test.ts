import { randomInt } from "node:crypto";
import { join } from "node:path";
import { expect, test } from "vitest";
import { lease_ms } from "../../src/state/job-leases.ts";
import { createChance } from "../bulk/simulator/chance.ts";
import { setClockAhead } from "../support/clock-ahead.ts";
import { createUsedFolder } from "../support/command.ts";
import {
  applyKilled,
  expectDone,
  finish,
  listNamed,
  plan,
  withProcess,
  type Site,
} from "../support/job-site.ts";
import { connectV2 } from "../support/mcp-clients.ts";
import { openGround, type Ground } from "../support/mcp-ground.ts";
import { openForAll } from "../support/open-for.ts";
import { openWriteLog } from "../support/write-log.ts";

/**
 * The built command at its own pace, killed in the middle of a job, as a client lives with it:
 * the next process waits until the dead one's lease is over. Many more kills are in test/bulk.
 */

const seed = Number(process.env["KILL_SEED"] ?? randomInt(1_000_000));
/** So many that a person types their number. At ten a second most are left at every kill. */
const rows = 60;
const kills = 2;
const most = { writes: 20, pause_ms: 200 } as const;
/** What is not over yet of a dead process's lease when the next one begins. */
const leaseLeft_ms = 1000;

let served: Ground;

openForAll(openGround, (opened) => (served = opened));

test.concurrent.each(["embedded", "served"] as const)(
  `a plan that a person approved of once outlives its processes (%s, KILL_SEED=${seed})`,
  async (kind) => {
    await using folder = await createUsedFolder();
    const asked: string[] = [];
    const site = await openSite(kind, folder.path, asked);
    const chance = createChance(seed, kind);
    const old = listNamed("old", rows / 2);
    const wanted = listNamed("new", rows);
    const plan_id = await withProcess(site, async (client) => {
      for (const named of old) await client.callTool("create_link", named);
      await site.log.take();
      return plan(client, { operation: "upsert", rows: wanted });
    });
    for (let kill = 0; kill < kills; kill += 1) {
      expect(await applyKilled(site, plan_id, chance, most)).toBeUndefined();
    }
    const planned = wanted.map(({ path }, index) => {
      return `${index < old.length ? "update" : "create"} ${path}`;
    });
    await withProcess(site, async (client) => {
      const job = await finish(client, plan_id);
      await expectDone(client, job, wanted, { written: await site.log.take(), planned });
    });
    expect(asked).toEqual([expect.stringContaining(`Create 30 links, change 30 (${rows} in all)`)]);
    site.log.close();
  },
);

async function openSite(kind: "embedded" | "served", data: string, asked: string[]): Promise<Site> {
  const isOwn = kind === "embedded";
  const env = isOwn ? {} : { WAYPOST_API_KEY: (await served.addTenant()).key };
  const words = isOwn ? [] : ["--base-url", served.serving.places.url];
  const elicit = (message: string) => {
    asked.push(message);
    return { action: "accept", content: { approve: true, count: rows } } as const;
  };
  let ahead_ms = 0;
  const start = () => {
    ahead_ms += lease_ms - leaseLeft_ms;
    const given = { ...env, ...setClockAhead(ahead_ms) };
    return connectV2({ transport: "stdio", data, words, env: given, elicit });
  };
  // The first start makes the database.
  if (isOwn) await (await start()).close();
  return { start, log: await openWriteLog(join(isOwn ? data : served.data, "waypost.db")) };
}
