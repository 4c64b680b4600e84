import { expect, test } from "vitest";
import { agents } from "../attribution/agents.ts";
import { openTab } from "../support/browser.ts";
import { createFolder, run, startServe, type Folder, type Serving } from "../support/command.ts";
import { visitAt, startFirst } from "../support/link-host.ts";
import { waitUntil } from "../support/clock.ts";
import { readAnswer, type SdkAnswer } from "./readers.ts";
import {
  androidOpened,
  iosFirstLaunch,
  iosOpened,
  referrerReaders,
  type SdkRequest,
} from "./recorded.ts";
import { openForAll } from "../support/open-for.ts";

/** Requests of the public SDKs to four real servers with the same data. */

let folder: Folder;
let servers: readonly Serving[];
let client: string;

const processes = 4;

openForAll(createFolder, async (opened, keep) => {
  folder = opened;
  const env = { WAYPOST_TRUSTED_PROXIES: "loopback" };
  const start = async () => keep(await startServe(folder.path, [], { env }));
  const first = await start();
  servers = [first, ...(await Promise.all(Array.from({ length: processes - 1 }, start)))];
  const made = await run(["keys", "create", "--client", "--data", folder.path]);
  client = made.stdout.trim();
  await run(["projects", "update", "default", "--link-in-referrer", "on", "--data", folder.path]);
  const body = {
    path: "spring",
    url: "https://example.com/spring",
    name: "Spring",
    ios_deferred_deep_linking_enabled: true,
    ios_app: { bundle_id: "com.example.shop", team_id: "ABCDE12345", app_store_id: "123" },
    android_app: {
      package_name: "com.example.shop",
      fingerprints: [Array.from({ length: 32 }, () => "AB").join(":")],
    },
  };
  expect((await first.call("POST", "/links", { body })).status).toBe(201);
});

const at = (index: number): Serving => servers[index % processes] as Serving;
const portOf = ({ places }: Serving) => Number(new URL(places.url).port);
const hostOf = (server: Serving) => `default.localhost:${portOf(server)}`;

async function send(request: SdkRequest, given: Partial<ExchangeOptions> = {}): Promise<SdkAnswer> {
  const { server = at(0), from = "93.184.216.34", key = client } = given;
  const headers = { ...request.headers, authorization: `Bearer ${key}`, "x-forwarded-for": from };
  return server.call("POST", request.path, { headers, body: request.body });
}

let phones = 0;
function newPhone(): SdkRequest {
  phones += 1;
  return startFirst(phones);
}

type ExchangeOptions = { readonly server: Serving; readonly from: string; readonly key: string };

test("a browser visit is matched to the first app launch of only one phone", async () => {
  const from = "93.184.216.40";
  const tab = await openTab({
    userAgent: agents.safari26,
    screen: { width: 393, height: 852 },
    viewport: { width: 393, height: 660 },
    deviceScaleFactor: 3,
    isMobile: true,
    locale: "de-DE",
    timezoneId: "Europe/Berlin",
    extraHTTPHeaders: { "x-forwarded-for": from },
  });
  const complaints: string[] = [];
  tab.on("console", (message) => complaints.push(message.text()));
  const told = tab.waitForResponse((response) => response.request().method() === "POST");
  await tab.goto(`http://${hostOf(at(0))}/spring?ref=anna`);
  expect((await told).status()).toBe(204);
  expect(complaints).toEqual([]);
  await tab.context().close();

  const answer = readAnswer("ios", await send(iosFirstLaunch, { from, server: at(1) }));
  expect(answer).toMatchObject({
    matched: true,
    confidence: "medium",
    match_score: 100,
    link: {
      url: "https://example.com/spring?ref=anna",
      full_url: `http://${hostOf(at(1))}/spring?ref=anna`,
      deep_link_value: "/spring",
    },
  });
  for (const server of servers) {
    // A repeated request gets the same response, and another phone gets no link.
    expect(readAnswer("ios", await send(iosFirstLaunch, { from, server })).matched).toBe(true);
    const another = await send(newPhone(), { from, server });
    expect(readAnswer("ios", another).matched).toBe(false);
  }
});

async function openPage() {
  const tab = await openTab({
    userAgent: agents.safari26,
    viewport: { width: 393, height: 660 },
    isMobile: true,
    extraHTTPHeaders: { "x-forwarded-for": "10.0.0.1" },
  });
  const origin = `http://${hostOf(at(0))}`;
  await tab.route("https://apps.apple.com/**", (route) => route.abort());
  await tab.goto(`${origin}/spring?ref=anna`);
  return tab;
}

async function copy(isWritten: boolean) {
  const tab = await openPage();
  const written: string[] = [];
  await tab.exposeFunction("noteWritten", (text: string) => written.push(text));
  await tab.evaluate(
    "Object.defineProperty(navigator,'clipboard',{value:{writeText:async t=>noteWritten(t)}})",
  );
  await tab.locator("a.store-button-app-store").click();
  if (isWritten) await waitUntil(() => written.length > 0);
  await tab.evaluate("0");
  await tab.context().close();
  return written;
}

test("with --clipboard on, a copied URL counts as an install only at its first use", async () => {
  const setClipboard = async (value: string) => {
    const words = ["projects", "update", "default", "--clipboard", value, "--data", folder.path];
    expect((await run(words)).code).toBe(0);
    await waitUntil(async () => {
      const { text } = await visitAt(portOf(at(0)), "/spring", {
        host: hostOf(at(0)),
        agent: agents.safari26,
      });
      return text.includes("clipboard") === (value === "on");
    });
  };
  expect(await copy(false)).toEqual([]);
  await setClipboard("on");
  const [copied = "", ...more] = await copy(true);
  expect(more).toEqual([]);
  const shown = `http://${hostOf(at(0))}/spring?ref=anna`;
  expect(copied).toMatch(/^http:\/\/default\.localhost:\d+\/spring\?ref=anna&wp=paste-[\w-]{22}$/);
  const server = at(2);
  const before = await countInstalls();
  // The other servers have different ports.
  const pasted = copied.replace(hostOf(at(0)), hostOf(server));
  const answer = readAnswer("ios", await send(iosOpened(pasted), { server }));
  expect(answer).toMatchObject({
    matched: true,
    confidence: "high",
    match_score: 100,
    link: { full_url: shown.replace(hostOf(at(0)), hostOf(server)), deep_link_value: "/spring" },
  });
  for (const other of servers) {
    const again = await send(iosOpened(copied.replace(hostOf(at(0)), hostOf(other))), {
      server: other,
    });
    // After that the address opens the app like any other.
    expect(readAnswer("ios", again).matched).toBe(true);
  }
  expect(await countInstalls()).toBe(before + 1);
  await setClipboard("off");
  expect(await copy(false)).toEqual([]);
});

test.each(Object.entries(referrerReaders))(
  "an Android app with SDK %s gets its link from the Google Play referrer",
  async (_versions, readReferrer) => {
    const [port, host] = [portOf(at(0)), hostOf(at(0))];
    const shown = `http://${host}/spring?ref=anna%20%2B+b`;
    const target = "/spring?ref=anna%20%2B+b";
    const page = await visitAt(port, target, { host, agent: agents.android });
    const [, store = ""] = /href="(https:\/\/play\.google\.com[^"]+)"/.exec(page.text) ?? [];
    const { searchParams } = new URL(store.replaceAll("&amp;", "&"));
    const url = readReferrer(searchParams.get("referrer") ?? "");
    expect(url).toBe(shown);
    const installed = readAnswer("android", await send(androidOpened(url ?? "", true)));
    expect(installed).toMatchObject({
      matched: true,
      confidence: "high",
      link: { full_url: shown, deep_link_value: "/spring" },
    });
  },
);

async function visitPage(path: string, from: string, server: Serving): Promise<number> {
  const given = { host: hostOf(server), agent: agents.safari26 };
  const headers = { "x-forwarded-for": from, "accept-language": "de-DE" };
  const page = await visitAt(portOf(server), path, { ...given, headers });
  const [, visit] = /visit:"([\w-]{22})"/.exec(page.text) ?? [];
  const { fingerprint } = JSON.parse(iosFirstLaunch.body);
  const message = { ...given, headers, method: "POST", body: { ...fingerprint, visit } };
  return (await visitAt(portOf(server), path, message)).status;
}

const readStats = ({ call }: Serving) => call("GET", "/link_stats?by=day");

/** Returns the installs of `link_stats`. Each server saves its own counts before it responds. */
async function countInstalls(): Promise<number> {
  await Promise.all(servers.map(readStats));
  return (await readStats(at(0))).body.stats.total.installs;
}

test("four processes match each visit only once, whichever process stored the visit", async () => {
  const phones = Array.from({ length: 12 }, (_, index) => `93.184.217.${index}`);
  // All visits are saved before the first match is requested.
  const seen = phones.map((from, index) => visitPage(`/spring?n=${index}`, from, at(index)));
  expect(await Promise.all(seen)).toEqual(phones.map(() => 204));
  const asked = phones.flatMap((from) =>
    servers.map(async (server) => {
      const answer = await send(newPhone(), { server, from });
      const { matched, link } = readAnswer("ios", answer);
      return matched ? [`${from} ${String(link?.["url"])}`] : [];
    }),
  );
  const arrived = (await Promise.all(asked)).flat();
  const wanted = phones.map((from, index) => `${from} https://example.com/spring?n=${index}`);
  expect(arrived.toSorted()).toEqual(wanted.toSorted());
});
