import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, request as sendRequest, type IncomingHttpHeaders } from "node:http";
import { connect } from "node:net";
import { createDeferredVisits } from "../../src/host/deferred-visits.ts";
import { createHost, type HostOptions } from "../../src/host/host.ts";
import type { Store } from "../../src/store/store.ts";
import { ringSoon } from "./clock.ts";
import { createWorld, type World, origin, readLinkOrigin } from "./world.ts";
import type { AnswerApi } from "../../src/contract/api-message.ts";
import { apiPrefix } from "../../src/contract/index.ts";
import { issueClientKey } from "../../src/service/keys.ts";
import { createService } from "./api-description.ts";
import { agents } from "../attribution/agents.ts";
import { iosFirstLaunch, type SdkRequest } from "../sdk/recorded.ts";
import { readAnswer, type ReadMatch, type SdkAnswer } from "../sdk/readers.ts";
import { expect } from "vitest";
import type { CountedVisit } from "../../src/stats/visit.ts";
import { openForEach } from "./open-for.ts";
import { openServer } from "./ports.ts";

/** Use this for visits of links: a link host on a local port, with a small world. */

export type LinkHost = {
  readonly world: World;
  readonly port: number;
  readonly origin: string;
  readonly visit: (path: string, given?: VisitInput) => Promise<VisitReply>;
  readonly sendRaw: (bytes: string) => Promise<string>;
  readonly add: (kind: "link" | "ios_app" | "android_app", fields: object) => Promise<AnyRow>;
  readonly readClicks: (id: string) => Promise<number>;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

// Tests read what was created as freely as a client in any language would.
// oxlint-disable-next-line typescript/no-explicit-any
type AnyRow = any;

export type VisitInput = {
  readonly method?: string;
  /** A different Host header than that of the first project, with the port. */
  readonly host?: string;
  readonly agent?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object;
};

export type VisitReply = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly bytes: Buffer;
};

/** The response to host names that belong to none of the projects. */
export const foreignHostText = "not a link host";

const desktop =
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) " +
  "Chrome/121.0.0.0 Safari/537.36";

type HostOption = "secondOrigin" | "clock" | "findCountry" | "report" | "trustedProxies";
type LinkHostOptions = Partial<Pick<HostOptions, HostOption>> & {
  readonly wrap?: (store: Store) => Store;
};

export async function openLinkHost({
  wrap = (store) => store,
  report = (error) => {
    throw error;
  },
  ...options
}: LinkHostOptions = {}): Promise<LinkHost> {
  const world = await createWorld();
  // Connections stay open longer than any test waits between two visits.
  const site = await openServer(createServer({ keepAliveTimeout: 60_000 }));
  const { server, port } = site;
  const store = wrap(world.store);
  const host = createHost({
    store,
    clicks: world.clicks,
    clock: world.clock,
    random: { bytes: (count) => randomBytes(count) },
    deferredVisits: createDeferredVisits({ store, setAlarm: ringSoon, report }),
    linkOrigin: `http://{subdomain}.localhost:${port}`,
    report,
    ...options,
  });
  server.on("request", (request, response) => {
    const hostname = (request.headers.host ?? "").replace(/:\d+$/, "").toLowerCase();
    void host.answer(request, response, hostname, () =>
      response.writeHead(421).end(foreignHostText),
    );
  });
  const ownHost = `default.localhost:${port}`;

  return {
    world,
    port,
    origin: `http://${ownHost}`,
    visit: (path, given = {}) => visitAt(port, path, { host: ownHost, ...given }),
    sendRaw: (bytes) => sendRaw(port, bytes),
    add: async (kind, fields) => {
      const body = kind === "link" ? fields : { [kind]: fields };
      const reply = await world.call("POST", `/${kind}s`, { body });
      if (reply.status !== 201) throw new Error(reply.text);
      return reply.body;
    },
    readClicks: async (id) => (await world.call("GET", `/links/${id}`)).body.clicks,
    [Symbol.asyncDispose]: async () => {
      await site[Symbol.asyncDispose]();
      await world[Symbol.asyncDispose]();
    },
  };
}

export async function visitAt(port: number, path: string, given: VisitInput): Promise<VisitReply> {
  const { method = "GET", host = "", agent = desktop, headers, body } = given;
  const sent = sendRequest({
    host: "127.0.0.1",
    port,
    method,
    path,
    headers: {
      host,
      "user-agent": agent,
      ...(body && { "content-type": "application/json" }),
      ...headers,
    },
  });
  sent.end(body && JSON.stringify(body));
  const [response] = await once(sent, "response");
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  return {
    status: response.statusCode,
    headers: response.headers,
    text: bytes.toString(),
    bytes,
  };
}

async function sendRaw(port: number, bytes: string): Promise<string> {
  const socket = connect(port, "127.0.0.1").setEncoding("latin1");
  // Node does not answer a client that ended its side, so the request must close the connection.
  socket.write(Buffer.from(bytes, "latin1"));
  let text = "";
  for await (const chunk of socket) text += chunk;
  return text;
}

/** A link with deferred deep linking, the phones that visit its page, and the app on them. */
export type InstallWorld = LinkHost & {
  readonly link: { readonly id: string };
  readonly open: (path: string, given?: PhoneVisit) => Promise<VisitReply>;
  /** Opens the page, and sends what its script would send. */
  readonly visitPage: (path?: string, given?: PhoneVisit, screen?: object) => Promise<PageVisit>;
  readonly install: (from?: string, sent?: SdkRequest, by?: AnswerApi) => Promise<SdkAnswer>;
  /** Does so for a phone that has not asked before, and reads the result like the SDK. */
  readonly match: (from?: string, by?: AnswerApi) => Promise<ReadMatch>;
  /** Starts another process with the same store, or this one again. */
  readonly startAnother: (store?: Store) => AnswerApi;
  readonly listRows: () => Promise<readonly Row[]>;
};

export type PhoneVisit = VisitInput & { readonly from?: string };

type PageVisit = { readonly page: VisitReply; readonly id: string; readonly status: number };

type Row = Awaited<ReturnType<typeof listRows>>[number];

export const homeIp = "93.184.216.34";

/** The details of a phone that the page's script sends, and later the app. */
export const details = {
  screen_width: 393,
  screen_height: 852,
  device_pixel_ratio: 3,
  timezone: "Europe/Berlin",
  calendar: "gregory",
  language: "de-DE",
  languages: ["de-DE"],
};

const behindProxy = { trustedProxies: { networks: [{ address: "127.0.0.1", prefix: 32 }] } };
const random = { bytes: (count: number) => new Uint8Array(count) };

export async function openInstallWorld(): Promise<InstallWorld> {
  const host = await openLinkHost(behindProxy);
  const { store, project, clock } = host.world;
  const maker = { clock, random };
  const key = await store.write((db) => issueClientKey(db, maker, { project_id: project.id }));
  const ios_app = { bundle_id: "com.example.shop", team_id: "ABCDE12345", app_store_id: "1" };
  const url = "https://example.com/spring";
  const deferred = { ios_deferred_deep_linking_enabled: true };
  const link = await host.add("link", { path: "spring", url, ios_app, ...deferred });

  let phones = 0;

  const open: InstallWorld["open"] = (path, { from = homeIp, ...given } = {}) => {
    const languages = { "accept-language": "de-DE,de;q=0.9" };
    const headers = { "x-forwarded-for": from, ...languages, ...given.headers };
    return host.visit(path, { agent: agents.safari26, ...given, headers });
  };

  const install: InstallWorld["install"] = async (
    from = homeIp,
    { path, headers, body } = iosFirstLaunch,
    by = host.world.answer,
  ) => {
    const named = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
    const reply = await by({
      method: "POST",
      url: `${origin}${apiPrefix}${path}`,
      headers: { ...Object.fromEntries(named), authorization: `Bearer ${key.token}` },
      body,
      address: from,
    });
    const text = JSON.stringify(reply.body);
    return { status: reply.status, headers: new Headers(reply.headers), text };
  };

  return {
    ...host,
    link,
    open,
    visitPage: async (path = "/spring", given = {}, screen = details) => {
      const page = await open(path, given);
      const [, id = ""] = /visit:"([\w-]{22})"/.exec(page.text) ?? [];
      const sent = await open(path, { ...given, method: "POST", body: { visit: id, ...screen } });
      return { page, id, status: sent.status };
    },
    install,
    match: async (from, by) => {
      phones += 1;
      return readAnswer("ios", await install(from, startFirst(phones), by));
    },
    startAnother: (other = store) => {
      const { flush, noteReported } = host.world.clicks;
      const counting = { waitForClicks: flush, noteReported };
      const given = { ...host.world, ...counting, store: other, random, readLinkOrigin };
      return createService({ ...given, report: String }).answer;
    },
    listRows: () => listRows(store),
  };
}

/** The first start of an app on another phone with the same details. */
export function startFirst(phone: number): SdkRequest {
  const idfv = `1D6B0C2E-6F0A-4E0B-9F43-${String(phone).padStart(12, "0")}`;
  return { ...iosFirstLaunch, body: iosFirstLaunch.body.replace(/(?<="idfv":")[^"]+/, idfv) };
}

function listRows({ db }: Store) {
  return db.selectFrom("deferred_visits").selectAll().execute();
}

/** Creates links before each test, and records visits like a link host. It is 2026-01-15. */
export function openVisitedLinks(paths: readonly string[], take: (world: World) => unknown) {
  let world: World;
  const ids: Record<string, string> = {};

  async function makeLink(path: string): Promise<void> {
    const body = { path, name: path, url: "https://shop.example/" };
    ids[path] = (await world.call("POST", "/links", { body })).body.id;
  }

  openForEach(createWorld, async (opened) => {
    world = opened;
    take(opened);
    for (const path of paths) await makeLink(path);
  });

  const ask = (query: string, key?: string) =>
    world.call("GET", "/link_stats", { query, ...(key !== undefined && { key }) });

  return {
    ids,
    makeLink,
    note: (path: string, at: string, more: Partial<CountedVisit> = {}): void => {
      world.clicks.noteReported({
        projectId: world.project.id,
        linkId: ids[path] ?? "",
        what: "click",
        at: Date.parse(at),
        platform: "desktop",
        source: "address",
        ...more,
      });
    },
    ask,
    read: async (query: string) => {
      const { status, body, text } = await ask(query);
      expect(status, text).toBe(200);
      return body.stats;
    },
  };
}

export const listClicks = (stats: {
  readonly rows: readonly { readonly key: string; readonly clicks: number }[];
}) => Object.fromEntries(stats.rows.map(({ key, clicks }) => [key, clicks]));
