import type { Account } from "./account.ts";
import type { Part } from "./html.ts";

/** Types that all pages of the console share: pages, visits, forms and replies. */

/** A page of the console, listed in `src/console/console.ts`. */
export type Page = {
  /** Matches the whole path. Its named groups become the request's `params`. */
  readonly path: RegExp;
  /** The page's menu entry; omitted for pages outside the menu. */
  readonly entry?: PageEntry;
  /** The page is available only if the key may use one of these tools or administrative actions. */
  readonly needs?: string | readonly string[];
  readonly show: (request: PageRequest) => Reply | Promise<Reply>;
  readonly takesFile?: boolean;
  readonly submit?: (request: PageRequest, form: Form) => Reply | Promise<Reply>;
};

export function isAvailable({ needs }: Page, { mayUse }: Account): boolean {
  return needs === undefined || [needs].flat().some(mayUse);
}

type PageEntry = ParentPage & {
  /** SVG path data in a 16 × 16 square. */
  readonly icon: string;
  /** The menu's heading above the entry; omitted for everyday pages. */
  readonly group?: "Project" | "Service";
};

export type ParentPage = { readonly name: string; readonly address: string };

export type PageRequest = {
  readonly account: Account;
  readonly url: URL;
  readonly params: Readonly<Record<string, string>>;
  /** Whether the browser is known to be on this machine. */
  readonly isLocal: boolean;
  /** The CSRF token of all forms. */
  readonly formToken: string;
  /** Input to show again: after a rejected form, after Cancel, or after the session ended. */
  readonly kept: Form | undefined;
  readonly isLeft?: boolean;
};

export type Form = {
  /** Returns the first value with the given name, or an empty string. */
  readonly read: (name: string) => string;
  readonly readAll: (name: string) => readonly string[];
  readonly has: (name: string) => boolean;
  readonly entries: readonly (readonly [name: string, value: string])[];
  readonly upload: Upload | undefined;
};

type Upload = { readonly name: string; readonly bytes: Uint8Array };

export type Reply =
  | PageReply
  | {
      readonly kind: "file";
      readonly type: string;
      readonly name: string;
      readonly bytes: Uint8Array;
    }
  /** Untrusted HTML, for a frame in the console. */
  | { readonly kind: "frame"; readonly markup: string }
  | { readonly kind: "go"; readonly to: string };

export type PageReply = {
  readonly kind: "page";
  readonly title: string;
  /** The heading, if it differs from the title; empty if the body has its own. */
  readonly heading?: string;
  readonly above?: ParentPage;
  readonly actions?: Part;
  /** Why a form had no effect. */
  readonly fault?: Part;
  readonly body: Part;
  /** Defaults to 422 if `fault` is set, otherwise to 200. */
  readonly status?: number;
  readonly hasFrames?: boolean;
};

export function createForm(params: URLSearchParams, upload?: Upload): Form {
  return {
    read: (name) => params.get(name) ?? "",
    readAll: (name) => params.getAll(name),
    has: (name) => params.has(name),
    entries: [...params],
    upload,
  };
}
