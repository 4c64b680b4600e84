import { randomBytes } from "node:crypto";
import { findAddressGroup } from "../network/ip-address.ts";
import { mostKeylessBytes, type Incoming } from "../network/read-body.ts";
import type { Account } from "./account.ts";
import { removeBase } from "./base-path.ts";
import { html, type Html } from "./html.ts";
import { readOwnAddress } from "./read-address.ts";
import { createForm, type Form } from "./page.ts";
import { writeLabel } from "../text/write-label.ts";
import { renderFault, renderForm, renderHidden, renderPin } from "./parts.ts";
import { isLocal, type BrowserOrigin } from "./browser-origin.ts";
import { respondGo, respondPage, respondText } from "./respond.ts";
import { isFormToken, writeFormToken, type Sessions } from "./session.ts";

/** Signs users in with a key, or with a one-time URL from a terminal. */

export type SignInOptions = {
  /** Returns the account for an API key or a gateway's token; undefined if it is invalid. */
  readonly identify: (secret: string, address: string | undefined) => Promise<Account | undefined>;
  /** What the page calls the secret, such as "API key". */
  readonly secretName: string;
  /** The command that prints a one-time URL. */
  readonly consoleCommand: string;
  /** Returns undefined if this IP address had too many failed attempts in the last hour. */
  readonly takeTry: (
    secret: "key" | "pin",
    address: string,
  ) => Promise<{ readonly giveBack: () => Promise<void> } | undefined>;
  readonly readPinCheck: () => Promise<((pin: string) => Promise<boolean>) | undefined>;
};

export type SignedInRequest = {
  readonly account: Account;
  readonly token: string;
  /** The URL of the requested page, without the base path. */
  readonly url: URL;
  readonly kept: Form | undefined;
  readonly cookies: readonly string[];
};

export type Arrival = {
  readonly request: Request;
  /** The URL as the browser requested it, with the base path. */
  readonly url: URL;
  /** The client's IP address, if known. */
  readonly address: string | undefined;
  readonly incoming: Incoming | undefined;
  readonly options: SignInOptions;
  readonly sessions: Sessions;
  readonly place: BrowserOrigin;
};

const start = "/sign-in";

export function isSignIn(path: string): boolean {
  return path === start || path.startsWith(`${start}/`);
}

export function writeSignInAddress(origin: string, token: string): string {
  return `${origin}${start}/${token}`;
}

export async function answerSignIn(
  arrival: Arrival,
  form: Form | undefined,
): Promise<Response | SignedInRequest> {
  const { url, place, sessions } = arrival;
  const token = url.pathname.slice(start.length + 1);
  const isOnce = token !== "";
  if (isOnce && !(await sessions.isAddress(token))) {
    return respondText(404, "This address has expired", [over, " ", signIn]);
  }
  if (form === undefined) return render(arrival, { isOnce, next: url.searchParams.get("next") });
  const visitCookie = place.cookies.read("visit");
  const isOurs = visitCookie !== undefined && isFormToken(form.read("form_token"), visitCookie);
  const again = { isOnce, next: form.read("next"), kept: form.read("kept") };
  if (!isOurs) return render(arrival, { ...again, fault: "This page has expired. Try again." });
  const opened = isOnce
    ? await openOnce(token, form, arrival)
    : await openByKey(form.read("key").trim(), arrival);
  if ("fault" in opened) return render(arrival, { ...again, ...opened });
  return begin(arrival, form, opened);
}

type SignedIn = { readonly account: Account; readonly secret: string };
type SignInResult = SignedIn | { readonly status: 403 | 429; readonly fault: string };

/**
 * A valid key is accepted even after many wrong keys, because keys are too long to guess. Only
 * wrong keys count as attempts.
 */
async function openByKey(secret: string, { options, address }: Arrival): Promise<SignInResult> {
  const { identify, secretName, takeTry } = options;
  const account = await identify(secret, address);
  if (account !== undefined) return { account, secret };
  if ((await takeTry("key", groupAddress(address))) === undefined) {
    const fault = `Too many failed sign-ins from your IP address. Use a valid ${secretName}.`;
    return { status: 429, fault };
  }
  const fault = `This ${secretName} is not valid. Copy the whole ${secretName} and try again.`;
  return { status: 403, fault };
}

/**
 * A PIN is short enough to guess, so each attempt counts before it is checked. Otherwise, parallel
 * requests would get extra attempts. The one-time URL stays valid after a wrong PIN.
 */
async function openOnce(token: string, form: Form, arrival: Arrival): Promise<SignInResult> {
  const { options, sessions, address } = arrival;
  const checkPin = await options.readPinCheck();
  if (checkPin !== undefined) {
    const taken = await options.takeTry("pin", groupAddress(address));
    if (taken === undefined) return { status: 429, fault: tooManyPins };
    if (!(await checkPin(form.read("pin")))) return { status: 403, fault: "The PIN is wrong." };
    await taken.giveBack();
  }
  const secret = await sessions.takeAddress(token);
  if (secret === undefined) return { status: 403, fault: over };
  const account = await options.identify(secret, address);
  return account === undefined ? { status: 403, fault: over } : { account, secret };
}

/** Counts an IPv6 /64 network as one client, because one client may own all of it. */
function groupAddress(address: string | undefined): string {
  return address === undefined ? "unknown" : findAddressGroup(address);
}

const tooManyPins = "Too many wrong PINs from your IP address. Try again in an hour.";
const signIn = html`<a href="${start}">Sign in with a key</a>`;
const over = "This address was already used, or is older than ten minutes.";

async function begin(
  { place, sessions }: Arrival,
  form: Form,
  { account, secret }: SignedIn,
): Promise<SignedInRequest> {
  const before = place.cookies.read("session");
  if (before !== undefined) await sessions.end(before);
  const token = await sessions.begin(secret);
  const kept = form.read("kept");
  return {
    account,
    token,
    url: readNext(form.read("next"), place),
    kept: kept === "" ? undefined : createForm(new URLSearchParams(kept)),
    cookies: [place.cookies.write("session", token), place.cookies.write("visit", "")],
  };
}

/** Returns the requested page, or the start page if the URL is outside this console. */
function readNext(next: string, { origin, base }: BrowserOrigin): URL {
  const url = readOwnAddress(next, origin);
  // A URL without the base path stays unchanged.
  if (url !== undefined) url.pathname = removeBase(url.pathname, base) ?? url.pathname;
  return url === undefined || isSignIn(url.pathname) ? new URL("/", origin) : url;
}

/** Fields that are not kept while the user signs in again. A PIN is valid only on its own page. */
const unkept = new Set(["form_token", "pin"]);
/** Leaves room for the sign-in form's own fields. */
const mostKeptBytes = mostKeylessBytes - 4096;

/** Shows the sign-in form after a session ended. The form keeps the fields that were sent. */
export async function renderSignInAgain(
  arrival: Arrival,
  form: Form | undefined,
): Promise<Response> {
  const { url } = arrival;
  const next = url.pathname + url.search;
  if (form === undefined) {
    return respondGo(next === "/" ? start : `${start}?next=${encodeURIComponent(next)}`);
  }
  const kept = new URLSearchParams();
  for (const [name, value] of form.entries) if (!unkept.has(name)) kept.append(name, value);
  const sentAgain = new URLSearchParams({ kept: String(kept) });
  if (String(sentAgain).length > mostKeptBytes) return respondTooLong();
  const fault = "Your session has ended. Sign in again to get back what you typed.";
  return render(arrival, { isOnce: false, next, kept: String(kept), fault, status: 401 });
}

/** Files from signed-out visitors are discarded. */
export function renderUploadAgain(arrival: Arrival): Promise<Response> {
  const { pathname, search } = arrival.url;
  const fault = "Your session has ended. Sign in again, then choose the file again.";
  return render(arrival, { isOnce: false, next: pathname + search, fault, status: 401 });
}

export function respondTooLong(): Response {
  const text =
    "You are signed out, and this form is too large to keep. Sign in again in another tab, then " +
    "reload this page. Your browser sends the form again.";
  return respondText(413, "Too large", text);
}

type SignInForm = {
  readonly isOnce: boolean;
  readonly next: string | null;
  readonly kept?: string;
  readonly fault?: string;
  readonly status?: number;
};

async function render(
  { place, options, url }: Arrival,
  { isOnce, next, kept, fault, status = 200 }: SignInForm,
): Promise<Response> {
  const visitCookie = place.cookies.read("visit") ?? randomBytes(32).toString("base64url");
  const asksPin = isOnce && (await options.readPinCheck()) !== undefined;
  const fields = html`${next !== null && renderHidden("next", next)}
    ${kept && renderHidden("kept", kept)} ${isOnce ? renderOnce(asksPin) : renderKey(options)}
    <button class="main wide">Sign in</button>`;
  const formToken = writeFormToken(visitCookie);
  const body = html`<h1>Sign in</h1>
    ${renderFault(fault)} ${renderForm({ formToken }, isOnce ? url.pathname : start, fields)}
    ${!isOnce && renderCommand(isLocal(place) ? options.consoleCommand : "waypost console")}`;
  const cookie = ["set-cookie", place.cookies.write("visit", visitCookie)] as const;
  return respondPage(status, { title: "Sign in", body, frame: undefined }, [cookie]);
}

function renderOnce(asksPin: boolean): Html {
  return html`<p class="soft">You opened a one-time address from your terminal.</p>
    ${asksPin && renderPin("", true)}`;
}

function renderKey({ secretName }: SignInOptions): Html {
  return html`<div class="field">
    <label for="key">${writeLabel(secretName)}</label>
    <input
      id="key"
      name="key"
      type="password"
      autocomplete="current-password"
      required
      autofocus
      spellcheck="false"
      autocapitalize="off"
    />
  </div>`;
}

/** Only visitors on this machine see the command, because it contains folder names. */
function renderCommand(command: string): Html {
  return html`<p class="hint">
      No key? Run this command on the machine that runs Waypost. It prints an address that signs you
      in once:
    </p>
    <pre class="wrap">${command}</pre>`;
}
