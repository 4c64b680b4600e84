import { setTimeout } from "node:timers/promises";
import { encodePath } from "../../src/contract/rules/link-path.ts";
import { checkTemplate } from "../../src/template/check-template.ts";
import { starter } from "../../src/template/starter-template.ts";
import { bombs } from "../template/bombs.ts";
import { prepareGround, type Ground } from "./ground.ts";
import { ask, startServer, type Question, type Server } from "./http.ts";
import { findMedian, type Figures } from "./measure.ts";
import type { Row } from "./table.ts";
import { watchAnswers } from "./watch.ts";

/**
 * Templates that ask for all time there is: the longest that a piece of looking one over takes,
 * beside the default design, and what visitors wait while all of them are looked over at once.
 */

const links = 20_000;
const rounds = 5;
const shown = 5;
const visitEvery_ms = 2;
const alone_ms = 3000;

export async function measureTemplates(say: (text: string) => void): Promise<readonly Row[]> {
  say("templates, piece by piece …");
  const pieces = await measurePieces();
  say("visits beside templates …");
  await using ground = await prepareGround(links);
  const command = ["dist/waypost.js", "serve", "--data", ground.folder, "--port", "0", "--json"];
  await using waypost = await startServer([...command, "--log", "error"]);
  return [...pieces, ...(await measureVisitors(waypost, ground, say))];
}

type Source = { readonly name: string; readonly body: string; readonly css: string };

async function measurePieces(): Promise<readonly Row[]> {
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
  return [{ name: design.name, cpu_us: usual_us }, ...worst].map(({ name, cpu_us }) => ({
    what: `longest piece: ${name}`,
    figures: { p50_ms: cpu_us / 1000, p99_ms: Number.NaN, worst_ms: Number.NaN, cpu_us },
    ratio: cpu_us / usual_us,
  }));
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
  say: (text: string) => void,
): Promise<readonly Row[]> {
  const visit = await findVisit(waypost, ground);
  const previews = bombs.map(({ body, css }, turn) => ({
    method: "POST" as const,
    path: "/api/v1/page_template/preview",
    token: ground.large.keys[turn % ground.large.keys.length] ?? "",
    // An idle connection may be closed just when it is used again.
    headers: { connection: "close" },
    body: { body: body ?? "{% store_buttons %}", css: css ?? "" },
  }));
  const flood = () => Promise.all(previews.map((preview) => ask(waypost, preview)));
  const watch = async (work: () => Promise<unknown>): Promise<Figures> => {
    const done = new AbortController();
    const waited = watchAnswers(waypost, {
      next: () => visit,
      every_ms: visitEvery_ms,
      until: done.signal,
    });
    await work();
    done.abort();
    return waited;
  };
  const alone = await watch(() => setTimeout(alone_ms));
  // What is used for the first time is compiled first.
  await watch(flood);
  const started = performance.now();
  let refused = 0;
  const beside = await watch(async () => {
    const answers = await flood();
    refused = answers.filter(({ status }) => status === 503).length;
  });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  say(
    `${bombs.length} hostile templates of one project took ${seconds} s; ${refused} were told 503`,
  );
  return [
    { what: "a visit, one after the other", figures: alone, ratio: 1 },
    {
      what: `the same beside ${bombs.length} hostile templates; at worst ${describeWorst(beside)}`,
      figures: beside,
      ratio: beside.p99_ms / alone.p99_ms,
    },
  ];
}

function describeWorst({ worst_ms }: Figures): string {
  return `${worst_ms.toFixed(0)} ms`;
}

async function findVisit({ url }: Server, { store, visited }: Ground): Promise<Question> {
  const row = await store.db
    .selectFrom("links")
    .select("path")
    .where("project_id", "=", visited.projectId)
    .where("ios_app_id", "is", null)
    .where("android_app_id", "is", null)
    .where("url", "is not", null)
    .limit(1)
    .executeTakeFirstOrThrow();
  const host = `visited.localhost:${new URL(url).port}`;
  return { path: `/${encodePath(row.path)}`, headers: { host } };
}
