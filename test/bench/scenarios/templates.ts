import { setTimeout } from "node:timers/promises";
import { checkTemplate } from "../../../src/template/check-template.ts";
import { starter } from "../../../src/template/starter-template.ts";
import { bombs } from "../../template/bombs.ts";
import type { Ground } from "../ground/ground.ts";
import { ask, type Question } from "../load/ask.ts";
import { watchWhile } from "../load/watch.ts";
import { findMedian, type Finding } from "../results/finding.ts";
import { createRing } from "../ring.ts";
import { serve, type Server } from "../servers/http-server.ts";
import { createVisit } from "./redirects.ts";
import type { Rounds, Subject } from "./scenario.ts";

/**
 * Templates that ask for all time there is: the longest that a piece of looking one over takes,
 * beside the default design, and what visitors wait while all of them are looked over at once.
 */

const rounds = 5;
const shown = 5;
const visitEvery_ms = 2;

export async function* measureTemplates({ build, extent, findGround }: Subject): Rounds {
  const pieces = await measurePieces();
  const ground = await findGround();
  await using waypost = await serve(build, ground.file.folder);
  yield [...pieces, ...(await measureVisitors(waypost, ground, extent.seconds))];
}

type Source = { readonly name: string; readonly body: string; readonly css: string };

async function measurePieces(): Promise<readonly Finding[]> {
  const design = { name: "the default design", ...starter };
  const hostile = bombs.map(({ name, body = "{% store_buttons %}", css = "" }) => {
    return { name, body, css };
  });
  const usual_us = await findLongest_us(design);
  const longest: { readonly name: string; readonly cpu_us: number }[] = [];
  for (const source of hostile) {
    longest.push({ name: source.name, cpu_us: await findLongest_us(source) });
  }
  const worst = longest.toSorted((one, other) => other.cpu_us - one.cpu_us).slice(0, shown);
  return [{ name: design.name, cpu_us: usual_us }, ...worst].map(({ name, cpu_us }) => {
    return { what: `longest piece: ${name}, CPU`, unit: "µs", value: cpu_us };
  });
}

/** Of the rounds' longest pieces the middle one, after a round that compiles what is used. */
async function findLongest_us({ body, css }: Source): Promise<number> {
  const longest: number[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    let round_us = 0;
    await checkTemplate(
      { body, css },
      {
        monotonic: () => performance.now(),
        take: async (work) => {
          const before = process.cpuUsage();
          try {
            return work();
          } finally {
            const { user, system } = process.cpuUsage(before);
            round_us = Math.max(round_us, user + system);
          }
        },
      },
    );
    if (round > 0) longest.push(round_us);
  }
  return findMedian(longest);
}

async function measureVisitors(
  waypost: Server,
  ground: Ground,
  seconds: number,
): Promise<readonly Finding[]> {
  const visit = await findVisit(waypost, ground);
  const nextKey = createRing(ground.large.keys);
  const previews = bombs.map(({ body, css }) => ({
    method: "POST" as const,
    path: "/api/v1/page_template/preview",
    token: nextKey(),
    // An idle connection may be closed just when it is used again.
    headers: { connection: "close" },
    body: { body: body ?? "{% store_buttons %}", css: css ?? "" },
  }));
  const flood = () => Promise.all(previews.map((preview) => ask(waypost, preview)));
  const watch = async (work: () => Promise<unknown>) => {
    return (await watchWhile(waypost, { next: () => visit, every_ms: visitEvery_ms }, work)).waited;
  };
  const alone = await watch(() => setTimeout(seconds * 1000));
  // What is used for the first time is compiled first.
  await watch(flood);
  const beside = await watch(flood);
  return [
    { what: "a visit, one after the other, p99", unit: "ms", value: alone.p99_ms },
    {
      what: `a visit beside ${bombs.length} hostile templates, p99`,
      unit: "ms",
      value: beside.p99_ms,
    },
    { what: "the longest of them", unit: "ms", value: beside.worst_ms },
  ];
}

async function findVisit(server: Server, { file, visited }: Ground): Promise<Question> {
  const row = await file.db
    .selectFrom("links")
    .select("path")
    .where("project_id", "=", visited.projectId)
    .where("ios_app_id", "is", null)
    .where("android_app_id", "is", null)
    .where("url", "is not", null)
    .limit(1)
    .executeTakeFirstOrThrow();
  return createVisit(server, visited.subdomain)(row.path);
}
