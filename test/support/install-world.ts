import type { AnswerApi } from "../../src/contract/api-message.ts";
import { apiPrefix } from "../../src/contract/index.ts";
import { issueClientKey } from "../../src/service/issue-key.ts";
import { createService } from "./described-service.ts";
import type { Store } from "../../src/store/store.ts";
import { agents } from "../attribution/agents.ts";
import { iosFirstLaunch, type SdkRequest } from "../sdk/recorded.ts";
import { readAnswer, type Read, type SdkAnswer } from "../sdk/readers.ts";
import { openLinkHost, type LinkHost, type Visited, type Visiting } from "./link-host.ts";
import { origin, readLinkOrigin } from "./world.ts";

/** A link with deferred deep linking, phones that visit its page, and the app on them. */
export type InstallWorld = LinkHost & {
  readonly link: { readonly id: string };
  /** Opens an address, or sends to it, as a phone at home does, or elsewhere. */
  readonly open: (path: string, given?: From) => Promise<Visited>;
  /** Opens the page, and does what its script does. */
  readonly visitPage: (path?: string, given?: From, screen?: object) => Promise<PageVisit>;
  /** Asks as the app does, of this process or another one. */
  readonly install: (from?: string, sent?: SdkRequest, by?: AnswerApi) => Promise<SdkAnswer>;
  /** The same of a phone that has not asked before, as the SDK reads it. */
  readonly match: (from?: string, by?: AnswerApi) => Promise<Read>;
  /** Another process of the same store, or this one when it was started anew. */
  readonly startAnother: (store?: Store) => AnswerApi;
  /** The visits that are kept. */
  readonly listRows: () => Promise<readonly Row[]>;
};

export type From = Visiting & { readonly from?: string };

type PageVisit = { readonly page: Visited; readonly id: string; readonly status: number };

type Row = Awaited<ReturnType<typeof listRows>>[number];

export const home = "93.184.216.34";

/** As the page's script tells what the app on the same phone will tell. */
export const told = {
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

  const open: InstallWorld["open"] = (path, { from = home, ...given } = {}) => {
    const languages = { "accept-language": "de-DE,de;q=0.9" };
    const headers = { "x-forwarded-for": from, ...languages, ...given.headers };
    return host.visit(path, { agent: agents.safari26, ...given, headers });
  };

  const install: InstallWorld["install"] = async (
    from = home,
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
    visitPage: async (path = "/spring", given = {}, screen = told) => {
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
      const { flush, noteVisit } = host.world.clicks;
      const counting = { waitForClicks: flush, noteVisit };
      const given = { ...host.world, ...counting, store: other, random, readLinkOrigin };
      return createService({ ...given, report: String }).answer;
    },
    listRows: () => listRows(store),
  };
}

/** The first start of an app on another phone, which looks the same. */
export function startFirst(phone: number): SdkRequest {
  const idfv = `1D6B0C2E-6F0A-4E0B-9F43-${String(phone).padStart(12, "0")}`;
  return { ...iosFirstLaunch, body: iosFirstLaunch.body.replace(/(?<="idfv":")[^"]+/, idfv) };
}

function listRows({ db }: Store) {
  return db.selectFrom("deferred_visits").selectAll().execute();
}
