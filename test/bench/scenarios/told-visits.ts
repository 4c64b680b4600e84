import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { sql } from "kysely";
import { makeWebhook } from "../../../src/compose/webhooks.ts";
import { deleteWebhook } from "../../../src/store/webhooks.ts";
import type { Ground } from "../ground/ground.ts";
import type { Question } from "../load/ask.ts";
import { openBeside } from "../load/beside.ts";
import { createRing } from "../ring.ts";
import { serve } from "../servers/http-server.ts";
import { createVisit, createPopularity, redirectsPerSecond } from "./redirects.ts";
import type { Rounds, Subject } from "./scenario.ts";

/**
 * What a redirect costs where all that it can tell is told: its country, by a header of the proxy
 * through which it came, and each second's visits to a webhook. An earlier commit knows of neither
 * and has the same visitors.
 */

const countryHeader = "cf-ipcountry";
const settings = {
  WAYPOST_COUNTRY_HEADER: countryHeader,
  WAYPOST_TRUSTED_PROXIES: "loopback",
  WAYPOST_WEBHOOK_PRIVATE: "loopback",
};
/** Visitors of so many countries come by so many sites: no two of their numbers share a factor. */
const countries = ["DE", "US", "FR", "GB", "JP"];
const sites = 7;

export async function* measureToldVisits({ build, extent, findGround }: Subject): Rounds {
  const ground = await findGround();
  await using receiver = await openReceiver();
  await using webhook = await addWebhook(ground, receiver.url);
  await using server = await serve(build, ground.file.folder, [], settings);
  const popular = createPopularity(await readPaths(ground));
  const nextCountry = createRing(countries);
  const nextSite = createRing(Array.from({ length: sites }, (__, site) => site));
  const visit = createVisit(server, ground.small.subdomain);
  const ask = (path: string): Question => {
    const { headers, ...question } = visit(path);
    const told = {
      "x-forwarded-for": "203.0.113.7",
      [countryHeader]: nextCountry(),
      referer: `https://site-${nextSite()}.example/`,
    };
    return { ...question, headers: { ...headers, ...told } };
  };
  const barrage = {
    requests: redirectsPerSecond * extent.seconds,
    status: 302,
    questions: () => ask(popular()),
  };
  await using beside = await openBeside(server, ask(popular()), {
    ...barrage,
    requests: extent.warming,
  });
  for (;;) {
    const { ours, bare } = await beside.measure(barrage);
    if (webhook.isKnown && receiver.isUntold()) throw new Error("the webhook was not told");
    yield [
      {
        what: "popular links, by country, with a webhook, CPU",
        unit: "µs",
        value: ours.cpu_us,
        target: { mostOfBefore: 1.25 },
      },
      { what: "CPU of node:http", unit: "times", value: ours.cpu_us / bare.cpu_us },
    ];
  }
}

async function readPaths({ file, small }: Ground): Promise<readonly string[]> {
  const links = file.db.selectFrom("links").select("path").limit(1000);
  const rows = await links.where("project_id", "=", small.projectId).execute();
  return rows.map(({ path }) => path);
}

/** It goes with the scenario: the others have the same folder. */
async function addWebhook({ file, small }: Ground, url: string) {
  const { projectId } = small;
  const tables = sql`select name from sqlite_master where name = 'webhooks'`;
  const isKnown = (await tables.execute(file.db)).rows.length > 0;
  const wanted = { project_id: projectId, url, events: ["link.clicked"] as const };
  const made = isKnown ? await file.write((db) => makeWebhook(db, wanted)) : undefined;
  return {
    isKnown,
    [Symbol.asyncDispose]: async () => {
      if (made === undefined) return;
      await file.write((db) => deleteWebhook({ db, projectId }, made.id));
    },
  };
}

/** Takes whatever it is told. */
async function openReceiver() {
  let isUntold = true;
  const server = createServer((request, response) => {
    isUntold = false;
    request.resume();
    response.writeHead(204).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  // A listening TCP server has an address with a port.
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    isUntold: () => isUntold,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
