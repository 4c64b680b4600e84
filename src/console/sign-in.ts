import { randomBytes } from "node:crypto";
import { findAddressGroup } from "../network/ip-address.ts";
import { mostKeylessBytes } from "../network/keyless-bodies.ts";
import type { Account } from "./account.ts";
import { html, type Html } from "./html.ts";
import { readOwnAddress } from "./own-address.ts";
import { createForm, type Form } from "./page.ts";
import { writeLabel } from "../text/write-label.ts";
import { renderFault, renderHidden, renderPin } from "./parts.ts";
import { isHere, type Place } from "./place.ts";
import { respondGo, respondPage } from "./respond.ts";
import { isFormToken, writeFormToken, type Sessions } from "./session.ts";

/** Signing in: with a key, or by an address that a terminal was shown, once. */

export type SignInOptions = {
  /**
   * Whoever shows this key, or this token of a gateway's, and from where, as far as it is known;
   * undefined where it is nobody's.
   */
  readonly identify: (secret: string, address: string | undefined) => Promise<Account | undefined>;
  /** What is to be typed: "API key". */
  readonly secretName: string;
  /** What a person types to be shown an address that signs in. */
  readonly consoleCommand: string;
  /** Undefined where the address has failed too often within the hour. */
  readonly takeTry: (
    secret: "key" | "pin",
    address: string,
  ) => Promise<{ readonly giveBack: () => Promise<void> } | undefined>;
  /** Whether this is the operator's PIN; undefined where none is set. */
  readonly readPinCheck: () => Promise<((pin: string) => Promise<boolean>) | undefined>;
};

/** Somebody is signed in from now on. */
export type Signed = {
  readonly account: Account;
  readonly token: string;
  /** Where they wanted to go. */
  readonly url: URL;
  /** What they had typed there. */
  readonly kept: Form | undefined;
  readonly cookies: readonly string[];
};

export type SigningIn = {
  readonly url: URL;
  readonly address: string | undefined;
  readonly options: SignInOptions;
  readonly sessions: Sessions;
  readonly place: Place;
  readonly form: Form | undefined;
};

const start = "/sign-in";

export function isSignIn(path: string): boolean {
  return path === start || path.startsWith(`${start}/`);
}

/** The address that a terminal shows. */
export function writeSignInAddress(origin: string, token: string): string {
  return `${origin}${start}/${token}`;
}

export async function answerSignIn(signingIn: SigningIn): Promise<Response | Signed> {
  const { url, form, place, sessions } = signingIn;
  const token = url.pathname.slice(start.length + 1);
  const isOnce = token !== "";
  if (isOnce && !(await sessions.isAddress(token))) return renderOver();
  if (form === undefined) return render(signingIn, { isOnce, next: url.searchParams.get("next") });
  const visit = place.cookies.read("visit");
  const isOurs = visit !== undefined && isFormToken(form.read("form_token"), visit);
  const again = { isOnce, next: form.read("next"), kept: form.read("kept") };
  if (!isOurs) return render(signingIn, { ...again, fault: "This page has expired. Try again." });
  const opened = isOnce
    ? await openOnce(token, form, signingIn)
    : await openByKey(form.read("key").trim(), signingIn);
  if ("fault" in opened) return render(signingIn, { ...again, ...opened });
  return begin(signingIn, opened.account, opened.secret);
}

type Opened =
  | { readonly account: Account; readonly secret: string }
  | { readonly status: 403 | 429; readonly fault: string };

/**
 * A key is too long to guess, so the right one signs in however many wrong ones came from the same
 * address. Only wrong ones are counted, after the check.
 */
async function openByKey(secret: string, { options, address }: SigningIn): Promise<Opened> {
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
 * A PIN is short enough to guess, so a try is taken before the check: many requests at once get no
 * more tries than one after another. A wrong PIN leaves the address as it is.
 */
async function openOnce(token: string, form: Form, signingIn: SigningIn): Promise<Opened> {
  const { options, sessions, address } = signingIn;
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

/** A client may have all addresses of an IPv6 network of 64 bits. */
function groupAddress(address: string | undefined): string {
  return address === undefined ? "unknown" : findAddressGroup(address);
}

const tooManyPins = "Too many wrong PINs from your IP address. Try again in an hour.";
const over = "This address was already used, or is older than ten minutes.";

/** A session is never one that a browser had before. */
async function begin(
  { place, form, sessions }: SigningIn,
  account: Account,
  secret: string,
): Promise<Signed> {
  const before = place.cookies.read("session");
  if (before !== undefined) await sessions.end(before);
  const token = await sessions.begin(secret);
  const kept = form?.read("kept") ?? "";
  return {
    account,
    token,
    url: readNext(form?.read("next") ?? "", place),
    kept: kept === "" ? undefined : createForm(new URLSearchParams(kept)),
    cookies: [place.cookies.write("session", token), place.cookies.write("visit", "")],
  };
}

/** An address of this place alone, whatever was asked for. */
function readNext(next: string, { origin }: Place): URL {
  const url = readOwnAddress(next, origin);
  return url === undefined || isSignIn(url.pathname) ? new URL("/", origin) : url;
}

/** A PIN is typed for what is shown beside it, and stands in no other page. */
const unkept = new Set(["form_token", "pin"]);
/** Sent again within the sign-in form, beside its own fields. */
const mostKeptBytes = mostKeylessBytes - 4096;

/** Where nobody is signed in, or nobody is any more: what a form held is kept. */
export function renderSignInAgain(signingIn: SigningIn): Promise<Response> {
  const { url, form } = signingIn;
  const next = url.pathname + url.search;
  if (form === undefined) {
    const wanted = next === "/" ? start : `${start}?next=${encodeURIComponent(next)}`;
    return Promise.resolve(respondGo(wanted));
  }
  const kept = new URLSearchParams();
  for (const [name, value] of form.entries) if (!unkept.has(name)) kept.append(name, value);
  const sentAgain = new URLSearchParams({ kept: String(kept) });
  if (String(sentAgain).length > mostKeptBytes) return Promise.resolve(respondTooLong());
  const fault = "Your session has ended. Sign in again to get back what you typed.";
  return render(signingIn, { isOnce: false, next, kept: String(kept), fault, status: 401 });
}

/** Files of signed-out visitors are not read. */
export function renderUploadAgain(signingIn: SigningIn): Promise<Response> {
  const { pathname, search } = signingIn.url;
  const fault = "Your session has ended. Sign in again, then choose the file again.";
  return render(signingIn, { isOnce: false, next: pathname + search, fault, status: 401 });
}

/** Once the visitor is signed in, the same form is shown again, with what was typed. */
export function respondTooLong(): Response {
  const body = html`<h1>Too large</h1>
    <p>
      You are signed out, and this form is too large to keep. Sign in again in another tab, then
      reload this page. Your browser sends the form again.
    </p>`;
  return respondPage(413, { title: "Too large", body, frame: undefined });
}

type Shown = {
  readonly isOnce: boolean;
  readonly next: string | null;
  readonly kept?: string;
  readonly fault?: string;
  readonly status?: number;
};

async function render(signingIn: SigningIn, shown: Shown): Promise<Response> {
  const { place, options, url } = signingIn;
  const visit = place.cookies.read("visit") ?? randomBytes(32).toString("base64url");
  const asksPin = shown.isOnce && (await options.readPinCheck()) !== undefined;
  const action = shown.isOnce ? url.pathname : start;
  const body = html`<h1>Sign in</h1>
    ${renderFault(shown.fault)}
    <form method="post" action="${action}" class="stack">
      ${renderHidden("form_token", writeFormToken(visit))}
      ${shown.next === null ? "" : renderHidden("next", shown.next)}
      ${shown.kept === undefined || shown.kept === "" ? "" : renderHidden("kept", shown.kept)}
      ${shown.isOnce ? renderOnce(asksPin) : renderKey(options)}
      <button class="main wide">Sign in</button>
    </form>
    ${shown.isOnce ? "" : renderOther(signingIn)}`;
  const cookie = ["set-cookie", place.cookies.write("visit", visit)] as const;
  const page = { title: "Sign in", body, frame: undefined };
  return respondPage(shown.status ?? 200, page, [cookie]);
}

function renderOnce(asksPin: boolean): Html {
  return html`<p class="soft">You opened a one-time address from your terminal.</p>
    ${asksPin ? renderPin("", true) : ""}`;
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

/** Whoever asks from elsewhere learns nothing of this machine's folders. */
function renderOther({ options, place }: SigningIn): Html {
  const command = isHere(place) ? options.consoleCommand : "waypost console";
  return html`<p class="hint">
      No key? Run this command on the machine that runs Waypost. It prints an address that signs you
      in once:
    </p>
    <pre class="wrap">${command}</pre>`;
}

function renderOver(): Response {
  const body = html`<h1>This address has expired</h1>
    <p>${over}</p>
    <p><a href="${start}">Sign in with a key</a></p>`;
  return respondPage(404, { title: "This address has expired", body, frame: undefined });
}
