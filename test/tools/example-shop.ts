import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createCall, type Call } from "../support/world.ts";
import { checkText, fetchDescribed } from "../support/api-description.ts";
import { visitAt } from "../support/link-host.ts";
import { runProcess, startServe } from "../support/command.ts";
import { createEmptyFolder } from "../support/folders.ts";
import { findFreePort } from "../support/ports.ts";

/** The links of an invented shop after six weeks of visits, as on a public host. */
export type ExampleShop = {
  readonly port: number;
  readonly callTool: (name: string, args: Args) => Promise<ToolResult>;
  readonly key: string;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

type Args = Record<string, unknown>;
// The caller reads results as freely as a client in any language would.
// oxlint-disable-next-line typescript/no-explicit-any
type ToolResult = { readonly text: string; readonly structured: any };

export const publicUrl = "https://waypost.example.com";
export const linkOrigin = "https://go.example.com";
/** The pictures are the same on every day. */
const today = Date.UTC(2026, 4, 20, 14, 30);
const day_ms = 24 * 60 * 60 * 1000;
const hour_ms = 60 * 60 * 1000;
const weeks = 9;

export const iphone =
  "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 " +
  "(KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1";
const agents = [
  iphone,
  "Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) " +
    "Chrome/136.0.0.0 Mobile Safari/537.36",
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) " +
    "Chrome/136.0.0.0 Safari/537.36",
];
const countries = ["DE", "DE", "DE", "DE", "US", "US", "AT", "GB", "GB", "FR", "NL"];

const apps = {
  ios_app: {
    bundle_id: "com.example.shop",
    team_id: "ABCDE12345",
    name: "Example Shop",
    app_store_id: "1234567890",
  },
  android_app: {
    package_name: "com.example.shop",
    name: "Example Shop",
    fingerprints: [Array.from({ length: 32 }, () => "AB").join(":")],
  },
};

type ExampleLink = {
  readonly link: { readonly path: string } & Readonly<Record<string, unknown>>;
  /** How many of the visits are its own. */
  readonly weight: number;
  readonly sites: readonly string[];
};

const links: readonly ExampleLink[] = [
  {
    link: {
      path: "spring",
      name: "Spring sale",
      url: "https://www.example.com/sale",
      social_title: "Spring sale",
      social_description: "Up to 40 % off everything for your garden, until the end of May.",
      social_image_url: "https://www.example.com/images/spring-sale.svg",
      ...apps,
    },
    weight: 9,
    sites: ["https://www.instagram.com/", "https://www.google.com/", ""],
  },
  {
    link: { path: "newsletter", name: "May newsletter", url: "https://www.example.com/news/may" },
    weight: 6,
    sites: ["https://mail.google.com/", ""],
  },
  {
    link: { path: "invite", name: "App invite", url: "https://www.example.com/app", ...apps },
    weight: 5,
    sites: ["https://www.facebook.com/", "https://www.instagram.com/", ""],
  },
  {
    link: { path: "flyer", name: "Store flyer", url: "https://www.example.com/stores" },
    weight: 4,
    sites: [""],
  },
];

export async function openExampleShop(): Promise<ExampleShop> {
  const folder = await createEmptyFolder(tmpdir());
  const clock = await createClock(join(folder.path, "clock"));
  await clock.set(today - weeks * 7 * day_ms);
  const port = await findFreePort();
  // The console shows it as every user sees it.
  const data = join(folder.path, ".local/share/waypost");
  const words = ["--port", String(port), "--public-url", publicUrl, "--link-origin", linkOrigin];
  const serving = await startServe(data, [...words, "--trusted-proxies", "loopback"], {
    env: { ...clock.env, HOME: folder.path, TZ: "UTC", WAYPOST_COUNTRY_HEADER: "CF-IPCountry" },
  });
  const url = `http://127.0.0.1:${port}`;
  const client = await connectAssistant(`${url}/mcp`, serving.key);
  const callTool = async (name: string, args: Args): Promise<ToolResult> => {
    const { content, structuredContent } = await client.callTool({ name, arguments: args });
    const [first] = content;
    return {
      text: first?.type === "text" ? first.text : "",
      structured: structuredContent,
    };
  };
  const command = (words: readonly string[]) =>
    runProcess([...words, "--json", "--data", data], { env: clock.env });
  await command(["projects", "update", "default", "--name", "Example Shop"]);
  const { token } = JSON.parse((await command(["keys", "create", "--client"])).stdout);
  // Only the proxy of the pictures knows the public address.
  await plantLinks(createCall(`${url}/api/v1`, serving.key, fetchDescribed));
  await sendVisits({ port, clock, clientKey: token });
  await makeChanges(callTool, clock);
  return {
    port,
    callTool,
    key: serving.key,
    [Symbol.asyncDispose]: async () => {
      await client.close();
      await serving[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

type ShopClock = {
  readonly env: Readonly<Record<string, string>>;
  readonly set: (time: number) => Promise<void>;
};

/** The server's clock continues from the time in this file. */
async function createClock(file: string): Promise<ShopClock> {
  const program = `
    import { readFileSync } from "node:fs";
    const { now } = Date;
    Date.now = () => now() + Number(readFileSync(${JSON.stringify(file)}, "utf8"));`;
  return {
    env: { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(program)}` },
    set: (time) => writeFile(file, String(time - Date.now())),
  };
}

async function connectAssistant(url: string, key: string): Promise<Client> {
  const client = new Client({ name: "example-assistant", title: "Assistant", version: "1.0" });
  const headers = { authorization: `Bearer ${key}` };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }),
  );
  return client;
}

async function plantLinks(call: Call): Promise<void> {
  for (const { link } of links) {
    const { status } = await call("POST", "/links", { body: link });
    if (status !== 201) throw new Error(`the link ${link.path} was refused: ${status}`);
  }
}

type ShopVisitRequest = {
  readonly port: number;
  readonly clock: ShopClock;
  /** The app uses this key to report that a link opened it. */
  readonly clientKey: string;
};

async function sendVisits(visiting: ShopVisitRequest): Promise<void> {
  const pick = createPicker();
  for (let day = 1; day <= weeks * 7; day += 1) {
    const time = today - (weeks * 7 - day) * day_ms - 6 * hour_ms;
    const isWeekend = [0, 6].includes(new Date(time).getUTCDay());
    await visiting.clock.set(time);
    for (const each of links) {
      const most = each.weight * (2 + day / 14) * (isWeekend ? 0.6 : 1);
      const visits = Math.round(most * (0.8 + pick(40) / 100));
      for (let visit = 0; visit < visits; visit += 1) await sendVisit(visiting, each, pick);
    }
  }
}

async function sendVisit(
  { port, clientKey }: ShopVisitRequest,
  { link: { path, ios_app }, sites }: ExampleLink,
  pick: (count: number) => number,
): Promise<void> {
  const agent = agents[pick(agents.length)] ?? iphone;
  const site = sites[pick(sites.length)] ?? "";
  const headers = {
    "x-forwarded-for": `203.0.113.${1 + pick(250)}`,
    "cf-ipcountry": countries[pick(countries.length)] ?? "DE",
  };
  const { status } = await visitAt(port, path === "flyer" ? `/${path}?wp=qr` : `/${path}`, {
    host: new URL(linkOrigin).host,
    agent,
    headers: { ...headers, ...(site !== "" && { referer: site }) },
  });
  if (status >= 400) throw new Error(`${path} answers ${status}`);
  if (ios_app === undefined || agent !== iphone || pick(3) !== 0) return;
  const method = "POST";
  const api = new URL("/api/v1/links/attribute", publicUrl);
  const body = { url: `${linkOrigin}/${path}`, platform: "ios", is_deferred: pick(3) === 0 };
  const reported = await visitAt(port, api.pathname, {
    method,
    host: api.host,
    headers: { ...headers, authorization: `Bearer ${clientKey}` },
    body,
  });
  checkText({ method, url: api.href, body: JSON.stringify(body) }, reported);
  if (reported.status !== 200) throw new Error(`the app got ${reported.status}`);
}

async function makeChanges(callTool: ExampleShop["callTool"], clock: ShopClock): Promise<void> {
  await clock.set(today - day_ms);
  await callTool("update_link", { id: "spring", name: "Spring sale 2026" });
  await callTool("update_link", { id: "spring", url: "https://www.example.com/sale/garden" });
  await clock.set(today - 3 * hour_ms);
  await callTool("update_link", { id: "invite", name: "Invite a friend" });
  const summer = { path: "summer", name: "Summer preview", url: "https://www.example.com/summer" };
  await callTool("create_link", summer);
  await clock.set(today - hour_ms);
  await callTool("update_link", { id: "flyer", url: "https://www.example.com/stores/berlin" });
  await clock.set(today);
}

/** The same numbers each time. */
function createPicker(): (count: number) => number {
  let state = 20_260_520;
  return (count) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * count);
  };
}
