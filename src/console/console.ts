import type { Clock } from "../contract/clock.ts";
import { messages } from "../contract/messages.ts";
import { readOutageCode, type Problem } from "../contract/problem.ts";
import { createKeylessReader, type ReadKeyless } from "../network/keyless-bodies.ts";
import { packPage } from "../network/pack-page.ts";
import type { Incoming } from "../network/read-at-most.ts";
import { readShownKey } from "../text/bearer-token.ts";
import { isClientToken } from "../text/client-token.ts";
import type { Account } from "./account.ts";
import { leave } from "./act.ts";
import { findAsset, isAsset } from "./assets.ts";
import { followHeader } from "./follow.ts";
import { html } from "./html.ts";
import { listEntries, markNotSent } from "./layout.ts";
import type { Form, Page, Reply, Visit } from "./page.ts";
import { findPage, pages } from "./pages.ts";
import { isFromHere, isHere, readPlace, type Place } from "./place.ts";
import { isUpload, readForm, readUpload, type Unread } from "./read-form.ts";
import { respondFile, respondFrame, respondGo, respondPage } from "./respond.ts";
import { createSessions, isFormToken, writeFormToken } from "./session.ts";
import type { SessionRows, Sessions } from "./session.ts";
import {
  answerSignIn,
  isSignIn,
  renderSignInAgain,
  renderUploadAgain,
  respondTooLong,
  type Signed,
  type SigningIn,
  type SignInOptions,
} from "./sign-in.ts";

/** The console: what a person meets in a browser at the main address of a process. */

type Console = {
  readonly fetch: (request: Request, address?: string, incoming?: Incoming) => Promise<Response>;
};

export type ConsoleOptions = SignInOptions & {
  readonly openRows: () => Promise<SessionRows>;
  /** The host names that this process answers to. */
  readonly hostnames: readonly string[];
  readonly publicUrl: string | undefined;
  readonly clock: Clock;
  /** What is to be said while the store does not answer; undefined for any other error. */
  readonly explainStoreFault: (error: unknown) => Problem | undefined;
  /** Notes an unexpected error where the operator looks, and answers its reference. */
  readonly report: (error: unknown) => string;
};

const methods: ReadonlySet<string> = new Set(["GET", "HEAD", "POST"]);

export function createConsole(options: ConsoleOptions): Console {
  const sessions = createSessions(options);
  const readSignedOut = createKeylessReader(options.clock.monotonic);
  return {
    fetch: async (request, address, incoming) => {
      const url = new URL(request.url);
      try {
        const asked = { request, url, address, incoming, options, sessions, readSignedOut };
        return await packPage(await answer(asked), request);
      } catch (error) {
        const problem = options.explainStoreFault(error);
        if (problem !== undefined) return tellOutage(problem, request);
        const reference = options.report(error);
        return tell(
          500,
          "Something went wrong",
          `Try again. The reference in the log is ${reference}.`,
        );
      }
    },
  };
}

type Asked = {
  readonly request: Request;
  readonly url: URL;
  readonly address: string | undefined;
  readonly incoming: Incoming | undefined;
  readonly options: ConsoleOptions;
  readonly sessions: Sessions;
  readonly readSignedOut: ReadKeyless;
};

async function answer(asked: Asked): Promise<Response> {
  const { request, url, options } = asked;
  const { method } = request;
  // Another site's page can make a name of its own point here, and is refused by that name.
  if (!options.hostnames.includes(url.hostname)) {
    return tell(403, "Wrong host name", explainHost(options.publicUrl));
  }
  if (!methods.has(method)) {
    return tell(405, "Method not allowed", "Open this address in a browser.");
  }
  if (isAsset(url.pathname)) return answerAsset(url.pathname, request);
  if (showsClientKey(request)) return refuseClientKey();
  const place = readPlace(asked, options.publicUrl);
  if (place === undefined) return tell(403, "HTTPS required", insecure);
  if (method === "POST" && !isFromHere(request, place)) return tellUnread("foreign");
  const token = isSignIn(url.pathname) ? undefined : place.cookies.read("session");
  const account = token === undefined ? undefined : await findAccount(token, asked);
  if (token === undefined || account === undefined) return answerSignedOut(asked, place);
  const form = method === "POST" ? await readSent(asked, account) : undefined;
  if (typeof form === "string") return tellUnread(form);
  const signedIn = { token, account, form, url, place };
  const isLeaving = isSignOut(url) && form !== undefined;
  return isLeaving ? signOut(signedIn, asked, place) : answerVisit(signedIn);
}

function isSignOut({ pathname }: URL): boolean {
  return pathname === "/sign-out";
}

/** A file is held whole, so only a signed-in visitor may send one. */
async function readSent(asked: Asked, account: Account): Promise<Form | Unread> {
  if (!isUpload(asked.request)) return readForm(asked);
  const [page] = findPage(asked.url.pathname, account);
  return page?.takesFile === true ? readUpload(asked) : "foreign";
}

/** Anyone can send these forms: they are short, and few unfinished ones are held. */
async function answerSignedOut(asked: Asked, place: Place): Promise<Response> {
  const { request, url, readSignedOut } = asked;
  if (request.method !== "POST") return answerSigningIn({ ...asked, place, form: undefined });
  if (isSignOut(url)) return respondGo("/sign-in");
  if (isUpload(request)) return renderUploadAgain({ ...asked, place, form: undefined });
  const form = await readForm(asked, (message) => readSignedOut(message, asked.address));
  if (form === "too long") return respondTooLong();
  return typeof form === "string" ? tellUnread(form) : answerSigningIn({ ...asked, place, form });
}

async function answerSigningIn(signingIn: SigningIn): Promise<Response> {
  if (!isSignIn(signingIn.url.pathname)) return renderSignInAgain(signingIn);
  const signed = await answerSignIn(signingIn);
  return signed instanceof Response ? signed : begin(signed, signingIn.place);
}

async function signOut(signedIn: SignedIn, { sessions }: Asked, { cookies }: Place) {
  const { token, form } = signedIn;
  if (!isOurs(form, token)) return respondGo(markNotSent("/"));
  await sessions.end(token);
  return respondGo("/sign-in", [["set-cookie", cookies.write("session", "")]]);
}

const unread: Readonly<Record<Unread, readonly [status: number, title: string, text: string]>> = {
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

function tellUnread(why: Unread): Response {
  return tell(...unread[why], why === "busy" ? [["retry-after", "1"]] : []);
}

/** Whoever takes an app's key to be one of ours is told, and not sent to sign in. */
function showsClientKey({ headers }: Request): boolean {
  const header = headers.get("authorization") ?? "";
  return isClientToken(readShownKey(header) ?? header);
}

function refuseClientKey(): Response {
  return tell(401, "Key not accepted", messages.client_key_here, [["www-authenticate", "Bearer"]]);
}

function answerAsset(path: string, request: Request): Response {
  const file = findAsset(path, request);
  if (file === undefined) return tell(404, "Not found", "This file does not exist.");
  return respondFile(file.type, file.body, file.headers);
}

/** What was typed in an earlier session is shown again, and done when it is sent from there. */
async function begin(signed: Signed, place: Place): Promise<Response> {
  const { account, token, url, kept, cookies } = signed;
  const headers = cookies.map((cookie) => ["set-cookie", cookie] as const);
  if (kept === undefined) return respondGo(url.pathname + url.search, headers);
  const [page, params] = findPage(url.pathname, account);
  const formToken = writeFormToken(token);
  const visit = { account, url, params, isHere: isHere(place), formToken, kept };
  return send(await answerPage(page, visit, undefined), visit, headers);
}

const insecure =
  "Your key would travel unencrypted. Open the console on the machine that runs Waypost, or use " +
  "HTTPS: put a TLS proxy in front of Waypost, and pass its address with --public-url.";

/** A proxy that replaces the Host header is a common cause. */
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

/** A key that was revoked ends its sessions. */
async function findAccount(
  token: string,
  { options, sessions, address, request }: Asked,
): Promise<Account | undefined> {
  const secret = await sessions.find(token, request.headers.has(followHeader));
  if (secret === undefined) return undefined;
  const account = await options.identify(secret, address);
  if (account === undefined) await sessions.end(token);
  return account;
}

type SignedIn = {
  readonly token: string;
  readonly account: Account;
  readonly form: Form | undefined;
  readonly url: URL;
  readonly place: Place;
};

async function answerVisit(signedIn: SignedIn): Promise<Response> {
  const { token, account, form, url, place } = signedIn;
  const [page, params] = findPage(url.pathname, account);
  // What a form of an earlier session holds is shown again, and done only when sent from there.
  const isSent = isOurs(form, token);
  const isLeft = isSent && form?.has(leave) === true;
  const [sent, kept] = isSent && !isLeft ? [form, undefined] : [undefined, form];
  const visit: Visit = {
    account,
    url,
    params,
    isHere: isHere(place),
    formToken: writeFormToken(token),
    kept,
    isLeft,
  };
  return send(await answerPage(page, visit, sent), visit);
}

function isOurs(form: Form | undefined, token: string): boolean {
  return form !== undefined && isFormToken(form.read("form_token"), token);
}

function answerPage(page: Page | undefined, visit: Visit, form: Form | undefined): Promise<Reply> {
  if (page === undefined) return Promise.resolve(nothingThere);
  if (form === undefined) return page.show(visit);
  return page.submit?.(visit, form) ?? Promise.resolve(nothingThere);
}

const nothingThere: Reply = {
  kind: "page",
  status: 404,
  title: "Not found",
  body: html`<h1>Not found</h1>
    <p class="soft">This page does not exist, or your key may not open it.</p>
    <p><a class="button" href="/">Go to Start</a></p>`,
};

async function send(reply: Reply, visit: Visit, headers: Cookies = []): Promise<Response> {
  if (reply.kind === "go") {
    const isOfBefore = visit.kept !== undefined && visit.isLeft !== true;
    return respondGo(isOfBefore ? markNotSent(reply.to) : reply.to, headers);
  }
  if (reply.kind === "file") {
    const disposition = ["content-disposition", `attachment; filename="${reply.name}"`] as const;
    return respondFile(reply.type, reply.bytes, [disposition, ...headers]);
  }
  if (reply.kind === "frame") return respondFrame(reply.markup, visit.account.isOwn, headers);
  const { status = 200, ...page } = reply;
  const waiting = (await visit.account.listWaiting()).length;
  const frame = { ...visit, entries: listEntries(visit, pages), waiting };
  return respondPage(status, { ...page, frame }, headers);
}

type Cookies = readonly (readonly ["set-cookie", string])[];

/** Whoever sent a form may have had it done: not all that comes after it is a part of it. */
function tellOutage(problem: Problem, { method }: Request): Response {
  const { message, status, headers } = problem;
  const code = readOutageCode(problem);
  const look = "Your change may have been made. Check before you send it again.";
  const isLookEnough = method !== "POST" || code === "outcome_unknown";
  const text = `${message}${isLookEnough ? "" : ` ${look}`} (${code})`;
  return tell(status, "Waypost is unavailable", text, Object.entries(headers));
}

function tell(
  status: number,
  title: string,
  text: string,
  headers?: Parameters<typeof respondPage>[2],
): Response {
  const body = html`<h1>${title}</h1>
    <p>${text}</p>`;
  return respondPage(status, { title, body, frame: undefined }, headers);
}
