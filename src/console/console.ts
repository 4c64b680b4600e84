import type { Clock } from "../contract/clock.ts";
import { messages } from "../contract/messages.ts";
import { readOutageCode, type Problem } from "../contract/problem.ts";
import { createKeylessReader, type ReadKeyless, type Incoming } from "../network/read-body.ts";
import { packPage } from "../network/pack-page.ts";
import { readHeaderKey, isClientToken } from "../text/secrets.ts";
import type { Account } from "./account.ts";
import { leave } from "./act.ts";
import { findAsset, isAsset } from "./assets.ts";
import { removeBase } from "./base-path.ts";
import { followHeader } from "./follow-header.ts";
import { html } from "./html.ts";
import { listEntries, markNotSent } from "./layout.ts";
import { isAvailable, type Form, type Page, type Reply, type PageRequest } from "./page.ts";
import { appPages } from "./pages/apps.ts";
import { auditPage } from "./pages/audit.ts";
import { deletedPage } from "./pages/deleted.ts";
import { domainPage } from "./pages/domain.ts";
import { helpPage } from "./pages/help.ts";
import { historyPages } from "./pages/history.ts";
import { importPage } from "./pages/import.ts";
import { jobPages } from "./pages/jobs.ts";
import { keyPages } from "./pages/keys.ts";
import { linkDraftPage, linkFramePage } from "./pages/link-preview.ts";
import { linkPages, linkQrPage } from "./pages/link.ts";
import { linksPage } from "./pages/links.ts";
import { planPage } from "./pages/plan.ts";
import { projectPages } from "./pages/projects.ts";
import { settingsPage } from "./pages/settings.ts";
import { severalPage } from "./pages/several.ts";
import { startPage } from "./pages/start.ts";
import { statisticsPage } from "./pages/statistics.ts";
import { templateFramePage } from "./pages/template-preview.ts";
import { templatePage } from "./pages/template.ts";
import { webhookPages } from "./pages/webhooks.ts";
import { isFromHere, isLocal, readBrowserOrigin, type BrowserOrigin } from "./browser-origin.ts";
import { isUpload, readForm, readUpload, type FormRejection } from "./read-form.ts";
import { respondFile, respondFrame, respondGo, respondPage, respondText } from "./respond.ts";
import { createSessions, isFormToken, writeFormToken, type SessionRows } from "./session.ts";
import {
  answerSignIn,
  isSignIn,
  renderSignInAgain,
  renderUploadAgain,
  respondTooLong,
  type Arrival,
  type SignInOptions,
} from "./sign-in.ts";

/** The console: the web pages for managing links. */

type Console = {
  readonly fetch: (request: Request, address?: string, incoming?: Incoming) => Promise<Response>;
};

export type ConsoleOptions = SignInOptions & {
  readonly openRows: () => Promise<SessionRows>;
  readonly hostnames: readonly string[];
  readonly publicUrl: string | undefined;
  /** Returns the base path, without a trailing slash. Throws if a new path cannot be saved. */
  readonly openBase: () => string;
  readonly clock: Clock;
  /** Returns the message for an unresponsive store; undefined for any other error. */
  readonly explainStoreFault: (error: unknown) => Problem | undefined;
  readonly report: (error: unknown) => string;
};

/** Every page of the console, in the order of the menu. */
export const pages: readonly Page[] = [
  startPage,
  linksPage,
  severalPage,
  importPage,
  ...linkPages,
  linkQrPage,
  linkFramePage,
  linkDraftPage,
  statisticsPage,
  ...appPages,
  domainPage,
  deletedPage,
  templatePage,
  templateFramePage,
  ...projectPages,
  ...keyPages,
  ...webhookPages,
  planPage,
  ...jobPages,
  ...historyPages,
  auditPage,
  settingsPage,
  helpPage,
];

const methods: ReadonlySet<string> = new Set(["GET", "HEAD", "POST"]);

export function createConsole(options: ConsoleOptions): Console {
  const sessions = createSessions(options);
  const readSignedOut = createKeylessReader(options.clock.monotonic);
  return {
    fetch: async (request, address, incoming) => {
      const url = new URL(request.url);
      try {
        const early = sendAssetOrRefuse(request, url, options);
        if (early !== undefined) return await packPage(early, request);
        const { publicUrl, openBase } = options;
        const base = openBase();
        const place = readBrowserOrigin({ request, address }, { publicUrl, base });
        if (place === undefined) return respondText(403, "HTTPS required", insecure);
        const arrival = { request, url, address, incoming, options, sessions, place };
        return await packPage(await answer(arrival, readSignedOut), request);
      } catch (error) {
        const problem = options.explainStoreFault(error);
        if (problem !== undefined) return showOutage(problem, request);
        const text = `Try again. The reference in the log is ${options.report(error)}.`;
        return respondText(500, "Something went wrong", text);
      }
    },
  };
}

/**
 * Sends styles and scripts, and rejects requests that are invalid with or without a session.
 * Returns undefined for all other requests.
 */
function sendAssetOrRefuse(
  request: Request,
  url: URL,
  options: ConsoleOptions,
): Response | undefined {
  // Another site can point its own domain at this server, so unknown hosts are rejected.
  if (!options.hostnames.includes(url.hostname)) {
    return respondText(403, "Wrong host name", explainHost(options.publicUrl));
  }
  if (!methods.has(request.method)) {
    return respondText(405, "Method not allowed", "Open this address in a browser.");
  }
  if (isAsset(url.pathname)) {
    const file = findAsset(url.pathname, request);
    if (file === undefined) return respondText(404, "Not found", "This file does not exist.");
    return respondFile(file.type, file.body, file.headers);
  }
  // Requests with a client key come from apps, so they get an error instead of the sign-in page.
  const header = request.headers.get("authorization") ?? "";
  if (!isClientToken(readHeaderKey(header) ?? header)) return undefined;
  const asks = [["www-authenticate", "Bearer"]] as const;
  return respondText(401, "Key not accepted", messages.client_key_here, asks);
}

async function answer(arrival: Arrival, readSignedOut: ReadKeyless): Promise<Response> {
  const { request, place, sessions } = arrival;
  const url = findOwn(arrival.url, place);
  const isPost = request.method === "POST";
  if (isPost && !isFromHere(request, place)) return showRejection("foreign");
  const token = url && place.cookies.read("session");
  const account = token === undefined ? undefined : await findAccount(token, arrival);
  if (url === undefined || token === undefined || account === undefined) {
    return answerSignedOut(arrival, readSignedOut);
  }
  const session = { token, account, place };
  if (!isPost) return showPage(session, url, {});
  const form = await readSent(arrival, url, account);
  if (typeof form === "string") return showRejection(form);
  const isOurs = isFormToken(form.read("form_token"), token);
  if (!isSignOut(url)) {
    // A form from an earlier session changes nothing. The page shows the form's input again.
    if (!isOurs) return showPage(session, url, { kept: form });
    const isLeft = form.has(leave);
    return showPage(session, url, isLeft ? { kept: form, isLeft } : { sent: form });
  }
  if (!isOurs) return respondGo(place.base + markNotSent("/"));
  await sessions.end(token);
  return respondGo("/sign-in", [["set-cookie", place.cookies.write("session", "")]]);
}

/** Returns the URL without the base path; undefined if the URL is outside the console. */
function findOwn(url: URL, { base }: BrowserOrigin): URL | undefined {
  const path = isSignIn(url.pathname) ? undefined : removeBase(url.pathname, base);
  if (path === undefined) return undefined;
  const own = new URL(url);
  own.pathname = path;
  return own;
}

const signOut = "/sign-out";

function isSignOut({ pathname }: URL): boolean {
  return pathname === signOut;
}

/** Uploads are read into memory, so only signed-in users may send them. */
async function readSent(
  arrival: Arrival,
  url: URL,
  account: Account,
): Promise<Form | FormRejection> {
  if (!isUpload(arrival.request)) return readForm(arrival);
  const [page] = findPage(url.pathname, account);
  return page?.takesFile === true ? readUpload(arrival) : "foreign";
}

/** Limits the size of forms and how many are read at a time, because anyone can send them. */
async function answerSignedOut(arrival: Arrival, read: ReadKeyless): Promise<Response> {
  const { request, url, address, place } = arrival;
  let form: Form | undefined;
  if (request.method === "POST") {
    // Accepts sign-out under any path. Otherwise, the response would reveal the base path.
    if (url.pathname.endsWith(signOut)) return respondGo("/sign-in");
    if (isUpload(request)) return renderUploadAgain(arrival);
    const sent = await readForm(arrival, (message) => read(message, address));
    if (sent === "too long") return respondTooLong();
    if (typeof sent === "string") return showRejection(sent);
    form = sent;
  }
  if (!isSignIn(url.pathname)) return renderSignInAgain(arrival, form);
  const signed = await answerSignIn(arrival, form);
  if (signed instanceof Response) return signed;
  const { account, token, url: next, kept, cookies } = signed;
  const headers = cookies.map((cookie) => ["set-cookie", cookie] as const);
  if (kept === undefined) return respondGo(place.base + next.pathname + next.search, headers);
  return showPage({ token, account, place }, next, { kept }, headers);
}

const rejections: Readonly<
  Record<FormRejection, readonly [status: number, title: string, text: string]>
> = {
  foreign: [
    403,
    "Request refused",
    "The request came from another site. Open the console and try again.",
  ],
  "too long": [
    413,
    "Too large",
    "The console accepts files of up to 4 MB. Use waypost import for larger files.",
  ],
  broken: [400, "Upload incomplete", "Part of the file is missing. Upload it again."],
  busy: [503, "Waypost is busy", "Too many people are signing in. Try again in a moment."],
};

function showRejection(why: FormRejection): Response {
  return respondText(...rejections[why], why === "busy" ? [["retry-after", "1"]] : []);
}

const insecure =
  "Your key would travel unencrypted. Open the console on the machine that runs Waypost, or use " +
  "HTTPS: put a TLS proxy in front of Waypost, and pass its address with --public-url.";

/** Explains a wrong host name. A common cause is a proxy that replaces the Host header. */
function explainHost(publicUrl: string | undefined): string {
  const advice =
    publicUrl === undefined
      ? "Use the address that waypost serve prints. To use a domain, set WAYPOST_PUBLIC_URL."
      : `Open ${publicUrl} instead.`;
  return (
    `The console does not answer at this host name. ${advice} ` +
    "A proxy in front of Waypost must keep the Host header."
  );
}

/** Returns undefined without a valid session. Ends the session if its key was revoked. */
async function findAccount(
  token: string,
  { options, sessions, address, request }: Arrival,
): Promise<Account | undefined> {
  const secret = await sessions.find(token, request.headers.has(followHeader));
  if (secret === undefined) return undefined;
  const account = await options.identify(secret, address);
  if (account === undefined) await sessions.end(token);
  return account;
}

function findPage(path: string, account: Account): [Page | undefined, PageRequest["params"]] {
  for (const page of pages) {
    const found = page.path.exec(path);
    if (found === null) continue;
    // Only the first match counts: `/links/new` must not open as the page of a link.
    return isAvailable(page, account) ? [page, { ...found.groups }] : [undefined, {}];
  }
  return [undefined, {}];
}

type Session = { readonly token: string; readonly account: Account; readonly place: BrowserOrigin };
type Forms = Partial<Pick<PageRequest, "kept" | "isLeft">> & { readonly sent?: Form };

async function showPage(
  { token, account, place }: Session,
  url: URL,
  { sent, kept, isLeft = false }: Forms,
  headers: CookieHeaders = [],
): Promise<Response> {
  const [page, params] = findPage(url.pathname, account);
  const formToken = writeFormToken(token);
  const request = { account, url, params, isLocal: isLocal(place), formToken, kept, isLeft };
  const shown = sent === undefined ? page?.show(request) : page?.submit?.(request, sent);
  const reply: Reply = (await shown) ?? nothingThere;
  if (reply.kind === "go") {
    const isOld = kept !== undefined && !isLeft;
    return respondGo(place.base + (isOld ? markNotSent(reply.to) : reply.to), headers);
  }
  if (reply.kind === "file") {
    const disposition = ["content-disposition", `attachment; filename="${reply.name}"`] as const;
    return respondFile(reply.type, reply.bytes, [disposition, ...headers]);
  }
  if (reply.kind === "frame") return respondFrame(reply.markup, account.isOwn, headers);
  const waiting = (await account.listWaiting()).length;
  const frame = { ...request, base: place.base, entries: listEntries(request, pages), waiting };
  const { fault, status = [fault].flat().some(Boolean) ? 422 : 200 } = reply;
  return respondPage(status, { ...reply, frame }, headers);
}

type CookieHeaders = readonly (readonly ["set-cookie", string])[];

const nothingThere: Reply = {
  kind: "page",
  status: 404,
  title: "Not found",
  body: html`<p class="soft">This page does not exist, or your key may not open it.</p>
    <p><a class="button" href="/">Go to Start</a></p>`,
};

/** Reports an outage. A submitted form may have changed something before the store failed. */
function showOutage(problem: Problem, { method }: Request): Response {
  const { message, status, headers } = problem;
  const code = readOutageCode(problem);
  const look = "Your change may have been made. Check before you send it again.";
  const isLookEnough = method !== "POST" || code === "outcome_unknown";
  const text = `${message}${isLookEnough ? "" : ` ${look}`} (${code})`;
  return respondText(status, "Waypost is unavailable", text, Object.entries(headers));
}
